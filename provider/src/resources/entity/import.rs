//! Import of an entity by its key. Write-only values are not there to import; a new version number sends them.

use tfplugin::call::CallContext;
use tfplugin::diagnostic::{Diagnostic, Diagnostics};
use tfplugin::resource::Found;
use tfplugin::value::Value;

use super::{Entity, EntityResource, notes};
use crate::client::diagnostics::sentence;

impl<E: Entity> EntityResource<E> {
    pub(super) async fn import_entity(&self, id: &str, context: &CallContext) -> Result<Found, Diagnostics> {
        E::check_key(id).map_err(|problem| {
            let detail = format!("{id:?} is not {}: {}", E::IMPORT_ID, sentence(&problem));
            Diagnostic::error("Invalid Import Id", detail)
        })?;
        let doing = format!("import the {} `{id}`", E::NOUN);
        let agent = self.agent(context).map_err(|error| self.failed(&error, &doing))?;
        match E::get(&agent, id).await {
            Ok(found) => Ok(Found {
                state: E::state(&found, &Value::Null),
                private: notes(&E::facts(&found), None),
                diagnostics: Diagnostics::none(),
            }),
            Err(error) if error.is_not_found() => {
                let detail = format!("The agent has no {} `{id}`. The import id is {}.", E::NOUN, E::IMPORT_ID);
                Err(Diagnostic::error(format!("Cannot Import Non-Existent {}", super::title(E::NOUN)), detail).into())
            }
            Err(error) => Err(self.failed(&error, &doing)),
        }
    }
}
