//! `featurestore_grants`: all that is granted on one securable. What is granted by another way is taken back by the next apply.
//!
//! A refresh of many reads one list for each type of securable.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use featurestore_proto::v1;
use stream_spec::privilege::SecurableType;
use stream_spec::validate;
use stream_spec::violation::Violation;
use tfplugin::resource::CreateRequest;
use tfplugin::schema::Schema;
use tfplugin::schema::attribute::{Attribute, AttributeType};
use tfplugin::value::Value;
use tfplugin::value::types::Type;
use tonic::Code;

use super::entity::{Agent, Change, Deletion, Entity, EntityResource, Facts};
use super::{say, text_of};
use crate::client::error::AgentError;

const REPLACES: &str = "Changing it replaces the set: what was granted on the former securable is taken back.";
const IN_PLACE: &str = "Changes in place.";

/// The life of the securable.
const SECURABLE_ID: &str = "securable_id";

/// The resource.
pub(crate) type GrantsResource = EntityResource<Grants>;

/// The grants on one securable.
pub(crate) struct Grants;

#[async_trait]
impl Entity for Grants {
    type Record = v1::SecurableGrants;

    const TYPE_NAME: &'static str = "featurestore_grants";
    const NOUN: &'static str = "set of grants";
    const IMPORT_ID: &'static str = "type and name of the securable, as in `connection/payments-kafka`";
    const TAKE_OVER: &'static str = "Take it over";
    const NAMED_BY: &'static str = "securable_name";
    const LIFE: Option<&'static str> = Some(SECURABLE_ID);
    /// Where nothing was ever granted, nothing was counted.
    const COUNTED_FROM: Option<u64> = Some(0);

    fn schema() -> Schema {
        Schema::new(
            "All that is granted on one securable: it owns these grants, and the next apply takes back what is granted by another way. \
             Members of the admin group and the securable's owner need no grants.",
            [
                (
                    "id",
                    Attribute::computed(Type::String, say("Type and name, `type/name`.", "It goes with the set.")).computed_keeps_prior(),
                ),
                (
                    "securable_type",
                    Attribute::required(Type::String, say(&format!("One of {}.", types()), REPLACES)).replaces(),
                ),
                (
                    "securable_name",
                    Attribute::required(
                        Type::String,
                        say("Name of the securable: `main`, `main.payments`, `payments-kafka`.", REPLACES),
                    )
                    .replaces(),
                ),
                (
                    SECURABLE_ID,
                    Attribute::computed(
                        Type::String,
                        say(
                            "The uid of the securable; of a table, that of its stream. Null where there is none: catalogs, schemas, and tables \
                             that no stream writes.",
                            "Grants go with what they were granted on. Where the same plan makes the securable anew, they are set on the new \
                             one; for that, refer to it: `securable_name = featurestore_connection.kafka.name`.",
                        ),
                    )
                    .computed_keeps_prior(),
                ),
                (
                    "grants",
                    Attribute::required(
                        grant(),
                        say(
                            "Who holds what. What is granted on a catalog or schema holds for everything in it.",
                            IN_PLACE,
                        ),
                    )
                    .equal_by(|left, right| held(left) == held(right)),
                ),
            ],
        )
    }

    fn key(value: &Value) -> String {
        format!("{}/{}", text_of(value, "securable_type"), text_of(value, "securable_name"))
    }

    fn check_key(key: &str) -> Result<(), String> {
        let (kind, name) = key.split_once('/').ok_or("it has no `/`")?;
        let securable_type = SecurableType::parse(kind).ok_or_else(|| format!("`{kind}` is none of {}", types()))?;
        match validate::grants(securable_type, name, []) {
            Ok(_) => Ok(()),
            Err(violations) => Err(violations.iter().map(|it| format!("{}; {}", it.problem, it.remedy)).collect()),
        }
    }

    fn violations(config: &Value) -> Vec<Violation> {
        let Some(kind) = config.get("securable_type").as_str() else {
            return Vec::new();
        };
        let Some(securable_type) = SecurableType::parse(kind) else {
            let remedy = format!("use one of {}", types());
            return vec![Violation::new(
                "securable_type",
                kind,
                "nothing can be granted on that type",
                remedy,
            )];
        };
        let name = config.get("securable_name");
        let grants: Vec<(&str, Vec<&str>)> = config.get("grants").elements().iter().filter_map(known_grant).collect();
        let found = validate::grants(securable_type, name.as_str().unwrap_or_default(), grants)
            .err()
            .unwrap_or_default();
        found
            .into_iter()
            .filter(|it| it.field != "securable_name" || name.is_present())
            .collect()
    }

    fn state(record: &v1::SecurableGrants, _own: &Value) -> Value {
        let grants = record.grants.iter().filter(|grant| !grant.privileges.is_empty()).map(|grant| {
            Value::object([
                ("principal", Value::string(&grant.principal)),
                ("privileges", Value::string_set(&grant.privileges)),
            ])
        });
        Value::object([
            ("id", Value::string(id(record))),
            ("securable_type", Value::string(type_name(record.securable_type()))),
            ("securable_name", Value::string(&record.securable_name)),
            (SECURABLE_ID, life(record)),
            ("grants", Value::Set(grants.collect())),
        ])
    }

    fn lies_on(value: &Value) -> Option<(SecurableType, String)> {
        let securable_type = SecurableType::parse(value.get("securable_type").as_str()?)?;
        Some((securable_type, text_of(value, "securable_name")))
    }

    fn facts(record: &v1::SecurableGrants) -> Facts {
        Facts {
            id: id(record),
            generation: record.generation,
            revision: String::new(),
        }
    }

    async fn get(agent: &Agent<'_>, key: &str) -> Result<v1::SecurableGrants, AgentError> {
        let (kind, name) = parts(key);
        agent.client.get_grants(message_type(kind), name, agent.stop).await
    }

    async fn look(agent: &Agent<'_>, key: &str) -> Result<v1::SecurableGrants, AgentError> {
        let (kind, name) = parts(key);
        let ask = || agent.client.list_grants(message_type(kind), agent.stop);
        let found = match agent.session.grants().get(kind, ask).await {
            Ok(list) => list.iter().find(|grants| grants.securable_name == name).cloned(),
            Err(error @ AgentError::Stopped { .. }) => return Err(error),
            Err(error) if error.is_silence() => return Err(error),
            // Whatever is wrong with the others: what is asked for may still be told.
            Err(_) => None,
        };
        match found {
            Some(found) => Ok(found),
            None => Self::get(agent, key).await,
        }
    }

    async fn create(agent: &Agent<'_>, request: &CreateRequest<'_>) -> Result<v1::SecurableGrants, AgentError> {
        set_first(agent, request.planned, Code::AlreadyExists).await
    }

    async fn update(agent: &Agent<'_>, change: &Change<'_>) -> Result<v1::SecurableGrants, AgentError> {
        let planned = change.request.planned;
        let key = Self::key(planned);
        // The plan makes the securable anew, and nothing is granted on it yet.
        if change.begins_another_life && Self::get(agent, &key).await?.securable_uid != change.life {
            return set_first(agent, planned, Code::Aborted).await;
        }
        set(agent, &key, declared(planned), Some(change.generation), change.life).await
    }

    async fn delete(agent: &Agent<'_>, deletion: &Deletion<'_>) -> Result<(), AgentError> {
        match set(agent, deletion.key, Vec::new(), deletion.generation, deletion.life).await {
            // After a lost answer the conflict may be our own success; and the grants on a securable that is gone went with it.
            Err(error) if error.code() == Some(Code::Aborted) => {
                let seen = Self::get(agent, deletion.key).await?;
                let is_another = !deletion.life.is_empty() && seen.securable_uid != deletion.life;
                if is_another || seen.grants.is_empty() { Ok(()) } else { Err(error) }
            }
            answer => answer.map(|_| ()),
        }
    }
}

fn grant() -> AttributeType {
    let privileges = SecurableType::ALL.iter().map(|it| {
        let names: Vec<String> = it.privileges().iter().map(|privilege| format!("`{privilege}`")).collect();
        format!("{}: {}", it.name().replace('_', " "), names.join(", "))
    });
    AttributeType::set([
        (
            "principal",
            Attribute::required(Type::String, say("A user, service principal or group.", IN_PLACE)),
        ),
        (
            "privileges",
            Attribute::required(
                Type::set(Type::String),
                say(
                    &format!(
                        "What it holds, by type of securable: {}.",
                        privileges.collect::<Vec<_>>().join("; ")
                    ),
                    IN_PLACE,
                ),
            ),
        ),
    ])
}

/// The types of securables, for texts.
fn types() -> String {
    let names: Vec<String> = SecurableType::ALL.iter().map(|it| format!("`{it}`")).collect();
    names.join(", ")
}

fn id(record: &v1::SecurableGrants) -> String {
    format!("{}/{}", type_name(record.securable_type()), record.securable_name)
}

/// Type and name in a key.
fn parts(key: &str) -> (&str, &str) {
    key.split_once('/').unwrap_or((key, ""))
}

/// `service_credential` for `SECURABLE_TYPE_SERVICE_CREDENTIAL`.
fn type_name(message: v1::SecurableType) -> String {
    message.as_str_name().trim_start_matches("SECURABLE_TYPE_").to_ascii_lowercase()
}

fn message_type(name: &str) -> v1::SecurableType {
    v1::SecurableType::from_str_name(&format!("SECURABLE_TYPE_{}", name.to_ascii_uppercase())).unwrap_or_default()
}

/// A grant as far as it is known; `None` where its principal or all of its privileges are not.
fn known_grant(grant: &Value) -> Option<(&str, Vec<&str>)> {
    let privileges = grant.get("privileges");
    let known: Vec<&str> = privileges.elements().iter().filter_map(Value::as_str).collect();
    let is_known = privileges.is_present() && known.len() == privileges.elements().len();
    if known.is_empty() && !is_known {
        return None;
    }
    Some((grant.get("principal").as_str()?, known))
}

/// Who holds what: principals that stand several times hold all of it, and those that hold nothing do not stand there.
fn held(grants: &Value) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut held: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for grant in grants.elements() {
        let privileges = grant.get("privileges").elements().iter().filter_map(Value::as_str);
        held.entry(grant.get("principal").as_str().unwrap_or_default())
            .or_default()
            .extend(privileges);
    }
    held
}

/// A plan as the agent's messages.
fn declared(planned: &Value) -> Vec<v1::Grant> {
    let grant = |(principal, privileges): (&str, BTreeSet<&str>)| v1::Grant {
        principal: principal.to_owned(),
        privileges: privileges.into_iter().map(str::to_owned).collect(),
    };
    held(planned.get("grants")).into_iter().map(grant).collect()
}

/// The uid of the securable.
fn life(record: &v1::SecurableGrants) -> Value {
    let uid = Some(record.securable_uid.as_str()).filter(|uid| !uid.is_empty());
    Value::optional_string(uid)
}

/// Sets the grants where nothing is granted: nobody's shall be taken away in silence. Where something is, that is `refusal`.
async fn set_first(agent: &Agent<'_>, planned: &Value, refusal: Code) -> Result<v1::SecurableGrants, AgentError> {
    let key = Grants::key(planned);
    let seen = Grants::get(agent, &key).await?;
    if !seen.grants.is_empty() {
        return Err(AgentError::refused_here("GetGrants", refusal, "something is granted already"));
    }
    set(agent, &key, declared(planned), Some(seen.generation), &seen.securable_uid).await
}

/// Sets the grants if they are at the generation, and the securable at the life, that the change was planned on.
async fn set(
    agent: &Agent<'_>,
    key: &str,
    grants: Vec<v1::Grant>,
    generation: Option<u64>,
    life: &str,
) -> Result<v1::SecurableGrants, AgentError> {
    let (kind, name) = parts(key);
    let grants = v1::SecurableGrants {
        securable_type: message_type(kind).into(),
        securable_name: name.to_owned(),
        grants,
        ..Default::default()
    };
    let message = v1::SetGrantsRequest {
        grants: Some(grants),
        generation,
        securable_uid: life.to_owned(),
    };
    let answer = agent.client.set_grants(message, agent.stop).await;
    agent.session.grants().forget(kind);
    answer
}
