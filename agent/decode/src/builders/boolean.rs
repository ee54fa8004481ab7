//! Columns of booleans, one bit each.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray};
use arrow_buffer::{BooleanBufferBuilder, NullBufferBuilder};
use arrow_schema::ArrowError;

use super::{ColumnBuilder, remove_validity};

pub(crate) struct BooleanColumn {
    values: BooleanBufferBuilder,
    validity: NullBufferBuilder,
}

impl BooleanColumn {
    pub(super) fn new() -> Self {
        Self {
            values: BooleanBufferBuilder::new(0),
            validity: NullBufferBuilder::new(0),
        }
    }

    #[inline]
    pub(crate) fn append(&mut self, value: bool) {
        self.values.append(value);
        self.validity.append_non_null();
    }
}

impl ColumnBuilder for BooleanColumn {
    fn len(&self) -> usize {
        self.values.len()
    }

    fn append_null(&mut self) {
        self.values.append(false);
        self.validity.append_null();
    }

    fn truncate(&mut self, len: usize) {
        self.values.truncate(len);
        self.validity.truncate(len);
    }

    fn remove(&mut self, range: Range<usize>) {
        remove_validity(&mut self.validity, range.clone());
        let len = self.values.len();
        for index in range.end..len {
            let value = self.values.get_bit(index);
            self.values.set_bit(index - range.len(), value);
        }
        self.values.truncate(len - range.len());
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let array = BooleanArray::new(self.values.finish(), self.validity.finish());
        Ok(Arc::new(array))
    }
}
