//! The managed resources. What the agent keeps whole and answers at once is an `entity`, which has the calls of Terraform for all
//! of them. A large one has a folder: `schema` declares, `model` reads and writes values, `validate` and `plan` judge.

pub(crate) mod connection;
pub(crate) mod entity;
pub(crate) mod grants;
pub(crate) mod secret;
pub(crate) mod secret_scope;
pub(crate) mod service_credential;
pub(crate) mod stream;
pub(crate) mod volume;

use stream_spec::name::NameError;
use stream_spec::violation::Violation;
use tfplugin::schema::attribute::Attribute;
use tfplugin::value::Value;
use tfplugin::value::types::Type;

/// Separates what an attribute is from what a change of it costs.
pub(crate) const COST_SEPARATOR: &str = "\n\n";

/// What an attribute is, then what a change costs.
fn say(what: &str, cost: &str) -> String {
    format!("{what}{COST_SEPARATOR}{cost}")
}

/// The attribute `id` of what has a uid.
fn uid_attribute(noun: &str) -> Attribute {
    Attribute::computed(Type::String, say(&format!("The {noun}'s uid."), "Set by the agent.")).computed_keeps_prior()
}

/// The attribute `name` of what is another one under another name.
fn name_attribute(what: &str, noun: &str) -> Attribute {
    Attribute::required(Type::String, say(what, &format!("Changing it replaces the {noun}."))).replaces()
}

/// The text at an attribute; empty where there is none.
fn text_of(value: &Value, attribute: &str) -> String {
    value.get(attribute).as_str().unwrap_or_default().to_owned()
}

/// Why a text is not a name.
fn parse_with<Name>(parse: impl Fn(&str) -> Result<Name, NameError>, text: &str) -> Result<(), String> {
    parse(text).map(|_| ()).map_err(|error| error.to_string())
}

/// What is wrong with the name at an attribute, if it is known.
fn check_name<Name>(config: &Value, attribute: &str, parse: impl Fn(&str) -> Result<Name, NameError>) -> Vec<Violation> {
    let refused = config.get(attribute).as_str().and_then(|text| Some((text, parse(text).err()?)));
    let violation = |(text, error): (&str, NameError)| Violation::new(attribute, text, error.problem, error.remedy);
    refused.map(violation).into_iter().collect()
}

/// A name as the label of a resource block: Terraform wants a letter or `_` first, then also digits and `-`.
fn label(name: &str) -> String {
    let is_first = |first: char| first.is_ascii_alphabetic() || first == '_';
    let prefix = if name.starts_with(is_first) { "" } else { "_" };
    let is_fit = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
    let fit = name.chars().map(|it| if is_fit(it) { it } else { '_' });
    prefix.chars().chain(fit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_one_that_terraform_takes() {
        for (name, wanted) in [
            ("cards", "cards"),
            ("2024_orders", "_2024_orders"),
            ("-kafka", "_-kafka"),
            ("a.b c", "a_b_c"),
            ("", "_"),
        ] {
            assert_eq!(label(name), wanted);
        }
    }
}
