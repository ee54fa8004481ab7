//! The record filter at work (product part D6): a checked predicate, evaluated over whole batches of decoded records.
//!
//! `compile` turns the expression into a tree of kernels (`node`), constants folded; `values` is what flows between them. The kernels are in
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
mod connect;
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
mod node;
mod text;
mod values;
mod work;

#[cfg(test)]
mod tests;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::Schema;
use stream_spec::filter::expr::Filter;

pub(crate) use self::error::FilterError;
use self::node::{Node, Scope};
use self::work::Work;

/// A predicate that is ready for batches of one schema.
pub(crate) struct Predicate {
    root: Node,
}

/// What a predicate says of a batch.
pub(crate) struct Answers {
    /// One a row. A record is kept where it is true; null is not true.
    pub(crate) kept: BooleanArray,
    /// How often LIKE or RLIKE gave up on a text because the batch took too much work: null for it.
    pub(crate) unanswered: u64,
}

impl Predicate {
    /// Prepares a filter for batches with these columns: `key` and `value` with all their fields, and the source's metadata.
    pub(crate) fn compile(filter: &Filter, schema: &Schema) -> Result<Self, FilterError> {
        Ok(Self {
            root: compile::predicate(&filter.predicate, schema)?,
        })
    }

    /// One answer a row.
    pub(crate) fn evaluate(&self, batch: &RecordBatch) -> Result<Answers, FilterError> {
        self.evaluate_within(batch, &Work::new())
    }

    fn evaluate_within(&self, batch: &RecordBatch, work: &Work) -> Result<Answers, FilterError> {
        let values = self.root.evaluate(&Scope::of(batch, work))?;
        Ok(Answers {
            kept: values::booleans(&values.per_row(batch.num_rows())?)?.clone(),
            unanswered: work.unanswered(),
        })
    }
}
