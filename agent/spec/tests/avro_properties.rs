//! What holds for every Avro schema and every text: no panic, normal forms, verdicts, and a parser that is not ours.

use std::collections::BTreeSet;

use proptest::prelude::*;
use stream_spec::schema;
use stream_spec::stream::{DirectSchemas, SchemaText};
use stream_spec::verdict::{UpdateQuestion, Verdict, verdict};

/// A schema's text; `NAME` in it stands for a name that no other type of the text has.
fn any_type() -> impl Strategy<Value = String> {
    let scalar = prop::sample::select(vec![
        r#""int""#,
        r#""long""#,
        r#"{"type":"int"}"#,
        r#""string""#,
        r#""bytes""#,
        r#""double""#,
        r#"{"type":"int","logicalType":"date"}"#,
        r#"{"logicalType":"timestamp-millis","type":"long"}"#,
        r#"{"type":"string","logicalType":"uuid"}"#,
        r#"{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}"#,
        r#"{"type":"fixed","size":3,"name":"NAME"}"#,
        r#"{"type":"enum","name":"NAME","symbols":["A","B"]}"#,
    ]);
    scalar.prop_map(str::to_owned).prop_recursive(3, 20, 4, |inner| {
        let value = inner.clone().prop_filter("no union in a union", |text| !text.starts_with('['));
        prop_oneof![
            record_of(inner.clone()),
            inner.clone().prop_map(|items| format!(r#"{{"type":"array","items":{items}}}"#)),
            inner.prop_map(|values| format!(r#"{{"type":"map","values":{values}}}"#)),
            (value.clone(), any::<bool>()).prop_map(|(value, first)| if first {
                format!(r#"["null",{value}]"#)
            } else {
                format!(r#"[{value},"null"]"#)
            }),
            (value.clone(), value).prop_map(|(left, right)| format!("[{left},{right}]")),
        ]
    })
}

fn record_of(types: impl Strategy<Value = String> + 'static) -> impl Strategy<Value = String> {
    prop::collection::vec((types, prop::bool::weighted(0.3)), 1..4).prop_map(|fields| {
        let field = |(index, (schema, described)): (usize, &(String, bool))| {
            let more = if *described {
                r#","doc":"what it is","aliases":["old"],"order":"ignore""#
            } else {
                ""
            };
            format!(r#"{{"name":"f{index}","type":{schema}{more}}}"#)
        };
        let fields: Vec<String> = fields.iter().enumerate().map(field).collect();
        format!(r#"{{"type":"record","name":"NAME","fields":[{}]}}"#, fields.join(","))
    })
}

/// A record's schema with a name of its own for each type; often one that a table cannot have.
fn schema_text() -> impl Strategy<Value = String> {
    record_of(any_type()).prop_map(|text| {
        let mut named = String::new();
        for (index, part) in text.split("NAME").enumerate() {
            if index > 0 {
                named.push_str(&format!("T{index}"));
            }
            named.push_str(part);
        }
        named
    })
}

fn ask(old: &str, new: &str) -> Verdict {
    let schemas = |text: &str| DirectSchemas {
        key: None,
        payload: Some(SchemaText::Avro(text.to_owned())),
    };
    let none = BTreeSet::new();
    verdict(&UpdateQuestion {
        history: &[schemas(old)],
        table_columns: None,
        deduplication_columns: &none,
        record_type_filter: None,
        excluded: &none,
        new_schemas: &schemas(new),
        new_excluded: &none,
    })
}

fn avro(text: &str) -> SchemaText {
    SchemaText::Avro(text.to_owned())
}

proptest! {
    #[test]
    fn no_text_breaks_the_reader(text in "\\PC*", json in "[\\[\\]{}:,\"a-z0-9 ]{0,64}", (schema, at, byte) in (schema_text(), any::<prop::sample::Index>(), any::<u8>())) {
        let mut damaged = schema.into_bytes();
        let at = at.index(damaged.len());
        damaged[at] = byte;
        for text in [text, json, String::from_utf8_lossy(&damaged).into_owned()] {
            let _ = schema::parse(&avro(&text));
        }
    }

    #[test]
    fn a_normal_form_stands_for_its_text_and_is_avro_to_others(text in schema_text()) {
        if let Ok(parsed) = schema::parse(&avro(&text)) {
            let normal = schema::normal_form(&avro(&text)).expect("legal");
            prop_assert!(schema::same_meaning(&avro(&text), &avro(&normal)));
            prop_assert_eq!(schema::normal_form(&avro(&normal)), Ok(normal.clone()));
            prop_assert_eq!(schema::parse(&avro(&normal)).expect("legal").data_type, parsed.data_type);
            prop_assert!(apache_avro::Schema::parse_str(&text).is_ok(), "{}", text);
            prop_assert!(apache_avro::Schema::parse_str(&normal).is_ok(), "{}", normal);
            prop_assert_eq!(ask(&text, &normal), Verdict::Unchanged);
        }
    }

    #[test]
    fn unchanged_and_same_meaning_are_one_thing(old in schema_text(), new in schema_text(), widened in any::<bool>()) {
        // Two random schemas are seldom alike: one made from the other is.
        let new = if widened { old.replacen(r#""int""#, r#""long""#, 1) } else { new };
        if schema::parse(&avro(&old)).is_ok() && schema::parse(&avro(&new)).is_ok() {
            let same = schema::same_meaning(&avro(&old), &avro(&new));
            prop_assert_eq!(ask(&old, &new) == Verdict::Unchanged, same, "{} {}", old, new);
        }
    }
}
