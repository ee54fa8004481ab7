//! Any bytes as Avro messages: one row each, whatever they hold.
#![no_main]

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use stream_decode::decoder::Decoder;
use stream_decode::plan::compile;
use stream_spec::schema;
use stream_spec::stream::SchemaText;

const SCHEMA: &str = r#"{"type":"record","name":"R","fields":[
    {"name":"a","type":"int"},{"name":"s","type":["null","string"]},{"name":"l","type":{"type":"array","items":"long"}},
    {"name":"m","type":{"type":"map","values":["null","double"]}},{"name":"e","type":{"type":"enum","name":"E","symbols":["A","B"]}},
    {"name":"f","type":{"type":"fixed","name":"F","size":3}},{"name":"b","type":"bytes"},{"name":"o","type":"boolean"},
    {"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}},
    {"name":"t","type":{"type":"long","logicalType":"timestamp-millis"}},{"name":"y","type":{"type":"int","logicalType":"date"}},
    {"name":"u","type":["null",{"type":"record","name":"U","fields":[{"name":"x","type":"float"}]}]},
    {"name":"z","type":{"type":"array","items":{"type":"record","name":"W","fields":[{"name":"n","type":["null","int"]}]}}}]}"#;

fn decoder() -> Decoder {
    let parsed = schema::parse(&SchemaText::Avro(SCHEMA.to_owned())).expect("a schema");
    Decoder::new(vec![compile(&parsed, &parsed).expect("a plan")]).expect("a decoder")
}

thread_local! {
    static DECODER: RefCell<Decoder> = RefCell::new(decoder());
}

fuzz_target!(|data: &[u8]| {
    DECODER.with_borrow_mut(|decoder| {
        let (half, rest) = data.split_at(data.len() / 2);
        let payloads = [Some(data), None, Some(half), Some(rest)];
        let decoded = decoder.decode(&payloads, &[]).expect("a batch");
        assert_eq!(decoded.array.len(), payloads.len());
    });
});
