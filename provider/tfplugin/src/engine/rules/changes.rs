//! What a plan changes in meaning, and which of these changes mean another resource.
//!
//! Invariant: a path is as deep as the difference is and no deeper than addresses go: never into a set.

use crate::path::AttributePath;
use crate::schema::Attributes;
use crate::schema::attribute::{Attribute, AttributeType, Nesting};
use crate::value::Value;

use super::meaning;

/// The differences between a prior state and a plan.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Where they differ in meaning.
    pub(crate) paths: Vec<AttributePath>,
    /// Which of them, or what inside of them, means another resource.
    pub(crate) replacing: Vec<AttributePath>,
    /// Is there one that may change computed values?
    pub(crate) reach_beyond: bool,
}

/// What attributes around a value declare for everything inside.
#[derive(Clone, Copy, Default)]
struct Around {
    replaces: bool,
    stands_alone: bool,
}

/// Compares two objects.
pub(crate) fn between(attributes: &Attributes, prior: &Value, planned: &Value) -> Changes {
    let mut changes = Changes::default();
    changes.in_object(attributes, Around::default(), &AttributePath::root(), prior, planned);
    changes
}

impl Changes {
    fn in_object(&mut self, attributes: &Attributes, around: Around, path: &AttributePath, prior: &Value, planned: &Value) {
        for (name, attribute) in attributes {
            let around = Around {
                replaces: around.replaces || attribute.replaces,
                stands_alone: around.stands_alone || attribute.stands_alone,
            };
            let path = path.clone().attribute(name);
            self.in_attribute(attribute, around, &path, prior.get(name), planned.get(name));
        }
    }

    fn in_attribute(&mut self, attribute: &Attribute, around: Around, path: &AttributePath, prior: &Value, planned: &Value) {
        if meaning::same(attribute, prior, planned) {
            return;
        }
        if let AttributeType::Nested { nesting, attributes } = &attribute.attribute_type {
            match (nesting, prior, planned) {
                (Nesting::Single, Value::Object(_), Value::Object(_)) => {
                    return self.in_object(attributes, around, path, prior, planned);
                }
                (Nesting::List, Value::List(before), Value::List(after)) if before.len() == after.len() => {
                    for (index, (before, after)) in before.iter().zip(after).enumerate() {
                        self.in_object(attributes, around, &path.clone().index(index), before, after);
                    }
                    return;
                }
                (Nesting::Map, Value::Map(before), Value::Map(after)) if before.keys().eq(after.keys()) => {
                    for (key, element) in before {
                        self.in_object(attributes, around, &path.clone().key(key), element, planned.get(key));
                    }
                    return;
                }
                _ => {}
            }
        }
        self.paths.push(path.clone());
        self.reach_beyond |= !around.stands_alone;
        if around.replaces {
            self.replacing.push(path.clone());
        } else {
            self.replacing_inside(attribute, path, prior, planned);
        }
    }

    /// A whole value comes, goes or is unknown: something inside of it may mean another resource although it itself does not.
    fn replacing_inside(&mut self, attribute: &Attribute, path: &AttributePath, prior: &Value, planned: &Value) {
        let AttributeType::Nested { nesting, attributes } = &attribute.attribute_type else {
            return;
        };
        if *nesting != Nesting::Single {
            if replaces_somewhere(attributes) {
                self.replacing.push(path.clone());
            }
            return;
        }
        for (name, inner) in attributes {
            let (prior, planned) = (prior.get(name), planned.get(name));
            if meaning::same(inner, prior, planned) {
                continue;
            }
            let path = path.clone().attribute(name);
            if inner.replaces {
                self.replacing.push(path);
            } else {
                self.replacing_inside(inner, &path, prior, planned);
            }
        }
    }
}

fn replaces_somewhere(attributes: &Attributes) -> bool {
    attributes.values().any(|attribute| {
        attribute.replaces
            || matches!(&attribute.attribute_type, AttributeType::Nested { attributes, .. } if replaces_somewhere(attributes))
    })
}
