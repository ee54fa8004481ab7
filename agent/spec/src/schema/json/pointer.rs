//! JSON pointers (RFC 6901): building, resolving local references, and the decoded field that a pointer is about.

use super::text::Json;
use crate::schema::{SchemaPath, SchemaStep};

/// The pointer to a member or item below `parent`.
pub(super) fn child(parent: &str, step: &str) -> String {
    format!("{parent}/{}", step.replace('~', "~0").replace('/', "~1"))
}

/// The value that a local reference (`#/$defs/Address`) points to, and its pointer.
pub(super) fn resolve<'t>(document: &'t Json, reference: &str) -> Option<(&'t Json, String)> {
    let fragment = percent_decoded(reference.strip_prefix('#')?)?;
    let mut here = document;
    for step in steps(&fragment)? {
        here = match here {
            Json::List(items) => items.get(step.parse::<usize>().ok()?)?,
            object => object.get(&step)?,
        };
    }
    Some((here, fragment))
}

/// The decoded field at a pointer, as far as `properties`, `items` and `additionalProperties` lead.
pub(super) fn schema_path(pointer: &str) -> SchemaPath {
    let mut path = SchemaPath::new();
    let mut steps = steps(pointer).unwrap_or_default().into_iter();
    while let Some(step) = steps.next() {
        path.push(match step.as_str() {
            "properties" => match steps.next() {
                Some(name) => SchemaStep::Field(name),
                None => break,
            },
            "items" => SchemaStep::Element,
            "additionalProperties" => SchemaStep::MapValue,
            _ => break,
        });
    }
    path
}

/// The unescaped steps of a pointer; `None` when it does not start with `/` (and is not empty).
fn steps(pointer: &str) -> Option<Vec<String>> {
    if pointer.is_empty() {
        return Some(Vec::new());
    }
    let rest = pointer.strip_prefix('/')?;
    Some(rest.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect())
}

/// Undoes percent encoding, which a fragment of a URI may carry.
fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes().iter();
    while let Some(byte) = rest.next() {
        if *byte == b'%' {
            let digit = |byte: Option<&u8>| char::from(*byte?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
            let high = digit(rest.next())?;
            let low = digit(rest.next())?;
            bytes.push(high * 16 + low);
        } else {
            bytes.push(*byte);
        }
    }
    String::from_utf8(bytes).ok()
}
