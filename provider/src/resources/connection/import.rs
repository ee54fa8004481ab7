//! Import of a connection by its name. Write-only values are not there to import; the next `secrets_wo_version` sends them.

use stream_spec::name::ConnectionName;
use tfplugin::call::CallContext;
use tfplugin::diagnostic::{Diagnostic, Diagnostics};
use tfplugin::resource::Found;
use tfplugin::value::Value;

use super::model::state_of;
use super::{ConnectionResource, notes_of};
use crate::client::diagnostics::sentence;

impl ConnectionResource {
    pub(super) async fn import_connection(&self, id: &str, context: &CallContext) -> Result<Found, Diagnostics> {
        ConnectionName::parse(id).map_err(|error| {
            let detail = format!("{id:?} is not a connection's name: {}", sentence(&error.to_string()));
            Diagnostic::error("Invalid Import Id", detail)
        })?;
        let doing = format!("import the connection `{id}`");
        let client = self.session.agent().map_err(|error| self.failed(&error, &doing))?;
        match client.get_connection(id, &context.stop).await {
            Ok(found) => {
                let state = state_of(&found, &Value::Null);
                Ok(Found {
                    state,
                    private: notes_of(&found),
                    diagnostics: Diagnostics::none(),
                })
            }
            Err(error) if error.is_not_found() => {
                let detail = format!("The agent has no connection `{id}`. The import id is the connection's name.");
                Err(Diagnostic::error("Cannot Import Non-Existent Connection", detail).into())
            }
            Err(error) => Err(self.failed(&error, &doing)),
        }
    }
}
