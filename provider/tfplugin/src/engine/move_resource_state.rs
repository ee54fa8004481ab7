//! Takes over the state of a resource of another type, for `moved` blocks. Invariant: what no resource knows is an error.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::resource::{Found, MoveSource};

use super::rules::write_only;
use super::{Engine, ResourceType, guarded};

impl Engine {
    pub(crate) async fn move_resource_state(&self, found: &ResourceType, source: &MoveSource<'_>) -> Result<Found, Diagnostics> {
        let name = found.resource.type_name();
        let moved = match found.resource.move_state() {
            Some(mover) => guarded(&format!("the move to `{name}`"), async { mover.take_over(source) }).await??,
            None => None,
        };
        let Some(mut moved) = moved else {
            let detail = format!(
                "A `{name}` cannot take over the state of a `{}` of provider {}. Import the resource instead.",
                source.type_name, source.provider_address
            );
            return Err(Diagnostic::error("Move Not Supported", detail).into());
        };
        moved.state = found.shape.conform(moved.state, &format!("the move to `{name}`"))?;
        write_only::forget(&found.shape.schema.attributes, &mut moved.state);
        Ok(moved)
    }
}
