//! The short way beside the exact one: on messages of every kind, sound and spoilt, both make the same rows.

use proptest::prelude::*;
use stream_spec::types::{DataType, Field};

use super::super::convert;
use super::super::shape::Shape;
use super::super::tokenizer::TokenizerSpace;
use super::{FastSpace, append};
use crate::builders::{Column, ColumnBuilder};
use crate::limits::{FAST_MISSES_MAX, FAST_REST_MESSAGES};

fn structure(fields: &[(&str, DataType)]) -> DataType {
    DataType::Struct(
        fields
            .iter()
            .map(|(name, data_type)| Field::new(*name, data_type.clone()))
            .collect(),
    )
}

fn list(element: DataType) -> DataType {
    DataType::Array(Box::new(element))
}

fn map(value: DataType) -> DataType {
    DataType::Map(Box::new(DataType::String), Box::new(value))
}

fn types() -> Vec<DataType> {
    use DataType::*;
    let inner = structure(&[
        ("id", BigInt),
        ("name", String),
        ("lat", Double),
        ("a rather long field name", Boolean),
    ]);
    let wide: Vec<(std::string::String, DataType)> = (0..70).map(|index| (format!("f{index}"), Int)).collect();
    let wide: Vec<(&str, DataType)> = wide.iter().map(|(name, data_type)| (name.as_str(), data_type.clone())).collect();
    vec![
        structure(&[
            ("a", Int),
            ("s", String),
            ("d", Double),
            ("o", inner.clone()),
            ("l", list(inner.clone())),
            ("m", map(BigInt)),
        ]),
        structure(&[
            ("t", Timestamp),
            ("n", TimestampNtz),
            ("c", Date),
            ("e", Decimal { precision: 9, scale: 2 }),
            ("b", Binary),
        ]),
        structure(&[
            ("x", TinyInt),
            ("y", SmallInt),
            ("z", Float),
            ("é\"", String),
            ("", Boolean),
            ("a\":1,\"b", Int),
            ("b", Int),
        ]),
        structure(&wide),
        structure(&[]),
        list(inner),
        list(list(String)),
        map(list(map(String))),
        list(structure(&[("s", list(String)), ("o", structure(&[("s", String)]))])),
    ]
}

/// Decides by given bytes; by zeros when they are used up, so that every message ends.
struct Choices<'a>(std::slice::Iter<'a, u8>);

impl Choices<'_> {
    fn below(&mut self, bound: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % bound
    }

    fn pick<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }

    fn rarely(&mut self) -> bool {
        self.below(16) == 15
    }
}

const SPACES: [&str; 8] = ["", "", "", "", "", " ", "\n  ", "\t\r"];
const NUMBERS: [&str; 24] = [
    "0",
    "7",
    "-12",
    "127",
    "128",
    "40000",
    "3000000000",
    "9223372036854775807",
    "9223372036854775808",
    "-0",
    "0.5",
    "-0.0",
    "12.25",
    "1e3",
    "1.5E-7",
    "1e400",
    "123456.789",
    "0.30000000000000004",
    "9007199254740993",
    "01",
    "1.",
    "-",
    "NaN",
    "+INF",
];
const TEXTS: [&str; 30] = [
    "",
    "x",
    "plain",
    "a text that is longer than sixteen bytes",
    "é€😀",
    "tab\\tand\\\"quote\\\"",
    "\\u00e9",
    "\\ud83d\\ude00",
    "\\ud83d",
    "\\ude00x",
    "\\ud83d\\u0041",
    "\\u12",
    "\\q",
    "\t",
    "2024-02-29",
    "2024-02-29T12:34:56.789Z",
    "2024-02-29 12:34:56+01:00",
    "2024-02-29T12:34:56 Europe/Paris",
    "2024-13-01",
    "12.345",
    "1,2",
    "AQI=",
    "NaN",
    "\\'",
    "\\/\\b\\f\\n\\r\\\\",
    "sixteen bytes ok",
    "fifteen bytes!\\",
    "1",
    "true",
    "\u{7f}\u{80}",
];
const OTHERS: [&str; 14] = [
    "null",
    "true",
    "false",
    "nul",
    "truex",
    "'single'",
    "{}",
    "[]",
    "[1,[2,{\"a\":[null]}],\"é\\n\"]",
    "{\"id\":1,\"id\":{\"x\":[]}}",
    "{a:1}",
    "[1 2]",
    "/* c */1",
    "",
];
const MUTATIONS: [&str; 14] = ["", "\"", "\\", "{", "}", "[", "]", ",", ":", "0", "\u{0}", "é", "'", " "];

/// A value that mostly is one of that type.
fn value(choices: &mut Choices<'_>, data_type: &DataType, out: &mut String) {
    out.push_str(choices.pick(&SPACES));
    match (choices.below(24), data_type) {
        (20, _) => out.push_str(choices.pick(&OTHERS)),
        (21, _) => out.push_str(choices.pick(&NUMBERS)),
        (22, _) => text(choices, out),
        (23, _) => out.push_str("null"),
        (_, DataType::Struct(fields)) => object(choices, fields, out),
        (_, DataType::Array(element)) => {
            out.push('[');
            for index in 0..choices.below(4) {
                out.push_str(if index > 0 { "," } else { "" });
                value(choices, element, out);
            }
            out.push(']');
        }
        (_, DataType::Map(_, element)) => {
            out.push('{');
            for index in 0..choices.below(3) {
                out.push_str(if index > 0 { "," } else { "" });
                text(choices, out);
                out.push(':');
                value(choices, element, out);
            }
            out.push('}');
        }
        (_, DataType::Boolean) => out.push_str(if choices.below(2) == 0 { "true" } else { "false" }),
        (_, DataType::String | DataType::Binary | DataType::Timestamp | DataType::TimestampNtz | DataType::Date) => text(choices, out),
        _ => out.push_str(choices.pick(&NUMBERS)),
    }
    out.push_str(choices.pick(&SPACES));
}

fn text(choices: &mut Choices<'_>, out: &mut String) {
    out.push('"');
    out.push_str(choices.pick(&TEXTS));
    out.push('"');
}

/// An object with its fields in order, and now and then without one, with one twice, or with one that is not in the type.
fn object(choices: &mut Choices<'_>, fields: &[Field], out: &mut String) {
    let mut names: Vec<usize> = (0..fields.len()).collect();
    if choices.rarely() {
        names.reverse();
    }
    out.push('{');
    let mut any = false;
    for index in names {
        let times = match choices.below(32) {
            0..28 => 1,
            28..31 => 0,
            _ => 2,
        };
        for _ in 0..times {
            out.push_str(if any { "," } else { "" });
            any = true;
            if choices.rarely() {
                out.push_str("\"unknown\" :");
                value(choices, &DataType::Int, out);
                out.push(',');
            }
            out.push_str(choices.pick(&SPACES));
            let name = fields[index].name.replace('"', "\\\"");
            out.push_str(&format!("\"{name}\"{}:", choices.pick(&SPACES)));
            value(choices, &fields[index].data_type, out);
        }
    }
    out.push('}');
}

/// A message of that type, often spoilt at one place.
fn message(bytes: &[u8], data_type: &DataType) -> String {
    let mut choices = Choices(bytes.iter());
    let kind = choices.below(8);
    let place = choices.below(256) * 256 + choices.below(256);
    let piece = choices.pick(&MUTATIONS);
    let mut out = String::new();
    value(&mut choices, data_type, &mut out);
    let mut place = place % (out.len() + 1);
    while !out.is_char_boundary(place) {
        place -= 1;
    }
    match kind {
        0 => out.truncate(place),
        1 => out.insert_str(place, piece),
        2 if place < out.len() => {
            out.remove(place);
        }
        _ => {}
    }
    out
}

/// Appends the messages in both ways and compares; says how many were taken by the short one.
fn check(data_type: &DataType, messages: &[String]) -> usize {
    let (mut shape, mut taken) = (Shape::of(data_type), 0);
    let (mut exact, mut fast) = (Column::new(data_type), Column::new(data_type));
    let (mut space, mut fast_space) = (TokenizerSpace::default(), FastSpace::default());
    for (row, message) in messages.iter().enumerate() {
        let misfit = convert::message(message, &shape, &mut exact, &mut space, &mut 0);
        if append(message, &mut shape, &mut fast, &mut fast_space, &mut 0) {
            assert_eq!(misfit, None, "taken though it does not fit: {message}");
            taken += 1;
        } else {
            assert_eq!(fast.len(), row, "left, but not as it was: {message}");
            convert::message(message, &shape, &mut fast, &mut space, &mut 0);
        }
    }
    let (exact, fast) = (exact.finish().unwrap(), fast.finish().unwrap());
    fast.to_data().validate_full().unwrap();
    assert_eq!(&exact, &fast, "{messages:#?}");
    taken
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_short_way_makes_the_rows_of_the_exact_one(
        data_type in proptest::sample::select(types()),
        choices in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 1..6),
    ) {
        let messages: Vec<String> = choices.iter().map(|bytes| message(bytes, &data_type)).collect();
        check(&data_type, &messages);
    }
}

#[test]
fn plain_messages_are_taken() {
    let types = types();
    let taken = |index: usize, message: &str| {
        assert_eq!(check(&types[index], &[message.to_owned()]), 1, "{message}");
    };
    taken(
        0,
        r#"{"a":1,"s":"x","d":0.5,"o":{"id":-1,"name":"é","lat":1e3},"l":[{"id":1},null,{}],"m":{"k":1,"k":null}}"#,
    );
    taken(
        0,
        r#"{"m":null,"a":2147483647,"unknown":[{"x":[1.5e3,"\u00e9"]}],"s":"\ud83d\ude00 \"q\"","d":9007199254740993}"#,
    );
    taken(0, "\n{\n\t\"s\" : \"x\" ,\r\n \"l\" : [ { } , { \"name\" : null } ] } trailing");
    for kind in [
        "-12",
        "-0",
        "1.50",
        "1e400",
        "true",
        "false",
        "[]",
        "[1, {\"a\" : 1.0}]",
        r#"{"é":["\ud83d","\n"]}"#,
    ] {
        taken(0, &format!(r#"{{"s":{kind},"l":[]}}"#));
    }
    taken(1, r#"{"b":"AQI=","e":1}"#);
    taken(
        1,
        r#"{"t":"2024-02-29T12:34:56.789Z","n":"2024-02-29 12:34","c":"2024-02-29","e":"1.5"}"#,
    );
    taken(1, r#"{"e":123.456,"t":1709210096}"#);
    taken(2, r#"{"x":-128,"y":32767,"z":0.1,"":true,"b":1}"#);
    taken(3, r#"{"f69":39,"f0":0,"f7":null,"f64":64}"#);
    taken(4, r#"{"anything":{}}"#);
    taken(5, r#"[{"a rather long field name":true,"lat":-0.0},null]"#);
    taken(6, r#"[["x",null],[],null]"#);
    taken(7, r#"{"k":[{"a":"b"}]}"#);
}

#[test]
fn after_many_surprises_in_a_row_the_short_way_rests_and_is_tried_again() {
    let types = types();
    let sound = || std::iter::repeat_n("{\"a\":1}".to_owned(), 200);
    let surprises = |count: u32| std::iter::repeat_n("{\"a\":x}".to_owned(), count as usize);
    let taken = |count: u32| check(&types[0], &surprises(count).chain(sound()).collect::<Vec<_>>());
    assert_eq!(taken(FAST_MISSES_MAX - 1), 200);
    assert_eq!(taken(FAST_MISSES_MAX), 200 - FAST_REST_MESSAGES as usize);
    assert_eq!(taken(FAST_MISSES_MAX + FAST_REST_MESSAGES + 1), 200 - FAST_REST_MESSAGES as usize);
    assert_eq!(taken(FAST_MISSES_MAX + FAST_REST_MESSAGES), 200);
}

#[test]
fn surprises_are_left() {
    let types = types();
    for repeated in ["{\"f0\":1,\"f0\":1}", "{\"f63\":1,\"f64\":1,\"f63\":1}", "{\"f69\":1,\"f69\":1}"] {
        assert_eq!(check(&types[3], &[repeated.to_owned()]), 0, "{repeated}");
    }
    for surprise in [
        "",
        " ",
        "null",
        "[]",
        "1",
        "{",
        "{\"a\":1",
        "{\"a\":1,}",
        "{'a':1}",
        "{\"a\":'x'}",
        "{\"a\":01}",
        "{\"a\":2147483648}",
        "{\"a\":1.0}",
        "{\"a\":\"1\"}",
        "{\"a\":1,\"a\":2}",
        "{\"s\":\"\\ud83d\"}",
        "{\"s\":\"a\tb\"}",
        "{\"u\":[1,]}",
        "{\"u\":tru}",
        "{\"d\":NaN}",
        "\u{FEFF}{}",
        "{\"o\":[]}",
        "{\"l\":{}}",
        "{\"l\":[1]}",
        "{\"m\":{\"\\u0041\":1}}",
        "{\"a\" 1}",
    ] {
        assert_eq!(check(&types[0], &[surprise.to_owned()]), 0, "{surprise}");
    }
}
