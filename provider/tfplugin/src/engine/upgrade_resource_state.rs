//! Reads stored state, which may be of an older schema. Terraform asks before every refresh, also when nothing is older.
//!
//! Invariant: attributes that are no longer there are dropped, missing ones are null; nothing else is forgiven.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::value::Value;
use crate::value::json;

use super::{Engine, ResourceType, guarded};

impl Engine {
    /// `state` is the stored JSON text.
    pub(crate) async fn upgrade_resource_state(&self, found: &ResourceType, version: i64, state: &[u8]) -> Result<Value, Diagnostics> {
        let name = found.resource.type_name();
        let current = i64::from(found.shape.schema.version);
        let upgraded;
        let text = if version == current {
            state
        } else {
            let Some(upgrade) = found.resource.upgrade_state().filter(|_| version < current) else {
                return Err(unreadable(
                    name,
                    format!("it is of schema version {version}, and this provider reads version {current}"),
                ));
            };
            let old = serde_json::from_slice(state).map_err(|error| unreadable(name, error.to_string()))?;
            let call = format!("the upgrade of `{name}`");
            let new = guarded(&call, async { upgrade.upgrade(version, old) }).await??;
            upgraded = new.to_string();
            upgraded.as_bytes()
        };
        json::decode(&found.shape.value_type, text).map_err(|error| unreadable(name, error.to_string()))
    }
}

fn unreadable(type_name: &str, reason: String) -> Diagnostics {
    let detail = format!("The stored state of a `{type_name}` cannot be read: {reason}. Use the version of the provider that wrote it.");
    Diagnostic::error("Unreadable State", detail).into()
}
