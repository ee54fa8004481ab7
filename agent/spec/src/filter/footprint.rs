//! What a checked predicate reads, to the field: what an update must leave as it is (product part D6).

use std::collections::BTreeMap;

use super::expr::{Expr, ExprKind, ExprType, Filter, Function};
use crate::path::kind;
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
    /// The value itself is read; else only that it is there, how many it has, or what is noted in deeper places.
    whole: bool,
}

impl Read {
    /// True when the place may have that type without a difference to the filter.
    pub(crate) fn allows(&self, new: &DataType) -> bool {
        self.data_type == *new || (!self.whole && has_parts(new) && kind(&self.data_type) == kind(new))
    }

    /// True when reading `place` so sees what becomes of the values at `changed`: there, around it, or in it if all of it is read.
    pub(crate) fn sees(&self, place: &ReadPlace, changed: &ReadPlace) -> bool {
        changed.contains(place) || (self.whole && place.contains(changed))
    }
}

fn has_parts(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Struct(_) | DataType::Array(_) | DataType::Map(..))
}

/// Every place that a filter reads.
pub(crate) fn of(filter: &Filter) -> BTreeMap<ReadPlace, Read> {
    let mut reads = BTreeMap::new();
    walk(&filter.predicate, true, &mut reads);
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

fn walk(expr: &Expr, whole: bool, reads: &mut BTreeMap<ReadPlace, Read>) {
    if let (Some(place), Some(data_type)) = (place(expr), type_at(expr)) {
        let known = reads.entry(place).or_insert(Read { data_type, whole });
        known.whole |= whole;
    }
    match &expr.kind {
        ExprKind::Literal(_) | ExprKind::Column(_) => {}
        // Of a struct's value only the field matters, of a collection only the element.
        ExprKind::Field(inner, _) => walk(inner, place(inner).is_none(), reads),
        ExprKind::ArrayItem(collection, key) | ExprKind::MapItem(collection, key) => {
            walk(collection, place(collection).is_none(), reads);
            walk(key, true, reads);
        }
        ExprKind::IsNull(inner) => walk(inner, false, reads),
        ExprKind::Call(Function::Size | Function::MapKeys, arguments) => arguments.iter().for_each(|argument| walk(argument, false, reads)),
        ExprKind::Call(Function::ElementAt, arguments) => {
            for (index, argument) in arguments.iter().enumerate() {
                walk(argument, index > 0 || place(argument).is_none(), reads);
            }
        }
        ExprKind::Negate(inner)
        | ExprKind::Not(inner)
        | ExprKind::IsTruth(inner, _)
        | ExprKind::RLike(inner, _)
        | ExprKind::Cast(inner) => {
            walk(inner, true, reads);
        }
        ExprKind::Arithmetic(_, left, right) | ExprKind::Compare(_, left, right) => {
            walk(left, true, reads);
            walk(right, true, reads);
        }
        ExprKind::Like { text, pattern, .. } => {
            walk(text, true, reads);
            walk(pattern, true, reads);
        }
        ExprKind::And(parts) | ExprKind::Or(parts) | ExprKind::Call(_, parts) => parts.iter().for_each(|part| walk(part, true, reads)),
        ExprKind::In(operand, list) => {
            walk(operand, true, reads);
            list.iter().for_each(|member| walk(member, true, reads));
        }
        ExprKind::Case { branches, otherwise } => {
            for (condition, result) in branches {
                walk(condition, true, reads);
                walk(result, true, reads);
            }
            otherwise.iter().for_each(|otherwise| walk(otherwise, true, reads));
        }
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
            let over_array = matches!(inner.ty, ExprType::Value(DataType::Array(_)));
            let element = over_array.then_some(SchemaStep::Element);
            (
                inner.as_ref(),
                element.into_iter().chain([SchemaStep::Field(name.clone())]).collect::<Vec<_>>(),
            )
        }
        ExprKind::ArrayItem(inner, _) => (inner.as_ref(), vec![SchemaStep::Element]),
        ExprKind::MapItem(inner, _) => (inner.as_ref(), vec![SchemaStep::MapValue]),
        ExprKind::Call(Function::ElementAt, arguments) => {
            let collection = arguments.first()?;
            let step = match collection.ty {
                ExprType::Value(DataType::Map(..)) => SchemaStep::MapValue,
                _ => SchemaStep::Element,
            };
            (collection, vec![step])
        }
        _ => return None,
    };
    let mut found = place(inner)?;
    found.path.extend(steps);
    Some(found)
}

/// The type at the expression's place: a field over an array is that of one element.
fn type_at(expr: &Expr) -> Option<DataType> {
    let ExprType::Value(data_type) = &expr.ty else { return None };
    match (&expr.kind, data_type) {
        (ExprKind::Field(inner, _), DataType::Array(element)) if matches!(inner.ty, ExprType::Value(DataType::Array(_))) => {
            Some((**element).clone())
        }
        _ => Some(data_type.clone()),
    }
}
