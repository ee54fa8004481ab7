//! Delete of an entity. The agent refuses while something uses it. Not found is success.

use tfplugin::call::CallContext;
use tfplugin::diagnostic::Diagnostics;
use tfplugin::resource::DeleteRequest;

use super::{Deletion, Entity, EntityResource, GENERATION, id_of, life_of};

impl<E: Entity> EntityResource<E> {
    pub(super) async fn delete_entity(&self, request: &DeleteRequest<'_>, context: &CallContext) -> Diagnostics {
        let key = E::key(request.prior);
        let doing = format!("delete the {} `{key}`", E::NOUN);
        let deletion = Deletion {
            key: &key,
            id: id_of(request.prior),
            generation: request.private.get(GENERATION),
            life: life_of::<E>(request.prior),
        };
        let deleted = match self.agent(context) {
            Ok(agent) => E::delete(&agent, &deletion).await,
            Err(error) => Err(error),
        };
        match deleted {
            Ok(()) => Diagnostics::none(),
            Err(error) if error.is_not_found() => Diagnostics::none(),
            Err(error) => self.failed(&error, &doing),
        }
    }
}
