//! Restart: the repair of a stream that has stopped. It restores a table from the trash, starts a failed pipeline again,
//! and takes an altered table back only if it is sound again. A stream that needs no repair is left alone.

use std::time::Duration;

use stream_pipeline::table::TableError;
use stream_spec::name::StreamName;

use super::create::DESTINATION_FIELD;
use super::{StreamService, StreamView, another_life, not_found};
use crate::governance::{Action, RequestContext, Securable};
use crate::limits::WRITE_ATTEMPTS_MAX;
use crate::services::error::{Kind, ServiceError};
use crate::state::StreamState;
use crate::store::Replaced;
use crate::store::records::StreamRecord;

/// A stream to repair.
#[derive(Clone, Debug)]
pub struct StreamToRestart {
    /// Which stream.
    pub name: StreamName,
    /// Generation that the repair was planned on; 0: any.
    pub generation: u64,
    /// Life of the name that is meant; empty: any.
    pub uid: String,
    /// Longest wait until it runs; `None`: the limit.
    pub wait: Option<Duration>,
}

impl StreamService {
    /// Repairs a stream.
    pub async fn restart(&self, context: &RequestContext, request: StreamToRestart) -> Result<StreamView, ServiceError> {
        let allowed = self
            .services
            .authorizer
            .authorize(context, Action::Operate, Securable::Stream(&request.name))
            .await?;
        let request = StreamToRestart {
            uid: allowed.life(&request.uid).ok_or_else(|| another_life(&request.name))?,
            ..request
        };
        let record = self.find_present(&request.name, &request.uid).await?;
        if request.generation != 0 && request.generation != record.declared.generation {
            return Err(ServiceError::Conflict {
                kind: Kind::Stream,
                name: request.name.to_string(),
                what: "generation",
                found: record.declared.generation,
                wanted: request.generation,
            });
        }
        if !record.observed.state.is_stopped_by_error() {
            // A stream that waits for its source need not wait for its next attempt.
            self.services.reconciler.wake(&record.uid);
            return Ok(self.view(record));
        }
        if record.observed.provisioned {
            self.check_table_can_be_used(&record).await?;
        }
        let wanted = self.ask_for_restart(&request.name, &record.uid).await?;
        tracing::info!(stream = %request.name, by = context.principal.name(), "asked for a restart");
        self.services.reconciler.wake(&record.uid);
        let restarted =
            |record: &StreamRecord| record.observed.restart_generation >= wanted && record.observed.state != StreamState::Provisioning;
        let record = self.services.wait_for_stream(&record.uid, request.wait, restarted).await?;
        record.map(|record| self.view(record)).ok_or_else(|| not_found(&request.name))
    }

    /// Refuses what a restart cannot mend.
    async fn check_table_can_be_used(&self, record: &StreamRecord) -> Result<(), ServiceError> {
        let engine = &self.services.engine;
        let table = &record.declared.spec.ingestion.destination;
        let expected = record
            .observed
            .table
            .as_ref()
            .map(|table| table.columns.as_slice())
            .unwrap_or_default();
        let state = engine
            .table_state(table, &record.uid)
            .await
            .and_then(|state| state.expect_kept_columns(table, expected));
        match state {
            Ok(()) => Ok(()),
            Err(error @ TableError::Gone { .. }) => {
                if engine.in_trash(&record.uid).await.map_err(ServiceError::TableUnavailable)? {
                    return Ok(());
                }
                let remedy = "replace the stream: its rows cannot be brought back";
                Err(ServiceError::precondition(
                    DESTINATION_FIELD,
                    table.as_str(),
                    error.to_string(),
                    remedy,
                ))
            }
            Err(error @ TableError::Altered { .. }) => {
                let remedy = "undo the change, as by restoring an earlier version of the table, or replace the stream";
                Err(ServiceError::precondition(
                    DESTINATION_FIELD,
                    table.as_str(),
                    error.to_string(),
                    remedy,
                ))
            }
            Err(error) => Err(ServiceError::TableUnavailable(error)),
        }
    }

    async fn ask_for_restart(&self, name: &StreamName, uid: &str) -> Result<u64, ServiceError> {
        let mut found = 0;
        for _ in 0..WRITE_ATTEMPTS_MAX {
            let record = self.find_present(name, uid).await?;
            let mut declared = record.declared;
            found = declared.generation;
            // One that was asked for and has not been carried out yet serves this caller too.
            if declared.restart_generation > record.observed.restart_generation {
                return Ok(declared.restart_generation);
            }
            declared.restart_generation += 1;
            match self.services.store.declare_stream(&record.uid, record.revision, &declared).await? {
                Replaced::Done => return Ok(declared.restart_generation),
                Replaced::Missing => return Err(not_found(name)),
                Replaced::Conflict => {}
            }
        }
        Err(ServiceError::Conflict {
            kind: Kind::Stream,
            name: name.to_string(),
            what: "generation",
            found,
            wanted: 0,
        })
    }
}
