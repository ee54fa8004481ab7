//! What messages may name, through a stream with a real broker and Confluent's own serializers: schemas that refer to others, schemas of
//! both sides under every naming strategy, a GUID in a header, and more schemas than one batch has numbers for.

use e2e::agent::Agent;
use e2e::config::{STREAM_NAME, with};
use e2e::confluent::{Naming, Part, Serializer};
use e2e::producer::{Outgoing, RecordingProducer};
use e2e::registry::{Registry, Schema, SmallRegistry};
use featurestore_proto::v1::StreamOperations;
use serde_json::{Value, json};

use crate::registry_scene::{
    RESTART_SOON, apply, avro, await_misfits, await_version, document, framed_order, number_of, numbered, send, status, subject,
};
use crate::rows::{assert_each_exactly_once, assert_rows, await_count, row_of};
use crate::stage::{PARTITIONS, Stage, status_shown_by};

const STREAM: &str = "/resource/featurestore_stream/subject";

/// Two versions of one type; what refers to the second one has other bytes.
const MONEY: &str = r#"{"type":"record","name":"Money","namespace":"shop","fields":[{"name":"units","type":"long"}]}"#;
const LATER_MONEY: &str = r#"{"type":"record","name":"Money","namespace":"shop","fields":[
    {"name":"currency","type":"string","default":"EUR"},{"name":"units","type":"long"}]}"#;

/// risingwavelabs/risingwave#22082: a writer's schema is what it refers to at the versions that it names, and no later one.
#[test]
fn avro_types_of_another_subject_are_those_of_the_version_that_each_writer_refers_to() {
    let registry = Registry::start();
    let stage = Stage::with_agent("references", Agent::start_with(&RESTART_SOON));
    let order = |more: &str| {
        format!(
            r#"{{"type":"record","name":"Order","namespace":"shop","fields":[
            {{"name":"id","type":"long"}},{{"name":"sum","type":"shop.Money"}},{{"name":"tips","type":{{"type":"array","items":"shop.Money"}}}}{more}]}}"#
        )
    };
    let write = |text: &str, version: i32, values: &[Value]| -> Vec<Vec<u8>> {
        let serializer = Serializer::avro(registry.url(), &stage.topic, Part::Value, text);
        let written = serializer.with_reference("shop.Money", "shop.Money", version).serialize(values);
        written.into_iter().map(|message| message.bytes).collect()
    };
    registry.register("shop.Money", &Schema::avro(MONEY));
    // There from the beginning, and no part of what refers to the first version.
    registry.register("shop.Money", &Schema::avro(LATER_MONEY));
    let old_value = |number: i64| json!({"id": number, "sum": {"units": 5}, "tips": [{"units": 1}, {"units": number}]});
    let old = write(&order(""), 1, &(0..8).map(old_value).collect::<Vec<_>>());
    apply(&stage, &document(&stage, registry.url(), "FORMAT_AVRO", false));
    await_version(&stage, 1);
    let mut sent = send(&stage, 0, old[..4].to_vec());
    assert_rows(&stage.table(), &sent, |record| old_value(number_of(record)));

    let new_value = |number: i64| json!({"id": number, "sum": {"currency": "USD", "units": 7}, "tips": [], "note": "n"});
    let note = r#",{"name":"note","type":["null","string"],"default":null}"#;
    let new = write(&order(note), 2, &(8..12).map(new_value).collect::<Vec<_>>());
    await_version(&stage, 2);
    let mixed = old[4..].iter().cloned().chain(new).collect();
    sent.extend(send(&stage, 4, mixed));
    await_count(&stage.table(), sent.len());
    assert_each_exactly_once(&stage.table(), &sent);
    for record in &sent {
        let number = number_of(record);
        let money = |units: i64, currency: Option<&str>| json!({"units": units, "currency": currency});
        let expected = match number {
            0..4 => json!({"id": number, "sum": money(5, None), "tips": [money(1, None), money(number, None)], "note": null}),
            // In force is the version with a currency: those that were written without one have its default.
            4..8 => {
                let eur = Some("EUR");
                json!({"id": number, "sum": money(5, eur), "tips": [money(1, eur), money(number, eur)], "note": null})
            }
            _ => json!({"id": number, "sum": money(7, Some("USD")), "tips": [], "note": "n"}),
        };
        assert_eq!(row_of(&stage.table(), record)["value"], expected, "{number}");
    }
    assert!(status(&stage).unwrap().misfits.is_empty());
}

/// The naming of a record is another one's for each side, and what is framed by the other side's schema is no message of this side.
#[test]
fn keys_and_payloads_are_read_by_the_subjects_of_their_own_sides_under_every_naming_strategy() {
    const KEY: &str = r#"{"type":"record","name":"OrderKey","namespace":"shop","fields":[{"name":"shop","type":"int"}]}"#;
    let registry = Registry::start();
    for (naming, key_subject, value_subject) in [
        (Naming::Topic, "{topic}-key", "{topic}-value"),
        (Naming::Record, "shop.OrderKey", "shop.Order"),
        (Naming::TopicRecord, "{topic}-shop.OrderKey", "{topic}-shop.Order"),
    ] {
        let stage = Stage::new("sides");
        let serializer = |part, text: &str| Serializer::avro(registry.url(), &stage.topic, part, text).with_naming(naming);
        let bytes = |part, text: &str, value: Value| serializer(part, text).serialize(&[value]).remove(0).bytes;
        let key = bytes(Part::Key, KEY, json!({"shop": 3}));
        let value = bytes(Part::Value, &avro(&[]), json!({"id": 1, "name": "n"}));
        let locator = |subject: &str| {
            let subject = subject.replace("{topic}", &stage.topic);
            json!({"confluent_schema": {"subject": subject, "format": "FORMAT_AVRO"}})
        };
        let of_both = json!({"schema_registry_config":
            {"key_schema_locator": locator(key_subject), "payload_schema_locator": locator(value_subject)}});
        let wanted = with(
            &document(&stage, registry.url(), "FORMAT_AVRO", false),
            &format!("{STREAM}/schema_config"),
            of_both,
        );
        apply(&stage, &wanted);
        stage.await_active();
        let records = [
            (Some(key.clone()), value.clone()),
            (Some(value.clone()), key.clone()),
            (Some(b"customer-7".to_vec()), value.clone()),
            (None, value),
        ];
        let record = |(key, value): (Option<Vec<u8>>, Vec<u8>)| Outgoing {
            partition: Some(0),
            key,
            value: Some(value),
            ..Outgoing::default()
        };
        let sent = RecordingProducer::new().send_all(&stage.topic, &records.map(record));
        await_count(&stage.table(), sent.len());
        assert_each_exactly_once(&stage.table(), &sent);
        let (key, value) = (json!({"shop": 3}), json!({"id": 1, "name": "n"}));
        let expected = [
            (key, value.clone()),
            (Value::Null, Value::Null),
            (Value::Null, value.clone()),
            (Value::Null, value),
        ];
        for (record, (key, value)) in sent.iter().zip(expected) {
            let row = row_of(&stage.table(), record);
            assert_eq!((&row["key"], &row["value"]), (&key, &value), "{naming:?} {record:?}");
        }
        for (side, reason, count) in [("key", "other_subject", 1), ("key", "not_framed", 1), ("value", "other_subject", 1)] {
            await_misfits(&stage, side, reason, count);
        }
    }
}

#[test]
fn a_schema_that_a_header_names_by_its_guid_makes_a_null_that_is_counted_and_shown_with_its_place() {
    let registry = SmallRegistry::start();
    let stage = Stage::new("guids");
    let id = registry.register(&subject(&stage), &Schema::avro(&avro(&[])));
    apply(&stage, &document(&stage, registry.url(), "FORMAT_AVRO", false));
    stage.await_active();
    let serializer = Serializer::avro(registry.url(), &stage.topic, Part::Value, &avro(&[]));
    let value = json!({"id": 1, "name": "n 1"});
    let written = serializer.with_latest().with_guid_header().serialize(&[value]).remove(0);
    let by_guid = Outgoing {
        headers: written.headers.into_iter().map(|(name, value)| (name, Some(value))).collect(),
        ..Outgoing::new("1", written.bytes)
    };
    let by_id = |number: i64| Outgoing::new(number.to_string(), framed_order(id, number, &[]));
    let mut records = [by_id(0), by_guid, by_id(2)];
    for record in &mut records {
        record.partition = Some(0);
    }
    let sent = RecordingProducer::new().send_all(&stage.topic, &records);
    assert_rows(&stage.table(), &sent, |record| match number_of(record) {
        1 => Value::Null,
        number => json!({"id": number, "name": format!("n {number}")}),
    });
    await_misfits(&stage, "value", "named_by_guid", 1);
    let seen = status_shown_by(&stage.agent);
    let misfits = seen["misfits"].as_array().unwrap();
    assert_eq!(misfits.len(), 1, "{seen}");
    assert_eq!(misfits[0]["positions"][0]["offset"], sent[1].offset, "{seen}");
}

/// A batch has numbers for 4,096 schemas. What names others is read with the next one: none of it is lost or null for that.
#[test]
fn what_names_more_schemas_than_a_batch_has_numbers_for_is_read_all_the_same() {
    const UNKNOWN: usize = 4_200;
    const FIRST_UNKNOWN: u32 = 1_000_000;
    let registry = SmallRegistry::start();
    let stage = Stage::new("many-names");
    // The older writer has a field of its own before the others.
    let fields = json!([{"name": "own", "type": "long"}, {"name": "id", "type": "long"}, {"name": "name", "type": "string"}]);
    let older = json!({"type": "record", "name": "Order", "namespace": "shop", "fields": fields}).to_string();
    let older = registry.register(&subject(&stage), &Schema::avro(&older));
    let own = registry.register(&subject(&stage), &Schema::avro(&avro(&[])));
    let paused = with(
        &document(&stage, registry.url(), "FORMAT_AVRO", false),
        &format!("{STREAM}/operations"),
        json!({"paused": true, "flush_interval": "2s"}),
    );
    apply(&stage, &paused);
    let of_older = |number: i64| [&[0], older.to_be_bytes().as_slice(), &[14], &framed_order(own, number, &[])[5..]].concat();
    let mut messages: Vec<Vec<u8>> = (FIRST_UNKNOWN..)
        .zip(0..)
        .take(UNKNOWN)
        .map(|(id, number)| framed_order(id, number, &[]))
        .collect();
    let first_known = i64::try_from(UNKNOWN).unwrap();
    messages.extend((first_known..first_known + 20).map(|number| match number % 2 {
        0 => of_older(number),
        _ => framed_order(own, number, &[]),
    }));
    // All of them lie in one partition before any is read, and so in one batch.
    let mut records = numbered(0, messages);
    for record in &mut records {
        record.partition = Some(PARTITIONS - 1);
    }
    let sent = RecordingProducer::new().send_all(&stage.topic, &records);
    let running = StreamOperations {
        paused: Some(false),
        ..StreamOperations::default()
    };
    stage.agent.api().set_operations(STREAM_NAME, running).unwrap();
    await_count(&stage.table(), sent.len());
    assert_rows(&stage.table(), &sent, |record| match number_of(record) {
        number if number < first_known => Value::Null,
        number => json!({"id": number, "name": format!("n {number}")}),
    });
    await_misfits(&stage, "value", "unknown_schema", UNKNOWN as u64);
    assert!(
        stage.agent.log().contains("partitions wait for a schema"),
        "one batch had room for all of them"
    );
}
