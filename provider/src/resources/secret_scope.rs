//! `featurestore_secret_scope`: a name that secrets are kept under. It has nothing but its name, so nothing of it changes in place.

use async_trait::async_trait;
use featurestore_proto::v1;
use stream_spec::name::ScopeName;
use stream_spec::privilege::SecurableType;
use stream_spec::violation::Violation;
use tfplugin::call::CallContext;
use tfplugin::diagnostic::Diagnostic;
use tfplugin::resource::{CreateRequest, Plan, PlanKind, PlanRequest};
use tfplugin::schema::Schema;
use tfplugin::schema::attribute::Attribute;
use tfplugin::value::Value;
use tfplugin::value::types::Type;

use super::entity::{Agent, Deletion, Entity, EntityResource, Facts};
use super::{check_name, parse_with, say, text_of};
use crate::client::consult::{Consulted, consult, unanswered};
use crate::client::error::AgentError;
use crate::limits::NAMES_IN_A_MESSAGE_MAX;

/// The resource.
pub(crate) type SecretScopeResource = EntityResource<SecretScope>;

/// A secret scope.
pub(crate) struct SecretScope;

#[async_trait]
impl Entity for SecretScope {
    type Record = v1::SecretScope;

    const TYPE_NAME: &'static str = "featurestore_secret_scope";
    const NOUN: &'static str = "secret scope";
    const IMPORT_ID: &'static str = "the scope's name";
    const SECURABLE: Option<SecurableType> = Some(SecurableType::SecretScope);
    const COUNTED_FROM: Option<u64> = None;

    fn schema() -> Schema {
        Schema::new(
            "A secret scope: a name that secrets are kept under, encrypted by a key of its own. Privileges are granted on the scope.",
            [
                (
                    "id",
                    Attribute::computed(
                        Type::String,
                        say("Random, new for each scope.", "Set by the agent; it goes with the scope."),
                    )
                    .computed_keeps_prior(),
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

    fn state(scope: &v1::SecretScope, _own: &Value) -> Value {
        Value::object([("id", Value::string(&scope.uid)), ("name", Value::string(&scope.name))])
    }

    fn facts(scope: &v1::SecretScope) -> Facts {
        Facts {
            id: scope.uid.clone(),
            generation: 0,
            revision: String::new(),
        }
    }

    async fn get(agent: &Agent<'_>, key: &str) -> Result<v1::SecretScope, AgentError> {
        Ok(v1::SecretScope {
            name: key.to_owned(),
            uid: agent.client.scope_uid(key, agent.stop).await?,
            ..Default::default()
        })
    }

    async fn create(agent: &Agent<'_>, request: &CreateRequest<'_>) -> Result<v1::SecretScope, AgentError> {
        let scope = v1::SecretScope {
            name: text_of(request.planned, "name"),
            ..Default::default()
        };
        let message = v1::CreateSecretScopeRequest {
            scope: Some(scope),
            request_id: uuid::Uuid::new_v4().to_string(),
        };
        agent.client.create_scope(message, agent.stop).await
    }

    async fn delete(agent: &Agent<'_>, deletion: &Deletion<'_>) -> Result<(), AgentError> {
        agent.session.secrets().forget(deletion.key);
        agent.client.delete_scope(deletion.key, deletion.id, agent.stop).await
    }

    async fn plan(resource: &SecretScopeResource, request: &PlanRequest<'_>, plan: &mut Plan, context: &CallContext) {
        if request.kind == PlanKind::Destroy || !plan.requires_replace.is_empty() {
            warn_of_secrets(resource, &Self::key(request.prior), plan, context).await;
        }
    }
}

/// Values that nobody can bring back go with the scope.
async fn warn_of_secrets(resource: &SecretScopeResource, name: &str, plan: &mut Plan, context: &CallContext) {
    let asked = consult(
        &resource.session,
        |client| async move { client.list_secrets(name, &context.stop).await },
    );
    let secrets = match asked.await {
        Ok(Consulted::Answer(secrets)) => secrets,
        Ok(Consulted::Silence(error)) => {
            let consequence = "How many secrets are deleted with the scope is not known.";
            return plan.tell(unanswered(&resource.session, &error, consequence));
        }
        // Who may delete a scope may do so without reading it.
        Ok(Consulted::Denied(_) | Consulted::NotAsked) | Err(_) => return,
    };
    if secrets.is_empty() {
        return;
    }
    let names: Vec<String> = secrets.iter().map(|secret| format!("`{}`", secret.metadata.key)).collect();
    let (shown, more) = names.split_at(names.len().min(NAMES_IN_A_MESSAGE_MAX));
    let more = if more.is_empty() {
        String::new()
    } else {
        format!(" and {} more", more.len())
    };
    let count = match names.len() {
        1 => "1 secret".to_owned(),
        count => format!("{count} secrets"),
    };
    let detail = format!(
        "The secret scope `{name}` is deleted with what is in it: {count}, {}{more}. Their values cannot be brought back.",
        shown.join(", ")
    );
    plan.tell(Diagnostic::warning("Destroy Deletes Secrets", detail));
}
