//! Columns of fixed-width values: integers, floats, decimals, dates and timestamps.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{ArrayRef, PrimitiveArray};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{ArrowError, DataType as ArrowType};

use super::validity::Validity;
use super::{ColumnBuilder, next_capacity};

pub(crate) struct PrimitiveColumn<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    validity: Validity,
    arrow_type: ArrowType,
}

impl<T: ArrowPrimitiveType> PrimitiveColumn<T> {
    /// `arrow_type` carries what `T` leaves open: time zone, precision and scale.
    pub(super) fn new(arrow_type: ArrowType) -> Self {
        Self {
            values: Vec::new(),
            validity: Validity::default(),
            arrow_type,
        }
    }

    #[inline]
    pub(crate) fn append(&mut self, value: T::Native) {
        self.values.push(value);
    }
}

impl<T: ArrowPrimitiveType> ColumnBuilder for PrimitiveColumn<T> {
    #[inline]
    fn len(&self) -> usize {
        self.values.len()
    }

    #[inline]
    fn append_null(&mut self) {
        self.validity.set_null(self.values.len());
        self.values.push(T::default_value());
    }

    #[inline]
    fn truncate(&mut self, len: usize) {
        self.values.truncate(len);
        self.validity.truncate(len);
    }

    fn remove(&mut self, range: Range<usize>) {
        self.validity.remove(range.clone());
        self.values.drain(range);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let validity = self.validity.finish(self.values.len());
        let next = Vec::with_capacity(next_capacity(self.values.len()));
        let values = ScalarBuffer::from(std::mem::replace(&mut self.values, next));
        let array = PrimitiveArray::<T>::try_new(values, validity)?;
        Ok(Arc::new(array.with_data_type(self.arrow_type.clone())))
    }
}
