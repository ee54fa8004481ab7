//! Records as they go from the source to the decoder: borrowed bytes, where each came from, and the positions after them.
//!
//! Invariant: rows are in the order in which they were taken, and the positions are those after the last of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use arrow_array::builder::{BinaryBuilder, Int64Builder, ListBuilder, StringBuilder, StructBuilder, TimestampMicrosecondBuilder};
use arrow_array::{ArrayRef, Int32Array};
use arrow_schema::{DataType as ArrowType, Field as ArrowField, FieldRef, Fields};
use stream_decode::framing::is_guid;
use stream_spec::stream::Side;
use stream_spec::table::{HEADERS, KAFKA_OFFSET, KAFKA_PARTITION, KAFKA_TOPIC, STREAM_RECORD_TIMESTAMP};

use super::ffi::{Message, MessageBatch, Verdict};
use crate::position::{PartitionId, Positions, SourcePlace};

/// Consecutive rows of one partition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// Index into the batch's partitions.
    pub(crate) partition: usize,
    pub(crate) rows: usize,
}

/// Records on their way into one commit.
pub(crate) struct SourceBatch {
    pub(crate) messages: Vec<MessageBatch>,
    pub(crate) runs: Vec<Run>,
    /// What the runs' indexes mean.
    pub(crate) partitions: Arc<[PartitionId]>,
    pub(crate) rows: usize,
    /// Positions of the partitions that moved since the batch before.
    pub(crate) positions: Positions,
    /// Every record was taken before this moment.
    pub(crate) taken_until: Instant,
    pub(crate) include_headers: bool,
}

impl SourceBatch {
    /// Takes the first records out, about so many bytes of them; the positions stay with those that are left, which they are
    /// behind. Empty when no record is left.
    pub(crate) fn take_portion(&mut self, bytes_wanted: usize) -> Self {
        let (mut count, mut bytes, mut rows) = (0, 0, 0);
        for messages in &self.messages {
            if count > 0 && bytes >= bytes_wanted {
                break;
            }
            count += 1;
            rows += messages.len();
            bytes += messages.iter().map(payload_bytes).sum::<usize>();
        }
        self.rows -= rows;
        Self {
            messages: self.messages.drain(..count).collect(),
            runs: take_runs(&mut self.runs, rows),
            partitions: self.partitions.clone(),
            rows,
            positions: Positions::new(),
            taken_until: self.taken_until,
            include_headers: self.include_headers,
        }
    }

    /// Leaves out, of each partition, the first record that has to wait and all behind it; answers which ones wait. The positions are
    /// those before them.
    pub(crate) fn hold_back(&mut self, mut waits: impl FnMut(Message<'_>) -> bool) -> BTreeSet<PartitionId> {
        let mut last: BTreeMap<usize, (i64, Option<i32>)> = BTreeMap::new();
        let mut held: BTreeSet<usize> = BTreeSet::new();
        let mut kept: Vec<Run> = Vec::new();
        let mut origins = std::mem::take(&mut self.runs)
            .into_iter()
            .flat_map(|run| std::iter::repeat_n(run.partition, run.rows));
        for messages in &mut self.messages {
            let put_off = messages.sort_out(|message| {
                let Some(partition) = origins.next() else { return Verdict::Free };
                if held.contains(&partition) || waits(message) {
                    held.insert(partition);
                    return Verdict::Free;
                }
                last.insert(partition, (message.offset(), message.leader_epoch()));
                match kept.last_mut() {
                    Some(run) if run.partition == partition => run.rows += 1,
                    _ => kept.push(Run { partition, rows: 1 }),
                }
                Verdict::Keep
            });
            drop(put_off);
        }
        self.rows = kept.iter().map(|run| run.rows).sum();
        self.runs = kept;
        let held: Vec<(usize, PartitionId)> = held
            .into_iter()
            .filter_map(|index| Some((index, self.partitions.get(index)?.clone())))
            .collect();
        for (index, partition) in &held {
            match (last.get(index), self.positions.get_mut(partition)) {
                (Some((offset, leader_epoch)), Some(position)) => {
                    position.next_offset = offset + 1;
                    position.leader_epoch = *leader_epoch;
                }
                _ => drop(self.positions.remove(partition)),
            }
        }
        held.into_iter().map(|(_, partition)| partition).collect()
    }

    /// Keys, row by row; borrowed from the fetch responses.
    pub(crate) fn keys(&self) -> Vec<Option<&[u8]>> {
        self.collect(|message| message.key())
    }

    /// Payloads, row by row; borrowed from the fetch responses.
    pub(crate) fn payloads(&self) -> Vec<Option<&[u8]>> {
        self.collect(|message| message.payload())
    }

    /// One side of every message, row by row.
    pub(crate) fn parts(&self, side: Side) -> impl Iterator<Item = Option<&[u8]>> {
        self.messages.iter().flat_map(MessageBatch::iter).map(move |message| match side {
            Side::Key => message.key(),
            Side::Payload => message.payload(),
        })
    }

    /// Topics that have rows here.
    pub(crate) fn topics(&self) -> BTreeSet<String> {
        self.runs
            .iter()
            .filter_map(|run| self.partitions.get(run.partition))
            .map(|partition| partition.topic.clone())
            .collect()
    }

    /// Where a row's record is in the source; `end` has the positions behind it.
    pub(crate) fn place(&self, row: usize, end: &Positions) -> Option<SourcePlace> {
        let mut behind = 0;
        let run = self.runs.iter().find(|run| {
            behind += run.rows;
            row < behind
        })?;
        let partition = self.partitions.get(run.partition)?.clone();
        Some(SourcePlace {
            offset: self.message(row)?.offset(),
            epoch: end.get(&partition)?.epoch,
            partition,
        })
    }

    /// Whether a record's headers have one of that name with a schema's GUID.
    pub(crate) fn has_guid(&self, row: usize, header: &str) -> bool {
        let mut found = false;
        if let Some(message) = self.message(row) {
            message.headers(|name, value| found |= name == header.as_bytes() && value.is_some_and(is_guid));
        }
        found
    }

    fn message(&self, row: usize) -> Option<Message<'_>> {
        let mut left = row;
        for messages in &self.messages {
            if let Some(message) = messages.get(left) {
                return Some(message);
            }
            left -= messages.len();
        }
        None
    }

    /// The columns that the source adds to a record, in the table's order.
    pub(crate) fn source_columns(&self) -> Vec<(FieldRef, ArrayRef)> {
        let mut timestamps = TimestampMicrosecondBuilder::with_capacity(self.rows).with_timezone("UTC");
        let mut offsets = Int64Builder::with_capacity(self.rows);
        for message in self.messages.iter().flat_map(MessageBatch::iter) {
            // A producer may write any number; one that has no microseconds in 64 bits is no point in time.
            timestamps.append_option(message.timestamp_ms().and_then(|milliseconds| milliseconds.checked_mul(1_000)));
            offsets.append_value(message.offset());
        }
        let mut topics = StringBuilder::with_capacity(self.rows, 0);
        let mut partitions = Vec::with_capacity(self.rows);
        for run in &self.runs {
            if let Some(partition) = self.partitions.get(run.partition) {
                for _ in 0..run.rows {
                    topics.append_value(&partition.topic);
                }
                partitions.extend(std::iter::repeat_n(partition.partition, run.rows));
            }
        }
        let mut columns = vec![
            column(STREAM_RECORD_TIMESTAMP, Arc::new(timestamps.finish())),
            column(KAFKA_TOPIC, Arc::new(topics.finish())),
            column(KAFKA_PARTITION, Arc::new(Int32Array::from(partitions))),
            column(KAFKA_OFFSET, Arc::new(offsets.finish())),
        ];
        if self.include_headers {
            columns.push(column(HEADERS, self.headers()));
        }
        columns
    }

    /// Headers as an array of structs per record; null for a record without headers, as Spark has it.
    fn headers(&self) -> ArrayRef {
        let fields = Fields::from(vec![
            ArrowField::new("key", ArrowType::Utf8, true),
            ArrowField::new("value", ArrowType::Binary, true),
        ]);
        let header = StructBuilder::new(fields.clone(), vec![Box::new(StringBuilder::new()), Box::new(BinaryBuilder::new())]);
        let mut lists = ListBuilder::new(header).with_field(ArrowField::new("element", ArrowType::Struct(fields), true));
        for message in self.messages.iter().flat_map(MessageBatch::iter) {
            let header = lists.values();
            let mut any = false;
            message.headers(|name, value| {
                any = true;
                if let Some(names) = header.field_builder::<StringBuilder>(0) {
                    names.append_value(String::from_utf8_lossy(name));
                }
                if let Some(values) = header.field_builder::<BinaryBuilder>(1) {
                    values.append_option(value);
                }
                header.append(true);
            });
            lists.append(any);
        }
        Arc::new(lists.finish())
    }

    fn collect<'a>(&'a self, part: impl Fn(Message<'a>) -> Option<&'a [u8]>) -> Vec<Option<&'a [u8]>> {
        let mut parts = Vec::with_capacity(self.rows);
        for messages in &self.messages {
            parts.extend(messages.iter().map(&part));
        }
        parts
    }
}

/// Bytes of a record's payload.
fn payload_bytes(message: Message<'_>) -> usize {
    message.payload().map_or(0, <[u8]>::len)
}

/// Takes the runs of the first rows, and what they take of the one in which these end.
fn take_runs(runs: &mut Vec<Run>, rows: usize) -> Vec<Run> {
    let mut left = rows;
    let mut taken = Vec::new();
    for run in runs.iter_mut() {
        let rows = run.rows.min(left);
        if rows == 0 {
            break;
        }
        left -= rows;
        run.rows -= rows;
        taken.push(Run { rows, ..*run });
    }
    runs.retain(|run| run.rows > 0);
    taken
}

/// A nullable column.
pub(crate) fn column(name: &str, array: ArrayRef) -> (FieldRef, ArrayRef) {
    (Arc::new(ArrowField::new(name, array.data_type().clone(), true)), array)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::testing::{Cluster, led, partition, read};

    #[tokio::test]
    async fn what_waits_is_left_out_with_all_behind_it_in_its_partition() {
        let cluster = Cluster::new(3);
        let mut source = cluster.attach(&[0, 0, 0]).await;
        for (number, payload) in [(0, "a"), (1, "wait"), (0, "wait"), (2, "c"), (1, "b"), (0, "d"), (2, "e")] {
            cluster.send(number, None, Some(payload));
        }
        let mut batch = read(&mut source, 7).await;
        let held = batch.hold_back(|message| message.payload() == Some(b"wait"));
        assert_eq!(held, BTreeSet::from([partition(0), partition(1)]));
        let mut payloads: Vec<_> = batch.payloads().into_iter().flatten().map(String::from_utf8_lossy).collect();
        payloads.sort();
        assert_eq!(payloads, ["a", "c", "e"]);
        assert_eq!((batch.rows, batch.runs.iter().map(|run| run.rows).sum::<usize>()), (3, 3));
        assert_eq!(batch.positions, Positions::from([(partition(0), led(1)), (partition(2), led(2))]));
        let held = batch.hold_back(|_| false);
        assert_eq!((held.len(), batch.rows), (0, 3));
        drop(batch);
        source.close().await;
    }

    #[test]
    fn runs_are_split_where_the_rows_end() {
        let run = |partition, rows| Run { partition, rows };
        for (rows, taken, left) in [
            (0, vec![], vec![(0, 2), (1, 3), (0, 1)]),
            (2, vec![(0, 2)], vec![(1, 3), (0, 1)]),
            (3, vec![(0, 2), (1, 1)], vec![(1, 2), (0, 1)]),
            (6, vec![(0, 2), (1, 3), (0, 1)], vec![]),
        ] {
            let mut runs = vec![run(0, 2), run(1, 3), run(0, 1)];
            let pairs = |runs: &[Run]| -> Vec<(usize, usize)> { runs.iter().map(|run| (run.partition, run.rows)).collect() };
            assert_eq!(pairs(&take_runs(&mut runs, rows)), taken, "{rows}");
            assert_eq!(pairs(&runs), left, "{rows}");
        }
    }
}
