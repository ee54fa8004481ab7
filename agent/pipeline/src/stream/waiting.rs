//! Partitions whose next records need a column that is being widened: they are not read until it is, and the others go on.
//!
//! Invariant: no partition waits when nothing is widened.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use stream_spec::table::{KAFKA_PARTITION, KAFKA_TOPIC};
use stream_spec::types::Field;

use crate::limits::CONDITION_SENTENCES_MAX;
use crate::position::{PartitionId, Positions};
use crate::status::{PipelineCondition, condition};
use crate::table::TableState;

/// The partitions of a stream that wait, and why.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    partitions: BTreeMap<PartitionId, String>,
    /// What was in force when they were found to wait.
    under: Option<Under>,
}

/// What decides whether values fit: the definition's generation, and the columns as the table's files have them.
#[derive(Debug, PartialEq, Eq)]
struct Under {
    generation: u64,
    stored_columns: Vec<Field>,
}

impl Under {
    /// What is in force while something is widened.
    fn of(table: &TableState) -> Option<Self> {
        table.widening.as_ref().map(|widening| Self {
            generation: table.generation,
            stored_columns: widening.stored_columns.clone(),
        })
    }
}

impl Waiting {
    /// These partitions have values that need a wider column, as the table is now.
    pub(crate) fn note(&mut self, partitions: BTreeSet<PartitionId>, why: &str, table: &TableState) {
        self.look_at(table);
        self.under = Under::of(table);
        self.partitions
            .extend(partitions.into_iter().map(|partition| (partition, why.to_owned())));
    }

    /// Forgets all once nothing is widened any more, or other values come: a definition without the field needs no wider column. If
    /// a partition waits still, one batch says so again.
    pub(crate) fn look_at(&mut self, table: &TableState) {
        let under = Under::of(table);
        if under.is_none() || under != self.under {
            self.partitions.clear();
        }
    }

    /// True while a partition waits.
    pub(crate) fn is_any(&self) -> bool {
        !self.partitions.is_empty()
    }

    /// Takes those that wait out of what is to be read.
    pub(crate) fn hold(&self, attach: &mut Positions, held: &mut BTreeMap<PartitionId, String>) {
        for (partition, why) in &self.partitions {
            if attach.remove(partition).is_some() {
                held.insert(partition.clone(), why.clone());
            }
        }
    }

    /// What there is to say: who waits, and what keeps the table from being widened.
    pub(crate) fn condition(&self, table: &TableState) -> Option<PipelineCondition> {
        let widening = table.widening.as_ref()?;
        let reason = if self.is_any() { "WideningPending" } else { "WideningFailed" };
        let why: BTreeSet<&String> = self.partitions.values().collect();
        let waits = that_wait(self.partitions.keys());
        let sentences = widening.trouble.iter().cloned().chain(why.into_iter().cloned()).chain(waits);
        condition(condition::COLUMNS_WIDENED, reason, sentences)
    }
}

/// Names partitions that wait for something, as many as a condition has room for; nothing where none does.
pub(crate) fn that_wait<'a>(partitions: impl ExactSizeIterator<Item = &'a PartitionId>) -> Option<String> {
    let more = partitions.len().saturating_sub(CONDITION_SENTENCES_MAX);
    let mut places: Vec<String> = partitions
        .take(CONDITION_SENTENCES_MAX)
        .map(|partition| format!("{} of `{}`", partition.partition, partition.topic))
        .collect();
    if more > 0 {
        places.push(format!("and {more} more"));
    }
    (!places.is_empty()).then(|| format!("partitions that wait: {}", places.join(", ")))
}

/// Where the rows of a batch come from.
pub(crate) struct Origins {
    topics: Option<ArrayRef>,
    partitions: Option<ArrayRef>,
}

impl Origins {
    /// Those of a batch of rows.
    pub(crate) fn of(rows: &RecordBatch) -> Self {
        Self {
            topics: rows.column_by_name(KAFKA_TOPIC).cloned(),
            partitions: rows.column_by_name(KAFKA_PARTITION).cloned(),
        }
    }

    /// The partitions of some of the rows.
    pub(crate) fn partitions(&self, rows: &[usize]) -> BTreeSet<PartitionId> {
        let topics = self.topics.as_ref().and_then(|array| array.as_string_opt::<i32>());
        let partitions = self.partitions.as_ref().and_then(|array| array.as_primitive_opt::<Int32Type>());
        let (Some(topics), Some(partitions)) = (topics, partitions) else {
            return BTreeSet::new();
        };
        let is_there = |row: &&usize| **row < topics.len() && **row < partitions.len();
        let partition = |row: &usize| PartitionId {
            topic: topics.value(*row).to_owned(),
            partition: partitions.value(*row),
        };
        rows.iter().filter(is_there).map(partition).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int32Array, StringArray};
    use stream_spec::types::DataType;

    use super::*;
    use crate::position::Position;
    use crate::table::{SourceIdentity, TableTotals, WideningState};

    fn partition(number: i32) -> PartitionId {
        PartitionId {
            topic: "orders".to_owned(),
            partition: number,
        }
    }

    fn table(widening: bool, trouble: Option<&str>) -> TableState {
        TableState {
            version: 1,
            generation: 1,
            columns: Vec::new(),
            widening: widening.then(|| WideningState {
                stored_columns: Vec::new(),
                trouble: trouble.map(str::to_owned),
            }),
            positions: Positions::new(),
            source: SourceIdentity::default(),
            losses: Vec::new(),
            schema_starts: Arc::default(),
            registry: None,
            totals: TableTotals::default(),
            created_ms: 0,
        }
    }

    #[test]
    fn partitions_wait_until_nothing_is_widened_and_the_others_are_read() {
        let mut waiting = Waiting::default();
        waiting.note(BTreeSet::from([partition(1)]), "`value.id` is INT", &table(true, None));
        waiting.look_at(&table(true, None));
        let mut attach = Positions::from([(partition(0), Position::new(5, 0)), (partition(1), Position::new(6, 0))]);
        let mut held = BTreeMap::new();
        waiting.hold(&mut attach, &mut held);
        assert_eq!(attach.keys().collect::<Vec<_>>(), [&partition(0)]);
        assert_eq!(held, BTreeMap::from([(partition(1), "`value.id` is INT".to_owned())]));
        waiting.look_at(&table(false, None));
        assert!(!waiting.is_any());
    }

    #[test]
    fn what_is_said_names_the_trouble_the_column_and_the_partitions() {
        let mut waiting = Waiting::default();
        let said = |waiting: &Waiting, table: &TableState| waiting.condition(table).map(|said| format!("{} {}", said.reason, said.message));
        assert_eq!(said(&waiting, &table(true, None)), None);
        assert_eq!(said(&waiting, &table(true, Some("disk"))).as_deref(), Some("WideningFailed disk"));
        waiting.note(BTreeSet::from([partition(1), partition(3)]), "narrow", &table(true, None));
        assert_eq!(
            said(&waiting, &table(true, Some("disk"))).as_deref(),
            Some("WideningPending disk; narrow; partitions that wait: 1 of `orders`, 3 of `orders`")
        );
        assert_eq!(said(&waiting, &table(false, None)), None);
        waiting.note((0..1_000).map(partition).collect(), "narrow", &table(true, None));
        assert_eq!(
            said(&waiting, &table(true, None)).as_deref(),
            Some(
                "WideningPending narrow; partitions that wait: 0 of `orders`, 1 of `orders`, 2 of `orders`, 3 of `orders`, 4 of \
                 `orders`, and 995 more"
            )
        );
    }

    #[test]
    fn a_definition_that_excludes_the_field_is_read_while_the_widening_is_stuck() {
        let mut waiting = Waiting::default();
        let stuck = table(true, Some("disk"));
        waiting.note(BTreeSet::from([partition(1)]), "`value.id` is INT", &stuck);
        waiting.look_at(&stuck);
        assert!(waiting.is_any(), "the same definition needs BIGINT still");
        let without_field = TableState { generation: 2, ..stuck };
        waiting.look_at(&without_field);
        assert!(!waiting.is_any());
        // The guess can be wrong.
        waiting.note(BTreeSet::from([partition(1)]), "`value.id` is INT", &without_field);
        waiting.look_at(&without_field);
        assert!(waiting.is_any());
        let mut with_another_stored = without_field;
        with_another_stored.widening.as_mut().unwrap().stored_columns = vec![Field::new("id", DataType::Int)];
        waiting.look_at(&with_another_stored);
        assert!(!waiting.is_any());
    }

    #[test]
    fn rows_tell_their_partitions() {
        let rows = RecordBatch::try_from_iter([
            (KAFKA_TOPIC, Arc::new(StringArray::from(vec!["orders"; 3])) as ArrayRef),
            (KAFKA_PARTITION, Arc::new(Int32Array::from(vec![0, 1, 1]))),
        ]);
        let origins = Origins::of(&rows.expect("rows"));
        assert_eq!(origins.partitions(&[1, 2, 9]), BTreeSet::from([partition(1)]));
    }
}
