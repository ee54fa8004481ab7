//! Looks at a resource and tells form from meaning.
//!
//! Invariant: where the remote value means what the state says, the state's own text stays, so that a refresh never shows a
//! difference that is none.

use crate::diagnostic::Diagnostics;
use crate::private::Private;
use crate::resource::{ReadOutcome, ReadRequest};
use crate::value::Value;

use super::rules::{meaning, write_only};
use super::{Engine, ResourceType, bug, guarded};

/// A state, null when the resource is gone.
pub(crate) struct ReadAnswer {
    pub(crate) state: Value,
    pub(crate) private: Private,
    pub(crate) diagnostics: Diagnostics,
}

impl Engine {
    pub(crate) async fn read_resource(&self, found: &ResourceType, state: &Value, private: &Private) -> Result<ReadAnswer, Diagnostics> {
        let name = found.resource.type_name();
        let context = self.context();
        let request = ReadRequest { state, private };
        match guarded(&format!("the read of `{name}`"), found.resource.read(request, &context)).await?? {
            ReadOutcome::Gone => Ok(ReadAnswer {
                state: Value::Null,
                private: Private::default(),
                diagnostics: Diagnostics::none(),
            }),
            ReadOutcome::Found(now) => {
                let attributes = &found.shape.schema.attributes;
                let mut fresh = found.shape.conform(now.state, &format!("`{name}`"))?;
                write_only::forget(attributes, &mut fresh);
                if !fresh.is_wholly_known() {
                    return Err(bug(format!("The provider left values of `{name}` unknown after reading it.")).into());
                }
                let before = state;
                let mut state = meaning::keep_form(attributes, before, fresh);
                found.shape.schema.keep_form(before, &mut state);
                Ok(ReadAnswer {
                    state,
                    private: now.private,
                    diagnostics: now.diagnostics,
                })
            }
        }
    }
}
