//! One provider under the stand-in for Terraform's core, over one fake agent, with the steps that tests are made of.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use tfplugin::diagnostic::{Diagnostics, Severity};
use tfplugin::provider::Provider;
use tfplugin::schema::Schema;
use tfplugin::testing::core::{Action, Applied, Core, Planned, Stored};
use tfplugin::value::Value;

use super::configs::value;
use super::fake_agent::{FakeAgent, World};
use crate::config;
use crate::provider::FeaturestoreProvider;
use crate::resources::connection::Connection;
use crate::resources::entity::Entity;
use crate::resources::stream;

/// Longest that a test waits for something that must happen.
const PATIENCE: Duration = Duration::from_secs(20);

/// Provider, core and agent.
pub(crate) struct Bench {
    pub(crate) agent: FakeAgent,
    core: Core,
    block: Json,
}

/// What a plan came to, or why it failed.
pub(crate) struct Plan {
    pub(crate) planned: Value,
    pub(crate) requires_replace: Vec<String>,
    said: Diagnostics,
    plan: Option<Planned>,
}

impl Plan {
    fn of(outcome: Result<Planned, Diagnostics>) -> Self {
        match outcome {
            Ok(plan) => Self {
                planned: plan.planned.clone(),
                requires_replace: plan.requires_replace.iter().map(ToString::to_string).collect(),
                said: plan.diagnostics.clone(),
                plan: Some(plan),
            },
            Err(said) => Self {
                planned: Value::Null,
                requires_replace: Vec::new(),
                said,
                plan: None,
            },
        }
    }

    /// What it does. A plan with errors does nothing, not even "no-op".
    pub(crate) fn action(&self) -> Action {
        match &self.plan {
            Some(plan) => plan.action,
            None => panic!("the plan failed: {}", self.words()),
        }
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.plan.is_none()
    }

    pub(crate) fn words(&self) -> String {
        words(&self.said)
    }

    /// The attribute of the one error.
    pub(crate) fn error_path(&self) -> String {
        let paths = error_paths(&self.said);
        assert_eq!(paths.len(), 1, "{}", self.words());
        paths[0].clone()
    }
}

/// What a validation said.
pub(crate) struct Said(Diagnostics);

impl Said {
    pub(crate) fn has_errors(&self) -> bool {
        self.0.has_errors()
    }

    pub(crate) fn words(&self) -> String {
        words(&self.0)
    }

    pub(crate) fn error_paths(&self) -> Vec<String> {
        error_paths(&self.0)
    }
}

/// What came of an apply.
pub(crate) struct Outcome {
    pub(crate) stored: Option<Stored>,
    said: Diagnostics,
}

impl Outcome {
    pub(crate) fn has_errors(&self) -> bool {
        self.said.has_errors()
    }

    pub(crate) fn words(&self) -> String {
        words(&self.said)
    }
}

impl Bench {
    /// With a provider block that only names the agent.
    pub(crate) async fn start() -> Self {
        Self::with(json!({})).await
    }

    /// With these settings in the provider block.
    pub(crate) async fn with(block: Json) -> Self {
        Self::on(FakeAgent::start().await, block).await
    }

    /// On that agent.
    pub(crate) async fn on(agent: FakeAgent, block: Json) -> Self {
        let (bench, said) = Self::configured(agent, block).await;
        assert_eq!(words(&said), "", "the provider block is accepted");
        bench
    }

    /// What is said of a provider block that is refused.
    pub(crate) async fn refused(block: Json) -> String {
        let (_, said) = Self::configured(FakeAgent::start().await, block).await;
        assert!(said.has_errors(), "the provider block is refused");
        words(&said)
    }

    async fn configured(agent: FakeAgent, mut block: Json) -> (Self, Diagnostics) {
        if block.get("endpoint").is_none() {
            block["endpoint"] = json!(agent.endpoint());
        }
        let provider: Arc<dyn Provider> = Arc::new(FeaturestoreProvider::new());
        let core = Core::new(provider);
        let said = core.configure(value(&config::schema(), &block)).await;
        (Self { agent, core, block }, said)
    }

    /// Another command of Terraform begins, with the same process of the provider.
    pub(crate) async fn next_command(&self) {
        let said = self.core.configure(value(&config::schema(), &self.block)).await;
        assert_eq!(words(&said), "");
    }

    /// The same provider after its agent has gone.
    pub(crate) async fn without_agent(mut self) -> Self {
        self.agent.leave().await;
        self
    }

    /// Gives the stop signal once a call has arrived.
    pub(crate) async fn stop_when_called(&self, call: &str) {
        let deadline = Instant::now() + PATIENCE;
        while self.agent.count(call) == 0 {
            assert!(Instant::now() < deadline, "`{call}` never arrived");
            tokio::task::yield_now().await;
        }
        self.core.stop().await;
    }

    /// Changes the world once a call has arrived.
    pub(crate) async fn when_called(&self, call: &str, change: impl FnOnce(&mut World)) {
        let deadline = Instant::now() + PATIENCE;
        while self.agent.count(call) == 0 {
            assert!(Instant::now() < deadline, "`{call}` never arrived");
            tokio::task::yield_now().await;
        }
        change(&mut self.agent.world());
    }

    pub(crate) async fn validate(&self, config: &Json) -> Said {
        Said(self.core.validate(stream::TYPE_NAME, value(&stream_schema(), config)).await)
    }

    pub(crate) async fn plan(&self, prior: Option<&Stored>, config: &Json) -> Plan {
        Plan::of(
            self.core
                .plan(stream::TYPE_NAME, prior, Some(value(&stream_schema(), config)))
                .await,
        )
    }

    pub(crate) async fn plan_destroy(&self, stored: &Stored) -> Plan {
        Plan::of(self.core.plan(&stored.type_name, Some(stored), None).await)
    }

    pub(crate) async fn apply_planned(&self, plan: Plan) -> Outcome {
        match plan.plan {
            Some(plan) => {
                let Applied { stored, diagnostics, .. } = self.core.apply(plan).await;
                Outcome { stored, said: diagnostics }
            }
            None => Outcome {
                stored: None,
                said: plan.said,
            },
        }
    }

    /// Plans and applies.
    pub(crate) async fn apply(&self, prior: Option<&Stored>, config: &Json) -> Outcome {
        self.apply_planned(self.plan(prior, config).await).await
    }

    /// A stream created without a complaint.
    pub(crate) async fn applied(&self, config: &Json) -> Stored {
        sound(self.apply(None, config).await)
    }

    /// A stream changed without a complaint.
    pub(crate) async fn applied_over(&self, stored: &Stored, config: &Json) -> Stored {
        sound(self.apply(Some(stored), config).await)
    }

    /// What a refresh finds; an error in words.
    pub(crate) async fn try_refresh(&self, stored: &Stored) -> Result<Option<Stored>, String> {
        self.core
            .refresh(stored)
            .await
            .map(|(stored, _)| stored)
            .map_err(|said| words(&said))
    }

    /// What a refresh finds, which must work.
    pub(crate) async fn refresh(&self, stored: &Stored) -> Option<Stored> {
        self.try_refresh(stored).await.expect("the refresh works")
    }

    /// What a refresh finds, which must be there.
    pub(crate) async fn refreshed(&self, stored: &Stored) -> Stored {
        self.refresh(stored).await.expect("it is there")
    }

    pub(crate) async fn import(&self, id: &str) -> Result<Stored, String> {
        self.core.import(stream::TYPE_NAME, id).await.map_err(|said| words(&said))
    }

    pub(crate) async fn read_data(&self, type_name: &str, config: &Json) -> Result<Value, String> {
        let schemas = FeaturestoreProvider::new().data_sources();
        let schema = schemas
            .iter()
            .find(|it| it.type_name() == type_name)
            .expect("a data source")
            .schema();
        let read = self.core.read_data(type_name, value(&schema, config)).await;
        read.map(|(state, _)| state).map_err(|said| words(&said))
    }

    /// Validates a configuration of that type of resource.
    pub(crate) async fn validate_one(&self, type_name: &str, config: &Json) -> Said {
        Said(self.core.validate(type_name, value(&schema_of(type_name), config)).await)
    }

    /// Plans that type of resource.
    pub(crate) async fn plan_one(&self, type_name: &str, prior: Option<&Stored>, config: &Json) -> Plan {
        let config = value(&schema_of(type_name), config);
        Plan::of(self.core.plan(type_name, prior, Some(config)).await)
    }

    /// Plans and applies that type of resource, and nobody complains.
    pub(crate) async fn applied_one(&self, type_name: &str, prior: Option<&Stored>, config: &Json) -> Stored {
        sound(self.apply_planned(self.plan_one(type_name, prior, config).await).await)
    }

    /// Imports that type of resource; an error in words.
    pub(crate) async fn import_one(&self, type_name: &str, id: &str) -> Result<Stored, String> {
        self.core.import(type_name, id).await.map_err(|said| words(&said))
    }

    pub(crate) async fn validate_connection(&self, config: &Json) -> Said {
        self.validate_one(Connection::TYPE_NAME, config).await
    }

    pub(crate) async fn plan_connection(&self, prior: Option<&Stored>, config: &Json) -> Plan {
        self.plan_one(Connection::TYPE_NAME, prior, config).await
    }

    pub(crate) async fn applied_connection(&self, prior: Option<&Stored>, config: &Json) -> Stored {
        self.applied_one(Connection::TYPE_NAME, prior, config).await
    }

    pub(crate) async fn import_connection(&self, id: &str) -> Result<Stored, String> {
        self.import_one(Connection::TYPE_NAME, id).await
    }
}

fn schema_of(type_name: &str) -> Schema {
    let resources = FeaturestoreProvider::new().resources();
    let resource = resources.iter().find(|it| it.type_name() == type_name);
    resource.expect("a type of resource").schema()
}

fn stream_schema() -> Schema {
    stream::schema::schema()
}

fn sound(outcome: Outcome) -> Stored {
    assert!(!outcome.has_errors(), "{}", outcome.words());
    outcome.stored.expect("a state")
}

/// Everything that was said, a message a paragraph.
fn words(said: &Diagnostics) -> String {
    said.iter().map(|it| format!("{}: {}\n", it.summary, it.detail)).collect()
}

fn error_paths(said: &Diagnostics) -> Vec<String> {
    let errors = said.iter().filter(|it| it.severity == Severity::Error);
    errors
        .map(|it| it.path.as_ref().map(ToString::to_string).unwrap_or_default())
        .collect()
}
