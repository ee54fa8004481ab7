//! Columns that hold other columns: structs, lists and maps.
//!
//! A struct row is written by appending to its children in any order and then completed; children that got nothing
//! become null. A list or map element is written by appending to the children and then committed.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, ListArray, MapArray, StructArray};
use arrow_schema::{ArrowError, DataType as ArrowType, FieldRef, Fields};
use stream_spec::types::{DataType, Field};

use super::bytes::{BytesColumn, finish_offsets, push_offset, remove_offsets};
use super::validity::Validity;
use super::{Column, ColumnBuilder};
use crate::arrow_types::{arrow_field, list_element, map_entries};

pub(crate) struct StructColumn {
    fields: Fields,
    children: Vec<Column>,
    len: usize,
    validity: Validity,
}

impl StructColumn {
    pub(super) fn new(fields: &[Field]) -> Self {
        Self {
            fields: fields.iter().map(arrow_field).collect(),
            children: fields.iter().map(|field| Column::new(&field.data_type)).collect(),
            len: 0,
            validity: Validity::default(),
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
            self.len += 1;
        } else {
            self.complete_row();
        }
    }

    /// Ends the row that was begun: children without a value in it become null.
    pub(crate) fn complete_row(&mut self) {
        for child in &mut self.children {
            if child.len() == self.len {
                child.append_null();
            }
        }
        self.len += 1;
    }
}

impl ColumnBuilder for StructColumn {
    fn len(&self) -> usize {
        self.len
    }

    fn append_null(&mut self) {
        for child in &mut self.children {
            child.append_null();
        }
        self.validity.set_null(self.len);
        self.len += 1;
    }

    fn truncate(&mut self, len: usize) {
        for child in &mut self.children {
            child.truncate(len);
        }
        self.len = self.len.min(len);
        self.validity.truncate(len);
    }

    fn remove(&mut self, range: Range<usize>) {
        for child in &mut self.children {
            child.remove(range.clone());
        }
        self.len -= range.len();
        self.validity.remove(range);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let len = std::mem::take(&mut self.len);
        let validity = self.validity.finish(len);
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
    validity: Validity,
}

impl ListColumn {
    pub(super) fn new(element: &DataType) -> Self {
        Self {
            element_field: list_element(element),
            offsets: vec![0],
            elements: Column::new(element),
            validity: Validity::default(),
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
        self.validity.set_null(self.len());
        self.commit();
    }

    fn truncate(&mut self, len: usize) {
        self.offsets.truncate(len + 1);
        self.validity.truncate(len);
        self.discard();
    }

    fn remove(&mut self, range: Range<usize>) {
        self.elements.remove(child_range(&self.offsets, &range));
        remove_offsets(&mut self.offsets, range.clone());
        self.validity.remove(range);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let validity = self.validity.finish(self.len());
        let offsets = finish_offsets(&mut self.offsets);
        let elements = self.elements.finish()?;
        let array = ListArray::try_new(Arc::clone(&self.element_field), offsets, elements, validity)?;
        Ok(Arc::new(array))
    }
}

/// A map column; keys are always strings. Duplicate keys stay, in order.
pub(crate) struct MapColumn {
    entries_field: FieldRef,
    offsets: Vec<i32>,
    keys: BytesColumn,
    values: Column,
    validity: Validity,
}

impl MapColumn {
    pub(super) fn new(key: &DataType, value: &DataType) -> Self {
        Self {
            entries_field: map_entries(key, value),
            offsets: vec![0],
            keys: BytesColumn::text(),
            values: Column::new(value),
            validity: Validity::default(),
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
        self.validity.set_null(self.len());
        self.commit();
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
        self.validity.remove(range);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let validity = self.validity.finish(self.len());
        let offsets = finish_offsets(&mut self.offsets);
        let columns = vec![self.keys.finish()?, self.values.finish()?];
        let ArrowType::Struct(fields) = self.entries_field.data_type() else {
            return Err(ArrowError::SchemaError("map entries are not a struct".to_owned()));
        };
        let entries = StructArray::try_new(fields.clone(), columns, None)?;
        Ok(Arc::new(MapArray::try_new(
            Arc::clone(&self.entries_field),
            offsets,
            entries,
            validity,
            false,
        )?))
    }
}

fn last_offset(offsets: &[i32]) -> usize {
    offsets.last().map_or(0, |offset| offset.cast_unsigned() as usize)
}

fn child_range(offsets: &[i32], range: &Range<usize>) -> Range<usize> {
    let at = |index: usize| offsets.get(index).map_or(0, |offset| offset.cast_unsigned() as usize);
    at(range.start)..at(range.end)
}
