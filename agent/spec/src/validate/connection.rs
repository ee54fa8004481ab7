//! Connections: addresses, security and what belongs together (product parts C1, C5).

use crate::connection::{ConnectionOptions, ConnectionSpec, KafkaConnectionOptions, KinesisConnectionOptions, parse_servers};
use crate::limits::CONNECTION_OPTION_BYTES_MAX;
use crate::options::connection as registry;
use crate::stream::{ConnectionConfig, DirectMtlsConfig, SecretRef, SourceConfig, StreamSpec};
use crate::violation::Violation;
use crate::volume::{VOLUME_PATH_FORM, VolumePath};

const MTLS: &str = "connection_config.direct_mtls_config";
const MECHANISMS: [&str; 3] = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"];

/// Everything that is wrong with a connection's declaration. Literal secrets are not part of it.
pub fn connection(connection: &ConnectionSpec) -> Vec<Violation> {
    let mut violations = Vec::new();
    check_texts(&connection.options, &mut violations);
    match &connection.options {
        ConnectionOptions::Kafka(kafka) => check_kafka(kafka, &mut violations),
        ConnectionOptions::Kinesis(kinesis) => check_kinesis(kinesis, &mut violations),
    }
    violations
}

/// Length and characters of every option: a line break or NUL inside a user or an address would be read as the end of it by some
/// protocol on the way.
fn check_texts(options: &ConnectionOptions, violations: &mut Vec<Violation>) {
    let kind = options.kind();
    for option in registry::all(kind).iter().filter(|option| option.reference(options).is_none()) {
        let Some(text) = option.read(options) else { continue };
        if text.len() > CONNECTION_OPTION_BYTES_MAX {
            let problem = format!("the text has {} bytes", text.len());
            let remedy = format!("keep it within {CONNECTION_OPTION_BYTES_MAX} bytes");
            violations.push(Violation::new(option.field(kind), "a long text", problem, remedy));
        }
        let is_pem = option.name == "ca_pem";
        let is_bad = |letter: &char| letter.is_control() && !(is_pem && letter.is_ascii_whitespace());
        if let Some(bad) = text.chars().find(is_bad) {
            let problem = format!("the text holds the character {bad:?}");
            violations.push(Violation::new(option.field(kind), "a text", problem, "take it out"));
        }
    }
}

/// The part of a stream that says how to connect.
pub(super) fn check_of_stream(stream: &StreamSpec, violations: &mut Vec<Violation>) {
    let ConnectionConfig::DirectMtls(direct) = &stream.connection else {
        return;
    };
    if matches!(stream.source, SourceConfig::Kinesis(_)) {
        let remedy = "name a KINESIS connection in `uc_connection_name`";
        violations.push(Violation::new(
            MTLS,
            &direct.bootstrap_servers,
            "direct mTLS is for Kafka only",
            remedy,
        ));
    }
    check_mtls(direct, violations);
}

fn check_mtls(direct: &DirectMtlsConfig, violations: &mut Vec<Violation>) {
    check_servers(&format!("{MTLS}.bootstrap_servers"), &direct.bootstrap_servers, violations);
    let mtls = &direct.mtls;
    for (name, location) in [
        ("keystore_location", &mtls.keystore_location),
        ("truststore_location", &mtls.truststore_location),
    ] {
        if let Err(problem) = VolumePath::parse(location) {
            violations.push(Violation::new(
                format!("{MTLS}.mtls_config.{name}"),
                location,
                format!("the location is not a file's path in a volume: {problem}"),
                format!("write `{VOLUME_PATH_FORM}`"),
            ));
        }
    }
    for (name, secret) in [
        ("keystore_password_ref", &mtls.keystore_password_ref),
        ("key_password_ref", &mtls.key_password_ref),
        ("truststore_password_ref", &mtls.truststore_password_ref),
    ] {
        check_secret(&format!("{MTLS}.mtls_config.{name}"), secret, violations);
    }
}

pub(super) fn check_secret(field: &str, secret: &SecretRef, violations: &mut Vec<Violation>) {
    for (name, text) in [("scope", &secret.scope), ("key", &secret.key)] {
        if text.is_empty() {
            violations.push(Violation::new(
                format!("{field}.{name}"),
                "",
                format!("the {name} is empty"),
                "name a secret's scope and key",
            ));
        }
    }
}

fn check_servers(field: &str, text: &str, violations: &mut Vec<Violation>) {
    if let Err(problem) = parse_servers(text) {
        let remedy = "write host and port with commas between the servers, as in `broker-1:9092,broker-2:9092`";
        violations.push(Violation::new(field, text, problem, remedy));
    }
}

fn check_kafka(kafka: &KafkaConnectionOptions, violations: &mut Vec<Violation>) {
    check_servers("kafka.bootstrap_servers", &kafka.bootstrap_servers, violations);
    check_authentication(kafka, violations);
    if let Some(pem) = &kafka.ca_pem {
        // The text is public, but long: only its beginning would be shown, so it is not shown at all.
        if !pem.contains("-----BEGIN CERTIFICATE-----") {
            let remedy = "give certificates in PEM form, as from `file(\"ca.pem\")`";
            violations.push(Violation::new("kafka.ca_pem", "a text", "there is no certificate in it", remedy));
        }
        let has_tls = |urls: &String| urls.contains("https://");
        if !kafka.security_protocol.uses_tls() && !kafka.schema_registry_url.as_ref().is_some_and(has_tls) {
            let problem = format!("{} does not use TLS", kafka.security_protocol.name());
            violations.push(Violation::new(
                "kafka.ca_pem",
                "certificates",
                problem,
                "leave it out, or use `SSL` or `SASL_SSL`",
            ));
        }
    }
    check_registry(kafka, violations);
}

/// SASL protocols take a credential, or a mechanism with user and password; the others take neither.
fn check_authentication(kafka: &KafkaConnectionOptions, violations: &mut Vec<Violation>) {
    let protocol = kafka.security_protocol;
    let given = [
        ("kafka.sasl_mechanism", kafka.sasl_mechanism.as_deref()),
        ("kafka.user", kafka.user.as_deref()),
        ("kafka.password_secret", kafka.password_secret.as_ref().map(|_| "a secret")),
        ("kafka.credential", kafka.credential.as_deref()),
    ];
    for (field, value) in given {
        if let (Some(value), false) = (value, protocol.uses_sasl()) {
            let problem = format!("{} does not authenticate by SASL", protocol.name());
            violations.push(Violation::new(field, value, problem, "leave it out, or use `SASL_SSL`"));
        }
        if value == Some("") {
            violations.push(Violation::new(field, "", "the text is empty", "leave it out, or write it"));
        }
    }
    if let Some(secret) = &kafka.password_secret {
        check_secret("kafka.password_secret", secret, violations);
    }
    if !protocol.uses_sasl() {
        return;
    }
    match (&kafka.credential, &kafka.sasl_mechanism) {
        (None, None) => violations.push(Violation::missing(
            "kafka.sasl_mechanism",
            format!("{} needs a way to authenticate", protocol.name()),
            "set `sasl_mechanism` with `user` and a password, or `credential`; for a local broker set `security_protocol` to `PLAINTEXT`",
        )),
        (Some(_), _) => check_credential(kafka, violations),
        (None, Some(mechanism)) => {
            if !MECHANISMS.contains(&mechanism.as_str()) {
                let remedy = format!("write one of {}", MECHANISMS.join(", "));
                violations.push(Violation::new(
                    "kafka.sasl_mechanism",
                    mechanism,
                    "the mechanism is not supported",
                    remedy,
                ));
            }
            if kafka.user.is_none() {
                violations.push(Violation::missing(
                    "kafka.user",
                    "the mechanism needs a user",
                    "set `user` and a password",
                ));
            }
        }
    }
}

fn check_credential(kafka: &KafkaConnectionOptions, violations: &mut Vec<Violation>) {
    let beside = [
        ("kafka.sasl_mechanism", kafka.sasl_mechanism.as_deref()),
        ("kafka.user", kafka.user.as_deref()),
        ("kafka.password_secret", kafka.password_secret.as_ref().map(|_| "a secret")),
    ];
    for (field, value) in beside.into_iter().filter_map(|(field, value)| Some((field, value?))) {
        violations.push(Violation::new(
            field,
            value,
            "a credential is given as well",
            "keep either `credential` or SASL user and password",
        ));
    }
    if !kafka.security_protocol.uses_tls() {
        let remedy = "set `security_protocol` to `SASL_SSL`";
        violations.push(Violation::new(
            "kafka.security_protocol",
            kafka.security_protocol.name(),
            "a credential is used over TLS only",
            remedy,
        ));
    }
}

fn check_registry(kafka: &KafkaConnectionOptions, violations: &mut Vec<Violation>) {
    if let Some(secret) = &kafka.schema_registry_api_secret {
        check_secret("kafka.schema_registry_api_secret", secret, violations);
    }
    match &kafka.schema_registry_url {
        Some(urls) => {
            for url in urls.split(',') {
                check_url("kafka.schema_registry_url", url.trim(), violations);
            }
        }
        None => {
            let secret = kafka.schema_registry_api_secret.as_ref().map(|_| "a secret");
            let beside = [
                ("kafka.schema_registry_api_key", kafka.schema_registry_api_key.as_deref()),
                ("kafka.schema_registry_api_secret", secret),
            ];
            for (field, value) in beside.into_iter().filter_map(|(field, value)| Some((field, value?))) {
                violations.push(Violation::new(
                    field,
                    value,
                    "there is no registry to use it with",
                    "set `schema_registry_url` as well",
                ));
            }
        }
    }
    if kafka.schema_registry_api_secret.is_some() && kafka.schema_registry_api_key.is_none() {
        violations.push(Violation::missing(
            "kafka.schema_registry_api_key",
            "the API secret has no key",
            "set the key as well",
        ));
    }
}

fn check_kinesis(kinesis: &KinesisConnectionOptions, violations: &mut Vec<Violation>) {
    let region = &kinesis.aws_region;
    if region.is_empty()
        || !region
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    {
        violations.push(Violation::new(
            "kinesis.aws_region",
            region,
            "this is not an AWS region",
            "write it as in `eu-central-1`",
        ));
    }
    if kinesis.credential.is_empty() {
        violations.push(Violation::new(
            "kinesis.credential",
            "",
            "the name is empty",
            "name a service credential",
        ));
    }
    if let Some(endpoint) = &kinesis.endpoint {
        check_url("kinesis.endpoint", endpoint, violations);
    }
}

fn check_url(field: &str, url: &str, violations: &mut Vec<Violation>) {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
    let problem = match host {
        None => "this is not an http or https address",
        Some("") => "the address has no host",
        // Whatever stands there is a credential, and would be stored and shown as part of an address.
        Some(host) if host.contains('@') => {
            violations.push(Violation::new(
                field,
                "an address",
                "the address holds a user or password",
                "take it out of the address",
            ));
            return;
        }
        Some(_) if url.chars().any(char::is_whitespace) => "the address holds white space",
        Some(_) => return,
    };
    violations.push(Violation::new(field, url, problem, "write it as in `https://registry.example.com`"));
}
