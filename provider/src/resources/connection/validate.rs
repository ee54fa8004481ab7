//! Checks a connection's configuration as far as it is known. Pure: no agent is asked.

use featurestore_proto::convert;
use stream_spec::validate;
use stream_spec::violation::Violation;
use tfplugin::value::Value;

use super::model::Declaration;

/// A write-only value and the reference that says the same.
const EITHER: [(&str, &str); 2] = [
    ("password_wo", "password_secret"),
    ("schema_registry_api_secret_wo", "schema_registry_api_secret_secret"),
];

/// Write-only values that nothing would ever use. The model behind the other checks never sees these values.
fn secrets_without_use(kafka: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut useless = |attribute: &str, problem: &str, remedy: &str| found.push(Violation::missing(attribute, problem, remedy));
    if let (true, Some(protocol @ ("PLAINTEXT" | "SSL"))) = (kafka.get("password_wo").is_present(), kafka.get("security_protocol").as_str())
    {
        let problem = format!("{protocol} does not authenticate by SASL");
        useless("kafka.password_wo", &problem, "leave it out, or use `SASL_SSL`");
    }
    if kafka.get("schema_registry_api_secret_wo").is_present() {
        for option in ["schema_registry_url", "schema_registry_api_key"] {
            if kafka.get(option).is_null() {
                let remedy = format!("set `{option}` as well, or leave the secret out");
                useless(
                    "kafka.schema_registry_api_secret_wo",
                    "the secret has nothing to be used with",
                    &remedy,
                );
            }
        }
    }
    found
}

/// All that is wrong with a configuration, each at its attribute.
pub(super) fn configuration(config: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    let (kafka, kinesis) = (config.get("kafka"), config.get("kinesis"));
    let nothing = |field: &str, problem: &str, remedy: &str| Violation {
        field: field.to_owned(),
        value: String::new(),
        problem: problem.to_owned(),
        remedy: remedy.to_owned(),
    };
    if kafka.is_present() && kinesis.is_present() {
        found.push(nothing(
            "kinesis",
            "exactly one of `kafka`, `kinesis` may be set, and here are both",
            "leave one of them",
        ));
    } else if kafka.is_null() && kinesis.is_null() {
        found.push(nothing(
            "kafka",
            "exactly one of `kafka`, `kinesis` is required, and here is none",
            "set one of them",
        ));
    }
    for (value, reference) in EITHER {
        if kafka.get(value).is_present() && kafka.get(reference).is_present() {
            let problem = format!("`{value}` and `{reference}` are both set");
            found.push(nothing(&format!("kafka.{reference}"), &problem, "leave one of them"));
        }
    }
    let passwords = [kafka.get("password_wo"), kafka.get("password_secret")];
    if kafka.get("sasl_mechanism").is_present() && passwords.iter().all(|it| it.is_null()) {
        found.push(nothing(
            "kafka.password_secret",
            "the mechanism needs a password",
            "set `password_wo` or `password_secret`",
        ));
    }
    found.extend(secrets_without_use(kafka));
    if found.is_empty() {
        let declared = Declaration::read(config);
        let model = match convert::connection_to_spec(&declared.connection) {
            Ok(spec) => validate::connection(&spec),
            Err(violations) => violations,
        };
        found.extend(model.into_iter().filter(|it| !declared.is_unsure(&it.field)));
    }
    found
}
