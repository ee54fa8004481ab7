//! What registries bring: frames before messages, writers' schemas with what no stream may have, and the text that is kept of a schema.

use std::path::PathBuf;

use base64::Engine;
use proptest::prelude::*;
use prost_reflect::prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage};
use serde_json::{Value, json};
use stream_decode::decoder::Decoder;
use stream_decode::framing::{Framing, SchemaKey, Split};
use stream_decode::plan::{compile, compile_writer};
use stream_spec::schema::{self, MessageChoice, ParsedSchema, RegisteredText, SchemaFormat, parse_writer, self_contained};
use stream_spec::stream::SchemaText;

use crate::oracle::element;

fn lines(name: &str) -> Vec<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn base64(text: &Value) -> Option<Vec<u8>> {
    let text = text.as_str()?;
    Some(base64::engine::general_purpose::STANDARD.decode(text).unwrap())
}

/// Checks that messages of a writer's schema decode by a reader's schema as by the text that is kept of it.
fn assert_kept(writer: &ParsedSchema, reader: &ParsedSchema, payloads: &[Option<Vec<u8>>]) {
    let text = self_contained(reader);
    let kept = schema::parse(&text).unwrap_or_else(|problems| panic!("{text:?}: {problems:?}"));
    let payloads: Vec<Option<&[u8]>> = payloads.iter().map(Option::as_deref).collect();
    let decoded = |reader: &ParsedSchema| {
        let plan = compile(writer, reader).unwrap();
        Decoder::new(vec![plan]).unwrap().decode(&payloads, &[]).unwrap()
    };
    let (expected, actual) = (decoded(reader), decoded(&kept));
    assert_eq!(&actual.array, &expected.array, "{text:?}");
    assert_eq!(actual.report, expected.report, "{text:?}");
}

#[test]
fn the_text_that_is_kept_of_a_schema_reads_every_recorded_message_as_the_schema_does() {
    let mut schemas = 0;
    let avro = |text: &Value| schema::parse(&SchemaText::Avro(text.as_str().map_or_else(|| text.to_string(), str::to_owned))).ok();
    for line in lines("from_avro.jsonl") {
        let Some(parsed) = avro(&line["schema"]) else { continue };
        assert_kept(&parsed, &parsed, &[base64(&line["input_base64"])]);
        schemas += 1;
    }
    for line in lines("spark_avro.jsonl") {
        let reader = line.get("reader").unwrap_or(&line["schema"]).to_string();
        let (writer, reader) = (avro(&Value::from(line["schema"].to_string())), avro(&Value::from(reader)));
        let (Some(writer), Some(reader)) = (writer, reader) else { continue };
        let payloads: Vec<Option<Vec<u8>>> = line["rows"].as_array().unwrap().iter().map(|row| base64(&row[0])).collect();
        assert_kept(&writer, &reader, &payloads);
        schemas += 1;
    }
    for line in lines("from_protobuf.jsonl") {
        let text = SchemaText::Proto {
            schema_text: line["proto"].as_str().unwrap().to_owned(),
            message_name: line["message"].as_str().unwrap().to_owned(),
        };
        let Ok(parsed) = schema::parse(&text) else { continue };
        assert_kept(&parsed, &parsed, &[base64(&line["input_base64"])]);
        schemas += 1;
    }
    assert!(schemas > 200, "{schemas}");
}

fn pinned(text: &SchemaText) -> ParsedSchema {
    schema::parse(text).unwrap()
}

/// A decoder of messages of a writer's text into a reader's columns.
fn decoder(format: SchemaFormat, writer: &str, reader: &ParsedSchema) -> Decoder {
    let registered = RegisteredText {
        format,
        text: writer,
        references: &[],
        message: MessageChoice::At(&[0]),
    };
    let wire = parse_writer(&registered, reader).unwrap();
    Decoder::new(vec![compile_writer(&wire, reader).unwrap()]).unwrap()
}

#[test]
fn what_no_stream_may_have_is_stepped_over_in_messages_of_a_protobuf_writer() {
    let reader = pinned(&SchemaText::Proto {
        schema_text: "syntax = \"proto3\"; message M { int32 a = 1; N n = 9; string z = 12; } message N { string s = 3; N2 again = 4; } \
                      message N2 { string s = 3; }"
            .to_owned(),
        message_name: "M".to_owned(),
    });
    let writer = "syntax = \"proto3\"; import \"google/protobuf/duration.proto\"; import \"google/protobuf/struct.proto\";
        message M { int32 a = 1; google.protobuf.Duration d = 2; map<int32, string> by = 3; fixed32 f = 4; google.protobuf.Struct s = 5; M me = 6;
            repeated fixed64 fs = 7; N n = 9; string z = 12; }
        message N { string s = 3; N again = 4; fixed64 f = 5; }";
    let mut pool = DescriptorPool::new();
    let file = protox_file(writer);
    pool.add_file_descriptor_set(file).unwrap();
    let kind = pool.get_message_by_name("M").unwrap();
    let text = r#"a: 7 d { seconds: 3 } by { key: 1 value: "x" } f: 9 s { fields { key: "k" value { number_value: 1 } } } me { a: 8 me { a: 9 } }
        fs: [1, 2] n { s: "in" f: 5 again { s: "deeper" again { s: "unseen" } } } z: "end""#;
    let bytes = DynamicMessage::parse_text_format(kind, text).unwrap().encode_to_vec();
    let decoded = decoder(SchemaFormat::Protobuf, writer, &reader)
        .decode(&[Some(&bytes)], &[])
        .unwrap();
    assert_eq!(decoded.report.misfit_messages(), 0);
    let expected = json!({"a": 7, "n": {"s": "in", "again": {"s": "deeper"}}, "z": "end"});
    assert_eq!(element(&decoded.array, 0), expected);
}

fn protox_file(text: &str) -> prost_reflect::prost_types::FileDescriptorSet {
    use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};

    struct Text(String);
    impl FileResolver for Text {
        fn open_file(&self, name: &str) -> Result<File, protox::Error> {
            if name == "writer.proto" {
                File::from_source(name, &self.0)
            } else {
                Err(protox::Error::file_not_found(name))
            }
        }
    }
    let mut resolver = ChainFileResolver::new();
    resolver.add(Text(text.to_owned()));
    resolver.add(GoogleFileResolver::new());
    let mut compiler = protox::Compiler::with_file_resolver(resolver);
    compiler.open_file("writer.proto").unwrap();
    compiler.include_imports(true).file_descriptor_set()
}

#[test]
fn an_avro_record_inside_itself_is_stepped_over() {
    let record = |fields: &str| format!(r#"{{"type":"record","name":"R","fields":[{fields}{{"name":"b","type":"string"}}]}}"#);
    let reader = pinned(&SchemaText::Avro(record("")));
    let writer = record(r#"{"name":"a","type":"int"},{"name":"me","type":["null","R"]},"#);
    let mut decoder = decoder(SchemaFormat::Avro, &writer, &reader);
    let inner = [4, 0, 2, b'y'];
    let outer = [&[2, 2][..], &inner, &[2, b'x']].concat();
    let decoded = decoder.decode(&[Some(&outer), Some(&inner)], &[]).unwrap();
    assert_eq!(
        (element(&decoded.array, 0), element(&decoded.array, 1)),
        (json!({"b": "x"}), json!({"b": "y"}))
    );
}

/// A zig-zag varint.
fn varint(number: u32, out: &mut Vec<u8>) {
    let mut bits = u64::from(number) << 1;
    while bits > 0x7f {
        out.push(bits as u8 | 0x80);
        bits >>= 7;
    }
    out.push(bits as u8);
}

fn key() -> impl Strategy<Value = SchemaKey> {
    let index = || prop_oneof![8 => 0..3_u32, 1 => 0..=0x7fff_ffff_u32];
    (prop_oneof![8 => 0..5_u32, 1 => any::<u32>()], prop::collection::vec(index(), 1..=4)).prop_map(|(id, indexes)| SchemaKey {
        id,
        indexes: indexes.into(),
    })
}

proptest! {
    #[test]
    fn what_a_frame_names_comes_back_whatever_came_before(messages in prop::collection::vec((key(), prop::collection::vec(any::<u8>(), 0..8)), 1..20)) {
        let (mut avro, mut protobuf) = (Framing::new(SchemaFormat::Avro), Framing::new(SchemaFormat::Protobuf));
        for (expected, body) in &messages {
            let mut head = vec![0];
            head.extend(expected.id.to_be_bytes());
            let bare = [head.as_slice(), body].concat();
            match avro.split(&bare) {
                Split::Framed { key, body: found } => {
                    prop_assert_eq!(&avro.keys()[usize::from(key)], &SchemaKey { id: expected.id, indexes: [].into() });
                    prop_assert_eq!(found, body.as_slice());
                }
                other => prop_assert!(false, "{other:?}"),
            }
            if *expected.indexes == [0] {
                head.push(0);
            } else {
                varint(expected.indexes.len() as u32, &mut head);
                expected.indexes.iter().for_each(|index| varint(*index, &mut head));
            }
            head.extend(body);
            match protobuf.split(&head) {
                Split::Framed { key, body: found } => {
                    prop_assert_eq!(&protobuf.keys()[usize::from(key)], expected);
                    prop_assert_eq!(found, body.as_slice());
                }
                other => prop_assert!(false, "{other:?}"),
            }
        }
    }

    #[test]
    fn any_bytes_are_split_the_same_alone_and_among_others(payloads in prop::collection::vec(prop::collection::vec(prop_oneof![Just(0_u8), Just(2), any::<u8>()], 0..12), 0..20)) {
        for format in [SchemaFormat::Avro, SchemaFormat::Protobuf] {
            let mut together = Framing::new(format);
            for payload in &payloads {
                let mut alone = Framing::new(format);
                match (together.split(payload), alone.split(payload)) {
                    (Split::Framed { key, body }, Split::Framed { key: first, body: same }) => {
                        prop_assert_eq!(&together.keys()[usize::from(key)], &alone.keys()[usize::from(first)]);
                        prop_assert_eq!(body, same);
                        prop_assert!(payload.ends_with(body) && payload.len() >= body.len() + 5);
                    }
                    (together, alone) => prop_assert_eq!(together, alone),
                }
            }
        }
    }
}
