//! The agent's record of a stream as a value of the resource: every attribute that the agent knows. The provider's own
//! settings are added by the caller. Shared by the resource and the data source.

use std::time::Duration;

use featurestore_proto::v1;
use tfplugin::value::Value;

use crate::client::calls::StreamRecord;
use crate::duration;

/// All attributes that come from the agent. Empty sets and maps are null: the agent cannot tell them from absent ones.
pub(crate) fn attributes(record: &StreamRecord) -> Vec<(&'static str, Value)> {
    let stream = &record.stream;
    vec![
        ("id", text_or_null(&record.status.uid)),
        ("name", Value::string(&stream.name)),
        ("description", optional(&stream.description)),
        ("source_config", source(stream.source_config.as_ref())),
        ("connection_config", connection(stream.connection_config.as_ref())),
        ("schema_config", schemas(stream.schema_config.as_ref())),
        ("ingestion_config", ingestion(stream.ingestion_config.as_ref())),
        ("record_type_filter", optional(&stream.record_type_filter)),
        ("excluded_columns", set_or_null(&stream.excluded_columns)),
        ("operations", operations(&record.operations)),
        ("create_time", time(stream.create_time.as_ref())),
        ("created_by", text_or_null(&stream.created_by)),
        ("update_time", time(stream.update_time.as_ref())),
        ("updated_by", text_or_null(&stream.updated_by)),
        ("state", Value::string(state_name(record.status.state()))),
    ]
}

/// `ACTIVE` for `STREAM_STATE_ACTIVE`.
pub(crate) fn state_name(state: v1::StreamState) -> &'static str {
    state.as_str_name().trim_start_matches("STREAM_STATE_")
}

/// A moment as RFC 3339 text.
pub(crate) fn time(time: Option<&prost_types::Timestamp>) -> Value {
    Value::optional_string(time.map(ToString::to_string))
}

/// A duration as `parse` reads it.
pub(crate) fn duration_text(interval: Option<&prost_types::Duration>) -> Value {
    let interval = interval.and_then(|interval| Duration::try_from(*interval).ok());
    Value::optional_string(interval.map(duration::format))
}

/// Direct schemas as the resource nests them.
pub(crate) fn direct_schemas(direct: &v1::DirectSchemas) -> Value {
    Value::object([
        ("key_schema", direct_schema(direct.key_schema.as_ref())),
        ("payload_schema", direct_schema(direct.payload_schema.as_ref())),
    ])
}

/// A text, null if empty: the messages cannot tell these apart.
pub(crate) fn text_or_null(text: &str) -> Value {
    Value::optional_string((!text.is_empty()).then_some(text))
}

fn optional(text: &Option<String>) -> Value {
    Value::optional_string(text.as_deref())
}

fn set_or_null(texts: &[String]) -> Value {
    if texts.is_empty() { Value::Null } else { Value::string_set(texts) }
}

fn map_or_null(map: &std::collections::BTreeMap<String, String>) -> Value {
    if map.is_empty() {
        return Value::Null;
    }
    Value::map(map.iter().map(|(key, value)| (key, Value::string(value))))
}

fn source(config: Option<&v1::SourceConfig>) -> Value {
    use v1::source_config::Source;
    let (kafka, kinesis) = match config.and_then(|config| config.source.as_ref()) {
        Some(Source::KafkaStreamConfig(kafka)) => (kafka_source(kafka), Value::Null),
        Some(Source::KinesisStreamConfig(kinesis)) => (Value::Null, kinesis_source(kinesis)),
        None => (Value::Null, Value::Null),
    };
    Value::object([("kafka_stream_config", kafka), ("kinesis_stream_config", kinesis)])
}

fn kafka_source(kafka: &v1::KafkaStreamConfig) -> Value {
    use v1::subscription_mode::Mode;
    let mode = kafka.subscription_mode.as_ref().and_then(|mode| mode.mode.as_ref());
    let (subscribe, pattern, assign) = match mode {
        Some(Mode::Subscribe(topics)) => (Value::string(topics), Value::Null, Value::Null),
        Some(Mode::SubscribePattern(pattern)) => (Value::Null, Value::string(pattern), Value::Null),
        Some(Mode::Assign(assign)) => (Value::Null, Value::Null, Value::string(assign)),
        None => (Value::Null, Value::Null, Value::Null),
    };
    let mode = Value::object([("subscribe", subscribe), ("subscribe_pattern", pattern), ("assign", assign)]);
    Value::object([("subscription_mode", mode), ("extra_options", map_or_null(&kafka.extra_options))])
}

fn kinesis_source(kinesis: &v1::KinesisStreamConfig) -> Value {
    use v1::kinesis_stream_config::Streams;
    let (names, arns) = match &kinesis.streams {
        Some(Streams::StreamNames(names)) => (Value::object([("names", Value::string_set(&names.names))]), Value::Null),
        Some(Streams::StreamArns(arns)) => (Value::Null, Value::object([("arns", Value::string_set(&arns.arns))])),
        None => (Value::Null, Value::Null),
    };
    Value::object([
        ("stream_names", names),
        ("stream_arns", arns),
        ("extra_options", map_or_null(&kinesis.extra_options)),
    ])
}

fn connection(config: Option<&v1::ConnectionConfig>) -> Value {
    use v1::connection_config::Connection;
    let (name, direct) = match config.and_then(|config| config.connection.as_ref()) {
        Some(Connection::UcConnectionName(name)) => (Value::string(name), Value::Null),
        Some(Connection::DirectMtlsConfig(direct)) => (Value::Null, direct_mtls(direct)),
        None => (Value::Null, Value::Null),
    };
    Value::object([("uc_connection_name", name), ("direct_mtls_config", direct)])
}

fn direct_mtls(direct: &v1::DirectMtlsConfig) -> Value {
    let mtls = direct.mtls_config.clone().unwrap_or_default();
    let mtls = Value::object([
        ("keystore_location", Value::string(mtls.keystore_location)),
        ("truststore_location", Value::string(mtls.truststore_location)),
        ("keystore_password_ref", secret_ref(mtls.keystore_password_ref.as_ref())),
        ("key_password_ref", secret_ref(mtls.key_password_ref.as_ref())),
        ("truststore_password_ref", secret_ref(mtls.truststore_password_ref.as_ref())),
        ("disable_hostname_verification", Value::Bool(mtls.disable_hostname_verification)),
    ]);
    Value::object([
        ("bootstrap_servers", Value::string(&direct.bootstrap_servers)),
        ("mtls_config", mtls),
    ])
}

/// A secret's reference as the resources nest it.
pub(crate) fn secret_ref(reference: Option<&v1::SecretRef>) -> Value {
    match reference {
        Some(reference) => Value::object([("scope", Value::string(&reference.scope)), ("key", Value::string(&reference.key))]),
        None => Value::Null,
    }
}

fn schemas(config: Option<&v1::SchemaConfig>) -> Value {
    use v1::schema_config::Config;
    let (direct, registry) = match config.and_then(|config| config.config.as_ref()) {
        Some(Config::DirectSchemas(direct)) => (direct_schemas(direct), Value::Null),
        Some(Config::SchemaRegistryConfig(registry)) => (Value::Null, schema_registry(registry)),
        None => (Value::Null, Value::Null),
    };
    Value::object([("direct_schemas", direct), ("schema_registry_config", registry)])
}

fn direct_schema(schema: Option<&v1::DirectSchema>) -> Value {
    use v1::direct_schema::Schema;
    let Some(schema) = schema.and_then(|schema| schema.schema.as_ref()) else {
        return Value::Null;
    };
    let (json, avro, proto) = match schema {
        Schema::JsonSchema(text) => (Value::string(text), Value::Null, Value::Null),
        Schema::AvroSchema(text) => (Value::Null, Value::string(text), Value::Null),
        Schema::ProtoSchema(proto) => {
            let proto = Value::object([
                ("schema_text", Value::string(&proto.schema_text)),
                ("message_name", Value::string(&proto.message_name)),
            ]);
            (Value::Null, Value::Null, proto)
        }
    };
    Value::object([("json_schema", json), ("avro_schema", avro), ("proto_schema", proto)])
}

fn schema_registry(registry: &v1::SchemaRegistryConfig) -> Value {
    let locator = |locator: &Option<v1::SchemaLocator>| match locator.as_ref().and_then(|it| it.confluent_schema.as_ref()) {
        Some(schema) => {
            let schema = Value::object([
                ("subject", Value::string(&schema.subject)),
                ("format", Value::string(&schema.format)),
            ]);
            Value::object([("confluent_schema", schema)])
        }
        None => Value::Null,
    };
    Value::object([
        ("uc_connection", optional(&registry.uc_connection)),
        ("api_secret_ref", secret_ref(registry.api_secret_ref.as_ref())),
        ("payload_schema_locator", locator(&registry.payload_schema_locator)),
        ("key_schema_locator", locator(&registry.key_schema_locator)),
    ])
}

fn ingestion(config: Option<&v1::IngestionConfig>) -> Value {
    let Some(config) = config else { return Value::Null };
    let table = |table: &Option<v1::DeltaTable>| match table {
        Some(table) => Value::object([("delta_table_name", Value::string(&table.delta_table_name))]),
        None => Value::Null,
    };
    // Zero is how a message says that there is none.
    let job = |id: i64| if id == 0 { Value::Null } else { Value::from(id) };
    Value::object([
        ("ingestion_destination", table(&config.ingestion_destination)),
        ("backfill_source", table(&config.backfill_source)),
        ("deduplication_columns", set_or_null(&config.deduplication_columns)),
        ("tags", map_or_null(&config.tags)),
        ("budget_policy_id", optional(&config.budget_policy_id)),
        ("ingestion_pipeline_id", text_or_null(&config.ingestion_pipeline_id)),
        ("ingestion_job_id", job(config.ingestion_job_id)),
        ("backfill_job_id", job(config.backfill_job_id)),
    ])
}

fn operations(operations: &v1::StreamOperations) -> Value {
    let on_data_loss = match operations.on_data_loss() {
        v1::OnDataLoss::Unspecified | v1::OnDataLoss::Fail => "fail",
        v1::OnDataLoss::Earliest => "earliest",
        v1::OnDataLoss::Latest => "latest",
    };
    let flush_interval = match duration_text(operations.flush_interval.as_ref()) {
        Value::Null => Value::string("1s"),
        interval => interval,
    };
    Value::object([
        ("paused", Value::Bool(operations.paused.unwrap_or(false))),
        ("flush_interval", flush_interval),
        ("on_data_loss", Value::string(on_data_loss)),
    ])
}
