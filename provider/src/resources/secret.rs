//! `featurestore_secret`: one value in a scope. The value goes from the configuration to the agent and is nowhere else; that
//! someone else has written it shows by the agent's random revision.

use async_trait::async_trait;
use featurestore_proto::v1;
use stream_spec::name::{ScopeName, SecretKey};
use stream_spec::privilege::SecurableType;
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
use crate::begun::Begun;
use crate::client::error::AgentError;
use crate::client::governance::ListedSecret;

const REPLACES: &str = "Changing it replaces the secret.";

/// The life of the scope that the secret is in.
const SCOPE_ID: &str = "scope_id";

/// The resource.
pub(crate) type SecretResource = EntityResource<Secret>;

/// A secret.
pub(crate) struct Secret;

/// What the agent tells of a secret.
pub(crate) struct SecretRecord {
    scope: String,
    scope_uid: String,
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
    const LIFE: Option<&'static str> = Some(SCOPE_ID);

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
                    SCOPE_ID,
                    Attribute::computed(
                        Type::String,
                        say(
                            "The uid of the scope that the secret is in.",
                            "Where the same plan makes the scope anew, the value is sent to the new one.",
                        ),
                    )
                    .computed_keeps_prior(),
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
            (SCOPE_ID, Value::string(&record.scope_uid)),
            ("value_wo", Value::Null),
            ("value_wo_version", own.get("value_wo_version").clone()),
            ("revision", Value::string(&record.metadata.revision)),
        ])
    }

    fn note(begun: &Begun, key: &str) {
        begun.note_secret(key);
    }

    fn lies_on(value: &Value) -> Option<(SecurableType, String)> {
        Some((SecurableType::SecretScope, text_of(value, "scope")))
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
        put_first(agent, &Self::key(request.planned), request.config).await
    }

    async fn update(agent: &Agent<'_>, change: &Change<'_>) -> Result<SecretRecord, AgentError> {
        let prior = change.request.prior;
        let key = Self::key(change.request.planned);
        // The plan makes the scope anew, and nothing is in it yet.
        if change.begins_another_life && agent.client.scope_uid(parts(&key).0, agent.stop).await? != change.life {
            return put_first(agent, &key, change.request.config).await;
        }
        let seen = Self::get(agent, &key).await?;
        if Some(seen.metadata.revision.as_str()) != prior.get("revision").as_str() {
            let message = format!("someone else has written the secret `{key}`");
            return Err(AgentError::refused_here("ListSecrets", Code::Aborted, message));
        }
        // Again where it is written: somebody may write it in between.
        let only_if = v1::PutSecretRequest {
            expected_revision: seen.metadata.revision,
            scope_uid: seen.scope_uid,
            ..Default::default()
        };
        put(agent, &key, change.request.config, only_if).await
    }

    async fn delete(agent: &Agent<'_>, deletion: &Deletion<'_>) -> Result<(), AgentError> {
        let (scope, name) = parts(deletion.key);
        agent.session.secrets().forget(scope);
        agent.client.delete_secret(scope, deletion.life, name, agent.stop).await
    }
}

/// Scope and name in a key.
fn parts(key: &str) -> (&str, &str) {
    key.split_once('/').unwrap_or((key, ""))
}

fn found_in(list: &[ListedSecret], scope: &str, name: &str) -> Option<SecretRecord> {
    let found = list.iter().find(|secret| secret.metadata.key == name)?.clone();
    Some(SecretRecord {
        scope: scope.to_owned(),
        scope_uid: found.scope_uid,
        metadata: found.metadata,
    })
}

fn absent(key: &str) -> AgentError {
    AgentError::refused_here("ListSecrets", Code::NotFound, format!("there is no secret `{key}`"))
}

/// Writes the configuration's value where there is none: nobody's shall be overwritten in silence.
async fn put_first(agent: &Agent<'_>, key: &str, config: &Value) -> Result<SecretRecord, AgentError> {
    let only_if = v1::PutSecretRequest {
        must_not_exist: true,
        scope_uid: agent.client.scope_uid(parts(key).0, agent.stop).await?,
        ..Default::default()
    };
    put(agent, key, config, only_if).await
}

/// Writes the configuration's value, under a condition.
async fn put(agent: &Agent<'_>, key: &str, config: &Value, only_if: v1::PutSecretRequest) -> Result<SecretRecord, AgentError> {
    let (scope, name) = parts(key);
    let message = v1::PutSecretRequest {
        scope: scope.to_owned(),
        key: name.to_owned(),
        value: text_of(config, "value_wo").into_bytes(),
        request_id: uuid::Uuid::new_v4().to_string(),
        ..only_if
    };
    let scope_uid = message.scope_uid.clone();
    let written = agent.client.put_secret(message, agent.stop).await;
    agent.session.secrets().forget(scope);
    Ok(SecretRecord {
        scope: scope.to_owned(),
        scope_uid,
        metadata: written?,
    })
}
