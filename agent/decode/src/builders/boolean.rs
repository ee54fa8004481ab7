//! Columns of booleans, one bit each.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray};
use arrow_buffer::{BooleanBuffer, Buffer};
use arrow_schema::ArrowError;

use super::ColumnBuilder;
use super::validity::Validity;

#[derive(Default)]
pub(crate) struct BooleanColumn {
    /// The bits behind the last element are clear.
    values: Vec<u8>,
    len: usize,
    validity: Validity,
}

impl BooleanColumn {
    #[inline]
    pub(crate) fn append(&mut self, value: bool) {
        if self.len.is_multiple_of(8) {
            self.values.push(0);
        }
        if let Some(last) = self.values.last_mut() {
            *last |= u8::from(value) << (self.len % 8);
        }
        self.len += 1;
    }

    fn value(&self, index: usize) -> bool {
        self.values.get(index / 8).is_some_and(|byte| byte & 1 << (index % 8) != 0)
    }
}

impl ColumnBuilder for BooleanColumn {
    #[inline]
    fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn append_null(&mut self) {
        self.validity.set_null(self.len);
        self.append(false);
    }

    fn truncate(&mut self, len: usize) {
        if len >= self.len {
            return;
        }
        self.values.truncate(len.div_ceil(8));
        if let Some(partial) = self.values.get_mut(len / 8) {
            *partial &= !(u8::MAX << (len % 8));
        }
        self.len = len;
        self.validity.truncate(len);
    }

    fn remove(&mut self, range: Range<usize>) {
        self.validity.remove(range.clone());
        // Their nulls are settled: the values behind move down by being appended again.
        let behind: Vec<bool> = (range.end..self.len).map(|index| self.value(index)).collect();
        let validity = std::mem::take(&mut self.validity);
        self.truncate(range.start);
        behind.into_iter().for_each(|value| self.append(value));
        self.validity = validity;
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let validity = self.validity.finish(self.len);
        let next = Vec::with_capacity(self.values.capacity());
        let values = BooleanBuffer::new(Buffer::from_vec(std::mem::replace(&mut self.values, next)), 0, self.len);
        self.len = 0;
        Ok(Arc::new(BooleanArray::new(values, validity)))
    }
}

#[cfg(test)]
mod tests {
    use super::BooleanColumn;
    use crate::builders::ColumnBuilder;
    use arrow_array::cast::AsArray;

    #[test]
    fn values_stay_in_order_whatever_is_taken_back_or_out() {
        for len in 0..20 {
            for start in 0..=len {
                for end in start..=len {
                    let mut expected: Vec<Option<bool>> = (0..len).map(|index| (index % 5 != 0).then_some(index % 3 == 0)).collect();
                    let mut column = BooleanColumn::default();
                    let append = |column: &mut BooleanColumn, value: Option<bool>| match value {
                        Some(value) => column.append(value),
                        None => column.append_null(),
                    };
                    expected.iter().for_each(|value| append(&mut column, *value));
                    column.remove(start..end);
                    expected.drain(start..end);
                    append(&mut column, Some(true));
                    column.truncate(end);
                    expected.push(Some(true));
                    expected.truncate(end);
                    append(&mut column, Some(false));
                    expected.push(Some(false));
                    assert_eq!(column.len(), expected.len());
                    let array = column.finish().unwrap();
                    assert_eq!(array.as_boolean().iter().collect::<Vec<_>>(), expected, "{start}..{end} of {len}");
                }
            }
        }
    }
}
