//! Is a schema sound? Terraform refuses a provider whose schema is not, with a message that no user can act on.
//!
//! Invariant: everything that would make Terraform refuse a schema, or make the standard plan break a rule, is found here.

use crate::path::AttributePath;
use crate::schema::attribute::{Attribute, AttributeType, Mode, Nesting};
use crate::schema::{Attributes, Schema};
use crate::value::Value;
use crate::value::conform::conform;

/// A mistake in a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("schema of `{type_name}`, `{path}`: {mistake}")]
pub(crate) struct SchemaError {
    type_name: String,
    path: AttributePath,
    mistake: &'static str,
}

impl SchemaError {
    pub(super) fn twice(type_name: &str) -> Self {
        Self {
            type_name: type_name.to_owned(),
            path: AttributePath::root(),
            mistake: "there are two of that name",
        }
    }
}

/// Adds the mistakes of one schema to `errors`.
pub(super) fn check(type_name: &str, schema: &Schema, errors: &mut Vec<SchemaError>) {
    check_attributes(&schema.attributes, &AttributePath::root(), &mut |path, mistake| {
        errors.push(SchemaError {
            type_name: type_name.to_owned(),
            path: path.clone(),
            mistake,
        });
    });
}

fn check_attributes(attributes: &Attributes, path: &AttributePath, fail: &mut dyn FnMut(&AttributePath, &'static str)) {
    for (name, attribute) in attributes {
        let path = path.clone().attribute(name);
        if !is_identifier(name) {
            fail(
                &path,
                "a name has lower-case letters, digits and underscores and starts with a letter",
            );
        }
        for mistake in mistakes(attribute) {
            fail(&path, mistake);
        }
        if let AttributeType::Nested { nesting, attributes } = &attribute.attribute_type {
            if *nesting == Nesting::Set && has_write_only(attributes) {
                fail(&path, "a set cannot have write-only attributes inside");
            }
            check_attributes(attributes, &path, fail);
        }
    }
}

fn mistakes(attribute: &Attribute) -> Vec<&'static str> {
    let mut mistakes = Vec::new();
    let mut when = |wrong: bool, mistake| {
        if wrong {
            mistakes.push(mistake);
        }
    };
    when(attribute.description.is_empty(), "it has no description");
    when(
        attribute.write_only && attribute.is_computed(),
        "a write-only attribute cannot be computed",
    );
    when(
        attribute.default.is_some() && attribute.mode != Mode::OptionalComputed,
        "only an optional and computed attribute has a default",
    );
    when(
        attribute.keeps_prior && !attribute.is_computed(),
        "only a computed attribute keeps its prior value",
    );
    when(
        attribute.replaces && attribute.mode == Mode::Computed,
        "a computed attribute cannot replace by itself; the resource's plan can",
    );
    let unfit = attribute.default.as_ref().is_some_and(|default| !fits(attribute, default));
    when(unfit, "its default does not fit its type, or is null or unknown");
    mistakes
}

fn fits(attribute: &Attribute, default: &Value) -> bool {
    let conformed = conform(default.clone(), &attribute.value_type());
    default.is_present() && conformed.is_ok_and(|conformed| conformed == *default && conformed.is_wholly_known())
}

fn has_write_only(attributes: &Attributes) -> bool {
    attributes.values().any(|attribute| {
        attribute.write_only || matches!(&attribute.attribute_type, AttributeType::Nested { attributes, .. } if has_write_only(attributes))
    })
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::types::Type;

    fn check_one(name: &str, attribute: Attribute, expected: &str) {
        let mut errors = Vec::new();
        check("corner_file", &Schema::new("A file.", [(name, attribute)]), &mut errors);
        let found: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert!(
            found.iter().any(|error| error.contains(expected)),
            "{found:?} does not say {expected:?}"
        );
    }

    #[test]
    fn what_terraform_would_refuse_is_found_at_the_start() {
        let text = |mode: fn(Type, &'static str) -> Attribute| mode(Type::String, "Some text.");
        check_one("Name", text(Attribute::required), "`Name`: a name has lower-case letters");
        check_one("a", Attribute::required(Type::String, ""), "`a`: it has no description");
        check_one(
            "a",
            text(Attribute::computed).write_only(),
            "a write-only attribute cannot be computed",
        );
        check_one(
            "a",
            text(Attribute::optional).default("x"),
            "only an optional and computed attribute has a default",
        );
        check_one(
            "a",
            text(Attribute::optional_computed).default(true),
            "its default does not fit its type",
        );
        check_one(
            "a",
            text(Attribute::optional).computed_keeps_prior(),
            "only a computed attribute keeps",
        );
        check_one(
            "a",
            text(Attribute::computed).replaces(),
            "a computed attribute cannot replace by itself",
        );
        let secret = text(Attribute::optional).write_only();
        let set = AttributeType::set([("inner", secret)]);
        check_one(
            "a",
            Attribute::optional(set, "A set."),
            "a set cannot have write-only attributes inside",
        );
    }
}
