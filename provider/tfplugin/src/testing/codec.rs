//! What the stand-in for Terraform's core reads and writes: values and messages of the protocol in their plain form.
//!
//! Invariant: an answer that cannot be read ends the test.
#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "for tests: an unreadable answer must end the test where it is read"
)]

use featurestore_proto::tfplugin6::{self as pb, attribute_path::step::Selector};

use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::engine::Shape;
use crate::path::AttributePath;
use crate::value::conform::conform;
use crate::value::{Value, msgpack};

pub(super) fn encode(shape: &Shape, value: &Value) -> pb::DynamicValue {
    let value = conform(value.clone(), &shape.value_type).expect("a value that fits the schema");
    let msgpack = msgpack::encode(&shape.value_type, &value).expect("a value that fits the schema");
    pb::DynamicValue { msgpack, json: Vec::new() }
}

pub(super) fn decode(shape: &Shape, value: Option<&pb::DynamicValue>) -> Value {
    value.map_or(Value::Null, |value| {
        msgpack::decode(&shape.value_type, &value.msgpack).expect("an answer that fits the schema")
    })
}

pub(super) fn diagnostics(messages: Vec<pb::Diagnostic>) -> Diagnostics {
    messages
        .into_iter()
        .map(|message| Diagnostic {
            severity: if message.severity() == pb::diagnostic::Severity::Warning {
                Severity::Warning
            } else {
                Severity::Error
            },
            summary: message.summary,
            detail: message.detail,
            path: message.attribute.as_ref().map(path),
        })
        .collect()
}

pub(super) fn path(path: &pb::AttributePath) -> AttributePath {
    path.steps.iter().fold(AttributePath::root(), |path, step| match &step.selector {
        Some(Selector::AttributeName(name)) => path.attribute(name),
        Some(Selector::ElementKeyString(key)) => path.key(key),
        Some(Selector::ElementKeyInt(index)) => path.index(usize::try_from(*index).expect("an index is not negative")),
        None => panic!("a step without a selector"),
    })
}
