//! Credentials over a stand-in for STS: assumed once for all, renewed in time, refused with their names.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::future::join_all;

use super::*;
use crate::store::documents::Authorship;
use crate::testing::aws::{AGENT_SECRET, FakeAws, configuration, without_credentials};

const ROLE: &str = "arn:aws:iam::123456789012:role/reader";

/// A secret key that nothing else spells.
const SECRET: &str = "canary-role-7f21";

fn credential(identity: CredentialIdentity) -> CredentialRecord {
    CredentialRecord {
        name: CredentialName::parse("reader").unwrap(),
        generation: 1,
        authorship: Authorship {
            uid: "u".into(),
            create_time_ms: 1,
            created_by: "a".into(),
            update_time_ms: 1,
            updated_by: "a".into(),
            create_request_id: String::new(),
        },
        identity,
    }
}

fn role(external_id: Option<&str>) -> CredentialRecord {
    credential(CredentialIdentity::AwsIamRole {
        role_arn: ROLE.to_owned(),
        external_id: external_id.map(str::to_owned),
    })
}

fn session() -> SessionName {
    SessionName::of("main.sales.orders")
}

/// STS's answer to one request, of credentials that are good for so long.
fn assumed(number: usize, good_for: Duration) -> (u16, String) {
    let end = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + good_for;
    let end = aws_sdk_sts::primitives::DateTime::from_secs(i64::try_from(end.as_secs()).unwrap());
    let end = end.fmt(aws_sdk_sts::primitives::DateTimeFormat::DateTime).unwrap();
    let answer = format!(
        "<AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleResult><Credentials>\
         <AccessKeyId>AKID{number}</AccessKeyId><SecretAccessKey>{SECRET}</SecretAccessKey><SessionToken>{SECRET}-token</SessionToken>\
         <Expiration>{end}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"
    );
    (200, answer)
}

fn refused(status: u16, code: &str) -> (u16, String) {
    let answer =
        format!("<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>no such trust</Message></Error></ErrorResponse>");
    (status, answer)
}

fn by(aws: &FakeAws) -> AwsCredentials {
    AwsCredentials::by(AwsEnvironment::of(aws.configuration.clone()))
}

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn a_role_is_assumed_as_declared_and_once_for_all_who_want_it() {
    let aws = FakeAws::start(|number, _, body| {
        let asked: std::collections::BTreeMap<String, String> = url::form_urlencoded::parse(body).into_owned().collect();
        let expected = [
            ("Action", "AssumeRole"),
            ("RoleArn", ROLE),
            ("ExternalId", "x 1"),
            ("RoleSessionName", "featurestore-main.sales.orders"),
            ("DurationSeconds", "3600"),
        ];
        match expected
            .iter()
            .find(|(field, value)| asked.get(*field).map(String::as_str) != Some(value))
        {
            None => assumed(number, HOUR),
            Some((field, _)) => refused(400, &format!("Wrong{field}")),
        }
    })
    .await;
    let credentials = by(&aws);
    let (credential, session) = (role(Some("x 1")), session());
    let got = join_all((0..20).map(|_| credentials.assume(&credential, &session))).await;
    let first = got[0].clone().unwrap();
    assert!(got.iter().all(|one| one.as_ref() == Ok(&first)), "{got:?}");
    assert_eq!(
        (aws.asked(), first.access_key_id.as_str(), first.secret_access_key.expose_text()),
        (1, "AKID0", Some(SECRET))
    );
    let shown = format!("{first:?}");
    assert!(shown.contains("AKID0") && !shown.contains("canary"), "{shown}");
    // Another external id is another question: what was kept for the first does not answer it.
    let error = credentials.assume(&role(Some("x 2")), &session).await.unwrap_err().to_string();
    assert!(error.contains("WrongExternalId"), "{error}");
}

#[tokio::test]
async fn credentials_are_renewed_well_before_their_end_and_given_out_until_it_if_they_cannot_be() {
    // How long the first ones are good for, whether STS answers a second time, and whose credentials the second call gets.
    let cases = [
        (CREDENTIALS_RENEWED_BEFORE + Duration::from_secs(60), true, Some("AKID0"), 1),
        (CREDENTIALS_RENEWED_BEFORE - Duration::from_secs(60), true, Some("AKID1"), 2),
        (CREDENTIALS_RENEWED_BEFORE - Duration::from_secs(60), false, Some("AKID0"), 2),
        (CREDENTIALS_GOOD_FOR_MIN - Duration::from_secs(30), false, None, 2),
    ];
    for (good_for, answers_again, expected, asked) in cases {
        let aws = FakeAws::start(move |number, _, _| match number {
            0 => assumed(0, good_for),
            _ if answers_again => assumed(number, HOUR),
            _ => refused(403, "AccessDenied"),
        })
        .await;
        let credentials = by(&aws);
        credentials.assume(&role(None), &session()).await.unwrap();
        let second = credentials.assume(&role(None), &session()).await.ok();
        assert_eq!(
            second.map(|it| it.access_key_id).as_deref(),
            expected,
            "{good_for:?} {answers_again}"
        );
        assert_eq!(aws.asked(), asked, "{good_for:?} {answers_again}");
    }
}

#[tokio::test]
async fn a_refusal_names_credential_role_and_cause_and_is_not_asked_for_again_at_once() {
    let aws = FakeAws::start(|_, _, _| refused(403, "AccessDenied")).await;
    let credentials = by(&aws);
    let (credential, session) = (role(Some("x")), session());
    let got = join_all((0..20).map(|_| credentials.assume(&credential, &session))).await;
    assert_eq!(aws.asked(), 1);
    for error in got.into_iter().map(Result::unwrap_err) {
        let text = format!("{error} {error:?}");
        assert!(
            ["reader", ROLE, "AccessDenied", "no such trust"]
                .iter()
                .all(|part| text.contains(part)),
            "{text}"
        );
        assert!(!text.contains(AGENT_SECRET), "{text}");
    }
}

#[tokio::test]
async fn a_passing_failure_is_tried_again_a_few_times() {
    for (failures, succeeds) in [(2, true), (9, false)] {
        let aws = FakeAws::start(move |number, _, _| match number < failures {
            true => (503, "busy".to_owned()),
            false => assumed(number, HOUR),
        })
        .await;
        assert_eq!(by(&aws).assume(&role(None), &session()).await.is_ok(), succeeds, "{failures}");
        assert_eq!(aws.asked(), 3, "{failures}");
    }
    // Nobody listens on a port that was just given back.
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let credentials = AwsCredentials::by(AwsEnvironment::of(configuration(&format!("http://{gone}"))));
    let error = credentials.assume(&role(None), &session()).await.unwrap_err().to_string();
    assert!(error.contains(ROLE) && error.len() < 1_000, "{error}");
}

#[tokio::test]
async fn the_environment_gives_its_own_credentials() {
    let credentials = AwsCredentials::by(AwsEnvironment::of(configuration("http://127.0.0.1:9")));
    let got = credentials
        .assume(&credential(CredentialIdentity::Ambient), &session())
        .await
        .unwrap();
    assert_eq!(
        (got.access_key_id.as_str(), got.secret_access_key.expose_text(), got.expires_at),
        ("AKIDAGENT", Some(AGENT_SECRET), None)
    );
    let credentials = AwsCredentials::by(AwsEnvironment::of(without_credentials()));
    let error = credentials
        .assume(&credential(CredentialIdentity::Ambient), &session())
        .await
        .unwrap_err();
    assert!(matches!(error, AssumeError::Ambient { .. }), "{error}");
}

#[tokio::test]
async fn the_cache_is_bounded_and_forgets_who_was_not_there_for_longest() {
    let credentials = AwsCredentials::default();
    let wanted = |number: usize| Wanted::Role {
        role_arn: number.to_string(),
        external_id: None,
        session: session(),
    };
    for number in 0..CREDENTIALS_CACHED_MAX + 10 {
        credentials.last(&wanted(number));
        credentials.last(&wanted(0));
    }
    let cache = credentials.cache.lock().unwrap();
    assert_eq!(cache.len(), CREDENTIALS_CACHED_MAX);
    assert!(cache.contains_key(&wanted(0)) && !cache.contains_key(&wanted(1)));
}

#[test]
fn a_session_has_a_name_that_aws_takes() {
    let long = "m".repeat(80);
    for (user, expected) in [
        ("main.sales.orders", "featurestore-main.sales.orders".to_owned()),
        ("a b/ü:c", "featurestore-a-b---c".to_owned()),
        ("", "featurestore-".to_owned()),
    ] {
        assert_eq!(SessionName::of(user).as_str(), expected);
    }
    let (one, other) = (SessionName::of(&format!("{long}1")), SessionName::of(&format!("{long}2")));
    assert!(one != other && one.as_str().len() == SESSION_NAME_CHARS_MAX, "{one:?} {other:?}");
}
