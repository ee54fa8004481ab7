//! What a checked predicate reads, to the field: what an update must leave as it is (product part D6).

use std::collections::BTreeMap;

use super::expr::{Expr, ExprKind, Filter, Function};
use crate::schema::{SchemaPath, SchemaStep};
use crate::types::{DataType, Field};

/// One place that a filter reads: a column and the steps below it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ReadPlace {
    pub(crate) column: String,
    pub(crate) path: SchemaPath,
}

impl ReadPlace {
    /// True when `other` is this place or lies inside it.
    pub(crate) fn contains(&self, other: &Self) -> bool {
        self.column == other.column && other.path.starts_with(&self.path)
    }
}

/// How a place is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Read {
    /// Its type.
    pub(crate) data_type: DataType,
    extent: Extent,
}

/// How much of a place is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Extent {
    /// Only what is noted in deeper places.
    Through,
    /// Only that it is there, how many it has, or a map's keys.
    Presence,
    /// The value itself.
    Whole,
}

impl Read {
    /// True when the place may have that type without a difference to the filter.
    pub(crate) fn allows(&self, new: &DataType) -> bool {
        match self.extent {
            Extent::Whole => self.data_type == *new,
            Extent::Presence => same_presence(&self.data_type, new),
            Extent::Through => match (&self.data_type, new) {
                (DataType::Struct(_), DataType::Struct(_)) | (DataType::Array(_), DataType::Array(_)) => true,
                (DataType::Map(key, _), DataType::Map(new_key, _)) => key == new_key,
                (old, new) => old == new,
            },
        }
    }

    /// True when reading `place` so sees what becomes of the values at `changed`: there, around it, or in it if all of it is read.
    pub(crate) fn sees(&self, place: &ReadPlace, changed: &ReadPlace) -> bool {
        changed.contains(place) || (self.extent == Extent::Whole && place.contains(changed))
    }
}

/// True when values of both types are there for the same records. A whole array or map is null for one scalar in it that does not fit
/// its type; of a struct only the field is.
fn same_presence(old: &DataType, new: &DataType) -> bool {
    match (old, new) {
        (DataType::Struct(_), DataType::Struct(_)) => true,
        (DataType::Array(old), DataType::Array(new)) => same_presence(old, new),
        (DataType::Map(old_key, old), DataType::Map(new_key, new)) => old_key == new_key && same_presence(old, new),
        (old, new) => old == new,
    }
}

/// Every place that a filter reads.
pub(crate) fn of(filter: &Filter) -> BTreeMap<ReadPlace, Read> {
    let mut reads = BTreeMap::new();
    walk(&filter.predicate, Extent::Whole, &mut reads);
    reads
}

/// The type at a place in other columns, if it is there.
pub(crate) fn resolve<'a>(place: &ReadPlace, columns: &'a [Field]) -> Option<&'a DataType> {
    let named = |fields: &'a [Field], name: &str| fields.iter().find(|field| field.name == name).map(|field| &field.data_type);
    let mut here = named(columns, &place.column)?;
    for step in &place.path {
        here = match (step, here) {
            (SchemaStep::Field(name), DataType::Struct(fields)) => named(fields, name)?,
            (SchemaStep::Element, DataType::Array(element)) => element,
            (SchemaStep::MapValue, DataType::Map(_, value)) => value,
            _ => return None,
        };
    }
    Some(here)
}

fn walk(expr: &Expr, extent: Extent, reads: &mut BTreeMap<ReadPlace, Read>) {
    if let Some(place) = place(expr) {
        note(place, expr, extent, reads);
    }
    match &expr.kind {
        ExprKind::Literal(_) | ExprKind::Column(_) => {}
        // Of a struct's value only the field matters, of a collection only the element.
        ExprKind::Field(inner, _) => walk(inner, Extent::Through, reads),
        ExprKind::ArrayItem(collection, key) | ExprKind::MapItem(collection, key) => {
            walk(collection, Extent::Through, reads);
            walk(key, Extent::Whole, reads);
        }
        ExprKind::IsNull(inner) => walk(inner, Extent::Presence, reads),
        ExprKind::Call(Function::Size | Function::MapKeys, arguments) => {
            arguments.iter().for_each(|argument| walk(argument, Extent::Presence, reads))
        }
        ExprKind::Call(Function::ElementAt, arguments) => {
            for (index, argument) in arguments.iter().enumerate() {
                let extent = if index == 0 { Extent::Through } else { Extent::Whole };
                walk(argument, extent, reads);
            }
        }
        ExprKind::Negate(inner)
        | ExprKind::Not(inner)
        | ExprKind::IsTruth(inner, _)
        | ExprKind::RLike(inner, _)
        | ExprKind::Cast(inner) => {
            walk(inner, Extent::Whole, reads);
        }
        ExprKind::Arithmetic(_, left, right) | ExprKind::Compare(_, left, right) => {
            walk(left, Extent::Whole, reads);
            walk(right, Extent::Whole, reads);
        }
        ExprKind::Like { text, pattern, .. } => {
            walk(text, Extent::Whole, reads);
            walk(pattern, Extent::Whole, reads);
        }
        ExprKind::And(parts) | ExprKind::Or(parts) | ExprKind::Call(_, parts) => {
            parts.iter().for_each(|part| walk(part, Extent::Whole, reads))
        }
        ExprKind::In(operand, list) => {
            walk(operand, Extent::Whole, reads);
            list.iter().for_each(|member| walk(member, Extent::Whole, reads));
        }
        ExprKind::Case { branches, otherwise } => {
            for (condition, result) in branches {
                walk(condition, Extent::Whole, reads);
                walk(result, Extent::Whole, reads);
            }
            otherwise.iter().for_each(|otherwise| walk(otherwise, Extent::Whole, reads));
        }
    }
}

/// One type a place: the wide ones are read again and again.
fn note(place: ReadPlace, expr: &Expr, extent: Extent, reads: &mut BTreeMap<ReadPlace, Read>) {
    match reads.get_mut(&place) {
        Some(known) => known.extent = known.extent.max(extent),
        None => reads.extend(type_at(expr).map(|data_type| (place, Read { data_type, extent }))),
    }
}

/// The place that an expression takes its value from, if it is a reference.
fn place(expr: &Expr) -> Option<ReadPlace> {
    let (inner, steps) = match &expr.kind {
        ExprKind::Column(column) => {
            return Some(ReadPlace {
                column: column.clone(),
                path: SchemaPath::new(),
            });
        }
        ExprKind::Field(inner, name) => {
            let element = (is_array(inner) && !is_field_over_array(inner)).then_some(SchemaStep::Element);
            (
                inner.as_ref(),
                element.into_iter().chain([SchemaStep::Field(name.clone())]).collect::<Vec<_>>(),
            )
        }
        ExprKind::ArrayItem(inner, _) => (inner.as_ref(), element_of(inner)),
        ExprKind::MapItem(inner, _) => (inner.as_ref(), vec![SchemaStep::MapValue]),
        ExprKind::Call(Function::ElementAt, arguments) => {
            let collection = arguments.first()?;
            let steps = match collection.ty.data_type() {
                Some(DataType::Map(..)) => vec![SchemaStep::MapValue],
                _ => element_of(collection),
            };
            (collection, steps)
        }
        _ => return None,
    };
    let mut found = place(inner)?;
    found.path.extend(steps);
    Some(found)
}

fn is_array(expr: &Expr) -> bool {
    matches!(expr.ty.data_type(), Some(DataType::Array(_)))
}

/// True for the array that a field over an array of structs is: it is no place of its own, its elements are the field's.
fn is_field_over_array(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Field(inner, _) if is_array(inner))
}

/// The step to an array's element.
fn element_of(array: &Expr) -> Vec<SchemaStep> {
    if is_field_over_array(array) {
        Vec::new()
    } else {
        vec![SchemaStep::Element]
    }
}

/// The type at the expression's place: a field over an array is that of one element.
fn type_at(expr: &Expr) -> Option<DataType> {
    match expr.ty.data_type()? {
        DataType::Array(element) if is_field_over_array(expr) => Some((**element).clone()),
        data_type => Some(data_type.clone()),
    }
}
