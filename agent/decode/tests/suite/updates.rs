//! The promise of an update in place: every message of the old schema decodes by the new one, and fields that stay keep their values.
//!
//! Schemas and messages are random. Where the verdict says that something is read otherwise, a value may become null or cease to be;
//! nothing else may change.

#[path = "../../../spec/tests/schemas/mod.rs"]
mod schemas;

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use serde_json::Value;
use stream_decode::decoder::Decoder;
use stream_decode::plan::compile;
use stream_spec::schema::avro::tree::{AvroType, Encoding};
use stream_spec::schema::protobuf::tree::{ProtoKind, ProtoLabel, ProtoMessage};
use stream_spec::schema::{self, ParsedSchema, SchemaPath, SchemaStep, Wire, show_path};
use stream_spec::stream::{DirectSchemas, SchemaText};
use stream_spec::types::DataType;
use stream_spec::verdict::{FindingKind, UpdateQuestion, Verdict, verdict};

use crate::oracle::element;

/// Random bytes that decide what a message holds; they begin again when they end.
struct Entropy<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Entropy<'_> {
    fn byte(&mut self) -> u8 {
        let byte = self.bytes[self.at % self.bytes.len()];
        self.at += 1;
        byte.wrapping_add((self.at / self.bytes.len()) as u8)
    }

    fn below(&mut self, end: u8) -> u8 {
        self.byte() % end
    }

    fn integer(&mut self) -> i64 {
        let wide = (0..8).fold(0_i64, |number, _| number << 8 | i64::from(self.byte()));
        wide >> (self.below(64) & 0x3f)
    }

    fn text(&mut self) -> String {
        (0..self.below(4)).map(|_| char::from(b'a' + self.below(26))).collect()
    }
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn delimited(content: &[u8], out: &mut Vec<u8>) {
    varint(content.len() as u64, out);
    out.extend(content);
}

/// A message as a producer with that schema writes it: of a oneof it sets one member.
fn proto_message(message: &ProtoMessage, entropy: &mut Entropy<'_>, out: &mut Vec<u8>) {
    let mut set: BTreeSet<&str> = BTreeSet::new();
    for field in &message.fields {
        let times = entropy.below(if field.label == ProtoLabel::Repeated { 4 } else { 2 });
        if times > 0 && field.oneof.as_deref().is_some_and(|oneof| !set.insert(oneof)) {
            continue;
        }
        for _ in 0..times {
            proto_value(&field.kind, field.number, entropy, out);
        }
    }
}

fn proto_value(kind: &ProtoKind, number: u32, entropy: &mut Entropy<'_>, out: &mut Vec<u8>) {
    let integer = entropy.integer();
    let (wire_type, content) = match kind {
        ProtoKind::Int32 => (0, i64::from(integer as i32) as u64),
        ProtoKind::Int64 | ProtoKind::Uint64 => (0, integer as u64),
        ProtoKind::Uint32 => (0, u64::from(integer as u32)),
        ProtoKind::Sint32 => (0, zigzag(i64::from(integer as i32))),
        ProtoKind::Sint64 => (0, zigzag(integer)),
        ProtoKind::Bool => (0, (integer & 1) as u64),
        ProtoKind::Enum(declared) => (0, declared.values[usize::from(entropy.byte()) % declared.values.len()].1 as u64),
        ProtoKind::Double => (1, f64::from(integer as i32).to_bits()),
        ProtoKind::Float => (5, u64::from((integer as f32).to_bits())),
        _ => (2, 0),
    };
    varint(u64::from(number) << 3 | wire_type, out);
    match wire_type {
        0 => varint(content, out),
        1 => out.extend(content.to_le_bytes()),
        5 => out.extend((content as u32).to_le_bytes()),
        _ => {
            let mut inner = Vec::new();
            match kind {
                ProtoKind::Message(message) => proto_message(message, entropy, &mut inner),
                ProtoKind::Map { key, value } => {
                    proto_value(key, 1, entropy, &mut inner);
                    proto_value(value, 2, entropy, &mut inner);
                }
                ProtoKind::String { .. } | ProtoKind::Bytes => inner.extend(entropy.text().bytes()),
                other => panic!("no random schema has {other:?}"),
            }
            delimited(&inner, out);
        }
    }
}

/// A datum of that Avro schema.
fn avro_datum(schema: &AvroType, entropy: &mut Entropy<'_>, out: &mut Vec<u8>) {
    let items = |count: u8, out: &mut Vec<u8>| varint(zigzag(i64::from(count)), out);
    match &schema.encoding {
        Encoding::Null => {}
        Encoding::Int => varint(zigzag(i64::from(entropy.integer() as i32)), out),
        Encoding::Long => varint(zigzag(entropy.integer()), out),
        Encoding::String => {
            let text = entropy.text();
            items(text.len() as u8, out);
            out.extend(text.bytes());
        }
        Encoding::Enum { symbols, .. } => {
            let index = entropy.below(symbols.len() as u8);
            items(index, out);
        }
        Encoding::Record { fields, .. } => fields.iter().for_each(|field| avro_datum(&field.schema, entropy, out)),
        Encoding::Union(branches) => {
            let index = entropy.below(branches.len() as u8);
            items(index, out);
            avro_datum(&branches[usize::from(index)], entropy, out);
        }
        Encoding::Array(values) | Encoding::Map(values) => {
            let count = entropy.below(4);
            items(count, out);
            for index in 0..count {
                if matches!(schema.encoding, Encoding::Map(_)) {
                    items(1, out);
                    out.push(b'a' + index);
                }
                avro_datum(values, entropy, out);
            }
            if count > 0 {
                items(0, out);
            }
        }
        other => panic!("no random schema has {other:?}"),
    }
}

/// A JSON message whose members, where they are there, have the types of the schema.
fn json_message(data_type: &DataType, entropy: &mut Entropy<'_>) -> String {
    match data_type {
        DataType::Struct(fields) => {
            let mut members = Vec::new();
            for field in fields {
                if entropy.below(4) > 0 {
                    members.push(format!("{:?}:{}", field.name, json_message(&field.data_type, entropy)));
                }
            }
            format!("{{{}}}", members.join(","))
        }
        DataType::Array(items) => {
            let items: Vec<String> = (0..entropy.below(4)).map(|_| json_message(items, entropy)).collect();
            format!("[{}]", items.join(","))
        }
        DataType::Map(_, values) => {
            let members: Vec<String> = (0..entropy.below(4))
                .map(|place| format!("\"k{place}\":{}", json_message(values, entropy)))
                .collect();
            format!("{{{}}}", members.join(","))
        }
        DataType::Int => (entropy.integer() as i32).to_string(),
        DataType::BigInt => entropy.integer().to_string(),
        DataType::Double => format!("{:?}", f64::from(entropy.integer() as i32)),
        DataType::Boolean => (entropy.below(2) == 0).to_string(),
        DataType::Date => format!("\"2024-02-{:02}\"", 1 + entropy.below(28)),
        _ => format!("{:?}", entropy.text()),
    }
}

/// A message of that schema.
fn message(schema: &ParsedSchema, entropy: &mut Entropy<'_>) -> Vec<u8> {
    match &schema.wire {
        Wire::Json => json_message(&schema.data_type, entropy).into_bytes(),
        Wire::Protobuf(root) => {
            let mut out = Vec::new();
            proto_message(root, entropy, &mut out);
            out
        }
        Wire::Avro(root) => {
            let mut out = Vec::new();
            avro_datum(root, entropy, &mut out);
            out
        }
    }
}

fn decoded(schema: &ParsedSchema, payload: &[u8]) -> Value {
    let plan = compile(schema, schema).expect("a plan");
    let mut decoder = Decoder::new(vec![plan]).expect("a decoder");
    let answer = decoder.decode(&[Some(payload)], &[]).expect("a batch of one");
    element(&answer.array, 0)
}

/// Looks for a value that an update does not keep.
struct Kept<'s> {
    read_otherwise: &'s BTreeSet<String>,
    path: SchemaPath,
}

impl Kept<'_> {
    fn check(&mut self, old: (&DataType, &Value), new: (&DataType, &Value)) -> Result<(), String> {
        let shown = show_path("value", &self.path);
        // Presence and oneofs decide whether a value is shown, never which.
        if self.read_otherwise.contains(&shown) && (old.1.is_null() || new.1.is_null()) {
            return Ok(());
        }
        match (old, new) {
            ((DataType::Struct(old_fields), Value::Object(old)), (DataType::Struct(new_fields), Value::Object(new))) => {
                for field in old_fields {
                    let Some(kept) = new_fields.iter().find(|new| new.name == field.name) else {
                        continue;
                    };
                    let values = ((&field.data_type, &old[&field.name]), (&kept.data_type, &new[&kept.name]));
                    self.below(SchemaStep::Field(field.name.clone()), values.0, values.1)?;
                }
                Ok(())
            }
            ((DataType::Array(old_type), Value::Array(old)), (DataType::Array(new_type), Value::Array(new))) if old.len() == new.len() => {
                (old.iter().zip(new)).try_for_each(|(old, new)| self.below(SchemaStep::Element, (old_type, old), (new_type, new)))
            }
            ((DataType::Map(_, old_type), Value::Array(old)), (DataType::Map(_, new_type), Value::Array(new)))
                if old.len() == new.len() =>
            {
                for (old, new) in old.iter().zip(new) {
                    if old[0] != new[0] {
                        return Err(format!("{shown}: key {} became {}", old[0], new[0]));
                    }
                    self.below(SchemaStep::MapValue, (old_type, &old[1]), (new_type, &new[1]))?;
                }
                Ok(())
            }
            ((_, old), (_, new)) if old == new => Ok(()),
            ((_, old), (_, new)) => Err(format!("{shown}: {old} became {new}")),
        }
    }

    fn below(&mut self, step: SchemaStep, old: (&DataType, &Value), new: (&DataType, &Value)) -> Result<(), String> {
        self.path.push(step);
        let result = self.check(old, new);
        self.path.pop();
        result
    }
}

/// Messages per pair of schemas: most pairs differ in places that few messages fill.
const MESSAGES: usize = 12;

/// Checks one pair of schemas; answers whether the update is one in place.
fn keeps_values(old: &SchemaText, new: &SchemaText, bytes: &[u8]) -> Result<bool, String> {
    let schemas = |text: &SchemaText| DirectSchemas {
        key: None,
        payload: Some(text.clone()),
    };
    let none = BTreeSet::new();
    let answer = verdict(&UpdateQuestion {
        history: &[schemas(old)],
        table_columns: None,
        deduplication_columns: &none,
        record_type_filter: None,
        excluded: &none,
        new_schemas: &schemas(new),
        new_excluded: &none,
    });
    let changes = match answer {
        Verdict::Refused { .. } => return Ok(false),
        Verdict::Unchanged => Vec::new(),
        Verdict::InPlace { changes } => changes,
    };
    let read_otherwise: BTreeSet<String> = changes
        .iter()
        .filter(|change| change.kinds.contains(&FindingKind::ReadOtherwise))
        .map(|change| change.path.clone())
        .collect();
    let (old, new) = (schema::parse(old).expect("old"), schema::parse(new).expect("new"));
    let mut entropy = Entropy { bytes, at: 0 };
    for _ in 0..MESSAGES {
        let payload = message(&old, &mut entropy);
        let (before, after) = (decoded(&old, &payload), decoded(&new, &payload));
        if before.is_null() || after.is_null() {
            return Err(format!("{before} became {after}: {payload:?}"));
        }
        let mut kept = Kept {
            read_otherwise: &read_otherwise,
            path: SchemaPath::new(),
        };
        kept.check((&old.data_type, &before), (&new.data_type, &after))
            .map_err(|error| format!("{error}\nbefore {before}\nafter {after}"))?;
    }
    Ok(true)
}

fn proto(schema_text: String) -> SchemaText {
    SchemaText::Proto {
        schema_text,
        message_name: "M".into(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn an_update_of_json_in_place_keeps_the_values_of_what_stays(
        old in schemas::json_text(), new in schemas::json_text(), bytes in prop::collection::vec(any::<u8>(), 1..64)
    ) {
        let checked = keeps_values(&SchemaText::Json(old), &SchemaText::Json(new), &bytes);
        prop_assert!(checked.is_ok(), "{}", checked.unwrap_err());
    }

    #[test]
    fn an_update_of_protobuf_in_place_keeps_the_values_of_what_stays(
        old in schemas::proto_text(), new in schemas::proto_text(), bytes in prop::collection::vec(any::<u8>(), 1..64)
    ) {
        let checked = keeps_values(&proto(old), &proto(new), &bytes);
        prop_assert!(checked.is_ok(), "{}", checked.unwrap_err());
    }

    #[test]
    fn an_update_of_avro_in_place_keeps_the_values_of_what_stays(
        old in schemas::avro_text(), new in schemas::avro_text(), bytes in prop::collection::vec(any::<u8>(), 1..64)
    ) {
        let checked = keeps_values(&SchemaText::Avro(old), &SchemaText::Avro(new), &bytes);
        prop_assert!(checked.is_ok(), "{}", checked.unwrap_err());
    }
}

#[test]
fn random_updates_are_often_in_place_and_change_something() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let bytes: Vec<u8> = (0..40).collect();
    let mut count = |texts: &mut dyn FnMut(&mut proptest::test_runner::TestRunner) -> SchemaText| {
        (0..100)
            .filter(|_| keeps_values(&texts(&mut runner), &texts(&mut runner), &bytes) == Ok(true))
            .count()
    };
    let json = count(&mut |runner| SchemaText::Json(schemas::json_text().new_tree(runner).expect("a text").current()));
    let protobuf = count(&mut |runner| proto(schemas::proto_text().new_tree(runner).expect("a text").current()));
    let avro = count(&mut |runner| SchemaText::Avro(schemas::avro_text().new_tree(runner).expect("a text").current()));
    assert!(json > 10 && protobuf > 10 && avro > 5, "{json}, {protobuf} and {avro} of 100");
}
