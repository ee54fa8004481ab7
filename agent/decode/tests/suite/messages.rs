//! Messages that the recorded answers leave out: tombstones and texts, lone scalars, limits, repeated fields, reports.

use arrow_array::Array;
use serde_json::{Value, json};
use stream_decode::decoder::Decoder;
use stream_decode::error::{CompileError, DecodeError};
use stream_decode::limits::{BATCH_CELLS_MAX, STRUCT_CELLS_PER_MESSAGE_MAX};
use stream_decode::plan::Plan;
use stream_decode::report::MisfitReason;
use stream_spec::types::{DataType, Field};

use crate::oracle::{agree, decode_one};

fn check(ddl: &str, input: &str, expected: Value) {
    let ours = decode_one(ddl, Some(input.as_bytes()));
    let shown: String = input.chars().take(200).collect();
    assert!(agree(&expected, &ours), "[{ddl}] {shown}\n  expected {expected}\n  ours     {ours}");
}

fn decoder(plan: Plan) -> Decoder {
    Decoder::new(vec![plan]).unwrap()
}

fn struct_of_int() -> DataType {
    DataType::Struct(vec![Field::new("a", DataType::Int)])
}

#[test]
fn nothing_is_null_and_a_broken_object_is_a_struct_of_nulls() {
    assert_eq!(decode_one("a int", None), Value::Null);
    check("a int", "", Value::Null);
    check("a int", " \t\r\n", Value::Null);
    for broken in ["{", "[1]", "null", "\u{FEFF}{\"a\":1}", "{\"a\":1", "x"] {
        check("a int", broken, json!({ "a": null }));
    }
}

#[test]
fn a_side_without_schema_is_the_payload_as_text() {
    let mut decoder = decoder(Plan::text());
    let payloads: [Option<&[u8]>; 5] = [
        Some(b"{\"a\":1}"),
        None,
        Some(b""),
        Some(b"caf\xc3\xa9 \xff"),
        Some(b"\xed\xa0\x80"),
    ];
    let decoded = decoder.decode(&payloads, &[]).unwrap();
    let texts = arrow_array::cast::AsArray::as_string::<i32>(&decoded.array);
    let texts: Vec<Option<&str>> = texts.iter().collect();
    assert_eq!(texts, [Some("{\"a\":1}"), None, Some(""), Some("café \u{FFFD}"), Some("\u{FFFD}")]);
    assert_eq!(decoded.report.misfit_messages(), 0);
}

#[test]
fn a_string_root_is_the_payload_as_text() {
    assert_eq!(Plan::json(&DataType::String).unwrap().reader(), Plan::text().reader());
}

#[test]
fn a_scalar_root_reads_one_json_scalar_or_nothing() {
    let cases: [(DataType, &str, bool); 12] = [
        (DataType::Int, "12", true),
        (DataType::Int, " 12 \n", true),
        (DataType::Int, "1.5", false),
        (DataType::Int, "\"12\"", false),
        (DataType::Int, "12 13", false),
        (DataType::Int, "12,", false),
        (DataType::Int, "null", false),
        (DataType::Int, "", false),
        (DataType::Boolean, "true", true),
        (DataType::Boolean, "truex", false),
        (DataType::Double, "1e3", true),
        (DataType::Double, "[1]", false),
    ];
    for (data_type, input, fits) in cases {
        let decoded = decoder(Plan::json(&data_type).unwrap())
            .decode(&[Some(input.as_bytes())], &[])
            .unwrap();
        assert_eq!(decoded.array.len(), 1);
        assert_eq!(decoded.array.is_valid(0), fits, "{data_type} {input}");
    }
}

#[test]
fn of_a_repeated_field_the_last_value_that_fits_stays() {
    check("a int, b int", r#"{"a":1,"b":2,"a":3}"#, json!({"a": 3, "b": 2}));
    check("a int, b int", r#"{"a":1,"b":2,"a":"x"}"#, json!({"a": 1, "b": 2}));
    check("a int, b int", r#"{"a":1,"b":2,"a":null}"#, json!({"a": null, "b": 2}));
    check("a boolean", r#"{"a":true,"a":false,"a":true}"#, json!({"a": true}));
    check("a string", r#"{"a":"first","a":"second","a":"3"}"#, json!({"a": "3"}));
    check(
        "a array<string>",
        r#"{"a":["x","y"],"a":["z"],"a":[null,"w"]}"#,
        json!({"a": [null, "w"]}),
    );
    check(
        "a map<string,array<int>>",
        r#"{"a":{"k":[1,2]},"a":{"l":[3],"m":null}}"#,
        json!({"a": [["l", [3]], ["m", null]]}),
    );
    check(
        "a struct<x:int,y:array<boolean>>",
        r#"{"a":{"x":1,"y":[true]},"a":{"y":[false,null]}}"#,
        json!({"a": {"x": null, "y": [false, null]}}),
    );
}

#[test]
fn half_characters_of_two_texts_never_meet() {
    check(
        "a string, b string",
        r#"{"a":['\ud83d'],"b":["\ude00x"]}"#,
        json!({"a": r#"["\uD83D"]"#, "b": r#"["\uDE00x"]"#}),
    );
    check(
        "a string, b string",
        r#"{"a":"\ud83d","b":"\ude00x"}"#,
        json!({"a": "?", "b": "?x"}),
    );
    check(
        "m map<string,int>",
        r#"{"m":{"\ud83d":1,"\ude00":2}}"#,
        json!({"m": [["?", 1], ["?", 2]]}),
    );
}

#[test]
fn elements_before_a_misfit_leave_no_trace_in_later_rows() {
    let list = DataType::Array(Box::new(DataType::Struct(vec![Field::new(
        "s",
        DataType::Array(Box::new(DataType::String)),
    )])));
    let mut decoder = decoder(Plan::json(&DataType::Struct(vec![Field::new("l", list)])).unwrap());
    let payloads: [Option<&[u8]>; 3] = [
        Some(br#"{"l":[{"s":["a"]},{"s":["b"]},[]]}"#),
        Some(br#"{"l":[{"s":["c","d"]}]}"#),
        Some(br#"{"l":[{"s":["e"]"#),
    ];
    let decoded = decoder.decode(&payloads, &[]).unwrap();
    decoded.array.to_data().validate_full().unwrap();
    let rows: Vec<Value> = (0..3).map(|row| crate::oracle::element(&decoded.array, row)).collect();
    assert_eq!(rows, [json!({"l": null}), json!({"l": [{"s": ["c", "d"]}]}), json!({"l": null})]);
}

#[test]
fn deep_nesting_is_refused_at_the_limit_and_never_overflows() {
    let nested = |depth: usize| format!(r#"{{"b":2,"q":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    check("b int", &nested(999), json!({"b": 2}));
    check("b int", &nested(1000), json!({"b": null}));
    check("b int", &nested(10_000), json!({"b": null}));
    check("b int, q string", &nested(1000), json!({"b": 2, "q": null}));
    check("b int, q string", &nested(10_000), json!({"b": null, "q": null}));
    check(
        "b int",
        &format!(r#"{{"b":2,"q":{}"#, r#"{"q":"#.repeat(10_000)),
        json!({"b": null}),
    );
    check("b int", &"[".repeat(1_000_000), json!({"b": null}));
}

#[test]
fn numbers_names_and_strings_are_bounded_as_in_jackson() {
    let digits = |count: usize| "1".repeat(count);
    check(
        "a string, b int",
        &format!(r#"{{"a":{},"b":2}}"#, digits(1000)),
        json!({"a": digits(1000), "b": 2}),
    );
    check(
        "a string, b int",
        &format!(r#"{{"a":{},"b":2}}"#, digits(1001)),
        json!({"a": null, "b": null}),
    );
    check("b int", &format!(r#"{{"{}":1,"b":2}}"#, "n".repeat(50_000)), json!({"b": 2}));
    check("b int", &format!(r#"{{"{}":1,"b":2}}"#, "n".repeat(50_001)), json!({"b": null}));
    check("b int", &format!(r#"{{"{}":1,"b":2}}"#, "é".repeat(50_000)), json!({"b": 2}));
    let long = "s".repeat(20_000_000);
    check("a string, b int", &format!(r#"{{"a":"{long}","b":2}}"#), json!({"a": long, "b": 2}));
    check(
        "a string, b int",
        &format!(r#"{{"a":"{long}s","b":2}}"#),
        json!({"a": null, "b": 2}),
    );
}

#[test]
fn a_message_that_would_fill_the_memory_with_absent_fields_is_given_up() {
    let wide = (0..1000).map(|index| format!("f{index}:int")).collect::<Vec<_>>().join(",");
    let ddl = format!("a int, l array<struct<{wide}>>");
    for element in ["{}", "null"] {
        let input = format!(
            r#"{{"a":1,"l":[{}{element}]}}"#,
            format!("{element},").repeat(STRUCT_CELLS_PER_MESSAGE_MAX / 1000)
        );
        check(&ddl, &input, json!({"a": null, "l": null}));
    }
}

#[test]
fn a_batch_of_wide_rows_that_hold_nothing_ends_where_its_cells_are_used_up() {
    let fields: Vec<Field> = (0..1023).map(|index| Field::new(format!("f{index}"), DataType::Boolean)).collect();
    let wide = DataType::Struct(fields);
    let most = BATCH_CELLS_MAX / 1024;
    for exact_only in [false, true] {
        for payload in [Some(b"{}".as_slice()), Some(b"[".as_slice()), None] {
            let mut decoder = decoder(Plan::json(&wide).unwrap());
            if exact_only {
                decoder = decoder.without_fast_way();
            }
            let decoded = decoder.decode(&vec![payload; most + 7], &[]).unwrap();
            assert_eq!(decoded.array.len(), most);
            decoded.array.to_data().validate().unwrap();
            assert_eq!(decoder.decode(&[payload; 7], &[]).unwrap().array.len(), 7, "a batch begins anew");
        }
    }
    let list = DataType::Struct(vec![Field::new("l", DataType::Array(Box::new(wide)))]);
    let message = format!(r#"{{"l":[{}{{}}]}}"#, "{},".repeat(most + 4));
    for mut decoder in [
        decoder(Plan::json(&list).unwrap()),
        decoder(Plan::json(&list).unwrap()).without_fast_way(),
    ] {
        let decoded = decoder.decode(&[Some(b"{}"), Some(message.as_bytes()), Some(b"{}")], &[]).unwrap();
        assert_eq!(decoded.array.len(), 2);
    }
}

#[test]
fn a_report_counts_each_message_once_and_names_the_last_rows() {
    let mut decoder = decoder(Plan::json(&struct_of_int()).unwrap());
    let mut payloads: Vec<Option<&[u8]>> = vec![Some(br#"{"a":1}"#), None, Some(b""), Some(b"{"), Some(br#"{"a":"x","a":1e9}"#)];
    payloads.extend(std::iter::repeat_n(Some(br#"{"a":3000000000}"#.as_slice()), 20));
    let decoded = decoder.decode(&payloads, &[]).unwrap();
    let counts: Vec<_> = decoded
        .report
        .counts()
        .iter()
        .map(|count| (count.reason, count.messages, count.last_rows.clone()))
        .collect();
    let expected = [
        (MisfitReason::Empty, 1, vec![2]),
        (MisfitReason::Malformed, 1, vec![3]),
        (MisfitReason::WrongKind, 1, vec![4]),
        (MisfitReason::OutOfRange, 20, (17..25).collect()),
    ];
    assert_eq!(counts, expected);
    assert_eq!(decoded.report.misfit_messages(), 23);
    let next = decoder.decode(&payloads[..1], &[]).unwrap();
    assert_eq!((next.array.len(), next.report.misfit_messages()), (1, 0), "a batch begins anew");
}

#[test]
fn plans_share_one_reader_type_and_are_chosen_per_row() {
    let plan = || Plan::json(&struct_of_int()).unwrap();
    let mut decoder = Decoder::new(vec![plan(), plan()]).unwrap();
    let payloads: [Option<&[u8]>; 2] = [Some(br#"{"a":1}"#), Some(br#"{"a":2}"#)];
    assert_eq!(decoder.decode(&payloads, &[0, 1]).unwrap().array.len(), 2);
    assert!(matches!(
        decoder.decode(&payloads, &[0]),
        Err(DecodeError::PlanIndexCount {
            plan_indexes: 1,
            payloads: 2
        })
    ));
    assert!(matches!(
        decoder.decode(&payloads, &[0, 2]),
        Err(DecodeError::NoSuchPlan {
            row: 1,
            plan_index: 2,
            plans: 2
        })
    ));
    assert_eq!(
        decoder.decode(&payloads, &[]).unwrap().array.len(),
        2,
        "a wrong call leaves nothing behind"
    );
    assert!(matches!(Decoder::new(vec![]), Err(CompileError::NoPlan)));
    assert!(matches!(
        Decoder::new(vec![plan(), Plan::text()]),
        Err(CompileError::ReaderTypesDiffer { index: 1, .. })
    ));
}

#[test]
fn types_that_cannot_be_decoded_are_refused_when_a_plan_is_compiled() {
    let map = DataType::Map(Box::new(DataType::Int), Box::new(DataType::String));
    assert!(matches!(Plan::json(&map), Err(CompileError::MapKey { .. })));
    assert!(matches!(
        Plan::json(&DataType::Decimal { precision: 39, scale: 0 }),
        Err(CompileError::Decimal { .. })
    ));
    assert!(matches!(
        Plan::json(&DataType::Decimal { precision: 2, scale: 3 }),
        Err(CompileError::Decimal { .. })
    ));
    let nested = |levels: usize| (1..levels).fold(DataType::Int, |inner, _| DataType::Array(Box::new(inner)));
    assert!(Plan::json(&nested(100)).is_ok());
    assert_eq!(Plan::json(&nested(101)).unwrap_err(), CompileError::TooDeep { max: 100 });
}

#[test]
fn plans_are_put_in_while_a_decoder_is_in_use_and_one_may_refuse_every_message() {
    let mut decoder = decoder(Plan::misfit(&struct_of_int(), MisfitReason::NotFramed).unwrap());
    let payloads: [Option<&[u8]>; 3] = [Some(b"{\"a\":1}"), None, Some(b"{\"a\":3}")];
    let nulls = |decoder: &mut Decoder, plan_index: &[u16]| {
        let decoded = decoder.decode(&payloads, plan_index).unwrap();
        let counts: Vec<_> = decoded.report.counts().iter().map(|count| (count.reason, count.messages)).collect();
        ((0..3).map(|row| decoded.array.is_null(row)).collect::<Vec<_>>(), counts)
    };
    assert_eq!(nulls(&mut decoder, &[]), (vec![true; 3], vec![(MisfitReason::NotFramed, 2)]));
    decoder.put(1, Plan::json(&struct_of_int()).unwrap()).unwrap();
    let found = nulls(&mut decoder, &[0, 1, 1]);
    assert_eq!(found, (vec![true, true, false], vec![(MisfitReason::NotFramed, 1)]));
    decoder
        .put(1, Plan::misfit(&struct_of_int(), MisfitReason::UnknownSchema).unwrap())
        .unwrap();
    let found = nulls(&mut decoder, &[1, 0, 1]);
    assert_eq!(found, (vec![true; 3], vec![(MisfitReason::UnknownSchema, 2)]));
    assert_eq!(
        decoder.put(3, Plan::json(&struct_of_int()).unwrap()),
        Err(CompileError::NoSuchPlace { index: 3, count: 2 })
    );
    decoder.put(2, Plan::json(&struct_of_int()).unwrap()).unwrap();
    decoder.retain(|index| index == 2);
    let found = nulls(&mut decoder, &[0, 1, 1]);
    assert_eq!(
        found,
        (vec![true, true, false], vec![(MisfitReason::NotFramed, 1)]),
        "the third is the second now"
    );
    decoder.retain(|_| false);
    assert!(matches!(
        decoder.decode(&payloads, &[0, 1, 0]),
        Err(DecodeError::NoSuchPlan { row: 1, .. })
    ));
    let other = decoder.put(0, Plan::text());
    assert!(matches!(other, Err(CompileError::ReaderTypesDiffer { index: 0, .. })), "{other:?}");
}
