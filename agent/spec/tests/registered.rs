//! Schemas as a registry keeps them: texts that refer to others, writers' schemas, and the one text that stands for all of it.
#![allow(clippy::expect_used, clippy::panic, reason = "the panic is the test's failure")]

mod schemas;

use proptest::prelude::*;
use schemas::{avro_text, proto_text};
use stream_spec::schema::{
    self, MessageChoice, ParsedSchema, ReferencedText, RegisteredText, SchemaFormat, SchemaProblem, Wire, parse_with, parse_writer,
    self_contained,
};
use stream_spec::stream::SchemaText;

const MAIN: MessageChoice<'static> = MessageChoice::At(&[0]);

fn references(texts: &[(&str, &str)]) -> Vec<ReferencedText> {
    let reference = |(name, text): &(&str, &str)| ReferencedText {
        name: (*name).to_owned(),
        text: (*text).to_owned(),
    };
    texts.iter().map(reference).collect()
}

fn parsed(
    format: SchemaFormat,
    text: &str,
    others: &[(&str, &str)],
    message: MessageChoice<'_>,
) -> Result<ParsedSchema, Vec<SchemaProblem>> {
    let references = references(others);
    parse_with(&RegisteredText {
        format,
        text,
        references: &references,
        message,
    })
}

fn writer(format: SchemaFormat, text: &str, reader: &ParsedSchema) -> Result<Wire, Vec<SchemaProblem>> {
    let registered = RegisteredText {
        format,
        text,
        references: &[],
        message: MAIN,
    };
    parse_writer(&registered, reader)
}

/// Checks that there is one problem, at that place, whose message holds `expected`.
fn check_refused(result: Result<ParsedSchema, Vec<SchemaProblem>>, location: &str, expected: &str) {
    let problems = result.expect_err("a problem");
    let [problem] = problems.as_slice() else { panic!("{problems:?}") };
    assert_eq!(problem.location, location, "{problem}");
    assert!(problem.to_string().contains(expected), "{problem}, expected {expected}");
}

const ORDER: &str = r#"{"type":"record","name":"Order","namespace":"shop","fields":[
    {"name":"id","type":"long"},{"name":"to","type":"shop.Address"},{"name":"also","type":["null","Address"],"default":null}]}"#;
const ADDRESS: &str = r#"{"type":"record","name":"Address","namespace":"shop","fields":[{"name":"street","type":"string"},{"name":"of","type":"geo.Country"}]}"#;
const COUNTRY: &str = r#"{"type":"enum","name":"Country","namespace":"geo","symbols":["DE","FR"]}"#;

#[test]
fn an_avro_schema_uses_types_that_others_define_and_others_again() {
    let parsed = parsed(
        SchemaFormat::Avro,
        ORDER,
        &[("shop.Address", ADDRESS), ("geo.Country", COUNTRY)],
        MAIN,
    )
    .expect("legal");
    let address = "STRUCT<street: STRING, of: STRING>";
    assert_eq!(
        parsed.data_type.to_string(),
        format!("STRUCT<id: BIGINT, to: {address}, also: {address}>")
    );
}

#[test]
fn what_is_wrong_with_a_text_that_is_referred_to_is_said_with_its_name() {
    let avro = |others: &[(&str, &str)]| parsed(SchemaFormat::Avro, ORDER, others, MAIN);
    let missing = avro(&[("shop.Address", ADDRESS)]);
    check_refused(missing, "fields[1].type.fields[1].type", "no type is named `geo.Country`");
    let twice = avro(&[("shop.Address", ADDRESS), ("geo.Country", COUNTRY), ("again", COUNTRY)]);
    check_refused(twice, "(again)", "`geo.Country` is defined twice");
    let no_json = avro(&[("shop.Address", "{\"type\":")]);
    check_refused(no_json, "(shop.Address)", "");

    let proto = |others: &[(&str, &str)]| {
        let text = "syntax = \"proto3\"; import \"a.proto\"; message M { A a = 1; }";
        parsed(SchemaFormat::Protobuf, text, others, MAIN)
    };
    check_refused(proto(&[]), "1:20", "the import `a.proto` cannot be resolved");
    check_refused(proto(&[("a.proto", "message A {")]), "a.proto", "end of file");
    let duration = "syntax = \"proto3\";\nimport \"google/protobuf/duration.proto\";\nmessage A { google.protobuf.Duration d = 1; }";
    check_refused(
        proto(&[("a.proto", duration)]),
        "a.proto:3:13",
        "`google.protobuf.Duration` is not supported",
    );
    let circle = "syntax = \"proto3\";\nimport \"b.proto\";\nmessage A {}";
    let back = "syntax = \"proto3\";\nimport \"a.proto\";\nmessage B {}";
    check_refused(
        proto(&[("a.proto", circle), ("b.proto", back)]),
        "b.proto:2:1",
        "the import `a.proto` leads back to this text",
    );
}

/// What the compiler resolves of a schema's own annotations is nothing to columns, and files that a registry gives come before ours.
#[test]
fn what_registries_have_built_in_needs_no_reference() {
    let text = r#"syntax = "proto3"; package shop;
        import "confluent/meta.proto"; import "confluent/type/decimal.proto"; import "google/type/date.proto"; import "google/type/month.proto";
        message Paid {
            option (confluent.message_meta) = { doc: "a payment", params: [{ key: "k", value: "v" }] };
            confluent.type.Decimal sum = 1 [(confluent.field_meta) = { params: [{ key: "precision", value: "9" }] }, deprecated = true];
            google.type.Date day = 2 [(confluent.field_meta).tags = "PII"];
            google.type.Month month = 3;
        }"#;
    let columns = |others: &[(&str, &str)]| parsed(SchemaFormat::Protobuf, text, others, MAIN).map(|parsed| parsed.data_type.to_string());
    let decimal = "STRUCT<value: BINARY, precision: BIGINT, scale: INT>";
    assert_eq!(
        columns(&[]).expect("legal"),
        format!("STRUCT<sum: {decimal}, day: STRUCT<year: INT, month: INT, day: INT>, month: STRING>")
    );
    let theirs = "syntax = \"proto3\"; package google.type; message Date { string text = 1; }";
    assert_eq!(
        columns(&[("google/type/date.proto", theirs)]).expect("legal"),
        format!("STRUCT<sum: {decimal}, day: STRUCT<text: STRING>, month: STRING>")
    );
    let with_duration = "syntax = \"proto3\"; import \"google/type/datetime.proto\"; message M { google.type.DateTime at = 1; }";
    check_refused(
        parsed(SchemaFormat::Protobuf, with_duration, &[], MAIN),
        "google/type/datetime.proto:5:34",
        "`google.protobuf.Duration` is not supported",
    );
}

#[test]
fn references_are_bounded() {
    let many: Vec<(String, String)> = (0..201).map(|n| (format!("n{n}"), "\"int\"".to_owned())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    check_refused(parsed(SchemaFormat::Avro, ORDER, &many, MAIN), "", "refers to too many others");
    let long = " ".repeat(1024 * 1024 + 1);
    let long: Vec<(&str, &str)> = ["a", "b", "c", "d"].iter().map(|name| (*name, long.as_str())).collect();
    check_refused(parsed(SchemaFormat::Avro, ORDER, &long, MAIN), "", "too long together");
    check_refused(parsed(SchemaFormat::Json, "{}", &[], MAIN), "", "direct_schemas");
}

#[test]
fn a_protobuf_schema_imports_texts_of_every_syntax_by_their_names() {
    let text = "syntax = \"proto3\"; package shop; import \"common/address.proto\"; import \"google/protobuf/timestamp.proto\";
        import public \"schema.proto\"; message Order { int64 id = 1; common.Address to = 2; google.protobuf.Timestamp at = 3; Kind kind = 4; }";
    let address = "edition = \"2023\"; package common; import \"common/country.proto\";
        message Address { string street = 1 [features.field_presence = IMPLICIT]; Country of = 2; }";
    let country = "syntax = \"proto2\"; package common; enum Country { DE = 1; FR = 2; }";
    let kind = "syntax = \"proto3\"; package shop; enum Kind { NEW = 0; }";
    let others = [
        ("common/address.proto", address),
        ("common/country.proto", country),
        ("schema.proto", kind),
        ("unused.proto", "nonsense"),
    ];
    let parsed = parsed(SchemaFormat::Protobuf, text, &others, MAIN).expect("legal");
    let expected = "STRUCT<id: BIGINT, to: STRUCT<street: STRING, of: STRING>, at: TIMESTAMP, kind: STRING>";
    assert_eq!(parsed.data_type.to_string(), expected);
    let alone = schema::parse(&self_contained(&parsed)).expect("legal");
    assert_eq!(
        schema::normal_form(&self_contained(&alone)),
        schema::normal_form(&self_contained(&parsed))
    );
    assert_eq!(alone.data_type, parsed.data_type);
}

#[test]
fn messages_are_found_by_their_places_without_entries_of_maps() {
    let text = "syntax = \"proto3\"; package p; message A { map<string, int32> m = 1; message B { int32 b = 1; } message C { message D { int32 d = 1; } } }
        enum E { Z = 0; } message F { int32 f = 1; }";
    let columns = |indexes: &[u32]| {
        let parsed = parsed(SchemaFormat::Protobuf, text, &[], MessageChoice::At(indexes));
        parsed.map(|parsed| match parsed.wire {
            Wire::Protobuf(message) => message.full_name,
            other => panic!("{other:?}"),
        })
    };
    for (indexes, expected) in [(&[0][..], "p.A"), (&[0, 0], "p.A.B"), (&[0, 1, 0], "p.A.C.D"), (&[1], "p.F")] {
        assert_eq!(columns(indexes).as_deref(), Ok(expected), "{indexes:?}");
    }
    for indexes in [&[][..], &[2], &[0, 2], &[0, 0, 0], &[u32::MAX]] {
        let problems = columns(indexes).expect_err("no message");
        assert!(problems[0].problem.contains("no message at the place"), "{problems:?}");
    }
}

#[test]
fn what_the_reader_has_no_use_for_may_be_anything_in_a_protobuf_writer() {
    let reader = parsed(
        SchemaFormat::Protobuf,
        "syntax = \"proto3\"; message M { int32 a = 1; N n = 2; map<string, N> by = 3; } message N { int32 x = 1; N2 again = 9; } message N2 { int32 x = 1; }",
        &[],
        MAIN,
    )
    .expect("legal");
    let text = "syntax = \"proto3\"; import \"google/protobuf/duration.proto\"; import \"google/protobuf/any.proto\"; import \"google/protobuf/struct.proto\";
        message M { int32 a = 1; N n = 2; map<string, N> by = 3; google.protobuf.Duration d = 4; google.protobuf.Any any = 5;
            map<int32, string> numbers = 6; fixed32 f = 7; google.protobuf.Struct s = 8; M me = 10; string extra = 11; }
        message N { int32 x = 1; fixed64 y = 2; N again = 9; }";
    let wire = writer(SchemaFormat::Protobuf, text, &reader).expect("a writer's schema");
    let Wire::Protobuf(message) = &wire else { panic!("{wire:?}") };
    let numbers = |fields: &[schema::protobuf::tree::ProtoField]| fields.iter().map(|field| field.number).collect::<Vec<_>>();
    assert_eq!(numbers(&message.fields), [1, 2, 3, 11]);
    let schema::protobuf::tree::ProtoKind::Message(n) = &message.fields[1].kind else {
        panic!("{message:?}")
    };
    assert_eq!(numbers(&n.fields), [1, 9], "recursion is followed as far as the reader goes");
    let schema::protobuf::tree::ProtoKind::Message(again) = &n.fields[1].kind else {
        panic!("{n:?}")
    };
    assert_eq!(numbers(&again.fields), [1]);

    let needed = "syntax = \"proto3\"; import \"google/protobuf/duration.proto\"; message M { google.protobuf.Duration a = 1; }";
    let wire = writer(SchemaFormat::Protobuf, needed, &reader).expect("the decoder says that the two do not fit");
    let Wire::Protobuf(message) = &wire else { panic!("{wire:?}") };
    assert_eq!(message.fields[0].kind, schema::protobuf::tree::ProtoKind::Duration);
}

#[test]
fn an_avro_writer_may_contain_itself_and_what_no_table_has() {
    let reader = parsed(
        SchemaFormat::Avro,
        r#"{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}"#,
        &[],
        MAIN,
    )
    .expect("legal");
    let text = r#"{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"A","type":"null"},{"name":"me","type":["null","R"]},
        {"name":"u","type":["x.B","y.B"]},{"name":"b","type":{"type":"record","name":"x.B","fields":[]}},{"name":"c","type":{"type":"record","name":"y.B","fields":[]}}]}"#;
    let wire = writer(SchemaFormat::Avro, text, &reader).expect("a writer's schema");
    assert!(format!("{wire:?}").contains("Recursion"));
    let other = writer(SchemaFormat::Protobuf, "syntax = \"proto3\"; message M {}", &reader).expect_err("another language");
    assert!(other[0].to_string().contains("written in Protobuf, read by Avro"), "{other:?}");
}

/// A file's descriptor as Confluent's serializers register it.
fn descriptor(name: &str, files: &[(&str, &str)]) -> String {
    use base64::Engine as _;
    use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};
    use protox::prost_reflect::prost::Message as _;

    struct Given(Vec<(String, String)>);
    impl FileResolver for Given {
        fn open_file(&self, name: &str) -> Result<File, protox::Error> {
            match self.0.iter().find(|(known, _)| known == name) {
                Some((name, text)) => File::from_source(name, text),
                None => Err(protox::Error::file_not_found(name)),
            }
        }
    }
    let mut resolver = ChainFileResolver::new();
    let own = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
    resolver.add(Given(files.iter().map(own).collect()));
    resolver.add(GoogleFileResolver::new());
    let mut compiler = protox::Compiler::with_file_resolver(resolver);
    compiler.open_file(name).expect("a legal file");
    let set = compiler.file_descriptor_set();
    let file = set.file.iter().find(|file| file.name() == name).expect("the file");
    base64::engine::general_purpose::STANDARD.encode(file.encode_to_vec())
}

#[test]
fn a_compiled_descriptor_is_read_as_its_text() {
    let address = "syntax = \"proto2\"; package common; message Address { required string street = 1 [default = \"a\\\"b\\303\\274\"]; \
                   optional bytes b = 2 [default = \"\\001\\\\\"]; optional group G = 3 { optional double d = 1 [default = -inf]; } extensions 100 to 200; }
                   extend Address { optional int32 x = 100; }";
    let order = "syntax = \"proto3\"; package shop; import public \"common.proto\"; import \"google/protobuf/timestamp.proto\"; import \"google/protobuf/wrappers.proto\";
        enum Kind { option allow_alias = true; NONE = 0; NIL = 0; SOME = -5; }
        message Order { map<string, Line> lines = 1; common.Address to = 2; oneof how { string card = 3; Kind kind = 4; } optional int32 n = 5; google.protobuf.Timestamp at = 6;
            google.protobuf.Int64Value w = 7; repeated Kind kinds = 8; message Line { Kind k = 1; message Deep { bool b = 1; } Deep deep = 2; } enum In { I = 0; } In in = 9;
            oneof other { int32 p = 10; int32 q = 11; } }
        message Last { fixed32 f = 1; sfixed64 g = 2; }";
    let files = [("common.proto", address), ("order.proto", order)];
    let (of_address, of_order) = (descriptor("common.proto", &files), descriptor("order.proto", &files));
    for indexes in [&[0][..], &[0, 0], &[0, 0, 0]] {
        let choice = MessageChoice::At(indexes);
        let by_text = parsed(SchemaFormat::Protobuf, order, &[("common.proto", address)], choice).expect("legal");
        let compiled = parsed(SchemaFormat::Protobuf, &of_order, &[("common.proto", &of_address)], choice);
        assert_eq!(compiled.as_ref(), Ok(&by_text), "{indexes:?}");
        let mixed = parsed(SchemaFormat::Protobuf, order, &[("common.proto", &of_address)], choice);
        assert_eq!(mixed.as_ref(), Ok(&by_text), "{indexes:?}");
    }
    check_refused(
        parsed(
            SchemaFormat::Protobuf,
            &of_order,
            &[("common.proto", &of_address)],
            MessageChoice::At(&[1]),
        ),
        "40:1",
        "the type fixed32 is not supported",
    );
    let direct = SchemaText::Proto {
        schema_text: of_order,
        message_name: "shop.Order".into(),
    };
    assert!(schema::parse(&direct).is_err(), "a user writes texts");
    assert!(parsed(SchemaFormat::Protobuf, "AAAA", &[], MAIN).is_err());
}

/// Checks that a schema is what its self-contained text says.
fn check_kept(original: &ParsedSchema) -> Result<(), TestCaseError> {
    let text = self_contained(original);
    let again = schema::parse(&text);
    match (&original.wire, again.as_ref().map(|again| &again.wire)) {
        (Wire::Avro(_), _) => prop_assert_eq!(again.as_ref(), Ok(original), "{:?}", text),
        (Wire::Protobuf(before), Ok(Wire::Protobuf(after))) => {
            prop_assert_eq!(&after.full_name, &before.full_name);
            let again = again.as_ref().expect("legal");
            prop_assert_eq!(&again.data_type, &original.data_type, "{:?}", text);
            prop_assert_eq!(&again.required, &original.required, "{:?}", text);
            prop_assert_eq!(&self_contained(again), &text, "written again it is the same");
        }
        _ => prop_assert!(false, "{again:?} of {text:?}"),
    }
    Ok(())
}

#[test]
fn names_aliases_defaults_and_logical_types_are_kept_in_one_text() {
    let avro = [
        r#"{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"enum","name":"E","symbols":["X","Y"],"default":"X"},"default":"Y"},
            {"name":"b","aliases":["old","older"],"type":["null","E"],"default":null},{"name":"c","type":"bytes","default":"\u00ff\"\\"}]}"#,
        r#"{"type":"record","name":"a.b.R","aliases":["Q","c.Q"],"fields":[{"name":"x","type":{"type":"fixed","name":"F","namespace":"","size":16,"logicalType":"uuid"}},
            {"name":"y","type":".F"},{"name":"z","type":{"type":"map","values":{"type":"array","items":"F"}},"default":{}},
            {"name":"n","type":{"type":"record","name":"N","fields":[{"name":"d","type":"double","default":1e300},{"name":"l","type":"long","default":-9007199254740993}]}},
            {"name":"m","type":"N"}]}"#,
        r#"{"type":"record","name":"R","fields":[{"name":"t","type":{"type":"long","logicalType":"timestamp-millis"}},
            {"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},{"name":"u","type":["null",{"type":"int","logicalType":"date"},"long"]},
            {"name":"p","type":{"type":"fixed","name":"D","size":12,"logicalType":"duration"}},{"name":"g","type":{"type":"bytes","logicalType":"big-decimal"}}]}"#,
        r#"["null","int"]"#,
    ];
    for text in avro {
        let original = parsed(SchemaFormat::Avro, text, &[], MAIN).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
        check_kept(&original).unwrap();
    }
    let order = parsed(
        SchemaFormat::Avro,
        ORDER,
        &[("shop.Address", ADDRESS), ("geo.Country", COUNTRY)],
        MAIN,
    )
    .expect("legal");
    check_kept(&order).unwrap();
    let proto = [
        ("syntax = \"proto3\"; message T1 { T2 b = 2; T2 a = 1; string T3 = 3; message T2 { int32 x = 1; } }", "T1"),
        (
            "syntax = \"proto2\"; package x.google; import \"google/protobuf/wrappers.proto\"; message Outer { message In { optional int32 z = 9 [default = 7];
             required string s = 1; optional group G = 2 { optional int32 i = 1; } oneof o { int32 p = 4; E q = 3; } optional .google.protobuf.Int64Value w = 5;
             repeated E es = 6; enum E { A = 1; B = 2; } } }",
            "x.google.Outer.In",
        ),
    ];
    for (text, name) in proto {
        let original = parsed(SchemaFormat::Protobuf, text, &[], MessageChoice::Named(name));
        check_kept(&original.unwrap_or_else(|problems| panic!("{text}: {problems:?}"))).unwrap();
    }
}

proptest! {
    #[test]
    fn one_text_keeps_all_of_any_schema(proto in proto_text(), avro in avro_text()) {
        let proto = SchemaText::Proto { schema_text: proto, message_name: "M".into() };
        for text in [proto, SchemaText::Avro(avro)] {
            if let Ok(original) = schema::parse(&text) {
                check_kept(&original)?;
            }
        }
    }

    #[test]
    fn no_text_breaks_the_reader_of_references(text in "\\PC*", main in proto_text(), avro in avro_text(), indexes in prop::collection::vec(any::<u32>(), 0..4)) {
        let importing = format!("import \"a\"; {main}");
        let _ = parsed(SchemaFormat::Protobuf, &importing, &[("a", &text)], MessageChoice::At(&indexes));
        let _ = parsed(SchemaFormat::Protobuf, &importing.replacen("syntax = \"proto3\";", "", 1), &[("a", &main)], MAIN);
        let _ = parsed(SchemaFormat::Avro, &avro, &[("a", &text), ("b", &avro)], MAIN);
    }

    #[test]
    fn no_bytes_break_the_reader_of_descriptors(main in proto_text(), at in any::<prop::sample::Index>(), byte in any::<u8>(), bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        use base64::Engine as _;
        let engine = base64::engine::general_purpose::STANDARD;
        let mut damaged = engine.decode(descriptor("a", &[("a", &main)])).unwrap();
        let at = at.index(damaged.len());
        damaged[at] = byte;
        let _ = parsed(SchemaFormat::Protobuf, &engine.encode(damaged), &[], MAIN);
        let _ = parsed(SchemaFormat::Protobuf, &engine.encode(bytes), &[], MAIN);
    }
}
