//! Operations: how a stream runs. A change replaces nothing and moves no position.

use std::time::Duration;

use stream_spec::name::StreamName;
use stream_spec::stream::StreamOperations;
use stream_spec::validate;

use super::{StreamService, StreamView, another_life, not_found};
use crate::governance::{Action, RequestContext, Securable};
use crate::limits::WRITE_ATTEMPTS_MAX;
use crate::services::error::{Kind, ServiceError};
use crate::state::StreamState;
use crate::store::Replaced;
use crate::store::records::StreamRecord;
use stream_spec::violation::Violation;

/// A change of a stream's operations.
pub struct OperationsChange<'a> {
    /// Which stream.
    pub name: StreamName,
    /// The new operations, made from the ones in force.
    pub change: &'a (dyn Fn(&StreamOperations) -> Result<StreamOperations, Vec<Violation>> + Send + Sync),
    /// Operations generation that the change was planned on; 0: any.
    pub operations_generation: u64,
    /// Life of the name that is meant; empty: any.
    pub uid: String,
    /// Longest wait until the operations are in force; `None`: the limit.
    pub wait: Option<Duration>,
}

impl StreamService {
    /// Changes how a stream runs.
    pub async fn set_operations(&self, context: &RequestContext, change: OperationsChange<'_>) -> Result<StreamView, ServiceError> {
        let allowed = self
            .services
            .authorizer
            .authorize(context, Action::Operate, Securable::Stream(&change.name))
            .await?;
        let change = OperationsChange {
            uid: allowed.life(&change.uid).ok_or_else(|| another_life(&change.name))?,
            ..change
        };
        let record = self.write_operations(context, &change).await?;
        let (generation, paused) = (record.declared.operations_generation, record.declared.operations.paused);
        self.services.reconciler.wake(&record.uid);
        let in_force = |record: &StreamRecord| {
            let observed = &record.observed;
            let settled = observed.state.is_stopped_by_error() || (observed.state == StreamState::Paused) == paused;
            // A stream that has not begun yet begins with the new operations: nothing to wait for.
            !observed.provisioned || (observed.operations_generation >= generation && settled)
        };
        let record = self.services.wait_for_stream(&record.uid, change.wait, in_force).await?;
        record.map(|record| self.view(record)).ok_or_else(|| not_found(&change.name))
    }

    async fn write_operations(&self, context: &RequestContext, change: &OperationsChange<'_>) -> Result<StreamRecord, ServiceError> {
        let mut found = 0;
        for _ in 0..WRITE_ATTEMPTS_MAX {
            let record = self.find_present(&change.name, &change.uid).await?;
            let operations = (change.change)(&record.declared.operations).map_err(ServiceError::Invalid)?;
            let violations = validate::operations(&operations);
            if !violations.is_empty() {
                return Err(ServiceError::Invalid(violations));
            }
            found = record.declared.operations_generation;
            // Planned on this generation, or on the one before by a call whose answer was lost.
            let as_planned = [0, found, found.saturating_sub(1)].contains(&change.operations_generation);
            if operations == record.declared.operations && as_planned {
                return Ok(record);
            }
            if change.operations_generation != 0 && change.operations_generation != found {
                break;
            }
            let mut declared = record.declared.clone();
            declared.operations = operations;
            declared.operations_generation += 1;
            match self.services.store.declare_stream(&record.uid, record.revision, &declared).await? {
                Replaced::Done => {
                    let operations_generation = declared.operations_generation;
                    tracing::info!(stream = %change.name, operations_generation, by = context.principal.name(), "changed operations");
                    return Ok(StreamRecord { declared, ..record });
                }
                Replaced::Missing => return Err(not_found(&change.name)),
                Replaced::Conflict => {}
            }
        }
        Err(ServiceError::Conflict {
            kind: Kind::Stream,
            name: change.name.to_string(),
            what: "operations generation",
            found,
            wanted: change.operations_generation,
        })
    }
}
