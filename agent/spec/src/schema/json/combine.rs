//! Two shapes of one value: `both` hold (`allOf`), or `either` holds (`oneOf`, `anyOf`, tuple positions).

use super::Problems;
use super::shape::{ArrayShape, Kind, ObjectShape, Property, Shape};
use crate::types::DataType;

/// The shape of a value that fits both. Objects unite their members; anything else must be of one type.
pub(super) fn both(left: Shape, right: Shape, problems: &mut Problems) -> Shape {
    let described = (left.describe(), right.describe());
    let mut required = left.required;
    required.extend(right.required);
    let mut location = left.location;
    let kind = match (left.kind, right.kind) {
        (Kind::Broken, _) | (_, Kind::Broken) => Kind::Broken,
        (kind, Kind::Anything) => kind,
        (Kind::Anything, kind) => {
            location = right.location;
            kind
        }
        (Kind::Null, Kind::Null) => Kind::Null,
        (Kind::Scalar(one), Kind::Scalar(other)) if one == other => Kind::Scalar(one),
        (Kind::Object(one), Kind::Object(other)) => Kind::Object(both_objects(one, other, problems)),
        (Kind::Array(one), Kind::Array(other)) => Kind::Array(both_arrays(one, other, problems)),
        _ => {
            let problem = format!("two schemas for one value disagree, {} and {}", described.0, described.1);
            let remedy = "give the value the same type in both";
            problems.add_shown(&right.location, problem, described.1, remedy);
            Kind::Broken
        }
    };
    Shape { location, kind, required }
}

fn both_objects(one: ObjectShape, other: ObjectShape, problems: &mut Problems) -> ObjectShape {
    let properties = match (one.properties, other.properties) {
        (Some(mut mine), Some(theirs)) => {
            for property in theirs {
                match mine.iter().position(|known| known.name == property.name) {
                    Some(index) => {
                        let known = mine.remove(index);
                        let shape = both(known.shape, property.shape, problems);
                        mine.insert(index, Property { name: known.name, shape });
                    }
                    None => mine.push(property),
                }
            }
            Some(mine)
        }
        (mine, theirs) => mine.or(theirs),
    };
    ObjectShape {
        typed: one.typed || other.typed,
        properties,
        additional: both_optional(one.additional, other.additional, problems),
        patterns: one.patterns || other.patterns,
    }
}

fn both_arrays(one: ArrayShape, other: ArrayShape, problems: &mut Problems) -> ArrayShape {
    ArrayShape {
        typed: one.typed || other.typed,
        items: both_optional(one.items, other.items, problems),
    }
}

fn both_optional(one: Option<Box<Shape>>, other: Option<Box<Shape>>, problems: &mut Problems) -> Option<Box<Shape>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(Box::new(both(*one, *other, problems))),
        (one, other) => one.or(other),
    }
}

/// The shape of a value that fits one of two, where both are of one type. A member is required when both require it.
pub(super) fn either(left: &Shape, right: &Shape) -> Option<Shape> {
    let kind = match (&left.kind, &right.kind) {
        (Kind::Broken, _) | (_, Kind::Broken) => Kind::Broken,
        (Kind::Null, Kind::Null) => Kind::Null,
        (Kind::Anything, Kind::Anything) => Kind::Anything,
        // A value of which nothing is known is kept as its JSON text.
        (Kind::Anything, Kind::Scalar(DataType::String)) | (Kind::Scalar(DataType::String), Kind::Anything) => {
            Kind::Scalar(DataType::String)
        }
        (Kind::Scalar(one), Kind::Scalar(other)) => Kind::Scalar(either_scalar(one, other)?),
        (Kind::Object(one), Kind::Object(other)) => Kind::Object(either_object(one, other)?),
        (Kind::Array(one), Kind::Array(other)) => Kind::Array(ArrayShape {
            typed: one.typed || other.typed,
            items: either_optional(one.items.as_deref(), other.items.as_deref())?,
        }),
        _ => return None,
    };
    let required = left.required.intersection(&right.required).cloned().collect();
    Some(Shape {
        location: left.location.clone(),
        kind,
        required,
    })
}

/// One type of two: integers are numbers, so an integer or a number is a number.
fn either_scalar(one: &DataType, other: &DataType) -> Option<DataType> {
    match (one, other) {
        (one, other) if one == other => Some(one.clone()),
        (DataType::Int | DataType::BigInt, DataType::Double) | (DataType::Double, DataType::Int | DataType::BigInt) => {
            Some(DataType::Double)
        }
        _ => None,
    }
}

fn either_object(one: &ObjectShape, other: &ObjectShape) -> Option<ObjectShape> {
    let properties = match (&one.properties, &other.properties) {
        (None, None) => None,
        (Some(mine), Some(theirs)) if mine.len() == theirs.len() => {
            let same = |property: &Property| {
                let twin = theirs.iter().find(|twin| twin.name == property.name)?;
                Some(Property {
                    name: property.name.clone(),
                    shape: either(&property.shape, &twin.shape)?,
                })
            };
            Some(mine.iter().map(same).collect::<Option<Vec<Property>>>()?)
        }
        _ => return None,
    };
    Some(ObjectShape {
        typed: one.typed || other.typed,
        properties,
        additional: either_optional(one.additional.as_deref(), other.additional.as_deref())?,
        patterns: one.patterns || other.patterns,
    })
}

/// Parts of two shapes of one kind: a part that is not described is text, and agrees with a described text only.
#[expect(
    clippy::option_option,
    reason = "the outer says whether the two agree, the inner whether there is a part"
)]
fn either_optional(one: Option<&Shape>, other: Option<&Shape>) -> Option<Option<Box<Shape>>> {
    match (one, other) {
        (None, None) => Some(None),
        (Some(one), Some(other)) => Some(Some(Box::new(either(one, other)?))),
        (Some(part), None) | (None, Some(part)) => match part.kind {
            Kind::Anything | Kind::Broken | Kind::Scalar(DataType::String) => Some(Some(Box::new(part.clone()))),
            _ => None,
        },
    }
}
