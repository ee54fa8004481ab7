//! A compiled predicate: a tree of kernels, and its evaluation for the rows of a batch or some of them.
//!
//! Invariant: a node has as many values as its scope has rows, or one constant.

use std::sync::Arc;

use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_select::take::take;

use super::connect::{self, Connective};
use super::error::FilterError;
use super::nested;
use super::values::{Values, primitive};
use super::work::Work;

/// Computes values from arguments, for so many rows.
pub(super) type Kernel = Box<dyn Fn(&[Values], usize) -> Result<ArrayRef, FilterError> + Send + Sync>;

/// A kernel whose work on a row has no bound of its own: it takes it from the evaluation's.
pub(super) type MeteredKernel = Box<dyn Fn(&[Values], usize, &Work) -> Result<ArrayRef, FilterError> + Send + Sync>;

/// What makes values of arguments.
pub(super) enum Compute {
    Plain(Kernel),
    Metered(MeteredKernel),
}

/// A part of a compiled predicate.
pub(super) enum Node {
    Constant(Values),
    /// A column, or a field of structs in it.
    Reference {
        column: usize,
        fields: Vec<String>,
    },
    Apply {
        arguments: Vec<Node>,
        compute: Compute,
    },
    Connected(Connective, Vec<Node>),
}

/// What an evaluation is asked for: the rows of a batch, or some of them.
pub(super) struct Scope<'a> {
    batch: &'a RecordBatch,
    /// Without it, all of them.
    rows: Option<UInt32Array>,
    work: &'a Work,
}

impl<'a> Scope<'a> {
    /// All rows of a batch.
    pub(super) fn of(batch: &'a RecordBatch, work: &'a Work) -> Self {
        Self { batch, rows: None, work }
    }

    /// Some of the rows, by their places among these.
    pub(super) fn narrowed(&self, places: &UInt32Array) -> Result<Self, FilterError> {
        let rows = match &self.rows {
            Some(rows) => primitive::<UInt32Type>(&take(rows, places, None)?)?.clone(),
            None => places.clone(),
        };
        Ok(Self { rows: Some(rows), ..*self })
    }

    pub(super) fn rows(&self) -> usize {
        self.rows.as_ref().map_or(self.batch.num_rows(), UInt32Array::len)
    }

    fn reference(&self, column: usize, fields: &[String]) -> Result<ArrayRef, FilterError> {
        let Some(array) = self.batch.columns().get(column) else {
            let found = format!("{} columns", self.batch.num_columns());
            return Err(FilterError::mismatch(format!("a column at {column}"), found));
        };
        let mut array = array.clone();
        for field in fields {
            array = nested::field_of(&array, field)?;
        }
        match &self.rows {
            Some(rows) => Ok(take(&array, rows, None)?),
            None => Ok(array),
        }
    }
}

impl Node {
    pub(super) fn evaluate(&self, scope: &Scope<'_>) -> Result<Values, FilterError> {
        match self {
            Self::Constant(values) => Ok(values.clone()),
            Self::Reference { column, fields } => Ok(Values::rows(scope.reference(*column, fields)?)),
            Self::Connected(connective, operands) => Ok(Values::rows(Arc::new(connect::evaluate(*connective, operands, scope)?))),
            Self::Apply { arguments, compute } => {
                let arguments = arguments
                    .iter()
                    .map(|argument| argument.evaluate(scope))
                    .collect::<Result<Vec<_>, _>>()?;
                let array = compute.apply(&arguments, scope.rows(), scope.work)?;
                debug_assert_eq!(array.len(), scope.rows(), "a value a row");
                Ok(Values::rows(array))
            }
        }
    }

    pub(super) fn constant_value(&self) -> Option<&Values> {
        match self {
            Self::Constant(values) => Some(values),
            _ => None,
        }
    }
}

impl Compute {
    pub(super) fn apply(&self, arguments: &[Values], rows: usize, work: &Work) -> Result<ArrayRef, FilterError> {
        match self {
            Self::Plain(kernel) => kernel(arguments, rows),
            Self::Metered(kernel) => kernel(arguments, rows, work),
        }
    }
}
