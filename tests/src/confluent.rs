//! Confluent's own serializers: what most producers of a schema registry write messages with. Invariant: nothing here uses the product's
//! own code.

use std::sync::{Mutex, OnceLock, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::tables::Script;

/// Which part of a record is written.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// Its key.
    Key,
    /// Its payload.
    Value,
}

/// How the subject of a schema is named.
#[derive(Clone, Copy, Debug)]
pub enum Naming {
    /// By the topic: `<topic>-value`.
    Topic,
    /// By the record.
    Record,
    /// By both: `<topic>-<record>`.
    TopicRecord,
}

/// What messages are written by.
#[derive(Clone, Debug)]
pub struct Serializer {
    request: Value,
}

/// A message as it goes into a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serialized {
    /// Key or payload, with its frame.
    pub bytes: Vec<u8>,
    /// Headers beside it.
    pub headers: Vec<(String, Vec<u8>)>,
}

impl Serializer {
    /// Writes Avro by a schema's text.
    #[must_use]
    pub fn avro(url: &str, topic: &str, part: Part, schema: &str) -> Self {
        Self::of(url, topic, part, json!({"avro": schema}))
    }

    /// Writes a message of compiled Protobuf files (an encoded `FileDescriptorSet`).
    #[must_use]
    pub fn protobuf(url: &str, topic: &str, part: Part, files: &[u8], message: &str) -> Self {
        Self::of(url, topic, part, json!({"files": STANDARD.encode(files), "message": message}))
    }

    fn of(url: &str, topic: &str, part: Part, schema: Value) -> Self {
        let side = match part {
            Part::Key => "key",
            Part::Value => "value",
        };
        let request = json!({"action": "serialize", "url": url, "topic": topic, "side": side, "schema": schema, "config": {}});
        Self { request }
    }

    /// Asks the registry as that user (`name:password`).
    #[must_use]
    pub fn with_user(mut self, user: &str) -> Self {
        self.request["user"] = json!(user);
        self
    }

    /// Refers to a version of a subject by a type's name.
    #[must_use]
    pub fn with_reference(mut self, name: &str, subject: &str, version: i32) -> Self {
        let references = &mut self.request["schema"]["references"];
        if references.is_null() {
            *references = json!([]);
        }
        let reference = json!({"name": name, "subject": subject, "version": version});
        references.as_array_mut().expect("a list").push(reference);
        self
    }

    /// Names subjects so.
    #[must_use]
    pub fn with_naming(mut self, naming: Naming) -> Self {
        self.request["naming"] = json!(match naming {
            Naming::Topic => "topic",
            Naming::Record => "record",
            Naming::TopicRecord => "topic_record",
        });
        self
    }

    /// Takes the subject's latest schema and registers none of its own.
    #[must_use]
    pub fn with_latest(mut self) -> Self {
        self.request["config"] = json!({"auto.register.schemas": false, "use.latest.version": true});
        self
    }

    /// Names the schema by its GUID in a header, and leaves the payload without a frame.
    #[must_use]
    pub fn with_guid_header(mut self) -> Self {
        self.request["guid"] = json!(true);
        self
    }

    /// Writes values, which are given as JSON shows them.
    #[must_use]
    pub fn serialize(&self, values: &[Value]) -> Vec<Serialized> {
        let mut request = self.request.clone();
        request["values"] = json!(values);
        ask(&request).as_array().expect("a list").iter().map(serialized).collect()
    }
}

/// The Protobuf files that its serializers take for granted in every registry, as an encoded `FileDescriptorSet`, but for those under
/// `google/protobuf/`.
#[must_use]
pub fn built_in_files() -> Vec<u8> {
    let files = ask(&json!({"action": "built_in"}));
    STANDARD.decode(files.as_str().expect("a text")).expect("base64")
}

fn ask(request: &Value) -> Value {
    static WRITER: OnceLock<Mutex<Script>> = OnceLock::new();
    let writer = WRITER.get_or_init(|| Mutex::new(Script::start("confluent.py")));
    let answer = writer.lock().unwrap_or_else(PoisonError::into_inner).ask(request);
    answer.unwrap_or_else(|error| panic!("Confluent's serializer: {error}"))
}

fn serialized(message: &Value) -> Serialized {
    let bytes = |text: &Value| STANDARD.decode(text.as_str().expect("a text")).expect("base64");
    let header = |header: &Value| (header[0].as_str().expect("a name").to_owned(), bytes(&header[1]));
    Serialized {
        bytes: bytes(&message["payload"]),
        headers: message["headers"].as_array().expect("a list").iter().map(header).collect(),
    }
}
