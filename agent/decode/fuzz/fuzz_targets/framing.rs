//! Any bytes as payloads with a frame: what is taken off is the payload's beginning, the same whatever came before.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stream_decode::framing::{Framing, Split};
use stream_spec::schema::SchemaFormat;

fuzz_target!(|data: &[u8]| {
    for format in [SchemaFormat::Avro, SchemaFormat::Protobuf] {
        let mut together = Framing::new(format);
        // Payloads follow one another, each behind a byte that says its length.
        let mut rest = data;
        while let Some((length, bytes)) = rest.split_first() {
            let (payload, behind) = bytes.split_at(bytes.len().min(usize::from(*length)));
            rest = behind;
            let mut alone = Framing::new(format);
            match (together.split(payload), alone.split(payload)) {
                (Split::Framed { key, body }, Split::Framed { key: first, body: same }) => {
                    assert_eq!(together.keys()[usize::from(key)], alone.keys()[usize::from(first)]);
                    assert_eq!(body, same);
                    assert!(payload.ends_with(body) && payload.len() >= body.len() + 5);
                }
                (Split::Unframed(together), Split::Unframed(alone)) => assert_eq!(together, alone),
                (Split::Full, _) => together.clear(),
                other => panic!("{other:?}"),
            }
        }
    }
});
