//! Properties that hold for every name and every schema.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use stream_spec::connection_sql;
use stream_spec::name::{StreamName, TableName};
use stream_spec::path::ColumnPath;
use stream_spec::schema;
use stream_spec::stream::{DirectSchemas, KafkaSource, SchemaText, SourceConfig, SubscriptionMode};
use stream_spec::subscription;
use stream_spec::table;
use stream_spec::types::{DataType, Field};
use stream_spec::verdict::{UpdateQuestion, Verdict, verdict};
use stream_spec::violation::Violation;

proptest! {
    /// Whatever stands around a value, no error repeats it, and nothing panics.
    #[test]
    fn statements_about_connections_are_taken_or_refused_without_their_values(before in ".{0,40}", inside in ".{0,20}", after in ".{0,40}") {
        const CANARY: &str = "7c4f9e0b2d";
        let statement = format!("CREATE CONNECTION p TYPE KAFKA OPTIONS ({before} password 'x{inside}{CANARY}{after}' )");
        let said = match connection_sql::parse(&statement) {
            Ok(statement) => format!("{statement:?}"),
            Err(error) => format!("{error} {error:?}"),
        };
        prop_assert!(!said.contains(CANARY), "{said}");
    }
}

/// A member's schema and the type it gives. Names come from a small alphabet, so that two schemas often share some.
fn member() -> impl Strategy<Value = (String, DataType)> {
    let scalar = prop_oneof![
        Just((r#"{"type":"string"}"#, DataType::String)),
        Just((r#"{"type":["null","string"],"format":"date-time"}"#, DataType::Timestamp)),
        Just((r#"{"type":"integer"}"#, DataType::Int)),
        Just((r#"{"format":"int64","type":"integer"}"#, DataType::BigInt)),
        Just((r#"{"oneOf":[{"type":"number"},{"type":"null"}]}"#, DataType::Double)),
        Just((r#"{"type":"boolean","title":"flag"}"#, DataType::Boolean)),
    ];
    let scalar = scalar.prop_map(|(text, data_type)| (text.to_owned(), data_type));
    scalar.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            object_of(inner.clone()),
            inner
                .clone()
                .prop_map(|(text, data_type)| (format!(r#"{{"type":"array","items":{text}}}"#), DataType::Array(data_type.into()))),
            inner.prop_map(|(text, data_type)| {
                let map = DataType::Map(DataType::String.into(), data_type.into());
                (format!(r#"{{"type":"object","additionalProperties":{text}}}"#), map)
            }),
        ]
    })
}

fn object_of(members: impl Strategy<Value = (String, DataType)> + 'static) -> impl Strategy<Value = (String, DataType)> {
    let name = prop::sample::select(vec!["z", "a", "m", "b"]);
    let members = prop::collection::btree_map(name, (members, prop::bool::weighted(0.2)), 1..4);
    let members = members.prop_map(|members| members.into_iter().collect::<Vec<_>>()).prop_shuffle();
    members.prop_map(|members| {
        let properties: Vec<String> = members.iter().map(|(name, ((text, _), _))| format!("{name:?}:{text}")).collect();
        let required: Vec<String> = members
            .iter()
            .filter(|(_, (_, required))| *required)
            .map(|(name, _)| format!("{name:?}"))
            .collect();
        let fields = members
            .into_iter()
            .map(|(name, ((_, data_type), _))| Field::new(name, data_type))
            .collect();
        let text = format!(
            r#"{{"type":"object","required":[{}],"properties":{{{}}}}}"#,
            required.join(","),
            properties.join(",")
        );
        (text, DataType::Struct(fields))
    })
}

fn schema_text() -> impl Strategy<Value = (String, DataType)> {
    object_of(member())
}

fn payload(text: &str) -> DirectSchemas {
    DirectSchemas {
        key: None,
        payload: Some(SchemaText::Json(text.to_owned())),
    }
}

fn source() -> SourceConfig {
    SourceConfig::Kafka(KafkaSource {
        subscription: SubscriptionMode::Subscribe("orders".into()),
        extra_options: BTreeMap::new(),
    })
}

fn ask(history: &[DirectSchemas], new: &DirectSchemas) -> Verdict {
    let none = BTreeSet::new();
    verdict(&UpdateQuestion {
        history,
        table_columns: None,
        deduplication_columns: &none,
        record_type_filter: None,
        excluded: &none,
        new_schemas: new,
        new_excluded: &none,
    })
}

/// True when every place of `old` is in `new`, of the same type or widened from INT to BIGINT.
fn keeps(old: &DataType, new: &DataType) -> bool {
    match (old, new) {
        (DataType::Struct(old), DataType::Struct(new)) => old
            .iter()
            .all(|old| new.iter().any(|new| new.name == old.name && keeps(&old.data_type, &new.data_type))),
        (DataType::Array(old), DataType::Array(new)) => keeps(old, new),
        (DataType::Map(_, old), DataType::Map(_, new)) => keeps(old, new),
        (DataType::Int, DataType::BigInt) => true,
        (old, new) => old == new,
    }
}

fn columns(history: &[DirectSchemas]) -> Result<Vec<Field>, Vec<Violation>> {
    table::columns_of_history(&source(), history, &BTreeSet::new())
}

proptest! {
    #[test]
    fn a_legal_name_is_its_three_parts(text in "[a-z0-9_A-Z./]{0,12}(\\.[a-z0-9_]{0,6}){0,3}") {
        if let Ok(name) = TableName::parse(&text) {
            let parts = [name.catalog(), name.schema(), name.object()];
            prop_assert_eq!(parts.join("."), text.clone());
            for part in parts {
                prop_assert!(part.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit()));
                prop_assert!(part.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '_')));
            }
            prop_assert_ne!(name.catalog(), "system");
        }
        prop_assert_eq!(TableName::parse(&text).is_ok(), StreamName::parse(&text).is_ok());
    }

    #[test]
    fn three_legal_parts_are_a_name(parts in prop::collection::vec("[a-z0-9][a-z0-9_]{0,8}", 3)) {
        let text = parts.join(".");
        prop_assert_eq!(StreamName::parse(&text).is_ok(), parts[0] != "system");
    }

    #[test]
    fn a_schema_gives_the_type_it_says((text, data_type) in schema_text()) {
        let parsed = schema::parse(&SchemaText::Json(text)).expect("legal");
        prop_assert_eq!(parsed.data_type, data_type);
    }

    #[test]
    fn no_text_breaks_a_parser(text in "\\PC*", json in "[\\[\\]{}:,\"a-z0-9$#/ ]{0,64}") {
        for text in [text, json] {
            let _ = schema::parse(&SchemaText::Json(text.clone()));
            let _ = subscription::topics(&text);
            let _ = subscription::assigned(&text);
            let _ = subscription::starting_offsets(&text);
            let _ = ColumnPath::parse(&text);
            let _ = stream_spec::connection::parse_servers(&text);
        }
    }

    #[test]
    fn a_normal_form_stands_for_its_text((text, _) in schema_text()) {
        let text = SchemaText::Json(text);
        let normal = SchemaText::Json(schema::normal_form(&text).expect("legal"));
        prop_assert!(schema::same_meaning(&text, &normal));
        prop_assert_eq!(schema::normal_form(&normal).map(SchemaText::Json), Ok(normal));
    }

    #[test]
    fn a_schema_updated_to_itself_is_unchanged((text, _) in schema_text()) {
        let schemas = payload(&text);
        prop_assert_eq!(ask(std::slice::from_ref(&schemas), &schemas), Verdict::Unchanged);
        let normal = payload(&schema::normal_form(&SchemaText::Json(text)).expect("legal"));
        prop_assert_eq!(ask(&[schemas], &normal), Verdict::Unchanged);
    }

    #[test]
    fn unchanged_and_same_meaning_are_one_thing((old, _) in schema_text(), (new, _) in schema_text()) {
        let same = schema::same_meaning(&SchemaText::Json(old.clone()), &SchemaText::Json(new.clone()));
        prop_assert_eq!(ask(&[payload(&old)], &payload(&new)) == Verdict::Unchanged, same);
    }

    #[test]
    fn a_column_once_in_the_table_stays(texts in prop::collection::vec(schema_text(), 1..6)) {
        let mut history = vec![payload(&texts[0].0)];
        for (text, data_type) in &texts[1..] {
            let new = payload(text);
            if matches!(ask(&history, &new), Verdict::Refused { .. }) {
                continue;
            }
            let before = columns(&history).expect("compatible history");
            history.push(new);
            let after = columns(&history).expect("compatible history");
            prop_assert!(before.iter().zip(&after).all(|(old, new)| old.name == new.name && keeps(&old.data_type, &new.data_type)));
            prop_assert!(keeps(data_type, &after[1].data_type));
            // Repeating what is known changes nothing.
            let again: Vec<DirectSchemas> = history.iter().chain(&history).cloned().collect();
            prop_assert_eq!(columns(&again), Ok(after));
        }
    }
}
