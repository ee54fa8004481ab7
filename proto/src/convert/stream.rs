//! Streams and their operations.

use std::collections::BTreeSet;
use std::time::Duration;

use stream_spec::name::{ConnectionName, StreamName, TableName};
use stream_spec::stream::{
    ConnectionConfig, DirectMtlsConfig, DirectSchemas, IngestionConfig, KafkaSource, KinesisSource, KinesisStreams, MtlsConfig, OnDataLoss,
    SchemaConfig, SchemaLocator, SchemaRegistryConfig, SchemaText, SourceConfig, StreamOperations, StreamSpec, SubscriptionMode,
};
use stream_spec::violation::Violation;

use super::{Problems, secret_ref_from_spec, secret_ref_to_spec};
use crate::v1;

/// Reads a stream's definition. Output-only fields are ignored. Errors name every field that cannot be read.
pub fn stream_to_spec(stream: &v1::Stream) -> Result<StreamSpec, Vec<Violation>> {
    let mut problems = Problems::default();
    let name = problems.name("name", &stream.name, StreamName::parse);
    let source = source_to_spec(stream.source_config.as_ref(), &mut problems);
    let connection = connection_config_to_spec(stream.connection_config.as_ref(), &mut problems);
    let schemas = schema_config_to_spec(stream.schema_config.as_ref(), &mut problems);
    let ingestion = ingestion_to_spec(stream.ingestion_config.as_ref(), &mut problems);
    match (name, source, connection, schemas, ingestion) {
        (Some(name), Some(source), Some(connection), Some(schemas), Some(ingestion)) if problems.0.is_empty() => Ok(StreamSpec {
            name,
            description: stream.description.clone(),
            source,
            connection,
            schemas,
            ingestion,
            record_type_filter: stream.record_type_filter.clone(),
            excluded_columns: stream.excluded_columns.iter().cloned().collect(),
        }),
        _ => Err(problems.0),
    }
}

/// A stream's definition as a message, without output-only fields.
pub fn stream_from_spec(spec: &StreamSpec) -> v1::Stream {
    v1::Stream {
        name: spec.name.as_str().to_owned(),
        description: spec.description.clone(),
        source_config: Some(source_from_spec(&spec.source)),
        connection_config: Some(connection_config_from_spec(&spec.connection)),
        schema_config: Some(schema_config_from_spec(&spec.schemas)),
        ingestion_config: Some(v1::IngestionConfig {
            ingestion_destination: Some(delta_table(&spec.ingestion.destination)),
            backfill_source: spec.ingestion.backfill_source.as_ref().map(delta_table),
            deduplication_columns: texts(&spec.ingestion.deduplication_columns),
            tags: spec.ingestion.tags.clone(),
            budget_policy_id: spec.ingestion.budget_policy_id.clone(),
            ..Default::default()
        }),
        record_type_filter: spec.record_type_filter.clone(),
        excluded_columns: texts(&spec.excluded_columns),
        ..Default::default()
    }
}

/// Reads direct schemas; `field` is the attribute path that violations start with.
pub fn direct_schemas_to_spec(direct: &v1::DirectSchemas, field: &str) -> Result<DirectSchemas, Vec<Violation>> {
    let mut problems = Problems::default();
    let schemas = direct_to_spec(direct, field, &mut problems);
    if problems.0.is_empty() { Ok(schemas) } else { Err(problems.0) }
}

/// Direct schemas as a message.
pub fn direct_schemas_from_spec(schemas: &DirectSchemas) -> v1::DirectSchemas {
    v1::DirectSchemas {
        key_schema: schemas.key.as_ref().map(schema_text_from_spec),
        payload_schema: schemas.payload.as_ref().map(schema_text_from_spec),
    }
}

/// `base` with the fields that are present in `operations`.
pub fn operations_to_spec(operations: &v1::StreamOperations, base: &StreamOperations) -> Result<StreamOperations, Vec<Violation>> {
    let mut problems = Problems::default();
    let mut result = base.clone();
    if let Some(paused) = operations.paused {
        result.paused = paused;
    }
    if let Some(interval) = &operations.flush_interval {
        match Duration::try_from(*interval) {
            Ok(interval) => result.flush_interval = interval,
            Err(_) => problems.0.push(Violation::new(
                "operations.flush_interval",
                &format!("{}s {}ns", interval.seconds, interval.nanos),
                "the duration is negative",
                "use a duration from 100ms to 1h",
            )),
        }
    }
    match v1::OnDataLoss::try_from(operations.on_data_loss) {
        Ok(v1::OnDataLoss::Unspecified) => {}
        Ok(v1::OnDataLoss::Fail) => result.on_data_loss = OnDataLoss::Fail,
        Ok(v1::OnDataLoss::Earliest) => result.on_data_loss = OnDataLoss::Earliest,
        Ok(v1::OnDataLoss::Latest) => result.on_data_loss = OnDataLoss::Latest,
        Err(_) => problems.0.push(Violation::new(
            "operations.on_data_loss",
            &operations.on_data_loss.to_string(),
            "the value is not known",
            "use fail, earliest or latest",
        )),
    }
    if problems.0.is_empty() { Ok(result) } else { Err(problems.0) }
}

/// Operations as a message, every field present.
pub fn operations_from_spec(operations: &StreamOperations) -> v1::StreamOperations {
    v1::StreamOperations {
        paused: Some(operations.paused),
        flush_interval: prost_types::Duration::try_from(operations.flush_interval).ok(),
        on_data_loss: match operations.on_data_loss {
            OnDataLoss::Fail => v1::OnDataLoss::Fail,
            OnDataLoss::Earliest => v1::OnDataLoss::Earliest,
            OnDataLoss::Latest => v1::OnDataLoss::Latest,
        }
        .into(),
    }
}

fn source_to_spec(config: Option<&v1::SourceConfig>, problems: &mut Problems) -> Option<SourceConfig> {
    use v1::source_config::Source;
    match config.and_then(|config| config.source.as_ref()) {
        Some(Source::KafkaStreamConfig(kafka)) => {
            use v1::subscription_mode::Mode;
            let subscription = match kafka.subscription_mode.as_ref().and_then(|mode| mode.mode.as_ref()) {
                Some(Mode::Subscribe(topics)) => SubscriptionMode::Subscribe(topics.clone()),
                Some(Mode::SubscribePattern(pattern)) => SubscriptionMode::SubscribePattern(pattern.clone()),
                Some(Mode::Assign(assign)) => SubscriptionMode::Assign(assign.clone()),
                None => {
                    return problems.exactly_one(
                        "source_config.kafka_stream_config.subscription_mode",
                        "`subscribe`, `subscribe_pattern` and `assign`",
                    );
                }
            };
            Some(SourceConfig::Kafka(KafkaSource {
                subscription,
                extra_options: kafka.extra_options.clone(),
            }))
        }
        Some(Source::KinesisStreamConfig(kinesis)) => {
            use v1::kinesis_stream_config::Streams;
            let streams = match &kinesis.streams {
                Some(Streams::StreamNames(names)) => KinesisStreams::Names(names.names.iter().cloned().collect()),
                Some(Streams::StreamArns(arns)) => KinesisStreams::Arns(arns.arns.iter().cloned().collect()),
                None => return problems.exactly_one("source_config.kinesis_stream_config", "`stream_names` and `stream_arns`"),
            };
            Some(SourceConfig::Kinesis(KinesisSource {
                streams,
                extra_options: kinesis.extra_options.clone(),
            }))
        }
        None => problems.exactly_one("source_config", "`kafka_stream_config` and `kinesis_stream_config`"),
    }
}

fn source_from_spec(source: &SourceConfig) -> v1::SourceConfig {
    use v1::source_config::Source;
    let source = match source {
        SourceConfig::Kafka(kafka) => {
            use v1::subscription_mode::Mode;
            let mode = match &kafka.subscription {
                SubscriptionMode::Subscribe(topics) => Mode::Subscribe(topics.clone()),
                SubscriptionMode::SubscribePattern(pattern) => Mode::SubscribePattern(pattern.clone()),
                SubscriptionMode::Assign(assign) => Mode::Assign(assign.clone()),
            };
            Source::KafkaStreamConfig(v1::KafkaStreamConfig {
                subscription_mode: Some(v1::SubscriptionMode { mode: Some(mode) }),
                extra_options: kafka.extra_options.clone(),
            })
        }
        SourceConfig::Kinesis(kinesis) => {
            use v1::kinesis_stream_config::Streams;
            let streams = match &kinesis.streams {
                KinesisStreams::Names(names) => Streams::StreamNames(v1::StreamNames { names: texts(names) }),
                KinesisStreams::Arns(arns) => Streams::StreamArns(v1::StreamArns { arns: texts(arns) }),
            };
            Source::KinesisStreamConfig(v1::KinesisStreamConfig {
                streams: Some(streams),
                extra_options: kinesis.extra_options.clone(),
            })
        }
    };
    v1::SourceConfig { source: Some(source) }
}

fn connection_config_to_spec(config: Option<&v1::ConnectionConfig>, problems: &mut Problems) -> Option<ConnectionConfig> {
    use v1::connection_config::Connection;
    match config.and_then(|config| config.connection.as_ref()) {
        Some(Connection::UcConnectionName(name)) => problems
            .name("connection_config.uc_connection_name", name, ConnectionName::parse)
            .map(ConnectionConfig::UcConnectionName),
        Some(Connection::DirectMtlsConfig(direct)) => {
            const FIELD: &str = "connection_config.direct_mtls_config.mtls_config";
            let Some(mtls) = &direct.mtls_config else {
                return problems.required(FIELD, "mtls_config = { keystore_location = … }");
            };
            let mut reference = |name: &str, value: &Option<v1::SecretRef>| match value {
                Some(value) => Some(secret_ref_to_spec(value)),
                None => problems.required(&format!("{FIELD}.{name}"), "{ scope = …, key = … }"),
            };
            let keystore_password_ref = reference("keystore_password_ref", &mtls.keystore_password_ref);
            let key_password_ref = reference("key_password_ref", &mtls.key_password_ref);
            let truststore_password_ref = reference("truststore_password_ref", &mtls.truststore_password_ref);
            Some(ConnectionConfig::DirectMtls(DirectMtlsConfig {
                bootstrap_servers: direct.bootstrap_servers.clone(),
                mtls: MtlsConfig {
                    keystore_location: mtls.keystore_location.clone(),
                    truststore_location: mtls.truststore_location.clone(),
                    keystore_password_ref: keystore_password_ref?,
                    key_password_ref: key_password_ref?,
                    truststore_password_ref: truststore_password_ref?,
                    disable_hostname_verification: mtls.disable_hostname_verification,
                },
            }))
        }
        None => problems.exactly_one("connection_config", "`uc_connection_name` and `direct_mtls_config`"),
    }
}

fn connection_config_from_spec(connection: &ConnectionConfig) -> v1::ConnectionConfig {
    use v1::connection_config::Connection;
    let connection = match connection {
        ConnectionConfig::UcConnectionName(name) => Connection::UcConnectionName(name.as_str().to_owned()),
        ConnectionConfig::DirectMtls(direct) => Connection::DirectMtlsConfig(v1::DirectMtlsConfig {
            bootstrap_servers: direct.bootstrap_servers.clone(),
            mtls_config: Some(v1::MtlsConfig {
                keystore_location: direct.mtls.keystore_location.clone(),
                truststore_location: direct.mtls.truststore_location.clone(),
                keystore_password_ref: Some(secret_ref_from_spec(&direct.mtls.keystore_password_ref)),
                key_password_ref: Some(secret_ref_from_spec(&direct.mtls.key_password_ref)),
                truststore_password_ref: Some(secret_ref_from_spec(&direct.mtls.truststore_password_ref)),
                disable_hostname_verification: direct.mtls.disable_hostname_verification,
            }),
        }),
    };
    v1::ConnectionConfig {
        connection: Some(connection),
    }
}

fn schema_config_to_spec(config: Option<&v1::SchemaConfig>, problems: &mut Problems) -> Option<SchemaConfig> {
    use v1::schema_config::Config;
    match config.and_then(|config| config.config.as_ref()) {
        Some(Config::DirectSchemas(direct)) => Some(SchemaConfig::Direct(direct_to_spec(
            direct,
            "schema_config.direct_schemas",
            problems,
        ))),
        Some(Config::SchemaRegistryConfig(registry)) => {
            const FIELD: &str = "schema_config.schema_registry_config";
            let uc_connection = match &registry.uc_connection {
                Some(name) => Some(problems.name(&format!("{FIELD}.uc_connection"), name, ConnectionName::parse)?),
                None => None,
            };
            let payload = locator_to_spec(
                registry.payload_schema_locator.as_ref(),
                &format!("{FIELD}.payload_schema_locator"),
                problems,
            );
            let key = locator_to_spec(
                registry.key_schema_locator.as_ref(),
                &format!("{FIELD}.key_schema_locator"),
                problems,
            );
            let api_secret_ref = registry.api_secret_ref.as_ref().map(secret_ref_to_spec);
            Some(SchemaConfig::Registry(SchemaRegistryConfig {
                uc_connection,
                api_secret_ref,
                payload,
                key,
            }))
        }
        None => problems.exactly_one("schema_config", "`direct_schemas` and `schema_registry_config`"),
    }
}

fn schema_config_from_spec(schemas: &SchemaConfig) -> v1::SchemaConfig {
    use v1::schema_config::Config;
    let config = match schemas {
        SchemaConfig::Direct(direct) => Config::DirectSchemas(direct_schemas_from_spec(direct)),
        SchemaConfig::Registry(registry) => {
            let locator = |locator: &SchemaLocator| v1::SchemaLocator {
                confluent_schema: Some(v1::ConfluentSchema {
                    subject: locator.subject.clone(),
                    format: locator.format.clone(),
                }),
            };
            Config::SchemaRegistryConfig(v1::SchemaRegistryConfig {
                uc_connection: registry.uc_connection.as_ref().map(|name| name.as_str().to_owned()),
                api_secret_ref: registry.api_secret_ref.as_ref().map(secret_ref_from_spec),
                payload_schema_locator: registry.payload.as_ref().map(locator),
                key_schema_locator: registry.key.as_ref().map(locator),
            })
        }
    };
    v1::SchemaConfig { config: Some(config) }
}

fn locator_to_spec(locator: Option<&v1::SchemaLocator>, field: &str, problems: &mut Problems) -> Option<SchemaLocator> {
    match &locator?.confluent_schema {
        Some(schema) => Some(SchemaLocator {
            subject: schema.subject.clone(),
            format: schema.format.clone(),
        }),
        None => problems.required(&format!("{field}.confluent_schema"), "{ subject = …, format = \"FORMAT_AVRO\" }"),
    }
}

fn direct_to_spec(direct: &v1::DirectSchemas, field: &str, problems: &mut Problems) -> DirectSchemas {
    let mut side = |name: &str, schema: &Option<v1::DirectSchema>| {
        use v1::direct_schema::Schema;
        match &schema.as_ref()?.schema {
            Some(Schema::JsonSchema(text)) => Some(SchemaText::Json(text.clone())),
            Some(Schema::AvroSchema(text)) => Some(SchemaText::Avro(text.clone())),
            Some(Schema::ProtoSchema(proto)) => Some(SchemaText::Proto {
                schema_text: proto.schema_text.clone(),
                message_name: proto.message_name.clone(),
            }),
            None => problems.exactly_one(&format!("{field}.{name}"), "`json_schema`, `avro_schema` and `proto_schema`"),
        }
    };
    DirectSchemas {
        key: side("key_schema", &direct.key_schema),
        payload: side("payload_schema", &direct.payload_schema),
    }
}

fn schema_text_from_spec(text: &SchemaText) -> v1::DirectSchema {
    use v1::direct_schema::Schema;
    let schema = match text {
        SchemaText::Json(text) => Schema::JsonSchema(text.clone()),
        SchemaText::Avro(text) => Schema::AvroSchema(text.clone()),
        SchemaText::Proto { schema_text, message_name } => Schema::ProtoSchema(v1::ProtoSchema {
            schema_text: schema_text.clone(),
            message_name: message_name.clone(),
        }),
    };
    v1::DirectSchema { schema: Some(schema) }
}

fn ingestion_to_spec(config: Option<&v1::IngestionConfig>, problems: &mut Problems) -> Option<IngestionConfig> {
    const DESTINATION: &str = "ingestion_config.ingestion_destination.delta_table_name";
    let Some(config) = config else {
        return problems.required("ingestion_config", "{ ingestion_destination = { delta_table_name = … } }");
    };
    let destination = match &config.ingestion_destination {
        Some(table) => problems.name(DESTINATION, &table.delta_table_name, TableName::parse),
        None => problems.required(DESTINATION, "main.payments.card_transactions_raw"),
    };
    let backfill_source = match &config.backfill_source {
        Some(table) => Some(problems.name(
            "ingestion_config.backfill_source.delta_table_name",
            &table.delta_table_name,
            TableName::parse,
        )?),
        None => None,
    };
    Some(IngestionConfig {
        destination: destination?,
        backfill_source,
        deduplication_columns: config.deduplication_columns.iter().cloned().collect(),
        tags: config.tags.clone(),
        budget_policy_id: config.budget_policy_id.clone(),
    })
}

fn delta_table(name: &TableName) -> v1::DeltaTable {
    v1::DeltaTable {
        delta_table_name: name.as_str().to_owned(),
    }
}

fn texts(set: &BTreeSet<String>) -> Vec<String> {
    set.iter().cloned().collect()
}
