//! What an agent may or may not be able to do, by name. The agent owns the set that it has; this file says which ones a
//! definition needs, so that a plan and an apply refuse the same thing in the same words.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::connection::{ConnectionOptions, ConnectionSpec, SecurityProtocol};
use crate::options::kafka::{INCLUDE_HEADERS, MAX_OFFSETS_PER_TRIGGER, STARTING_OFFSETS};
use crate::stream::{ConnectionConfig, KafkaSource, SchemaConfig, SchemaText, Side, SourceConfig, StreamSpec, SubscriptionMode};
use crate::table;
use crate::types::Field;
use crate::violation::Violation;

macro_rules! capabilities {
    ($($(#[$doc:meta])* $variant:ident, $name:literal, $work:literal;)*) => {
        /// One thing that an agent can do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Capability {
            $($(#[$doc])* $variant,)*
        }

        impl Capability {
            /// All there are.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Stable name, as the API shows it.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it does, as in "this agent cannot …".
            fn work(self) -> &'static str {
                match self { $(Self::$variant => $work,)* }
            }
        }
    };
}

capabilities! {
    /// Kafka topics by name.
    KafkaSubscribe, "kafka.subscribe", "read Kafka topics by name";
    /// Kafka topics by pattern.
    KafkaSubscribePattern, "kafka.subscribe_pattern", "read Kafka topics by pattern";
    /// Given Kafka partitions.
    KafkaAssign, "kafka.assign", "read given Kafka partitions";
    /// Start elsewhere than at the end.
    KafkaStartingOffsets, "kafka.starting_offsets", "start a stream elsewhere than at the end";
    /// A limit of records per batch.
    KafkaMaxOffsetsPerTrigger, "kafka.max_offsets_per_trigger", "limit the records of a batch";
    /// Kafka client options.
    KafkaClientOptions, "kafka.client_options", "set options of the Kafka client";
    /// The `headers` column.
    KafkaHeaders, "kafka.headers", "store record headers";
    /// Amazon Kinesis.
    Kinesis, "kinesis", "read Amazon Kinesis";
    /// JSON Schema texts.
    SchemaJson, "schema.json", "decode by a JSON schema";
    /// Avro texts.
    SchemaAvro, "schema.avro", "decode by an Avro schema";
    /// Protobuf texts.
    SchemaProtobuf, "schema.protobuf", "decode by a Protobuf schema";
    /// Confluent schema registry.
    SchemaRegistry, "schema.registry", "use a schema registry";
    /// Record filter.
    RecordFilter, "stream.record_type_filter", "filter records";
    /// Backfill.
    Backfill, "stream.backfill", "backfill from a table";
    /// INT → BIGINT of a column that exists.
    TableWidening, "table.widening", "widen a column from INT to BIGINT";
    /// Tables in an object store.
    WarehouseObjectStore, "warehouse.object_store", "keep tables in an object store";
    /// Kafka without security.
    ConnectionPlaintext, "connection.kafka.plaintext", "connect to Kafka by PLAINTEXT";
    /// Kafka by TLS.
    ConnectionSsl, "connection.kafka.ssl", "connect to Kafka by TLS";
    /// Kafka by SASL user and password.
    ConnectionSasl, "connection.kafka.sasl", "connect to Kafka by SASL";
    /// Kafka by a service credential.
    ConnectionCredential, "connection.kafka.credential", "connect to Kafka by a service credential";
    /// Kafka by client certificate.
    ConnectionMtls, "connection.kafka.mtls", "connect to Kafka by client certificate (mTLS)";
    /// Secret scopes and their secrets.
    Secrets, "secrets", "keep secrets";
    /// Service credentials.
    Credentials, "credentials", "keep service credentials";
    /// Volumes.
    Volumes, "volumes", "keep volumes";
}

impl std::fmt::Display for Capability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A capability that a declaration needs, and the field that needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// What is needed.
    pub capability: Capability,
    /// Dotted attribute path.
    pub field: String,
    /// The value there.
    pub value: String,
}

impl Need {
    fn new(capability: Capability, field: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            capability,
            field: field.into(),
            value: value.into(),
        }
    }

    /// The violation that an agent without the capability answers.
    pub fn violation(&self) -> Violation {
        let problem = format!("this agent cannot {} yet", self.capability.work());
        let remedy = format!("leave it out, or use an agent that has the capability `{}`", self.capability);
        Violation::new(self.field.clone(), &self.value, problem, remedy)
    }
}

/// The needs that `has` does not meet, as violations.
pub fn missing(needs: &[Need], has: &BTreeSet<Capability>) -> Vec<Violation> {
    needs
        .iter()
        .filter(|need| !has.contains(&need.capability))
        .map(Need::violation)
        .collect()
}

/// Everything a stream's definition needs of an agent.
pub fn needed(stream: &StreamSpec) -> Vec<Need> {
    let mut needs = Vec::new();
    match &stream.source {
        SourceConfig::Kafka(kafka) => needed_by_kafka(kafka, &mut needs),
        SourceConfig::Kinesis(_) => needs.push(Need::new(
            Capability::Kinesis,
            "source_config.kinesis_stream_config",
            "a Kinesis stream",
        )),
    }
    if let ConnectionConfig::DirectMtls(mtls) = &stream.connection {
        needs.push(Need::new(
            Capability::ConnectionMtls,
            "connection_config.direct_mtls_config",
            mtls.bootstrap_servers.clone(),
        ));
    }
    match &stream.schemas {
        SchemaConfig::Direct(schemas) => {
            for (side, text) in Side::BOTH.into_iter().filter_map(|side| Some((side, schemas.side(side)?))) {
                let field = format!("{}.{}", side.attribute(), text.attribute());
                needs.push(match text {
                    SchemaText::Json(text) => Need::new(Capability::SchemaJson, field, text.clone()),
                    SchemaText::Avro(text) => Need::new(Capability::SchemaAvro, field, text.clone()),
                    SchemaText::Proto { message_name, .. } => Need::new(Capability::SchemaProtobuf, field, message_name.clone()),
                });
            }
        }
        SchemaConfig::Registry(registry) => {
            let locator = registry.payload.as_ref().or(registry.key.as_ref());
            let subject = locator.map(|locator| locator.subject.clone()).unwrap_or_default();
            needs.push(Need::new(
                Capability::SchemaRegistry,
                "schema_config.schema_registry_config",
                subject,
            ));
        }
    }
    if let Some(filter) = &stream.record_type_filter {
        needs.push(Need::new(Capability::RecordFilter, "record_type_filter", filter.clone()));
    }
    if let Some(source) = &stream.ingestion.backfill_source {
        needs.push(Need::new(
            Capability::Backfill,
            "ingestion_config.backfill_source.delta_table_name",
            source.as_str(),
        ));
    }
    needs
}

fn needed_by_kafka(kafka: &KafkaSource, needs: &mut Vec<Need>) {
    let mode = "source_config.kafka_stream_config.subscription_mode";
    needs.push(match &kafka.subscription {
        SubscriptionMode::Subscribe(text) => Need::new(Capability::KafkaSubscribe, format!("{mode}.subscribe"), text.clone()),
        SubscriptionMode::SubscribePattern(text) => {
            Need::new(Capability::KafkaSubscribePattern, format!("{mode}.subscribe_pattern"), text.clone())
        }
        SubscriptionMode::Assign(text) => Need::new(Capability::KafkaAssign, format!("{mode}.assign"), text.clone()),
    });
    for (name, text) in &kafka.extra_options {
        let capability = match name.as_str() {
            STARTING_OFFSETS if text.trim().eq_ignore_ascii_case("latest") => continue,
            STARTING_OFFSETS => Capability::KafkaStartingOffsets,
            MAX_OFFSETS_PER_TRIGGER => Capability::KafkaMaxOffsetsPerTrigger,
            INCLUDE_HEADERS if text.eq_ignore_ascii_case("false") => continue,
            INCLUDE_HEADERS => Capability::KafkaHeaders,
            name if name.starts_with("kafka.") => Capability::KafkaClientOptions,
            // Not an option at all: validation refuses it.
            _ => continue,
        };
        needs.push(Need::new(
            capability,
            "source_config.kafka_stream_config.extra_options",
            format!("{name} = {text}"),
        ));
    }
}

/// Everything a connection needs of an agent.
pub fn needed_by_connection(connection: &ConnectionSpec) -> Vec<Need> {
    let kafka = match &connection.options {
        ConnectionOptions::Kafka(kafka) => kafka,
        ConnectionOptions::Kinesis(kinesis) => return vec![Need::new(Capability::Kinesis, "kinesis", kinesis.aws_region.clone())],
    };
    let mut needs = Vec::new();
    let protocol = kafka.security_protocol;
    if protocol == SecurityProtocol::Plaintext {
        needs.push(Need::new(
            Capability::ConnectionPlaintext,
            "kafka.security_protocol",
            protocol.name(),
        ));
    }
    if protocol.uses_tls() {
        needs.push(Need::new(Capability::ConnectionSsl, "kafka.security_protocol", protocol.name()));
    }
    match &kafka.credential {
        Some(credential) => needs.push(Need::new(Capability::ConnectionCredential, "kafka.credential", credential.clone())),
        None if protocol.uses_sasl() => {
            let mechanism = kafka.sasl_mechanism.clone().unwrap_or_else(|| protocol.name().into());
            needs.push(Need::new(Capability::ConnectionSasl, "kafka.sasl_mechanism", mechanism));
        }
        None => {}
    }
    if let Some(url) = &kafka.schema_registry_url {
        needs.push(Need::new(Capability::SchemaRegistry, "kafka.schema_registry_url", url.clone()));
    }
    needs
}

/// Everything an update in place needs of an agent: the columns before and after it say whether one is widened.
pub fn needed_by_update(before: &[Field], after: &[Field]) -> Vec<Need> {
    let widened = table::widened(before, after);
    widened
        .into_iter()
        .map(|path| Need::new(Capability::TableWidening, "schema_config.direct_schemas", path))
        .collect()
}
