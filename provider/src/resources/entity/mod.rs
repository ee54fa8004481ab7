//! A resource that the agent keeps whole under one name and answers at once: connections, credentials, scopes, secrets,
//! volumes, grants. What they share is here, one call of Terraform a file; what differs is an [`Entity`].
//!
//! Invariant: gone is what the agent says is not found, and nothing else. What cannot be looked at is an error.

mod create;
mod delete;
mod import;
mod plan;
mod read;
mod update;

use std::marker::PhantomData;

use async_trait::async_trait;
use stream_spec::privilege::SecurableType;
use stream_spec::violation::Violation;
use tfplugin::call::{CallContext, StopSignal};
use tfplugin::diagnostic::{Diagnostic, Diagnostics};
use tfplugin::private::Private;
use tfplugin::resource::{
    Applied, CreateRequest, DeleteRequest, Found, Plan, PlanRequest, ReadOutcome, ReadRequest, Resource, UpdateRequest,
};
use tfplugin::schema::Schema;
use tfplugin::value::Value;

use crate::begun::Begun;
use crate::client::AgentClient;
use crate::client::diagnostics::{failure, violation};
use crate::client::error::AgentError;
use crate::session::Session;

/// Note in private state: the version of the entity that a change is planned on.
const GENERATION: &str = "generation";

/// Note in private state: the revision of the secret values that Terraform wrote last, or took over.
const WRITTEN: &str = "written_revision";

/// One kind of thing: how it looks in a configuration, and by which calls it is read and written.
///
/// Its attribute `id` is the agent's name of one life of it, or where lives cannot be told apart, its key.
#[async_trait]
pub(crate) trait Entity: Sized + Send + Sync + 'static {
    /// As the agent answers it.
    type Record: Send + Sync;

    /// The type's name in configurations.
    const TYPE_NAME: &'static str;
    /// As in "could not read the connection".
    const NOUN: &'static str;
    /// What an import id is, as in "the import id is the connection's name".
    const IMPORT_ID: &'static str;
    /// What to do where one is there already, before "with an import block".
    const TAKE_OVER: &'static str = "Choose another name, or take it over";
    /// The attribute that an error about its name points at.
    const NAMED_BY: &'static str = "name";
    /// The lowest generation there is; `None` if its changes are not counted.
    const COUNTED_FROM: Option<u64> = Some(1);
    /// The computed attribute with the random revision of its secret values.
    const REVISION: Option<&'static str> = None;
    /// What it is to those who grant on it, or lie on it, under its key.
    const SECURABLE: Option<SecurableType> = None;
    /// The computed attribute with the life of what it lies on.
    const LIFE: Option<&'static str> = None;

    /// Its attributes.
    fn schema() -> Schema;

    /// What it is called: also the import id.
    fn key(value: &Value) -> String;

    /// Why a text is not such a key.
    fn check_key(key: &str) -> Result<(), String>;

    /// What is wrong with a configuration, as far as it is known.
    fn violations(config: &Value) -> Vec<Violation>;

    /// The agent's answer as state, without the secret values. `own` has what only Terraform knows.
    fn state(record: &Self::Record, own: &Value) -> Value;

    /// Which life, version and revision an answer is about.
    fn facts(record: &Self::Record) -> Facts;

    /// What the agent says of what it has just written.
    fn warning(record: &Self::Record) -> Option<Diagnostic> {
        let _ = record;
        None
    }

    /// Notes that the plan makes it.
    fn note(begun: &Begun, key: &str) {
        if let Some(securable_type) = Self::SECURABLE {
            begun.note(securable_type, key);
        }
    }

    /// What it lies on, and goes with.
    fn lies_on(value: &Value) -> Option<(SecurableType, String)> {
        let _ = value;
        None
    }

    /// True if a configuration has secret values to send.
    fn has_secrets(config: &Value) -> bool {
        let _ = config;
        false
    }

    /// Asks for it.
    async fn get(agent: &Agent<'_>, key: &str) -> Result<Self::Record, AgentError>;

    /// Asks for it during a refresh, where many may be asked for at once.
    async fn look(agent: &Agent<'_>, key: &str) -> Result<Self::Record, AgentError> {
        Self::get(agent, key).await
    }

    /// Makes it. One that is there already is ALREADY_EXISTS.
    async fn create(agent: &Agent<'_>, request: &CreateRequest<'_>) -> Result<Self::Record, AgentError>;

    /// Changes it. Only called for attributes that change in place; what changed since the plan is ABORTED.
    async fn update(agent: &Agent<'_>, change: &Change<'_>) -> Result<Self::Record, AgentError> {
        Self::get(agent, &Self::key(change.request.prior)).await
    }

    /// Deletes it.
    async fn delete(agent: &Agent<'_>, deletion: &Deletion<'_>) -> Result<(), AgentError>;

    /// Its own say in a plan.
    async fn plan(resource: &EntityResource<Self>, request: &PlanRequest<'_>, plan: &mut Plan, context: &CallContext) {
        let _ = (resource, request, plan, context);
    }
}

/// Which life, version and revision an answer is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// The attribute `id`.
    pub(crate) id: String,
    /// Counts changes; 0 where they are not counted.
    pub(crate) generation: u64,
    /// Random, new with every write of a secret value; empty where there is none.
    pub(crate) revision: String,
}

/// The way to the agent during one call of Terraform.
pub(crate) struct Agent<'a> {
    /// Whom to ask.
    pub(crate) client: AgentClient,
    /// What the provider's calls share.
    pub(crate) session: &'a Session,
    /// When to stop.
    pub(crate) stop: &'a StopSignal,
}

/// A change to carry out.
pub(crate) struct Change<'a> {
    /// What Terraform asks for.
    pub(crate) request: &'a UpdateRequest<'a>,
    /// The generation that it was planned on.
    pub(crate) generation: u64,
    /// The life that it was planned on.
    pub(crate) id: &'a str,
    /// True if someone else wrote a secret value.
    pub(crate) secrets_changed_elsewhere: bool,
    /// The life of what it lies on that the change was planned on; empty if that is not known.
    pub(crate) life: &'a str,
    /// True if the plan makes anew what it lies on.
    pub(crate) begins_another_life: bool,
}

/// A deletion to carry out.
pub(crate) struct Deletion<'a> {
    /// What is deleted.
    pub(crate) key: &'a str,
    /// The life that the deletion was planned on.
    pub(crate) id: &'a str,
    /// The generation that it was planned on, if that is known.
    pub(crate) generation: Option<u64>,
    /// The life of what it lies on that the deletion was planned on; empty if that is not known.
    pub(crate) life: &'a str,
}

/// The resource of one kind of entity.
pub(crate) struct EntityResource<E> {
    /// What the provider's calls share.
    pub(crate) session: Session,
    /// Its attributes.
    pub(crate) schema: Schema,
    entity: PhantomData<fn() -> E>,
}

impl<E: Entity> EntityResource<E> {
    /// The resource of one provider.
    pub(crate) fn new(session: Session) -> Self {
        Self {
            session,
            schema: E::schema(),
            entity: PhantomData,
        }
    }

    /// A failed call as diagnostics.
    pub(crate) fn failed(&self, error: &AgentError, doing: &str) -> Diagnostics {
        failure(error, doing, &self.schema)
    }

    /// The way to the agent, if the configuration says which.
    fn agent<'a>(&'a self, context: &'a CallContext) -> Result<Agent<'a>, AgentError> {
        Ok(Agent {
            client: self.session.agent()?,
            session: &self.session,
            stop: &context.stop,
        })
    }
}

#[async_trait]
impl<E: Entity> Resource for EntityResource<E> {
    fn type_name(&self) -> &'static str {
        E::TYPE_NAME
    }

    fn schema(&self) -> Schema {
        self.schema.clone()
    }

    async fn validate(&self, config: &Value, _context: &CallContext) -> Diagnostics {
        E::violations(config).iter().map(|it| violation(it, &self.schema)).collect()
    }

    async fn modify_plan(&self, request: &PlanRequest<'_>, plan: &mut Plan, context: &CallContext) {
        plan::lives::<E>(self.session.begun(), request, plan);
        plan::secrets_that_changed_elsewhere::<E>(request, plan);
        E::plan(self, request, plan, context).await;
    }

    async fn create(&self, request: CreateRequest<'_>, context: &CallContext) -> Applied {
        self.create_entity(&request, context).await
    }

    async fn read(&self, request: ReadRequest<'_>, context: &CallContext) -> Result<ReadOutcome, Diagnostics> {
        self.read_entity(&request, context).await
    }

    async fn update(&self, request: UpdateRequest<'_>, context: &CallContext) -> Applied {
        self.update_entity(&request, context).await
    }

    async fn delete(&self, request: DeleteRequest<'_>, context: &CallContext) -> Diagnostics {
        self.delete_entity(&request, context).await
    }

    async fn import(&self, id: &str, context: &CallContext) -> Result<Found, Diagnostics> {
        self.import_entity(id, context).await
    }
}

/// It is written, and the agent may have said something about it.
fn written<E: Entity>(record: &E::Record, planned: &Value) -> Applied {
    let done = Applied::done(E::state(record, planned), notes(&E::facts(record), None));
    match E::warning(record) {
        Some(warning) => done.with(warning),
        None => done,
    }
}

/// Notes which version a later change will be planned on, and which revision of the secrets is Terraform's.
fn notes(facts: &Facts, written: Option<String>) -> Private {
    let mut private = Private::default();
    private.set(GENERATION, facts.generation);
    // One that was taken away elsewhere has no revision any more, and Terraform still has written one.
    let revision = (!facts.revision.is_empty()).then(|| facts.revision.clone());
    if let Some(written) = written.or(revision) {
        private.set(WRITTEN, written);
    }
    private
}

/// The life in a state.
fn id_of(state: &Value) -> &str {
    state.get("id").as_str().unwrap_or_default()
}

/// The life of what something lies on, in a state; empty if that is not known.
fn life_of<E: Entity>(state: &Value) -> &str {
    let life = E::LIFE.and_then(|attribute| state.get(attribute).as_str());
    life.unwrap_or_default()
}

/// True if someone else has written a secret value since Terraform did.
fn secrets_changed_elsewhere<E: Entity>(prior: &Value, private: &Private) -> bool {
    let Some(attribute) = E::REVISION else { return false };
    let written: Option<String> = private.get(WRITTEN);
    written.is_some() && written.as_deref() != prior.get(attribute).as_str()
}

/// `the secret scope` as `Secret Scope`.
fn title(noun: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    noun.split(' ').map(capital).collect::<Vec<_>>().join(" ")
}
