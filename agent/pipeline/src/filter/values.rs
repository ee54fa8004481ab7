//! What flows between kernels: a value a row, or one value for all rows.
//!
//! The one invariant: a constant has exactly one element.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Int32Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Datum, Int32Array, ListArray, MapArray, PrimitiveArray, StringArray, StructArray,
};
use arrow_select::take::take;

use super::error::FilterError;

/// The values of an expression for a batch.
#[derive(Clone, Debug)]
pub(super) struct Values {
    array: ArrayRef,
    constant: bool,
}

impl Values {
    /// A value a row.
    pub(super) fn rows(array: ArrayRef) -> Self {
        Self { array, constant: false }
    }

    /// The one element of `array` for every row.
    pub(super) fn constant(array: ArrayRef) -> Self {
        debug_assert_eq!(array.len(), 1, "a constant is one value");
        Self { array, constant: true }
    }

    pub(super) fn is_constant(&self) -> bool {
        self.constant
    }

    /// The elements: one, or one a row.
    pub(super) fn array(&self) -> &ArrayRef {
        &self.array
    }

    /// Where the value of a row is.
    #[inline]
    pub(super) fn place(&self, row: usize) -> usize {
        if self.constant { 0 } else { row }
    }

    /// A value for each of so many rows.
    pub(super) fn per_row(&self, rows: usize) -> Result<ArrayRef, FilterError> {
        if !self.constant || rows == 1 {
            return Ok(self.array.clone());
        }
        let zeros = Int32Array::from_value(0, rows);
        Ok(take(&self.array, &zeros, None)?)
    }
}

impl Datum for Values {
    fn get(&self) -> (&dyn Array, bool) {
        (self.array.as_ref(), self.constant)
    }
}

/// Numbers, dates, timestamps, decimals.
pub(super) struct Numbers<'a, T: ArrowPrimitiveType> {
    array: &'a PrimitiveArray<T>,
    constant: bool,
}

impl<'a, T: ArrowPrimitiveType> Numbers<'a, T> {
    pub(super) fn of(values: &'a Values) -> Result<Self, FilterError> {
        Ok(Self {
            array: primitive(&values.array)?,
            constant: values.constant,
        })
    }

    #[inline]
    pub(super) fn get(&self, row: usize) -> Option<T::Native> {
        let place = if self.constant { 0 } else { row };
        self.array.is_valid(place).then(|| self.array.value(place))
    }
}

/// Texts.
pub(super) struct Texts<'a> {
    array: &'a StringArray,
    constant: bool,
}

impl<'a> Texts<'a> {
    pub(super) fn of(values: &'a Values) -> Result<Self, FilterError> {
        Ok(Self {
            array: strings(&values.array)?,
            constant: values.constant,
        })
    }

    #[inline]
    pub(super) fn get(&self, row: usize) -> Option<&'a str> {
        let place = if self.constant { 0 } else { row };
        self.array.is_valid(place).then(|| self.array.value(place))
    }
}

pub(super) fn primitive<T: ArrowPrimitiveType>(array: &dyn Array) -> Result<&PrimitiveArray<T>, FilterError> {
    array.as_primitive_opt().ok_or_else(|| unexpected(&T::DATA_TYPE.to_string(), array))
}

pub(super) fn booleans(array: &dyn Array) -> Result<&BooleanArray, FilterError> {
    array.as_boolean_opt().ok_or_else(|| unexpected("BOOLEAN", array))
}

pub(super) fn strings(array: &dyn Array) -> Result<&StringArray, FilterError> {
    array.as_string_opt::<i32>().ok_or_else(|| unexpected("STRING", array))
}

pub(super) fn binaries(array: &dyn Array) -> Result<&BinaryArray, FilterError> {
    array.as_binary_opt::<i32>().ok_or_else(|| unexpected("BINARY", array))
}

pub(super) fn structs(array: &dyn Array) -> Result<&StructArray, FilterError> {
    array.as_struct_opt().ok_or_else(|| unexpected("STRUCT", array))
}

pub(super) fn lists(array: &dyn Array) -> Result<&ListArray, FilterError> {
    array.as_list_opt::<i32>().ok_or_else(|| unexpected("ARRAY", array))
}

pub(super) fn maps(array: &dyn Array) -> Result<&MapArray, FilterError> {
    array.as_map_opt().ok_or_else(|| unexpected("MAP", array))
}

fn unexpected(expected: &str, array: &dyn Array) -> FilterError {
    FilterError::mismatch(expected, array.data_type())
}

/// So many numbers, one a row.
pub(super) fn numbers<T: ArrowPrimitiveType>(rows: usize, number: impl FnMut(usize) -> Option<T::Native>) -> PrimitiveArray<T> {
    (0..rows).map(number).collect()
}

/// So many INTs, one a row.
pub(super) fn ints(rows: usize, number: impl FnMut(usize) -> Option<i32>) -> ArrayRef {
    Arc::new(numbers::<Int32Type>(rows, number))
}
