//! What goes on around the crash test while the agent is killed: a paced producer with transactions, another team's OPTIMIZE
//! and DELETE, and somebody who applies and destroys other streams. Invariant: each of them goes on through every kill, and
//! says at its end what it did.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use e2e::config::{self, with};
use e2e::limits::{BROKER_READY, STREAM_SETTLES, TERRAFORM_COMMAND};
use e2e::plan::Run;
use e2e::producer::{Acknowledged, Outgoing, RecordingProducer};
use e2e::tables::{Script, log_entries};
use e2e::terraform::Workspace;
use e2e::wait::wait_until;
use serde_json::{Value, json};

use crate::stage::PARTITIONS;

/// Records that the producer sends in a second.
const PACE: u64 = 8_000;
/// Records of one transaction, and records beside it outside of any.
const TRANSACTION: i64 = 1_200;
const BESIDE: i64 = 80;
/// Every so many transactions one is aborted.
const ABORTED_EVERY: u64 = 5;
/// Records per second are counted over this time.
const RATE_WINDOW: Duration = Duration::from_secs(1);
/// A producer that was held up for longer than this does not make up for it.
const HELD_UP_MAX: Duration = Duration::from_millis(500);
/// The broker is killed meanwhile: for so long it leaves a transaction open before it fences its producer. Longer than a broker
/// may take to come back and the client to end the transaction.
const TRANSACTION_MILLIS: &str = "240000";
/// New log entries between two changes by the other team.
const ENTRIES_BETWEEN: usize = 6;

/// Tells all threads of a test to end.
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(crate) fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_now(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A record that is in the topic for good.
#[derive(Clone, Copy)]
pub(crate) struct Committed {
    partition: i32,
    offset: i64,
    /// In the order of sending; the value says it too.
    number: i64,
}

/// A producer that goes on in a thread of its own.
pub(crate) struct Load {
    rate: Rate,
    thread: JoinHandle<Produced>,
}

/// What it did.
pub(crate) struct Produced {
    pub(crate) committed: Vec<Committed>,
    pub(crate) aborted_transactions: u64,
}

/// When how many records were acknowledged.
#[derive(Clone, Default)]
struct Rate(Arc<Mutex<Vec<(Instant, usize)>>>);

impl Rate {
    fn count(&self, records: usize) {
        let now = Instant::now();
        let mut counts = self.0.lock().unwrap();
        counts.retain(|(when, _)| now.duration_since(*when) <= RATE_WINDOW);
        counts.push((now, records));
    }

    fn per_second(&self) -> usize {
        let now = Instant::now();
        let counts = self.0.lock().unwrap();
        let recent = counts.iter().filter(|(when, _)| now.duration_since(*when) <= RATE_WINDOW);
        recent.map(|(_, records)| records).sum()
    }
}

impl Load {
    pub(crate) fn start(bootstrap: &str, topic: &str, stop: &Stop) -> Self {
        let rate = Rate::default();
        let (bootstrap, topic, stop, counted) = (bootstrap.to_owned(), topic.to_owned(), stop.clone(), rate.clone());
        let thread = thread::spawn(move || produce(&bootstrap, &topic, &stop, &counted));
        Self { rate, thread }
    }

    /// Records that the broker acknowledged within the last second.
    pub(crate) fn per_second(&self) -> usize {
        self.rate.per_second()
    }

    /// Whether the producer itself has ended, which it must not before it is told to.
    pub(crate) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    pub(crate) fn end(self) -> Produced {
        self.thread.join().unwrap()
    }
}

fn produce(bootstrap: &str, topic: &str, stop: &Stop, rate: &Rate) -> Produced {
    let inside = RecordingProducer::to(
        bootstrap,
        &[("transactional.id", topic), ("transaction.timeout.ms", TRANSACTION_MILLIS)],
    );
    inside.init_transactions();
    let outside = RecordingProducer::to(bootstrap, &[]);
    let (mut committed, mut aborted_transactions, mut number) = (Vec::new(), 0, 0);
    let round_time = Duration::from_secs(u64::try_from(TRANSACTION + BESIDE).unwrap()) / u32::try_from(PACE).unwrap();
    let mut next = Instant::now();
    for round in 0_u64.. {
        if stop.is_now() {
            break;
        }
        inside.begin();
        for record in number..number + TRANSACTION {
            inside.send(topic, &record_of(record));
        }
        for record in number + TRANSACTION..number + TRANSACTION + BESIDE {
            outside.send(topic, &record_of(record));
        }
        number += TRANSACTION + BESIDE;
        if round % ABORTED_EVERY == 2 {
            inside.abort();
            aborted_transactions += 1;
        } else {
            committed.extend(inside.commit().iter().map(committed_of));
        }
        committed.extend(outside.flush().iter().map(committed_of));
        rate.count(usize::try_from(TRANSACTION + BESIDE).unwrap());
        next = (next + round_time).max(Instant::now() - HELD_UP_MAX);
        wait_until("the next transaction's time", STREAM_SETTLES, || {
            if Instant::now() >= next { Ok(()) } else { Err("not yet") }
        });
    }
    Produced {
        committed,
        aborted_transactions,
    }
}

fn record_of(number: i64) -> Outgoing {
    let value = format!(
        "{{\"order_id\":{number},\"amount\":{}.25,\"note\":\"of no column\"}}",
        number % 1000
    );
    Outgoing {
        partition: Some(i32::try_from(number % i64::from(PARTITIONS)).unwrap()),
        ..Outgoing::new(number.to_string(), value)
    }
}

fn committed_of(record: &Acknowledged) -> Committed {
    Committed {
        partition: record.partition,
        offset: record.offset,
        number: std::str::from_utf8(record.key.as_ref().unwrap()).unwrap().parse().unwrap(),
    }
}

impl Produced {
    /// The position of each partition once everything is in the table, at least.
    pub(crate) fn ends(&self) -> BTreeMap<i32, i64> {
        let mut ends: BTreeMap<i32, i64> = BTreeMap::new();
        for record in &self.committed {
            let end = ends.entry(record.partition).or_default();
            *end = (*end).max(record.offset + 1);
        }
        ends
    }

    /// Writes the committed records to a file, as the judge reads it.
    pub(crate) fn write(&self, file: &Path) {
        let line = |record: &Committed| format!("{},{},{}\n", record.partition, record.offset, record.number);
        std::fs::write(file, self.committed.iter().map(line).collect::<String>()).unwrap();
    }
}

/// Another team that keeps a table as it likes.
pub(crate) struct OtherTeam {
    thread: JoinHandle<(Script, BTreeMap<String, usize>)>,
}

impl OtherTeam {
    pub(crate) fn start(table: PathBuf, stop: &Stop) -> Self {
        let stop = stop.clone();
        let thread = thread::spawn(move || {
            let mut script = Script::start("fire.py");
            let mut outcomes = BTreeMap::new();
            for round in 0_usize.. {
                let start = log_entries(&table);
                wait_until("the agent commits", BROKER_READY + 2 * STREAM_SETTLES, || {
                    let entries = log_entries(&table);
                    if stop.is_now() || entries >= start + ENTRIES_BETWEEN {
                        Ok(())
                    } else {
                        Err(format!("{entries} entries"))
                    }
                });
                if stop.is_now() {
                    break;
                }
                let outcome = match script.ask(&json!({"action": "maintain", "path": table, "round": round})) {
                    Ok(done) => done["operation"].as_str().unwrap().to_owned(),
                    // The agent's compaction was faster: a conflict is an answer.
                    Err(refused) => refused.split(&[':', '.']).take(2).collect::<Vec<_>>().join(":"),
                };
                *outcomes.entry(outcome).or_default() += 1;
            }
            (script, outcomes)
        });
        Self { thread }
    }

    /// The script, which knows what was deleted, and how often each outcome came.
    pub(crate) fn end(self) -> (Script, BTreeMap<String, usize>) {
        self.thread.join().unwrap()
    }
}

/// Somebody who creates, updates and destroys another stream on the same agent, with a workspace of their own.
pub(crate) struct Neighbour {
    stop: Stop,
    outcomes: Outcomes,
    thread: JoinHandle<Workspace>,
}

/// How often each outcome came.
type Outcomes = Arc<Mutex<BTreeMap<&'static str, usize>>>;

/// What a whole cycle does, and what Terraform's summary calls it.
const CYCLE: [(&str, &str); 3] = [("created", "add"), ("updated", "change"), ("destroyed", "remove")];

/// Names of the neighbour's things.
pub(crate) const NEIGHBOUR_STREAM: &str = "main.payments.refunds";
pub(crate) const NEIGHBOUR_TABLE: &str = "main.payments.refunds_raw";
const NEIGHBOUR_CONNECTION: &str = "neighbour-kafka";

/// The neighbour's configuration; `variant` tells one update from the other.
pub(crate) fn neighbours_document(bootstrap: &str, topic: &str, variant: usize) -> Value {
    let excluded = if variant.is_multiple_of(2) {
        json!([])
    } else {
        json!(["value.amount"])
    };
    let stream = with(&config::stream(topic), "/name", NEIGHBOUR_STREAM);
    let stream = with(&stream, "/ingestion_config/ingestion_destination/delta_table_name", NEIGHBOUR_TABLE);
    let stream = with(
        &stream,
        "/source_config/kafka_stream_config/extra_options",
        json!({"startingOffsets": "earliest"}),
    );
    let stream = with(&stream, "/excluded_columns", excluded);
    config::document(&with(&config::connection(bootstrap), "/name", NEIGHBOUR_CONNECTION), &stream)
}

impl Neighbour {
    pub(crate) fn start(endpoint: &str, bootstrap: &str, topic: &str) -> Self {
        let (stop, outcomes) = (Stop::default(), Outcomes::default());
        let workspace = Workspace::new(endpoint);
        let (bootstrap, topic, stopped, counted) = (bootstrap.to_owned(), topic.to_owned(), stop.clone(), Arc::clone(&outcomes));
        let thread = thread::spawn(move || {
            for step in (0..3).cycle() {
                if stopped.is_now() {
                    break;
                }
                let run = match step {
                    0 | 1 => {
                        workspace.write(&neighbours_document(&bootstrap, &topic, step));
                        workspace.apply_now()
                    }
                    _ => workspace.destroy(),
                };
                for outcome in outcomes_of(&run) {
                    *counted.lock().unwrap().entry(outcome).or_default() += 1;
                }
                take_up(&workspace, &run);
            }
            workspace
        });
        Self { stop, outcomes, thread }
    }

    /// How often each outcome came so far.
    pub(crate) fn outcomes(&self) -> BTreeMap<&'static str, usize> {
        self.outcomes.lock().unwrap().clone()
    }

    /// Waits until the stream was created, updated and destroyed once more; nobody kills the agent meanwhile. Then ends.
    pub(crate) fn end_after_a_cycle(self) -> Workspace {
        let before = self.outcomes();
        let now = || self.outcomes();
        wait_until("the neighbour's stream comes, changes and goes", 2 * TERRAFORM_COMMAND, || {
            assert!(!self.thread.is_finished(), "the neighbour ended");
            let (now, count) = (now(), |of: &BTreeMap<_, _>, name| of.get(name).copied().unwrap_or(0));
            if CYCLE.iter().all(|(name, _)| count(&now, *name) > count(&before, *name)) {
                Ok(())
            } else {
                Err(format!("{before:?}, then {now:?}"))
            }
        });
        self.stop.now();
        self.thread.join().unwrap()
    }
}

/// What a command did by Terraform's own summary, whatever it was meant to do: an update creates what a create left out.
fn outcomes_of(run: &Run) -> Vec<&'static str> {
    if run.code != Some(0) {
        return vec!["cut off"];
    }
    let lines = run.output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let changes: Vec<Value> = lines
        .filter(|line| line["type"] == "change_summary" && line["changes"]["operation"] != "plan")
        .map(|line| line["changes"].clone())
        .collect();
    let done = |key: &str| changes.iter().any(|changes| changes[key].as_u64() > Some(0));
    CYCLE.iter().filter(|(_, key)| done(key)).map(|(name, _)| *name).collect()
}

/// What was created while the answer was lost is imported, as the error says.
pub(crate) fn take_up(workspace: &Workspace, run: &Run) {
    if run.errors().any(|error| error.mentions("import {")) {
        for (address, id) in [(config::CONNECTION, NEIGHBOUR_CONNECTION), (config::STREAM, NEIGHBOUR_STREAM)] {
            if workspace.resource(address).is_null() {
                let _may_not_exist = workspace.import(address, id);
            }
        }
    }
}
