//! Columns that hold other columns: structs, lists and maps.
//!
//! A struct row is written by appending to its children in any order and then completed; children that got nothing
//! become null. A list or map element is written by appending to the children and then committed.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, ListArray, MapArray, StructArray};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::{ArrowError, DataType as ArrowType, FieldRef, Fields};
use stream_spec::types::{DataType, Field};

use super::bytes::{BytesColumn, finish_offsets, remove_offsets};
use super::{Column, ColumnBuilder, remove_validity};
use crate::arrow_types::{arrow_field, list_element, map_entries};

pub(crate) struct StructColumn {
    fields: Fields,
    children: Vec<Column>,
    validity: NullBufferBuilder,
}

impl StructColumn {
    pub(super) fn new(fields: &[Field]) -> Self {
        Self {
            fields: fields.iter().map(arrow_field).collect(),
            children: fields.iter().map(|field| Column::new(&field.data_type)).collect(),
            validity: NullBufferBuilder::new(0),
        }
    }

    #[inline]
    pub(crate) fn child(&mut self, index: usize) -> Option<&mut Column> {
        self.children.get_mut(index)
    }

    /// Ends the row that was begun, in which `filled` different children got a value.
    #[inline]
    pub(crate) fn complete_row_of(&mut self, filled: usize) {
        if filled == self.children.len() {
            self.validity.append_non_null();
        } else {
            self.complete_row();
        }
    }

    /// Ends the row that was begun: children without a value in it become null.
    pub(crate) fn complete_row(&mut self) {
        let row = self.validity.len();
        for child in &mut self.children {
            if child.len() == row {
                child.append_null();
            }
        }
        self.validity.append_non_null();
    }
}

impl ColumnBuilder for StructColumn {
    fn len(&self) -> usize {
        self.validity.len()
    }

    fn append_null(&mut self) {
        for child in &mut self.children {
            child.append_null();
        }
        self.validity.append_null();
    }

    fn truncate(&mut self, len: usize) {
        for child in &mut self.children {
            child.truncate(len);
        }
        self.validity.truncate(len);
    }

    fn remove(&mut self, range: Range<usize>) {
        for child in &mut self.children {
            child.remove(range.clone());
        }
        remove_validity(&mut self.validity, range);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let len = self.len();
        let validity = self.validity.finish();
        if self.fields.is_empty() {
            return Ok(Arc::new(StructArray::new_empty_fields(len, validity)));
        }
        let children = self.children.iter_mut().map(ColumnBuilder::finish).collect::<Result<_, _>>()?;
        Ok(Arc::new(StructArray::try_new(self.fields.clone(), children, validity)?))
    }
}

pub(crate) struct ListColumn {
    element_field: FieldRef,
    offsets: Vec<i32>,
    elements: Column,
    validity: NullBufferBuilder,
}

impl ListColumn {
    pub(super) fn new(element: &DataType) -> Self {
        Self {
            element_field: list_element(element),
            offsets: vec![0],
            elements: Column::new(element),
            validity: NullBufferBuilder::new(0),
        }
    }

    /// The elements of all lists; append those of the list that is being written.
    #[inline]
    pub(crate) fn elements(&mut self) -> &mut Column {
        &mut self.elements
    }

    /// Makes the elements appended since the last list the next list.
    pub(crate) fn commit(&mut self) {
        push_offset(&mut self.offsets, self.elements.len());
        self.validity.append_non_null();
    }

    /// Forgets the elements appended since the last list.
    pub(crate) fn discard(&mut self) {
        self.elements.truncate(last_offset(&self.offsets));
    }
}

impl ColumnBuilder for ListColumn {
    fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    fn append_null(&mut self) {
        push_offset(&mut self.offsets, self.elements.len());
        self.validity.append_null();
    }

    fn truncate(&mut self, len: usize) {
        self.offsets.truncate(len + 1);
        self.validity.truncate(len);
        self.discard();
    }

    fn remove(&mut self, range: Range<usize>) {
        self.elements.remove(child_range(&self.offsets, &range));
        remove_offsets(&mut self.offsets, range.clone());
        remove_validity(&mut self.validity, range);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let offsets = finish_offsets(&mut self.offsets);
        let elements = self.elements.finish()?;
        let array = ListArray::try_new(Arc::clone(&self.element_field), offsets, elements, self.validity.finish())?;
        Ok(Arc::new(array))
    }
}

/// A map column; keys are always strings. Duplicate keys stay, in order.
pub(crate) struct MapColumn {
    entries_field: FieldRef,
    offsets: Vec<i32>,
    keys: BytesColumn,
    values: Column,
    validity: NullBufferBuilder,
}

impl MapColumn {
    pub(super) fn new(key: &DataType, value: &DataType) -> Self {
        Self {
            entries_field: map_entries(key, value),
            offsets: vec![0],
            keys: BytesColumn::text(),
            values: Column::new(value),
            validity: NullBufferBuilder::new(0),
        }
    }

    /// The keys of all maps; append one per entry of the map that is being written.
    pub(crate) fn keys(&mut self) -> &mut BytesColumn {
        &mut self.keys
    }

    /// The values of all maps; append one per entry of the map that is being written.
    pub(crate) fn values(&mut self) -> &mut Column {
        &mut self.values
    }

    /// Makes the entries appended since the last map the next map.
    pub(crate) fn commit(&mut self) {
        debug_assert_eq!(self.keys.len(), self.values.len(), "each entry has a key and a value");
        push_offset(&mut self.offsets, self.values.len());
        self.validity.append_non_null();
    }

    /// Forgets the entries appended since the last map.
    pub(crate) fn discard(&mut self) {
        let start = last_offset(&self.offsets);
        self.keys.truncate(start);
        self.values.truncate(start);
    }
}

impl ColumnBuilder for MapColumn {
    fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    fn append_null(&mut self) {
        push_offset(&mut self.offsets, self.values.len());
        self.validity.append_null();
    }

    fn truncate(&mut self, len: usize) {
        self.offsets.truncate(len + 1);
        self.validity.truncate(len);
        self.discard();
    }

    fn remove(&mut self, range: Range<usize>) {
        let children = child_range(&self.offsets, &range);
        self.keys.remove(children.clone());
        self.values.remove(children);
        remove_offsets(&mut self.offsets, range.clone());
        remove_validity(&mut self.validity, range);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let offsets = finish_offsets(&mut self.offsets);
        let columns = vec![self.keys.finish()?, self.values.finish()?];
        let ArrowType::Struct(fields) = self.entries_field.data_type() else {
            return Err(ArrowError::SchemaError("map entries are not a struct".to_owned()));
        };
        let entries = StructArray::try_new(fields.clone(), columns, None)?;
        let validity = self.validity.finish();
        Ok(Arc::new(MapArray::try_new(
            Arc::clone(&self.entries_field),
            offsets,
            entries,
            validity,
            false,
        )?))
    }
}

fn push_offset(offsets: &mut Vec<i32>, end: usize) {
    debug_assert!(i32::try_from(end).is_ok(), "batches are bounded so that offsets fit");
    offsets.push(i32::try_from(end).unwrap_or(i32::MAX));
}

fn last_offset(offsets: &[i32]) -> usize {
    offsets.last().map_or(0, |offset| offset.cast_unsigned() as usize)
}

fn child_range(offsets: &[i32], range: &Range<usize>) -> Range<usize> {
    let at = |index: usize| offsets.get(index).map_or(0, |offset| offset.cast_unsigned() as usize);
    at(range.start)..at(range.end)
}
