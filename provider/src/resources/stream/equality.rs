//! When two texts of one attribute mean the same. Pure; what cannot be parsed is compared as text.

use std::collections::BTreeMap;

use featurestore_proto::convert;
use stream_spec::stream::{SchemaConfig, SchemaText, SubscriptionMode};
use stream_spec::types::Field;
use stream_spec::{filter, schema, subscription};
use tfplugin::value::Value;

use super::model::Declaration;

/// Comma-separated names in any order, with any white space around them.
pub(crate) fn same_names(left: &str, right: &str) -> bool {
    subscription::same_meaning(
        &SubscriptionMode::Subscribe(left.to_owned()),
        &SubscriptionMode::Subscribe(right.to_owned()),
    )
}

/// One assignment of partitions in two spellings of JSON.
pub(crate) fn same_assignment(left: &str, right: &str) -> bool {
    subscription::same_meaning(
        &SubscriptionMode::Assign(left.to_owned()),
        &SubscriptionMode::Assign(right.to_owned()),
    )
}

/// Predicates that are the same whatever they read: white space, comments and the case of keywords mean nothing.
pub(crate) fn same_predicate(left: &str, right: &str) -> bool {
    // Inside a text constant too: line ends are the editor's.
    let plain = |text: &str| text.replace("\r\n", "\n");
    left == right || filter::same_meaning(&plain(left), &plain(right), None)
}

/// Keeps the filter of the object before where the new one keeps the same records, whichever of the two objects' columns it reads: names
/// in another case or in backticks, parentheses, and the like.
pub(crate) fn keep_filter_form(before: &Value, new: &mut Value) {
    const FILTER: &str = "record_type_filter";
    let (Some(old), Some(other)) = (before.get(FILTER).as_str(), new.get(FILTER).as_str()) else {
        return;
    };
    if old == other {
        return;
    }
    let (left, right) = (old.replace("\r\n", "\n"), other.replace("\r\n", "\n"));
    let same = |object: &Value| columns(object).is_some_and(|columns| filter::same_meaning(&left, &right, Some(&columns)));
    if same(before)
        && same(new)
        && let Value::Object(entries) = new
    {
        entries.insert(FILTER.to_owned(), before.get(FILTER).clone());
    }
}

/// The columns that a filter of the stream may read; none where the schemas are not known, or not in the definition.
fn columns(object: &Value) -> Option<Vec<Field>> {
    let declared = Declaration::read(object);
    if ["schema_config", "source_config"].iter().any(|part| declared.is_unsure(part)) {
        return None;
    }
    let spec = convert::stream_to_spec(&declared.stream).ok()?;
    match &spec.schemas {
        SchemaConfig::Direct(schemas) => filter::columns_for(&spec.source, schemas).ok(),
        SchemaConfig::Registry(_) => None,
    }
}

/// JSON Schema texts that decode alike.
pub(crate) fn same_json_schema(left: &str, right: &str) -> bool {
    left == right || schema::same_meaning(&SchemaText::Json(left.to_owned()), &SchemaText::Json(right.to_owned()))
}

/// Avro schema texts that decode alike.
pub(crate) fn same_avro_schema(left: &str, right: &str) -> bool {
    left == right || schema::same_meaning(&SchemaText::Avro(left.to_owned()), &SchemaText::Avro(right.to_owned()))
}

/// `proto_schema` objects that decode alike.
pub(crate) fn same_proto_schema(left: &Value, right: &Value) -> bool {
    let text = |value: &Value| {
        let part = |name: &str| value.get(name).as_str().map(str::to_owned);
        Some(SchemaText::Proto {
            schema_text: part("schema_text")?,
            message_name: part("message_name")?,
        })
    };
    match (text(left), text(right)) {
        (Some(left), Some(right)) => left == right || schema::same_meaning(&left, &right),
        _ => left == right,
    }
}

/// Kinesis options; the consumer mode may be written in any case.
pub(crate) fn same_kinesis_options(left: &Value, right: &Value) -> bool {
    let plain = |options: &Value| {
        let entries = options.entries().cloned().unwrap_or_default();
        let fold = |(key, value): (String, Value)| match (key.as_str(), value.as_str()) {
            ("consumerMode", Some(mode)) => (key, Value::string(mode.to_ascii_lowercase())),
            _ => (key, value),
        };
        entries.into_iter().map(fold).collect::<BTreeMap<_, _>>()
    };
    plain(left) == plain(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_mean_the_same_are_equal_and_no_others() {
        type Same = fn(&str, &str) -> bool;
        let cases: [(Same, &str, &str, bool); 11] = [
            (same_names, "a,b", " b , a ", true),
            (same_names, "a,b", "a", false),
            (same_names, "a", "A", false),
            (same_assignment, r#"{"t":[0,1]}"#, "{ \"t\": [1, 0] }", true),
            (same_assignment, r#"{"t":[0,1]}"#, r#"{"t":[0]}"#, false),
            (same_assignment, "no json", "no json", true),
            (same_predicate, "value.a = 1\n", "value.a = 1", true),
            (same_predicate, "value.a = 'x\r\ny'", "value.a = 'x\ny'", true),
            (same_predicate, "value.a=1 and key IS NULL", "value.a = 1 AND key is null", true),
            (same_predicate, "value.a = 1", "value.a = 2", false),
            (same_predicate, "value.a = 'x'", "value.a = 'X'", false),
        ];
        for (same, left, right, expected) in cases {
            assert_eq!(same(left, right), expected, "{left:?} and {right:?}");
        }
        let options = |mode: &str| Value::map([("consumerMode", Value::string(mode)), ("maxFetchRate", Value::string("1"))]);
        assert!(same_kinesis_options(&options("EFO"), &options("efo")));
        assert!(!same_kinesis_options(&options("efo"), &options("polling")));
    }
}
