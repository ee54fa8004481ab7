//! Any text as a record filter: checked or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stream_spec::filter;
use stream_spec::types::{DataType, Field};

fuzz_target!(|text: &str| {
    let inner = vec![
        Field::new("a", DataType::Int),
        Field::new("s", DataType::String),
        Field::new("d", DataType::Double),
        Field::new("n", DataType::Decimal { precision: 10, scale: 2 }),
        Field::new("t", DataType::Timestamp),
        Field::new("l", DataType::Array(Box::new(DataType::Int))),
        Field::new("m", DataType::Map(Box::new(DataType::String), Box::new(DataType::BigInt))),
    ];
    let columns = [
        Field::new("key", DataType::String),
        Field::new("value", DataType::Struct(inner)),
        Field::new("kafka_offset", DataType::BigInt),
    ];
    let _formed = filter::check_form(text);
    let _checked = filter::check(text, &columns);
});
