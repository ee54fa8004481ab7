//! `featurestore_connection`: a named way to a source. Its secret values go from the configuration to the agent and are nowhere
//! else; that someone else has written one shows by the agent's random revision.

pub(crate) mod model;
mod plan;
pub(crate) mod schema;
mod update;
mod validate;

use async_trait::async_trait;
use featurestore_proto::v1;
use stream_spec::name::ConnectionName;
use stream_spec::privilege::SecurableType;
use stream_spec::violation::Violation;
use tfplugin::call::CallContext;
use tfplugin::resource::{CreateRequest, Plan, PlanRequest};
use tfplugin::schema::Schema;
use tfplugin::value::Value;

use super::entity::{Agent, Change, Deletion, Entity, EntityResource, Facts};
use super::{parse_with, text_of};
use crate::client::error::AgentError;
use model::{Declaration, SECRETS, add_secrets};

/// The resource.
pub(crate) type ConnectionResource = EntityResource<Connection>;

/// A connection.
pub(crate) struct Connection;

#[async_trait]
impl Entity for Connection {
    type Record = v1::Connection;

    const TYPE_NAME: &'static str = "featurestore_connection";
    const NOUN: &'static str = "connection";
    const IMPORT_ID: &'static str = "the connection's name";
    const SECURABLE: Option<SecurableType> = Some(SecurableType::Connection);
    const REVISION: Option<&'static str> = Some("secrets_revision");

    fn schema() -> Schema {
        schema::schema()
    }

    fn key(value: &Value) -> String {
        text_of(value, "name")
    }

    fn check_key(key: &str) -> Result<(), String> {
        parse_with(ConnectionName::parse, key)
    }

    fn violations(config: &Value) -> Vec<Violation> {
        validate::configuration(config)
    }

    fn state(record: &v1::Connection, own: &Value) -> Value {
        model::state_of(record, own)
    }

    fn facts(record: &v1::Connection) -> Facts {
        Facts {
            id: record.uid.clone(),
            generation: record.generation,
            revision: record.secrets_revision.clone(),
        }
    }

    fn has_secrets(config: &Value) -> bool {
        SECRETS.iter().any(|secret| !config.dig(secret.value).is_null())
    }

    async fn get(agent: &Agent<'_>, key: &str) -> Result<v1::Connection, AgentError> {
        agent.client.get_connection(key, agent.stop).await
    }

    async fn create(agent: &Agent<'_>, request: &CreateRequest<'_>) -> Result<v1::Connection, AgentError> {
        let mut connection = Declaration::read(request.planned).connection;
        add_secrets(&mut connection, request.config);
        let message = v1::CreateConnectionRequest {
            connection: Some(connection),
            request_id: uuid::Uuid::new_v4().to_string(),
        };
        agent.client.create_connection(message, agent.stop).await
    }

    async fn update(agent: &Agent<'_>, change: &Change<'_>) -> Result<v1::Connection, AgentError> {
        update::update(agent, change).await
    }

    async fn delete(agent: &Agent<'_>, deletion: &Deletion<'_>) -> Result<(), AgentError> {
        agent.client.delete_connection(deletion.key, deletion.id, agent.stop).await
    }

    async fn plan(resource: &ConnectionResource, request: &PlanRequest<'_>, plan: &mut Plan, context: &CallContext) {
        resource.plan_connection(request, plan, context).await;
    }
}
