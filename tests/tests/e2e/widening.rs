//! INT becomes BIGINT in place: by Terraform, on tables with rows, while records flow, while others work on the table, and while
//! the agent dies. Each acknowledged value is in the table once, and every reader reads every version.

use std::path::Path;

use e2e::config::{self, PAYLOAD_SCHEMA, STREAM, STREAM_NAME, TABLE_NAME, with, with_properties};
use e2e::kafka::kafka;
use e2e::limits::STREAM_SETTLES;
use e2e::plan::Action;
use e2e::producer::{Acknowledged, Outgoing, RecordingProducer};
use e2e::wait::wait_until;
use e2e::{spark, tables};
use featurestore_proto::v1::StreamState;
use serde_json::{Value, json};
use stream_pipeline::failpoint::Point;

use crate::rows::{assert_each_exactly_once, assert_rows};
use crate::stage::{PARTITIONS, Stage};
use crate::topics_scene::Scene;

/// More than INT holds.
const BIG: i64 = 3_000_000_000;

/// The payload schema with two numbers of these formats: one in the record, one in each item of a list.
fn schema(quantity: Value, size: Value) -> String {
    let items = json!({"type": "array", "items": {"type": "object", "properties": {"size": size}}});
    with_properties(&config::order_schema(), &json!({"quantity": quantity, "items": items})).to_string()
}

fn int() -> Value {
    json!({"type": "integer"})
}

fn bigint() -> Value {
    json!({"type": "integer", "format": "int64"})
}

/// Produces orders whose quantities and sizes begin at `first`.
fn produce(bootstrap: &str, topic: &str, first: i64, count: i64) -> Vec<Acknowledged> {
    let order = |number: i64| {
        let value = json!({"order_id": number, "quantity": number, "items": [{"size": -number}, {"size": null}]});
        Outgoing {
            partition: Some(i32::try_from(number % i64::from(PARTITIONS)).unwrap()),
            ..Outgoing::new("customer", value.to_string())
        }
    };
    let orders: Vec<Outgoing> = (first..first + count).map(order).collect();
    RecordingProducer::to(bootstrap, &[]).send_all(topic, &orders)
}

/// The `value` column of such an order.
fn value_of(record: &Acknowledged) -> Value {
    let order: Value = serde_json::from_slice(record.value.as_ref().unwrap()).unwrap();
    json!({"order_id": order["order_id"], "amount": null, "quantity": order["quantity"], "items": order["items"]})
}

/// The type of the `value` column, in DuckDB's words.
fn type_of_value(table: &Path) -> String {
    let columns = tables::columns("duckdb", table).unwrap();
    columns.into_iter().find(|(name, _)| name == "value").unwrap().1
}

/// Waits until both numbers are BIGINT in the table.
#[track_caller]
fn await_widened(table: &Path) {
    wait_until("the columns are BIGINT", STREAM_SETTLES, || {
        let found = type_of_value(table);
        if found.contains("INTEGER") { Err(found) } else { Ok(()) }
    });
}

/// Fails unless every version reads alike by Spark, DuckDB and Polars, and has no row less than the one before.
#[track_caller]
fn assert_every_version_reads(table: &Path) {
    let mut before = 0;
    for version in 0..=tables::version(table) {
        let sorted = |rows: Vec<Value>| {
            let mut rows: Vec<String> = rows.iter().map(|row| row["value"].to_string()).collect();
            rows.sort();
            rows
        };
        let by_spark = sorted(spark::rows_of_version(table, version).unwrap());
        for reader in tables::READERS {
            let rows = sorted(tables::rows_of_version_by(reader, table, version).unwrap());
            assert_eq!(rows, by_spark, "{reader} and Spark differ in version {version}");
        }
        assert!(by_spark.len() >= before, "version {version} has lost rows");
        before = by_spark.len();
    }
}

#[test]
fn int_becomes_bigint_in_place_and_larger_values_follow_at_once() {
    let stage = Stage::new("widen");
    let bootstrap = kafka().bootstrap();
    stage.apply(&with(&stage.stream(), PAYLOAD_SCHEMA, schema(int(), int())));
    let uid = stage.uid();
    let mut records = Vec::new();
    for round in 0..4 {
        records.extend(produce(bootstrap, &stage.topic, 10 * round, 8));
        assert_each_exactly_once(&stage.table(), &records);
    }
    assert!(type_of_value(&stage.table()).contains("INTEGER"));

    stage.write(&with(&stage.stream(), PAYLOAD_SCHEMA, schema(bigint(), bigint())));
    let plan = stage.workspace.plan();
    plan.assert_action(STREAM, Action::Update);
    stage.workspace.apply(&plan).assert_success();
    records.extend(produce(bootstrap, &stage.topic, BIG, 40));
    stage.workspace.plan().assert_empty();
    assert_rows(&stage.table(), &records, value_of);
    await_widened(&stage.table());
    records.extend(produce(bootstrap, &stage.topic, 100, 8));
    assert_rows(&stage.table(), &records, value_of);
    stage.workspace.plan().assert_empty();
    let status = stage.record().status.unwrap();
    assert_eq!(
        (status.uid.clone(), status.generation, status.state()),
        (uid, 2, StreamState::Active)
    );
    assert_every_version_reads(&stage.table());
}

#[test]
fn a_value_that_does_not_fit_waits_while_files_cannot_be_rewritten_and_then_comes_once() {
    let scene = Scene::new("widen-held");
    let bootstrap = kafka().bootstrap();
    scene.apply(&[(PAYLOAD_SCHEMA, json!(schema(int(), int())))]);
    let mut records = produce(bootstrap, &scene.topic, 0, 40);
    assert_each_exactly_once(&scene.table(), &records);
    let statement = |text: &str| drop(spark::statement(&scene.table(), text).unwrap_or_else(|error| panic!("{text}: {error}")));
    statement("ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')");
    statement("DELETE FROM {table} WHERE value.order_id = 5");
    records.retain(|record| value_of(record)["order_id"] != 5);

    scene.apply(&[(PAYLOAD_SCHEMA, json!(schema(bigint(), bigint())))]);
    scene.workspace.plan().assert_empty();
    scene.await_condition("ColumnsWidened", &["deletion vector", "REORG TABLE"]);
    // Decoded as BIGINT and written as INT: values that fit do not wait.
    records.extend(produce(bootstrap, &scene.topic, 100, 8));
    assert_each_exactly_once(&scene.table(), &records);
    records.extend(produce(bootstrap, &scene.topic, BIG, 8));
    let status = scene.await_condition(
        "ColumnsWidened",
        &["INT until its files are rewritten", "partitions that wait: 0 of", "3 of"],
    );
    assert_eq!(status.state(), StreamState::Degraded);
    scene.workspace.plan().assert_empty();

    statement("REORG TABLE {table} APPLY (PURGE)");
    assert_rows(&scene.table(), &records, value_of);
    assert!(!type_of_value(&scene.table()).contains("INTEGER"));
    scene.agent.api().await_state(STREAM_NAME, &[StreamState::Active]);
    scene.workspace.plan().assert_empty();
}

#[test]
fn updates_while_the_broker_is_down_and_deaths_while_columns_are_widened_end_in_the_declared_state() {
    let mut scene = Scene::with_broker("widen-down");
    let bootstrap = scene.kafka().bootstrap().to_owned();
    scene.apply(&[(PAYLOAD_SCHEMA, json!(schema(int(), int())))]);
    let mut records = produce(&bootstrap, &scene.topic, 0, 40);
    assert_each_exactly_once(&scene.table(), &records);
    records.extend(produce(&bootstrap, &scene.topic, 40, 8));
    scene.kafka().stop();

    // Each update is in force at once; then the agent dies while the files are rewritten.
    let rounds = [
        (Point::WidenAfterFiles, schema(bigint(), int())),
        (Point::WidenBeforeCommit, schema(bigint(), bigint())),
    ];
    for (point, schema) in rounds {
        scene.agent.failpoints().arm(&format!("{} kill\n", point.name()));
        scene.write(&[(PAYLOAD_SCHEMA, json!(schema))]);
        let running = scene.workspace.start(&["apply", "-json", "-input=false", "-auto-approve"]);
        scene.agent.await_end(point.name(), STREAM_SETTLES);
        scene.agent.failpoints().disarm();
        scene.agent.start_again();
        let _may_have_been_cut_off = running.wait();
    }
    scene.workspace.apply_now().assert_success();
    scene.workspace.plan().assert_empty();
    await_widened(&scene.agent.table(TABLE_NAME));

    scene.kafka().start_again();
    records.extend(produce(&bootstrap, &scene.topic, BIG, 40));
    assert_rows(&scene.table(), &records, value_of);
    scene.agent.api().await_state(STREAM_NAME, &[StreamState::Active]);
    scene.workspace.plan().assert_empty();
    assert_every_version_reads(&scene.table());
}
