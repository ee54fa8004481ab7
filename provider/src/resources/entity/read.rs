//! Read of an entity: gone only when the agent says "not found", or when another life has its name.

use tfplugin::call::CallContext;
use tfplugin::diagnostic::Diagnostics;
use tfplugin::resource::{Found, ReadOutcome, ReadRequest};

use super::{Entity, EntityResource, WRITTEN, id_of, notes};

impl<E: Entity> EntityResource<E> {
    pub(super) async fn read_entity(&self, request: &ReadRequest<'_>, context: &CallContext) -> Result<ReadOutcome, Diagnostics> {
        let key = E::key(request.state);
        let doing = format!("read the {} `{key}`", E::NOUN);
        let agent = self.agent(context).map_err(|error| self.failed(&error, &doing))?;
        let id = id_of(request.state);
        match E::look(&agent, &key).await {
            Ok(found) => {
                let facts = E::facts(&found);
                if !id.is_empty() && facts.id != id {
                    return Ok(ReadOutcome::Gone);
                }
                Ok(ReadOutcome::Found(Found {
                    state: E::state(&found, request.state),
                    private: notes(&facts, request.private.get(WRITTEN)),
                    diagnostics: Diagnostics::none(),
                }))
            }
            Err(error) if error.is_not_found() => Ok(ReadOutcome::Gone),
            Err(error) => Err(self.failed(&error, &doing)),
        }
    }
}
