//! Makes table rows of a batch of messages: decode both sides, keep what the filter keeps, drop what is excluded, add the metadata columns.
//!
//! Pure computation, run in a blocking thread. A batch whose rows take much more memory than its messages comes out in parts, one
//! commit each. Invariant: the rows that come out and the records that were filtered are together as many as the messages that went in, in
//! their order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{FieldRef, Schema};
use stream_decode::decoder::Decoded;
use stream_decode::framing::{KEY_GUID_HEADER, PAYLOAD_GUID_HEADER, SchemaKey};
use stream_spec::path::{KEY, VALUE};
use stream_spec::stream::Side;
use stream_spec::table::RECORD_SOURCE;

use super::in_force::InForce;
use super::record_filter::RecordFilter;
use super::side_decoder::SideDecoder;
use super::writers::Learned;
use crate::engine::StreamDefinition;
use crate::error::PipelineError;
use crate::kafka::batch::{SourceBatch, column};
use crate::limits;
use crate::misfits::Misfits;
use crate::position::{PartitionId, Position, Positions};

/// The value of `record_source` in rows of a stream.
const FROM_STREAM: &str = "stream";

/// Offset and leader's epoch of the last message of each partition, by its index in the batch.
type LastMessages = BTreeMap<usize, (i64, Option<i32>)>;

/// Makes rows by one definition.
pub(crate) struct RowMaker {
    key: SideDecoder,
    value: SideDecoder,
    filter: Option<RecordFilter>,
}

/// Rows that are ready for the table.
pub(crate) struct ReadyBatch {
    /// In order; together the rows of the batch, or of the first part of it.
    pub(crate) rows: Vec<RecordBatch>,
    pub(crate) positions: Positions,
    /// Topics that have rows here.
    pub(crate) topics: BTreeSet<String>,
    /// Every record was taken before this moment.
    pub(crate) taken_until: Instant,
    /// Messages that did not fit their schemas.
    pub(crate) misfits: Misfits,
    /// Records that the filter did not keep.
    pub(crate) filtered: u64,
    /// How often the filter gave up on a text because matching it took too much work.
    pub(crate) unanswered: u64,
    /// The records of the batch that have no rows yet.
    pub(crate) rest: Option<Rest>,
}

/// A batch of which the first rows may be made.
pub(crate) struct Rest {
    batch: SourceBatch,
    portion: Option<Portion>,
    topics: BTreeSet<String>,
}

/// Messages that are decoded at once, unless their rows are too large for that.
struct Portion {
    messages: SourceBatch,
    source_columns: Vec<(FieldRef, ArrayRef)>,
    /// Of how many messages rows were made.
    done: usize,
}

impl RowMaker {
    /// A maker for those schemas and the exclusions in force.
    pub(crate) fn compile(definition: &StreamDefinition, in_force: &InForce) -> Result<Self, PipelineError> {
        let excluded = &definition.spec.excluded_columns;
        let versions = in_force.versions.as_ref();
        let side = |side: Side| match versions.and_then(|versions| versions.side(side)) {
            Some(version) => SideDecoder::of_writers(side.column(), version, excluded),
            None => SideDecoder::compile(side.column(), in_force.schemas.side(side), excluded),
        };
        Ok(Self {
            key: side(Side::Key)?,
            value: side(Side::Payload)?,
            filter: RecordFilter::compile(definition, &in_force.schemas)?,
        })
    }

    /// The schemas that messages of a batch name and that are not known.
    pub(crate) fn missing(&mut self, batch: &SourceBatch) -> Vec<(Side, SchemaKey)> {
        let now = Instant::now();
        let mut missing = Vec::new();
        for side in Side::BOTH {
            let keys = self.side(side).missing(batch.parts(side), now);
            missing.extend(keys.into_iter().map(|key| (side, key)));
        }
        missing
    }

    /// Takes in what was learned of them.
    pub(crate) fn learn(&mut self, learned: &[(Side, SchemaKey, Learned)]) {
        let now = Instant::now();
        for (side, key, learned) in learned {
            self.side(*side).learn(key, learned, now);
        }
    }

    /// Leaves out of a batch, in each partition, the first message that waits for its schema and all behind it.
    pub(crate) fn hold_back(&mut self, batch: &mut SourceBatch) -> BTreeSet<PartitionId> {
        if !self.key.may_wait() && !self.value.may_wait() {
            return BTreeSet::new();
        }
        batch.hold_back(|message| self.key.waits(message.key()) || self.value.waits(message.payload()))
    }

    /// Forgets what is too much to keep, between two batches.
    pub(crate) fn tidy(&mut self) {
        self.key.tidy();
        self.value.tidy();
    }

    fn side(&mut self, side: Side) -> &mut SideDecoder {
        match side {
            Side::Key => &mut self.key,
            Side::Payload => &mut self.value,
        }
    }

    /// Makes the rows of a batch, or of its beginning where these are many bytes, and frees its messages as it goes: messages and rows of
    /// a whole batch are never in memory side by side.
    pub(crate) fn make(&mut self, batch: SourceBatch) -> Result<ReadyBatch, PipelineError> {
        let topics = batch.topics();
        self.go_on(Rest {
            batch,
            portion: None,
            topics,
        })
    }

    /// Makes the next rows of a batch.
    pub(crate) fn go_on(&mut self, rest: Rest) -> Result<ReadyBatch, PipelineError> {
        let Rest {
            mut batch,
            portion,
            topics,
        } = rest;
        let mut ready = ReadyBatch {
            rows: Vec::new(),
            positions: Positions::new(),
            topics: topics.clone(),
            taken_until: batch.taken_until,
            misfits: Misfits::default(),
            filtered: 0,
            unanswered: 0,
            rest: None,
        };
        let (mut bytes, mut last) = (0, LastMessages::new());
        let mut next = portion;
        loop {
            let mut portion = match next.take() {
                Some(portion) => portion,
                None if batch.rows > 0 => Portion::of(batch.take_portion(limits::DECODE_PORTION_BYTES)),
                None => break,
            };
            while portion.done < portion.messages.rows {
                if bytes >= limits::DECODED_BYTES_MAX {
                    ready.positions = positions_behind(&last, &batch.partitions, &batch.positions);
                    ready.rest = Some(Rest {
                        batch,
                        portion: Some(portion),
                        topics,
                    });
                    return Ok(ready);
                }
                let begin = portion.done;
                bytes += self.make_rows(&mut portion, &batch.positions, &mut ready)?;
                portion.note_last(begin, &mut last);
            }
        }
        ready.positions = batch.positions;
        Ok(ready)
    }

    /// Makes rows of the next messages, of as many as the decoders take at once; answers what memory they take. `end` has the positions
    /// behind their whole batch.
    fn make_rows(&mut self, portion: &mut Portion, end: &Positions, ready: &mut ReadyBatch) -> Result<usize, PipelineError> {
        let (keys, payloads) = (portion.messages.keys(), portion.messages.payloads());
        let (keys, payloads) = (keys.get(portion.done..), payloads.get(portion.done..));
        let has_guid = |row: usize, header: &str| portion.messages.has_guid(portion.done + row, header);
        let (key, value) = self.decode_sides(keys.unwrap_or_default(), payloads.unwrap_or_default(), &has_guid)?;
        for (side, report) in [(Side::Key, &key.report), (Side::Payload, &value.report)] {
            ready
                .misfits
                .note(side, report, |row| portion.messages.place(portion.done + row, end));
        }
        let taken = value.array.len();
        let mut columns = vec![column(KEY, key.array), column(VALUE, value.array)];
        let of_these = |(field, array): &(FieldRef, ArrayRef)| (field.clone(), array.slice(portion.done, taken));
        columns.extend(portion.source_columns.iter().map(of_these));
        portion.done += taken;
        let mut rows = taken;
        if let Some(filter) = &self.filter {
            let kept = filter.keep(columns, taken)?;
            (columns, rows) = (kept.columns, kept.rows);
            ready.filtered += (taken - rows) as u64;
            ready.unanswered += kept.unanswered;
        }
        if rows == 0 {
            return Ok(0);
        }
        let mut table_columns = Vec::with_capacity(columns.len() + 1);
        let record_source: ArrayRef = Arc::new(StringArray::from_iter_values(std::iter::repeat_n(FROM_STREAM, rows)));
        for (field, array) in columns {
            match field.name().as_str() {
                KEY => table_columns.push(column(KEY, self.key.project(array)?)),
                VALUE => {
                    table_columns.push(column(VALUE, self.value.project(array)?));
                    table_columns.push(column(RECORD_SOURCE, record_source.clone()));
                }
                _ => table_columns.push((field, array)),
            }
        }
        let (fields, arrays): (Vec<_>, Vec<_>) = table_columns.into_iter().unzip();
        let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(|error| PipelineError::Internal {
            message: format!("decoded columns do not make rows: {error}"),
        })?;
        let bytes = rows.get_array_memory_size();
        ready.rows.push(rows);
        Ok(bytes)
    }

    /// Both sides of the same first messages, at least of one.
    fn decode_sides(
        &mut self,
        keys: &[Option<&[u8]>],
        payloads: &[Option<&[u8]>],
        has_guid: &dyn Fn(usize, &str) -> bool,
    ) -> Result<(Decoded, Decoded), PipelineError> {
        let in_key = |row: usize| has_guid(row, KEY_GUID_HEADER);
        let in_payload = |row: usize| has_guid(row, PAYLOAD_GUID_HEADER);
        let value = self.value.decode(VALUE, payloads, in_payload)?;
        let key = self.key.decode(KEY, keys.get(..value.array.len()).unwrap_or(keys), in_key)?;
        let taken = key.array.len();
        if taken == value.array.len() {
            return Ok((key, value));
        }
        // Keys that fill so many cells are rare. What decoding takes at once depends on nothing before, so it takes these again.
        drop(value);
        let value = self.value.decode(VALUE, payloads.get(..taken).unwrap_or(payloads), in_payload)?;
        Ok((key, value))
    }
}

impl Portion {
    fn of(messages: SourceBatch) -> Self {
        Self {
            source_columns: messages.source_columns(),
            messages,
            done: 0,
        }
    }

    /// Notes the last of the messages from `begin` on of which rows were made, for each partition.
    fn note_last(&self, begin: usize, last: &mut LastMessages) {
        let mut messages = self.messages.messages.iter().flat_map(|messages| messages.iter());
        let mut end = 0;
        for run in &self.messages.runs {
            let first = end;
            end = (first + run.rows).min(self.done);
            let Some(message) = (end - first).checked_sub(1).and_then(|before| messages.nth(before)) else {
                return;
            };
            if end > begin {
                last.insert(run.partition, (message.offset(), message.leader_epoch()));
            }
        }
    }
}

/// The positions behind those messages; `end` has those behind their whole batch.
fn positions_behind(last: &LastMessages, partitions: &[PartitionId], end: &Positions) -> Positions {
    let position = |(partition, (offset, leader_epoch)): (&usize, &(i64, Option<i32>))| {
        let partition = partitions.get(*partition)?;
        let position = Position {
            next_offset: offset + 1,
            leader_epoch: *leader_epoch,
            ..*end.get(partition)?
        };
        Some((partition.clone(), position))
    };
    last.iter().filter_map(position).collect()
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Int32Type, Int64Type};
    use stream_spec::stream::SchemaConfig;

    use super::super::tests::{definition, json_schemas, row_maker};
    use super::*;
    use crate::kafka::testing::{Cluster, led, partition, read};

    #[tokio::test]
    async fn a_batch_of_messages_that_become_many_times_their_bytes_comes_out_in_parts() {
        let fields: Vec<String> = (0..300)
            .map(|index| format!(r#""f{index}": {{"type": "integer", "format": "int64"}}"#))
            .collect();
        let wide = format!(r#"{{"type": "object", "properties": {{{}}}}}"#, fields.join(","));
        let mut definition = definition();
        definition.spec.schemas = SchemaConfig::Direct(json_schemas(&format!(
            r#"{{"type": "object", "properties": {{"l": {{"type": "array", "items": {wide}}}}}}}"#
        )));
        let elements = stream_decode::limits::BATCH_CELLS_MAX / 300 + 1;
        let message = format!(r#"{{"l": [{}{{}}]}}"#, "{},".repeat(elements - 1));
        let cluster = Cluster::new(2);
        let origins = [0, 0, 1, 0, 1, 1, 0];
        let mut source = cluster.attach(&[0, 0]).await;
        for origin in origins {
            cluster.send(origin, None, Some(&message));
        }
        let batch = read(&mut source, origins.len()).await;
        source.close().await;

        let mut maker = row_maker(&definition);
        let (mut next, mut parts, mut seen) = (Some(maker.make(batch).expect("rows")), 0, Positions::new());
        while let Some(mut ready) = next.take() {
            parts += 1;
            for rows in &ready.rows {
                assert_eq!(rows.num_rows(), 1, "each of them is as much as is decoded at once");
                let list = rows.column_by_name("value").expect("there").as_struct().column(0).clone();
                assert_eq!(list.as_list::<i32>().value_length(0) as usize, elements);
                let number = rows
                    .column_by_name("kafka_partition")
                    .expect("there")
                    .as_primitive::<Int32Type>()
                    .value(0);
                let offset = rows
                    .column_by_name("kafka_offset")
                    .expect("there")
                    .as_primitive::<Int64Type>()
                    .value(0);
                let before = seen.insert(partition(number), led(offset + 1));
                assert_eq!(before.map_or(0, |position| position.next_offset), offset, "each once, in order");
            }
            for (partition, position) in &ready.positions {
                assert_eq!(seen.get(partition), Some(position), "positions are behind the rows of the part");
            }
            let bytes: usize = ready.rows.iter().map(RecordBatch::get_array_memory_size).sum();
            assert!(bytes < 2 * limits::DECODED_BYTES_MAX, "{bytes}");
            next = ready.rest.take().map(|rest| maker.go_on(rest).expect("rows"));
        }
        assert!(parts > 1, "{parts}");
        assert_eq!(seen, Positions::from([(partition(0), led(4)), (partition(1), led(3))]));
    }
}
