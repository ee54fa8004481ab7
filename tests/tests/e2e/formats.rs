//! Each schema language from a producer, through Kafka and Terraform, into the table: read by foreign readers, changed in place and
//! read back by Spark, and refused in the plan with the path. Messages are written by libraries that are not ours.

use apache_avro::types::Value as Avro;
use e2e::config::{STREAM, with};
use e2e::kafka::kafka;
use e2e::paths::repository;
use e2e::plan::Action;
use e2e::producer::{Acknowledged, Outgoing, RecordingProducer};
use e2e::spark;
use e2e::tables::version;
use prost_reflect::prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage};
use serde_json::{Value, json};

use crate::rows::{Origin, assert_each_exactly_once, assert_rows, origin_of_row, row_of};
use crate::stage::{PARTITIONS, Stage, new_topic};

const PAYLOAD: &str = "/schema_config/direct_schemas/payload_schema";

/// A stream of the standard topic whose payload has this schema.
fn stream_with(stage: &Stage, payload: Value) -> Value {
    with(&stage.stream(), PAYLOAD, payload)
}

fn produce(stage: &Stage, messages: Vec<Vec<u8>>) -> Vec<Acknowledged> {
    let outgoing: Vec<Outgoing> = messages
        .into_iter()
        .enumerate()
        .map(|(number, value)| Outgoing {
            partition: Some(i32::try_from(number).unwrap() % PARTITIONS),
            ..Outgoing::new(format!("key {number}"), value)
        })
        .collect();
    RecordingProducer::new().send_all(&stage.topic, &outgoing)
}

/// Spark reads every version of the table; the newest has these values.
fn assert_spark_reads(stage: &Stage, records: &[Acknowledged], value: impl Fn(&Acknowledged) -> Value) {
    let newest = version(&stage.table());
    let mut rows = Vec::new();
    for version in 0..=newest {
        rows = spark::rows_of_version(&stage.table(), version).unwrap_or_else(|error| panic!("version {version}: {error}"));
    }
    assert_eq!(rows.len(), records.len());
    for record in records {
        let origin: Origin = (record.topic.clone(), i64::from(record.partition), record.offset);
        let row = rows.iter().find(|row| origin_of_row(row) == origin).unwrap();
        assert_eq!(row["value"], value(record), "{row}");
    }
}

const AVRO: &str = r#"{"type": "record", "name": "Order", "namespace": "shop", "fields": [
    {"name": "order_id", "type": "long"},
    {"name": "note", "type": ["null", "string"], "default": null},
    {"name": "placed", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
    {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
    {"name": "tags", "type": {"type": "array", "items": "string"}},
    {"name": "how", "type": [
        {"type": "record", "name": "Card", "fields": [{"name": "last4", "type": "string"}]},
        {"type": "record", "name": "Cash", "fields": [{"name": "till", "type": "int"}]}]},
    {"name": "legacy", "type": "string"}]}"#;

/// The schema without its last field, or with one more.
fn avro_changed(change: impl Fn(&mut Vec<Value>)) -> String {
    let mut schema: Value = serde_json::from_str(AVRO).unwrap();
    change(schema["fields"].as_array_mut().unwrap());
    schema.to_string()
}

fn avro_datum(schema: &apache_avro::Schema, value: Avro) -> Vec<u8> {
    let writer = apache_avro::writer::datum::GenericDatumWriter::builder(schema).build().unwrap();
    writer.write_value_to_vec(value).unwrap()
}

fn avro_order(schema: &str, number: i32) -> Vec<u8> {
    let schema = apache_avro::Schema::parse_str(schema).unwrap();
    let mut fields = vec![
        ("order_id".to_owned(), Avro::Long(i64::from(number) << 33)),
        (
            "note".to_owned(),
            match number % 2 {
                0 => Avro::Union(0, Box::new(Avro::Null)),
                _ => Avro::Union(1, Box::new(Avro::String(format!("n {number}")))),
            },
        ),
        ("placed".to_owned(), Avro::TimestampMillis(i64::from(number))),
        (
            "price".to_owned(),
            Avro::Decimal(i32::to_be_bytes(number * 100 + 5).to_vec().into()),
        ),
        ("state".to_owned(), Avro::Enum(1, "PAID".to_owned())),
        (
            "tags".to_owned(),
            Avro::Array(vec![Avro::String("a".to_owned()), Avro::String("ü".to_owned())]),
        ),
        (
            "how".to_owned(),
            Avro::Union(1, Box::new(Avro::Record(vec![("till".to_owned(), Avro::Int(number))]))),
        ),
    ];
    if schema.canonical_form().contains("legacy") {
        fields.push(("legacy".to_owned(), Avro::String("old".to_owned())));
    }
    avro_datum(&schema, Avro::Record(fields))
}

/// What a table has of an order, where `legacy` was or was not sent.
fn avro_value(number: i32, legacy: Value) -> Value {
    json!({
        "order_id": i64::from(number) << 33,
        "note": if number % 2 == 0 { Value::Null } else { json!(format!("n {number}")) },
        "placed": i64::from(number) * 1000,
        "price": format!("{number}.05"),
        "state": "PAID",
        "tags": ["a", "ü"],
        "how": {"Card": null, "Cash": {"till": number}},
        "legacy": legacy,
    })
}

fn number_of(record: &Acknowledged) -> i32 {
    let key = String::from_utf8(record.key.clone().unwrap()).unwrap();
    key.trim_start_matches("key ").parse().unwrap()
}

#[test]
fn avro_is_decoded_changed_in_place_and_refused_by_path() {
    let stage = Stage::new("avro");
    stage.apply(&stream_with(&stage, json!({"avro_schema": AVRO})));
    stage.workspace.plan().assert_empty();
    let before = produce(&stage, (0..20).map(|number| avro_order(AVRO, number)).collect());
    assert_rows(&stage.table(), &before, |record| avro_value(number_of(record), json!("old")));

    // The same schema in other words is no change.
    let reworded: Value = serde_json::from_str(AVRO).unwrap();
    stage.write(&stream_with(&stage, json!({"avro_schema": reworded.to_string()})));
    stage.workspace.plan().assert_empty();

    let added = avro_changed(|fields| fields.push(json!({"name": "colour", "type": "string", "default": ""})));
    stage.write(&stream_with(&stage, json!({"avro_schema": added})));
    stage.workspace.plan().run.assert_error(&["value.colour"]);

    let shorter = avro_changed(|fields| drop(fields.pop()));
    stage.write(&stream_with(&stage, json!({"avro_schema": shorter})));
    let plan = stage.workspace.plan();
    plan.assert_action(STREAM, Action::Update);
    stage.workspace.apply(&plan).assert_success();
    stage.workspace.plan().assert_empty();
    let after = produce(&stage, (0..20).map(|number| avro_order(&shorter, number)).collect());
    let all = [before.clone(), after].concat();
    assert_each_exactly_once(&stage.table(), &all);
    assert_spark_reads(&stage, &all, |record| {
        let legacy = if before.contains(record) { json!("old") } else { Value::Null };
        avro_value(number_of(record), legacy)
    });
}

const PROTO: &str = r#"syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
message Order {
  enum State { NEW = 0; PAID = 1; }
  message Line { string sku = 1; uint32 count = 2; }
  int64 order_id = 1;
  optional string note = 2;
  google.protobuf.Timestamp placed = 3;
  State state = 4;
  repeated Line lines = 5;
  map<string, double> prices = 6;
  google.protobuf.Int32Value score = 7;
  uint64 big = 8;
  string legacy = 9;
}
"#;

fn proto_payload(text: &str) -> Value {
    json!({"proto_schema": {"schema_text": text, "message_name": "shop.Order"}})
}

/// A message by the text, from the JSON that Protobuf's mapping gives it.
fn proto_message(text: &str, name: &str, value: &Value) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("text.proto"), text).unwrap();
    let files = protox::compile(["text.proto"], [folder.path()]).unwrap();
    let pool = DescriptorPool::from_file_descriptor_set(files).unwrap();
    let descriptor = pool.get_message_by_name(name).unwrap();
    DynamicMessage::deserialize(descriptor, value).unwrap().encode_to_vec()
}

fn proto_order(text: &str, value: &Value) -> Vec<u8> {
    proto_message(text, "shop.Order", value)
}

fn proto_json(number: i32) -> Value {
    json!({
        "orderId": number,
        "note": "",
        "placed": "2024-02-29T12:00:00.5Z",
        "state": if number % 2 == 0 { "NEW" } else { "PAID" },
        "lines": [{"sku": "a", "count": 4_000_000_000_u32}, {"sku": "b"}],
        "prices": {"eur": 1.5},
        "score": number,
        "big": u64::MAX.to_string(),
        "legacy": "old",
    })
}

/// What a table has of it: a zero without presence is null, and so is a wrapper's.
fn proto_value(number: i32) -> Value {
    let nonzero = if number == 0 { Value::Null } else { json!(number) };
    json!({
        "order_id": nonzero,
        "note": "",
        "placed": 1_709_208_000_500_000_i64,
        "state": if number % 2 == 0 { Value::Null } else { json!("PAID") },
        "lines": [{"sku": "a", "count": 4_000_000_000_u32}, {"sku": "b", "count": null}],
        "score": nonzero,
        "big": u64::MAX.to_string(),
        "legacy": "old",
    })
}

#[test]
fn protobuf_is_decoded_changed_in_place_and_refused_by_path() {
    let stage = Stage::new("protobuf");
    stage.apply(&stream_with(&stage, proto_payload(PROTO)));
    stage.workspace.plan().assert_empty();
    let before = produce(&stage, (0..20).map(|number| proto_order(PROTO, &proto_json(number))).collect());
    assert_each_exactly_once(&stage.table(), &before);
    // A map is looked at by Spark below: readers write it in forms of their own.
    let without_map = |record: &Acknowledged| {
        let mut value = row_of(&stage.table(), record)["value"].clone();
        value.as_object_mut().unwrap().remove("prices");
        value
    };
    for record in &before {
        assert_eq!(without_map(record), proto_value(number_of(record)));
    }

    stage.write(&stream_with(
        &stage,
        proto_payload(&PROTO.replace("  int64 order_id", "  // The order's.\n  int64 order_id")),
    ));
    stage.workspace.plan().assert_empty();

    let reused = PROTO.replace("string legacy = 9", "int32 weight = 9");
    stage.write(&stream_with(&stage, proto_payload(&reused)));
    stage.workspace.plan().run.assert_error(&["value.weight"]);

    let changed = PROTO.replace("  string legacy = 9;", "  optional bool gift = 10;");
    stage.write(&stream_with(&stage, proto_payload(&changed)));
    let plan = stage.workspace.plan();
    plan.assert_action(STREAM, Action::Update);
    stage.workspace.apply(&plan).assert_success();
    stage.workspace.plan().assert_empty();
    let gift = |number: i32| {
        let mut value = proto_json(number);
        value.as_object_mut().unwrap().remove("legacy");
        value["gift"] = json!(false);
        value
    };
    let after = produce(&stage, (0..20).map(|number| proto_order(&changed, &gift(number))).collect());
    let all = [before.clone(), after].concat();
    assert_each_exactly_once(&stage.table(), &all);
    assert_spark_reads(&stage, &all, |record| {
        let mut value = proto_value(number_of(record));
        value["prices"] = json!({"eur": 1.5});
        value["gift"] = Value::Null;
        if !before.contains(record) {
            value["legacy"] = Value::Null;
            value["gift"] = json!(false);
        }
        value
    });
}

#[test]
fn json_is_changed_in_place_and_read_back_by_spark() {
    let stage = Stage::applied("json-spark");
    let before = stage.produce_orders(0, 8);
    assert_each_exactly_once(&stage.table(), &before);
    let schema = json!({"type": "object", "properties": {
        "order_id": {"type": "integer", "format": "int64"}, "note": {"type": "string"}}});
    stage.apply(&stream_with(&stage, json!({"json_schema": schema.to_string()})));
    let after = stage.produce_orders(100, 8);
    let all = [before.clone(), after].concat();
    assert_each_exactly_once(&stage.table(), &all);
    assert_spark_reads(&stage, &all, |record| {
        let sent: Value = serde_json::from_slice(record.value.as_ref().unwrap()).unwrap();
        if before.contains(record) {
            json!({"order_id": sent["order_id"], "amount": sent["amount"], "note": null})
        } else {
            json!({"order_id": sent["order_id"], "amount": null, "note": sent["note"]})
        }
    });
}

#[test]
fn a_filter_keeps_what_is_true_of_it_and_reads_excluded_columns() {
    let stage = Stage::new("filter");
    let stream = with(&stage.stream(), "/record_type_filter", "value.amount >= 2 AND kafka_partition <> 3");
    stage.apply(&with(&stream, "/excluded_columns", json!(["value.amount"])));
    stage.workspace.plan().assert_empty();
    let records = stage.produce_orders(0, 40);
    let kept: Vec<Acknowledged> = records
        .into_iter()
        .filter(|record| {
            let sent: Value = serde_json::from_slice(record.value.as_ref().unwrap()).unwrap();
            sent["amount"].as_f64().unwrap() >= 2.0 && record.partition != 3
        })
        .collect();
    assert_rows(&stage.table(), &kept, |record| {
        let sent: Value = serde_json::from_slice(record.value.as_ref().unwrap()).unwrap();
        json!({"order_id": sent["order_id"]})
    });

    // What the filter reads must stay.
    let schema = json!({"type": "object", "properties": {"order_id": {"type": "integer", "format": "int64"}}});
    let without = with(&stream, PAYLOAD, json!({"json_schema": schema.to_string()}));
    stage.write(&without);
    stage.workspace.plan().run.assert_error(&["value.amount", "record_type_filter"]);

    // Another filter is another stream.
    stage.write(&with(&stream, "/record_type_filter", "value.amount >= 3"));
    let plan = stage.workspace.plan();
    plan.assert_replaces_for(STREAM, "record_type_filter");
    stage.write(&with(&stream, "/record_type_filter", "value.amuont >= 3"));
    stage
        .workspace
        .plan()
        .run
        .assert_error(&["no field `amuont` at line 1, column 7", "Did you mean `amount`?"]);
}

#[test]
fn the_example_of_formats_keeps_paid_orders_and_hides_addresses() {
    let mut stage = Stage::new("formats-orders");
    let deliveries = new_topic("formats-deliveries");
    let example = repository().join("examples/formats");
    stage.workspace.copy_from(&example);
    stage.workspace.set_environment("TF_VAR_bootstrap_servers", kafka().bootstrap());
    stage.workspace.set_environment("TF_VAR_orders_topic", &stage.topic);
    stage.workspace.set_environment("TF_VAR_deliveries_topic", &deliveries);
    stage.workspace.plan().assert_action("featurestore_stream.orders", Action::Create);
    stage.workspace.apply_now().assert_success();
    stage.workspace.plan().assert_empty();

    let schema = std::fs::read_to_string(example.join("order.avsc")).unwrap();
    let schema = apache_avro::Schema::parse_str(&schema).unwrap();
    let states = ["NEW", "PAID", "RETURNED"];
    let orders: Vec<Vec<u8>> = (0..30_i32)
        .map(|number| {
            let state = usize::try_from(number).unwrap() % 3;
            let order = Avro::Record(vec![
                ("order_id".to_owned(), Avro::Long(i64::from(number))),
                (
                    "state".to_owned(),
                    Avro::Enum(u32::try_from(state).unwrap(), states[state].to_owned()),
                ),
                (
                    "price".to_owned(),
                    Avro::Decimal(i32::to_be_bytes(number * 100 + 5).to_vec().into()),
                ),
                ("placed".to_owned(), Avro::TimestampMillis(i64::from(number))),
                ("note".to_owned(), Avro::Union(0, Box::new(Avro::Null))),
            ]);
            avro_datum(&schema, order)
        })
        .collect();
    let paid: Vec<Acknowledged> = produce(&stage, orders)
        .into_iter()
        .filter(|record| number_of(record) % 3 == 1)
        .collect();
    assert_rows(&stage.agent.table("main.shop.paid_orders"), &paid, |record| {
        let number = number_of(record);
        json!({"order_id": number, "state": "PAID", "price": format!("{number}.05"), "placed": i64::from(number) * 1000, "note": null})
    });

    let text = std::fs::read_to_string(example.join("delivery.proto")).unwrap();
    let delivery = json!({"orderId": 7, "carrier": "VAN", "arrived": "2024-02-29T12:00:00Z",
        "address": {"street": "Ring 1", "city": "Wien"}, "parcels": ["a", "b"]});
    let message = Outgoing::new("key", proto_message(&text, "shop.Delivery", &delivery));
    let sent = RecordingProducer::new().send_all(&deliveries, &[message]);
    assert_rows(
        &stage.agent.table("main.shop.deliveries_raw"),
        &sent,
        |_| json!({"order_id": 7, "carrier": "VAN", "arrived": 1_709_208_000_000_000_i64, "parcels": ["a", "b"]}),
    );
    stage.workspace.destroy().assert_success();
}
