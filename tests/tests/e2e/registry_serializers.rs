//! Messages of Confluent's own serializers: their frames, and the schemas that these name, which the serializers registered.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as STANDARD;
use e2e::api::block_on;
use e2e::confluent::{Part, Serialized, Serializer, built_in_files};
use e2e::registry::{Registry, Schema, SmallRegistry};
use prost_reflect::prost::Message;
use prost_types::{FileDescriptorProto, FileDescriptorSet};
use serde_json::{Value, json};
use stream_decode::decoder::Decoder;
use stream_decode::framing::{self, Framing, Split};
use stream_decode::plan::compile_writer;
use stream_pipeline::registry::{RegisteredSchema, RegistryClient, RegistryProperties};
use stream_spec::schema::{
    MessageChoice, ParsedSchema, ReferencedText, RegisteredText, SchemaFormat, SchemaProblem, parse_with, self_contained,
};

fn client(url: &str) -> RegistryClient {
    let properties = RegistryProperties {
        urls: RegistryProperties::urls_of(url),
        api_key: None,
        api_secret: None,
        ca_pem: None,
        identity: "test".into(),
    };
    RegistryClient::open(&properties).unwrap()
}

/// Decodes framed messages by the schemas that they name into the columns of one, as a stream does.
fn rows(client: &RegistryClient, subject: &str, reader: &ParsedSchema, messages: &[Serialized]) -> Vec<Value> {
    let mut framing = Framing::new(reader.format);
    let (mut keys, mut bodies) = (Vec::new(), Vec::new());
    for message in messages {
        match framing.split(&message.bytes) {
            Split::Framed { key, body } => {
                keys.push(key);
                bodies.push(Some(body));
            }
            other => panic!("{other:?}: {message:?}"),
        }
    }
    let plan = |key: &framing::SchemaKey| {
        assert_eq!(block_on(client.has_subject(key.id, subject)), Ok(true), "{key:?}");
        let schema: Arc<RegisteredSchema> = block_on(client.by_id(key.id, subject)).unwrap();
        compile_writer(&schema.parse_writer(&key.indexes, reader).unwrap(), reader).unwrap()
    };
    let mut decoder = Decoder::new(framing.keys().iter().map(plan).collect()).unwrap();
    let decoded = decoder.decode(&bodies, &keys).unwrap();
    assert_eq!(decoded.report.misfit_messages(), 0, "{:?}", decoded.report);
    let mut text = Vec::new();
    let struct_array = decoded.array.as_any().downcast_ref::<arrow_array::StructArray>().unwrap();
    let mut writer = arrow_json::LineDelimitedWriter::new(&mut text);
    writer.write(&arrow_array::RecordBatch::from(struct_array.clone())).unwrap();
    writer.finish().unwrap();
    let text = String::from_utf8(text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const FIRST: &str = r#"{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"int"},{"name":"state","type":
    {"type":"enum","name":"State","symbols":["NEW","PAID"],"default":"NEW"}}]}"#;
const SECOND: &str = r#"{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"note","type":["null","string"],"default":null},
    {"name":"id","type":"long"},{"name":"state","type":{"type":"enum","name":"State","symbols":["NEW","PAID","LOST"],"default":"NEW"}}]}"#;

/// apache/hudi#8966, risingwavelabs/risingwave#22082: each message by its own writer's schema, old and new ones side by side.
#[test]
fn avro_messages_of_two_writers_are_told_apart_by_their_frames() {
    let registry = Registry::start();
    let of = |schema: &str| Serializer::avro(registry.url(), "orders", Part::Value, schema);
    let old = of(FIRST).serialize(&[json!({"id": 1, "state": "PAID"}), json!({"id": 3, "state": "NEW"})]);
    let new = of(SECOND).serialize(&[
        json!({"id": 1_i64 << 40, "note": "n", "state": "LOST"}),
        json!({"id": 4, "note": null, "state": "PAID"}),
    ]);
    let client = client(registry.url());
    let latest = block_on(client.latest("orders-value", SchemaFormat::Avro)).unwrap();
    assert_eq!(latest.version, Some(2));
    let reader = latest.parse(MessageChoice::At(&[0])).unwrap();
    let mixed = [&old[0], &new[0], &old[1], &new[1]].map(Clone::clone);
    let expected = [
        json!({"id": 1, "state": "PAID"}),
        json!({"id": 1_i64 << 40, "note": "n", "state": "LOST"}),
        json!({"id": 3, "state": "NEW"}),
        json!({"id": 4, "state": "PAID"}),
    ];
    assert_eq!(rows(&client, "orders-value", &reader, &mixed), expected);
    // Seen by the older schema, as a stream whose pinned version it is.
    let reader = block_on(client.by_id(latest.id - 1, "orders-value")).unwrap();
    let reader = reader.parse(MessageChoice::At(&[0])).unwrap();
    assert_eq!(
        rows(&client, "orders-value", &reader, &old),
        [expected[0].clone(), expected[2].clone()]
    );
}

const COMMON: &str = "syntax = \"proto3\"; package common; message Money { int64 units = 1; }";
const SHOP: &str = "syntax = \"proto3\"; package shop; import \"common.proto\"; import \"google/protobuf/timestamp.proto\";
    message First { int32 x = 1; }
    message Order { int64 id = 1; common.Money sum = 2; google.protobuf.Timestamp at = 3; map<string, int32> marks = 4; message Line { string s = 1; } }";

/// Compiles texts, and what they import of the others, of `compiled` files or of the compiler's own.
fn compiled(texts: &[(&'static str, &'static str)], compiled: &[FileDescriptorProto]) -> Vec<u8> {
    use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};

    struct Files(HashMap<String, File>);
    impl FileResolver for Files {
        fn open_file(&self, name: &str) -> Result<File, protox::Error> {
            self.0.get(name).cloned().ok_or_else(|| protox::Error::file_not_found(name))
        }
    }
    let of_texts = texts.iter().map(|(name, text)| File::from_source(name, text).unwrap());
    let files = of_texts.chain(compiled.iter().cloned().map(File::from_file_descriptor_proto));
    let mut resolver = ChainFileResolver::new();
    resolver.add(Files(files.map(|file| (file.name().to_owned(), file)).collect()));
    resolver.add(GoogleFileResolver::new());
    let mut compiler = protox::Compiler::with_file_resolver(resolver);
    compiler.open_files(texts.iter().map(|(name, _)| name)).unwrap();
    compiler.include_imports(true).file_descriptor_set().encode_to_vec()
}

/// The serializers register files as compiled descriptors, with what they import as references.
fn assert_protobuf(url: &str) {
    let client = client(url);
    let files = compiled(&[("common.proto", COMMON), ("shop.proto", SHOP)], &[]);
    let messages = |topic: &str, message: &str, value: Value| {
        let written = Serializer::protobuf(url, topic, Part::Value, &files, message).serialize(&[value]);
        let subject = format!("{topic}-value");
        let latest = block_on(client.latest(&subject, SchemaFormat::Protobuf)).unwrap();
        let mut framing = Framing::new(SchemaFormat::Protobuf);
        framing.split(&written[0].bytes);
        let indexes = framing.keys()[0].indexes.clone();
        let reader = latest.parse(MessageChoice::At(&indexes)).unwrap();
        (indexes, rows(&client, &subject, &reader, &written))
    };
    let (indexes, found) = messages("first", "shop.First", json!({"x": 7}));
    assert_eq!((&*indexes, found), (&[0_u32][..], vec![json!({"x": 7})]));
    let order = json!({"id": "5", "sum": {"units": "12"}, "at": "1970-01-01T00:00:01Z", "marks": {"a": 1}});
    let (indexes, found) = messages("order", "shop.Order", order);
    assert_eq!(&*indexes, [1]);
    assert_eq!(
        (&found[0]["id"], &found[0]["sum"], &found[0]["marks"]),
        (&json!(5), &json!({"units": 12}), &json!({"a": 1}))
    );
    assert!(found[0]["at"].as_str().unwrap().starts_with("1970-01-01T00:00:01"), "{found:?}");
}

#[test]
fn protobuf_messages_name_their_message_and_their_compiled_schema_is_read() {
    assert_protobuf(Registry::start().url());
    assert_protobuf(SmallRegistry::start().url());
}

const CONNECT: &str = "syntax = \"proto3\"; package shop; import \"confluent/meta.proto\"; import \"confluent/type/decimal.proto\";
    import \"google/type/money.proto\"; import \"google/type/dayofweek.proto\";
    message Paid { confluent.type.Decimal sum = 1 [(confluent.field_meta).doc = \"what was paid\"]; google.type.Money fee = 2; google.type.DayOfWeek on = 3; }";

/// Serializers leave out of the references what Confluent's registry has built in.
fn assert_built_in(url: &str) {
    let built_in = FileDescriptorSet::decode(built_in_files().as_slice()).unwrap().file;
    let files = compiled(&[("paid.proto", CONNECT)], &built_in);
    let value = json!({"sum": {"value": "BNI=", "precision": 9, "scale": 2}, "fee": {"currencyCode": "EUR", "units": "3"}, "on": "FRIDAY"});
    let written = Serializer::protobuf(url, "paid", Part::Value, &files, "shop.Paid").serialize(&[value]);
    let client = client(url);
    let latest = block_on(client.latest("paid-value", SchemaFormat::Protobuf)).unwrap();
    assert_eq!(latest.references, []);
    let reader = latest.parse(MessageChoice::At(&[0])).unwrap();
    let expected = json!({
        "sum": {"value": "04d2", "precision": 9, "scale": 2}, "fee": {"currency_code": "EUR", "units": 3}, "on": "FRIDAY",
    });
    assert_eq!(rows(&client, "paid-value", &reader, &written), [expected]);
}

#[test]
fn protobuf_messages_with_imports_that_are_built_in_are_read() {
    assert_built_in(Registry::start().url());
    assert_built_in(SmallRegistry::start().url());
}

/// Every message and enum of them means what it means where a registry gives the files.
#[test]
fn files_that_are_built_in_are_those_of_their_packages() {
    let files = FileDescriptorSet::decode(built_in_files().as_slice()).unwrap().file;
    let mut compared = 0;
    for file in &files {
        let messages = file.message_type.iter().map(|message| message.name());
        for name in messages.chain(file.enum_type.iter().map(|kind| kind.name())) {
            let text = format!(
                "syntax = \"proto3\"; import \"{}\"; message M {{ .{}.{name} f = 1; }}",
                file.name(),
                file.package()
            );
            let of = |references: &[ReferencedText]| {
                let parsed = parse_with(&RegisteredText {
                    format: SchemaFormat::Protobuf,
                    text: &text,
                    references,
                    message: MessageChoice::At(&[0]),
                });
                let problems = |problems: Vec<SchemaProblem>| problems.into_iter().map(|problem| problem.problem).collect::<Vec<_>>();
                parsed.map(|parsed| self_contained(&parsed)).map_err(problems)
            };
            let theirs = ReferencedText {
                name: file.name().to_owned(),
                text: STANDARD.encode(file.encode_to_vec()),
            };
            assert_eq!(of(&[]), of(&[theirs]), "{name}");
            compared += 1;
        }
    }
    assert!(compared >= 20, "{compared}");
}

#[test]
fn a_guid_in_a_header_is_known_for_one() {
    const NAMED: &str = r#"{"type": "record", "name": "Named", "fields": [{"name": "name", "type": "string"}]}"#;
    let registry = SmallRegistry::start();
    for (part, subject, header) in [
        (Part::Value, "guids-value", framing::PAYLOAD_GUID_HEADER),
        (Part::Key, "guids-key", framing::KEY_GUID_HEADER),
    ] {
        // A record: the serializer cannot take the latest of a schema that is a name alone.
        registry.register(subject, &Schema::avro(NAMED));
        let serializer = Serializer::avro(registry.url(), "guids", part, NAMED);
        let written = serializer.with_latest().with_guid_header().serialize(&[json!({"name": "k"})]);
        let [(name, value)] = written[0].headers.as_slice() else {
            panic!("{written:?}")
        };
        assert_eq!(name, header);
        assert!(framing::is_guid(value), "{value:?}");
        assert_eq!(written[0].bytes, [2, b'k'], "the payload has no frame");
    }
}

#[test]
fn a_producer_may_take_the_latest_schema_and_register_none() {
    let registry = SmallRegistry::start_with_user("key", "secret-of-a-test");
    let id = registry.register("taken-value", &Schema::avro(FIRST));
    let written = Serializer::avro(registry.url(), "taken", Part::Value, FIRST)
        .with_user("key:secret-of-a-test")
        .with_latest()
        .serialize(&[json!({"id": 1, "state": "NEW"})]);
    assert_eq!(written[0].bytes[..5], [&[0], id.to_be_bytes().as_slice()].concat());
}
