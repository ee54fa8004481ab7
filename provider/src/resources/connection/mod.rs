//! `featurestore_connection`: the resource, its calls in one file each.

mod create;
mod delete;
mod import;
mod model;
mod plan;
mod read;
pub(crate) mod schema;
mod update;
mod validate;

use async_trait::async_trait;
use featurestore_proto::v1;
use tfplugin::call::CallContext;
use tfplugin::diagnostic::Diagnostics;
use tfplugin::private::Private;
use tfplugin::resource::{
    Applied, CreateRequest, DeleteRequest, Found, Plan, PlanRequest, ReadOutcome, ReadRequest, Resource, UpdateRequest,
};
use tfplugin::schema::Schema;
use tfplugin::value::Value;

use crate::client::diagnostics::failure;
use crate::client::error::AgentError;
use crate::session::Session;

/// The type's name in configurations.
pub(crate) const TYPE_NAME: &str = "featurestore_connection";

/// Note in private state: the version of the connection that a change is planned on.
const GENERATION: &str = "generation";

/// The resource.
pub(crate) struct ConnectionResource {
    session: Session,
    schema: Schema,
}

impl ConnectionResource {
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
impl Resource for ConnectionResource {
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
        self.plan_connection(request, plan, context).await;
    }

    async fn create(&self, request: CreateRequest<'_>, context: &CallContext) -> Applied {
        self.create_connection(&request, context).await
    }

    async fn read(&self, request: ReadRequest<'_>, context: &CallContext) -> Result<ReadOutcome, Diagnostics> {
        self.read_connection(&request, context).await
    }

    async fn update(&self, request: UpdateRequest<'_>, context: &CallContext) -> Applied {
        self.update_connection(&request, context).await
    }

    async fn delete(&self, request: DeleteRequest<'_>, context: &CallContext) -> Diagnostics {
        self.delete_connection(&request, context).await
    }

    async fn import(&self, id: &str, context: &CallContext) -> Result<Found, Diagnostics> {
        self.import_connection(id, context).await
    }
}

/// Notes which version a later change will be planned on.
fn notes_of(connection: &v1::Connection) -> Private {
    let mut private = Private::default();
    private.set(GENERATION, connection.generation);
    private
}

/// The name in a state or plan.
fn name_of(value: &Value) -> &str {
    value.get("name").as_str().unwrap_or_default()
}

/// The uid in a state: which life of the name it is.
fn uid_of(state: &Value) -> &str {
    state.get("id").as_str().unwrap_or_default()
}
