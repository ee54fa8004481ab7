//! Any bytes as JSON messages: one row each, and the fast way gives what the exact one does.
#![no_main]

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use stream_decode::decoder::Decoder;
use stream_decode::plan::Plan;
use stream_spec::schema;
use stream_spec::stream::SchemaText;

const SCHEMA: &str = r#"{"type":"object","properties":{
    "a":{"type":"integer"},"s":{"type":"string"},"d":{"type":"number"},"b":{"type":"boolean"},"x":{"type":"binary"},
    "t":{"type":"string","format":"date-time"},"y":{"type":"string","format":"date"},"i":{"type":"integer","format":"int64"},
    "l":{"type":"array","items":{"type":"integer"}},"m":{"type":"object","additionalProperties":{"type":"number"}},
    "o":{"type":"object","properties":{"a":{"type":"integer"},"s":{"type":"string"},"l":{"type":"array","items":{"type":"string"}}}}}}"#;

fn decoders() -> (Decoder, Decoder) {
    let parsed = schema::parse(&SchemaText::Json(SCHEMA.to_owned())).expect("a schema");
    let plan = || vec![Plan::json(&parsed.data_type).expect("a plan")];
    (
        Decoder::new(plan()).expect("a decoder"),
        Decoder::new(plan()).expect("a decoder").without_fast_way(),
    )
}

thread_local! {
    static DECODERS: RefCell<(Decoder, Decoder)> = RefCell::new(decoders());
}

fuzz_target!(|data: &[u8]| {
    DECODERS.with_borrow_mut(|(both, exact)| {
        let payloads: Vec<Option<&[u8]>> = data.split(|byte| *byte == 0).map(Some).collect();
        let ours = both.decode(&payloads, &[]).expect("a batch");
        let theirs = exact.decode(&payloads, &[]).expect("a batch");
        assert_eq!(ours.array.len(), payloads.len());
        assert_eq!(&ours.array, &theirs.array);
        assert_eq!(ours.report, theirs.report);
    });
});
