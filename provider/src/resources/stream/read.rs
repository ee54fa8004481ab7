//! Read: the agent's record, or that the stream is gone. Gone is said only when the agent says "not found"; a stream that may
//! not be seen any more, or an agent that does not answer, is an error.

use featurestore_proto::v1;
use tfplugin::call::CallContext;
use tfplugin::diagnostic::Diagnostics;
use tfplugin::resource::{Found, ReadOutcome, ReadRequest};

use super::{StreamResource, notes_of, state_of, text};
use crate::client::calls::StreamRecord;

impl StreamResource {
    pub(super) async fn read_stream(&self, request: &ReadRequest<'_>, context: &CallContext) -> Result<ReadOutcome, Diagnostics> {
        let name = text(request.state, "name");
        let uid = text(request.state, "id");
        let client = self
            .session
            .agent()
            .map_err(|error| self.failed(&error, &format!("read the stream `{name}`")))?;
        match client.get_stream(name, &context.stop).await {
            Ok(record) if is_the_one(&record, uid) => Ok(ReadOutcome::Found(Found {
                state: state_of(&record, request.state),
                private: notes_of(&record),
                diagnostics: Diagnostics::none(),
            })),
            Ok(record) => {
                tracing::info!(
                    stream = name,
                    ours = uid,
                    found = record.status.uid,
                    "the stream is gone or another one has its name"
                );
                Ok(ReadOutcome::Gone)
            }
            Err(error) if error.is_not_found() => Ok(ReadOutcome::Gone),
            Err(error) => Err(self.failed(&error, &format!("read the stream `{name}`"))),
        }
    }
}

/// False for a stream that is on its way out, or that was created under the name after ours was deleted: taking that one for
/// ours would let two configurations own it.
fn is_the_one(record: &StreamRecord, uid: &str) -> bool {
    record.status.state() != v1::StreamState::Deleting && (uid.is_empty() || uid == record.status.uid)
}
