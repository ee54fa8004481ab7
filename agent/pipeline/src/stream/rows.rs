//! Makes table rows of a batch of messages: decode both sides, keep what the filter keeps, drop what is excluded, add the metadata columns.
//!
//! Pure computation, run in a blocking thread. Invariant: the rows that come out and the records that were filtered are together as many as
//! the messages that went in, in their order.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::Schema;
use stream_decode::decoder::{Decoded, Decoder};
use stream_decode::error::{CompileError, DecodeError};
use stream_decode::plan::{self, Plan};
use stream_spec::path::{KEY, VALUE};
use stream_spec::schema;
use stream_spec::stream::SchemaText;
use stream_spec::table::RECORD_SOURCE;

use super::project::Exclusions;
use super::provision::direct_schemas;
use super::record_filter::RecordFilter;
use crate::engine::StreamDefinition;
use crate::error::PipelineError;
use crate::kafka::batch::{SourceBatch, column};
use crate::limits;
use crate::position::Positions;

/// The value of `record_source` in rows of a stream.
const FROM_STREAM: &str = "stream";

/// Makes one column of one side of messages.
pub(crate) struct SideDecoder {
    decoder: Decoder,
    exclusions: Exclusions,
}

/// Makes rows by one definition.
pub(crate) struct RowMaker {
    key: SideDecoder,
    value: SideDecoder,
    filter: Option<RecordFilter>,
}

/// Rows that are ready for the table.
pub(crate) struct ReadyBatch {
    /// In order; together the rows of the batch.
    pub(crate) rows: Vec<RecordBatch>,
    pub(crate) positions: Positions,
    /// Topics that have rows here.
    pub(crate) topics: BTreeSet<String>,
    /// Every record was taken before this moment.
    pub(crate) taken_until: Instant,
    /// Messages that did not fit their schema.
    pub(crate) malformed: u64,
    /// Records that the filter did not keep.
    pub(crate) filtered: u64,
}

impl RowMaker {
    /// A maker for the schemas and exclusions in force.
    pub(crate) fn compile(definition: &StreamDefinition) -> Result<Self, PipelineError> {
        let schemas = direct_schemas(definition)?;
        let excluded = &definition.spec.excluded_columns;
        Ok(Self {
            key: SideDecoder::compile(KEY, schemas.key.as_ref(), excluded)?,
            value: SideDecoder::compile(VALUE, schemas.payload.as_ref(), excluded)?,
            filter: RecordFilter::compile(definition, schemas)?,
        })
    }

    /// Makes the rows of a batch, and frees its messages as it goes: messages and rows of a whole batch are never in memory
    /// side by side.
    pub(crate) fn make(&mut self, mut batch: SourceBatch) -> Result<ReadyBatch, PipelineError> {
        let mut ready = ReadyBatch {
            rows: Vec::new(),
            positions: std::mem::take(&mut batch.positions),
            topics: batch.topics(),
            taken_until: batch.taken_until,
            malformed: 0,
            filtered: 0,
        };
        while batch.rows > 0 {
            let portion = batch.take_portion(limits::DECODE_PORTION_BYTES);
            self.make_portion(&portion, &mut ready)?;
        }
        Ok(ready)
    }

    fn make_portion(&mut self, portion: &SourceBatch, ready: &mut ReadyBatch) -> Result<(), PipelineError> {
        let key = self.key.decode(KEY, &portion.keys())?;
        let value = self.value.decode(VALUE, &portion.payloads())?;
        ready.malformed += (key.report.misfit_messages() + value.report.misfit_messages()) as u64;
        let mut columns = vec![column(KEY, key.array), column(VALUE, value.array)];
        columns.extend(portion.source_columns());
        let mut rows = portion.rows;
        if let Some(filter) = &self.filter {
            (columns, rows) = filter.keep(columns, portion.rows)?;
            ready.filtered += (portion.rows - rows) as u64;
        }
        if rows == 0 {
            return Ok(());
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
        ready.rows.push(rows);
        Ok(())
    }
}

impl SideDecoder {
    /// A decoder of `column` by that schema; without one the bytes are a text.
    pub(crate) fn compile(column: &str, text: Option<&SchemaText>, excluded: &BTreeSet<String>) -> Result<Self, PipelineError> {
        let plan = match text {
            None => Plan::text(),
            Some(text) => {
                let parsed = schema::parse(text).map_err(|problems| {
                    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
                    PipelineError::Definition {
                        message: format!("the schema of `{column}`: {}", problems.join("; ")),
                    }
                })?;
                plan::compile(&parsed, &parsed).map_err(|error| refused(column, &error))?
            }
        };
        let decoder = Decoder::new(vec![plan]).map_err(|error| refused(column, &error))?;
        Ok(Self {
            decoder,
            exclusions: Exclusions::of(column, excluded)?,
        })
    }

    /// Decodes messages; the column has the excluded fields still, which a filter may read.
    pub(crate) fn decode(&mut self, column: &str, payloads: &[Option<&[u8]>]) -> Result<Decoded, PipelineError> {
        self.decoder
            .decode(payloads, &[])
            .map_err(|error: DecodeError| PipelineError::Internal {
                message: format!("the decoder of `{column}` refuses a batch: {error}"),
            })
    }

    /// The column without the excluded fields.
    pub(crate) fn project(&self, decoded: ArrayRef) -> Result<ArrayRef, PipelineError> {
        self.exclusions.apply(decoded)
    }
}

fn refused(column: &str, error: &CompileError) -> PipelineError {
    PipelineError::Definition {
        message: format!("the schema of `{column}` cannot be decoded: {error}"),
    }
}
