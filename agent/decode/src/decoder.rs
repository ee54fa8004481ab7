//! The decoder: batches of borrowed payloads in, one Arrow array and a report out.
//!
//! Holds the columns under construction and the scratch space that messages share, so that decoding allocates per
//! batch and not per message. The one invariant: each payload that is taken appends exactly one row, whatever it holds.

use arrow_array::ArrayRef;
use stream_spec::types::DataType;

use crate::builders::{Column, ColumnBuilder};
use crate::error::{CompileError, DecodeError};
use crate::json;
use crate::limits::{BATCH_BYTES_MAX, BATCH_CELLS_MAX, PLANS_MAX};
use crate::plan::{Plan, PlanFormat};
use crate::report::DecodeReport;
use crate::text;

/// A batch of decoded messages.
#[derive(Debug)]
pub struct Decoded {
    /// One element per payload that was taken, in order, of the reader's type.
    pub array: ArrayRef,
    /// What did not fit.
    pub report: DecodeReport,
}

/// Decodes messages of one or several writer schemas into a column of one reader type.
pub struct Decoder {
    plans: Vec<Plan>,
    column: Column,
    /// Cells of a row that holds nothing.
    row_cells: usize,
    scratch: json::Scratch,
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder").field("plans", &self.plans).finish_non_exhaustive()
    }
}

impl Decoder {
    /// A decoder for those plans; all must have the same reader type.
    pub fn new(plans: Vec<Plan>) -> Result<Self, CompileError> {
        let first = plans.first().ok_or(CompileError::NoPlan)?;
        if plans.len() > PLANS_MAX {
            return Err(CompileError::TooManyPlans {
                count: plans.len(),
                max: PLANS_MAX,
            });
        }
        if let Some((index, plan)) = plans.iter().enumerate().find(|(_, plan)| plan.reader != first.reader) {
            let (expected, actual) = (first.reader.clone(), plan.reader.clone());
            return Err(CompileError::ReaderTypesDiffer { index, expected, actual });
        }
        let (column, row_cells) = (Column::new(&first.reader), cells(&first.reader));
        Ok(Self {
            plans,
            column,
            row_cells,
            scratch: json::Scratch::default(),
        })
    }

    /// Puts a plan in the place of the one with that index, or behind all of them where the index is their number. It must have the
    /// same reader type as they.
    pub fn put(&mut self, index: u16, plan: Plan) -> Result<(), CompileError> {
        let (place, count) = (usize::from(index), self.plans.len());
        if let Some(first) = self.plans.first().filter(|first| first.reader != plan.reader) {
            let (expected, actual) = (first.reader.clone(), plan.reader);
            return Err(CompileError::ReaderTypesDiffer {
                index: place,
                expected,
                actual,
            });
        }
        match self.plans.get_mut(place) {
            Some(before) => *before = plan,
            None if place == count => self.plans.push(plan),
            None => return Err(CompileError::NoSuchPlace { index: place, count }),
        }
        Ok(())
    }

    /// Takes away all plans but the first one and those that stay, whose indexes become smaller by as many as were taken away before
    /// them.
    pub fn retain(&mut self, stays: impl Fn(u16) -> bool) {
        let mut indexes = 0_u16..=u16::MAX;
        self.plans
            .retain(|_| indexes.next().is_some_and(|index| index == 0 || stays(index)));
    }

    /// Reads JSON and Protobuf without the fast way: for the tests, which hold each way to Spark's answers by itself.
    #[doc(hidden)]
    pub fn without_fast_way(mut self) -> Self {
        self.scratch.exact_only = true;
        for plan in &mut self.plans {
            if let PlanFormat::Protobuf(program) = &mut plan.format {
                program.without_fast_way();
            }
        }
        self
    }

    /// Decodes a batch, or as much of its beginning as [`BATCH_CELLS_MAX`] allows: the array has as many elements as payloads were
    /// taken, one at least unless there is none, and the caller comes again with the rest. Where a batch ends never changes a row.
    ///
    /// A payload of `None` (a tombstone) is a null row.
    ///
    /// `plan_index` names the plan of each payload; an empty slice means the first plan for all. An error says that the
    /// call was wrong, never that a message was, and leaves the decoder ready for the next batch.
    pub fn decode(&mut self, payloads: &[Option<&[u8]>], plan_index: &[u16]) -> Result<Decoded, DecodeError> {
        self.check(payloads, plan_index)?;
        let mut report = DecodeReport::default();
        let mut plan_index = plan_index.iter();
        let mut batch_cells = 0_usize;
        for (row, payload) in payloads.iter().enumerate() {
            let index = plan_index.next().map_or(0, |index| usize::from(*index));
            if batch_cells >= BATCH_CELLS_MAX {
                break;
            }
            let (Some(payload), Some(plan)) = (payload, self.plans.get_mut(index)) else {
                self.column.append_null();
                batch_cells += self.row_cells;
                continue;
            };
            let (mut misfit, mut cells) = (None, 0);
            match &mut plan.format {
                PlanFormat::Text => text::append(payload, &mut self.column),
                PlanFormat::Json(shape) => misfit = json::append(payload, shape, &mut self.column, &mut self.scratch, &mut cells),
                PlanFormat::Avro(program) => misfit = program.append(payload, &mut self.column, &mut cells),
                PlanFormat::Protobuf(program) => misfit = program.append(payload, &mut self.column, &mut cells),
                PlanFormat::Misfit(reason) => {
                    self.column.append_null();
                    misfit = Some(*reason);
                }
            }
            batch_cells += cells.max(self.row_cells);
            if let Some(reason) = misfit {
                report.add(row, reason);
            }
            debug_assert_eq!(self.column.len(), row + 1, "each payload appends one row");
        }
        Ok(Decoded {
            array: self.column.finish()?,
            report,
        })
    }

    fn check(&self, payloads: &[Option<&[u8]>], plan_index: &[u16]) -> Result<(), DecodeError> {
        if !plan_index.is_empty() && plan_index.len() != payloads.len() {
            return Err(DecodeError::PlanIndexCount {
                plan_indexes: plan_index.len(),
                payloads: payloads.len(),
            });
        }
        let plans = self.plans.len();
        if let Some((row, index)) = plan_index.iter().enumerate().find(|(_, index)| usize::from(**index) >= plans) {
            return Err(DecodeError::NoSuchPlan {
                row,
                plan_index: *index,
                plans,
            });
        }
        let bytes = payloads.iter().flatten().map(|payload| payload.len()).sum();
        if bytes > BATCH_BYTES_MAX {
            return Err(DecodeError::BatchTooLarge {
                bytes,
                max: BATCH_BYTES_MAX,
            });
        }
        Ok(())
    }
}

/// Columns that a value has a cell in, whatever it holds.
fn cells(data_type: &DataType) -> usize {
    match data_type {
        DataType::Struct(fields) => fields
            .iter()
            .fold(1, |count: usize, field| count.saturating_add(cells(&field.data_type))),
        _ => 1,
    }
}
