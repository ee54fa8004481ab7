//! Data files: what the log says of them is true of them.

use std::sync::Arc;

use ::arrow_schema::DataType as Arrow;
use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, RecordBatch, StringArray, StructArray,
    TimestampMicrosecondArray,
};
use arrow_buffer::NullBuffer;
use serde_json::{Value, json};
use stream_spec::types::{DataType, Field};

use super::support::Lab;
use crate::table::log::actions::Add;
use crate::table::schema::arrow_schema;
use crate::table::write::{DataFileWriter, Origin};

/// Writes one file of these columns, in these batches, and gives its action.
fn write(columns: &[Field], batches: Vec<Vec<ArrayRef>>) -> Add {
    let lab = Lab::new();
    std::fs::create_dir_all(lab.path()).unwrap();
    let files = lab.warehouse.files(&lab.name);
    let schema = arrow_schema(columns);
    let mut writer = DataFileWriter::new(&files, columns, Arc::clone(&schema), u64::MAX, Origin::Source);
    for batch in batches {
        writer.write(&RecordBatch::try_new(Arc::clone(&schema), batch).unwrap()).unwrap();
    }
    let mut adds = writer.finish().unwrap();
    assert_eq!(adds.len(), 1);
    let add = adds.pop().unwrap();
    assert_eq!(
        u64::try_from(add.size).unwrap(),
        std::fs::metadata(lab.path().join(&add.path)).unwrap().len()
    );
    add
}

fn statistics(columns: &[Field], batches: Vec<Vec<ArrayRef>>) -> Value {
    serde_json::from_str(&write(columns, batches).stats.unwrap()).unwrap()
}

fn one(data_type: DataType, array: ArrayRef) -> Value {
    statistics(&[Field::new("c", data_type)], vec![vec![array]])
}

#[test]
fn bounds_of_each_type_are_spelled_as_delta_has_them() {
    let decimals = |precision| {
        Decimal128Array::from(vec![Some(-12_345), None, Some(7)])
            .with_precision_and_scale(precision, 2)
            .unwrap()
    };
    let decimal = |precision| DataType::Decimal { precision, scale: 2 };
    let micros = TimestampMicrosecondArray::from(vec![1_700_000_000_123_456, 1_700_000_000_123_457]);
    let cases: Vec<(DataType, ArrayRef, Value, Value)> = vec![
        (DataType::Int, Arc::new(Int32Array::from(vec![3, -4])), json!(-4), json!(3)),
        (
            DataType::Double,
            Arc::new(Float64Array::from(vec![0.5, -2.0])),
            json!(-2.0),
            json!(0.5),
        ),
        (
            DataType::String,
            Arc::new(StringArray::from(vec!["b\"", "é"])),
            json!("b\""),
            json!("é"),
        ),
        (
            DataType::Date,
            Arc::new(Date32Array::from(vec![0, 19_782])),
            json!("1970-01-01"),
            json!("2024-02-29"),
        ),
        (
            DataType::Timestamp,
            Arc::new(micros.clone().with_timezone("UTC")),
            json!("2023-11-14T22:13:20.123Z"),
            json!("2023-11-14T22:13:20.124Z"),
        ),
        (
            DataType::TimestampNtz,
            Arc::new(micros),
            json!("2023-11-14T22:13:20.123"),
            json!("2023-11-14T22:13:20.124"),
        ),
        (decimal(5), Arc::new(decimals(5)), json!(-123.45), json!(0.07)),
        (decimal(12), Arc::new(decimals(12)), json!(-123.45), json!(0.07)),
        (decimal(38), Arc::new(decimals(38)), json!(-123.45), json!(0.07)),
    ];
    for (data_type, array, minimum, maximum) in cases {
        let statistics = one(data_type.clone(), array);
        assert_eq!(
            (&statistics["minValues"]["c"], &statistics["maxValues"]["c"]),
            (&minimum, &maximum),
            "{data_type}"
        );
    }
}

#[test]
fn types_without_an_order_and_values_without_a_bound_have_null_counts_only() {
    let mut lists =
        ListBuilder::new(StringBuilder::new()).with_field(arrow_schema::Field::new("element", arrow_schema::DataType::Utf8, true));
    lists.append_value([Some("a")]);
    let longest = "\u{10ffff}".repeat(100);
    let cases: Vec<(DataType, ArrayRef, Value)> = vec![
        (DataType::Boolean, Arc::new(BooleanArray::from(vec![true])), json!({"c": 0})),
        (
            DataType::Binary,
            Arc::new(BinaryArray::from(vec![b"x".as_slice()])),
            json!({"c": 0}),
        ),
        (DataType::Array(Box::new(DataType::String)), Arc::new(lists.finish()), json!({})),
        (DataType::Double, Arc::new(Float64Array::from(vec![1.0, f64::NAN])), json!({"c": 0})),
        (
            DataType::Double,
            Arc::new(Float64Array::from(vec![1.0, f64::INFINITY])),
            json!({"c": 0}),
        ),
        (
            DataType::String,
            Arc::new(StringArray::from(vec![longest.as_str()])),
            json!({"c": 0}),
        ),
        (DataType::Int, Arc::new(Int32Array::from(vec![None, None])), json!({"c": 2})),
    ];
    for (data_type, array, nulls) in cases {
        let statistics = one(data_type.clone(), array);
        assert_eq!(
            (&statistics["minValues"], &statistics["maxValues"]),
            (&json!({}), &json!({})),
            "{data_type}"
        );
        assert_eq!(statistics["nullCount"], nulls, "{data_type}");
    }
}

#[test]
fn a_long_text_is_cut_so_that_it_still_lies_between_its_bounds() {
    let texts = ["a".repeat(500), "é".repeat(500)];
    let statistics = one(DataType::String, Arc::new(StringArray::from(texts.to_vec())));
    let (minimum, maximum) = (
        statistics["minValues"]["c"].as_str().unwrap(),
        statistics["maxValues"]["c"].as_str().unwrap(),
    );
    assert!(minimum <= texts[0].as_str() && maximum >= texts[1].as_str(), "{minimum} {maximum}");
    assert!(minimum.len() < 100 && maximum.len() < 100);
}

#[test]
fn nulls_of_a_struct_count_for_its_fields_and_all_batches_count() {
    let columns = [Field::new("v", DataType::Struct(vec![Field::new("n", DataType::Int)]))];
    let fields = match arrow_schema(&columns).field(0).data_type() {
        arrow_schema::DataType::Struct(fields) => fields.clone(),
        other => panic!("{other}"),
    };
    let rows = |values: Vec<i32>, valid: Vec<bool>| -> Vec<ArrayRef> {
        let numbers: ArrayRef = Arc::new(Int32Array::from(values));
        vec![Arc::new(StructArray::new(
            fields.clone(),
            vec![numbers],
            Some(NullBuffer::from(valid)),
        ))]
    };
    // The −99 lies under a null struct: it is no value of the column.
    let statistics = statistics(
        &columns,
        vec![rows(vec![5, -99], vec![true, false]), rows(vec![1, 9], vec![true, true])],
    );
    let expected = json!({"numRecords": 4, "minValues": {"v": {"n": 1}}, "maxValues": {"v": {"n": 9}}, "nullCount": {"v": {"n": 1}}});
    assert_eq!(statistics, expected);
}

#[test]
fn fields_beyond_the_first_32_have_no_statistics_and_columns_behind_them_do() {
    let fields: Vec<Field> = (0..40).map(|number| Field::new(format!("c{number}"), DataType::Int)).collect();
    let arrays: Vec<ArrayRef> = fields.iter().map(|_| Arc::new(Int32Array::from(vec![1])) as ArrayRef).collect();
    let columns = [
        Field::new("value", DataType::Struct(fields)),
        Field::new("kafka_offset", DataType::Int),
    ];
    let Arrow::Struct(inner) = arrow_schema(&columns).field(0).data_type().clone() else {
        panic!("a struct")
    };
    let value: ArrayRef = Arc::new(StructArray::new(inner, arrays, None));
    let statistics = statistics(&columns, vec![vec![value, Arc::new(Int32Array::from(vec![7]))]]);
    let fields = statistics["minValues"]["value"].as_object().unwrap();
    assert_eq!(fields.len(), 32);
    assert!(fields.contains_key("c31") && !fields.contains_key("c32"));
    assert_eq!(
        (&statistics["maxValues"]["kafka_offset"], &statistics["nullCount"]["kafka_offset"]),
        (&json!(7), &json!(0))
    );
}
