//! Records as they go from the source to the decoder: borrowed bytes, where each came from, and the positions after them.
//!
//! Invariant: rows are in the order in which they were taken, and the positions are those after the last of them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::builder::{BinaryBuilder, Int64Builder, ListBuilder, StringBuilder, StructBuilder, TimestampMicrosecondBuilder};
use arrow_array::{ArrayRef, Int32Array};
use arrow_schema::{DataType as ArrowType, Field as ArrowField, FieldRef, Fields};
use stream_spec::table::{HEADERS, KAFKA_OFFSET, KAFKA_PARTITION, KAFKA_TOPIC, STREAM_RECORD_TIMESTAMP};

use super::ffi::{Message, MessageBatch};
use crate::position::{PartitionId, Positions};

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
    /// Keys, row by row; borrowed from the fetch responses.
    pub(crate) fn keys(&self) -> Vec<Option<&[u8]>> {
        self.collect(|message| message.key())
    }

    /// Payloads, row by row; borrowed from the fetch responses.
    pub(crate) fn payloads(&self) -> Vec<Option<&[u8]>> {
        self.collect(|message| message.payload())
    }

    /// Topics that have rows here.
    pub(crate) fn topics(&self) -> BTreeSet<String> {
        self.runs
            .iter()
            .filter_map(|run| self.partitions.get(run.partition))
            .map(|partition| partition.topic.clone())
            .collect()
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

/// A nullable column.
pub(crate) fn column(name: &str, array: ArrayRef) -> (FieldRef, ArrayRef) {
    (Arc::new(ArrowField::new(name, array.data_type().clone(), true)), array)
}
