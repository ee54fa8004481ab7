//! Update of an entity, on the version that was planned on.

use tfplugin::call::CallContext;
use tfplugin::diagnostic::Diagnostic;
use tfplugin::resource::{Applied, UpdateRequest};
use tfplugin::value::Value;
use tonic::Code;

use super::{Agent, Change, Entity, EntityResource, GENERATION, id_of, life_of, secrets_changed_elsewhere, written};
use crate::client::error::AgentError;

impl<E: Entity> EntityResource<E> {
    pub(super) async fn update_entity(&self, request: &UpdateRequest<'_>, context: &CallContext) -> Applied {
        let key = E::key(request.prior);
        let doing = format!("update the {} `{key}`", E::NOUN);
        let noted: Option<u64> = request.private.get(GENERATION);
        let generation = match E::COUNTED_FROM {
            Some(first) => match noted.filter(|generation| *generation >= first) {
                Some(generation) => generation,
                None => return Applied::failed(unknown_version::<E>(&key)),
            },
            None => 0,
        };
        let change = Change {
            request,
            generation,
            id: id_of(request.prior),
            secrets_changed_elsewhere: secrets_changed_elsewhere::<E>(request.prior, request.private),
            life: life_of::<E>(request.prior),
            begins_another_life: begins_another_life::<E>(request),
        };
        let changed = match self.agent(context) {
            Ok(agent) => change_or_find_changed::<E>(&agent, &change).await,
            Err(error) => Err(error),
        };
        match changed {
            Ok(changed) => written::<E>(&changed, request.planned),
            Err(error) => Applied::failed(self.failed(&error, &doing)),
        }
    }
}

/// As `plan::lives` planned it.
fn begins_another_life<E: Entity>(request: &UpdateRequest<'_>) -> bool {
    let planned = E::LIFE.is_some_and(|attribute| request.planned.get(attribute).is_unknown());
    planned && !life_of::<E>(request.prior).is_empty()
}

/// Without the version a change would overwrite whatever someone else has made of it since.
fn unknown_version<E: Entity>(key: &str) -> Diagnostic {
    let detail = format!(
        "Terraform's state does not say which version of the {} `{key}` the plan was made on, so the change could overwrite someone \
         else's. Nothing was changed: plan again with a refresh.",
        E::NOUN
    );
    Diagnostic::error("Planned Version Not Known", detail)
}

/// Sends the change. A conflict after a lost answer may be our own success: then what was asked for is there.
async fn change_or_find_changed<E: Entity>(agent: &Agent<'_>, change: &Change<'_>) -> Result<E::Record, AgentError> {
    let conflict = match E::update(agent, change).await {
        Err(error) if error.code() == Some(Code::Aborted) && E::COUNTED_FROM.is_some() => error,
        answer => return answer,
    };
    let seen = E::get(agent, &E::key(change.request.prior)).await?;
    let facts = E::facts(&seen);
    let is_next = facts.id == change.id && facts.generation == change.generation + 1;
    let planned = change.request.planned;
    if is_next && fulfils(planned, &E::state(&seen, planned)) {
        Ok(seen)
    } else {
        Err(conflict)
    }
}

/// True if a state has everything that a plan says.
fn fulfils(planned: &Value, state: &Value) -> bool {
    match planned {
        Value::Unknown(_) => true,
        Value::Object(attributes) => attributes.iter().all(|(name, planned)| fulfils(planned, state.get(name))),
        planned => planned == state,
    }
}
