//! `featurestore_stream`: the resource, its calls in one file each. What is shared by several calls is here: notes in
//! private state, the state made of a record, and timeouts.

pub(crate) mod answer;
mod create;
mod delete;
mod equality;
mod import;
pub(crate) mod model;
mod plan;
mod read;
pub(crate) mod schema;
mod update;
mod validate;
mod verdict;
mod versions;
mod wait;
mod words;

use std::time::Duration;

use async_trait::async_trait;
use tfplugin::call::CallContext;
use tfplugin::diagnostic::Diagnostics;
use tfplugin::private::Private;
use tfplugin::resource::{
    Applied, CreateRequest, DeleteRequest, Found, Plan, PlanRequest, ReadOutcome, ReadRequest, Resource, UpdateRequest,
};
use tfplugin::schema::Schema;
use tfplugin::value::Value;

use crate::client::calls::StreamRecord;
use crate::client::diagnostics::failure;
use crate::client::error::AgentError;
use crate::duration;
use crate::session::Session;

/// The type's name in configurations.
pub(crate) const TYPE_NAME: &str = "featurestore_stream";

/// Notes in private state: what a change is planned on.
const GENERATION: &str = "generation";
const OPERATIONS_GENERATION: &str = "operations_generation";

/// Settings that the provider keeps for itself, with what they are when nobody says.
const OWN_SETTINGS: [(&str, Option<&str>); 4] = [
    ("schema_update_policy", Some("reject")),
    ("on_destroy", Some("delete")),
    ("deletion_protection", None),
    ("timeouts", None),
];

/// The resource.
pub(crate) struct StreamResource {
    session: Session,
    schema: Schema,
}

impl StreamResource {
    /// The resource of one provider.
    pub(crate) fn new(session: Session) -> Self {
        Self {
            session,
            schema: schema::schema(),
        }
    }

    /// A failed call as diagnostics.
    fn failed(&self, error: &AgentError, doing: &str) -> Diagnostics {
        failure(error, doing, &self.schema)
    }
}

#[async_trait]
impl Resource for StreamResource {
    fn type_name(&self) -> &'static str {
        TYPE_NAME
    }

    fn schema(&self) -> Schema {
        self.schema.clone()
    }

    async fn validate(&self, config: &Value, _context: &CallContext) -> Diagnostics {
        validate::configuration(config, &self.schema)
    }

    async fn modify_plan(&self, request: &PlanRequest<'_>, plan: &mut Plan, context: &CallContext) {
        self.plan_stream(request, plan, context).await;
    }

    async fn create(&self, request: CreateRequest<'_>, context: &CallContext) -> Applied {
        self.create_stream(&request, context).await
    }

    async fn read(&self, request: ReadRequest<'_>, context: &CallContext) -> Result<ReadOutcome, Diagnostics> {
        self.read_stream(&request, context).await
    }

    async fn update(&self, request: UpdateRequest<'_>, context: &CallContext) -> Applied {
        self.update_stream(&request, context).await
    }

    async fn delete(&self, request: DeleteRequest<'_>, context: &CallContext) -> Diagnostics {
        self.delete_stream(&request, context).await
    }

    async fn import(&self, id: &str, context: &CallContext) -> Result<Found, Diagnostics> {
        self.import_stream(id, context).await
    }
}

/// The state of a record, with the provider's own settings of `own`.
fn state_of(record: &StreamRecord, own: &Value) -> Value {
    let settings = OWN_SETTINGS.iter().map(|(name, _)| (*name, own.get(name).clone()));
    Value::object(answer::attributes(record).into_iter().chain(settings))
}

/// The provider's own settings as they are when nobody says.
fn default_settings() -> Value {
    Value::object(OWN_SETTINGS.iter().map(|(name, default)| {
        let default = if *name == "deletion_protection" {
            Value::Bool(false)
        } else {
            Value::optional_string(*default)
        };
        (*name, default)
    }))
}

/// Notes which versions of the stream a later change will be planned on.
fn notes_of(record: &StreamRecord) -> Private {
    let mut private = Private::default();
    private.set(GENERATION, record.status.generation);
    private.set(OPERATIONS_GENERATION, record.status.operations_generation);
    private
}

/// The timeout of that name, or its default.
fn timeout(value: &Value, name: &str, default: Duration) -> Duration {
    value
        .get("timeouts")
        .get(name)
        .as_str()
        .and_then(|text| duration::parse(text).ok())
        .unwrap_or(default)
}

/// The text of an attribute; empty if there is none.
fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.dig(path).as_str().unwrap_or_default()
}
