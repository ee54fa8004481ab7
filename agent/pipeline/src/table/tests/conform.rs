//! Batches brought into a schema: by name at every depth, and never with a loss.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, MapBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, NullArray, RecordBatch, StringArray, StructArray};
use arrow_array::{LargeStringArray, TimestampMicrosecondArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType as Arrow, Field as ArrowField, Fields, SchemaRef};
use stream_spec::types::{DataType, Field};

use crate::table::conform::{ConformError, Surplus, conform_batch};
use crate::table::schema::arrow_schema;

fn batch(name: &str, array: impl Array + 'static) -> RecordBatch {
    RecordBatch::try_from_iter([(name, Arc::new(array) as ArrayRef)]).unwrap()
}

fn schema(data_type: DataType) -> SchemaRef {
    arrow_schema(&[Field::new("c", data_type)])
}

fn conform(array: impl Array + 'static, wanted: DataType) -> Result<ArrayRef, ConformError> {
    conform_batch(&batch("c", array), &schema(wanted), Surplus::Refused).map(|batch| Arc::clone(batch.column(0)))
}

#[test]
fn missing_columns_are_null_and_surplus_ones_are_refused_or_left_out() {
    let wanted = arrow_schema(&[
        Field::new("a", DataType::Int),
        Field::new("b", DataType::Struct(vec![Field::new("x", DataType::Date)])),
    ]);
    let two = RecordBatch::try_from_iter([
        ("z", Arc::new(Int32Array::from(vec![9, 9])) as ArrayRef),
        ("a", Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef),
    ]);
    let two = two.unwrap();
    let left_out = conform_batch(&two, &wanted, Surplus::LeftOut).unwrap();
    assert_eq!(left_out.schema(), wanted);
    assert_eq!((left_out.num_rows(), left_out.column(1).null_count()), (2, 2));
    assert!(matches!(conform_batch(&two, &wanted, Surplus::Refused), Err(ConformError::Surplus { path }) if path == "z"));
}

#[test]
fn nested_fields_are_found_by_name_and_nulls_of_parents_stay() {
    let fields = Fields::from(vec![
        ArrowField::new("y", Arrow::Utf8, true),
        ArrowField::new("x", Arrow::Int32, true),
    ]);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(vec!["p", "hidden", "q"])),
        Arc::new(Int32Array::from(vec![1, 2, 3])),
    ];
    let rows = StructArray::new(fields, columns, Some(NullBuffer::from(vec![true, false, true])));
    // A slice: offsets must not be lost on the way.
    let rows = rows.slice(1, 2);
    let wanted = DataType::Struct(vec![
        Field::new("x", DataType::BigInt),
        Field::new("new", DataType::Array(Box::new(DataType::String))),
        Field::new("y", DataType::String),
    ]);
    let conformed = conform(rows, wanted).unwrap();
    let conformed = conformed.as_struct();
    assert_eq!((conformed.is_null(0), conformed.is_null(1)), (true, false));
    assert_eq!(conformed.column(0).as_primitive::<Int64Type>().value(1), 3);
    assert_eq!(conformed.column(1).null_count(), 2);
    assert_eq!(conformed.column(2).as_string::<i32>().value(1), "q");
}

#[test]
fn lists_and_maps_take_the_tables_names_for_their_parts() {
    let mut lists = ListBuilder::new(StringBuilder::new());
    lists.append_value([Some("a"), None]);
    lists.append_null();
    let conformed = conform(lists.finish(), DataType::Array(Box::new(DataType::String))).unwrap();
    assert_eq!(conformed.as_list::<i32>().value(0).len(), 2);
    assert!(conformed.is_null(1));

    let mut maps = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
    maps.keys().append_value("k");
    maps.values().append_null();
    maps.append(true).unwrap();
    let conformed = conform(maps.finish(), DataType::Map(Box::new(DataType::String), Box::new(DataType::String))).unwrap();
    assert_eq!(conformed.as_map().keys().as_string::<i32>().value(0), "k");
    assert!(conformed.as_map().values().is_null(0));
}

#[test]
fn what_loses_nothing_is_done_and_anything_else_is_refused_by_path() {
    assert_eq!(conform(NullArray::new(3), DataType::Date).unwrap().null_count(), 3);
    assert_eq!(
        conform(LargeStringArray::from(vec!["é"]), DataType::String)
            .unwrap()
            .as_string::<i32>()
            .value(0),
        "é"
    );
    let zoned = TimestampMicrosecondArray::from(vec![7]).with_timezone("+00:00");
    let conformed = conform(zoned, DataType::Timestamp).unwrap();
    assert_eq!(conformed.as_primitive::<TimestampMicrosecondType>().value(0), 7);

    let refused: Vec<(ArrayRef, DataType)> = vec![
        (Arc::new(Float64Array::from(vec![1.5])), DataType::BigInt),
        (Arc::new(Int64Array::from(vec![1])), DataType::Int),
        (Arc::new(Int32Array::from(vec![5])), DataType::Boolean),
        (Arc::new(Int32Array::from(vec![5])), DataType::String),
        (Arc::new(BooleanArray::from(vec![true])), DataType::Int),
        (Arc::new(Float64Array::from(vec![0.1])), DataType::Float),
        (Arc::new(TimestampMicrosecondArray::from(vec![7])), DataType::Timestamp),
        (
            Arc::new(TimestampMicrosecondArray::from(vec![7]).with_timezone("UTC")),
            DataType::Date,
        ),
    ];
    for (array, wanted) in refused {
        let batch = RecordBatch::try_from_iter([("c", array)]).unwrap();
        let answer = conform_batch(&batch, &schema(wanted.clone()), Surplus::Refused);
        assert!(
            matches!(&answer, Err(ConformError::Type { path, .. }) if path == "c"),
            "{wanted}: {answer:?}"
        );
    }
}

#[test]
fn a_surplus_field_deep_inside_is_refused_with_its_path() {
    let inner = StructArray::from(vec![(
        Arc::new(ArrowField::new("lost", Arrow::Int32, true)),
        Arc::new(Int32Array::from(vec![1])) as ArrayRef,
    )]);
    let answer = conform(inner, DataType::Struct(vec![Field::new("kept", DataType::Int)]));
    assert!(matches!(answer, Err(ConformError::Surplus { path }) if path == "c.lost"));
}
