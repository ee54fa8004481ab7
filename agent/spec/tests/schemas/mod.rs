//! Random schema texts for properties. Names, numbers and types come from small sets and are mostly what they are elsewhere, so that one
//! text is often an update of another.

use proptest::prelude::*;

/// A field's label and type; the number is mostly that of its place.
#[derive(Clone, Debug)]
struct ProtoField {
    moved: bool,
    label: &'static str,
    kind: &'static str,
}

/// Names of fields and the types that they mostly have.
const FIELDS: [(&str, &[&str]); 5] = [
    ("a", &["int32", "int32", "int64"]),
    ("b", &["N"]),
    ("c", &["E"]),
    ("d", &["uint32", "int64", "string"]),
    ("e", &["map<string, sint32>", "map<string, sint64>", "map<string, N>"]),
];

const OTHER_TYPES: &[&str] = &[
    "uint64", "sint32", "sint64", "bool", "string", "bytes", "float", "double", "F", "N", "O",
];

fn proto_field(kinds: &'static [&'static str]) -> impl Strategy<Value = Option<ProtoField>> {
    let label = prop_oneof![20 => Just(""), 2 => Just("optional "), 1 => Just("repeated ")];
    let kind = prop_oneof![20 => prop::sample::select(kinds), 1 => prop::sample::select(OTHER_TYPES)];
    let field = (prop::bool::weighted(0.03), label, kind).prop_map(|(moved, label, kind)| ProtoField { moved, label, kind });
    prop::option::weighted(0.7, field)
}

fn proto_fields() -> impl Strategy<Value = Vec<Option<ProtoField>>> {
    FIELDS.map(|(_, kinds)| proto_field(kinds)).into_iter().collect::<Vec<_>>()
}

/// The fields of a message, the first `in_oneof` of those that may be in a oneof inside one.
fn spelled(fields: &[Option<ProtoField>], in_oneof: usize, nested: bool) -> String {
    let (mut plain, mut members) = (String::new(), Vec::new());
    for (place, (field, (name, _))) in fields.iter().zip(FIELDS).enumerate() {
        let Some(field) = field else { continue };
        let kind = match field.kind {
            "N" | "O" if nested => "bool",
            "map<string, N>" if nested => "map<string, bool>",
            kind => kind,
        };
        let number = place + if field.moved { 11 } else { 1 };
        let map = kind.starts_with("map");
        if members.len() < in_oneof && field.label.is_empty() && !map {
            members.push(format!("{kind} {name} = {number};"));
        } else {
            let label = if map { "" } else { field.label };
            plain.push_str(&format!("{label}{kind} {name} = {number}; "));
        }
    }
    if !members.is_empty() {
        plain.push_str(&format!("oneof o {{ {} }} ", members.join(" ")));
    }
    plain
}

/// A proto3 text with a message `M` that has at least one column.
pub(crate) fn proto_text() -> impl Strategy<Value = String> {
    let values = prop_oneof![8 => Just("A = 1;"), 4 => Just("A = 1; B = 2;"), 1 => Just("C = 1;"), 1 => Just("")];
    let in_oneof = prop_oneof![5 => Just(0_usize), 1 => 1..3_usize];
    (proto_fields(), proto_fields(), values, in_oneof).prop_map(|(outer, inner, values, in_oneof)| {
        format!(
            "syntax = \"proto3\"; message M {{ {}int32 last = 30; enum E {{ Z = 0; {values} }} enum F {{ X = 0; }} \
             message N {{ {}}} message O {{}} }}",
            spelled(&outer, in_oneof, false),
            spelled(&inner, 0, true),
        )
    })
}

fn json_object(fields: [Option<&'static str>; 4], nested: Option<String>) -> String {
    let names = ["a", "c", "d", "e"];
    let mut properties: Vec<String> = fields
        .iter()
        .zip(names)
        .filter_map(|(schema, name)| Some(format!("{name:?}:{}", (*schema)?)))
        .collect();
    properties.extend(nested.map(|nested| format!(r#""b":{nested}"#)));
    properties.push(r#""last":{"type":"boolean"}"#.into());
    format!(r#"{{"type":"object","properties":{{{}}}}}"#, properties.join(","))
}

fn json_fields() -> impl Strategy<Value = [Option<&'static str>; 4]> {
    const INT: &str = r#"{"type":"integer"}"#;
    const LONG: &str = r#"{"type":"integer","format":"int64"}"#;
    const TEXT: &str = r#"{"type":"string"}"#;
    let field = |usual: Vec<&'static str>| {
        let other = prop::sample::select(vec![TEXT, r#"{"type":"number"}"#, r#"{"type":"string","format":"date"}"#]);
        prop::option::weighted(0.7, prop_oneof![12 => prop::sample::select(usual), 1 => other])
    };
    [
        field(vec![INT, INT, LONG]),
        field(vec![TEXT]),
        field(vec![
            r#"{"type":"array","items":{"type":"integer"}}"#,
            r#"{"type":"array","items":{"type":"integer","format":"int64"}}"#,
        ]),
        field(vec![r#"{"type":"object","additionalProperties":{"type":"number"}}"#]),
    ]
}

/// A JSON Schema of an object.
#[allow(dead_code, reason = "this package has its own random JSON Schemas; the decoder uses these")]
pub(crate) fn json_text() -> impl Strategy<Value = String> {
    let nested = prop::option::weighted(0.7, json_fields().prop_map(|fields| json_object(fields, None)));
    (json_fields(), nested).prop_map(|(fields, nested)| json_object(fields, nested))
}

/// An Avro schema of a record: the first of some fields, which are mostly what they are elsewhere.
#[allow(dead_code, reason = "the decoder's tests use it")]
pub(crate) fn avro_text() -> impl Strategy<Value = String> {
    let integer = || prop_oneof![4 => Just("\"int\""), 3 => Just("\"long\""), 1 => Just("\"string\"")];
    let symbols = prop_oneof![6 => Just(r#"["A","B"]"#), 1 => Just(r#"["B","A"]"#)];
    (prop::array::uniform5(integer()), symbols, 1..7_usize).prop_map(|([a, b, c, d, e], symbols, count)| {
        let fields = [
            format!(r#"{{"name":"a","type":{a}}}"#),
            format!(r#"{{"name":"b","type":["null",{b}]}}"#),
            format!(r#"{{"name":"c","type":{{"type":"record","name":"N","fields":[{{"name":"x","type":{c}}},{{"name":"y","type":"string"}}]}}}}"#),
            format!(r#"{{"name":"d","type":{{"type":"array","items":{d}}}}}"#),
            format!(r#"{{"name":"e","type":{{"type":"enum","name":"E","symbols":{symbols}}}}}"#),
            format!(r#"{{"name":"f","type":{{"type":"map","values":{e}}}}}"#),
        ];
        let kept: Vec<&str> = fields.iter().take(count).map(String::as_str).collect();
        format!(r#"{{"type":"record","name":"M","fields":[{}]}}"#, kept.join(","))
    })
}
