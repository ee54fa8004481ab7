//! `featurestore_secret`: one value in a scope. The value goes from the configuration to the agent and is nowhere else; that
//! someone else has written it shows by the agent's random revision.

use async_trait::async_trait;
use featurestore_proto::v1;
use stream_spec::name::{ScopeName, SecretKey};
use stream_spec::validate;
use stream_spec::violation::Violation;
use tfplugin::resource::CreateRequest;
use tfplugin::schema::Schema;
use tfplugin::schema::attribute::Attribute;
use tfplugin::value::Value;
use tfplugin::value::types::Type;
use tonic::Code;

use super::entity::{Agent, Change, Deletion, Entity, EntityResource, Facts};
use super::{check_name, parse_with, say, text_of};
use crate::client::error::AgentError;

const REPLACES: &str = "Changing it replaces the secret.";

/// The resource.
pub(crate) type SecretResource = EntityResource<Secret>;

/// A secret.
pub(crate) struct Secret;

/// What the agent tells of a secret.
pub(crate) struct SecretRecord {
    scope: String,
    metadata: v1::SecretMetadata,
}

impl SecretRecord {
    fn id(&self) -> String {
        format!("{}/{}", self.scope, self.metadata.key)
    }
}

#[async_trait]
impl Entity for Secret {
    type Record = SecretRecord;

    const TYPE_NAME: &'static str = "featurestore_secret";
    const NOUN: &'static str = "secret";
    const IMPORT_ID: &'static str = "scope and key, as in `payments/kafka-password`";
    const TAKE_OVER: &'static str = "Choose another key, or take it over";
    const NAMED_BY: &'static str = "key";
    const COUNTED_FROM: Option<u64> = None;
    const REVISION: Option<&'static str> = Some("revision");

    fn schema() -> Schema {
        Schema::new(
            "A secret value in a scope. The value is in no plan and no state; the agent keeps it encrypted and never returns it.",
            [
                (
                    "id",
                    Attribute::computed(Type::String, say("Scope and key, `scope/key`.", "It goes with the secret."))
                        .computed_keeps_prior(),
                ),
                (
                    "scope",
                    Attribute::required(Type::String, say("Name of the secret scope.", REPLACES)).replaces(),
                ),
                (
                    "key",
                    Attribute::required(
                        Type::String,
                        say(
                            "Name within the scope: letters, digits, `_`, `-`, `.` and `@`, at most 128.",
                            REPLACES,
                        ),
                    )
                    .replaces(),
                ),
                (
                    "value_wo",
                    Attribute::required(
                        Type::String,
                        say(
                            "The value, at most 128 KiB.",
                            "Write-only: it is in no plan and no state. Sent at create, when `value_wo_version` changes, and when someone \
                             else has written the secret.",
                        ),
                    )
                    .sensitive()
                    .write_only(),
                ),
                (
                    "value_wo_version",
                    Attribute::optional(
                        Type::Number,
                        say("Version of the value. Any number will do.", "A new number sends the value again."),
                    ),
                ),
                (
                    "revision",
                    Attribute::computed(
                        Type::String,
                        say(
                            "Random, and new with every write of the value by anybody: it says that a value changed, never what it is.",
                            "Set by the agent.",
                        ),
                    ),
                ),
            ],
        )
    }

    fn key(value: &Value) -> String {
        format!("{}/{}", text_of(value, "scope"), text_of(value, "key"))
    }

    fn check_key(key: &str) -> Result<(), String> {
        let (scope, name) = key.split_once('/').ok_or("it has no `/`")?;
        parse_with(ScopeName::parse, scope)?;
        parse_with(SecretKey::parse, name)
    }

    fn violations(config: &Value) -> Vec<Violation> {
        let mut found = check_name(config, "scope", ScopeName::parse);
        found.extend(check_name(config, "key", SecretKey::parse));
        let size = config.get("value_wo").as_str().map(str::len);
        found.extend(size.and_then(|bytes| validate::secret_value_bytes("value_wo", bytes)));
        found
    }

    fn state(record: &SecretRecord, own: &Value) -> Value {
        Value::object([
            ("id", Value::string(record.id())),
            ("scope", Value::string(&record.scope)),
            ("key", Value::string(&record.metadata.key)),
            ("value_wo", Value::Null),
            ("value_wo_version", own.get("value_wo_version").clone()),
            ("revision", Value::string(&record.metadata.revision)),
        ])
    }

    fn facts(record: &SecretRecord) -> Facts {
        Facts {
            id: record.id(),
            generation: 0,
            revision: record.metadata.revision.clone(),
        }
    }

    fn has_secrets(_config: &Value) -> bool {
        true
    }

    async fn get(agent: &Agent<'_>, key: &str) -> Result<SecretRecord, AgentError> {
        let (scope, name) = parts(key);
        let list = agent.client.list_secrets(scope, agent.stop).await?;
        found_in(&list, scope, name).ok_or_else(|| absent(key))
    }

    async fn look(agent: &Agent<'_>, key: &str) -> Result<SecretRecord, AgentError> {
        let (scope, name) = parts(key);
        let ask = || agent.client.list_secrets(scope, agent.stop);
        let list = agent.session.secrets().get(scope, ask).await?;
        match found_in(&list, scope, name) {
            Some(found) => Ok(found),
            None => Self::get(agent, key).await,
        }
    }

    async fn create(agent: &Agent<'_>, request: &CreateRequest<'_>) -> Result<SecretRecord, AgentError> {
        let key = Self::key(request.planned);
        // Writing a secret is one call, whether there is one or not, and nobody's value shall be overwritten in silence.
        match Self::get(agent, &key).await {
            Ok(_) => Err(AgentError::refused_here(
                "ListSecrets",
                Code::AlreadyExists,
                "the secret exists already",
            )),
            Err(error) if error.is_not_found() => put(agent, &key, request.config).await,
            Err(error) => Err(error),
        }
    }

    async fn update(agent: &Agent<'_>, change: &Change<'_>) -> Result<SecretRecord, AgentError> {
        let key = Self::key(change.request.planned);
        let seen = Self::get(agent, &key).await?;
        if Some(seen.metadata.revision.as_str()) != change.request.prior.get("revision").as_str() {
            let message = format!("someone else has written the secret `{key}`");
            return Err(AgentError::refused_here("ListSecrets", Code::Aborted, message));
        }
        put(agent, &key, change.request.config).await
    }

    async fn delete(agent: &Agent<'_>, deletion: &Deletion<'_>) -> Result<(), AgentError> {
        let (scope, name) = parts(deletion.key);
        agent.session.secrets().forget(scope);
        agent.client.delete_secret(scope, name, agent.stop).await
    }
}

/// Scope and name in a key.
fn parts(key: &str) -> (&str, &str) {
    key.split_once('/').unwrap_or((key, ""))
}

fn found_in(list: &[v1::SecretMetadata], scope: &str, name: &str) -> Option<SecretRecord> {
    let metadata = list.iter().find(|secret| secret.key == name)?.clone();
    let scope = scope.to_owned();
    Some(SecretRecord { scope, metadata })
}

fn absent(key: &str) -> AgentError {
    AgentError::refused_here("ListSecrets", Code::NotFound, format!("there is no secret `{key}`"))
}

/// Writes the configuration's value.
async fn put(agent: &Agent<'_>, key: &str, config: &Value) -> Result<SecretRecord, AgentError> {
    let (scope, name) = parts(key);
    let message = v1::PutSecretRequest {
        scope: scope.to_owned(),
        key: name.to_owned(),
        value: text_of(config, "value_wo").into_bytes(),
    };
    let written = agent.client.put_secret(message, agent.stop).await;
    agent.session.secrets().forget(scope);
    let scope = scope.to_owned();
    Ok(SecretRecord { scope, metadata: written? })
}
