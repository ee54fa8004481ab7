//! Properties over random configurations: every apply settles, every plan keeps its promises.

use proptest::prelude::*;
use tfplugin::testing::core::Action;
use tfplugin::value::Value;
use tfplugin::value::number::Number;

use crate::world::{FILE, config, world};

fn optional(inner: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Value> {
    prop_oneof![1 => Just(Value::Null), 2 => inner].boxed()
}

fn short_text() -> BoxedStrategy<Value> {
    "[a-c]{0,2}".prop_map(Value::from).boxed()
}

fn any_config() -> impl Strategy<Value = Value> {
    let number = || "-?[1-9][0-9]{0,25}(\\.[0-9]{1,5})?".prop_map(|text| Value::Number(Number::parse(&text).unwrap()));
    let content = prop_oneof![
        Just("{}"),
        Just("{ }"),
        Just("{\"a\":1}"),
        Just("[1]"),
        Just("[ 1 ]"),
        Just("not json")
    ]
    .prop_map(Value::from);
    let owner = (short_text(), optional(short_text())).prop_map(|(team, contact)| Value::object([("team", team), ("contact", contact)]));
    let line = (short_text(), optional(number())).prop_map(|(text, size)| Value::object([("text", text), ("size", size)]));
    let badge = (short_text(), optional(number())).prop_map(|(name, level)| Value::object([("name", name), ("level", level)]));
    let tags = proptest::collection::btree_set("[a-c]", 0..3).prop_map(Value::string_set);
    let options = proptest::collection::btree_map("[a-c]", "[a-c]", 0..3)
        .prop_map(|options| Value::map(options.into_iter().map(|(key, value)| (key, Value::from(value)))));
    let collections = (
        optional(tags),
        optional(options),
        optional(proptest::collection::vec(line, 0..3).prop_map(Value::List)),
        optional(proptest::collection::vec(badge, 0..3).prop_map(Value::Set)),
    );
    let plain = (
        optional(content),
        optional(number()),
        optional(owner),
        optional(short_text()),
        optional(short_text()),
    );
    (collections, plain).prop_map(|((tags, options, lines, badges), (content, amount, owner, secret, note))| {
        config(&[
            ("tags", tags),
            ("options", options),
            ("lines", lines),
            ("badges", badges),
            ("content", content),
            ("amount", amount),
            ("owner", owner),
            ("secret_wo", secret),
            ("note", note),
        ])
    })
}

/// The same configuration with some attributes unknown.
fn with_unknowns(config: &Value, hidden: &[bool]) -> Value {
    let mut unknown = config.clone();
    let names: Vec<String> = config.entries().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    for (name, hide) in names.iter().zip(hidden) {
        // A name that is not known yet would make another file, and null cannot come from unknown in this test's file.
        if *hide && name != "name" {
            unknown.set(name.clone(), Value::UNKNOWN);
        }
    }
    unknown
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_apply_is_followed_by_an_empty_plan(configs in proptest::collection::vec(any_config(), 1..4)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let world = world().await;
            let mut stored = None;
            for config in &configs {
                let (_, now) = world.apply(stored.as_ref(), config).await;
                world.assert_settled(&now, config).await;
                stored = Some(now);
            }
        });
    }

    #[test]
    fn a_plan_with_unknown_values_keeps_its_promises(
        before in any_config(),
        after in any_config(),
        hidden in proptest::collection::vec(any::<bool>(), 10),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let world = world().await;
            let (_, stored) = world.apply(None, &before).await;
            let plan = world.core.plan(FILE, Some(&stored), Some(with_unknowns(&after, &hidden))).await.unwrap();
            if plan.action == Action::NoOp {
                return;
            }
            let applied = world.core.apply_known(plan, Some(after.clone())).await;
            assert!(!applied.diagnostics.has_errors(), "{:?}", applied.diagnostics);
            world.assert_settled(&applied.stored.unwrap(), &after).await;
        });
    }
}
