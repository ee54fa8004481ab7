//! The stream resource's value as the agent's messages, and back. No rule is checked here.
//!
//! Reading tolerates unknown values: each is replaced by a harmless stand-in and its path is noted, so that the known rest
//! can still be judged. Invariant: what is read from a wholly known value and written back is equal in meaning.

use std::collections::BTreeMap;

use featurestore_proto::v1;
use stream_spec::violation::Violation;
use tfplugin::value::Value;

use crate::duration;

/// Stands in for an unknown three-part name.
const UNKNOWN_NAME: &str = "unknown.unknown.unknown";
/// Stands in for any other unknown text that has no form to keep.
const UNKNOWN_TEXT: &str = "unknown";
/// Stands in for an unknown schema: sound, and without columns that a rule could miss.
const UNKNOWN_SCHEMA: &str = r#"{"type": "string"}"#;

/// Attributes whose rules look at each other: with one unknown, none of the paths can be judged.
const JUDGED_TOGETHER: [&str; 4] = ["schema_config", "source_config", EXCLUDED, DEDUPLICATION];
const EXCLUDED: &str = "excluded_columns";
const DEDUPLICATION: &str = "ingestion_config.deduplication_columns";

/// A stream as a value declares it.
#[derive(Debug)]
pub(crate) struct Declaration {
    /// The definition.
    pub(crate) stream: v1::Stream,
    /// How it runs.
    pub(crate) operations: v1::StreamOperations,
    /// What could not even be read.
    pub(crate) violations: Vec<Violation>,
    unknown: Vec<String>,
}

impl Declaration {
    /// Reads a configuration, plan or state.
    pub(crate) fn read(value: &Value) -> Self {
        let mut reader = Reader {
            value,
            unknown: Vec::new(),
            violations: Vec::new(),
        };
        let stream = v1::Stream {
            name: reader.name("name"),
            description: reader.text("description", UNKNOWN_TEXT),
            source_config: Some(reader.source()),
            connection_config: Some(reader.connection()),
            schema_config: Some(reader.schemas()),
            ingestion_config: Some(reader.ingestion()),
            record_type_filter: reader.text("record_type_filter", UNKNOWN_TEXT),
            excluded_columns: reader.texts(EXCLUDED),
            ..Default::default()
        };
        let operations = reader.operations();
        Self {
            stream,
            operations,
            violations: reader.violations,
            unknown: reader.unknown,
        }
    }

    /// True if what a message says about `field` may come from a stand-in.
    pub(crate) fn is_unsure(&self, field: &str) -> bool {
        let inside = |field: &str, of: &str| field == of || (field.starts_with(of) && field.as_bytes().get(of.len()) == Some(&b'.'));
        let unknown = |path: &str| self.unknown.iter().any(|unknown| inside(path, unknown) || inside(unknown, path));
        unknown(field)
            || ([EXCLUDED, DEDUPLICATION, "record_type_filter"]
                .iter()
                .any(|path| inside(field, path))
                && JUDGED_TOGETHER.iter().any(|path| unknown(path)))
    }
}

/// Reads attributes by dotted path and notes which were unknown.
struct Reader<'a> {
    value: &'a Value,
    unknown: Vec<String>,
    violations: Vec<Violation>,
}

impl Reader<'_> {
    /// The text at `path`; the stand-in if it is unknown.
    fn text(&mut self, path: &str, stand_in: &str) -> Option<String> {
        match self.value.dig(path) {
            Value::String(text) => Some(text.clone()),
            Value::Unknown(_) => {
                self.unknown.push(path.to_owned());
                Some(stand_in.to_owned())
            }
            _ => None,
        }
    }

    /// The text at `path`, empty if there is none: Terraform has already refused a missing required attribute.
    fn required(&mut self, path: &str) -> String {
        self.text(path, UNKNOWN_TEXT).unwrap_or_default()
    }

    fn name(&mut self, path: &str) -> String {
        self.text(path, UNKNOWN_NAME).unwrap_or_default()
    }

    fn truth(&mut self, path: &str) -> Option<bool> {
        let value = self.value.dig(path);
        if value.is_unknown() {
            self.unknown.push(path.to_owned());
        }
        value.as_bool()
    }

    /// True if the object at `path` is there, known or not.
    fn has(&self, path: &str) -> bool {
        !self.value.dig(path).is_null()
    }

    /// True if the object at `path` is unknown as a whole.
    fn is_unknown(&mut self, path: &str) -> bool {
        let unknown = self.value.dig(path).is_unknown();
        if unknown {
            self.unknown.push(path.to_owned());
        }
        unknown
    }

    /// The known elements of a set of texts.
    fn texts(&mut self, path: &str) -> Vec<String> {
        let set = self.value.dig(path);
        if !set.is_wholly_known() {
            self.unknown.push(path.to_owned());
        }
        set.elements().iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// The known entries of a map of texts.
    fn map(&mut self, path: &str) -> BTreeMap<String, String> {
        let map = self.value.dig(path);
        if !map.is_wholly_known() {
            self.unknown.push(path.to_owned());
        }
        let entries = map.entries().into_iter().flatten();
        entries
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect()
    }

    fn secret_ref(&mut self, path: &str) -> Option<v1::SecretRef> {
        self.has(path).then(|| v1::SecretRef {
            scope: self.required(&format!("{path}.scope")),
            key: self.required(&format!("{path}.key")),
        })
    }

    fn source(&mut self) -> v1::SourceConfig {
        const KAFKA: &str = "source_config.kafka_stream_config";
        const KINESIS: &str = "source_config.kinesis_stream_config";
        use v1::source_config::Source;
        let source = if self.is_unknown("source_config") {
            // Kafka's rules are the wider ones.
            Some(Source::KafkaStreamConfig(v1::KafkaStreamConfig {
                subscription_mode: Some(subscription(v1::subscription_mode::Mode::Subscribe(UNKNOWN_TEXT.to_owned()))),
                extra_options: BTreeMap::new(),
            }))
        } else if self.has(KAFKA) {
            let mode = self.subscription_mode(&format!("{KAFKA}.subscription_mode"));
            let extra_options = self.map(&format!("{KAFKA}.extra_options"));
            Some(Source::KafkaStreamConfig(v1::KafkaStreamConfig {
                subscription_mode: mode.map(subscription),
                extra_options,
            }))
        } else if self.has(KINESIS) {
            use v1::kinesis_stream_config::Streams;
            let (names, arns) = (format!("{KINESIS}.stream_names"), format!("{KINESIS}.stream_arns"));
            let streams = if self.has(&names) {
                Some(Streams::StreamNames(v1::StreamNames {
                    names: self.texts(&format!("{names}.names")),
                }))
            } else if self.has(&arns) {
                Some(Streams::StreamArns(v1::StreamArns {
                    arns: self.texts(&format!("{arns}.arns")),
                }))
            } else {
                None
            };
            let extra_options = self.map(&format!("{KINESIS}.extra_options"));
            Some(Source::KinesisStreamConfig(v1::KinesisStreamConfig { streams, extra_options }))
        } else {
            None
        };
        v1::SourceConfig { source }
    }

    fn subscription_mode(&mut self, path: &str) -> Option<v1::subscription_mode::Mode> {
        use v1::subscription_mode::Mode;
        if self.is_unknown(path) {
            return Some(Mode::Subscribe(UNKNOWN_TEXT.to_owned()));
        }
        if let Some(topics) = self.text(&format!("{path}.subscribe"), UNKNOWN_TEXT) {
            return Some(Mode::Subscribe(topics));
        }
        if let Some(pattern) = self.text(&format!("{path}.subscribe_pattern"), UNKNOWN_TEXT) {
            return Some(Mode::SubscribePattern(pattern));
        }
        self.text(&format!("{path}.assign"), r#"{"unknown": [0]}"#).map(Mode::Assign)
    }

    fn connection(&mut self) -> v1::ConnectionConfig {
        const MTLS: &str = "connection_config.direct_mtls_config";
        use v1::connection_config::Connection;
        let connection = if self.is_unknown("connection_config") || !self.has(MTLS) {
            self.text("connection_config.uc_connection_name", UNKNOWN_TEXT)
                .map(Connection::UcConnectionName)
        } else {
            let inner = |name: &str| format!("{MTLS}.mtls_config.{name}");
            Some(Connection::DirectMtlsConfig(v1::DirectMtlsConfig {
                bootstrap_servers: self.text(&format!("{MTLS}.bootstrap_servers"), "unknown:9092").unwrap_or_default(),
                mtls_config: Some(v1::MtlsConfig {
                    keystore_location: self.text(&inner("keystore_location"), "/Volumes/u/u/u/u").unwrap_or_default(),
                    truststore_location: self.text(&inner("truststore_location"), "/Volumes/u/u/u/u").unwrap_or_default(),
                    keystore_password_ref: self.secret_ref(&inner("keystore_password_ref")),
                    key_password_ref: self.secret_ref(&inner("key_password_ref")),
                    truststore_password_ref: self.secret_ref(&inner("truststore_password_ref")),
                    disable_hostname_verification: self.truth(&inner("disable_hostname_verification")).unwrap_or(false),
                }),
            }))
        };
        v1::ConnectionConfig { connection }
    }

    fn schemas(&mut self) -> v1::SchemaConfig {
        const DIRECT: &str = "schema_config.direct_schemas";
        const REGISTRY: &str = "schema_config.schema_registry_config";
        use v1::schema_config::Config;
        let config = if self.is_unknown("schema_config") || self.is_unknown(DIRECT) {
            let payload_schema = Some(unknown_schema());
            Some(Config::DirectSchemas(v1::DirectSchemas {
                key_schema: None,
                payload_schema,
            }))
        } else if self.has(DIRECT) {
            Some(Config::DirectSchemas(v1::DirectSchemas {
                key_schema: self.direct_schema(&format!("{DIRECT}.key_schema")),
                payload_schema: self.direct_schema(&format!("{DIRECT}.payload_schema")),
            }))
        } else if self.has(REGISTRY) {
            Some(Config::SchemaRegistryConfig(v1::SchemaRegistryConfig {
                uc_connection: self.text(&format!("{REGISTRY}.uc_connection"), UNKNOWN_TEXT),
                api_secret_ref: self.secret_ref(&format!("{REGISTRY}.api_secret_ref")),
                payload_schema_locator: self.locator(&format!("{REGISTRY}.payload_schema_locator")),
                key_schema_locator: self.locator(&format!("{REGISTRY}.key_schema_locator")),
            }))
        } else {
            None
        };
        v1::SchemaConfig { config }
    }

    fn direct_schema(&mut self, path: &str) -> Option<v1::DirectSchema> {
        use v1::direct_schema::Schema;
        if self.is_unknown(path) {
            return Some(unknown_schema());
        }
        if !self.has(path) {
            return None;
        }
        let schema = if let Some(text) = self.text(&format!("{path}.json_schema"), UNKNOWN_SCHEMA) {
            Some(Schema::JsonSchema(text))
        } else if let Some(text) = self.text(&format!("{path}.avro_schema"), r#""string""#) {
            Some(Schema::AvroSchema(text))
        } else if self.has(&format!("{path}.proto_schema")) {
            Some(Schema::ProtoSchema(v1::ProtoSchema {
                schema_text: self.required(&format!("{path}.proto_schema.schema_text")),
                message_name: self.required(&format!("{path}.proto_schema.message_name")),
            }))
        } else {
            None
        };
        Some(v1::DirectSchema { schema })
    }

    fn locator(&mut self, path: &str) -> Option<v1::SchemaLocator> {
        self.has(path).then(|| v1::SchemaLocator {
            confluent_schema: Some(v1::ConfluentSchema {
                subject: self.required(&format!("{path}.confluent_schema.subject")),
                format: self
                    .text(&format!("{path}.confluent_schema.format"), "FORMAT_AVRO")
                    .unwrap_or_default(),
            }),
        })
    }

    fn ingestion(&mut self) -> v1::IngestionConfig {
        const BACKFILL: &str = "ingestion_config.backfill_source";
        let table = |delta_table_name| v1::DeltaTable { delta_table_name };
        let destination = self.name("ingestion_config.ingestion_destination.delta_table_name");
        let backfill = self.has(BACKFILL).then(|| self.name(&format!("{BACKFILL}.delta_table_name")));
        v1::IngestionConfig {
            ingestion_destination: Some(table(destination)),
            backfill_source: backfill.map(table),
            deduplication_columns: self.texts(DEDUPLICATION),
            tags: self.map("ingestion_config.tags"),
            budget_policy_id: self.text("ingestion_config.budget_policy_id", UNKNOWN_TEXT),
            ..Default::default()
        }
    }

    fn operations(&mut self) -> v1::StreamOperations {
        let flush_interval = match self.text("operations.flush_interval", "1s") {
            Some(text) => match duration::parse(&text) {
                Ok(interval) => prost_types::Duration::try_from(interval).ok(),
                Err(_) => {
                    self.violations.push(Violation::new(
                        "operations.flush_interval",
                        &text,
                        "the text is not a duration",
                        "write a number and a unit from 100ms to 1h, as in `1s`",
                    ));
                    None
                }
            },
            None => None,
        };
        let on_data_loss = match self.text("operations.on_data_loss", "fail").as_deref() {
            None => v1::OnDataLoss::Unspecified,
            Some("fail") => v1::OnDataLoss::Fail,
            Some("earliest") => v1::OnDataLoss::Earliest,
            Some("latest") => v1::OnDataLoss::Latest,
            Some(other) => {
                self.violations.push(Violation::new(
                    "operations.on_data_loss",
                    other,
                    "the value is not known",
                    "use `fail`, `earliest` or `latest`",
                ));
                v1::OnDataLoss::Unspecified
            }
        };
        v1::StreamOperations {
            paused: self.truth("operations.paused"),
            flush_interval,
            on_data_loss: on_data_loss.into(),
        }
    }
}

fn subscription(mode: v1::subscription_mode::Mode) -> v1::SubscriptionMode {
    v1::SubscriptionMode { mode: Some(mode) }
}

fn unknown_schema() -> v1::DirectSchema {
    v1::DirectSchema {
        schema: Some(v1::direct_schema::Schema::JsonSchema(UNKNOWN_SCHEMA.to_owned())),
    }
}
