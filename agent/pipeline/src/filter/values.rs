//! What flows between kernels: a value a row, or one value for all rows.
//!
//! The one invariant: a constant has exactly one element.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Int32Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Datum, Int32Array, ListArray, MapArray, PrimitiveArray, StringArray, StructArray,
};
use arrow_schema::DataType as ArrowType;
use arrow_select::take::take;
use arrow_select::zip::zip;

use super::error::FilterError;
use super::limits::RESULT_BYTES_MAX;

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
        if self.bytes(rows) > RESULT_BYTES_MAX {
            return gathered(rows, RESULT_BYTES_MAX, |_| self);
        }
        let zeros = Int32Array::from_value(0, rows);
        Ok(take(&self.array, &zeros, None)?)
    }

    /// Bytes of texts or of BINARY values, for so many rows.
    fn bytes(&self, rows: usize) -> usize {
        let ends = if let Some(texts) = self.array.as_string_opt::<i32>() {
            texts.value_offsets()
        } else if let Some(bytes) = self.array.as_binary_opt::<i32>() {
            bytes.value_offsets()
        } else {
            return 0;
        };
        let bytes = ends.last().zip(ends.first()).map_or(0, |(last, first)| last - first);
        let bytes = usize::try_from(bytes).unwrap_or_default();
        if self.constant { bytes.saturating_mul(rows) } else { bytes }
    }
}

/// A row's value of the first where the mask is true, else of the second. Constants are written as often as they are chosen.
pub(super) fn choose(mask: &BooleanArray, first: &Values, second: &Values) -> Result<ArrayRef, FilterError> {
    let rows = mask.len();
    if first.bytes(rows).saturating_add(second.bytes(rows)) <= RESULT_BYTES_MAX {
        return Ok(zip(mask, first, second)?);
    }
    let is_first = |row| mask.is_valid(row) && mask.value(row);
    gathered(rows, RESULT_BYTES_MAX, |row| if is_first(row) { first } else { second })
}

/// Texts or BINARY values, taken row by row from what is chosen for it; null where they would go beyond so many bytes.
fn gathered<'a>(rows: usize, bytes_max: usize, of: impl Fn(usize) -> &'a Values) -> Result<ArrayRef, FilterError> {
    if rows > 0 && *of(0).array.data_type() == ArrowType::Binary {
        let mut out = BinaryBuilder::new();
        for row in 0..rows {
            let values = of(row);
            let (bytes, place) = (binaries(&values.array)?, values.place(row));
            let value = bytes.is_valid(place).then(|| bytes.value(place));
            out.append_option(value.filter(|value| out.values_slice().len() + value.len() <= bytes_max));
        }
        return Ok(Arc::new(out.finish()));
    }
    let mut out = StringBuilder::new();
    for row in 0..rows {
        let text = Texts::of(of(row))?.get(row);
        out.append_option(text.filter(|text| out.values_slice().len() + text.len() <= bytes_max));
    }
    Ok(Arc::new(out.finish()))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: usize) -> Values {
        Values::constant(Arc::new(StringArray::from_iter_values(["x".repeat(bytes)])))
    }

    #[test]
    fn what_goes_beyond_the_bound_is_null() {
        let long = text(10);
        let bytes = Values::constant(Arc::new(BinaryArray::from_iter_values([[7; 10]])));
        for values in [&long, &bytes] {
            let array = gathered(5, 30, |_| values).expect("gathered");
            assert_eq!((array.len(), array.null_count()), (5, 2));
            assert!(array.is_valid(2) && array.is_null(3));
        }
    }
}
