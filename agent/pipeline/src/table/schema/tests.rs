//! The schema room is tested by tables of types, batches and what Delta spells of them.

use serde_json::{Value, json};
use stream_spec::types::{DataType, Field};

use super::growth::Growth;
use super::*;

fn all_types() -> Vec<Field> {
    let primitives = [
        DataType::Boolean,
        DataType::TinyInt,
        DataType::SmallInt,
        DataType::Int,
        DataType::BigInt,
        DataType::Float,
        DataType::Double,
        DataType::Decimal { precision: 38, scale: 9 },
        DataType::String,
        DataType::Binary,
        DataType::Date,
        DataType::Timestamp,
        DataType::TimestampNtz,
    ];
    let mut columns: Vec<Field> = primitives
        .into_iter()
        .enumerate()
        .map(|(index, t)| Field::new(format!("c{index}"), t))
        .collect();
    let nested = DataType::Struct(vec![Field::new(
        "a.b c",
        DataType::Array(Box::new(DataType::Struct(vec![Field::new("x", DataType::Int)]))),
    )]);
    columns.push(Field::new("m", DataType::Map(Box::new(DataType::String), Box::new(nested))));
    columns
}

fn struct_of(fields: Vec<Field>) -> DataType {
    DataType::Struct(fields)
}

#[test]
fn every_type_comes_back_from_its_schema_text() {
    assert_eq!(parse(&schema_text(&all_types())), Ok(all_types()));
}

#[test]
fn columns_that_cannot_be_written_are_named() {
    let field = |data_type: Value, nullable: bool, metadata: Value| {
        json!({"type": "struct", "fields": [{"name": "v", "type": {"type": "struct", "fields": [
            {"name": "a", "type": data_type, "nullable": nullable, "metadata": metadata}]}, "nullable": true, "metadata": {}}]})
    };
    let cases = [
        (field(json!("variant"), true, json!({})), "`v.a` has the type `variant`"),
        (field(json!("long"), false, json!({})), "`v.a` is not nullable"),
        (
            field(json!("long"), true, json!({"delta.generationExpression": "1"})),
            "`v.a` has `delta.generationExpression`",
        ),
        (
            field(json!("long"), true, json!({"delta.columnMapping.id": 1})),
            "`v.a` has `delta.columnMapping.id`",
        ),
        (
            field(json!({"type": "odd"}), true, json!({})),
            "`v.a` has a type that this agent cannot write",
        ),
    ];
    for (text, expected) in cases {
        let error = parse(&text.to_string()).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    assert!(parse(&field(json!("long"), true, json!({"comment": "fine"})).to_string()).is_ok());
}

#[test]
fn growth_appends_at_every_depth_and_keeps_what_others_wrote() {
    let before = vec![
        Field::new(
            "value",
            struct_of(vec![
                Field::new("id", DataType::Int),
                Field::new(
                    "items",
                    DataType::Array(Box::new(struct_of(vec![Field::new("p", DataType::Double)]))),
                ),
            ]),
        ),
        Field::new("record_source", DataType::String),
    ];
    let mut text: Value = serde_json::from_str(&schema_text(&before)).unwrap();
    text["fields"][1]["metadata"] = json!({"comment": "where it came from"});
    text["fields"]
        .as_array_mut()
        .unwrap()
        .push(json!({"name": "theirs", "type": "date", "nullable": true, "metadata": {}}));
    let wanted = vec![Field::new(
        "value",
        struct_of(vec![
            Field::new("new", DataType::String),
            Field::new(
                "items",
                DataType::Array(Box::new(struct_of(vec![
                    Field::new("q", DataType::Int),
                    Field::new("p", DataType::Double),
                ]))),
            ),
        ]),
    )];
    let grown = grow(&text.to_string(), &wanted, Ints::Named).unwrap().text.unwrap();
    let items = DataType::Array(Box::new(struct_of(vec![
        Field::new("p", DataType::Double),
        Field::new("q", DataType::Int),
    ])));
    let expected = vec![
        Field::new(
            "value",
            struct_of(vec![
                Field::new("id", DataType::Int),
                Field::new("items", items),
                Field::new("new", DataType::String),
            ]),
        ),
        Field::new("record_source", DataType::String),
        Field::new("theirs", DataType::Date),
    ];
    assert_eq!(parse(&grown), Ok(expected));
    let grown_value: Value = serde_json::from_str(&grown).unwrap();
    assert_eq!(grown_value["fields"][1]["metadata"]["comment"], "where it came from");
    assert_eq!(grow(&grown, &wanted, Ints::Named).unwrap().text, None);
}

#[test]
fn growth_refuses_other_types_and_names_what_is_to_be_widened() {
    let text = schema_text(&[Field::new(
        "v",
        struct_of(vec![Field::new("n", DataType::Int), Field::new("big", DataType::BigInt)]),
    )]);
    let want = |name: &str, data_type: DataType| grow(&text, &[Field::new("v", struct_of(vec![Field::new(name, data_type)]))], Ints::Named);
    let narrow = Places::from([vec!["v".to_owned(), "n".to_owned()]]);
    assert_eq!(want("n", DataType::BigInt), Ok(Growth { text: None, narrow }));
    let same = Growth {
        text: None,
        narrow: Places::new(),
    };
    assert_eq!(want("big", DataType::Int), Ok(same));
    assert_eq!(
        want("n", DataType::String),
        Err(GrowthError::Type("column `v.n` is INT and cannot become STRING".into()))
    );
}

#[test]
fn lost_and_retyped_columns_are_named_with_both_types() {
    let actual = vec![Field::new("v", struct_of(vec![Field::new("n", DataType::Int)]))];
    let expect = |name: &str, data_type: DataType| expect_fields(&actual, &[Field::new("v", struct_of(vec![Field::new(name, data_type)]))]);
    assert_eq!(expect("n", DataType::Int), Ok(()));
    assert_eq!(
        expect("n", DataType::BigInt),
        Err("column `v.n` is INT, it should be BIGINT".into())
    );
    assert_eq!(
        expect("gone", DataType::Date),
        Err("column `v.gone` is missing, it should be DATE".into())
    );
}

#[test]
fn what_no_table_can_have_is_refused() {
    let cases = [
        (vec![Field::new("v", struct_of(vec![]))], "`v` is a struct without fields"),
        (
            vec![Field::new(
                "v",
                struct_of(vec![Field::new("id", DataType::Int), Field::new("ID", DataType::Int)]),
            )],
            "`v.ID` differs",
        ),
        (
            vec![Field::new("a", DataType::Array(Box::new(struct_of(vec![]))))],
            "`a.element` is a struct without fields",
        ),
    ];
    for (columns, expected) in cases {
        let error = expect_storable(&columns).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(expect_storable(&all_types()), Ok(()));
}

#[test]
fn ints_are_widened_at_any_depth_in_the_text_and_in_the_columns() {
    let columns = |int: &DataType| {
        let deep = struct_of(vec![
            Field::new("element", int.clone()),
            Field::new("as_it_is", DataType::Int),
            Field::new("l", DataType::Array(Box::new(struct_of(vec![Field::new("n", int.clone())])))),
            Field::new("m", DataType::Map(Box::new(DataType::String), Box::new(int.clone()))),
        ]);
        vec![Field::new("a.b", int.clone()), Field::new("v", deep)]
    };
    let (narrow, wide) = (columns(&DataType::Int), columns(&DataType::BigInt));
    let text = schema_text(&narrow);
    let named = grow(&text, &wide, Ints::Named).unwrap();
    assert_eq!((named.text, named.narrow.len()), (None, 4));
    assert_eq!(widened(&narrow, &named.narrow), wide);
    let grown = grow(&text, &wide, Ints::Widened).unwrap();
    assert_eq!((parse(&grown.text.unwrap()), grown.narrow.len()), (Ok(wide.clone()), 0));
    assert!(is_narrower(&narrow, &wide) && !is_narrower(&wide, &narrow));
    assert_eq!(expect_kept_fields(&wide, &narrow), Ok(()));
    assert!(expect_fields(&wide, &narrow).is_err() && expect_kept_fields(&narrow, &wide).is_err());
}
