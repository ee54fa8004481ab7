//! A connection's options without secret values (product part C1).

use serde::{Deserialize, Serialize};

use crate::name::ConnectionName;
use crate::stream::SecretRef;

/// A named way to reach a source. Secret values are never here, only where they are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionSpec {
    /// Letters, digits, `_`, `-`.
    pub name: ConnectionName,
    /// Free text.
    pub comment: Option<String>,
    /// Options of one kind. The kind is immutable.
    pub options: ConnectionOptions,
}

/// Options by kind of source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionOptions {
    /// Apache Kafka.
    Kafka(KafkaConnectionOptions),
    /// Amazon Kinesis.
    Kinesis(KinesisConnectionOptions),
}

/// Options of a Kafka connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KafkaConnectionOptions {
    /// Comma-separated `host:port`.
    pub bootstrap_servers: String,
    /// Transport security and authentication.
    pub security_protocol: SecurityProtocol,
    /// `PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`.
    pub sasl_mechanism: Option<String>,
    /// SASL user.
    pub user: Option<String>,
    /// Where the password is kept; `None` with a literal one, which governance keeps.
    pub password_secret: Option<SecretRef>,
    /// Service credential for IAM.
    pub credential: Option<String>,
    /// Certificate authorities to trust, PEM.
    pub ca_pem: Option<String>,
    /// Confluent schema registry address.
    pub schema_registry_url: Option<String>,
    /// Registry API key.
    pub schema_registry_api_key: Option<String>,
    /// Where the registry's API secret is kept.
    pub schema_registry_api_secret: Option<SecretRef>,
}

/// Kafka's four listener kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SecurityProtocol {
    /// TLS and SASL.
    #[default]
    #[serde(rename = "SASL_SSL")]
    SaslSsl,
    /// TLS.
    #[serde(rename = "SSL")]
    Ssl,
    /// SASL without TLS, for local brokers.
    #[serde(rename = "SASL_PLAINTEXT")]
    SaslPlaintext,
    /// Neither, for local brokers.
    #[serde(rename = "PLAINTEXT")]
    Plaintext,
}

/// Options of a Kinesis connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KinesisConnectionOptions {
    /// AWS region.
    pub aws_region: String,
    /// Service credential.
    pub credential: String,
    /// Another endpoint than the region's.
    pub endpoint: Option<String>,
}
