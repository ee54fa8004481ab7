//! Protobuf messages: random ones whose answers Google's parser gave, and what these leave out.

use std::path::PathBuf;
use std::sync::OnceLock;

use arrow_array::Array;
use base64::Engine;
use proptest::prelude::*;
use serde_json::{Value, json};
use stream_decode::decoder::Decoder;
use stream_decode::error::CompileError;
use stream_decode::limits::{BATCH_CELLS_MAX, PROTOBUF_MADE_UP_BYTES_PER_MESSAGE_MAX, STRUCT_CELLS_PER_MESSAGE_MAX};
use stream_decode::plan::{Plan, compile};
use stream_decode::report::MisfitReason;
use stream_spec::schema::ParsedSchema;
use stream_spec::schema::protobuf::parse_as_spark;

use crate::oracle::{agree, element, protobuf};

/// Bytes and answers of the messages of one schema.
struct Asked {
    proto: String,
    message: String,
    answers: Vec<(Vec<u8>, Value)>,
}

fn asked() -> Vec<Asked> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/from_protobuf_fuzz.jsonl");
    let mut all: Vec<Asked> = Vec::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        match (&line["proto"], &line["message"]) {
            (Value::String(proto), Value::String(message)) => all.push(Asked {
                proto: proto.clone(),
                message: message.clone(),
                answers: Vec::new(),
            }),
            _ => {
                let bytes = base64::engine::general_purpose::STANDARD.decode(line[0].as_str().unwrap()).unwrap();
                all.last_mut().unwrap().answers.push((bytes, line[1].clone()));
            }
        }
    }
    all
}

#[test]
fn random_messages_of_random_schemas_are_read_as_google_s_parser_and_spark_s_layer_read_them() {
    let (mut messages, mut wrong) = (0, Vec::new());
    for Asked { proto, message, answers } in asked() {
        let payloads: Vec<Option<&[u8]>> = answers.iter().map(|(bytes, _)| Some(bytes.as_slice())).collect();
        let mut decoder = match protobuf::decoder(&proto, &message) {
            Ok(decoder) => decoder,
            Err(error) => {
                wrong.push(format!("{proto}\n  refused: {error}"));
                continue;
            }
        };
        let array = decoder.decode(&payloads, &[]).unwrap().array;
        array.to_data().validate_full().unwrap();
        let exact = decoder.without_fast_way().decode(&payloads, &[]).unwrap().array;
        assert_eq!(&array, &exact, "the two ways agree on {proto}");
        for (row, (bytes, expected)) in answers.iter().enumerate() {
            messages += 1;
            let ours = element(&array, row);
            if !agree(expected, &ours) {
                wrong.push(format!("{proto}{}\n  expected {expected}\n  ours     {ours}", bytes.escape_ascii()));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {messages}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(messages >= 5000, "{messages}");
}

/// One message of `M` as JSON, `M` being declared by that text.
fn decode(proto: &str, bytes: &[u8]) -> Value {
    protobuf::decode_one(proto, "M", Some(bytes))
}

#[test]
fn a_batch_ends_where_its_cells_are_used_up() {
    let fields: String = (1..=300).map(|number| format!("bool f{number} = {number};")).collect();
    let proto = format!(r#"syntax = "proto3"; message W {{ {fields} }} message M {{ repeated W l = 1; }}"#);
    let message = [0x0a, 0].repeat(BATCH_CELLS_MAX / 300 + 1);
    let payloads = [Some(&[][..]), Some(&message), Some(&message), Some(&[])];
    let mut decoder = protobuf::decoder(&proto, "M").unwrap();
    let first = decoder.decode(&payloads, &[]).unwrap().array;
    let rest = decoder.decode(&payloads[first.len()..], &[]).unwrap().array;
    assert_eq!((first.len(), rest.len()), (2, 1));
    assert_eq!(&first.slice(1, 1), &rest, "where a batch ends does not matter");
    // What comes out without being in the messages counts too.
    let name = "N".repeat(1 << 9);
    let proto = format!(r#"syntax = "proto3"; message M {{ repeated E e = 1; }} enum E {{ {name} = 0; }}"#);
    let message = [&[0x0a, 0x80, 0x80, 1][..], &[0; 1 << 14]].concat();
    let mut decoder = protobuf::decoder(&proto, "M").unwrap();
    assert_eq!(decoder.decode(&[Some(message.as_slice()); 8], &[]).unwrap().array.len(), 4);
}

/// The reason why a message was given up.
fn misfit(proto: &str, bytes: &[u8]) -> Option<MisfitReason> {
    let decoded = protobuf::decoder(proto, "M").unwrap().decode(&[Some(bytes)], &[]).unwrap();
    let reasons: Vec<MisfitReason> = decoded.report.counts().iter().map(|count| count.reason).collect();
    assert_eq!(
        decoded.array.is_null(0),
        !reasons.is_empty(),
        "a message is given up as a whole and then only reported"
    );
    reasons.first().copied()
}

fn schema(proto: &str) -> ParsedSchema {
    parse_as_spark(proto, "M").unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// Messages of one text read as another has them.
fn decode_as(writer: &str, reader: &str, bytes: &[u8]) -> Value {
    let plan = compile(&schema(writer), &schema(reader)).unwrap();
    let mut decoder = Decoder::new(vec![plan]).unwrap();
    let array = decoder.decode(&[Some(bytes)], &[]).unwrap().array;
    array.to_data().validate_full().unwrap();
    let exact = decoder.without_fast_way().decode(&[Some(bytes)], &[]).unwrap().array;
    assert_eq!(&array, &exact, "the two ways agree on {bytes:x?}");
    element(&array, 0)
}

#[test]
fn what_is_wrong_with_a_message_is_reported() {
    let proto = r#"syntax = "proto2"; enum E { A = 1; } message N { required int32 x = 1; } message T { optional string s = 1; }
        message Timestamp { optional int64 seconds = 1; optional int32 nanos = 2; }
        message M { optional int32 a = 1; optional E e = 2; optional N n = 3; optional Timestamp t = 4; repeated E r = 5; }"#;
    assert_eq!(misfit(proto, b"\x08\x01"), None);
    assert_eq!(misfit(proto, b"\x08"), Some(MisfitReason::Malformed));
    assert_eq!(misfit(proto, b"\x0a\x00"), Some(MisfitReason::WrongKind));
    assert_eq!(misfit(proto, b"\x10\x02"), Some(MisfitReason::UnknownSymbol));
    assert_eq!(misfit(proto, b"\x2a\x02\x01\x02"), Some(MisfitReason::UnknownSymbol));
    assert_eq!(misfit(proto, b"\x1a\x00"), Some(MisfitReason::MissingField));
    assert_eq!(misfit(proto, b"\x22\x08\x08\xf6\xb5\xc1\xde\xb7\x8c\x02"), None);
    assert_eq!(
        misfit(proto, b"\x22\x08\x08\xf7\xb5\xc1\xde\xb7\x8c\x02"),
        Some(MisfitReason::OutOfRange)
    );
    assert_eq!(misfit(proto, &[0x4b; 101]), Some(MisfitReason::BeyondLimit));
}

#[test]
fn messages_lie_in_each_other_to_a_depth_of_one_hundred() {
    let inside = |depth: usize| {
        let group = [vec![0x4b; depth], vec![0x4c; depth]].concat();
        [&[0x0a, group.len() as u8][..], &group, b"\x10\x07"].concat()
    };
    let proto = r#"syntax = "proto3"; message N { int32 x = 1; } message M { N n = 1; int32 b = 2; }"#;
    assert_eq!(decode(proto, &inside(60)), json!({"n": {"x": null}, "b": 7}));
    let groups = |depth: usize| [vec![0x4b; depth], vec![0x4c; depth], b"\x10\x07".to_vec()].concat();
    assert_eq!(decode(proto, &groups(100)), json!({"n": null, "b": 7}));
    assert_eq!(decode(proto, &groups(101)), Value::Null);
    assert_eq!(decode(proto, &vec![0x4b; 10_000_000]), Value::Null);
    // The group is inside of n, so one level less is left for it.
    let nested = |depth: usize| {
        let group = [vec![0x4b; depth], vec![0x4c; depth]].concat();
        let len = [group.len() as u8 | 0x80, (group.len() >> 7) as u8];
        [&[0x0a][..], &len, &group].concat()
    };
    assert_eq!(decode(proto, &nested(99)), json!({"n": {"x": null}, "b": null}));
    assert_eq!(decode(proto, &nested(100)), Value::Null);
}

#[test]
fn a_length_beyond_the_message_takes_no_memory() {
    let proto = r#"syntax = "proto3"; message N { string s = 1; } message M { string s = 1; bytes b = 2; repeated int32 r = 3; N n = 4;
        map<string, N> k = 5; repeated N l = 6; }"#;
    for length in [
        &b"\xff\xff\xff\xff\x07"[..],
        b"\xff\xff\xff\xff\x0f",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x02x",
    ] {
        for tag in [0x0a, 0x12, 0x1a, 0x22, 0x2a, 0x32, 0x3a] {
            assert_eq!(decode(proto, &[&[tag][..], length].concat()), Value::Null, "{tag:x} {length:x?}");
        }
    }
}

#[test]
fn a_message_that_would_fill_the_memory_is_given_up() {
    let fields: String = (1..=1000).map(|number| format!("int32 f{number} = {number};")).collect();
    let wide =
        format!(r#"syntax = "proto3"; message W {{ {fields} }} message M {{ repeated W w = 1; map<string, W> k = 2; int32 a = 3; }}"#);
    let fits = STRUCT_CELLS_PER_MESSAGE_MAX / 1001 - 1;
    assert_eq!(misfit(&wide, &b"\x0a\x00".repeat(fits)), None);
    assert_eq!(misfit(&wide, &b"\x0a\x00".repeat(fits + 2)), Some(MisfitReason::BeyondLimit));
    assert_eq!(misfit(&wide, &b"\x12\x00".repeat(fits + 2)), Some(MisfitReason::BeyondLimit));

    let name = "N".repeat(500);
    let names = format!(r#"syntax = "proto3"; enum E {{ {name} = 0; }} message M {{ repeated E e = 1; }}"#);
    let packed = |count: usize| {
        let mut bytes = vec![0x0a];
        bytes.extend([count as u8 | 0x80, (count >> 7) as u8 | 0x80, (count >> 14) as u8]);
        bytes.resize(4 + count, 0);
        bytes
    };
    let fits = PROTOBUF_MADE_UP_BYTES_PER_MESSAGE_MAX / name.len();
    assert_eq!(misfit(&names, &packed(fits)), None);
    assert_eq!(misfit(&names, &packed(fits + 1)), Some(MisfitReason::BeyondLimit));

    let default =
        format!(r#"syntax = "proto2"; message D {{ optional string s = 1 [default = "{name}"]; }} message M {{ repeated D d = 1; }}"#);
    assert_eq!(misfit(&default, &b"\x0a\x00".repeat(fits)), None);
    assert_eq!(misfit(&default, &b"\x0a\x00".repeat(fits + 1)), Some(MisfitReason::BeyondLimit));
}

#[test]
fn what_is_superseded_leaves_no_trace_in_this_row_or_later_ones() {
    let proto = r#"syntax = "proto2"; message N { required int32 x = 1; repeated string l = 2; map<string, N2> k = 3; optional N2 n = 4; }
        message N2 { required int32 y = 1; optional string s = 2; }
        message M { oneof o { N n = 1; string s = 2; N2 m = 3; } }"#;
    let n = b"\x0a\x10\x12\x01a\x12\x01b\x1a\x02\x0a\x00\x22\x04\x12\x02xy";
    assert_eq!(decode(proto, n), Value::Null, "required fields lack");
    let payloads: [&[u8]; 4] = [
        &[n, &b"\x12\x01z"[..]].concat(),
        &[n, &b"\x12\x01z\x0a\x05\x08\x01\x12\x01c"[..]].concat(),
        &[n, &b"\x08\x01"[..]].concat(),
        b"\x1a\x02\x08\x05\x1a\x03\x12\x01q",
    ];
    let payloads: Vec<Option<&[u8]>> = payloads.into_iter().map(Some).collect();
    let array = protobuf::decoder(proto, "M").unwrap().decode(&payloads, &[]).unwrap().array;
    array.to_data().validate_full().unwrap();
    let rows: Vec<Value> = (0..payloads.len()).map(|row| element(&array, row)).collect();
    let expected = [
        json!({"n": null, "s": "z", "m": null}),
        json!({"n": {"x": 1, "l": ["c"], "k": [], "n": null}, "s": null, "m": null}),
        Value::Null,
        json!({"n": null, "s": null, "m": {"y": 5, "s": "q"}}),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn of_a_wide_message_every_field_is_told_apart() {
    let fields: String = (1..=70).map(|number| format!("int32 f{number} = {number};")).collect();
    let proto = format!(
        r#"syntax = "proto3"; message N {{ int32 x = 1; }} message M {{ {fields} repeated int32 l = 71; N n = 72; map<string, N> k = 73; }}"#
    );
    let check = |bytes: &[u8], expected: &[(&str, Value)]| {
        let mut row = json!({"l": [], "n": null, "k": []});
        (1..=70).for_each(|number| row[format!("f{number}")] = Value::Null);
        expected.iter().for_each(|(name, value)| row[*name] = value.clone());
        assert!(agree(&row, &decode(&proto, bytes)), "{bytes:x?}");
    };
    check(b"", &[]);
    check(b"\x08\x05\xb0\x04\x07", &[("f1", json!(5)), ("f70", json!(7))]);
    check(b"\xb0\x04\x07\xb0\x04\x08", &[("f70", json!(8))]);
    check(b"\xb0\x04\x07\xb0\x04\x00", &[]);
    check(b"\x80\x04\x01\x88\x04\x02", &[("f64", json!(1)), ("f65", json!(2))]);
    check(
        b"\xb8\x04\x03\xc2\x04\x02\x08\x01\xb8\x04\x04\xca\x04\x03\x0a\x01k",
        &[("l", json!([3, 4])), ("n", json!({"x": 1})), ("k", json!([["k", {"x": null}]]))],
    );
    check(b"\xc2\x04\x02\x08\x01\xc2\x04\x00", &[("n", json!({"x": 1}))]);
}

#[test]
fn a_message_without_fields_has_no_column_but_its_bytes_count() {
    let proto = r#"syntax = "proto3"; message Z {} message Y { Z z = 1; } message M { Z z = 1; repeated Y y = 2; map<string, Z> k = 3; int32 a = 4; }"#;
    assert_eq!(
        decode(proto, b"\x0a\x02\x08\x01\x12\x02\x0a\x00\x1a\x02\x0a\x00\x20\x05"),
        json!({"a": 5})
    );
    assert_eq!(decode(proto, b"\x0a\x02\x08\x01\x20"), Value::Null);
    assert_eq!(decode(proto, b"\x0a\x01\x08\x20\x05"), Value::Null);
    assert_eq!(
        decode(proto, b"\x08\x01\x20\x05"),
        Value::Null,
        "a known field on another wire kind"
    );
}

#[test]
fn a_reader_s_fields_are_found_by_number() {
    let writer = r#"syntax = "proto3"; message N { int32 x = 1; string gone = 2; int32 y = 3; }
        message M { int32 a = 1; sint32 b = 2; uint32 c = 3; string gone = 4; repeated N n = 5; map<string, int32> k = 6; N lost = 7; }"#;
    let reader = r#"syntax = "proto2"; enum E { P = 3; Q = 0; } message N { optional int64 why = 3; optional int64 x = 1; optional int32 z = 9; }
        message M { repeated N n = 5; optional int64 c = 3; optional sint64 b = 2; optional int64 renamed = 1;
            map<string, int64> k = 6; optional string s = 20 [default = "none"]; repeated string l = 21; map<string, N> m = 22;
            optional N o = 23; optional E e = 24 [default = Q]; required int32 r = 25; }"#;
    let bytes = b"\x08\xfb\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\x09\x18\xff\xff\xff\xff\x0f\x22\x01g\x2a\x07\x08\x01\x12\x01h\x18\x02\
        \x32\x05\x0a\x01k\x10\x07\x3a\x02\x08\x01";
    let expected = json!({
        "n": [{"why": 2, "x": 1, "z": null}], "c": 4_294_967_295_u32, "b": -5, "renamed": -5, "k": [["k", 7]], "s": "none", "l": [],
        "m": [], "o": null, "e": "Q", "r": null
    });
    assert_eq!(decode_as(writer, reader, bytes), expected);
    assert_eq!(
        decode_as(writer, reader, b""),
        json!({
            "n": [], "c": null, "b": null, "renamed": null, "k": [], "s": "none", "l": [], "m": [], "o": null, "e": "Q", "r": null
        })
    );
}

#[test]
fn what_the_writer_s_schema_finds_wrong_counts_in_fields_that_the_reader_lacks() {
    let writer = r#"syntax = "proto2"; message N { required int32 x = 1; } message M { optional int32 a = 1; optional N n = 2;
        repeated N l = 3; map<string, N> k = 4; oneof o { N p = 5; int32 q = 6; } }"#;
    let reader = r#"syntax = "proto2"; message M { optional int32 a = 1; optional int32 q = 6; }"#;
    let cases: [(&[u8], Value); 8] = [
        (
            b"\x08\x01\x12\x02\x08\x01\x1a\x02\x08\x01\x22\x04\x12\x02\x08\x01",
            json!({"a": 1, "q": null}),
        ),
        (b"\x12\x00", Value::Null),
        (b"\x1a\x00", Value::Null),
        (b"\x22\x00", Value::Null),
        (b"\x2a\x00", Value::Null),
        (b"\x2a\x00\x30\x01", json!({"a": null, "q": 1})),
        (b"\x30\x01\x2a\x02\x08\x01", json!({"a": null, "q": null})),
        (b"\x10\x01", Value::Null),
    ];
    for (bytes, expected) in cases {
        assert_eq!(decode_as(writer, reader, bytes), expected, "{bytes:x?}");
    }
    let proto3 = r#"syntax = "proto3"; message M { int32 a = 1; string s = 2; }"#;
    assert_eq!(decode_as(proto3, reader, b"\x08\x01\x12\x01x"), json!({"a": 1, "q": null}));
    assert_eq!(decode_as(proto3, reader, b"\x08\x01\x12\x01\xff"), Value::Null);
}

#[test]
fn fields_whose_bytes_mean_something_else_are_refused_by_name() {
    let message = |field: &str| {
        format!(r#"syntax = "proto3"; enum E {{ Z = 0; }} message O {{ int32 x = 1; }} message I {{ {field} }} message M {{ I i = 3; }}"#)
    };
    let cases = [
        ("int32 a = 1;", "string a = 1;", "int32", "string"),
        ("int32 a = 1;", "sint32 a = 1;", "int32", "sint32"),
        ("int64 a = 1;", "int32 a = 1;", "int64", "int32"),
        ("float a = 1;", "double a = 1;", "float", "double"),
        ("sfixed32 a = 1;", "sfixed64 a = 1;", "sfixed32", "sfixed64"),
        ("int32 a = 1;", "repeated int32 a = 1;", "int32", "repeated int32"),
        ("E a = 1;", "string a = 1;", "enum E", "string"),
        ("O a = 1;", "bytes a = 1;", "message O", "bytes"),
        (
            "map<string, int32> a = 1;",
            "repeated O a = 1;",
            "map<string, int32>",
            "repeated message O",
        ),
        (
            "map<string, int32> a = 1;",
            "map<string, bool> a = 1;",
            "map<string, int32>",
            "map<string, bool>",
        ),
    ];
    for (writer, reader, written, read) in cases {
        let error = compile(&schema(&message(writer)), &schema(&message(reader))).unwrap_err();
        let expected = CompileError::ProtobufField {
            field: "i.a".into(),
            number: 1,
            writer: written.into(),
            reader: read.into(),
        };
        assert_eq!(error, expected);
    }
    let shown = compile(&schema(&message("int32 a = 1;")), &schema(&message("bool a = 1;")))
        .unwrap_err()
        .to_string();
    assert_eq!(
        shown,
        "field `i.a` (number 1) is written as int32 and read as bool: give a changed field a new number"
    );
}

/// Schemas with every kind of field, each in a place where something can go wrong.
const PROTOS: [&str; 3] = [
    r#"syntax = "proto3"; import "google/protobuf/wrappers.proto"; import "google/protobuf/timestamp.proto"; enum E { Z = 0; ONE = 1; }
        message N { int32 a = 1; string b = 2; repeated N2 c = 3; N2 d = 4; oneof o { string e = 5; N2 f = 6; E g = 7; } }
        message N2 { double a = 1; map<string, E> b = 2; repeated sint64 c = 3; google.protobuf.Timestamp d = 4; }
        message M { N a = 1; string b = 2; repeated N c = 3; map<string, N> d = 4; google.protobuf.StringValue e = 5;
            repeated google.protobuf.Timestamp f = 6; repeated fixed32 g = 7; bytes h = 8; bool i = 2000; uint64 j = 70000; }"#,
    r#"syntax = "proto2"; import "google/protobuf/wrappers.proto"; enum E { ONE = 1; TWO = 2; }
        message N { required int32 a = 1; optional string b = 2 [default = "d"]; repeated E c = 3; optional group G = 4 { required E x = 1; } }
        message M { optional N a = 1; repeated group R = 2 { optional N n = 1; repeated string s = 2; } optional E c = 3;
            oneof o { N d = 4; google.protobuf.Int64Value e = 5; float f = 6; } map<string, N> g = 7; }"#,
    r#"edition = "2023"; message N { int32 a = 1 [features.field_presence = LEGACY_REQUIRED]; string b = 2 [features.utf8_validation = NONE]; }
        message M { N a = 1 [features.message_encoding = DELIMITED]; repeated N b = 2; map<string, string> c = 3; repeated bool d = 4; }"#,
];

/// Compiling a text takes longer than a thousand messages.
fn plans() -> &'static [Plan] {
    static PLANS: OnceLock<Vec<Plan>> = OnceLock::new();
    PLANS.get_or_init(|| {
        let plan = |proto: &&str| compile(&schema(proto), &schema(proto)).unwrap();
        PROTOS.iter().map(plan).collect()
    })
}

/// Bytes that are often a field of one of those schemas, and often not.
fn message(depth: u32) -> BoxedStrategy<Vec<u8>> {
    let varint = prop_oneof![
        3 => (0_u8..4).prop_map(|byte| vec![byte]),
        1 => proptest::collection::vec(any::<u8>(), 1..11),
        1 => Just(vec![0xff, 0xff, 0xff, 0xff, 0x07]),
    ];
    let fixed = proptest::collection::vec(any::<u8>(), 4..=4);
    let inner = if depth == 0 {
        proptest::collection::vec(any::<u8>(), 0..6).boxed()
    } else {
        message(depth - 1)
    };
    let value = (varint, fixed, inner);
    let field = (1_u8..9, 0_u8..6, value).prop_map(|(number, kind, (varint, fixed, inner))| {
        let tag = number << 3 | kind;
        match kind {
            0 => [vec![tag], varint].concat(),
            1 => [vec![tag], fixed.repeat(2)].concat(),
            2 => [vec![tag, inner.len() as u8 & 0x7f], inner].concat(),
            3 => [vec![tag], inner, vec![tag + 1]].concat(),
            5 => [vec![tag], fixed].concat(),
            _ => vec![tag],
        }
    });
    proptest::collection::vec(field, 0..6).prop_map(|fields| fields.concat()).boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_protobuf_bytes_make_one_row_each_and_no_neighbour_matters(
        proto in 0..PROTOS.len(),
        payloads in proptest::collection::vec(
            proptest::option::weighted(0.95, prop_oneof![5 => message(3), 1 => proptest::collection::vec(any::<u8>(), 0..40)]),
            0..12,
        ),
    ) {
        let rows = |decoder: &mut Decoder, payloads: &[Option<Vec<u8>>]| {
            let payloads: Vec<Option<&[u8]>> = payloads.iter().map(Option::as_deref).collect();
            decoder.decode(&payloads, &[]).unwrap()
        };
        let decoder = || Decoder::new(vec![plans()[proto].clone()]).unwrap();
        let mut together = decoder();
        let decoded = rows(&mut together, &payloads);
        prop_assert_eq!(decoded.array.len(), payloads.len());
        decoded.array.to_data().validate_full().unwrap();
        let nulls = decoded.report.misfit_messages() + payloads.iter().filter(|payload| payload.is_none()).count();
        prop_assert_eq!(decoded.array.null_count(), nulls, "what is given up is reported");
        for (row, payload) in payloads.iter().enumerate() {
            let alone = rows(&mut decoder(), std::slice::from_ref(payload)).array;
            prop_assert_eq!(&decoded.array.slice(row, 1), &alone, "row {}", row);
        }
        let again = rows(&mut together, &payloads);
        prop_assert_eq!(&decoded.array, &again.array, "a used decoder decodes as a new one");
        let exact = rows(&mut decoder().without_fast_way(), &payloads);
        prop_assert_eq!(&decoded.array, &exact.array, "the two ways agree");
        prop_assert_eq!(decoded.report, exact.report, "on what they report too");
    }
}
