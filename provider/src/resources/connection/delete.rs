//! Delete of a connection. The agent refuses while streams use it. Not found is success.

use tfplugin::call::CallContext;
use tfplugin::diagnostic::Diagnostics;
use tfplugin::resource::DeleteRequest;

use super::{ConnectionResource, name_of, uid_of};

impl ConnectionResource {
    pub(super) async fn delete_connection(&self, request: &DeleteRequest<'_>, context: &CallContext) -> Diagnostics {
        let name = name_of(request.prior);
        let doing = format!("delete the connection `{name}`");
        let client = match self.session.agent() {
            Ok(client) => client,
            Err(error) => return self.failed(&error, &doing),
        };
        match client.delete_connection(name, uid_of(request.prior), &context.stop).await {
            Ok(()) => Diagnostics::none(),
            Err(error) if error.is_not_found() => Diagnostics::none(),
            Err(error) => self.failed(&error, &doing),
        }
    }
}
