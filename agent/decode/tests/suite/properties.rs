//! What holds for any bytes: no panic, one row per payload, columns that Arrow accepts, and neighbours that do not matter.

use arrow_array::{Array, ArrayRef};
use proptest::prelude::*;
use stream_decode::decoder::Decoder;
use stream_decode::plan::Plan;

use crate::oracle::ddl;

const DDLS: [&str; 6] = [
    "a int, s string, d double, n decimal(6,2), t timestamp, l array<int>, m map<string,int>, o struct<a:int,s:string,l:array<string>>, b boolean",
    "a string, b binary, c date, d timestamp_ntz, f float, l tinyint, m smallint, n bigint, o decimal(38,38)",
    "a map<string,array<struct<a:int,b:binary>>>, s array<array<string>>, m struct<a:struct<a:struct<a:string>>>",
    "array<struct<a:int,s:string>>",
    "map<string,string>",
    "a string, b string, c string, d string, l string, m string, n string, o string, s string, t string",
];

/// Pieces that JSON, and what is almost JSON, is made of.
const PIECES: [&str; 51] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "'",
    "\\",
    "\"a\":",
    "\"s\":",
    "\"m\":{",
    "\"l\":[",
    "\"o\":{",
    "\"b\":",
    "\"n\":",
    "\"t\":\"",
    "'d':",
    "1",
    "-0",
    "0.5",
    "1e400",
    "12345678901",
    "0e",
    "-",
    "+INF",
    "NaN",
    "true",
    "false",
    "null",
    "tru",
    "\"x\"",
    "\"\\ud83d\"",
    "\"\\u00e9\\n\"",
    "\\ude00",
    "'\\ud83d'",
    "\"\\ude00",
    "\\ud83d\"",
    "é",
    "😀",
    "\u{7f}",
    "AQ==",
    "AQI",
    "2024-02-29",
    "T12:34:56",
    " Europe/Paris",
    "+01:30",
    "GMT",
    " ",
    "\n",
    "\t",
];

fn message() -> impl Strategy<Value = Vec<u8>> {
    let pieces =
        proptest::collection::vec(proptest::sample::select(PIECES.as_slice()), 0..40).prop_map(|pieces| pieces.concat().into_bytes());
    let object = pieces.clone().prop_map(|inner| [b"{\"a\":".as_slice(), &inner, b"}"].concat());
    prop_oneof![
        1 => proptest::collection::vec(any::<u8>(), 0..60),
        3 => pieces,
        3 => object.clone(),
        2 => (object, any::<proptest::sample::Index>(), any::<u8>()).prop_map(|(mut bytes, at, byte)| {
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes
        }),
    ]
}

fn decoder(ddl: &str) -> Decoder {
    Decoder::new(vec![Plan::json(&ddl::parse(ddl).unwrap()).unwrap()]).unwrap()
}

fn decode(decoder: &mut Decoder, payloads: &[Option<Vec<u8>>]) -> ArrayRef {
    let payloads: Vec<Option<&[u8]>> = payloads.iter().map(Option::as_deref).collect();
    decoder.decode(&payloads, &[]).unwrap().array
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_make_one_row_each_and_no_neighbour_matters(
        ddl in proptest::sample::select(DDLS.as_slice()),
        payloads in proptest::collection::vec(proptest::option::weighted(0.95, message()), 0..12),
    ) {
        let mut together = decoder(ddl);
        let array = decode(&mut together, &payloads);
        prop_assert_eq!(array.len(), payloads.len());
        array.to_data().validate_full().unwrap();
        for (row, payload) in payloads.iter().enumerate() {
            let alone = decode(&mut decoder(ddl), std::slice::from_ref(payload));
            prop_assert_eq!(&array.slice(row, 1), &alone, "row {}", row);
        }
        let again = decode(&mut together, &payloads);
        prop_assert_eq!(&array, &again, "a used decoder decodes as a new one");
    }
}
