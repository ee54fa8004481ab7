//! `featurestore_secret_scope`: a name that secrets are kept under. It has nothing but its name, so nothing of it changes in place.

use async_trait::async_trait;
use featurestore_proto::v1;
use stream_spec::name::ScopeName;
use stream_spec::violation::Violation;
use tfplugin::resource::CreateRequest;
use tfplugin::schema::Schema;
use tfplugin::schema::attribute::Attribute;
use tfplugin::value::Value;
use tfplugin::value::types::Type;

use super::entity::{Agent, Deletion, Entity, EntityResource, Facts};
use super::{check_name, parse_with, say, text_of};
use crate::client::error::AgentError;

/// The resource.
pub(crate) type SecretScopeResource = EntityResource<SecretScope>;

/// A secret scope.
pub(crate) struct SecretScope;

#[async_trait]
impl Entity for SecretScope {
    /// Its name: the agent has no call that brings more of one scope.
    type Record = String;

    const TYPE_NAME: &'static str = "featurestore_secret_scope";
    const NOUN: &'static str = "secret scope";
    const IMPORT_ID: &'static str = "the scope's name";
    const COUNTED_FROM: Option<u64> = None;

    fn schema() -> Schema {
        Schema::new(
            "A secret scope: a name that secrets are kept under, encrypted by a key of its own. Privileges are granted on the scope.",
            [
                (
                    "id",
                    Attribute::computed(Type::String, say("The scope's name.", "It goes with the scope.")).computed_keeps_prior(),
                ),
                (
                    "name",
                    Attribute::required(
                        Type::String,
                        say(
                            "Letters, digits, `_`, `-`, `.` and `@`, at most 128.",
                            "Changing it replaces the scope: its secrets are deleted with it.",
                        ),
                    )
                    .replaces(),
                ),
            ],
        )
    }

    fn key(value: &Value) -> String {
        text_of(value, "name")
    }

    fn check_key(key: &str) -> Result<(), String> {
        parse_with(ScopeName::parse, key)
    }

    fn violations(config: &Value) -> Vec<Violation> {
        check_name(config, "name", ScopeName::parse)
    }

    fn state(name: &String, _own: &Value) -> Value {
        Value::object([("id", Value::string(name)), ("name", Value::string(name))])
    }

    fn facts(name: &String) -> Facts {
        Facts {
            id: name.clone(),
            generation: 0,
            revision: String::new(),
        }
    }

    async fn get(agent: &Agent<'_>, key: &str) -> Result<String, AgentError> {
        agent.client.look_for_scope(key, agent.stop).await?;
        Ok(key.to_owned())
    }

    async fn create(agent: &Agent<'_>, request: &CreateRequest<'_>) -> Result<String, AgentError> {
        let scope = v1::SecretScope {
            name: text_of(request.planned, "name"),
            ..Default::default()
        };
        let message = v1::CreateSecretScopeRequest {
            scope: Some(scope),
            request_id: uuid::Uuid::new_v4().to_string(),
        };
        Ok(agent.client.create_scope(message, agent.stop).await?.name)
    }

    async fn delete(agent: &Agent<'_>, deletion: &Deletion<'_>) -> Result<(), AgentError> {
        agent.session.secrets().forget(deletion.key);
        agent.client.delete_scope(deletion.key, agent.stop).await
    }
}
