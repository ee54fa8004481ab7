//! A configured provider with a folder of its own, and the steps that the tests take with it.

use std::sync::Arc;

use tempfile::TempDir;
use tfplugin::diagnostic::Diagnostics;
use tfplugin::testing::core::{Action, Core, Stored};
use tfplugin::value::Value;

use crate::provider::Corner;

/// The resource type under test.
pub(crate) const FILE: &str = "corner_file";

pub(crate) struct World {
    pub(crate) core: Core,
    pub(crate) folder: TempDir,
}

pub(crate) async fn world() -> World {
    let folder = TempDir::new().unwrap();
    let core = Core::new(Arc::new(Corner::default()));
    let configured = core
        .configure(Value::object([("folder", Value::string(folder.path().display().to_string()))]))
        .await;
    assert!(configured.is_empty(), "{configured:?}");
    World { core, folder }
}

impl World {
    pub(crate) async fn apply(&self, prior: Option<&Stored>, config: &Value) -> (Action, Stored) {
        let plan = self.core.plan(FILE, prior, Some(config.clone())).await.unwrap();
        let action = plan.action;
        let applied = self.core.apply(plan).await;
        assert!(!applied.diagnostics.has_errors(), "{:?}", applied.diagnostics);
        (action, applied.stored.unwrap())
    }

    pub(crate) async fn assert_settled(&self, stored: &Stored, config: &Value) {
        for refresh in [false, true] {
            let stored = if refresh {
                self.core.refresh(stored).await.unwrap().0.unwrap()
            } else {
                stored.clone()
            };
            let plan = self.core.plan(FILE, Some(&stored), Some(config.clone())).await.unwrap();
            assert_eq!(
                plan.action,
                Action::NoOp,
                "after {config:?} (refreshed: {refresh}) the plan is {:?}",
                plan.planned
            );
        }
    }
}

pub(crate) fn config(attributes: &[(&str, Value)]) -> Value {
    let mut config = Value::object([("name", Value::from("a"))]);
    for (name, value) in attributes {
        config.set(*name, value.clone());
    }
    config
}

pub(crate) fn summaries(diagnostics: &Diagnostics) -> Vec<&str> {
    diagnostics.iter().map(|message| message.summary.as_str()).collect()
}
