//! The record filter at work (product part D6): a checked predicate, evaluated over whole batches of decoded records.
//!
//! `compile` turns the expression into a tree of kernels, constants folded; `values` is what flows between them. The kernels are in
//! the other files, by what they work on. Where Spark would raise for a record, the value is null for that record. Knows nothing else
//! of the pipeline. The one invariant: as many answers as rows, and the answer of one row never depends on another,
//! but where a batch goes beyond a bound of `limits`: its later rows are null then.

mod arithmetic;
mod calendar;
mod cast;
mod cast_number;
mod cast_text;
mod collection;
mod compare;
mod compile;
mod datetime;
mod datetime_text;
mod decimal;
mod error;
mod function;
mod interval;
mod json_path;
mod json_scan;
mod like;
mod limits;
mod logic;
mod membership;
mod nested;
mod text;
mod values;

#[cfg(test)]
mod tests;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::Schema;
use stream_spec::filter::expr::Filter;

pub(crate) use self::error::FilterError;

/// A predicate that is ready for batches of one schema.
pub(crate) struct Predicate {
    root: compile::Node,
}

impl Predicate {
    /// Prepares a filter for batches with these columns: `key` and `value` with all their fields, and the source's metadata.
    pub(crate) fn compile(filter: &Filter, schema: &Schema) -> Result<Self, FilterError> {
        Ok(Self {
            root: compile::boolean(&filter.predicate, schema)?,
        })
    }

    /// One answer a row. A record is kept where it is true; null is not true.
    pub(crate) fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray, FilterError> {
        let values = self.root.evaluate(batch)?;
        Ok(values::booleans(&values.per_row(batch.num_rows())?)?.clone())
    }
}
