//! The calls on streams. One file per call; this one has what they share.

mod check;
mod create;
mod decide;
mod delete;
mod direct;
mod operations;
mod read;
mod registry;
mod restart;
mod update;

use std::sync::Arc;

use stream_pipeline::status::PipelineStatus;
use stream_spec::name::StreamName;

use super::Services;
use super::error::{Kind, ServiceError};
use crate::state::StreamState;
use crate::store::records::{ObservedTable, Presence, StreamRecord};

pub use check::{CheckedStream, StreamToCheck};
pub use create::NewStream;
pub use delete::StreamToDelete;
pub use operations::OperationsChange;
pub use restart::StreamToRestart;
pub use update::{SideChange, StreamChange};

/// The calls on streams.
#[derive(Clone)]
pub struct StreamService {
    services: Arc<Services>,
}

/// A stream with everything that is known of it.
#[derive(Clone, Debug)]
pub struct StreamView {
    /// What is declared and was observed.
    pub record: StreamRecord,
    /// What its pipeline says at the moment, if it was started.
    pub pipeline: Option<PipelineStatus>,
    /// The table as last seen.
    pub table: Option<ObservedTable>,
    /// Folder or URL of its table.
    pub location: String,
}

impl StreamView {
    /// Public state.
    pub fn state(&self) -> StreamState {
        match self.record.declared.presence {
            Presence::Present => self.record.observed.state,
            Presence::Deleted { .. } => StreamState::Deleting,
        }
    }
}

impl StreamService {
    /// The service over what services share.
    pub fn new(services: Arc<Services>) -> Self {
        Self { services }
    }

    fn view(&self, record: StreamRecord) -> StreamView {
        let pipeline = self.services.reconciler.pipeline_status(&record.uid);
        let seen_by_pipeline = pipeline.as_ref().and_then(|status| status.table.as_ref()).map(ObservedTable::from);
        StreamView {
            table: seen_by_pipeline.or_else(|| record.observed.table.clone()),
            location: self.services.engine.location(&record.declared.spec.ingestion.destination),
            pipeline,
            record,
        }
    }

    /// The stream of that name, whether it is on the way out or not.
    async fn find(&self, name: &StreamName) -> Result<StreamRecord, ServiceError> {
        let record = self.services.store.stream_by_name(name).await?;
        record.ok_or_else(|| not_found(name))
    }

    /// The stream of that name, unless it is on the way out, or another life of the name than `uid` (empty: any).
    async fn find_present(&self, name: &StreamName, uid: &str) -> Result<StreamRecord, ServiceError> {
        let record = self.find(name).await?;
        if !uid.is_empty() && uid != record.uid {
            return Err(another_life(name));
        }
        match record.declared.presence {
            Presence::Present => Ok(record),
            Presence::Deleted { .. } => Err(ServiceError::precondition(
                "name",
                name.as_str(),
                "the stream is being deleted",
                "wait until it is gone, then create it again",
            )),
        }
    }
}

fn another_life(name: &StreamName) -> ServiceError {
    ServiceError::AnotherLife {
        kind: Kind::Stream,
        name: name.to_string(),
    }
}

fn not_found(name: &StreamName) -> ServiceError {
    ServiceError::NotFound {
        kind: Kind::Stream,
        name: name.to_string(),
    }
}
