//! Any bytes as Protobuf messages: one row each, and the fast way gives what the exact one does.
#![no_main]

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use stream_decode::decoder::Decoder;
use stream_decode::plan::compile;
use stream_spec::schema;
use stream_spec::stream::SchemaText;

const SCHEMA: &str = r#"syntax = "proto3"; package p;
import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto";
enum E { ZERO = 0; ONE = 1; }
message N { int32 a = 1; string s = 2; repeated sint64 r = 3; }
message M { int32 a = 1; string s = 2; bytes b = 3; repeated int32 r = 4; map<string, N> m = 5; N n = 6; repeated N ns = 7; E e = 8;
  optional double d = 9; uint64 u = 10; oneof o { bool x = 11; N y = 12; } google.protobuf.Timestamp t = 13;
  google.protobuf.Int32Value w = 14; sfixed32 f = 15; repeated string ss = 16; float g = 17; }"#;

fn decoders() -> (Decoder, Decoder) {
    let parsed = schema::parse(&SchemaText::Proto {
        schema_text: SCHEMA.to_owned(),
        message_name: "p.M".to_owned(),
    })
    .expect("a schema");
    let plan = || vec![compile(&parsed, &parsed).expect("a plan")];
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
        let (half, rest) = data.split_at(data.len() / 2);
        let payloads = [Some(data), None, Some(half), Some(rest)];
        let ours = both.decode(&payloads, &[]).expect("a batch");
        let theirs = exact.decode(&payloads, &[]).expect("a batch");
        assert_eq!(ours.array.len(), payloads.len());
        assert_eq!(&ours.array, &theirs.array);
        assert_eq!(ours.report, theirs.report);
    });
});
