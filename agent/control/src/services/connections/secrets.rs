//! What becomes of a connection's secrets when it is written (product part C1). Pure.
//!
//! The invariant: a literal secret that is kept goes to the address, and by the security, that it was given for; for any other it
//! has to be sent again. No value is looked at but for its form.

use std::collections::{BTreeMap, BTreeSet};

use stream_spec::connection::{ConnectionOptions, ConnectionSpec, same_servers};
use stream_spec::limits::SECRET_VALUE_BYTES_MAX;
use stream_spec::options::connection::ConnectionOption;
use stream_spec::violation::Violation;

use crate::connections::secret_options;
use crate::governance::secrets::SecretValue;
use crate::store::records::ConnectionRecord;

/// Literal secrets that a caller sends, by option: a value to keep, or `None` to take the one away that is kept. What is not named
/// stays as it is.
pub type LiteralChanges = BTreeMap<&'static str, Option<SecretValue>>;

/// What is to be done with the literal secrets.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LiteralPlan {
    /// To be kept from now on.
    pub(super) put: BTreeSet<&'static str>,
    /// Kept before, and to stay.
    pub(super) stay: BTreeSet<&'static str>,
    /// Kept before, and to go.
    pub(super) go: BTreeSet<&'static str>,
}

/// How exact a caller is about values: a plan stands an empty text in for one that it does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    Real,
    StandIns,
}

/// What to do with a connection's literal secrets. `existing` is the connection in force.
pub(super) fn plan(wanted: &ConnectionSpec, sent: &LiteralChanges, existing: Option<&ConnectionRecord>) -> LiteralPlan {
    let mut plan = LiteralPlan::default();
    for option in secret_options(wanted) {
        let had = existing.is_some_and(|existing| existing.literal_secrets.contains_key(option.name));
        let of_no_use = || unused(option, wanted).is_some() || option.reference(&wanted.options).is_some();
        let names = match sent.get(option.name) {
            Some(Some(_)) => &mut plan.put,
            Some(None) if had => &mut plan.go,
            // One that nothing uses any more is not kept for later.
            None if had && of_no_use() => &mut plan.go,
            None if had => &mut plan.stay,
            _ => continue,
        };
        names.insert(option.name);
    }
    plan
}

/// What is wrong with a connection's secrets, whatever it was before.
pub(super) fn check(wanted: &ConnectionSpec, sent: &LiteralChanges, plan: &LiteralPlan, values: Values) -> Vec<Violation> {
    let mut violations = Vec::new();
    let kind = wanted.options.kind();
    for option in secret_options(wanted) {
        let field = option.field(kind);
        let reference = option.reference(&wanted.options);
        let hidden = |problem: &str, remedy: &str| Violation {
            field: field.clone(),
            value: "a secret".to_owned(),
            problem: problem.to_owned(),
            remedy: remedy.to_owned(),
        };
        if let Some(Some(value)) = sent.get(option.name) {
            if let Some(why) = unused(option, wanted) {
                violations.push(hidden(&why, "leave it out"));
            }
            if reference.is_some() {
                violations.push(hidden("the option refers to a secret of a scope as well", "keep one of the two"));
            }
            violations.extend(form_problem(value, values).map(|(problem, remedy)| hidden(&problem, &remedy)));
        }
        let is_there = reference.is_some() || plan.put.contains(option.name) || plan.stay.contains(option.name);
        if !is_there && let Some(what) = needed(option, wanted) {
            violations.push(Violation::missing(field, what, "send it, or refer to a secret of a scope"));
        }
    }
    violations
}

/// Literal secrets that would stay and go to another address, or by weaker security, than they were given for.
pub(super) fn exposed(now: &ConnectionSpec, wanted: &ConnectionSpec, plan: &LiteralPlan) -> Vec<Violation> {
    let kind = wanted.options.kind();
    let stays = secret_options(wanted).filter(|option| plan.stay.contains(option.name));
    stays
        .filter_map(|option| {
            Some(Violation {
                field: option.field(kind),
                value: "a secret that is kept".to_owned(),
                problem: exposure(option, now, wanted)?.to_owned(),
                remedy: "send the secret again together with the change (in Terraform, raise `secrets_wo_version`)".to_owned(),
            })
        })
        .collect()
}

const OTHER_AUTHORITIES: &str = "other certificate authorities are trusted than when the secret was given";

fn exposure(option: &ConnectionOption, now: &ConnectionSpec, wanted: &ConnectionSpec) -> Option<&'static str> {
    let (ConnectionOptions::Kafka(now), ConnectionOptions::Kafka(wanted)) = (&now.options, &wanted.options) else {
        return None;
    };
    if option.name == "schema_registry_api_secret" {
        return if now.schema_registry_url != wanted.schema_registry_url {
            Some("the registry's address is another one than the secret was given for")
        } else {
            // Whom the connection's authorities vouch for is sent the secret, too.
            (now.ca_pem != wanted.ca_pem).then_some(OTHER_AUTHORITIES)
        };
    }
    let tls = |kafka: &stream_spec::connection::KafkaConnectionOptions| kafka.security_protocol.uses_tls();
    let tells_password = |mechanism: &Option<String>| mechanism.as_deref() == Some("PLAIN");
    if !same_servers(&now.bootstrap_servers, &wanted.bootstrap_servers) {
        Some("the address is another one than the secret was given for")
    } else if tls(now) && !tls(wanted) {
        Some("the secret was given for a connection with TLS")
    } else if tls(wanted) && now.ca_pem != wanted.ca_pem {
        Some(OTHER_AUTHORITIES)
    } else if tells_password(&wanted.sasl_mechanism) && !tells_password(&now.sasl_mechanism) {
        Some("the secret was given for a mechanism that does not tell it to the broker, and PLAIN does")
    } else {
        None
    }
}

/// Why the connection has no use for a secret.
fn unused(option: &ConnectionOption, spec: &ConnectionSpec) -> Option<String> {
    let ConnectionOptions::Kafka(kafka) = &spec.options else {
        return None;
    };
    match option.name {
        "password" if !kafka.security_protocol.uses_sasl() => {
            Some(format!("{} does not authenticate by SASL", kafka.security_protocol.name()))
        }
        "password" if kafka.credential.is_some() => Some("a credential is given as well".to_owned()),
        "schema_registry_api_secret" if kafka.schema_registry_url.is_none() => Some("there is no registry to use it with".to_owned()),
        _ => None,
    }
}

/// What is missing without a secret.
fn needed(option: &ConnectionOption, spec: &ConnectionSpec) -> Option<&'static str> {
    let ConnectionOptions::Kafka(kafka) = &spec.options else {
        return None;
    };
    match option.name {
        "password" => (unused(option, spec).is_none() && kafka.sasl_mechanism.is_some()).then_some("the mechanism needs a password"),
        "schema_registry_api_secret" => kafka.schema_registry_api_key.is_some().then_some("the API key has no secret"),
        _ => None,
    }
}

fn form_problem(value: &SecretValue, values: Values) -> Option<(String, String)> {
    let bytes = value.expose();
    if bytes.is_empty() {
        return (values == Values::Real).then(|| ("the secret is empty".to_owned(), "leave it out, or write it".to_owned()));
    }
    if bytes.len() > SECRET_VALUE_BYTES_MAX {
        let problem = format!("the secret has {} bytes", bytes.len());
        return Some((problem, format!("keep it within {SECRET_VALUE_BYTES_MAX} bytes")));
    }
    bytes
        .contains(&0)
        .then(|| ("the secret holds a NUL character".to_owned(), "take it out".to_owned()))
}

#[cfg(test)]
mod tests {
    use stream_spec::connection::ConnectionKind;
    use stream_spec::name::ConnectionName;
    use stream_spec::options::connection::{empty, find};
    use stream_spec::stream::SecretRef;

    use super::*;

    const SCRAM: [(&str, &str); 5] = [
        ("bootstrap_servers", "b:1"),
        ("sasl_mechanism", "SCRAM-SHA-256"),
        ("user", "ada"),
        ("ca_pem", "one"),
        ("schema_registry_url", "https://r"),
    ];

    fn spec(options: &[(&str, &str)]) -> ConnectionSpec {
        let mut spec = ConnectionSpec {
            name: ConnectionName::parse("c").unwrap(),
            comment: None,
            options: empty(ConnectionKind::Kafka),
        };
        for (name, text) in SCRAM.iter().chain(options) {
            let text = (!text.is_empty()).then(|| (*text).to_owned());
            find(ConnectionKind::Kafka, name).unwrap().write(&mut spec.options, text).unwrap();
        }
        spec
    }

    fn stored(names: &[&str]) -> ConnectionRecord {
        ConnectionRecord {
            spec: spec(&[]),
            literal_secrets: names.iter().map(|name| ((*name).to_owned(), "r1".to_owned())).collect(),
            ..crate::testing::definitions::connection("c")
        }
    }

    fn sent(values: &[(&'static str, Option<&str>)]) -> LiteralChanges {
        let value = |text: Option<&str>| text.map(|text| SecretValue::from(text.to_owned()));
        values.iter().map(|(name, text)| (*name, value(*text))).collect()
    }

    #[test]
    fn literals_stay_until_they_are_sent_again_taken_away_or_of_no_use() {
        let both = ["password", "schema_registry_api_secret"];
        for (wanted, changes, expected) in [
            (spec(&[]), sent(&[]), "[] [password schema_registry_api_secret] []"),
            (
                spec(&[]),
                sent(&[("password", Some("p"))]),
                "[password] [schema_registry_api_secret] []",
            ),
            (spec(&[]), sent(&[("password", None)]), "[] [schema_registry_api_secret] [password]"),
            (
                spec(&[("security_protocol", "SSL")]),
                sent(&[]),
                "[] [schema_registry_api_secret] [password]",
            ),
            (
                spec(&[("schema_registry_url", "")]),
                sent(&[]),
                "[] [password] [schema_registry_api_secret]",
            ),
        ] {
            let plan = plan(&wanted, &changes, Some(&stored(&both)));
            let shown = [&plan.put, &plan.stay, &plan.go].map(|names| format!("[{}]", Vec::from_iter(names.iter().copied()).join(" ")));
            assert_eq!(shown.join(" "), expected);
        }
    }

    #[test]
    fn a_kept_secret_is_not_sent_elsewhere_nor_by_weaker_security() {
        const BROKERS: &str = "kafka.password: other certificate authorities";
        const REGISTRYS: &str = "kafka.schema_registry_api_secret: other certificate authorities";
        for (changes, expected) in [
            (vec![("user", "bob")], vec![]),
            (vec![("bootstrap_servers", "B:1")], vec![]),
            (vec![("bootstrap_servers", "b:1,evil:1")], vec!["kafka.password: the address"]),
            (vec![("bootstrap_servers", "b:2")], vec!["kafka.password: the address"]),
            (
                vec![("security_protocol", "SASL_PLAINTEXT"), ("ca_pem", "")],
                vec!["kafka.password: the secret was given for a connection with TLS", REGISTRYS],
            ),
            (vec![("ca_pem", "two")], vec![BROKERS, REGISTRYS]),
            (vec![("ca_pem", "")], vec![BROKERS, REGISTRYS]),
            (
                vec![("sasl_mechanism", "PLAIN")],
                vec!["kafka.password: the secret was given for a mechanism"],
            ),
            (vec![("sasl_mechanism", "SCRAM-SHA-512")], vec![]),
            (
                vec![("schema_registry_url", "https://evil")],
                vec!["kafka.schema_registry_api_secret: the registry's address"],
            ),
        ] {
            let existing = stored(&["password", "schema_registry_api_secret"]);
            let wanted = spec(&changes);
            let plan_of = |changes: &LiteralChanges| exposed(&existing.spec, &wanted, &plan(&wanted, changes, Some(&existing)));
            let found: Vec<String> = plan_of(&sent(&[])).iter().map(ToString::to_string).collect();
            let as_expected = found.iter().zip(&expected).all(|(found, expected)| found.starts_with(expected));
            assert!(as_expected && found.len() == expected.len(), "{changes:?}: {found:?}");
            let again = sent(&[("password", Some("p")), ("schema_registry_api_secret", Some("s"))]);
            assert!(plan_of(&again).is_empty(), "{changes:?}: what is sent again may go anywhere");
        }
    }

    #[test]
    fn what_is_wrong_with_secrets_is_said_without_them() {
        let referring = || {
            let mut spec = spec(&[]);
            let secret = SecretRef {
                scope: "s".into(),
                key: "k".into(),
            };
            find(ConnectionKind::Kafka, "password")
                .unwrap()
                .refer(&mut spec.options, Some(secret));
            spec
        };
        let long = "x".repeat(SECRET_VALUE_BYTES_MAX + 1);
        for (wanted, text, values, expected) in [
            (spec(&[]), Some("hunter2"), Values::Real, None),
            (referring(), None, Values::Real, None),
            (
                spec(&[]),
                None,
                Values::Real,
                Some("kafka.password: the mechanism needs a password"),
            ),
            (
                referring(),
                Some("hunter2"),
                Values::Real,
                Some("kafka.password: the option refers to a secret"),
            ),
            (
                spec(&[("security_protocol", "SSL")]),
                Some("hunter2"),
                Values::Real,
                Some("kafka.password: SSL does not authenticate by SASL"),
            ),
            (spec(&[]), Some(""), Values::Real, Some("kafka.password: the secret is empty")),
            (spec(&[]), Some(""), Values::StandIns, None),
            (
                spec(&[]),
                Some("hunter2\0"),
                Values::Real,
                Some("kafka.password: the secret holds a NUL"),
            ),
            (
                spec(&[]),
                Some(long.as_str()),
                Values::Real,
                Some("kafka.password: the secret has 131073 bytes"),
            ),
            (
                spec(&[("schema_registry_api_key", "k")]),
                Some("hunter2"),
                Values::Real,
                Some("kafka.schema_registry_api_secret: the API key has no secret"),
            ),
        ] {
            let changes = text.map(|text| sent(&[("password", Some(text))])).unwrap_or_default();
            let found = check(&wanted, &changes, &plan(&wanted, &changes, None), values);
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            match expected {
                None => assert!(found.is_empty(), "{found:?}"),
                Some(expected) => assert!(found.len() == 1 && found[0].starts_with(expected), "{expected}: {found:?}"),
            }
            assert!(!format!("{found:?}").contains("hunter2"));
        }
    }
}
