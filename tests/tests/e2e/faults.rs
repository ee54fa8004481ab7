//! Storage that fails under a real agent: full, read-only, without its log, with another log, with commits whose outcome nobody
//! knows, with a sync that was a lie. The stream says what is wrong and waits or stops; nothing is lost or there twice.

use std::fs;
use std::path::Path;

use e2e::agent::{Agent, copy_folder};
use e2e::config::{STREAM_NAME, TABLE_NAME, with};
use e2e::limits::STREAM_SETTLES;
use e2e::producer::Acknowledged;
use e2e::tables;
use e2e::wait::wait_until;
use featurestore_proto::v1::{ConditionStatus, StreamState};
use serde_json::json;

use crate::rows::{assert_each_exactly_once, assert_rows, order_value};
use crate::stage::Stage;

/// Enough for every table of a test many times, and filled in a moment.
const DISK_MEBIBYTES: u32 = 64;
/// The table's folder as every agent's own path ends.
const PLACE: &str = "/warehouse/main/payments/orders_raw";

/// Set to 1 where nothing can be mounted: points of failure then stand in for the disk, and `.ci/run` says so.
const WITHOUT_MOUNTS: &str = "E2E_WITHOUT_MOUNTS";

/// An agent whose warehouse is on a real small disk.
fn agent_on_a_small_disk() -> Agent {
    if std::env::var_os(WITHOUT_MOUNTS).is_some_and(|value| value == "1") {
        return Agent::start();
    }
    Agent::start_on_small_disk(DISK_MEBIBYTES).unwrap_or_else(|why| {
        panic!(
            "this test needs a small disk of its own: {why}. Run it where `unshare --mount` works, as root or with user namespaces \
             (a container: with CAP_SYS_ADMIN, and a seccomp profile that lets it unshare), or set {WITHOUT_MOUNTS}=1 to go without"
        )
    })
}

#[derive(Clone, Copy)]
enum Trouble {
    Full,
    ReadOnly,
}

impl Trouble {
    fn begin(self, agent: &Agent) {
        match (self, agent.disk()) {
            (Self::Full, Some(disk)) => disk.fill(),
            (Self::Full, None) => agent.failpoints().arm("append.before_file fail:28\n"),
            (Self::ReadOnly, Some(disk)) => disk.set_writable(false),
            (Self::ReadOnly, None) => agent.failpoints().arm("append.before_file fail:30\n"),
        }
    }

    fn end(self, agent: &Agent) {
        match (self, agent.disk()) {
            (Self::Full, Some(disk)) => disk.empty(),
            (Self::ReadOnly, Some(disk)) => disk.set_writable(true),
            (_, None) => agent.failpoints().disarm(),
        }
    }
}

/// Waits until a condition is false whose message says all of this.
pub(crate) fn await_complaint(agent: &Agent, stream: &str, says: &[&str]) {
    wait_until(&format!("a condition of `{stream}` says {says:?}"), STREAM_SETTLES, || {
        let record = agent.api().stream(stream).map_err(|status| status.to_string())?;
        let status = record.status.unwrap_or_default();
        let complains = |message: &str| says.iter().all(|part| message.contains(part));
        let found = status
            .conditions
            .iter()
            .any(|condition| condition.status() == ConditionStatus::False && complains(&condition.message));
        if found { Ok(()) } else { Err(format!("{:?}", status.conditions)) }
    });
}

/// Waits until the agent counts that many rows; then two foreign readers find these records, each once.
fn assert_rows_of(agent: &Agent, records: &[Acknowledged]) {
    wait_until("all rows are committed", STREAM_SETTLES, || {
        let record = agent.api().stream(STREAM_NAME).map_err(|status| status.to_string())?;
        let rows = record.status.unwrap_or_default().table.unwrap_or_default().rows;
        if usize::try_from(rows) == Ok(records.len()) {
            Ok(())
        } else {
            Err(format!("{rows} rows of {}", records.len()))
        }
    });
    // Readers see the agent's own disk no more than anybody else does.
    assert_each_exactly_once(&agent.copy_of_table(TABLE_NAME), records);
}

/// Waits until the agent has tried that often in vain.
fn await_attempts(agent: &Agent, attempts: usize) {
    wait_until(&format!("{attempts} attempts failed"), STREAM_SETTLES, || {
        let failed = agent.log().matches("a stream was interrupted").count();
        if failed >= attempts {
            Ok(())
        } else {
            Err(format!("{failed} attempts"))
        }
    });
}

fn check_trouble(trouble: Trouble, name: &str, error: &str, remedy: &str) {
    let mut stage = Stage::with_agent(name, agent_on_a_small_disk());
    stage.apply(&stage.stream());
    let mut records = stage.produce_orders(0, 40);
    assert_rows_of(&stage.agent, &records);

    trouble.begin(&stage.agent);
    records.extend(stage.produce_orders(100, 40));
    let says = [TABLE_NAME, "/warehouse", error, remedy];
    await_complaint(&stage.agent, STREAM_NAME, &says);
    await_attempts(&stage.agent, 3);
    assert_eq!(stage.record().status.unwrap().state(), StreamState::Degraded);
    // It never looked well in between.
    let log = stage.agent.log();
    assert_eq!(log.matches("to=Degraded").count(), 1, "{log}");
    stage.agent.kill();
    stage.agent.start_again();
    await_complaint(&stage.agent, STREAM_NAME, &says);

    trouble.end(&stage.agent);
    records.extend(stage.produce_orders(200, 40));
    assert_rows_of(&stage.agent, &records);
    stage.await_active();
}

#[test]
fn a_full_disk_is_said_and_waited_out_also_over_a_kill() {
    check_trouble(Trouble::Full, "full", "No space left on device", "free space there");
}

#[test]
fn a_disk_that_cannot_be_written_is_said_and_waited_out_also_over_a_kill() {
    check_trouble(Trouble::ReadOnly, "read-only", "Read-only file system", "mount it for writing");
}

#[test]
fn a_stream_without_its_log_makes_none_and_goes_on_by_itself_when_it_is_back() {
    let mut stage = Stage::applied("log-away");
    let mut records = stage.produce_orders(0, 40);
    assert_rows(&stage.table(), &records, order_value);
    let (log, away) = (stage.table().join("_delta_log"), stage.table().join("_away"));
    for killed in [false, true] {
        fs::rename(&log, &away).unwrap();
        records.extend(stage.produce_orders(100, 40));
        await_complaint(&stage.agent, STREAM_NAME, &[TABLE_NAME, PLACE]);
        stage.agent.api().await_state(STREAM_NAME, &[StreamState::TableGone]);
        if killed {
            stage.agent.kill();
            stage.agent.start_again();
            stage.agent.api().await_state(STREAM_NAME, &[StreamState::TableGone]);
        }
        assert!(!log.exists(), "nothing is made in its place");
        fs::rename(&away, &log).unwrap();
        assert_rows(&stage.table(), &records, order_value);
        stage.await_active();
    }
}

#[test]
fn another_tables_log_at_the_same_version_gets_nothing_of_ours() {
    let stage = Stage::applied("log-swapped");
    let mut records = stage.produce_orders(0, 40);
    assert_rows(&stage.table(), &records, order_value);
    let (log, away, other) = (
        stage.table().join("_delta_log"),
        stage.table().join("_away"),
        stage.table().join("_other"),
    );
    copy_folder(&log, &other);
    make_another_table(&other, &stage.uid());
    fs::rename(&log, &away).unwrap();
    fs::rename(&other, &log).unwrap();
    let before = names_and_bytes(&log);
    records.extend(stage.produce_orders(100, 40));
    await_complaint(&stage.agent, STREAM_NAME, &[TABLE_NAME, "it is another table"]);
    stage.agent.api().await_state(STREAM_NAME, &[StreamState::TableAltered]);
    assert_eq!(names_and_bytes(&log), before);

    fs::rename(&log, &other).unwrap();
    fs::rename(&away, &log).unwrap();
    // What was another table once is taken back when somebody says so: by an apply.
    stage.workspace.apply_now().assert_success();
    assert_rows(&stage.table(), &records, order_value);
    stage.workspace.plan().assert_empty();
}

/// Gives the table of a log another id, with as many bytes.
fn make_another_table(log: &Path, uid: &str) {
    for entry in fs::read_dir(log).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let text = fs::read_to_string(&path).unwrap();
            let changed = text.lines().map(|line| {
                let mut action: serde_json::Value = serde_json::from_str(line).unwrap();
                if let Some(id) = action.pointer_mut("/metaData/id") {
                    *id = json!(uid);
                }
                format!("{action}\n")
            });
            fs::write(&path, changed.collect::<String>()).unwrap();
        }
    }
}

fn names_and_bytes(folder: &Path) -> Vec<(std::ffi::OsString, u64)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut facts: Vec<_> = entries.map(|entry| (entry.file_name(), entry.metadata().unwrap().len())).collect();
    facts.sort();
    facts
}

#[test]
fn a_commit_that_nobody_knows_the_outcome_of_is_there_once() {
    let stage = Stage::new("unknown-outcome");
    stage.apply(&with(&stage.stream(), "/operations", json!({"flush_interval": "100ms"})));
    let mut records = stage.produce_orders(0, 40);
    assert_rows(&stage.table(), &records, order_value);
    // The entry has its name, its sync fails, and so does every other look at whether it is durable.
    stage.agent.failpoints().arm("commit.after_entry fail:5\nlog.before_sync fail:5\n");
    records.extend(stage.produce_orders(100, 40));
    await_complaint(
        &stage.agent,
        STREAM_NAME,
        &[TABLE_NAME, PLACE, "Input/output error", "whether the disk is well"],
    );
    stage.agent.failpoints().disarm();
    records.extend(stage.produce_orders(200, 40));
    assert_rows(&stage.table(), &records, order_value);
    // Known outcomes: the call fails, and the log has the entry.
    stage.agent.failpoints().arm("commit.after_entry fail:5\n");
    records.extend(stage.produce_orders(300, 40));
    assert_rows(&stage.table(), &records, order_value);
    assert!(stage.agent.failpoints().hits().iter().any(|point| point == "log.before_sync"));
    stage.agent.failpoints().disarm();
    stage.await_active();
}

#[test]
fn commits_that_a_disk_lost_although_it_had_synced_them_are_made_again() {
    let mut stage = Stage::new("lost-sync");
    stage.apply(&with(&stage.stream(), "/operations", json!({"flush_interval": "100ms"})));
    let mut records = Vec::new();
    for round in 0..4 {
        records.extend(stage.produce_orders(round * 100, 40));
        assert_rows(&stage.table(), &records, order_value);
    }
    stage.agent.kill();
    let last = tables::version(&stage.table());
    assert!(last >= 4, "at least a commit a round");
    for version in [last - 1, last] {
        fs::remove_file(stage.table().join(format!("_delta_log/{version:020}.json"))).unwrap();
    }
    stage.agent.start_again();
    records.extend(stage.produce_orders(1000, 40));
    assert_rows(&stage.table(), &records, order_value);
    stage.await_active();
}
