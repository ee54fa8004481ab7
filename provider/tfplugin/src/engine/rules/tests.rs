//! The standard plan as tables: configuration and prior state in, plan out; each plan is held to Terraform's rules.

use super::check;
use super::meaning::keep_form;
use super::settle::settle;
use crate::schema::Schema;
use crate::schema::attribute::{Attribute, AttributeType};
use crate::value::Value;
use crate::value::conform::conform;
use crate::value::types::Type;

fn text(mode: fn(Type, &'static str) -> Attribute) -> Attribute {
    mode(Type::String, "Some text.")
}

fn schema() -> Schema {
    let same_case = |left: &str, right: &str| left.eq_ignore_ascii_case(right);
    let inner = AttributeType::single([
        ("fixed", text(Attribute::optional).replaces()),
        ("loose", text(Attribute::optional).equal_text_by(same_case)),
        ("defaulted", text(Attribute::optional_computed).default("d")),
        ("kept", text(Attribute::computed).computed_keeps_prior()),
        ("renewed", text(Attribute::computed)),
    ]);
    let element = [
        ("name", text(Attribute::required)),
        ("made", text(Attribute::computed)),
        ("loose", text(Attribute::optional).equal_text_by(same_case)),
    ];
    Schema::new(
        "Everything that a schema can declare.",
        [
            ("id", text(Attribute::computed).computed_keeps_prior()),
            ("plain", text(Attribute::optional)),
            ("loose", text(Attribute::optional).equal_text_by(same_case)),
            ("fixed", text(Attribute::optional).replaces().equal_text_by(same_case)),
            (
                "names",
                Attribute::optional(Type::set(Type::String), "Names.").null_is_empty().replaces(),
            ),
            ("either", text(Attribute::optional_computed)),
            ("aside", text(Attribute::optional_computed).default("a").stands_alone()),
            ("secret", text(Attribute::optional).write_only()),
            ("inner", Attribute::optional(inner, "An object.")),
            ("list", Attribute::optional(AttributeType::list(element.clone()), "A list.")),
            ("set", Attribute::optional(AttributeType::set(element.clone()), "A set.")),
            ("map", Attribute::optional(AttributeType::map(element), "A map.")),
            ("renewed", text(Attribute::computed)),
        ],
    )
    // Beside `either = "unit"`, the length of `fixed` is all that it means.
    .keeping(|before, new| {
        let is_unit = |object: &Value| object.get("either").as_str() == Some("unit");
        let length = |object: &Value| object.get("fixed").as_str().map(str::len);
        if is_unit(before)
            && is_unit(new)
            && length(before) == length(new)
            && let Value::Object(entries) = new
        {
            entries.insert("fixed".to_owned(), before.get("fixed").clone());
        }
    })
}

fn object(attributes: &[(&str, Value)]) -> Value {
    Value::object(attributes.iter().map(|(name, value)| (*name, value.clone())))
}

fn whole(attributes: &[(&str, Value)]) -> Value {
    conform(object(attributes), &schema().value_type()).unwrap()
}

/// A state of these values with everything computed filled in.
fn state(attributes: &[(&str, Value)]) -> Value {
    let mut all = vec![
        ("id", "i".into()),
        ("either", "e".into()),
        ("aside", "a".into()),
        ("renewed", "r".into()),
    ];
    all.extend(attributes.iter().cloned());
    whole(&all)
}

fn unknown() -> Value {
    Value::UNKNOWN
}

struct Case<'a> {
    config: &'a [(&'a str, Value)],
    prior: Value,
    planned: Value,
    changed: &'a [&'a str],
    replacing: &'a [&'a str],
}

fn check_plan(case: &Case<'_>) {
    let schema = schema();
    let config = whole(case.config);
    let settled = settle(&schema, &config, &case.prior);
    assert_eq!(settled.planned, case.planned, "configuration {config:?}");
    let names = |paths: &[crate::path::AttributePath]| paths.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(names(&settled.changed), case.changed, "changes of {config:?}");
    assert_eq!(names(&settled.requires_replace), case.replacing, "replacements of {config:?}");
    assert_eq!(
        check::plan(&schema, &config, &case.prior, &settled.planned, &settled.requires_replace),
        []
    );
}

/// A plan that changes nothing.
fn check_empty(config: &[(&str, Value)], prior: &[(&str, Value)]) {
    check_plan(&Case {
        config,
        prior: state(prior),
        planned: state(prior),
        changed: &[],
        replacing: &[],
    });
}

#[test]
fn what_means_the_same_beside_the_rest_of_the_object_stays_as_it_was() {
    check_empty(
        &[("fixed", "abc".into()), ("either", "unit".into())],
        &[("fixed", "xyz".into()), ("either", "unit".into())],
    );
    let prior = state(&[("fixed", "xyz".into()), ("either", "other".into())]);
    check_plan(&Case {
        config: &[("fixed", "abc".into()), ("either", "unit".into())],
        prior,
        planned: whole(&[
            ("id", "i".into()),
            ("aside", "a".into()),
            ("fixed", "abc".into()),
            ("either", "unit".into()),
            ("renewed", unknown()),
        ]),
        changed: &["either", "fixed"],
        replacing: &["fixed"],
    });
}

#[test]
fn a_create_fills_defaults_and_leaves_the_rest_of_ours_unknown() {
    let inner = [("loose", "x".into())];
    let planned_inner = [
        ("loose", "x".into()),
        ("defaulted", "d".into()),
        ("kept", unknown()),
        ("renewed", unknown()),
    ];
    check_plan(&Case {
        config: &[("plain", "p".into()), ("secret", "s".into()), ("inner", object(&inner))],
        prior: Value::Null,
        planned: whole(&[
            ("id", unknown()),
            ("plain", "p".into()),
            ("either", unknown()),
            ("aside", "a".into()),
            ("inner", object(&planned_inner)),
            ("renewed", unknown()),
        ]),
        changed: &[],
        replacing: &[],
    });
}

#[test]
fn what_means_the_same_makes_an_empty_plan() {
    check_empty(&[("plain", "p".into())], &[("plain", "p".into())]);
    check_empty(
        &[("loose", "ABC".into()), ("fixed", "X".into())],
        &[("loose", "abc".into()), ("fixed", "x".into())],
    );
    check_empty(
        &[("names", Value::string_set(["a", "b"]))],
        &[("names", Value::string_set(["b", "a"]))],
    );
    check_empty(&[("either", "E".into())], &[("either", "E".into())]);
    check_empty(&[("secret", "new".into())], &[]);
    let before = object(&[("name", "n".into()), ("made", "m".into()), ("loose", "l".into())]);
    let configured = object(&[("name", "n".into()), ("loose", "L".into())]);
    check_empty(
        &[("list", Value::List(vec![configured.clone()]))],
        &[("list", Value::List(vec![before.clone()]))],
    );
    check_empty(
        &[("set", Value::Set(vec![configured.clone()]))],
        &[("set", Value::Set(vec![before.clone()]))],
    );
    check_empty(&[("map", Value::map([("k", configured)]))], &[("map", Value::map([("k", before)]))]);
}

#[test]
fn a_change_in_place_renews_what_depends_on_it_and_keeps_the_rest() {
    let before = object(&[("defaulted", "d".into()), ("kept", "k".into()), ("renewed", "r".into())]);
    let after = object(&[("defaulted", "d".into()), ("kept", "k".into()), ("renewed", unknown())]);
    check_plan(&Case {
        config: &[("plain", "new".into()), ("inner", object(&[]))],
        prior: state(&[("plain", "old".into()), ("inner", before)]),
        planned: state(&[
            ("plain", "new".into()),
            ("either", unknown()),
            ("renewed", unknown()),
            ("inner", after),
        ]),
        changed: &["plain"],
        replacing: &[],
    });
}

#[test]
fn a_setting_that_stands_alone_renews_nothing() {
    check_plan(&Case {
        config: &[("aside", "new".into())],
        prior: state(&[]),
        planned: state(&[("aside", "new".into())]),
        changed: &["aside"],
        replacing: &[],
    });
}

#[test]
fn a_removed_value_goes_back_to_its_default() {
    check_plan(&Case {
        config: &[],
        prior: state(&[("aside", "mine".into()), ("plain", "p".into())]),
        planned: state(&[("aside", "a".into()), ("either", unknown()), ("renewed", unknown())]),
        changed: &["aside", "plain"],
        replacing: &[],
    });
}

#[test]
fn only_real_differences_replace_and_each_is_named() {
    let renewed = |attributes: &[(&str, Value)]| {
        let mut all = vec![("either", unknown()), ("renewed", unknown())];
        all.extend(attributes.iter().cloned());
        state(&all)
    };
    check_plan(&Case {
        config: &[("fixed", "other".into())],
        prior: state(&[("fixed", "x".into())]),
        planned: renewed(&[("fixed", "other".into())]),
        changed: &["fixed"],
        replacing: &["fixed"],
    });
    check_plan(&Case {
        config: &[("fixed", unknown())],
        prior: state(&[("fixed", "x".into())]),
        planned: renewed(&[("fixed", unknown())]),
        changed: &["fixed"],
        replacing: &["fixed"],
    });
    let before = object(&[
        ("fixed", "f".into()),
        ("defaulted", "d".into()),
        ("kept", "k".into()),
        ("renewed", "r".into()),
    ]);
    // The object goes, and with it something that replaces.
    check_plan(&Case {
        config: &[],
        prior: state(&[("inner", before)]),
        planned: renewed(&[]),
        changed: &["inner"],
        replacing: &["inner.fixed"],
    });
    // It goes, and nothing inside of it that replaces was set.
    let without = object(&[("defaulted", "d".into()), ("kept", "k".into()), ("renewed", "r".into())]);
    check_plan(&Case {
        config: &[],
        prior: state(&[("inner", without)]),
        planned: renewed(&[]),
        changed: &["inner"],
        replacing: &[],
    });
}

#[test]
fn nothing_and_none_are_shown_as_a_change_that_changes_nothing() {
    let none = Value::Set(Vec::new());
    check_plan(&Case {
        config: &[("names", none.clone())],
        prior: state(&[]),
        planned: state(&[("names", none.clone())]),
        changed: &[],
        replacing: &[],
    });
    check_plan(&Case {
        config: &[],
        prior: state(&[("names", none)]),
        planned: state(&[]),
        changed: &[],
        replacing: &[],
    });
}

#[test]
fn elements_find_their_earlier_selves_by_place_key_or_content() {
    let made = |name: &str, made: Value| object(&[("name", name.into()), ("made", made), ("loose", Value::Null)]);
    let configured = |name: &str| object(&[("name", name.into())]);
    let planned = |list: Value, set: Value, map: Value| {
        state(&[
            ("list", list),
            ("set", set),
            ("map", map),
            ("either", unknown()),
            ("renewed", unknown()),
        ])
    };
    check_plan(&Case {
        config: &[
            ("list", Value::List(vec![configured("a"), configured("c")])),
            ("set", Value::Set(vec![configured("b"), configured("c")])),
            ("map", Value::map([("k", configured("a")), ("l", configured("b"))])),
        ],
        prior: state(&[
            ("list", Value::List(vec![made("a", "1".into()), made("b", "2".into())])),
            ("set", Value::Set(vec![made("a", "1".into()), made("b", "2".into())])),
            ("map", Value::map([("k", made("a", "1".into()))])),
        ]),
        planned: planned(
            Value::List(vec![made("a", unknown()), made("c", unknown())]),
            Value::Set(vec![made("b", unknown()), made("c", unknown())]),
            Value::map([("k", made("a", unknown())), ("l", made("b", unknown()))]),
        ),
        changed: &["list[1].name", "map", "set"],
        replacing: &[],
    });
}

#[test]
fn unknown_configuration_is_planned_as_unknown_everywhere() {
    let schema = schema();
    let names: Vec<&String> = schema.attributes.keys().collect();
    for prior in [Value::Null, state(&[("plain", "p".into()), ("fixed", "f".into())])] {
        for name in &names {
            let attribute = &schema.attributes[*name];
            if attribute.mode == crate::schema::attribute::Mode::Computed || attribute.write_only {
                continue;
            }
            let config = whole(&[(name.as_str(), unknown())]);
            let settled = settle(&schema, &config, &prior);
            assert!(settled.planned.get(name).is_unknown(), "{name}");
            assert_eq!(
                check::plan(&schema, &config, &prior, &settled.planned, &settled.requires_replace),
                [],
                "{name}"
            );
        }
    }
}

#[test]
fn a_state_keeps_the_text_that_was_there_and_takes_what_means_something_else() {
    let schema = schema();
    let inner = |loose: &str| object(&[("loose", loose.into())]);
    let before = state(&[
        ("loose", "abc".into()),
        ("inner", inner("x")),
        ("names", Value::Set(Vec::new())),
        ("plain", "p".into()),
    ]);
    let remote = state(&[("loose", "ABC".into()), ("inner", inner("X")), ("plain", "P".into())]);
    let kept = keep_form(&schema.attributes, &before, remote);
    let expected = state(&[
        ("loose", "abc".into()),
        ("inner", inner("x")),
        ("names", Value::Set(Vec::new())),
        ("plain", "P".into()),
    ]);
    assert_eq!(kept, expected);
}

#[test]
fn a_broken_promise_is_named() {
    let schema = schema();
    let cases = [
        (
            state(&[("plain", "p".into())]),
            state(&[("plain", "q".into())]),
            "`plain`: the value is not the promised one",
        ),
        (
            state(&[("names", Value::string_set(["a"]))]),
            state(&[("names", Value::string_set(["a", "b"]))]),
            "`names`: a set has other",
        ),
        (state(&[]), state(&[("secret", "s".into())]), "`secret`: the value is not"),
        (
            state(&[("list", Value::List(Vec::new()))]),
            state(&[]),
            "`list`: the value is not the promised one",
        ),
    ];
    for (promised, came, expected) in cases {
        let broken: Vec<String> = check::promise(&schema, &promised, &came).iter().map(ToString::to_string).collect();
        assert!(
            broken.iter().any(|broken| broken.starts_with(expected)),
            "{broken:?} does not say {expected:?}"
        );
    }
    assert_eq!(
        check::promise(&schema, &state(&[("plain", unknown())]), &state(&[("plain", "p".into())])),
        []
    );
}
