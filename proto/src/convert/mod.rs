//! Converts between `featurestore.v1` messages and the stream model, in both directions, for provider and agent alike.
//!
//! Parsing into the model finds what a message cannot express (a missing oneof, a name that is none) and reports every
//! such field; what a sound definition means is checked by `stream_spec::validate`.

mod connection;
mod status;
mod stream;
mod verdict;

pub use connection::{connection_from_spec, connection_to_spec};
pub use status::{detail_of, status_with_detail};
pub use stream::{
    direct_schemas_from_spec, direct_schemas_to_spec, operations_from_spec, operations_to_spec, stream_from_spec, stream_to_spec,
};
pub use verdict::{columns_from_spec, verdict_from_spec, verdict_to_spec, violation_from_spec, violation_to_spec};

use stream_spec::stream::SecretRef;
use stream_spec::violation::Violation;

use crate::v1;

/// Collects violations while a message is read field by field.
#[derive(Default)]
struct Problems(Vec<Violation>);

impl Problems {
    /// Notes that exactly one of `choices` must be given at `field`.
    fn exactly_one<T>(&mut self, field: &str, choices: &str) -> Option<T> {
        self.0.push(Violation::missing(
            field,
            format!("exactly one of {choices} is required"),
            format!("set one of {choices}"),
        ));
        None
    }

    /// Notes that `field` is required.
    fn required<T>(&mut self, field: &str, example: &str) -> Option<T> {
        self.0.push(Violation::missing(
            field,
            "the field is required",
            format!("set it, as in `{example}`"),
        ));
        None
    }

    /// The parsed name, or a note on why the text is none.
    fn name<T>(&mut self, field: &str, text: &str, parse: impl Fn(&str) -> Result<T, stream_spec::name::NameError>) -> Option<T> {
        match parse(text) {
            Ok(name) => Some(name),
            Err(error) => {
                self.0.push(Violation::new(field, text, error.problem, error.remedy));
                None
            }
        }
    }
}

/// A secret's reference as a message.
fn secret_ref_from_spec(reference: &SecretRef) -> v1::SecretRef {
    v1::SecretRef {
        scope: reference.scope.clone(),
        key: reference.key.clone(),
    }
}

/// A secret's reference from a message.
fn secret_ref_to_spec(reference: &v1::SecretRef) -> SecretRef {
    SecretRef {
        scope: reference.scope.clone(),
        key: reference.key.clone(),
    }
}
