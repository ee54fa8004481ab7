//! Golden bytes made by Terraform's own value library (go-cty), in both directions; damaged bytes; and properties.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::value::number::Number;
use crate::value::refinement::{NumberBound, Refinement};

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn number(text: &str) -> Value {
    Value::Number(Number::parse(text).unwrap())
}

fn refined(change: impl FnOnce(&mut Refinement)) -> Value {
    let mut refinement = Refinement {
        not_null: true,
        ..Refinement::default()
    };
    change(&mut refinement);
    Value::Unknown(Some(Box::new(refinement)))
}

/// Both ways, to the byte.
fn check(value_type: &Type, golden: &str, value: &Value) {
    let golden = bytes(golden);
    assert_eq!(decode(value_type, &golden).as_ref(), Ok(value));
    assert_eq!(encode(value_type, &decode(value_type, &golden).unwrap()).unwrap(), golden);
}

#[test]
fn plain_values_are_read_and_written_as_terraform_does() {
    check(&Type::String, "c0", &Value::Null);
    check(&Type::Bool, "c3", &Value::Bool(true));
    check(&Type::String, "a668c3a96c6c6f", &"h\u{e9}llo".into());
    check(&Type::set(Type::String), "92a161a162", &Value::string_set(["b", "a"]));
    check(&Type::list(Type::String), "90", &Value::List(Vec::new()));
    check(
        &Type::map(Type::Number),
        "82a161c0a16b01",
        &Value::map([("a", Value::Null), ("k", 1_i64.into())]),
    );
    let object = Type::Object(BTreeMap::from([
        ("a".to_owned(), Type::String),
        ("b".to_owned(), Type::list(Type::Bool)),
    ]));
    let value = Value::object([("a", Value::Null), ("b", Value::List(vec![false.into(), Value::UNKNOWN]))]);
    check(&object, "82a161c0a16292c2d40000", &value);
}

#[test]
fn numbers_keep_the_form_in_which_they_came() {
    let cases = [
        ("0", "00"),
        ("-1", "ff"),
        ("127", "7f"),
        ("128", "cc80"),
        ("-33", "d0df"),
        ("65536", "ce00010000"),
        ("9223372036854775807", "cf7fffffffffffffff"),
        ("-9223372036854775808", "d38000000000000000"),
        ("18446744073709551615", "b43138343436373434303733373039353531363135"),
        ("0.5", "cb3fe0000000000000"),
        ("0.1", "a3302e31"),
        ("0.1", "cb3fb999999999999a"),
        ("1500", "cd05dc"),
        ("-0.25", "cbbfd0000000000000"),
        ("1234567890123456789012345", "b931323334353637383930313233343536373839303132333435"),
        (
            "1234567890123456789012345.5",
            "bb313233343536373839303132333435363738393031323334352e35",
        ),
    ];
    for (text, golden) in cases {
        check(&Type::Number, golden, &number(text));
    }
}

#[test]
fn unknown_values_keep_what_is_known_of_them() {
    check(&Type::String, "d40000", &Value::UNKNOWN);
    check(&Type::String, "c7030c8101c2", &refined(|_| {}));
    check(
        &Type::String,
        "c7090c8201c202a47072652d",
        &refined(|facts| facts.string_prefix = Some("pre-".to_owned())),
    );
    let range = refined(|facts| {
        facts.number_min = Some(NumberBound {
            number: Number::from(1_i64),
            inclusive: true,
        });
        facts.number_max = Some(NumberBound {
            number: Number::from_float(2.5).unwrap(),
            inclusive: false,
        });
    });
    check(&Type::Number, "c7130c8301c2039201c30492cb4004000000000000c2", &range);
    let length = refined(|facts| (facts.length_min, facts.length_max) = (Some(1), Some(300)));
    check(&Type::set(Type::String), "c7090c8301c2050106cd012c", &length);
    let at_least_two = Refinement {
        length_min: Some(2),
        ..Refinement::default()
    };
    // go-cty pads nothing: a payload of three bytes has the general header too.
    check(
        &Type::list(Type::String),
        "c7030c810502",
        &Value::Unknown(Some(Box::new(at_least_two))),
    );
}

#[test]
fn any_extension_is_an_unknown_value_and_strange_facts_are_passed_over() {
    for golden in ["d40500", "d50c80c0", "c7050c8163919102"] {
        assert_eq!(decode(&Type::String, &bytes(golden)), Ok(Value::UNKNOWN), "{golden}");
    }
    assert_eq!(
        decode(&Type::String, &bytes("c7020c8107")).unwrap_err().to_string(),
        "``: the bytes end within a value"
    );
}

#[test]
fn damaged_or_misplaced_bytes_are_errors_with_their_place() {
    let object = Type::Object(BTreeMap::from([("a".to_owned(), Type::list(Type::Bool))]));
    let cases = [
        ("", "``: the bytes end within a value"),
        ("81a16191", "`a[0]`: the bytes end within a value"),
        ("81a16191a178", "`a[0]`: wanted a bool, found a string"),
        ("81a162c0", "`b`: there is no such attribute in the schema"),
        ("c000", "``: 1 bytes follow the value"),
        ("8101c0", "``: wanted a string as key, found a number"),
        ("dfffffffff", "``: the bytes end within a value"),
        ("c1", "``: wanted an object, found a reserved marker"),
    ];
    for (damaged, expected) in cases {
        assert_eq!(decode(&object, &bytes(damaged)).unwrap_err().to_string(), expected, "{damaged}");
    }
    assert_eq!(
        decode(&Type::String, &bytes("a1ff")).unwrap_err().to_string(),
        "``: a text is not UTF-8"
    );
    assert_eq!(
        decode(&Type::Number, &bytes("a378797a")).unwrap_err().to_string(),
        "``: a number is not a finite decimal number"
    );
    assert_eq!(
        decode(&Type::Number, &bytes("cb7ff8000000000000")).unwrap_err().to_string(),
        "``: a number is not a finite decimal number"
    );
    // A length that is a lie takes no memory.
    assert!(decode(&Type::list(Type::Bool), &bytes("ddffffffff")).is_err());
}

#[test]
fn a_value_of_another_kind_cannot_be_written() {
    let error = encode(&Type::list(Type::Bool), &Value::List(vec!["x".into()])).unwrap_err();
    assert_eq!(error.to_string(), "`[0]`: wanted a bool, found a string");
}

/// A type and a value of it.
fn typed_value() -> impl Strategy<Value = (Type, Value)> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(|truth| (Type::Bool, Value::Bool(truth))),
        any::<i64>().prop_map(|whole| (Type::Number, whole.into())),
        "-?[1-9][0-9]{0,30}\\.[0-9]{1,10}".prop_map(|text| (Type::Number, number(&text))),
        ".{0,40}".prop_map(|text| (Type::String, Value::String(text))),
        Just((Type::String, Value::Null)),
        Just((Type::Number, Value::UNKNOWN)),
        ".{1,8}".prop_map(|prefix| (Type::String, refined(|facts| facts.string_prefix = Some(prefix)))),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            (inner.clone(), 0..4_usize)
                .prop_map(|((inner_type, value), count)| { (Type::list(inner_type), Value::List(vec![value; count])) }),
            inner
                .clone()
                .prop_map(|(inner_type, value)| (Type::set(inner_type), Value::Set(vec![value]))),
            (inner.clone(), proptest::collection::btree_set(".{0,5}", 0..3)).prop_map(|((inner_type, value), keys)| {
                (Type::map(inner_type), Value::map(keys.into_iter().map(|key| (key, value.clone()))))
            }),
            proptest::collection::vec(inner, 0..4).prop_map(|inners| {
                let named = |index: usize| format!("attribute_{index}");
                let types = inners
                    .iter()
                    .enumerate()
                    .map(|(index, (inner_type, _))| (named(index), inner_type.clone()));
                let values = inners.iter().enumerate().map(|(index, (_, value))| (named(index), value.clone()));
                (Type::Object(types.collect()), Value::object(values))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back((value_type, value) in typed_value()) {
        let written = encode(&value_type, &value).unwrap();
        prop_assert_eq!(decode(&value_type, &written), Ok(value));
    }

    #[test]
    fn no_bytes_make_the_reader_panic((value_type, value) in typed_value(), noise in any::<Vec<u8>>(), at in any::<usize>()) {
        let mut written = encode(&value_type, &value).unwrap();
        let at = at % (written.len() + 1);
        written.splice(at.., noise.iter().copied());
        drop(decode(&value_type, &written));
        drop(decode(&value_type, &noise));
    }
}
