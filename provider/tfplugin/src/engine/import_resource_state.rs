//! Finds a resource by the id that the user gave. Invariant: it finds one, or there is an error; never nothing.

use crate::diagnostic::Diagnostics;
use crate::resource::Found;

use super::rules::write_only;
use super::{Engine, ResourceType, bug, guarded};

impl Engine {
    pub(crate) async fn import_resource_state(&self, found: &ResourceType, id: &str) -> Result<Found, Diagnostics> {
        let name = found.resource.type_name();
        let context = self.context();
        let mut imported = guarded(&format!("the import of `{name}`"), found.resource.import(id, &context)).await??;
        imported.state = found.shape.conform(imported.state, &format!("the import of `{name}`"))?;
        write_only::forget(&found.shape.schema.attributes, &mut imported.state);
        if imported.state.is_null() || !imported.state.is_wholly_known() {
            return Err(bug(format!("The provider imported `{name}` without a whole state.")).into());
        }
        Ok(imported)
    }
}
