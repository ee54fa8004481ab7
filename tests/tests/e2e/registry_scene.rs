//! What tests of streams with a schema registry share: orders in Avro, a configuration whose payload has a subject's schemas, framed
//! messages, and what a stream says.

use e2e::config::{self, STREAM_NAME, with};
use e2e::kafka::kafka;
use e2e::limits::STREAM_SETTLES;
use e2e::producer::{Acknowledged, Outgoing, RecordingProducer};
use e2e::wait::wait_until;
use featurestore_proto::v1::{RegistrySubject, StreamStatus};
use serde_json::{Value, json};

use crate::stage::{PARTITIONS, Stage};

pub(crate) const USER: &str = "ada";
pub(crate) const PASSWORD: &str = "registry-password-of-a-test";
pub(crate) const RESTART_SOON: [&str; 2] = ["--registry-restart-interval", "1s"];

/// Orders in Avro: a number and a name, and what later versions add.
pub(crate) fn avro(more: &[Value]) -> String {
    let mut fields = vec![json!({"name": "id", "type": "long"}), json!({"name": "name", "type": "string"})];
    fields.extend(more.iter().cloned());
    json!({"type": "record", "name": "Order", "namespace": "shop", "fields": fields}).to_string()
}

pub(crate) fn note() -> Value {
    json!({"name": "note", "type": ["null", "string"], "default": null})
}

/// A configuration whose payload has a subject's schemas.
pub(crate) fn document(stage: &Stage, url: &str, format: &str, with_user: bool) -> Value {
    let mut connection = with(&config::connection(kafka().bootstrap()), "/kafka/schema_registry_url", url);
    if with_user {
        connection = with(&connection, "/kafka/schema_registry_api_key", USER);
        connection = with(&connection, "/kafka/schema_registry_api_secret_wo", PASSWORD);
        connection = with(&connection, "/secrets_wo_version", 1);
    }
    let locator = json!({"confluent_schema": {"subject": subject(stage), "format": format}});
    let schemas = json!({"schema_registry_config": {"payload_schema_locator": locator}});
    config::document(&connection, &with(&stage.stream(), "/schema_config", schemas))
}

pub(crate) fn subject(stage: &Stage) -> String {
    format!("{}-value", stage.topic)
}

pub(crate) fn apply(stage: &Stage, document: &Value) {
    stage.workspace.write(document);
    stage.workspace.apply_now().assert_success();
    stage.workspace.plan().assert_empty();
}

/// Sends messages, over all partitions; their keys are numbers from `first` on.
pub(crate) fn send(stage: &Stage, first: usize, messages: Vec<Vec<u8>>) -> Vec<Acknowledged> {
    RecordingProducer::new().send_all(&stage.topic, &numbered(first, messages))
}

/// Records of messages, over all partitions; their keys are numbers from `first` on.
pub(crate) fn numbered(first: usize, messages: Vec<Vec<u8>>) -> Vec<Outgoing> {
    let messages = messages.into_iter().enumerate();
    let record = |(place, value): (usize, Vec<u8>)| Outgoing {
        partition: Some(i32::try_from(place).unwrap() % PARTITIONS),
        ..Outgoing::new((first + place).to_string(), value)
    };
    messages.map(record).collect()
}

pub(crate) fn number_of(record: &Acknowledged) -> i64 {
    String::from_utf8(record.key.clone().unwrap()).unwrap().parse().unwrap()
}

/// A frame and an order of the first version by hand.
pub(crate) fn framed_order(id: u32, number: i64, behind: &[u8]) -> Vec<u8> {
    let schema = apache_avro::Schema::parse_str(&avro(&[])).unwrap();
    let writer = apache_avro::writer::datum::GenericDatumWriter::builder(&schema).build().unwrap();
    let fields = vec![
        ("id".to_owned(), apache_avro::types::Value::Long(number)),
        ("name".to_owned(), apache_avro::types::Value::String(format!("n {number}"))),
    ];
    let datum = writer.write_value_to_vec(apache_avro::types::Value::Record(fields)).unwrap();
    [&[0], id.to_be_bytes().as_slice(), &datum, behind].concat()
}

pub(crate) fn status(stage: &Stage) -> Result<StreamStatus, String> {
    let record = stage.agent.api().stream(STREAM_NAME).map_err(|status| status.to_string())?;
    record.status.ok_or_else(|| "no status".to_owned())
}

pub(crate) fn await_version(stage: &Stage, version: i32) -> RegistrySubject {
    wait_until(&format!("version {version} is in force"), STREAM_SETTLES, || {
        let subjects = status(stage)?.registry_subjects;
        let found = subjects.iter().find(|subject| subject.version == Some(version));
        found.cloned().ok_or_else(|| format!("{subjects:?}"))
    })
}

/// Waits for a condition that is false, and answers its message.
pub(crate) fn await_condition(stage: &Stage, condition_type: &str) -> String {
    wait_until(&format!("{condition_type} is false"), STREAM_SETTLES, || {
        let conditions = status(stage)?.conditions;
        let is_it = |it: &&featurestore_proto::v1::Condition| it.r#type == condition_type && it.status().as_str_name().ends_with("FALSE");
        let found = conditions.iter().find(is_it);
        found.map(|it| it.message.clone()).ok_or_else(|| format!("{conditions:?}"))
    })
}

/// Waits until messages of that column became null for that reason so many times.
pub(crate) fn await_misfits(stage: &Stage, side: &str, reason: &str, wanted: u64) {
    wait_until(&format!("{wanted} times {reason} in {side}"), STREAM_SETTLES, || {
        let misfits = status(stage)?.misfits;
        let found = misfits.iter().find(|it| it.reason == reason && it.side == side);
        if found.map_or(0, |it| it.count) == wanted {
            Ok(())
        } else {
            Err(format!("{misfits:?}"))
        }
    });
}
