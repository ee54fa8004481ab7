//! Checks a configuration as far as it is known: what the messages cannot express (two exclusive attributes at once), what
//! the stream model says about the known rest, and the provider's own settings. Pure: no agent is asked.

use std::time::Duration;

use featurestore_proto::convert;
use stream_spec::stream::StreamOperations;
use stream_spec::validate;
use stream_spec::violation::Violation;
use tfplugin::diagnostic::{Diagnostic, Diagnostics};
use tfplugin::schema::Schema;
use tfplugin::value::Value;

use super::model::Declaration;
use crate::client::diagnostics::violation;
use crate::duration;
use crate::limits::TIMEOUT_LONGEST;

/// How many of a group of attributes there must be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Count {
    ExactlyOne,
    AtLeastOne,
}

/// Attributes of one object that exclude or need one another.
const GROUPS: [(&str, Count, &[&str]); 9] = [
    (
        "source_config",
        Count::ExactlyOne,
        &["kafka_stream_config", "kinesis_stream_config"],
    ),
    (
        "source_config.kafka_stream_config.subscription_mode",
        Count::ExactlyOne,
        &["subscribe", "subscribe_pattern", "assign"],
    ),
    (
        "source_config.kinesis_stream_config",
        Count::ExactlyOne,
        &["stream_names", "stream_arns"],
    ),
    (
        "connection_config",
        Count::ExactlyOne,
        &["uc_connection_name", "direct_mtls_config"],
    ),
    ("schema_config", Count::ExactlyOne, &["direct_schemas", "schema_registry_config"]),
    ("schema_config.direct_schemas", Count::AtLeastOne, &["key_schema", "payload_schema"]),
    ("schema_config.direct_schemas.key_schema", Count::ExactlyOne, FORMS),
    ("schema_config.direct_schemas.payload_schema", Count::ExactlyOne, FORMS),
    (
        "schema_config.schema_registry_config",
        Count::AtLeastOne,
        &["payload_schema_locator", "key_schema_locator"],
    ),
];
const FORMS: &[&str] = &["json_schema", "avro_schema", "proto_schema"];

/// Settings with a fixed set of values.
const CHOICES: [(&str, &[&str]); 2] = [
    ("schema_update_policy", &["reject", "replace"]),
    ("on_destroy", &["delete", "retain"]),
];

/// All that is wrong with a configuration, each at its attribute.
pub(super) fn configuration(config: &Value, schema: &Schema) -> Diagnostics {
    let groups = group_violations(config);
    let mut found: Vec<Violation> = groups.clone();
    found.extend(own_settings(config));
    let declared = Declaration::read(config);
    found.extend(declared.violations.iter().cloned());
    let model = definition(&declared).into_iter().filter(|it| {
        // A group that is wrong has been reported in more exact words; what hangs below it cannot be judged.
        !declared.is_unsure(&it.field) && !groups.iter().any(|group| it.field.starts_with(&group.field))
    });
    found.extend(model);
    let mut diagnostics: Diagnostics = found.iter().map(|it| violation(it, schema)).collect();
    diagnostics.extend(advice(config));
    diagnostics
}

/// What the stream model says.
fn definition(declared: &Declaration) -> Vec<Violation> {
    let mut found = match convert::stream_to_spec(&declared.stream) {
        Ok(spec) => validate::stream(&spec),
        Err(violations) => violations,
    };
    match convert::operations_to_spec(&declared.operations, &StreamOperations::default()) {
        Ok(operations) => found.extend(validate::operations(&operations)),
        Err(violations) => found.extend(violations),
    }
    found
}

fn group_violations(config: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    for (field, count, names) in GROUPS {
        let object = config.dig(field);
        if !object.is_present() {
            continue;
        }
        let given: Vec<&str> = names.iter().copied().filter(|name| object.get(name).is_present()).collect();
        let perhaps = names.iter().any(|name| object.get(name).is_unknown());
        let choices = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        if given.len() > 1 && count == Count::ExactlyOne {
            let shown = given.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ");
            let problem = format!("exactly one of {choices} may be set, and here are {shown}");
            found.push(Violation {
                field: field.to_owned(),
                value: String::new(),
                problem,
                remedy: "leave one of them".to_owned(),
            });
        } else if given.is_empty() && !perhaps {
            let needed = if count == Count::ExactlyOne {
                "exactly one"
            } else {
                "at least one"
            };
            let problem = format!("{needed} of {choices} is required, and here is none");
            found.push(Violation {
                field: field.to_owned(),
                value: String::new(),
                problem,
                remedy: format!("set one of {choices}"),
            });
        }
    }
    found
}

fn own_settings(config: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    for (name, choices) in CHOICES {
        if let Some(text) = config.get(name).as_str().filter(|text| !choices.contains(text)) {
            let remedy = format!("use `{}`", choices.join("` or `"));
            found.push(Violation::new(name, text, "the value is not known", remedy));
        }
    }
    for name in ["create", "update", "delete"] {
        let Some(text) = config.get("timeouts").get(name).as_str() else {
            continue;
        };
        let field = format!("timeouts.{name}");
        let remedy = format!(
            "write a number and a unit from 1s to {}, as in `90s`",
            duration::format(TIMEOUT_LONGEST)
        );
        match duration::parse(text) {
            Ok(timeout) if (Duration::from_secs(1)..=TIMEOUT_LONGEST).contains(&timeout) => {}
            Ok(_) => found.push(Violation::new(field, text, "the duration is out of range", remedy)),
            Err(_) => found.push(Violation::new(field, text, "the text is not a duration", remedy)),
        }
    }
    found
}

/// What is not wrong, but better done in another way.
fn advice(config: &Value) -> Option<Diagnostic> {
    const DEDUPLICATION: &str = "ingestion_config.deduplication_columns";
    let columns = config.dig(DEDUPLICATION);
    if !config.dig("ingestion_config.backfill_source").is_present() || columns.is_unknown() || !columns.elements().is_empty() {
        return None;
    }
    let kinesis = config.dig("source_config.kinesis_stream_config").is_present();
    let position = if kinesis {
        "`kinesis_shard_id` and `kinesis_sequence_number` (and `kinesis_stream`, if there are several)"
    } else {
        "`kafka_partition` and `kafka_offset` (and `kafka_topic`, if there are several)"
    };
    Some(
        Diagnostic::warning(
            "Backfill Without Deduplication Columns",
            format!(
                "Without `deduplication_columns` a backfill row counts as a duplicate only if key, value and timestamp all equal \
                 those of a stream row. Prefer a unique id of the message, else {position}."
            ),
        )
        .at(tfplugin::path::AttributePath::attributes(DEDUPLICATION)),
    )
}
