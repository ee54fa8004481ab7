//! Connections. Literal secrets stay in the message: the model has none.

use stream_spec::connection::{ConnectionOptions, ConnectionSpec, KafkaConnectionOptions, KinesisConnectionOptions, SecurityProtocol};
use stream_spec::name::ConnectionName;
use stream_spec::violation::Violation;

use super::{Problems, secret_ref_from_spec, secret_ref_to_spec};
use crate::v1;

/// Reads a connection's declaration. Output-only fields and literal secrets are ignored.
pub fn connection_to_spec(connection: &v1::Connection) -> Result<ConnectionSpec, Vec<Violation>> {
    use v1::connection::Options;
    let mut problems = Problems::default();
    let name = problems.name("name", &connection.name, ConnectionName::parse);
    let options = match &connection.options {
        Some(Options::Kafka(kafka)) => kafka_to_spec(kafka, &mut problems).map(ConnectionOptions::Kafka),
        Some(Options::Kinesis(kinesis)) => Some(ConnectionOptions::Kinesis(KinesisConnectionOptions {
            aws_region: kinesis.aws_region.clone(),
            credential: kinesis.credential.clone(),
            endpoint: kinesis.endpoint.clone(),
        })),
        None => problems.exactly_one("", "`kafka` and `kinesis`"),
    };
    match (name, options) {
        (Some(name), Some(options)) if problems.0.is_empty() => Ok(ConnectionSpec {
            name,
            comment: connection.comment.clone(),
            options,
        }),
        _ => Err(problems.0),
    }
}

/// A connection as a message, without output-only fields and secrets.
pub fn connection_from_spec(spec: &ConnectionSpec) -> v1::Connection {
    use v1::connection::Options;
    let options = match &spec.options {
        ConnectionOptions::Kafka(kafka) => Options::Kafka(v1::KafkaConnection {
            bootstrap_servers: kafka.bootstrap_servers.clone(),
            security_protocol: security_protocol_text(kafka.security_protocol).to_owned(),
            sasl_mechanism: kafka.sasl_mechanism.clone(),
            user: kafka.user.clone(),
            password: None,
            password_secret: kafka.password_secret.as_ref().map(secret_ref_from_spec),
            credential: kafka.credential.clone(),
            ca_pem: kafka.ca_pem.clone(),
            schema_registry_url: kafka.schema_registry_url.clone(),
            schema_registry_api_key: kafka.schema_registry_api_key.clone(),
            schema_registry_api_secret: None,
            schema_registry_api_secret_ref: kafka.schema_registry_api_secret.as_ref().map(secret_ref_from_spec),
        }),
        ConnectionOptions::Kinesis(kinesis) => Options::Kinesis(v1::KinesisConnection {
            aws_region: kinesis.aws_region.clone(),
            credential: kinesis.credential.clone(),
            endpoint: kinesis.endpoint.clone(),
        }),
    };
    v1::Connection {
        name: spec.name.as_str().to_owned(),
        comment: spec.comment.clone(),
        options: Some(options),
        ..Default::default()
    }
}

fn kafka_to_spec(kafka: &v1::KafkaConnection, problems: &mut Problems) -> Option<KafkaConnectionOptions> {
    let security_protocol = match kafka.security_protocol.as_str() {
        "" => SecurityProtocol::default(),
        "SASL_SSL" => SecurityProtocol::SaslSsl,
        "SSL" => SecurityProtocol::Ssl,
        "SASL_PLAINTEXT" => SecurityProtocol::SaslPlaintext,
        "PLAINTEXT" => SecurityProtocol::Plaintext,
        other => {
            problems.0.push(Violation::new(
                "kafka.security_protocol",
                other,
                "the value is not known",
                "use SASL_SSL, SSL, SASL_PLAINTEXT or PLAINTEXT",
            ));
            return None;
        }
    };
    Some(KafkaConnectionOptions {
        bootstrap_servers: kafka.bootstrap_servers.clone(),
        security_protocol,
        sasl_mechanism: kafka.sasl_mechanism.clone(),
        user: kafka.user.clone(),
        password_secret: kafka.password_secret.as_ref().map(secret_ref_to_spec),
        credential: kafka.credential.clone(),
        ca_pem: kafka.ca_pem.clone(),
        schema_registry_url: kafka.schema_registry_url.clone(),
        schema_registry_api_key: kafka.schema_registry_api_key.clone(),
        schema_registry_api_secret: kafka.schema_registry_api_secret_ref.as_ref().map(secret_ref_to_spec),
    })
}

fn security_protocol_text(protocol: SecurityProtocol) -> &'static str {
    match protocol {
        SecurityProtocol::SaslSsl => "SASL_SSL",
        SecurityProtocol::Ssl => "SSL",
        SecurityProtocol::SaslPlaintext => "SASL_PLAINTEXT",
        SecurityProtocol::Plaintext => "PLAINTEXT",
    }
}
