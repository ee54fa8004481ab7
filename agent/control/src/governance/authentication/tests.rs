//! Who is known, and who is not: a table of what callers show.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::store::sqlite::SqliteStore;
use crate::store::tokens::{InsertedToken, TokenRecord};

struct Scene {
    store: Arc<dyn Store>,
    _folder: tempfile::TempDir,
}

impl Scene {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(SqliteStore::open(&folder.path().join("agent.db")).await.unwrap());
        Self { store, _folder: folder }
    }

    fn authenticator(&self, door: Door) -> Authenticator {
        let members = BTreeSet::from(["ada".to_owned()]);
        let directory = Directory::new(BTreeMap::from([("payments".to_owned(), members)])).with_issuers(vec![issuer()]);
        Authenticator::new(self.store.clone(), Arc::new(directory), Oidc::default(), door)
    }

    async fn token(&self, principal: &str, expire_time_ms: Option<i64>) -> TokenText {
        let text = TokenText::generate(now_ms()).unwrap();
        let record = TokenRecord {
            id: text.id().into(),
            hash: text.hash(),
            principal: principal.into(),
            created_by: "admin".into(),
            create_time_ms: 0,
            expire_time_ms,
            last_use_time_ms: None,
        };
        assert_eq!(self.store.insert_token(&record, 0).await.unwrap(), InsertedToken::Inserted);
        text
    }
}

fn issuer() -> oidc::IssuerSettings {
    oidc::IssuerSettings {
        issuer: "https://i".to_owned(),
        audience: "a".to_owned(),
        discovery: None,
        authorities: None,
        principal_claim: "sub".to_owned(),
        principal_prefix: String::new(),
        groups_claim: Some("groups".to_owned()),
        may_name_admins: true,
        clock_skew: std::time::Duration::ZERO,
    }
}

#[tokio::test]
async fn groups_that_were_seen_last_as_long_as_their_issuer_may_name_them() {
    let scene = Scene::new().await;
    let (day, now) = (24 * 3_600_000, now_ms());
    let check = async |issuers: Vec<oidc::IssuerSettings>, name: &str, days: i64, expected: &[&str]| {
        let named = oidc::Named {
            name: name.to_owned(),
            groups: Some(BTreeSet::from(["admins", "sre"].map(str::to_owned))),
            issuer: "https://i".to_owned(),
            issue_time_ms: Some(now - days * day),
        };
        let directory = Directory::default().with_issuers(issuers);
        directory.remember(&scene.store, &named, now).await.unwrap();
        let principal = directory.absent_principal(&scene.store, name).await.unwrap();
        assert_eq!(
            principal.groups().iter().map(String::as_str).collect::<Vec<_>>(),
            expected,
            "{name}"
        );
    };
    let other = |change: fn(&mut oidc::IssuerSettings)| {
        let mut other = issuer();
        change(&mut other);
        vec![other]
    };
    check(vec![issuer()], "fresh", 1, &["admins", "sre"]).await;
    check(vec![issuer()], "old", 91, &[]).await;
    check(Vec::new(), "no issuer", 1, &[]).await;
    check(other(|it| it.issuer.push('/')), "another issuer", 1, &[]).await;
    check(other(|it| it.groups_claim = None), "no claim", 1, &[]).await;
    check(other(|it| it.may_name_admins = false), "no admins", 1, &["sre"]).await;
    check(other(|it| it.principal_prefix = "i:".to_owned()), "prefix", 1, &["admins"]).await;
}

async fn check(authenticator: &Authenticator, authorization: Option<&str>, expected: Result<&str, &str>) {
    let shown = Shown {
        authorization: authorization.map(Ok),
        ..Shown::default()
    };
    match (authenticator.authenticate(&shown).await, expected) {
        (Ok(principal), expected) => assert_eq!(Ok(principal.name()), expected, "{authorization:?}"),
        (Err(error), Err(said)) => {
            let error = error.to_string();
            assert!(error.contains(said), "{error}");
            let secret = authorization.and_then(|text| text.rsplit_once('_')).map(|(_, secret)| secret);
            assert!(secret.is_none_or(|secret| secret.is_empty() || !error.contains(secret)), "{error}");
        }
        (Err(error), Ok(name)) => panic!("{name}: {error}"),
    }
}

#[tokio::test]
async fn only_a_token_that_is_good_now_is_known() {
    let scene = Scene::new().await;
    let authenticator = scene.authenticator(Door::Closed);
    let good = scene.token("ada", Some(now_ms() + 60_000)).await;
    let expired = scene.token("ada", Some(now_ms() - 1)).await;
    let revoked = scene.token("ada", None).await;
    assert!(scene.store.delete_token(revoked.id()).await.unwrap());
    let of_another_agent = TokenText::generate(now_ms()).unwrap();
    let same_id = format!("{PREFIX}{}_{}", good.id(), "0".repeat(64), PREFIX = tokens::PREFIX);
    let unknown = Err("none of this agent's");
    let malformed = Err("not `Bearer`");
    let bearer = |token: &TokenText| format!("Bearer {}", token.expose());
    let cases = [
        (Some(bearer(&good)), Ok("ada")),
        (Some(bearer(&good).replace("Bearer", "bearer")), Ok("ada")),
        (Some(bearer(&expired)), Err("has expired")),
        (Some(bearer(&revoked)), unknown),
        (Some(bearer(&of_another_agent)), unknown),
        (Some(format!("Bearer {same_id}")), unknown),
        (Some(bearer(&good)[..40].to_owned()), unknown),
        (Some("Bearer ".to_owned()), unknown),
        (Some(good.expose().to_owned()), malformed),
        (Some("Basic YWRtaW46".to_owned()), malformed),
        (Some(format!("Bearer {}", "x".repeat(AUTHORIZATION_BYTES_MAX))), malformed),
        (Some(String::new()), malformed),
        (None, Err("admin.token")),
    ];
    for (authorization, expected) in &cases {
        check(&authenticator, authorization.as_deref(), *expected).await;
    }
    let twice = Shown {
        authorization: Some(Err(())),
        ..Shown::default()
    };
    assert!(matches!(
        authenticator.authenticate(&twice).await,
        Err(AuthenticationError::Malformed)
    ));
    let open = scene.authenticator(Door::Open);
    for authorization in [None, Some("Bearer x")] {
        check(&open, authorization, Ok("local-admin")).await;
    }
}

#[tokio::test]
async fn a_token_speaks_for_its_principal_in_all_its_groups_and_its_use_is_noted_now_and_then() {
    let scene = Scene::new().await;
    let authenticator = scene.authenticator(Door::Closed);
    let text = scene.token("ada", None).await;
    let directory = Directory::default();
    let now = now_ms();
    let seen = |groups: &[&str], issue_time_ms| oidc::Named {
        name: "ada".to_owned(),
        groups: Some(groups.iter().map(|group| (*group).to_owned()).collect()),
        issuer: "https://i".to_owned(),
        issue_time_ms: Some(issue_time_ms),
    };
    for _ in 0..2 {
        directory.remember(&scene.store, &seen(&["sre"], now - 2), now).await.unwrap();
    }
    let header = format!("Bearer {}", text.expose());
    let shown = Shown {
        authorization: Some(Ok(&header)),
        ..Shown::default()
    };
    let last_use = async || scene.store.token(text.id()).await.unwrap().unwrap().last_use_time_ms;
    assert_eq!(last_use().await, None);
    let principal = authenticator.authenticate(&shown).await.unwrap();
    assert_eq!(
        principal.groups().iter().map(String::as_str).collect::<Vec<_>>(),
        ["payments", "sre"]
    );
    let first = last_use().await;
    assert!(first.is_some());
    authenticator.authenticate(&shown).await.unwrap();
    assert_eq!(last_use().await, first, "not again within a minute");
    directory.remember(&scene.store, &seen(&[], now - 1), now).await.unwrap();
    // Who is out stays out, whatever older tokens say, and tokens that do not say what is asked.
    let undated = oidc::Named {
        issue_time_ms: None,
        ..seen(&["sre"], 0)
    };
    for late in [seen(&["sre"], now - 2), seen(&["sre"], now - 1), undated] {
        directory.remember(&scene.store, &late, now).await.unwrap();
    }
    let principal = authenticator.authenticate(&shown).await.unwrap();
    assert_eq!(principal.groups().iter().map(String::as_str).collect::<Vec<_>>(), ["payments"]);
}

#[tokio::test]
async fn a_certificate_speaks_where_no_token_does_and_while_it_is_good() {
    let scene = Scene::new().await;
    let authenticator = scene.authenticator(Door::Closed);
    let token = format!("Bearer {}", scene.token("bob", None).await.expose());
    let named = |name: &str, not_after_ms| {
        Ok(CertificateName {
            name: name.to_owned(),
            not_after_ms,
        })
    };
    let good = now_ms() + 60_000;
    let cases = [
        (named("ada", good), None, Ok("ada")),
        (named("ada", good), Some(token.as_str()), Ok("bob")),
        (named("ada", good), Some("Bearer fst_x"), Err("none of this agent's")),
        (named("ada", now_ms() - 1), None, Err("has expired")),
        (named("admin", good), None, Err("belongs to the agent")),
        (named("", good), None, Err("the name is empty")),
        (Err("the certificate has no common name".to_owned()), None, Err("no common name")),
    ];
    for (certificate, authorization, expected) in &cases {
        let shown = Shown {
            authorization: authorization.map(Ok),
            certificate: Some(certificate),
            ..Shown::default()
        };
        match (authenticator.authenticate(&shown).await, expected) {
            (Ok(principal), expected) => assert_eq!(Ok(principal.name()), *expected),
            (Err(error), Err(said)) => assert!(error.to_string().contains(said), "{error}"),
            (Err(error), Ok(name)) => panic!("{name}: {error}"),
        }
    }
    let groups = authenticator
        .authenticate(&Shown {
            certificate: Some(&cases[0].0),
            ..Shown::default()
        })
        .await
        .unwrap();
    assert!(groups.groups().contains("payments"), "groups are the configuration's");
}
