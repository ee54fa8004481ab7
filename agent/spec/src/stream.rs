//! A stream's definition and its operational settings (product parts S2, S3, U6).
//!
//! The definition is what a stream *is*; only schemas and excluded columns of it ever change. The operations are how it
//! runs; they change at any time and replace nothing. Texts are kept as the user wrote them; parsing happens in
//! `schema`, checking in `validate`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::name::{ConnectionName, StreamName, TableName};
use crate::path::{KEY, VALUE};

/// Everything a user declares about a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamSpec {
    /// `catalog.schema.stream`. Immutable.
    pub name: StreamName,
    /// Free text. Immutable. `None` is not `""`.
    pub description: Option<String>,
    /// Where messages come from. Immutable.
    pub source: SourceConfig,
    /// How to reach the source. Immutable.
    pub connection: ConnectionConfig,
    /// How messages are decoded. Direct schemas are updatable.
    pub schemas: SchemaConfig,
    /// Where rows go. Immutable.
    pub ingestion: IngestionConfig,
    /// SQL predicate; a record is kept where it is true. Immutable.
    pub record_type_filter: Option<String>,
    /// Paths `key.…` / `value.…` that are not ingested. Updatable.
    pub excluded_columns: BTreeSet<String>,
}

impl StreamSpec {
    /// The connection that says where the stream's schema registry is; none without a registry, or where nothing says it.
    pub fn registry_connection(&self) -> Option<&ConnectionName> {
        let SchemaConfig::Registry(registry) = &self.schemas else {
            return None;
        };
        let own = match &self.connection {
            ConnectionConfig::UcConnectionName(name) => Some(name),
            ConnectionConfig::DirectMtls(_) => None,
        };
        registry.uc_connection.as_ref().or(own)
    }
}

/// Exactly one kind of source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceConfig {
    /// Apache Kafka.
    Kafka(KafkaSource),
    /// Amazon Kinesis.
    Kinesis(KinesisSource),
}

/// Kafka topics to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KafkaSource {
    /// Which topics or partitions.
    pub subscription: SubscriptionMode,
    /// Allow-listed options (product part K2).
    pub extra_options: BTreeMap<String, String>,
}

/// How topics are chosen (product part K1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubscriptionMode {
    /// Comma-separated topic names.
    Subscribe(String),
    /// Java regular expression that matches the whole topic name.
    SubscribePattern(String),
    /// JSON object of topic → list of partitions.
    Assign(String),
}

/// Kinesis streams to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KinesisSource {
    /// Which streams.
    pub streams: KinesisStreams,
    /// Allow-listed options (product part N2).
    pub extra_options: BTreeMap<String, String>,
}

/// Kinesis streams by name or by ARN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KinesisStreams {
    /// Stream names in the connection's region.
    Names(BTreeSet<String>),
    /// Stream ARNs.
    Arns(BTreeSet<String>),
}

/// Exactly one way to connect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionConfig {
    /// A named connection.
    UcConnectionName(ConnectionName),
    /// Mutual TLS with key stores on volumes.
    DirectMtls(DirectMtlsConfig),
}

/// Mutual TLS without a named connection (product part C5).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DirectMtlsConfig {
    /// Comma-separated `host:port`.
    pub bootstrap_servers: String,
    /// Key and trust stores.
    pub mtls: MtlsConfig,
}

/// Key store, trust store and the references to their passwords.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MtlsConfig {
    /// `/Volumes/<catalog>/<schema>/<volume>/…`.
    pub keystore_location: String,
    /// `/Volumes/<catalog>/<schema>/<volume>/…`.
    pub truststore_location: String,
    /// Opens the key store.
    pub keystore_password_ref: SecretRef,
    /// Opens the private key.
    pub key_password_ref: SecretRef,
    /// Opens the trust store.
    pub truststore_password_ref: SecretRef,
    /// Accept a broker certificate for another host name.
    pub disable_hostname_verification: bool,
}

/// A secret by name; never its value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SecretRef {
    /// Secret scope.
    pub scope: String,
    /// Key inside the scope.
    pub key: String,
}

/// Exactly one way to get schemas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaConfig {
    /// Schema texts in the definition.
    Direct(DirectSchemas),
    /// Confluent schema registry.
    Registry(SchemaRegistryConfig),
}

/// Schema texts per side; at least one side has one. A side without is a plain string.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectSchemas {
    /// Schema of the message key.
    pub key: Option<SchemaText>,
    /// Schema of the message payload.
    pub payload: Option<SchemaText>,
}

/// A message's two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The message key.
    Key,
    /// The message payload.
    Payload,
}

impl Side {
    /// Both, in the order of the table's columns.
    pub const BOTH: [Self; 2] = [Self::Key, Self::Payload];

    /// The table's column of this side.
    pub fn column(self) -> &'static str {
        match self {
            Self::Key => KEY,
            Self::Payload => VALUE,
        }
    }

    /// The attribute path of this side's direct schema.
    pub fn attribute(self) -> &'static str {
        match self {
            Self::Key => "schema_config.direct_schemas.key_schema",
            Self::Payload => "schema_config.direct_schemas.payload_schema",
        }
    }
}

impl DirectSchemas {
    /// The schema of a side.
    pub fn side(&self, side: Side) -> Option<&SchemaText> {
        match side {
            Side::Key => self.key.as_ref(),
            Side::Payload => self.payload.as_ref(),
        }
    }
}

/// One schema as the user wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaText {
    /// IETF JSON Schema.
    Json(String),
    /// Avro schema.
    Avro(String),
    /// Protobuf file text and the message in it.
    Proto {
        /// `.proto` text.
        schema_text: String,
        /// Fully qualified message name.
        message_name: String,
    },
}

impl SchemaText {
    /// The attribute that holds this form: `json_schema`, `avro_schema` or `proto_schema`.
    pub fn attribute(&self) -> &'static str {
        match self {
            Self::Json(_) => "json_schema",
            Self::Avro(_) => "avro_schema",
            Self::Proto { .. } => "proto_schema",
        }
    }
}

/// Schemas by reference to a registry (product part D5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaRegistryConfig {
    /// Connection that holds the registry's address; the stream's own by default.
    pub uc_connection: Option<ConnectionName>,
    /// Registry API secret.
    pub api_secret_ref: Option<SecretRef>,
    /// Subject of the payload.
    pub payload: Option<SchemaLocator>,
    /// Subject of the key.
    pub key: Option<SchemaLocator>,
}

impl SchemaRegistryConfig {
    /// The subject of a side.
    pub fn side(&self, side: Side) -> Option<&SchemaLocator> {
        match side {
            Side::Key => self.key.as_ref(),
            Side::Payload => self.payload.as_ref(),
        }
    }
}

/// A subject in a Confluent registry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaLocator {
    /// Subject name.
    pub subject: String,
    /// `FORMAT_AVRO` or `FORMAT_PROTOBUF`; kept as text so that a refusal can show what was given.
    pub format: String,
}

/// Where rows go, and what goes with them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IngestionConfig {
    /// The ingestion table.
    pub destination: TableName,
    /// Table whose rows are copied in once.
    pub backfill_source: Option<TableName>,
    /// Paths that identify a record, for backfill.
    pub deduplication_columns: BTreeSet<String>,
    /// Cost labels, at most 25.
    pub tags: BTreeMap<String, String>,
    /// Cost label.
    pub budget_policy_id: Option<String>,
}

/// How a stream runs; no part of its definition (product part U6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamOperations {
    /// No records are read while true.
    pub paused: bool,
    /// Rows become visible at most this long after they were fetched. 100 ms to 1 h.
    pub flush_interval: Duration,
    /// What to do when records are gone before they were read.
    pub on_data_loss: OnDataLoss,
}

impl Default for StreamOperations {
    fn default() -> Self {
        Self {
            paused: false,
            flush_interval: Duration::from_millis(crate::limits::FLUSH_INTERVAL_MILLIS_DEFAULT),
            on_data_loss: OnDataLoss::Fail,
        }
    }
}

/// Decision when the wanted position is no longer available (product part K5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDataLoss {
    /// Hold the partition and say so.
    #[default]
    Fail,
    /// Go on at the earliest record there is.
    Earliest,
    /// Go on at the end.
    Latest,
}
