//! The standard plan: from configuration and prior state to what there will be.
//!
//! A configured value is planned as it is, or as it was when it means the same. A value that the user leaves to us is its
//! default, or what it was, or unknown when something else changes. Invariant: a plan that changes nothing in meaning is the
//! prior state, so that Terraform shows an empty plan.

use std::collections::BTreeMap;

use crate::path::AttributePath;
use crate::schema::attribute::{Attribute, AttributeType, Mode, Nesting};
use crate::schema::{Attributes, Schema};
use crate::value::Value;

use super::changes::{self, Changes};
use super::{meaning, write_only};

/// A standard plan.
pub(crate) struct Settled {
    /// What there will be.
    pub(crate) planned: Value,
    /// What changes in meaning; nothing for a create.
    pub(crate) changed: Vec<AttributePath>,
    /// Which changes mean another resource; nothing for a create.
    pub(crate) requires_replace: Vec<AttributePath>,
}

/// Do computed values stay, or does something change that may change them?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Computed {
    Stay,
    Renew,
}

/// Plans a create (prior null) or an update.
pub(crate) fn settle(schema: &Schema, config: &Value, prior: &Value) -> Settled {
    let attributes = &schema.attributes;
    let settled = |computed: Computed| {
        let mut planned = settle_object(attributes, computed, config, prior);
        schema.keep_form(prior, &mut planned);
        planned
    };
    let still = settled(Computed::Stay);
    if prior.is_null() {
        return Settled {
            planned: still,
            changed: Vec::new(),
            requires_replace: Vec::new(),
        };
    }
    let Changes {
        paths,
        replacing,
        reach_beyond,
    } = changes::between(attributes, &without_write_only(attributes, prior), &still);
    let planned = if reach_beyond { settled(Computed::Renew) } else { still };
    Settled {
        planned,
        changed: paths,
        requires_replace: replacing,
    }
}

/// A prior state never has write-only values, unless the attribute was not write-only when it was stored.
fn without_write_only(attributes: &Attributes, prior: &Value) -> Value {
    let mut prior = prior.clone();
    write_only::forget(attributes, &mut prior);
    prior
}

fn settle_object(attributes: &Attributes, computed: Computed, config: &Value, prior: &Value) -> Value {
    let settled = attributes.iter().map(|(name, attribute)| {
        let prior = (!prior.is_null()).then(|| prior.get(name));
        (name.clone(), settle_attribute(attribute, computed, config.get(name), prior))
    });
    Value::Object(settled.collect())
}

/// `prior` is `None` where there was no object around it: then there is nothing to keep.
fn settle_attribute(attribute: &Attribute, computed: Computed, config: &Value, prior: Option<&Value>) -> Value {
    if attribute.write_only {
        return Value::Null;
    }
    let left_to_us = attribute.mode == Mode::Computed || (config.is_null() && attribute.is_computed());
    if left_to_us {
        return match (&attribute.default, prior) {
            (Some(default), prior) => kept_or(attribute, default.clone(), prior),
            (None, Some(prior)) if computed == Computed::Stay || attribute.keeps_prior => prior.clone(),
            (None, _) => Value::UNKNOWN,
        };
    }
    let prior_value = prior.unwrap_or(&Value::Null);
    let settled = match &attribute.attribute_type {
        AttributeType::Nested { nesting, attributes } => settle_nested(*nesting, attributes, computed, config, prior_value),
        AttributeType::Plain(_) => config.clone(),
    };
    kept_or(attribute, settled, prior)
}

fn settle_nested(nesting: Nesting, attributes: &Attributes, computed: Computed, config: &Value, prior: &Value) -> Value {
    match (nesting, config) {
        (Nesting::Single, Value::Object(_)) => settle_object(attributes, computed, config, prior),
        (Nesting::List, Value::List(elements)) => {
            let mut earlier = prior.elements().iter();
            let settled = elements
                .iter()
                .map(|element| settle_element(attributes, computed, element, earlier.next()));
            Value::List(settled.collect())
        }
        (Nesting::Set, Value::Set(elements)) => {
            let settled = elements.iter().map(|element| {
                // Elements of a set have no name. Two belong together when nothing between them changes.
                let twin = prior.elements().iter().find(|prior| {
                    meaning::same_objects(attributes, prior, &settle_element(attributes, Computed::Stay, element, Some(prior)))
                });
                settle_element(attributes, computed, element, twin)
            });
            Value::Set(settled.collect())
        }
        (Nesting::Map, Value::Map(elements)) => {
            let earlier = prior.entries();
            let settled: BTreeMap<String, Value> = elements
                .iter()
                .map(|(key, element)| {
                    let prior = earlier.and_then(|earlier| earlier.get(key));
                    (key.clone(), settle_element(attributes, computed, element, prior))
                })
                .collect();
            Value::Map(settled)
        }
        _ => config.clone(),
    }
}

fn settle_element(attributes: &Attributes, computed: Computed, config: &Value, prior: Option<&Value>) -> Value {
    match config {
        Value::Object(_) => settle_object(attributes, computed, config, prior.unwrap_or(&Value::Null)),
        _ => config.clone(),
    }
}

/// The prior value where it means the same and Terraform lets it stand for the new one: neither may be null.
fn kept_or(attribute: &Attribute, new: Value, prior: Option<&Value>) -> Value {
    match prior {
        Some(prior) if prior.is_present() && new.is_present() && prior.is_wholly_known() && new.is_wholly_known() => {
            let keep = meaning::same(attribute, prior, &new);
            if keep { prior.clone() } else { new }
        }
        _ => new,
    }
}
