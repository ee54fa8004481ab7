//! Import: by the stream's name. The provider's own settings get their defaults, so that a configuration without them plans
//! nothing.

use featurestore_proto::v1;
use stream_spec::name::StreamName;
use tfplugin::call::CallContext;
use tfplugin::diagnostic::{Diagnostic, Diagnostics};
use tfplugin::resource::Found;

use super::{StreamResource, default_settings, notes_of, state_of, words};
use crate::client::diagnostics::sentence;

impl StreamResource {
    pub(super) async fn import_stream(&self, id: &str, context: &CallContext) -> Result<Found, Diagnostics> {
        StreamName::parse(id).map_err(|error| {
            let detail = format!("{id:?} is not a stream's name: {}", sentence(&error.to_string()));
            Diagnostic::error("Invalid Import Id", detail)
        })?;
        let doing = format!("import the stream `{id}`");
        let client = self.session.agent().map_err(|error| self.failed(&error, &doing))?;
        match client.get_stream(id, &context.stop).await {
            Ok(record) if record.status.state() != v1::StreamState::Deleting => Ok(Found {
                state: state_of(&record, &default_settings()),
                private: notes_of(&record),
                diagnostics: Diagnostics::none(),
            }),
            Ok(record) => {
                let detail = format!("The stream `{id}` is being deleted. {}", words::condition(&record));
                Err(Diagnostic::error("Cannot Import A Stream That Goes", detail).into())
            }
            Err(error) if error.is_not_found() => Err(absent(id).into()),
            Err(error) => Err(self.failed(&error, &doing)),
        }
    }
}

fn absent(id: &str) -> Diagnostic {
    let detail = format!("The agent has no stream `{id}`. The import id is the stream's name, `catalog.schema.stream`.");
    Diagnostic::error("Cannot Import Non-Existent Stream", detail)
}
