//! Properties that hold for every Protobuf text.

mod schemas;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use schemas::proto_text;
use stream_spec::schema::{self, protobuf};
use stream_spec::stream::{DirectSchemas, KafkaSource, SchemaText, SourceConfig, SubscriptionMode};
use stream_spec::table;
use stream_spec::verdict::{UpdateQuestion, Verdict, verdict};

/// Words of the language, right and wrong: texts made of them get further into the compiler than random letters.
const PIECES: &[&str] = &[
    "syntax = \"proto3\";",
    "syntax = \"proto2\";",
    "edition = \"2023\";",
    "edition =",
    "package p;",
    "package p.q",
    "message M",
    "message",
    "M",
    "{",
    "{",
    "{",
    "}",
    "}",
    "}",
    "oneof o",
    "enum E",
    "Z = 0;",
    "A = 1;",
    "int32",
    "string",
    "bytes",
    "map<string, M>",
    "map<",
    ">",
    "repeated",
    "optional",
    "required",
    "group G",
    "a",
    "b",
    "= 1",
    "= 2",
    "= -1",
    "= 0x",
    "= 536870912",
    ";",
    ";",
    ";",
    "[",
    "]",
    "default = 5",
    "default = \"x\"",
    "default = -inf",
    "features.field_presence = IMPLICIT",
    "features = {",
    "features.enum_type",
    "reserved 5;",
    "reserved a",
    "reserved \"a\";",
    "to max",
    "extensions 4 to 9;",
    "extend M",
    "import \"google/protobuf/timestamp.proto\";",
    "import public",
    "import \"x.proto\";",
    "google.protobuf.Timestamp",
    "google.protobuf.Struct",
    ".",
    "option",
    "(x)",
    "= {",
    "x: 1",
    "json_name = \"\"",
    "allow_alias = true;",
    "service S {",
    "rpc X (M) returns (M);",
    "stream",
    "//",
    "\n",
    "/*",
    "*/",
    "#",
    "\"",
    "'",
    "\\",
    "é",
    "\u{0}",
    "1e999",
    "nan",
    ",",
    "(",
    ")",
    "<",
    "-",
    "export",
    "local",
];

fn words() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..40).prop_map(|pieces| pieces.join(" "))
}

fn proto(schema_text: &str) -> SchemaText {
    SchemaText::Proto {
        schema_text: schema_text.to_owned(),
        message_name: "M".into(),
    }
}

fn ask(history: &[&str], new: &str) -> Verdict {
    let schemas = |text: &str| DirectSchemas {
        key: None,
        payload: Some(proto(text)),
    };
    let history: Vec<DirectSchemas> = history.iter().map(|text| schemas(text)).collect();
    let none = BTreeSet::new();
    verdict(&UpdateQuestion {
        history: &history,
        table_columns: None,
        deduplication_columns: &none,
        record_type_filter: None,
        excluded: &none,
        new_schemas: &schemas(new),
        new_excluded: &none,
    })
}

proptest! {
    // A text is compiled several times per case.
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_text_breaks_the_parser(text in "\\PC*", words in words(), name in "[M.]{0,3}") {
        for text in [&text, &words, &format!("message M {{ {words} }}"), &format!("edition = \"2023\"; message M {{ {words}")] {
            let spark = protobuf::parse_as_spark(text, "M");
            let product = schema::parse(&proto(text));
            prop_assert!(spark.is_ok() || product.is_err(), "{}", text);
            for problem in spark.err().into_iter().chain(product.err()).flatten() {
                prop_assert!(!problem.problem.is_empty() && !problem.remedy.is_empty(), "{:?}", problem);
            }
            let _ = protobuf::parse_as_spark(text, &name);
        }
    }

    #[test]
    fn a_normal_form_stands_for_its_text(text in proto_text()) {
        let given = proto(&text);
        let normal = proto(&schema::normal_form(&given).expect("legal"));
        prop_assert!(schema::same_meaning(&given, &normal));
        prop_assert_eq!(ask(&[&text], &text), Verdict::Unchanged);
        let SchemaText::Proto { schema_text, .. } = &normal else { unreachable!("a Protobuf text") };
        prop_assert_eq!(ask(&[&text], schema_text), Verdict::Unchanged);
    }

    #[test]
    fn unchanged_and_same_meaning_are_one_thing(old in proto_text(), new in proto_text()) {
        let same = schema::same_meaning(&proto(&old), &proto(&new));
        prop_assert_eq!(ask(&[&old], &new) == Verdict::Unchanged, same);
    }

    #[test]
    fn what_follows_a_history_follows_each_of_its_schemas(old in proto_text(), middle in proto_text(), new in proto_text()) {
        if matches!(ask(&[&old], &middle), Verdict::Refused { .. }) || matches!(ask(&[&old, &middle], &new), Verdict::Refused { .. }) {
            return Ok(());
        }
        for earlier in [&old, &middle] {
            let answer = ask(&[earlier], &new);
            prop_assert!(!matches!(answer, Verdict::Refused { .. }), "{:?}", answer);
        }
    }
}

#[test]
fn random_updates_are_often_in_place() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut text = || proto_text().new_tree(&mut runner).expect("a text").current();
    let in_place = (0..200)
        .filter(|_| matches!(ask(&[&text()], &text()), Verdict::InPlace { .. }))
        .count();
    assert!(
        (20..180).contains(&in_place),
        "{in_place} of 200: the properties above would say little"
    );
}

#[test]
fn a_table_keeps_what_any_schema_had() {
    let versions = [
        "syntax = \"proto3\"; message M { int32 a = 1; N n = 2; uint64 gone = 3; repeated N l = 4; } message N { int32 x = 1; string old = 2; }",
        "syntax = \"proto3\"; message M { repeated N l = 4; N n = 2; int64 a = 1; E e = 5; } message N { bytes y = 3; int32 x = 1; } enum E { Z = 0; }",
    ];
    let [old, new] = versions;
    assert!(matches!(ask(&[old], new), Verdict::InPlace { .. }));
    let history: Vec<DirectSchemas> = versions
        .iter()
        .map(|text| DirectSchemas {
            key: None,
            payload: Some(proto(text)),
        })
        .collect();
    let source = SourceConfig::Kafka(KafkaSource {
        subscription: SubscriptionMode::Subscribe("orders".into()),
        extra_options: BTreeMap::new(),
    });
    let columns = table::columns_of_history(&source, &history, &BTreeSet::from(["value.e".to_owned()])).expect("columns");
    let value = columns.iter().find(|column| column.name == "value").expect("the payload's column");
    assert_eq!(
        value.data_type.to_string(),
        "STRUCT<a: BIGINT, n: STRUCT<x: INT, old: STRING, y: BINARY>, gone: DECIMAL(20,0), l: ARRAY<STRUCT<x: INT, old: STRING, y: BINARY>>>"
    );
}
