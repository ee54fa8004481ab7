//! Another team that keeps the table of the crash test with Spark: its own OPTIMIZE and DELETE, with its own search for
//! conflicts. Invariant: every operation is tagged in the table's history, so that the judge knows what each commit deleted.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use e2e::limits::{BROKER_READY, SPARK_LANDS, STREAM_SETTLES};
use e2e::paths::test_parts;
use e2e::tables::{Script, log_entries};
use e2e::wait::wait_until;
use serde_json::{Value, json};

use crate::fire::Stop;
use crate::stage::PARTITIONS;

/// New log entries between two operations: Spark is to burn beside the agent, and not in its place.
const ENTRIES_BETWEEN: usize = 20;
const DELETED_OFFSETS: i64 = 40;
const TAG_SETTING: &str = "spark.databricks.delta.commitInfo.userMetadata";

/// How often each outcome came.
pub(crate) type Outcomes = BTreeMap<String, usize>;

/// The team, in a thread of its own.
pub(crate) struct SparkTeam {
    outcomes: Arc<Mutex<Outcomes>>,
    hurry: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Value>>,
}

/// What the thread works with.
struct Worker {
    table: PathBuf,
    spark: Script,
    stop: Stop,
    hurry: Arc<AtomicBool>,
}

/// One operation that was tried.
struct Deed {
    tag: String,
    operation: &'static str,
    /// What an OPTIMIZE is to do beside putting files together.
    order: &'static str,
    /// Partition, first and last offset of a DELETE.
    range: Option<(i32, i64, i64)>,
}

impl SparkTeam {
    pub(crate) fn start(table: PathBuf, stop: &Stop) -> Self {
        let (outcomes, hurry) = (Arc::<Mutex<Outcomes>>::default(), Arc::<AtomicBool>::default());
        let (counted, hurried, stop) = (Arc::clone(&outcomes), Arc::clone(&hurry), stop.clone());
        let thread = thread::spawn(move || {
            let mut worker = Worker {
                table,
                spark: Script::start_with(&test_parts().spark, "spark_tables.py"),
                stop,
                hurry: hurried,
            };
            let mut deeds = Vec::new();
            for round in 0_i64.. {
                worker.await_turn();
                if worker.stop.is_now() {
                    break;
                }
                let deed = worker.next(round);
                let outcome = worker.perform(&deed);
                deeds.push(json!({"tag": deed.tag, "range": deed.range, "done": outcome == deed.operation}));
                *counted.lock().unwrap().entry(outcome).or_default() += 1;
            }
            deeds
        });
        Self { outcomes, hurry, thread }
    }

    /// Waits until an operation of that name has landed in this run. Meant for a time in which the agent is down: beside its
    /// compactions Spark may lose for as long as the test lasts.
    pub(crate) fn await_landed(&self, operation: &str) {
        self.hurry.store(true, Ordering::Relaxed);
        wait_until(&format!("Spark's {operation} lands"), SPARK_LANDS, || {
            assert!(!self.thread.is_finished(), "Spark's team ended");
            let outcomes = self.outcomes();
            if outcomes.contains_key(operation) {
                Ok(())
            } else {
                Err(format!("{outcomes:?}"))
            }
        });
        self.hurry.store(false, Ordering::Relaxed);
    }

    pub(crate) fn outcomes(&self) -> Outcomes {
        self.outcomes.lock().unwrap().clone()
    }

    /// What was tried, for the judge.
    pub(crate) fn end(self) -> Vec<Value> {
        self.thread.join().unwrap()
    }
}

impl Worker {
    fn await_turn(&self) {
        let start = log_entries(&self.table);
        wait_until("the agent commits", BROKER_READY + 2 * STREAM_SETTLES, || {
            let entries = log_entries(&self.table);
            if self.stop.is_now() || self.hurry.load(Ordering::Relaxed) || entries >= start + ENTRIES_BETWEEN {
                Ok(())
            } else {
                Err(format!("{entries} entries"))
            }
        });
    }

    fn next(&self, round: i64) -> Deed {
        let partition = i32::try_from(round / 2 % i64::from(PARTITIONS)).unwrap();
        let position = recorded_position(&self.table, partition);
        if round % 2 == 0 || position < DELETED_OFFSETS {
            return Deed {
                tag: format!("spark-optimize-{round}"),
                operation: "OPTIMIZE",
                // There may be a single file, which the plain one leaves alone.
                order: if round % 4 == 0 { "" } else { " ZORDER BY (kafka_offset)" },
                range: None,
            };
        }
        // Spread over all that is there: the agent has put the older rows into larger files.
        let first = (position - DELETED_OFFSETS) * (round * 7 % 25) / 25;
        Deed {
            tag: format!("spark-delete-{round}"),
            operation: "DELETE",
            order: "",
            range: Some((partition, first, first + DELETED_OFFSETS - 1)),
        }
    }

    /// The operation's name if it committed something, else why not.
    fn perform(&mut self, deed: &Deed) -> String {
        self.statement(&format!("SET {TAG_SETTING} = {}", deed.tag)).unwrap();
        let table = format!("delta.`{}`", self.table.display());
        let text = match deed.range {
            None => format!("OPTIMIZE {table}{}", deed.order),
            Some((partition, first, last)) => {
                format!("DELETE FROM {table} WHERE kafka_partition = {partition} AND kafka_offset BETWEEN {first} AND {last}")
            }
        };
        match self.statement(&text) {
            Ok(rows) => {
                let changed = [&rows[0]["metrics"]["numFilesRemoved"], &rows[0]["num_affected_rows"]];
                let changed = changed.into_iter().find_map(Value::as_i64);
                let changed = changed.unwrap_or_else(|| panic!("what `{text}` changed is not in {rows}"));
                // Offsets of an aborted transaction have no rows: then there is no commit either.
                if changed > 0 { deed.operation } else { "nothing to do" }.to_owned()
            }
            Err(refused) => {
                let conflict = refused.split(|character: char| !character.is_ascii_alphanumeric());
                let conflict = conflict.into_iter().find(|word| word.starts_with("Concurrent"));
                // The agent was faster: a conflict is an answer, and nothing else is.
                conflict.map_or_else(|| panic!("{text}: {refused}"), |name| format!("{}: {name}", deed.operation))
            }
        }
    }

    fn statement(&mut self, text: &str) -> Result<Value, String> {
        self.spark.ask(&json!({"action": "statement", "text": text}))
    }
}

/// The position of a partition as the log has it: every row before it is in the table, or was deleted.
fn recorded_position(table: &Path, partition: i32) -> i64 {
    let txn_of = |action: &Value| {
        let parts: Vec<&str> = action["txn"]["appId"].as_str()?.split('/').collect();
        let ours = parts.len() == 5 && parts[0] == "fs" && parts[3] == partition.to_string();
        action["txn"]["version"].as_i64().filter(|_| ours)
    };
    let position_in = |version: usize| {
        let text = fs::read_to_string(table.join(format!("_delta_log/{version:020}.json"))).unwrap();
        text.lines().find_map(|line| txn_of(&serde_json::from_str(line).unwrap()))
    };
    (0..=log_entries(table)).rev().find_map(position_in).unwrap_or_default()
}
