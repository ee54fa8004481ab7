//! Read of a connection: gone only when the agent says "not found".

use tfplugin::call::CallContext;
use tfplugin::diagnostic::Diagnostics;
use tfplugin::resource::{Found, ReadOutcome, ReadRequest};

use super::model::state_of;
use super::{ConnectionResource, name_of, notes_of, uid_of};

impl ConnectionResource {
    pub(super) async fn read_connection(&self, request: &ReadRequest<'_>, context: &CallContext) -> Result<ReadOutcome, Diagnostics> {
        let name = name_of(request.state);
        let doing = format!("read the connection `{name}`");
        let client = self.session.agent().map_err(|error| self.failed(&error, &doing))?;
        let uid = uid_of(request.state);
        match client.get_connection(name, &context.stop).await {
            // Another connection has taken the name: ours is gone.
            Ok(found) if !uid.is_empty() && found.uid != uid => Ok(ReadOutcome::Gone),
            Ok(found) => Ok(ReadOutcome::Found(Found {
                state: state_of(&found, request.state),
                private: notes_of(&found),
                diagnostics: Diagnostics::none(),
            })),
            Err(error) if error.is_not_found() => Ok(ReadOutcome::Gone),
            Err(error) => Err(self.failed(&error, &doing)),
        }
    }
}
