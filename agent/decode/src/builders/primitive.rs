//! Columns of fixed-width values: integers, floats, decimals, dates and timestamps.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{ArrayRef, PrimitiveArray};
use arrow_buffer::{NullBufferBuilder, ScalarBuffer};
use arrow_schema::{ArrowError, DataType as ArrowType};

use super::{ColumnBuilder, next_capacity, remove_validity};

pub(crate) struct PrimitiveColumn<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    validity: NullBufferBuilder,
    arrow_type: ArrowType,
}

impl<T: ArrowPrimitiveType> PrimitiveColumn<T> {
    /// `arrow_type` carries what `T` leaves open: time zone, precision and scale.
    pub(super) fn new(arrow_type: ArrowType) -> Self {
        Self {
            values: Vec::new(),
            validity: NullBufferBuilder::new(0),
            arrow_type,
        }
    }

    #[inline]
    pub(crate) fn append(&mut self, value: T::Native) {
        self.values.push(value);
        self.validity.append_non_null();
    }
}

impl<T: ArrowPrimitiveType> ColumnBuilder for PrimitiveColumn<T> {
    fn len(&self) -> usize {
        self.values.len()
    }

    fn append_null(&mut self) {
        self.values.push(T::default_value());
        self.validity.append_null();
    }

    fn truncate(&mut self, len: usize) {
        self.values.truncate(len);
        self.validity.truncate(len);
    }

    fn remove(&mut self, range: Range<usize>) {
        remove_validity(&mut self.validity, range.clone());
        self.values.drain(range);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let next = Vec::with_capacity(next_capacity(self.values.len()));
        let values = ScalarBuffer::from(std::mem::replace(&mut self.values, next));
        let array = PrimitiveArray::<T>::try_new(values, self.validity.finish())?;
        Ok(Arc::new(array.with_data_type(self.arrow_type.clone())))
    }
}
