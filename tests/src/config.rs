//! Configurations for tests, in Terraform's JSON syntax: one sound stream on one topic, and changes to it by JSON pointer.
//! Invariant: what [`document`] returns is accepted as it is; a test shows what it changes and nothing else.

use serde_json::{Map, Value, json};

/// Address of the stream in every configuration made here.
pub const STREAM: &str = "featurestore_stream.subject";
/// Address of the connection in every configuration made here.
pub const CONNECTION: &str = "featurestore_connection.kafka";
/// Name of the stream.
pub const STREAM_NAME: &str = "main.payments.orders";
/// Name of its table.
pub const TABLE_NAME: &str = "main.payments.orders_raw";
/// Name of its connection.
pub const CONNECTION_NAME: &str = "local-kafka";
/// Title of the warning that every connection made here brings: it is to a broker on this machine.
pub const PLAINTEXT_WARNING: &str = "Connection Without Encryption";
/// JSON pointer of the payload schema's text inside the stream.
pub const PAYLOAD_SCHEMA: &str = "/schema_config/direct_schemas/payload_schema/json_schema";

/// A payload schema with two fields.
#[must_use]
pub fn order_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "order_id": {"type": "integer", "format": "int64"},
            "amount": {"type": "number"},
        },
    })
}

/// A schema with further optional properties.
#[must_use]
pub fn with_properties(schema: &Value, properties: &Value) -> Value {
    let mut schema = schema.clone();
    let target = schema["properties"].as_object_mut().unwrap();
    for (name, property) in properties.as_object().unwrap() {
        target.insert(name.clone(), property.clone());
    }
    schema
}

/// The arguments of a stream that reads one topic of orders.
#[must_use]
pub fn stream(topic: &str) -> Value {
    json!({
        "name": STREAM_NAME,
        "source_config": {"kafka_stream_config": {"subscription_mode": {"subscribe": topic}}},
        "connection_config": {"uc_connection_name": format!("${{{CONNECTION}.name}}")},
        "schema_config": {"direct_schemas": {"payload_schema": {"json_schema": order_schema().to_string()}}},
        "ingestion_config": {"ingestion_destination": {"delta_table_name": TABLE_NAME}},
    })
}

/// The arguments of a connection to a plaintext broker.
#[must_use]
pub fn connection(bootstrap: &str) -> Value {
    json!({
        "name": CONNECTION_NAME,
        "kafka": {"bootstrap_servers": bootstrap, "security_protocol": "PLAINTEXT"},
    })
}

/// A whole configuration of one connection and one stream.
#[must_use]
pub fn document(connection: &Value, stream: &Value) -> Value {
    json!({
        "terraform": {"required_providers": {"featurestore": {"source": "featurestore/featurestore"}}},
        "resource": {
            "featurestore_connection": {"kafka": connection},
            "featurestore_stream": {"subject": stream},
        },
    })
}

/// A copy with one value set; objects on the way are made, and null removes the key.
#[must_use]
pub fn with(document: &Value, pointer: &str, value: impl Into<Value>) -> Value {
    let mut copy = document.clone();
    let mut steps: Vec<&str> = pointer.split('/').skip(1).collect();
    let last = steps.pop().expect("a pointer with a key");
    let mut place = &mut copy;
    for step in steps {
        let object = place
            .as_object_mut()
            .unwrap_or_else(|| panic!("{pointer}: `{step}` is not inside an object"));
        place = object.entry(step).or_insert_with(|| Value::Object(Map::new()));
    }
    let object = place
        .as_object_mut()
        .unwrap_or_else(|| panic!("{pointer}: no object around `{last}`"));
    match value.into() {
        Value::Null => {
            object.remove(last);
        }
        value => {
            object.insert(last.to_owned(), value);
        }
    }
    copy
}
