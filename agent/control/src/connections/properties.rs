//! A connection's options and secrets as properties of librdkafka. Pure. The invariant: a secret's bytes go into a property value,
//! which wipes them, and into nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use stream_pipeline::connection::{ClientProperties, PropertyValue, TokenSource};
use stream_pipeline::error::PipelineError;
use stream_spec::capability;
use stream_spec::connection::{ConnectionOptions, ConnectionSpec, KafkaConnectionOptions, SecurityProtocol};

use super::{SecretValues, unavailable};
use crate::governance::secrets::SecretValue;
use crate::services::CAPABILITIES;

/// What a client is opened with. Errors: what this agent cannot do, a password that is none.
pub(super) fn of(
    spec: &ConnectionSpec,
    secrets: &SecretValues,
    tokens: Option<Arc<dyn TokenSource>>,
    identity: String,
) -> Result<ClientProperties, PipelineError> {
    let has: BTreeSet<_> = CAPABILITIES.iter().copied().collect();
    let missing = capability::missing(&capability::needed_by_connection(spec), &has);
    if let Some(violation) = missing.first() {
        return Err(unavailable(
            "ConnectionUnsupported",
            format!("connection `{}`: {violation}", spec.name),
        ));
    }
    match &spec.options {
        ConnectionOptions::Kafka(kafka) => {
            let properties = of_kafka(kafka, secrets.get("password"));
            Ok(ClientProperties {
                bootstrap_servers: kafka.bootstrap_servers.clone(),
                properties: properties
                    .map_err(|problem| unavailable("SecretUnavailable", format!("connection `{}`: {problem}", spec.name)))?,
                tokens,
                identity,
            })
        }
        ConnectionOptions::Kinesis(_) => Err(PipelineError::Definition {
            message: format!("connection `{}` is of type KINESIS, and a client of Kafka was asked for", spec.name),
        }),
    }
}

/// Equal for equal options: a new comment does not make pipelines reconnect. References to secrets are part of it, values are not.
pub(super) fn digest_of_options(spec: &ConnectionSpec) -> String {
    let digest = Sha256::digest(format!("{:?}", spec.options));
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn of_kafka(kafka: &KafkaConnectionOptions, password: Option<&SecretValue>) -> Result<BTreeMap<String, PropertyValue>, &'static str> {
    let protocol = match kafka.security_protocol {
        SecurityProtocol::SaslSsl => "sasl_ssl",
        SecurityProtocol::Ssl => "ssl",
        SecurityProtocol::SaslPlaintext => "sasl_plaintext",
        SecurityProtocol::Plaintext => "plaintext",
    };
    let mut properties: BTreeMap<String, PropertyValue> = BTreeMap::from([("security.protocol".to_owned(), protocol.into())]);
    let mut set = |name: &str, value: PropertyValue| drop(properties.insert(name.to_owned(), value));
    if kafka.security_protocol.uses_tls() {
        match &kafka.ca_pem {
            Some(pem) => set("ssl.ca.pem", pem.as_str().into()),
            // The places in which distributions keep theirs: the OpenSSL that is linked in knows none of them.
            None => set("ssl.ca.location", "probe".into()),
        }
    }
    if kafka.security_protocol.uses_sasl() && kafka.credential.is_some() {
        set("sasl.mechanism", "OAUTHBEARER".into());
    } else if kafka.security_protocol.uses_sasl() {
        let password = password.ok_or("it has no password")?;
        let password = password.expose_text().ok_or("its password is no text in UTF-8; put another one")?;
        if password.is_empty() || password.contains('\0') {
            return Err("its password is empty, or holds a NUL character; put another one");
        }
        set("sasl.mechanism", kafka.sasl_mechanism.as_deref().unwrap_or_default().into());
        set("sasl.username", kafka.user.as_deref().unwrap_or_default().into());
        set("sasl.password", password.into());
    }
    Ok(properties)
}

#[cfg(test)]
mod tests {
    use stream_spec::options::connection::empty;

    use super::*;
    use stream_spec::connection::ConnectionKind;
    use stream_spec::name::ConnectionName;

    fn check(options: &[(&str, &str)], password: Option<&str>, expected: &str) {
        let mut spec = ConnectionSpec {
            name: ConnectionName::parse("c").unwrap(),
            comment: None,
            options: empty(ConnectionKind::Kafka),
        };
        for (name, text) in options {
            let option = stream_spec::options::connection::find(ConnectionKind::Kafka, name).unwrap();
            option.write(&mut spec.options, Some((*text).to_owned())).unwrap();
        }
        let secrets = password.map(|text| ("password", SecretValue::from(text.to_owned())));
        let found = match of(&spec, &secrets.into_iter().collect(), None, "i".to_owned()) {
            Ok(found) => {
                let shown: Vec<String> = found
                    .properties
                    .iter()
                    .map(|(name, value)| format!("{name}={}", value.expose()))
                    .collect();
                assert!(password.is_none_or(|password| !format!("{found:?}").contains(password)));
                shown.join(" ")
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn each_protocol_has_its_properties() {
        let scram = [("sasl_mechanism", "SCRAM-SHA-512"), ("user", "ada"), ("ca_pem", "PEM")];
        check(&[("security_protocol", "PLAINTEXT")], None, "security.protocol=plaintext");
        check(&[("security_protocol", "SSL")], None, "security.protocol=ssl ssl.ca.location=probe");
        check(
            &[("security_protocol", "SSL"), ("ca_pem", "PEM")],
            None,
            "security.protocol=ssl ssl.ca.pem=PEM",
        );
        check(
            &scram,
            Some("hunter2"),
            "sasl.mechanism=SCRAM-SHA-512 sasl.password=hunter2 sasl.username=ada security.protocol=sasl_ssl ssl.ca.pem=PEM",
        );
        check(&scram, None, "connection `c`: it has no password");
        check(
            &[("credential", "reader")],
            None,
            "sasl.mechanism=OAUTHBEARER security.protocol=sasl_ssl ssl.ca.location=probe",
        );
        check(
            &scram,
            Some("hunter\u{0}2"),
            "connection `c`: its password is empty, or holds a NUL character; put another one",
        );
    }
}
