//! Elements of arrays and maps.
//!
//! Lookups compute where in the flat values each row's element is and take all of them at once. The one invariant: a place outside its
//! row's array or map is never taken.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int32Array, ListArray, MapArray, UInt32Array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType as ArrowType, FieldRef};
use arrow_select::take::take;

use super::compare;
use super::error::FilterError;
use super::logic::exactly;
use super::node::Kernel;
use super::values::{Numbers, Values, ints, lists, maps};

/// `array[i]`, from 0.
pub(super) fn array_item() -> Kernel {
    item(|index, _| usize::try_from(index).ok())
}

/// `element_at(array, i)`: from 1, negative from the end.
fn element_at_array() -> Kernel {
    item(|index, length| match index {
        1.. => usize::try_from(index - 1).ok(),
        0 => None,
        _ => length.checked_sub(usize::try_from(index.unsigned_abs()).ok()?),
    })
}

fn item(place: fn(i32, usize) -> Option<usize>) -> Kernel {
    Box::new(move |operands, rows| {
        let [list, index] = exactly(operands)?;
        let indexes = Numbers::<Int32Type>::of(index)?;
        let flat = lists(list.array())?;
        let places: UInt32Array = (0..rows)
            .map(|row| {
                let (start, length) = span(flat, flat.offsets(), list.place(row))?;
                let place = place(indexes.get(row)?, length).filter(|place| *place < length)?;
                u32::try_from(start + place).ok()
            })
            .collect();
        Ok(take(flat.values(), &places, None)?)
    })
}

/// `map[key]`.
pub(super) fn map_item() -> Kernel {
    Box::new(|operands, rows| {
        let [map, key] = exactly(operands)?;
        let flat = maps(map.array())?;
        let found = matches(flat, flat.offsets(), flat.keys(), map, key, rows)?;
        let places: UInt32Array = (0..rows)
            .map(|row| {
                let (start, length) = span(flat, flat.offsets(), map.place(row))?;
                let base = found.base(row, start);
                let place = (0..length).find(|place| found.holds(base + place) == Some(true))?;
                u32::try_from(start + place).ok()
            })
            .collect();
        Ok(take(flat.values(), &places, None)?)
    })
}

/// `element_at` of either.
pub(super) fn element_at(collection: Option<&ArrowType>) -> Kernel {
    match collection {
        Some(ArrowType::Map(..)) => map_item(),
        _ => element_at_array(),
    }
}

/// True if it is there; else null if a null is there, else false.
pub(super) fn array_contains() -> Kernel {
    Box::new(|operands, rows| {
        let [list, wanted] = exactly(operands)?;
        let flat = lists(list.array())?;
        let found = matches(flat, flat.offsets(), flat.values(), list, wanted, rows)?;
        let answer = |row: usize| {
            let (start, length) = span(flat, flat.offsets(), list.place(row))?;
            if wanted.array().is_null(wanted.place(row)) {
                return None;
            }
            let base = found.base(row, start);
            let mut answer = Some(false);
            for place in base..base + length {
                match found.holds(place) {
                    Some(true) => return Some(true),
                    Some(false) => {}
                    None => answer = None,
                }
            }
            answer
        };
        Ok(Arc::new((0..rows).map(answer).collect::<BooleanArray>()))
    })
}

/// The number of elements or entries.
pub(super) fn size() -> Kernel {
    Box::new(|operands, rows| {
        let [collection] = exactly(operands)?;
        let array = collection.array();
        let offsets = match array.data_type() {
            ArrowType::Map(..) => maps(array)?.offsets(),
            _ => lists(array)?.offsets(),
        };
        Ok(ints(rows, |row| {
            let (_, length) = span(array, offsets, collection.place(row))?;
            i32::try_from(length).ok()
        }))
    })
}

pub(super) fn map_keys(ty: &ArrowType) -> Result<Kernel, FilterError> {
    side(ty, MapArray::keys)
}

pub(super) fn map_values(ty: &ArrowType) -> Result<Kernel, FilterError> {
    side(ty, MapArray::values)
}

fn side(ty: &ArrowType, of: fn(&MapArray) -> &ArrayRef) -> Result<Kernel, FilterError> {
    let ArrowType::List(element) = ty else {
        return Err(FilterError::mismatch("an ARRAY of a map's keys or values", ty));
    };
    let element: FieldRef = element.clone();
    Ok(Box::new(move |operands, _| {
        let [map] = exactly(operands)?;
        let map = maps(map.array())?;
        let values = of(map).clone();
        let list = ListArray::try_new(element.clone(), map.offsets().clone(), values, map.nulls().cloned())?;
        Ok(Arc::new(list))
    }))
}

/// Where the elements of a place begin and how many there are; nothing if it is null.
fn span(array: &dyn Array, offsets: &OffsetBuffer<i32>, place: usize) -> Option<(usize, usize)> {
    if array.is_null(place) {
        return None;
    }
    let (start, end) = (*offsets.get(place)?, *offsets.get(place + 1)?);
    Some((usize::try_from(start).ok()?, usize::try_from(end - start).ok()?))
}

/// Which elements equal what their rows look for.
struct Matches {
    equal: BooleanArray,
    /// Where each row's answers begin, if they do not lie where the elements do: one constant is looked through for many rows.
    bases: Option<Vec<usize>>,
}

impl Matches {
    fn base(&self, row: usize, start: usize) -> usize {
        match &self.bases {
            None => start,
            Some(bases) => bases.get(row).copied().unwrap_or(start),
        }
    }

    fn holds(&self, place: usize) -> Option<bool> {
        self.equal.is_valid(place).then(|| self.equal.value(place))
    }
}

fn matches(
    array: &dyn Array,
    offsets: &OffsetBuffer<i32>,
    elements: &ArrayRef,
    collection: &Values,
    wanted: &Values,
    rows: usize,
) -> Result<Matches, FilterError> {
    if wanted.is_constant() {
        let elements = Values::rows(elements.clone());
        let equal = compare::equal(&elements, wanted)?;
        return Ok(Matches { equal, bases: None });
    }
    // Each element beside what its row looks for.
    let (mut element_places, mut row_places, mut bases) = (Vec::new(), Vec::new(), Vec::with_capacity(rows));
    for row in 0..rows {
        bases.push(element_places.len());
        if let Some((start, length)) = span(array, offsets, collection.place(row)) {
            element_places.extend((start..start + length).filter_map(|place| i32::try_from(place).ok()));
            row_places.extend(std::iter::repeat_n(i32::try_from(row).unwrap_or(i32::MAX), length));
        }
    }
    let beside = |array: &ArrayRef, places: Vec<i32>| take(array, &Int32Array::from(places), None).map(Values::rows);
    let elements = beside(elements, element_places)?;
    let wanted = beside(wanted.array(), row_places)?;
    Ok(Matches {
        equal: compare::equal(&elements, &wanted)?,
        bases: Some(bases),
    })
}
