//! Terraform's own checks of a provider's answers, applied to ours before they leave. Only in debug builds and tests: a
//! broken rule is a bug of the provider's, found where it is made.
//!
//! Invariant: what passes here passes Terraform; where Terraform is more lenient, so is this.

use crate::diagnostic::Diagnostics;
use crate::engine::bug;
use crate::path::AttributePath;
use crate::schema::attribute::{Attribute, AttributeType, Mode, Nesting};
use crate::schema::{Attributes, Schema};
use crate::value::Value;

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{path}`: {rule}")]
pub(crate) struct Broken {
    /// Where.
    pub(crate) path: AttributePath,
    /// Which rule.
    pub(crate) rule: &'static str,
}

/// Says which rules an answer about that resource type breaks.
pub(crate) fn report(type_name: &str, broken: &[Broken]) -> Result<(), Diagnostics> {
    if broken.is_empty() {
        return Ok(());
    }
    Err(broken
        .iter()
        .map(|broken| bug(format!("An answer about `{type_name}` breaks a rule of Terraform's at {broken}.")))
        .collect())
}

/// Is this plan one that Terraform accepts for that configuration and prior state?
pub(crate) fn plan(schema: &Schema, config: &Value, prior: &Value, planned: &Value, replacing: &[AttributePath]) -> Vec<Broken> {
    let mut broken = Vec::new();
    if planned.is_null() != config.is_null() {
        broken.push(Broken {
            path: AttributePath::root(),
            rule: "planned for absence but configured, or the reverse",
        });
        return broken;
    }
    plan_object(&mut broken, &schema.attributes, &AttributePath::root(), config, prior, planned);
    for path in replacing {
        if schema.attribute(path).is_none() {
            broken.push(Broken {
                path: path.clone(),
                rule: "requires replacement, but there is no such attribute",
            });
        }
    }
    broken
}

fn plan_object(broken: &mut Vec<Broken>, attributes: &Attributes, path: &AttributePath, config: &Value, prior: &Value, planned: &Value) {
    for (name, attribute) in attributes {
        let path = path.clone().attribute(name);
        plan_attribute(broken, attribute, &path, config.get(name), prior.get(name), planned.get(name));
    }
}

fn plan_attribute(broken: &mut Vec<Broken>, attribute: &Attribute, path: &AttributePath, config: &Value, prior: &Value, planned: &Value) {
    let mut fail = |rule| broken.push(Broken { path: path.clone(), rule });
    if attribute.write_only {
        if !planned.is_null() {
            fail("a write-only attribute must be null in a plan");
        }
        return;
    }
    let same_as_config = planned == config || (planned.is_unknown() && config.is_unknown());
    let same_as_prior = planned == prior && !prior.is_null() && !config.is_null();
    if same_as_config || same_as_prior || attribute.mode == Mode::Computed {
        return;
    }
    if config.is_null() {
        if !attribute.is_computed() {
            fail("planned a value for an attribute that is neither configured nor computed");
        }
        return;
    }
    let AttributeType::Nested { nesting, attributes } = &attribute.attribute_type else {
        return fail("the planned value is neither the configured nor the prior one");
    };
    if planned.is_null() {
        return fail("planned for absence but configured");
    }
    if planned.is_unknown() {
        return fail("planned as unknown but configured");
    }
    match nesting {
        Nesting::Single => plan_object(broken, attributes, path, config, prior, planned),
        Nesting::List => {
            if config.elements().len() != planned.elements().len() {
                return fail("the number of elements differs from the configuration's");
            }
            for (index, (config, planned)) in config.elements().iter().zip(planned.elements()).enumerate() {
                let prior = prior.elements().get(index).unwrap_or(&Value::Null);
                plan_object(broken, attributes, &path.clone().index(index), config, prior, planned);
            }
        }
        Nesting::Set => {
            if config.elements().len() != planned.elements().len() {
                return fail("the number of elements differs from the configuration's");
            }
            let fits = |planned: &Value| {
                config.elements().iter().any(|config| {
                    std::iter::once(&Value::Null).chain(prior.elements()).any(|prior| {
                        let mut inner = Vec::new();
                        plan_object(&mut inner, attributes, path, config, prior, planned);
                        inner.is_empty()
                    })
                })
            };
            if !planned.elements().iter().all(fits) {
                fail("an element of the set belongs to no configured one");
            }
        }
        Nesting::Map => match (config.entries(), planned.entries()) {
            (Some(configured), Some(entries)) if configured.keys().eq(entries.keys()) => {
                for (key, planned) in entries {
                    plan_object(broken, attributes, &path.clone().key(key), config.get(key), prior.get(key), planned);
                }
            }
            _ => fail("the keys differ from the configuration's"),
        },
    }
}

/// Does a value keep what was promised: the state after an apply what was planned, a second plan what the first one said?
pub(crate) fn promise(schema: &Schema, promised: &Value, came: &Value) -> Vec<Broken> {
    let mut broken = Vec::new();
    promise_value(&mut broken, &AttributePath::root(), promised, came);
    let mut forgotten = came.clone();
    super::write_only::forget(&schema.attributes, &mut forgotten);
    if forgotten != *came {
        broken.push(Broken {
            path: AttributePath::root(),
            rule: "a write-only attribute is not null",
        });
    }
    broken
}

fn promise_value(broken: &mut Vec<Broken>, path: &AttributePath, promised: &Value, came: &Value) {
    let mut fail = |rule| broken.push(Broken { path: path.clone(), rule });
    match (promised, came) {
        (Value::Unknown(refinement), came) => {
            if let Some(refinement) = refinement
                && !keeps(refinement, came)
            {
                fail("what was known of the unknown value does not hold");
            }
        }
        (Value::Object(promised), Value::Object(came)) => {
            for (name, promised) in promised {
                promise_value(
                    broken,
                    &path.clone().attribute(name),
                    promised,
                    came.get(name).unwrap_or(&Value::Null),
                );
            }
        }
        (Value::Map(promised), Value::Map(came)) => {
            if !promised.keys().eq(came.keys()) {
                return fail("a map has other keys than promised");
            }
            for (key, promised) in promised {
                promise_value(broken, &path.clone().key(key), promised, came.get(key).unwrap_or(&Value::Null));
            }
        }
        (Value::List(promised), Value::List(came)) => {
            if promised.len() != came.len() {
                return fail("a list has another length than promised");
            }
            for (index, (promised, came)) in promised.iter().zip(came).enumerate() {
                promise_value(broken, &path.clone().index(index), promised, came);
            }
        }
        (Value::Set(promised), Value::Set(came)) => {
            // Unknown elements may turn out to be one: a set may shrink and never grow.
            let kept = |promised: &Value| {
                came.iter().any(|came| {
                    let mut inner = Vec::new();
                    promise_value(&mut inner, path, promised, came);
                    inner.is_empty()
                })
            };
            if came.len() > promised.len() || !promised.iter().all(kept) {
                fail("a set has other elements than promised");
            }
        }
        (promised, came) if promised == came => {}
        _ => fail("the value is not the promised one"),
    }
}

fn keeps(refinement: &crate::value::refinement::Refinement, came: &Value) -> bool {
    let text_fits = match (&refinement.string_prefix, came) {
        (Some(prefix), Value::String(text)) => text.starts_with(prefix.as_str()),
        _ => true,
    };
    text_fits && !(refinement.not_null && came.is_null())
}
