//! A resource that does what its name says: the engine keeps state whole whatever it answers. And one of a newer schema
//! version, with state of older ones.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;
use tfplugin::call::CallContext;
use tfplugin::data_source::DataSource;
use tfplugin::diagnostic::{Diagnostic, Diagnostics};
use tfplugin::private::Private;
use tfplugin::provider::{ConfigureRequest, Provider};
use tfplugin::resource::{
    Applied, CreateRequest, DeleteRequest, Found, MoveSource, MoveState, Plan, PlanRequest, ReadOutcome, ReadRequest, Resource,
    UpdateRequest, UpgradeState,
};
use tfplugin::schema::Schema;
use tfplugin::schema::attribute::Attribute;
use tfplugin::testing::core::{Core, Stored};
use tfplugin::value::Value;
use tfplugin::value::types::Type;

use crate::world::summaries;

const ODD: &str = "odd_thing";

struct Odd;

/// Does what the attribute `does` says.
struct Thing;

fn state(does: &str) -> Value {
    Value::object([("does", Value::from(does)), ("made", Value::from("m"))])
}

fn done(does: &str) -> Applied {
    Applied::done(state(does), Private::default())
}

fn misbehave(planned: &Value) -> Applied {
    match planned.get("does").as_str().unwrap() {
        "panic" => panic!("as asked"),
        "leave unknown" => Applied::done(planned.clone(), Private::default()),
        "invent an attribute" => {
            let mut invented = state("invent an attribute");
            invented.set("invented", true.into());
            Applied::done(invented, Private::default())
        }
        "say nothing" => Applied::default(),
        "break the promise" => done("something else"),
        "fail half-way" => done("fail half-way").with(Diagnostic::error("Failed", "Half-way.")),
        other => done(other),
    }
}

#[async_trait]
impl Resource for Thing {
    fn type_name(&self) -> &'static str {
        ODD
    }

    fn schema(&self) -> Schema {
        let does = Attribute::required(Type::String, "What it does.");
        let made = Attribute::computed(Type::String, "Made by us.");
        Schema::new("A thing.", [("does", does), ("made", made)]).version(2)
    }

    async fn modify_plan(&self, request: &PlanRequest<'_>, plan: &mut Plan, _context: &CallContext) {
        match request.config.get("does").as_str() {
            Some("plan something else") => plan.planned.set("does", "x".into()),
            Some("panic in the plan") => panic!("as asked"),
            _ => {}
        }
    }

    async fn create(&self, request: CreateRequest<'_>, _context: &CallContext) -> Applied {
        misbehave(request.planned)
    }

    async fn read(&self, request: ReadRequest<'_>, _context: &CallContext) -> Result<ReadOutcome, Diagnostics> {
        let state = match request.state.get("does").as_str() {
            Some("read unknown") => Value::object([("does", Value::UNKNOWN)]),
            Some("read nonsense") => Value::from("nonsense"),
            _ => return Ok(ReadOutcome::Gone),
        };
        Ok(ReadOutcome::Found(Found {
            state,
            private: Private::default(),
            diagnostics: Diagnostics::none(),
        }))
    }

    async fn update(&self, request: UpdateRequest<'_>, _context: &CallContext) -> Applied {
        misbehave(request.planned)
    }

    async fn delete(&self, _request: DeleteRequest<'_>, _context: &CallContext) -> Diagnostics {
        panic!("as ever")
    }

    async fn import(&self, _id: &str, _context: &CallContext) -> Result<Found, Diagnostics> {
        Ok(Found {
            state: Value::Null,
            private: Private::default(),
            diagnostics: Diagnostics::none(),
        })
    }

    fn upgrade_state(&self) -> Option<&dyn UpgradeState> {
        Some(self)
    }

    fn move_state(&self) -> Option<&dyn MoveState> {
        Some(self)
    }
}

impl UpgradeState for Thing {
    fn upgrade(&self, from_version: i64, state: serde_json::Value) -> Result<serde_json::Value, Diagnostics> {
        match from_version {
            0 => Ok(json!({ "does": state["did"], "gone": 1 })),
            _ => Err(Diagnostic::error("Cannot Upgrade", "Version 1 was never released.").into()),
        }
    }
}

impl MoveState for Thing {
    fn take_over(&self, source: &MoveSource<'_>) -> Result<Option<Found>, Diagnostics> {
        if source.type_name != "terraform_data" {
            return Ok(None);
        }
        let does = source.state["input"].as_str().map(str::to_owned);
        let state = Value::object([("does", Value::from(does))]);
        Ok(Some(Found {
            state,
            private: Private::default(),
            diagnostics: Diagnostics::none(),
        }))
    }
}

#[async_trait]
impl Provider for Odd {
    fn schema(&self) -> Schema {
        Schema::new("Odd things.", [] as [(&str, Attribute); 0])
    }

    fn resources(&self) -> Vec<Arc<dyn Resource>> {
        vec![Arc::new(Thing)]
    }

    fn data_sources(&self) -> Vec<Arc<dyn DataSource>> {
        Vec::new()
    }

    async fn configure(&self, _request: ConfigureRequest<'_>, _context: &CallContext) -> Diagnostics {
        Diagnostics::none()
    }
}

fn core() -> Core {
    Core::new(Arc::new(Odd))
}

fn config(does: &str) -> Option<Value> {
    Some(Value::object([("does", Value::from(does))]))
}

fn stored(does: &str) -> Stored {
    Stored {
        type_name: ODD.to_owned(),
        state: state(does),
        private: br#"{"note":1}"#.to_vec(),
    }
}

#[tokio::test]
async fn a_create_that_answers_nonsense_leaves_no_nonsense_in_the_state() {
    let cases = [
        ("panic", None),
        ("invent an attribute", None),
        ("say nothing", None),
        ("fail half-way", Some(state("fail half-way"))),
        ("break the promise", Some(state("something else"))),
        (
            "leave unknown",
            Some(Value::object([("does", Value::from("leave unknown")), ("made", Value::Null)])),
        ),
    ];
    for (does, expected) in cases {
        let core = core();
        let plan = core.plan(ODD, None, config(does)).await.unwrap();
        let applied = core.apply(plan).await;
        assert!(applied.diagnostics.has_errors(), "{does}");
        assert_eq!(applied.tainted, expected.is_some(), "{does}");
        assert_eq!(applied.stored.map(|stored| stored.state), expected, "{does}");
    }
}

#[tokio::test]
async fn an_update_that_did_nothing_keeps_state_and_private_state() {
    for does in ["panic", "invent an attribute", "say nothing"] {
        let core = core();
        let before = stored("before");
        let plan = core.plan(ODD, Some(&before), config(does)).await.unwrap();
        let applied = core.apply(plan).await;
        assert!(applied.diagnostics.has_errors(), "{does}");
        assert_eq!(applied.stored, Some(before), "{does}");
    }
}

#[tokio::test]
async fn a_deletion_that_panics_keeps_everything() {
    let core = core();
    let before = stored("before");
    let plan = core.plan(ODD, Some(&before), None).await.unwrap();
    let applied = core.apply(plan).await;
    assert_eq!(summaries(&applied.diagnostics), ["Bug in the Provider"]);
    assert_eq!(applied.stored, Some(before));
}

#[tokio::test]
async fn a_plan_that_terraform_would_refuse_is_called_a_bug_here() {
    for does in ["plan something else", "panic in the plan"] {
        let refused = core().plan(ODD, None, config(does)).await.unwrap_err();
        assert_eq!(summaries(&refused), ["Bug in the Provider"], "{does}");
    }
}

#[tokio::test]
async fn a_read_or_import_without_a_whole_state_is_an_error() {
    for does in ["read unknown", "read nonsense"] {
        assert_eq!(
            summaries(&core().refresh(&stored(does)).await.unwrap_err()),
            ["Bug in the Provider"],
            "{does}"
        );
    }
    assert_eq!(summaries(&core().import(ODD, "x").await.unwrap_err()), ["Bug in the Provider"]);
    assert_eq!(core().refresh(&stored("vanish")).await.unwrap().0, None);
}

#[tokio::test]
async fn state_of_an_older_version_is_upgraded_or_refused() {
    let core = core();
    let upgraded = core.upgrade(ODD, 0, &json!({ "did": "x" })).await.unwrap();
    assert_eq!(upgraded, Value::object([("does", Value::from("x")), ("made", Value::Null)]));
    let as_it_is = core
        .upgrade(ODD, 2, &json!({ "does": "x", "made": "m", "gone": [1] }))
        .await
        .unwrap();
    assert_eq!(as_it_is, state("x"));
    for (version, expected) in [(1, "Cannot Upgrade"), (3, "Unreadable State")] {
        assert_eq!(
            summaries(&core.upgrade(ODD, version, &json!({})).await.unwrap_err()),
            [expected],
            "{version}"
        );
    }
    assert_eq!(
        summaries(&core.upgrade(ODD, 2, &json!({ "does": 1 })).await.unwrap_err()),
        ["Unreadable State"]
    );
}

#[tokio::test]
async fn state_of_another_type_is_taken_over_where_the_resource_knows_it() {
    let core = core();
    let state = json!({ "input": "x" });
    let source = MoveSource {
        provider_address: "terraform.io/builtin/terraform",
        type_name: "terraform_data",
        schema_version: 0,
        state: &state,
    };
    let moved = core.take_over(ODD, &source).await.unwrap();
    assert_eq!(moved.state, Value::object([("does", Value::from("x")), ("made", Value::Null)]));
    let refused = core
        .take_over(
            ODD,
            &MoveSource {
                type_name: "null_resource",
                ..source
            },
        )
        .await
        .unwrap_err();
    assert_eq!(summaries(&refused), ["Move Not Supported"]);
}
