//! Values compared, dug into and changed.

use super::number::Number;
use super::*;

#[test]
fn numbers_are_equal_by_amount() {
    let equal = [
        ("1", "1.0"),
        ("1e3", "1000"),
        ("-0.50", "-5e-1"),
        ("0", "-0.000"),
        ("007", "7"),
        ("12345678901234567890", "1234567890123456789e1"),
    ];
    for (left, right) in equal {
        assert_eq!(Number::parse(left), Number::parse(right), "{left} {right}");
    }
    for (left, right) in [
        ("1", "-1"),
        ("1", "10"),
        ("0.1", "0.01"),
        ("12345678901234567890", "12345678901234567891"),
    ] {
        assert_ne!(Number::parse(left), Number::parse(right), "{left} {right}");
    }
    for text in ["", "-", ".", "1.2.3", "1e", "0x1", "NaN", "inf", "1 ", "1e99999999999"] {
        assert!(Number::parse(text).is_err(), "{text}");
    }
    assert_eq!(Number::parse("1.50").unwrap().to_string(), "1.50");
}

#[test]
fn whole_numbers_are_whole_in_every_form() {
    for (text, expected) in [
        ("42", Some(42)),
        ("4.2e1", Some(42)),
        ("-7.0", Some(-7)),
        ("0.5", None),
        ("9223372036854775808", None),
        ("0e9", Some(0)),
    ] {
        assert_eq!(Number::parse(text).unwrap().as_i64(), expected, "{text}");
    }
    assert_eq!(Number::from(u64::MAX).as_u64(), Some(u64::MAX));
    assert_eq!(Number::from(u64::MAX).as_i64(), None);
    assert_eq!(Number::parse("18446744073709551615").unwrap().as_u64(), Some(u64::MAX));
}

#[test]
fn every_number_has_a_json_spelling_of_the_same_amount() {
    for text in ["1.50", "+7", "007", ".5", "5.", "-1e3"] {
        let number = Number::parse(text).unwrap();
        assert_eq!(Number::parse(&number.to_json()).unwrap(), number, "{text}");
        assert!(serde_json::from_str::<serde_json::Value>(&number.to_json()).is_ok(), "{text}");
    }
}

#[test]
fn sets_are_equal_in_any_order_and_by_count() {
    let set = |texts: &[&str]| Value::Set(texts.iter().map(|text| Value::from(*text)).collect());
    assert_eq!(set(&["a", "b"]), set(&["b", "a"]));
    assert_ne!(set(&["a", "a", "b"]), set(&["a", "b", "b"]));
    assert_ne!(Value::List(vec!["a".into(), "b".into()]), Value::List(vec!["b".into(), "a".into()]));
}

#[test]
fn what_lies_inside_an_unknown_value_is_unknown_and_inside_nothing_is_null() {
    let value = Value::object([("a", Value::UNKNOWN), ("b", Value::Null), ("c", Value::List(vec![true.into()]))]);
    assert!(value.dig("a.x.y").is_unknown());
    assert!(value.dig("b.x").is_null());
    assert!(value.at(&AttributePath::root().attribute("a").index(3)).is_unknown());
    assert_eq!(value.at(&AttributePath::root().attribute("c").index(0)).as_bool(), Some(true));
    assert!(value.at(&AttributePath::root().attribute("c").index(1)).is_null());
}

#[test]
fn a_value_is_put_where_there_is_a_place_for_it() {
    let mut value = Value::object([("a", Value::object([("list", Value::List(vec![1_i64.into(), 2_i64.into()]))]))]);
    let path = AttributePath::attributes("a.list").index(1);
    assert!(value.set_at(&path, "x".into()));
    assert_eq!(value.at(&path).as_str(), Some("x"));
    let before = value.clone();
    assert!(!value.set_at(&AttributePath::attributes("b.list"), Value::Null));
    assert!(!value.set_at(&AttributePath::attributes("a.list").index(2), Value::Null));
    assert_eq!(value, before);
}
