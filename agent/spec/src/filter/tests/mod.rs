//! Filters and what is made of them: `spark` compares with Spark's answers, `refused` with the words of refusals, `robust` tries any text, `wide` counts
//! what references to wide types hold, `guide` reads the page for users.

mod guide;
mod meaning;
mod refused;
mod robust;
mod spark;
mod wide;

use super::*;

fn named(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type)
}

fn decimal(precision: u8, scale: u8) -> DataType {
    DataType::Decimal { precision, scale }
}

fn array(element: DataType) -> DataType {
    DataType::Array(Box::new(element))
}

fn map(value: DataType) -> DataType {
    DataType::Map(Box::new(DataType::String), Box::new(value))
}

/// The columns that Spark was asked with (`tests/data/filter_types.py`).
fn asked_columns() -> Vec<Field> {
    use DataType::*;
    let item = Struct(vec![named("sku", String), named("qty", Int)]);
    let customer = Struct(vec![named("id", Int), named("Email", String), named("odd name", String)]);
    let value = Struct(vec![
        named("id", BigInt),
        named("n", Int),
        named("tiny", TinyInt),
        named("small", SmallInt),
        named("f", Float),
        named("d", Double),
        named("dec", decimal(10, 2)),
        named("big", decimal(38, 10)),
        named("u64", decimal(20, 0)),
        named("flag", Boolean),
        named("name", String),
        named("other", String),
        named("bin", Binary),
        named("day", Date),
        named("at", Timestamp),
        named("ntz", TimestampNtz),
        named("customer", customer),
        named("twin", Struct(vec![named("a", Int), named("A", String)])),
        named("items", array(item.clone())),
        named("tags", array(String)),
        named("nums", array(Int)),
        named("nested", array(array(Int))),
        named("labels", map(String)),
        named("counts", map(Int)),
        named("orders", map(item)),
    ]);
    let header = Struct(vec![named("key", String), named("value", Binary)]);
    vec![
        named("key", String),
        named("value", value),
        named("stream_record_timestamp", Timestamp),
        named("kafka_topic", String),
        named("kafka_partition", Int),
        named("kafka_offset", BigInt),
        named("headers", array(header)),
    ]
}
