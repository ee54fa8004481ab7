//! Delete: a stream's pipeline and, unless it is to be kept, its table. The name is free when the pipeline and the table
//! are gone.

use std::time::Duration;

use stream_spec::name::StreamName;

use super::{StreamService, not_found};
use crate::governance::{Action, RequestContext, Securable};
use crate::limits::WRITE_ATTEMPTS_MAX;
use crate::services::error::{Kind, ServiceError};
use crate::store::Replaced;
use crate::store::records::Presence;

/// A stream to delete.
#[derive(Clone, Debug)]
pub struct StreamToDelete {
    /// Which stream.
    pub name: StreamName,
    /// Leave the table where it is.
    pub retain_table: bool,
    /// Life of the name that is meant; empty: any.
    pub uid: String,
    /// Longest wait until it is gone; `None`: the limit.
    pub wait: Option<Duration>,
}

impl StreamService {
    /// Deletes a stream; true when it is gone, false when the deletion goes on.
    pub async fn delete(&self, context: &RequestContext, request: StreamToDelete) -> Result<bool, ServiceError> {
        let allowed = self
            .services
            .authorizer
            .authorize(context, Action::Delete, Securable::Stream(&request.name))
            .await?;
        let request = StreamToDelete {
            uid: allowed.life(&request.uid).ok_or_else(|| not_found(&request.name))?,
            ..request
        };
        let uid = self.declare_deleted(&request).await?;
        tracing::info!(stream = %request.name, stream.uid = uid, by = context.principal.name(), "asked for deletion");
        self.services.reconciler.wake(&uid);
        // Never reached while there is a record: what is waited for is that there is none.
        let record = self.services.wait_for_stream(&uid, request.wait, |_| false).await?;
        Ok(record.is_none())
    }

    async fn declare_deleted(&self, request: &StreamToDelete) -> Result<String, ServiceError> {
        let mut found = 0;
        for _ in 0..WRITE_ATTEMPTS_MAX {
            let record = self.find(&request.name).await?;
            if !request.uid.is_empty() && request.uid != record.uid {
                return Err(not_found(&request.name));
            }
            let mut declared = record.declared;
            let wanted = Presence::Deleted {
                retain_table: request.retain_table,
            };
            match declared.presence {
                Presence::Present => {}
                leaving if leaving == wanted => return Ok(record.uid),
                Presence::Deleted { retain_table } => return Err(leaves_otherwise(&request.name, retain_table)),
            }
            found = declared.generation;
            declared.presence = wanted;
            match self.services.store.declare_stream(&record.uid, record.revision, &declared).await? {
                Replaced::Done => return Ok(record.uid),
                Replaced::Missing => return Err(not_found(&request.name)),
                Replaced::Conflict => {}
            }
        }
        Err(ServiceError::Conflict {
            kind: Kind::Stream,
            name: request.name.to_string(),
            what: "generation",
            found,
            wanted: 0,
        })
    }
}

/// The stream is on its way out already, and its table's fate is another than the one asked for.
fn leaves_otherwise(name: &StreamName, retain_table: bool) -> ServiceError {
    let (problem, remedy) = if retain_table {
        (
            "the stream is being deleted already, and its table is kept",
            "wait until the stream is gone, then remove the table",
        )
    } else {
        (
            "the stream is being deleted already, and its table with it",
            "wait until the stream is gone; the table can be restored from the trash as long as that keeps it",
        )
    };
    ServiceError::precondition("retain_table", name.as_str(), problem, remedy)
}
