//! AND and OR over a batch: an operand is evaluated only while the ones before it have not decided every row.
//!
//! Where they have decided most rows, the rest is evaluated for the others alone. Invariant: the answer of a row is that of all operands
//! together, in three-valued logic, since false decides an AND and true an OR whatever else there is.

use arrow_arith::boolean::{and_kleene, or_kleene};
use arrow_array::{Array, BooleanArray, UInt32Array};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, NullBuffer};
use arrow_select::take::take;

use super::error::FilterError;
use super::limits::NARROWED_SHARE;
use super::node::{Node, Scope};
use super::values::booleans;

/// AND or OR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Connective {
    And,
    Or,
}

impl Connective {
    fn join(self, left: &BooleanArray, right: &BooleanArray) -> Result<BooleanArray, FilterError> {
        Ok(match self {
            Self::And => and_kleene(left, right)?,
            Self::Or => or_kleene(left, right)?,
        })
    }

    /// The rows that another operand may change.
    fn open(self, answers: &BooleanArray) -> BooleanBuffer {
        let open = match self {
            Self::And => answers.values().clone(),
            Self::Or => !answers.values(),
        };
        match answers.nulls() {
            Some(nulls) => &open | &!nulls.inner(),
            None => open,
        }
    }

    /// The answer of a row that is decided.
    fn decided(self) -> bool {
        self == Self::Or
    }
}

/// The answers of all operands together.
pub(super) fn evaluate(connective: Connective, operands: &[Node], scope: &Scope<'_>) -> Result<BooleanArray, FilterError> {
    let Some((first, others)) = operands.split_first() else {
        return Err(FilterError::mismatch("operands of AND or OR", "none"));
    };
    let first = answers(first, scope)?;
    go_on(connective, first, others, scope)
}

/// The answers so far, with those of the operands that are left.
fn go_on(connective: Connective, mut joined: BooleanArray, operands: &[Node], scope: &Scope<'_>) -> Result<BooleanArray, FilterError> {
    for (index, operand) in operands.iter().enumerate() {
        let open = connective.open(&joined);
        let count = open.count_set_bits();
        if count == 0 {
            break;
        }
        if count <= scope.rows() / NARROWED_SHARE {
            let rows: UInt32Array = open.set_indices_u32().collect::<Vec<u32>>().into();
            let narrow = scope.narrowed(&rows)?;
            let so_far = booleans(&take(&joined, &rows, None)?)?.clone();
            let rest = go_on(connective, so_far, operands.get(index..).unwrap_or_default(), &narrow)?;
            return Ok(spread(&rest, &rows, joined.len(), connective.decided()));
        }
        joined = connective.join(&joined, &answers(operand, scope)?)?;
    }
    Ok(joined)
}

fn answers(operand: &Node, scope: &Scope<'_>) -> Result<BooleanArray, FilterError> {
    let values = operand.evaluate(scope)?.per_row(scope.rows())?;
    Ok(booleans(&values)?.clone())
}

/// The answers at their rows, among so many; the others have the one that decided them.
fn spread(answers: &BooleanArray, rows: &UInt32Array, length: usize, decided: bool) -> BooleanArray {
    let mut values = BooleanBufferBuilder::new(length);
    values.append_n(length, decided);
    let mut valid = BooleanBufferBuilder::new(length);
    valid.append_n(length, true);
    for (answer, row) in answers.iter().zip(rows.values()) {
        let row = *row as usize;
        values.set_bit(row, answer.unwrap_or_default());
        valid.set_bit(row, answer.is_some());
    }
    BooleanArray::new(values.finish(), Some(NullBuffer::new(valid.finish())))
}
