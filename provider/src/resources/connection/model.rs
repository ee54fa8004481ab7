//! The connection resource's value as the agent's message, and back. Secret values are read from the configuration only, and
//! never written to a value.

use featurestore_proto::v1;
use tfplugin::value::Value;

use crate::resources::stream::answer::{secret_ref, text_or_null};

/// Stands in for an unknown address: sound, and nobody's.
const UNKNOWN_SERVERS: &str = "unknown:9092";

/// A secret value of a connection.
pub(crate) struct SecretOption {
    /// The write-only attribute.
    pub(crate) value: &'static str,
    /// The attribute that refers to a secret in a scope instead.
    pub(crate) reference: &'static str,
    /// The agent's option that both set.
    pub(crate) option: &'static str,
    /// The attributes that say where it is sent, and how well protected.
    pub(crate) goes_by: &'static [&'static str],
}

/// All secret values of a connection.
pub(crate) const SECRETS: [SecretOption; 2] = [
    SecretOption {
        value: "kafka.password_wo",
        reference: "kafka.password_secret",
        option: "kafka.password",
        goes_by: &[
            "kafka.bootstrap_servers",
            "kafka.security_protocol",
            "kafka.sasl_mechanism",
            "kafka.ca_pem",
        ],
    },
    SecretOption {
        value: "kafka.schema_registry_api_secret_wo",
        reference: "kafka.schema_registry_api_secret_secret",
        option: "kafka.schema_registry_api_secret",
        goes_by: &["kafka.schema_registry_url", "kafka.ca_pem"],
    },
];

/// A connection as a value declares it, without secret values.
pub(super) struct Declaration {
    /// The message.
    pub(super) connection: v1::Connection,
    /// Paths that were unknown and hold a stand-in.
    unknown: Vec<String>,
}

impl Declaration {
    /// Reads a configuration, plan or state.
    pub(super) fn read(value: &Value) -> Self {
        let mut reader = Reader {
            value,
            unknown: Vec::new(),
        };
        let options = if value.get("kafka").is_present() {
            Some(v1::connection::Options::Kafka(reader.kafka()))
        } else if value.get("kinesis").is_present() {
            Some(v1::connection::Options::Kinesis(v1::KinesisConnection {
                aws_region: reader.text("kinesis.aws_region", "unknown").unwrap_or_default(),
                credential: reader.text("kinesis.credential", "unknown").unwrap_or_default(),
                endpoint: reader.text("kinesis.endpoint", "http://unknown"),
            }))
        } else {
            let perhaps = [value.get("kafka"), value.get("kinesis")].iter().any(|kind| kind.is_unknown());
            if perhaps {
                reader.unknown.push(String::new());
            }
            None
        };
        let connection = v1::Connection {
            name: reader.text("name", "unknown").unwrap_or_default(),
            comment: reader.text("comment", "unknown"),
            options,
            ..Default::default()
        };
        Self {
            connection,
            unknown: reader.unknown,
        }
    }

    /// True if what a message says about `field` may come from a stand-in. Options of one kind are judged together.
    pub(super) fn is_unsure(&self, field: &str) -> bool {
        let kind = |path: &str| path.split('.').next().unwrap_or_default().to_owned();
        self.unknown
            .iter()
            .any(|unknown| unknown.is_empty() || kind(unknown) == kind(field))
    }
}

struct Reader<'a> {
    value: &'a Value,
    unknown: Vec<String>,
}

impl Reader<'_> {
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

    fn secret_ref(&mut self, path: &str) -> Option<v1::SecretRef> {
        if self.value.dig(path).is_null() {
            return None;
        }
        let mut part = |name: &str| self.text(&format!("{path}.{name}"), "unknown").unwrap_or_default();
        Some(v1::SecretRef {
            scope: part("scope"),
            key: part("key"),
        })
    }

    fn kafka(&mut self) -> v1::KafkaConnection {
        let mut option = |name: &str| self.text(&format!("kafka.{name}"), "unknown");
        let (sasl_mechanism, user) = (option("sasl_mechanism"), option("user"));
        let (credential, ca_pem) = (option("credential"), option("ca_pem"));
        let (schema_registry_url, schema_registry_api_key) = (option("schema_registry_url"), option("schema_registry_api_key"));
        v1::KafkaConnection {
            bootstrap_servers: self.text("kafka.bootstrap_servers", UNKNOWN_SERVERS).unwrap_or_default(),
            security_protocol: self.text("kafka.security_protocol", "SASL_SSL").unwrap_or_default(),
            sasl_mechanism,
            user,
            password: None,
            password_secret: self.secret_ref("kafka.password_secret"),
            credential,
            ca_pem,
            schema_registry_url,
            schema_registry_api_key,
            schema_registry_api_secret: None,
            schema_registry_api_secret_ref: self.secret_ref("kafka.schema_registry_api_secret_secret"),
        }
    }
}

/// Puts an empty text in the place of each write-only value, known or not, so that a check sees that there is one.
pub(super) fn add_stand_ins_for_secrets(connection: &mut v1::Connection, config: &Value) {
    if let Some(v1::connection::Options::Kafka(kafka)) = &mut connection.options {
        let stand_in = |path: &str| (!config.dig(path).is_null()).then(String::new);
        kafka.password = stand_in("kafka.password_wo");
        kafka.schema_registry_api_secret = stand_in("kafka.schema_registry_api_secret_wo");
    }
}

/// Puts the configuration's write-only values into a message that is about to be sent.
pub(super) fn add_secrets(connection: &mut v1::Connection, config: &Value) {
    if let Some(v1::connection::Options::Kafka(kafka)) = &mut connection.options {
        kafka.password = config.dig("kafka.password_wo").as_str().map(str::to_owned);
        kafka.schema_registry_api_secret = config.dig("kafka.schema_registry_api_secret_wo").as_str().map(str::to_owned);
    }
}

/// The agent's connection as state. `own` has what only Terraform knows.
pub(super) fn state_of(connection: &v1::Connection, own: &Value) -> Value {
    let own = [("secrets_wo_version", own.get("secrets_wo_version").clone())];
    Value::object(attributes(connection).into_iter().chain(own))
}

/// All that the resource has from the agent.
pub(crate) fn attributes(connection: &v1::Connection) -> Vec<(&'static str, Value)> {
    let (kafka, kinesis) = match &connection.options {
        Some(v1::connection::Options::Kafka(kafka)) => (kafka_value(kafka), Value::Null),
        Some(v1::connection::Options::Kinesis(kinesis)) => (Value::Null, kinesis_value(kinesis)),
        None => (Value::Null, Value::Null),
    };
    vec![
        ("id", text_or_null(&connection.uid)),
        ("name", Value::string(&connection.name)),
        ("comment", optional(&connection.comment)),
        ("kafka", kafka),
        ("kinesis", kinesis),
        ("secrets_revision", text_or_null(&connection.secrets_revision)),
    ]
}

fn optional(text: &Option<String>) -> Value {
    Value::optional_string(text.as_deref())
}

fn kafka_value(kafka: &v1::KafkaConnection) -> Value {
    let protocol = if kafka.security_protocol.is_empty() {
        "SASL_SSL"
    } else {
        &kafka.security_protocol
    };
    Value::object([
        ("bootstrap_servers", Value::string(&kafka.bootstrap_servers)),
        ("security_protocol", Value::string(protocol)),
        ("sasl_mechanism", optional(&kafka.sasl_mechanism)),
        ("user", optional(&kafka.user)),
        ("password_wo", Value::Null),
        ("password_secret", secret_ref(kafka.password_secret.as_ref())),
        ("credential", optional(&kafka.credential)),
        ("ca_pem", optional(&kafka.ca_pem)),
        ("schema_registry_url", optional(&kafka.schema_registry_url)),
        ("schema_registry_api_key", optional(&kafka.schema_registry_api_key)),
        ("schema_registry_api_secret_wo", Value::Null),
        (
            "schema_registry_api_secret_secret",
            secret_ref(kafka.schema_registry_api_secret_ref.as_ref()),
        ),
    ])
}

fn kinesis_value(kinesis: &v1::KinesisConnection) -> Value {
    Value::object([
        ("aws_region", Value::string(&kinesis.aws_region)),
        ("credential", Value::string(&kinesis.credential)),
        ("endpoint", optional(&kinesis.endpoint)),
    ])
}

/// The path of an update mask that covers an attribute; `None` for what the agent does not keep.
pub(super) fn mask_path(attribute: &str) -> Option<String> {
    let mut parts = attribute.split('.');
    match (parts.next()?, parts.next()) {
        ("comment", _) => Some("comment".to_owned()),
        ("kafka", Some("schema_registry_api_secret_secret")) => Some("kafka.schema_registry_api_secret_ref".to_owned()),
        (kind @ ("kafka" | "kinesis"), Some(option)) => Some(format!("{kind}.{option}")),
        (kind @ ("kafka" | "kinesis"), None) => Some(kind.to_owned()),
        _ => None,
    }
}
