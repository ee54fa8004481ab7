//! Avro messages that the recorded answers leave out: reasons of the report, limits, schemas of two versions, and what holds for any
//! bytes.

use arrow_array::Array;
use proptest::prelude::*;
use serde_json::{Value, json};
use stream_decode::decoder::Decoder;
use stream_decode::limits::{AVRO_ITEMS_WITHOUT_BYTES_PER_BYTE_MAX, BATCH_CELLS_MAX, STRUCT_CELLS_PER_MESSAGE_MAX, TYPE_DEPTH_MAX};
use stream_decode::report::MisfitReason;
use stream_spec::schema::avro::{Reading, UnionNames};

use crate::oracle::avro::{AvroSchemas, decoder, sorted};
use crate::oracle::{agree, element};

fn of(writer: &str, reader: Option<&str>) -> Decoder {
    let schemas = AvroSchemas {
        writer: writer.to_owned(),
        reader: reader.map(str::to_owned),
        reading: Reading {
            recursive_levels: 1,
            union_names: UnionNames::OfBranches { prefix: String::new() },
        },
    };
    decoder(&schemas).unwrap()
}

fn record(schema: &str) -> String {
    format!(r#"{{"type":"record","name":"R","fields":[{{"name":"a","type":{schema}}}]}}"#)
}

/// What becomes of one message, and why it did not fit if it did not.
fn decode(decoder: &mut Decoder, message: &[u8]) -> (Value, Option<MisfitReason>) {
    let decoded = decoder.decode(&[Some(message)], &[]).unwrap();
    let reason = decoded.report.counts().first().map(|count| count.reason);
    (sorted(element(&decoded.array, 0)), reason)
}

#[track_caller]
fn check_misfit(schema: &str, message: &[u8], expected: MisfitReason) {
    let (row, reason) = decode(&mut of(&record(schema), None), message);
    assert_eq!((row, reason), (json!({ "a": null }), Some(expected)), "{schema} {message:x?}");
}

fn long(value: i64) -> Vec<u8> {
    let mut zigzag = ((value << 1) ^ (value >> 63)) as u64;
    let mut bytes = Vec::new();
    while zigzag > 0x7f {
        bytes.push(zigzag as u8 | 0x80);
        zigzag >>= 7;
    }
    bytes.push(zigzag as u8);
    bytes
}

#[test]
fn a_message_that_does_not_fit_is_counted_with_its_reason() {
    check_misfit(r#""int""#, &[], MisfitReason::Empty);
    check_misfit(r#""string""#, &[5], MisfitReason::Malformed);
    check_misfit(r#"["null","int"]"#, &[6, 0], MisfitReason::Malformed);
    let decimal = r#"{"type":"bytes","logicalType":"decimal","precision":2}"#;
    check_misfit(decimal, &[2, 100], MisfitReason::OutOfRange);
    check_misfit(
        r#"{"type":"long","logicalType":"timestamp-millis"}"#,
        &long(i64::MAX),
        MisfitReason::OutOfRange,
    );
    let (row, reason) = decode(&mut of(&record(r#""int""#), Some(&record(r#""string""#))), &[2]);
    assert_eq!((row, reason), (json!({ "a": null }), Some(MisfitReason::WrongKind)));
    let symbols = |symbols: &str| format!(r#"{{"type":"enum","name":"E","symbols":[{symbols}]}}"#);
    let mut without_b = of(&symbols(r#""A","B""#), Some(&symbols(r#""A""#)));
    assert_eq!(decode(&mut without_b, &[2]), (Value::Null, Some(MisfitReason::UnknownSymbol)));
    let (row, reason) = decode(&mut of(r#""string""#, None), &[5]);
    assert_eq!((row, reason), (Value::Null, Some(MisfitReason::Malformed)));
}

#[test]
fn a_bad_message_leaves_nothing_in_any_column() {
    let schema = r#"{"type":"record","name":"R","fields":[
        {"name":"l","type":{"type":"array","items":{"type":"map","values":["null","string",{"type":"record","name":"N","fields":[
            {"name":"x","type":"int"},{"name":"y","type":{"type":"array","items":"bytes"}}]}]}}},
        {"name":"z","type":"boolean"}]}"#;
    // One map with `k`, whose value is of the third branch: x is 1, y one text of one byte.
    let sound: &[u8] = &[2, 2, 2, b'k', 4, 2, 2, 2, 9, 0, 0, 0, 1];
    let expected = json!({ "l": [[["k", { "string": null, "N": { "x": 1, "y": ["CQ=="] } }]]], "z": true });
    let mut decoder = of(schema, None);
    for end in 0..sound.len() {
        let decoded = decoder.decode(&[Some(sound), Some(&sound[..end]), None, Some(sound)], &[]).unwrap();
        decoded.array.to_data().validate_full().unwrap();
        let rows: Vec<Value> = (0..4).map(|row| element(&decoded.array, row)).collect();
        assert_eq!(
            rows,
            [expected.clone(), json!({ "l": null, "z": null }), Value::Null, expected.clone()],
            "{end}"
        );
        assert_eq!(decoded.report.misfit_messages(), 1);
    }
}

#[test]
fn what_a_message_declares_costs_nothing_before_it_is_there() {
    for count in [i64::from(i32::MAX) - 8, i64::MAX, i64::MIN + 1, -i64::MAX] {
        check_misfit(r#"{"type":"array","items":"int"}"#, &long(count), MisfitReason::Malformed);
        check_misfit(r#"{"type":"map","values":"int"}"#, &long(count), MisfitReason::Malformed);
        check_misfit(r#""bytes""#, &long(count), MisfitReason::Malformed);
    }
    check_misfit(r#"{"type":"fixed","name":"F","size":2147483647}"#, &[1, 2], MisfitReason::Malformed);
    // Items without bytes: as many as a little more than the message has, and no more.
    let nulls = record(r#"{"type":"array","items":"null"}"#);
    check_misfit(
        r#"{"type":"array","items":"null"}"#,
        &long(i64::from(i32::MAX)),
        MisfitReason::BeyondLimit,
    );
    let most = AVRO_ITEMS_WITHOUT_BYTES_PER_BYTE_MAX * 2;
    let (row, reason) = decode(&mut of(&nulls, None), &[long(most as i64), vec![0]].concat());
    assert_eq!((row, reason), (json!({ "a": vec![Value::Null; most] }), None));
    // Skipped, where the reader has no such field.
    let two = r#"{"type":"record","name":"R","fields":[{"name":"x","type":{"type":"array","items":"null"}},{"name":"a","type":"int"}]}"#;
    let mut skipping = of(two, Some(&record(r#""int""#)));
    assert_eq!(decode(&mut skipping, &long(i64::MAX)).1, Some(MisfitReason::BeyondLimit));
    assert_eq!(decode(&mut skipping, &[4, 0, 10]).0, json!({ "a": 5 }));
    assert_eq!(decode(&mut skipping, &[3, 6, 1, 1, 1, 0, 10]).0, json!({ "a": 5 }));
}

#[test]
fn cells_that_bytes_do_not_pay_for_are_bounded() {
    let fields: Vec<String> = (0..4096).map(|index| format!(r#"{{"name":"f{index}","type":"int"}}"#)).collect();
    let wide = format!(r#"{{"type":"record","name":"W","fields":[{}]}}"#, fields.join(","));
    let items = STRUCT_CELLS_PER_MESSAGE_MAX / 4096 + 1;
    let message = [long(items as i64), vec![0; items + 1]].concat();
    check_misfit(
        &format!(r#"{{"type":"array","items":["null",{wide}]}}"#),
        &message,
        MisfitReason::BeyondLimit,
    );
    let symbol = "S".repeat(1 << 20);
    let message = [long(80), vec![0; 81]].concat();
    check_misfit(
        &format!(r#"{{"type":"array","items":{{"type":"enum","name":"E","symbols":["{symbol}"]}}}}"#),
        &message,
        MisfitReason::BeyondLimit,
    );
}

#[test]
fn repeated_keys_at_every_level_of_maps_in_maps_end() {
    const LEVELS: usize = 40;
    let schema = (0..LEVELS).fold(r#""int""#.to_owned(), |inner, _| format!(r#"{{"type":"map","values":{inner}}}"#));
    // Each level has its key twice, the first time with an empty map.
    let message = (1..LEVELS).fold(vec![4, 2, b'k', 2, 2, b'k', 4, 0], |inner, _| {
        [&[4, 2, b'k', 0, 2, b'k'], inner.as_slice(), &[0]].concat()
    });
    let (_, reason) = decode(&mut of(&record(&schema), None), &message);
    assert_eq!(reason, Some(MisfitReason::BeyondLimit));
    let schema = record(r#"{"type":"map","values":{"type":"map","values":"int"}}"#);
    let message = [4, 2, b'k', 2, 2, b'x', 2, 0, 2, b'k', 4, 2, b'y', 4, 2, b'y', 6, 0, 0];
    assert_eq!(decode(&mut of(&schema, None), &message).0, json!({ "a": [["k", [["y", 3]]]] }));
}

#[test]
fn what_repeated_keys_have_read_again_is_bounded_by_the_message() {
    let schema = |levels: usize| {
        let values = r#"{"type":"array","items":"int"}"#.to_owned();
        record(&(0..levels).fold(values, |inner, _| format!(r#"{{"type":"map","values":{inner}}}"#)))
    };
    // Each level has its key twice, the first time with nothing inside.
    let message = |levels: usize, items: usize| {
        let array = [long(items as i64), vec![2; items], vec![0]].concat();
        (0..levels).fold(array, |inner, _| [&[4, 2, b'k', 0, 2, b'k'], inner.as_slice(), &[0]].concat())
    };
    let (row, reason) = decode(&mut of(&schema(3), None), &message(3, 5));
    let last = [1; 5];
    assert_eq!((row, reason), (json!({ "a": [["k", [["k", [["k", last]]]]]] }), None));
    let (_, reason) = decode(&mut of(&schema(20), None), &message(20, 1 << 20));
    assert_eq!(reason, Some(MisfitReason::BeyondLimit));
}

#[test]
fn a_batch_ends_where_its_cells_are_used_up() {
    let fields: Vec<String> = (0..4096).map(|index| format!(r#"{{"name":"f{index}","type":"int"}}"#)).collect();
    let wide = format!(r#"{{"type":"record","name":"W","fields":[{}]}}"#, fields.join(","));
    let mut decoder = of(&record(&format!(r#"{{"type":"array","items":["null",{wide}]}}"#)), None);
    let items = BATCH_CELLS_MAX / 4096;
    let message = [long(items as i64), vec![0; items + 1]].concat();
    let payloads = [Some(&[0][..]), Some(&message), Some(&message)];
    let first = decoder.decode(&payloads, &[]).unwrap().array;
    assert_eq!(first.len(), 2);
    let rest = decoder.decode(&payloads[2..], &[]).unwrap().array;
    assert_eq!(&first.slice(1, 1), &rest, "where a batch ends does not matter");
}

#[test]
fn the_deepest_type_is_decoded_on_a_threads_ordinary_stack() {
    // The record around them and the value inside are levels too.
    let levels = TYPE_DEPTH_MAX - 2;
    let schema = (0..levels).fold(r#""int""#.to_owned(), |inner, level| match level % 3 {
        0 => format!(r#"{{"type":"array","items":{inner}}}"#),
        1 => format!(r#"["null",{{"type":"record","name":"L{level}","fields":[{{"name":"x","type":{inner}}}]}}]"#),
        _ => format!(r#"{{"type":"map","values":{inner}}}"#),
    });
    let message = (0..levels).fold(vec![10], |inner, level| match level % 3 {
        0 => [&[2], inner.as_slice(), &[0]].concat(),
        1 => [&[2], inner.as_slice()].concat(),
        _ => [&[2, 2, b'k'], inner.as_slice(), &[0]].concat(),
    });
    let (row, reason) = decode(&mut of(&record(&schema), None), &message);
    assert_eq!(reason, None);
    assert!(row.to_string().contains("[5]"), "{row}");
}

#[test]
fn a_record_that_contains_itself_is_stepped_over_to_a_bound() {
    let node = r#"{"type":"record","name":"Node","fields":[{"name":"v","type":"int"},{"name":"next","type":["null","Node"]}]}"#;
    let list = |length: usize| [[2, 2].repeat(length), vec![4, 0]].concat();
    assert_eq!(decode(&mut of(node, None), &list(100)), (json!({ "v": 1 }), None));
    assert_eq!(
        decode(&mut of(node, None), &list(1_000_000)),
        (json!({ "v": null }), Some(MisfitReason::BeyondLimit))
    );
}

#[test]
fn a_later_schema_reads_what_an_earlier_one_wrote() {
    let writer = r#"{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"gone","type":"string"},{"name":"c","type":["null","float"]}]}"#;
    let message: &[u8] = &[10, 2, b'x', 2, 0, 0, 0x20, 0x41];
    for (reader, expected) in [
        (r#"{"name":"a","type":"long"}"#, json!({ "a": 5 })),
        (
            r#"{"name":"c","type":["double","null"]},{"name":"a","type":"double"}"#,
            json!({ "c": 10.0, "a": 5.0 }),
        ),
        (r#"{"name":"b","type":"int","aliases":["a"]}"#, json!({ "b": 5 })),
        (r#"{"name":"gone","type":"bytes"}"#, json!({ "gone": "eA==" })),
        (
            r#"{"name":"a","type":["string","long"]}"#,
            json!({ "a": { "string": null, "long": 5 } }),
        ),
        (
            r#"{"name":"a","type":"int"},{"name":"n","type":{"type":"array","items":["null","string"]},"default":["q",null]}"#,
            json!({ "a": 5, "n": ["q", null] }),
        ),
        (
            r#"{"name":"m","type":{"type":"map","values":{"type":"bytes","logicalType":"decimal","precision":4,"scale":2}},"default":{"k":"\u0001\u0000"}}"#,
            json!({ "m": [["k", "2.56"]] }),
        ),
        (r#"{"name":"n","type":"int","default":"no int"}"#, json!({ "n": null })),
        (r#"{"name":"n","type":"int"}"#, json!({ "n": null })),
        (
            r#"{"name":"a","type":{"type":"long","logicalType":"timestamp-millis"}}"#,
            json!({ "a": 5000 }),
        ),
    ] {
        let reader = format!(r#"{{"type":"record","name":"R","fields":[{reader}]}}"#);
        let (row, _) = decode(&mut of(writer, Some(&reader)), message);
        assert!(agree(&expected, &row), "{reader}\n  expected {expected}\n  ours     {row}");
    }
}

/// apache/arrow-rs#9231, #9336, #9304: a plain type under a reader's union and the other way round, at every depth, and a default of a
/// union's later branch. Behind each of them is a text, which would be garbage if a byte more or less were read.
#[test]
fn nullability_that_changes_at_any_depth_reads_exactly_what_was_written() {
    let with_end = |field: &str| format!(r#"{{"type":"record","name":"R","fields":[{field},{{"name":"end","type":"string"}}]}}"#);
    let nested = |fields: &str| format!(r#"{{"type":"record","name":"N","fields":[{fields}]}}"#);
    let written = nested(r#"{"name":"x","type":"int"},{"name":"y","type":["string","null"]}"#);
    let read = nested(
        r#"{"name":"x","type":["null","long"]},{"name":"new","type":["int","null"],"default":null},{"name":"y","type":["null","string"]}"#,
    );
    for (writer, reader, bytes, expected) in [
        (r#""long""#, r#"["null","long"]"#, &[10][..], json!(5)),
        (r#"["null","long"]"#, r#""long""#, &[2, 10], json!(5)),
        (r#"["int","null"]"#, r#"["null","double"]"#, &[2], json!(null)),
        (
            &written,
            &format!(r#"["null",{read}]"#),
            &[10, 0, 2, b'y'],
            json!({"x": 5, "new": null, "y": "y"}),
        ),
        (
            &format!(r#"["null",{written}]"#),
            &read,
            &[2, 10, 2],
            json!({"x": 5, "new": null, "y": null}),
        ),
        (
            r#"{"type":"array","items":"int"}"#,
            r#"{"type":"array","items":["null","long"]}"#,
            &[4, 2, 4, 0],
            json!([1, 2]),
        ),
        (
            &format!(r#"{{"type":"map","values":{written}}}"#),
            &format!(r#"["null",{{"type":"map","values":["null",{read}]}}]"#),
            &[2, 2, b'k', 10, 2, 0],
            json!([["k", {"x": 5, "new": null, "y": null}]]),
        ),
    ] {
        let field = |schema: &str| with_end(&format!(r#"{{"name":"a","type":{schema}}}"#));
        let message = [bytes, &[6, b'e', b'n', b'd']].concat();
        let (mut decoder, twice) = (of(&field(writer), Some(&field(reader))), [Some(message.as_slice()); 2]);
        let decoded = decoder.decode(&twice, &[]).unwrap();
        assert_eq!(decoded.report.misfit_messages(), 0, "{writer} as {reader}: {:?}", decoded.report);
        for row in 0..2 {
            let found = sorted(element(&decoded.array, row));
            assert!(
                agree(&sorted(json!({"a": expected.clone(), "end": "end"})), &found),
                "{writer} as {reader}: {found}"
            );
        }
    }
}

const SCHEMAS: [&str; 7] = [
    r#"{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"s","type":"string"},{"name":"d","type":["null","double"]}]}"#,
    r#"{"type":"record","name":"R","fields":[{"name":"m","type":{"type":"map","values":{"type":"map","values":["null","long"]}}},{"name":"b","type":"bytes"}]}"#,
    r#"{"type":"record","name":"R","fields":[{"name":"l","type":{"type":"array","items":{"type":"record","name":"N","fields":[
        {"name":"x","type":["int","string",{"type":"array","items":"boolean"}]},{"name":"e","type":{"type":"enum","name":"E","symbols":["A","B"]}}]}}}]}"#,
    r#"{"type":"record","name":"R","fields":[{"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":20,"scale":3}},
        {"name":"f","type":{"type":"fixed","name":"F","size":2}},{"name":"t","type":{"type":"long","logicalType":"timestamp-millis"}}]}"#,
    r#"{"type":"record","name":"T","fields":[{"name":"v","type":"int"},{"name":"kids","type":{"type":"array","items":"T"}},{"name":"w","type":"string"}]}"#,
    r#"{"type":"map","values":{"type":"array","items":"null"}}"#,
    r#"["float","double"]"#,
];

fn message() -> impl Strategy<Value = Vec<u8>> {
    // Mostly small numbers: lengths, counts and indexes that may be right.
    let byte = prop_oneof![
        6 => proptest::sample::select(vec![0_u8, 0, 1, 2, 2, 4, 6, 3, 8]),
        1 => any::<u8>(),
        1 => proptest::sample::select(vec![0x80, 0xff, 0xc3, 0xed, 0x7f]),
    ];
    proptest::collection::vec(byte, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_make_one_row_each_and_no_neighbour_matters(
        writer in proptest::sample::select(SCHEMAS.as_slice()),
        other in proptest::option::weighted(0.2, proptest::sample::select(SCHEMAS.as_slice())),
        payloads in proptest::collection::vec(proptest::option::weighted(0.95, message()), 0..12),
    ) {
        let payloads: Vec<Option<&[u8]>> = payloads.iter().map(Option::as_deref).collect();
        let mut together = of(writer, other);
        let array = together.decode(&payloads, &[]).unwrap().array;
        prop_assert_eq!(array.len(), payloads.len());
        array.to_data().validate_full().unwrap();
        for (row, payload) in payloads.iter().enumerate() {
            let alone = of(writer, other).decode(&[*payload], &[]).unwrap().array;
            prop_assert_eq!(&array.slice(row, 1), &alone, "row {}", row);
        }
        let again = together.decode(&payloads, &[]).unwrap().array;
        prop_assert_eq!(&array, &again, "a used decoder decodes as a new one");
    }
}
