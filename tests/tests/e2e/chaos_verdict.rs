//! The verdict on what three streams made of what was written while everything came and went. Invariant: it follows from what the
//! producers were told, what foreign readers see, and the losses that the table's log names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use e2e::limits::{STREAM_CATCHES_UP, STREAM_SETTLES};
use e2e::tables::{log_entries, rows};
use e2e::wait::wait_until;
use featurestore_proto::v1::{ConditionStatus, StreamState};

use crate::chaos_load::{Produced, Sent, amount};
use crate::chaos_scene::{Chaos, REMADE, STREAMS};
use crate::rows::{Origin, origin_of_row};
use crate::topics_scene::losses_in_log;

/// Discrepancies that are shown.
const SHOWN: usize = 10;

/// Fails unless tables, streams and plan are as if nothing had happened, but for what is gone with a deleted topic.
pub(crate) fn judge(chaos: &mut Chaos, produced: &Produced) {
    chaos.await_losses();
    let tables = STREAMS.map(|stream| chaos.agent.table(&format!("{stream}_raw")));
    let losses = Losses::of(&tables);
    let lost = produced.committed.iter().filter(|sent| losses.has(sent)).count();
    let wanted = produced.committed.len() - lost;
    wait_until("as many rows as were committed", STREAM_CATCHES_UP, || {
        let mut found = 0;
        for stream in STREAMS {
            found += chaos.status(stream)?.table.unwrap_or_default().rows;
        }
        if usize::try_from(found).is_ok_and(|found| found >= wanted) {
            Ok(())
        } else {
            Err(format!("{found} rows of {wanted}"))
        }
    });
    wait_until("each committed record is there once", STREAM_SETTLES, || {
        produced.compare("duckdb", &tables, &losses)
    });
    produced
        .compare("polars", &tables, &losses)
        .unwrap_or_else(|report| panic!("{report}"));
    for stream in STREAMS {
        chaos.agent.api().await_state(stream, &[StreamState::Active]);
        wait_until("nothing is amiss, and nothing else was lost", STREAM_SETTLES, || {
            let status = chaos.status(stream)?;
            let is_amiss = status
                .conditions
                .iter()
                .any(|condition| condition.status() == ConditionStatus::False);
            let is_lost = |topic: &str, has_loss| topic != REMADE && has_loss;
            let lost = status
                .partitions
                .iter()
                .any(|partition| is_lost(&partition.topic, partition.last_loss.is_some()));
            if is_amiss || lost { Err(format!("{status:?}")) } else { Ok(()) }
        });
    }
    chaos.workspace.plan().assert_empty();
    chaos.look_at_memory();
    println!(
        "{:?} in {} s: {} committed records of {} transactions, {} aborted ({} of them fenced), {} of which nobody was told; {lost} records \
         lost with a deleted topic, by {} losses; {:?} versions of the tables; at most {} MiB",
        chaos.tally,
        chaos.elapsed().as_secs(),
        produced.committed.len(),
        produced.transactions,
        produced.aborted,
        produced.fenced,
        produced.unknown.len(),
        losses.count(),
        tables.map(|table| log_entries(&table)),
        chaos.memory_mib,
    );
}

/// Offsets at which reading ended in each life of a topic, by partition.
struct Losses(BTreeMap<i64, Vec<i64>>);

impl Losses {
    /// Those that the logs name: of one topic, one a partition for each time that it was deleted.
    fn of(tables: &[PathBuf]) -> Self {
        let mut losses: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for loss in tables.iter().flat_map(|table| losses_in_log(table)) {
            let number = |name: &str| loss[name].as_i64().unwrap_or_else(|| panic!("no {name} in {loss}"));
            let of_partition = losses.entry(number("partition")).or_default();
            of_partition.push(number("from"));
            let expected = (REMADE, "recreated", 0, i64::try_from(of_partition.len()).unwrap());
            let found = (loss["topic"].as_str(), loss["cause"].as_str(), number("to"), number("epoch"));
            assert_eq!(found, (Some(expected.0), Some(expected.1), expected.2, expected.3), "{loss}");
        }
        Self(losses)
    }

    fn count(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// Whether a record was in the topic when it was deleted, and had not been read.
    fn has(&self, sent: &Sent) -> bool {
        let (topic, partition, offset) = &sent.origin;
        let from = self.0.get(partition).and_then(|of_partition| of_partition.get(sent.life - 1));
        topic == REMADE && from.is_some_and(|from| offset >= from)
    }
}

impl Produced {
    /// Whether a reader sees each committed record once and where it is, or not at all where it is lost; all or none of each
    /// transaction of unknown end; and no other.
    fn compare(&self, reader: &str, tables: &[PathBuf], losses: &Losses) -> Result<(), String> {
        let mut found: BTreeMap<i64, Vec<Origin>> = BTreeMap::new();
        for table in tables {
            read(reader, table, &mut found)?;
        }
        let mut wrong = Vec::new();
        for sent in &self.committed {
            let seen = found.remove(&sent.number).unwrap_or_default();
            let wanted = if losses.has(sent) { Vec::new() } else { vec![sent.origin.clone()] };
            if seen != wanted {
                wrong.push(format!(
                    "record {}, committed as {:?} (life {}), is there as {seen:?}",
                    sent.number, sent.origin, sent.life
                ));
            }
        }
        for transaction in &self.unknown {
            let kept = transaction.iter().filter(|sent| !losses.has(sent));
            let there: Vec<bool> = kept
                .map(|sent| match found.remove(&sent.number) {
                    Some(seen) if seen == [sent.origin.clone()] => true,
                    None => false,
                    Some(seen) => {
                        wrong.push(format!("record {}, sent as {:?}, is there as {seen:?}", sent.number, sent.origin));
                        true
                    }
                })
                .collect();
            if there.iter().any(|is_there| *is_there != there[0]) {
                let numbers: Vec<i64> = transaction.iter().map(|sent| sent.number).collect();
                wrong.push(format!(
                    "of the records {numbers:?}, of one transaction, these are there: {there:?}"
                ));
            }
        }
        let others = found
            .iter()
            .map(|(number, seen)| format!("record {number}, never committed, is there as {seen:?}"));
        wrong.extend(others);
        if wrong.is_empty() {
            return Ok(());
        }
        let shown = wrong.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("\n");
        Err(format!(
            "{reader}: {} of {} records differ:\n{shown}",
            wrong.len(),
            self.committed.len()
        ))
    }
}

/// Adds the rows of a table by the number that each record has.
fn read(reader: &str, table: &Path, found: &mut BTreeMap<i64, Vec<Origin>>) -> Result<(), String> {
    for row in rows(reader, table, &["kafka_topic", "kafka_partition", "kafka_offset", "value"])? {
        let number = row["value"]["order_id"].as_i64().ok_or_else(|| format!("{reader}: {row}"))?;
        if row["value"]["amount"].as_f64() != Some(amount(number)) {
            return Err(format!("{reader}: not as it was written: {row}"));
        }
        found.entry(number).or_default().push(origin_of_row(&row));
    }
    Ok(())
}
