//! Values, paths, diagnostics and capabilities between their plain and their protocol form.
//!
//! Invariant: requests may use either encoding, answers always use MessagePack.

use featurestore_proto::tfplugin6::{self as pb, attribute_path::step::Selector};

use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::engine::{Shape, bug};
use crate::path::{AttributePath, Step};
use crate::value::{Value, json, msgpack};

/// A value from a request; an absent one is null.
pub(super) fn decode(shape: &Shape, value: Option<&pb::DynamicValue>) -> Result<Value, Diagnostics> {
    let Some(value) = value else { return Ok(Value::Null) };
    let decoded = match (value.msgpack.is_empty(), value.json.is_empty()) {
        (false, _) => msgpack::decode(&shape.value_type, &value.msgpack),
        (true, false) => json::decode(&shape.value_type, &value.json),
        (true, true) => Ok(Value::Null),
    };
    decoded.map_err(|error| {
        let detail = format!("A value from Terraform does not fit this provider's schema: {error}. The two disagree about the schema; run \"terraform init -upgrade\" or restart a provider that was started by hand.");
        Diagnostic::error("Unreadable Value", detail).into()
    })
}

/// A value for an answer.
pub(super) fn encode(shape: &Shape, value: &Value) -> Result<Option<pb::DynamicValue>, Diagnostics> {
    match msgpack::encode(&shape.value_type, value) {
        Ok(bytes) => Ok(Some(pb::DynamicValue {
            msgpack: bytes,
            json: Vec::new(),
        })),
        Err(error) => Err(bug(format!("The provider cannot encode its answer: {error}.")).into()),
    }
}

pub(super) fn diagnostics(messages: Diagnostics) -> Vec<pb::Diagnostic> {
    messages
        .into_iter()
        .map(|message| pb::Diagnostic {
            severity: match message.severity {
                Severity::Error => pb::diagnostic::Severity::Error.into(),
                Severity::Warning => pb::diagnostic::Severity::Warning.into(),
            },
            summary: message.summary,
            detail: message.detail,
            attribute: message.path.filter(|path| !path.is_root()).map(path),
        })
        .collect()
}

pub(super) fn path(path: AttributePath) -> pb::AttributePath {
    let steps = path.steps().iter().map(|step| {
        let selector = match step {
            Step::Attribute(name) => Selector::AttributeName(name.clone()),
            Step::Key(key) => Selector::ElementKeyString(key.clone()),
            Step::Index(index) => Selector::ElementKeyInt(*index),
        };
        pb::attribute_path::Step { selector: Some(selector) }
    });
    pb::AttributePath { steps: steps.collect() }
}

/// What this provider can do beyond the protocol's minimum.
pub(super) fn capabilities() -> pb::ServerCapabilities {
    pb::ServerCapabilities {
        plan_destroy: true,
        get_provider_schema_optional: true,
        move_resource_state: true,
        generate_resource_config: false,
    }
}
