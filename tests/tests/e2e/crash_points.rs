//! The agent dies once at every named point of failure, and the next life finishes what was begun.
//! Invariant: the list here and the product's list of points are the same.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use e2e::agent::Agent;
use e2e::api::stream_message;
use e2e::config::{self, CONNECTION_NAME, STREAM_NAME, TABLE_NAME, with};
use e2e::kafka::kafka;
use e2e::limits::STREAM_SETTLES;
use e2e::producer::{Acknowledged, RecordingProducer};
use e2e::wait::wait_until;
use featurestore_proto::v1::{StreamOperations, StreamState, direct_schema, schema_config};
use serde_json::json;
use stream_pipeline::failpoint::Point;

use crate::rows::assert_each_exactly_once;
use crate::stage::{Stage, new_topic, order};

/// Small and soon: all care of a table comes by within seconds.
const CARE: [&str; 6] = [
    "--table-compact-files",
    "3",
    "--table-checkpoint-commits",
    "3",
    "--table-history",
    "1s",
];
/// A scope of these tests, and the one secret in it.
const SCOPE: &str = "walk";
const SECRET_KEY: &str = "password";
/// With that history, what is older than this is over.
const OVER: Duration = Duration::from_millis(1_500);
/// Longer than any file counts as young.
const OLD: Duration = Duration::from_secs(2 * 60 * 60);

/// An agent, and what its table must hold.
struct Walk {
    agent: Agent,
    topic: String,
    producer: RecordingProducer,
    acknowledged: Vec<Acknowledged>,
}

impl Walk {
    /// Has the agent die at each of these points, one life each. `attempt` is made again and again until it has.
    fn die_at(&mut self, points: &[Point], mut attempt: impl FnMut(&mut Self)) {
        for point in points {
            self.die_of(&format!("{} kill\n", point.name()), *point, &mut attempt);
        }
    }

    /// The same at the last of several points, with what the others do before.
    fn die_of(&mut self, armed: &str, point: Point, mut attempt: impl FnMut(&mut Self)) {
        self.agent.failpoints().arm(armed);
        if !self.agent.is_running() {
            self.agent.start_to_end();
        }
        wait_until(&format!("the agent dies at {}", point.name()), STREAM_SETTLES, || {
            if self.agent.has_ended() {
                return Ok(());
            }
            attempt(self);
            Err("the agent lives")
        });
        self.agent.await_end(point.name(), STREAM_SETTLES);
        assert_eq!(self.agent.failpoints().hits().last().map(String::as_str), Some(point.name()));
        self.agent.failpoints().disarm();
    }

    fn create(&mut self) {
        let api = self.agent.api();
        let _may_be_there = api.create_kafka_connection(CONNECTION_NAME, kafka().bootstrap());
        let _may_be_cut_off = api.create_stream(stream_message(&self.topic, &config::order_schema().to_string()), "walk");
        let flush_often = StreamOperations {
            flush_interval: Some(prost_types::Duration {
                seconds: 0,
                nanos: 100_000_000,
            }),
            ..StreamOperations::default()
        };
        let _may_be_cut_off = api.set_operations(STREAM_NAME, flush_often);
    }

    /// Puts a secret into a scope, which it makes if it is not there.
    fn keep_a_secret(&mut self) {
        let api = self.agent.api();
        let _may_be_cut_off = api.create_secret_scope(SCOPE);
        let _may_be_cut_off = api.put_secret(SCOPE, SECRET_KEY, "walked by");
    }

    fn produce(&mut self) {
        let first = i64::try_from(self.acknowledged.len()).unwrap();
        let orders: Vec<_> = (first..first + 4).map(order).collect();
        self.acknowledged.extend(self.producer.send_all(&self.topic, &orders));
    }

    fn update(&mut self) {
        let Ok(record) = self.agent.api().stream(STREAM_NAME) else { return };
        let mut stream = record.stream.unwrap();
        stream.excluded_columns = if stream.excluded_columns.is_empty() {
            vec!["value.amount".to_owned()]
        } else {
            Vec::new()
        };
        let _may_be_cut_off = self.agent.api().update_stream(stream, &["excluded_columns"], 0);
    }

    /// Adds an INT column, or makes the last one BIGINT.
    fn widen(&mut self) {
        let Ok(record) = self.agent.api().stream(STREAM_NAME) else { return };
        let mut stream = record.stream.unwrap();
        let Some(schema_config::Config::DirectSchemas(schemas)) = stream.schema_config.as_mut().and_then(|schemas| schemas.config.as_mut())
        else {
            panic!("a stream without schemas")
        };
        let Some(direct_schema::Schema::JsonSchema(text)) = schemas.payload_schema.as_mut().and_then(|schema| schema.schema.as_mut())
        else {
            panic!("a payload without a schema")
        };
        let schema: serde_json::Value = serde_json::from_str(text).unwrap();
        let count = schema["properties"].as_object().unwrap().len();
        let last = format!("number_{}", count - 1);
        let is_narrow = schema["properties"][&last].is_object() && schema["properties"][&last]["format"].is_null();
        let added = if is_narrow {
            json!({last: {"type": "integer", "format": "int64"}})
        } else {
            json!({format!("number_{count}"): {"type": "integer"}})
        };
        *text = config::with_properties(&schema, &added).to_string();
        let _may_be_cut_off = self.agent.api().update_stream(stream, &["schema_config.direct_schemas"], 0);
    }

    /// Lets the agent work until it has written so many checkpoints more, and they are older than the history.
    fn grow_old(&mut self) {
        let log = self.table().join("_delta_log");
        let mut seen = BTreeSet::new();
        wait_until("checkpoints that are older than the history", STREAM_SETTLES, || {
            self.produce();
            let names = fs::read_dir(&log).unwrap().map(|entry| entry.unwrap().file_name());
            let now: BTreeSet<_> = names.filter(|name| name.to_string_lossy().contains(".checkpoint.")).collect();
            seen.extend(now);
            if seen.len() >= 4 { Ok(()) } else { Err(seen.len()) }
        });
        let since = SystemTime::now();
        wait_until("the history is over", STREAM_SETTLES, || {
            if since.elapsed().unwrap() > OVER { Ok(()) } else { Err("not yet") }
        });
    }

    /// A data file that no commit names, of a writer that died long ago.
    fn leave_an_orphan(&self) -> PathBuf {
        let path = self.table().join("fs-of-a-former-life.parquet");
        File::create(&path).unwrap().set_modified(SystemTime::now() - OLD).unwrap();
        path
    }

    fn table(&self) -> PathBuf {
        self.agent.table(TABLE_NAME)
    }

    fn trash(&self) -> PathBuf {
        self.agent.warehouse().join("_trash")
    }

    /// Every record so far is in the table once, and the stream is well.
    fn assert_sound(&mut self) {
        if !self.agent.is_running() {
            self.agent.start_again();
        }
        self.agent.api().await_state(STREAM_NAME, &[StreamState::Active]);
        assert_each_exactly_once(&self.table(), &self.acknowledged);
    }
}

#[test]
fn after_a_death_at_each_named_point_the_next_life_finishes_what_was_begun() {
    use Point::*;
    let topic = new_topic("crash-points");
    let mut walk = Walk {
        agent: Agent::start_with(&CARE),
        topic,
        producer: RecordingProducer::new(),
        acknowledged: Vec::new(),
    };
    walk.agent.kill();
    walk.agent.forget_all();
    walk.die_at(&[MarkBeforeEntry, MarkAfterEntry], Walk::create);
    walk.agent.forget_all();
    walk.die_at(&[StoreBeforeConnection, StoreAfterConnection], Walk::create);
    walk.die_at(
        &[
            LookBeforeRead,
            StoreBeforeInsert,
            StoreAfterInsert,
            StoreBeforeObserve,
            StoreAfterObserve,
        ],
        Walk::create,
    );
    walk.die_at(
        &[CreateBeforeFolder, CreateAfterFolder, CreateBeforeEntry, CreateAfterEntry],
        Walk::create,
    );
    walk.die_at(&[StoreBeforeWarehouse, StoreAfterWarehouse], Walk::create);
    walk.agent.start_again();
    walk.create();
    walk.produce();
    walk.assert_sound();

    walk.die_at(&[StoreBeforeDocument, StoreAfterDocument], Walk::keep_a_secret);
    walk.agent.start_again();
    walk.keep_a_secret();
    // The scope is there once and usable, wherever the lives before ended.
    assert_eq!(
        walk.agent.api().create_secret_scope(SCOPE).unwrap_err().code(),
        tonic::Code::AlreadyExists
    );
    walk.agent.api().put_secret(SCOPE, SECRET_KEY, "walked by").unwrap();

    walk.die_at(
        &[AppendBeforeFile, AppendAfterFile, AppendBeforeCommit, AppendAfterCommit],
        Walk::produce,
    );
    walk.die_at(&[FileBeforeName, FileAfterName], Walk::produce);
    walk.die_at(&[CommitBeforeEntry, CommitAfterTemporary, CommitAfterEntry], Walk::produce);
    // The entry is there, and the agent was told that it is not: it looks, and dies before it has made it durable.
    let unknown = format!("{} fail:5\n{} kill\n", CommitAfterEntry.name(), LogBeforeSync.name());
    walk.die_of(&unknown, LogBeforeSync, Walk::produce);
    walk.die_at(
        &[CompactBeforeFiles, CompactAfterFiles, CompactBeforeCommit, CompactAfterCommit],
        Walk::produce,
    );
    walk.die_at(&[CheckpointBeforeFile, CheckpointAfterFile, CheckpointAfterHint], Walk::produce);
    walk.die_at(&[CheckpointBeforeDelete, CheckpointAfterDelete], Walk::produce);
    walk.assert_sound();

    walk.grow_old();
    walk.agent.kill();
    walk.die_at(
        &[
            CleanupBeforeEntry,
            CleanupAfterEntry,
            CleanupBeforeCheckpoint,
            CleanupAfterCheckpoint,
        ],
        Walk::produce,
    );
    let orphan = walk.leave_an_orphan();
    walk.die_at(&[OrphanBeforeDelete, OrphanAfterDelete], Walk::produce);
    assert!(!orphan.exists());
    walk.assert_sound();

    walk.die_at(
        &[StoreBeforeDeclare, StoreAfterDeclare, SwitchBeforeCommit, SwitchAfterCommit],
        Walk::update,
    );
    walk.assert_sound();
    walk.die_at(
        &[WidenBeforeFiles, WidenAfterFiles, WidenBeforeCommit, WidenAfterCommit],
        Walk::widen,
    );
    walk.assert_sound();
    walk.produce();
    walk.assert_sound();

    let uid = walk.agent.api().stream(STREAM_NAME).unwrap().status.unwrap().uid;
    walk.agent.kill();
    for point in [RestoreBeforeMove, RestoreAfterMove, RestoreAfterMarker] {
        // As somebody who took the table for a deleted stream's.
        fs::create_dir_all(walk.trash()).unwrap();
        fs::rename(walk.table(), walk.trash().join(&uid))
            .or_else(|error| if walk.table().exists() { Err(error) } else { Ok(()) })
            .unwrap();
        walk.die_at(&[point], |walk| drop(walk.agent.api().restart_stream(STREAM_NAME)));
    }
    walk.agent.start_again();
    walk.produce();
    walk.assert_sound();

    let delete = |walk: &mut Walk| drop(walk.agent.api().delete_stream(STREAM_NAME));
    walk.die_at(
        &[
            TrashBeforeMarker,
            TrashAfterMarker,
            TrashAfterMove,
            StoreBeforeForget,
            StoreAfterForget,
        ],
        delete,
    );
    assert!(!walk.table().exists());
    assert!(walk.trash().join(&uid).exists());
    walk.agent.set_flags(&["--trash-retention", "0s"]);
    walk.die_at(&[PurgeBeforeMove, PurgeAfterMove, PurgeBeforeFile, PurgeAfterDelete], |_| ());
    walk.agent.start_again();
    assert_eq!(walk.agent.api().stream(STREAM_NAME).unwrap_err().code(), tonic::Code::NotFound);
    assert_eq!(fs::read_dir(walk.trash()).unwrap().count(), 0);

    let hits: BTreeSet<String> = walk.agent.failpoints().hits().into_iter().collect();
    let all: BTreeSet<String> = Point::ALL.iter().map(|point| point.name().to_owned()).collect();
    assert_eq!(hits, all);
}

/// Steps of Terraform, each with points at which the agent dies while it carries the step out.
#[test]
fn a_death_at_a_point_of_create_update_and_delete_leaves_something_that_apply_finishes() {
    let mut stage = Stage::new("crash-apply");
    let points = [
        [Point::StoreAfterInsert, Point::StoreAfterDeclare, Point::StoreAfterDeclare],
        [Point::CreateAfterFolder, Point::SwitchBeforeCommit, Point::TrashAfterMarker],
        [Point::CreateAfterEntry, Point::SwitchAfterCommit, Point::StoreAfterForget],
    ];
    for (round, [created, updated, deleted]) in (0..).zip(points) {
        stage.write(&stage.stream());
        apply_cut_off(&mut stage, &["apply"], created);
        finish(&stage);
        let mut records = stage.produce_orders(0, 8);
        assert_each_exactly_once(&stage.table(), &records);
        let excluded = with(&stage.stream(), "/excluded_columns", json!(["value.amount"]));
        stage.write(&excluded);
        apply_cut_off(&mut stage, &["apply"], updated);
        finish(&stage);
        records.extend(stage.produce_orders(8, 8));
        assert_each_exactly_once(&stage.table(), &records);
        apply_cut_off(&mut stage, &["destroy"], deleted);
        stage.workspace.destroy().assert_success();
        assert!(!stage.table().exists(), "round {round}");
        stage.topic = new_topic("crash-apply");
    }
}

/// Runs a command during which the agent dies at that point, and starts the agent again.
pub(crate) fn apply_cut_off(stage: &mut Stage, command: &[&str], point: Point) {
    stage.agent.failpoints().arm(&format!("{} kill\n", point.name()));
    let arguments: Vec<&str> = command.iter().copied().chain(["-json", "-input=false", "-auto-approve"]).collect();
    let running = stage.workspace.start(&arguments);
    stage.agent.await_end(point.name(), STREAM_SETTLES);
    stage.agent.failpoints().disarm();
    stage.agent.start_again();
    let _may_have_failed = running.wait();
}

/// Applies until the plan is empty; an answer that was lost is taken up by import, as the error says.
pub(crate) fn finish(stage: &Stage) {
    let run = stage.workspace.apply_now();
    if run.errors().any(|error| error.mentions("import {")) {
        for (address, id) in [(config::CONNECTION, CONNECTION_NAME), (config::STREAM, STREAM_NAME)] {
            if stage.workspace.resource(address).is_null() {
                let _may_not_exist = stage.workspace.import(address, id);
            }
        }
        stage.workspace.apply_now().assert_success();
    } else {
        run.assert_success();
    }
    stage.workspace.plan().assert_empty();
}
