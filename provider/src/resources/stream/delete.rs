//! Delete: refuses a protected stream, asks the agent, waits until the stream is gone. Not found is success.

use featurestore_proto::v1;
use tfplugin::call::CallContext;
use tfplugin::diagnostic::{Diagnostic, Diagnostics};
use tfplugin::path::AttributePath;
use tfplugin::resource::DeleteRequest;
use tfplugin::value::Value;

use super::wait::{Ending, deadline, until_gone};
use super::{StreamResource, text, timeout, words};
use crate::limits::DELETE_TIMEOUT_DEFAULT;

impl StreamResource {
    pub(super) async fn delete_stream(&self, request: &DeleteRequest<'_>, context: &CallContext) -> Diagnostics {
        let name = text(request.prior, "name");
        if is_protected(request.prior) {
            return protected(name).into();
        }
        let doing = format!("delete the stream `{name}`");
        let client = match self.session.agent() {
            Ok(client) => client,
            Err(error) => return self.failed(&error, &doing),
        };
        let end = deadline(timeout(request.prior, "delete", DELETE_TIMEOUT_DEFAULT));
        let uid = text(request.prior, "id").to_owned();
        let message = v1::DeleteStreamRequest {
            name: name.to_owned(),
            retain_table: text(request.prior, "on_destroy") == "retain",
            uid: uid.clone(),
            wait: None,
        };
        match client.delete_stream(message, &context.stop).await {
            Ok(true) => return Diagnostics::none(),
            Ok(false) => {}
            Err(error) if error.is_not_found() => return Diagnostics::none(),
            Err(error) => return self.failed(&error, &doing),
        }
        let (why, seen) = match until_gone(&client, name, &uid, end, &context.stop).await {
            Ok((Ending::Stopped, seen)) => ("was not waited for, as you asked", seen),
            Ok((Ending::OutOfTime, seen)) => ("is not finished in time", seen),
            Ok(_) => return Diagnostics::none(),
            Err(error) => return self.failed(&error, &doing),
        };
        let state = seen.as_ref().map(words::condition).unwrap_or_default();
        Diagnostic::error(
            "Deletion Goes On",
            format!(
                "The deletion of the stream `{name}` {why}. {state}\n\nThe agent goes on with it by itself; the next plan sees what \
                 became of it. `timeouts.delete` says how long to wait."
            ),
        )
        .into()
    }
}

/// True if a state refuses to be destroyed.
pub(super) fn is_protected(state: &Value) -> bool {
    state.get("deletion_protection").as_bool().unwrap_or(false)
}

/// The refusal to destroy or replace.
pub(super) fn protected(name: &str) -> Diagnostic {
    Diagnostic::error(
        "Stream Is Protected",
        format!(
            "The stream `{name}` has `deletion_protection = true`, so it is neither destroyed nor replaced. Set it to false and \
             apply that alone first."
        ),
    )
    .at(AttributePath::attributes("deletion_protection"))
}
