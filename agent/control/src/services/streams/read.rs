//! Get and list. Get looks at the table first, so that a table that was dropped a moment ago shows at once and not when
//! the pipeline happens to commit.

use stream_pipeline::table::TableError;
use stream_spec::name::StreamName;

use super::{StreamService, StreamView};
use crate::governance::privilege::SecurableType;
use crate::governance::{Action, Listed, RequestContext, Securable, SecurableKind};
use crate::limits::TABLE_PROBE_WAIT;
use crate::services::error::ServiceError;
use crate::services::filling::Filling;
use crate::services::page::{self, Page, PageRequest};
use crate::state::{StreamState, TABLE_HEALTHY};
use crate::store::Parent;
use crate::store::records::{Presence, StreamRecord};

impl StreamService {
    /// One stream.
    pub async fn get(&self, context: &RequestContext, name: &StreamName) -> Result<StreamView, ServiceError> {
        let allowed = self
            .services
            .authorizer
            .authorize(context, Action::Read, Securable::Stream(name))
            .await?;
        let record = self.find(name).await?;
        if allowed.life(&record.uid).is_none() {
            return Err(super::not_found(name));
        }
        let record = self.with_table_looked_at(record).await?;
        record.map(|record| self.view(record)).ok_or_else(|| super::not_found(name))
    }

    /// Streams of a catalog or a schema, a page at a time.
    pub async fn list(&self, context: &RequestContext, parent: &Parent, page: &PageRequest) -> Result<Page<StreamView>, ServiceError> {
        self.services
            .authorizer
            .authorize(context, Action::List, Securable::Streams(parent))
            .await?;
        let mut filling = Filling::begin(list_name(parent), page)?;
        while let Some((after, count)) = filling.next()? {
            let read = self.services.store.list_streams(parent, after, count).await?;
            let visible = self.which_are_readable(context, &read).await?;
            filling.take(read, &visible, |record| record.declared.spec.name.to_string());
        }
        Ok(filling.page().map(|record| self.view(record)))
    }

    /// Which of these the caller may read.
    async fn which_are_readable(&self, context: &RequestContext, records: &[StreamRecord]) -> Result<Vec<bool>, ServiceError> {
        let listed: Vec<_> = records.iter().map(listed).collect();
        let authorizer = &self.services.authorizer;
        authorizer.readable(&context.principal, SecurableKind::Stream, &listed).await
    }

    pub(super) async fn may_read(&self, context: &RequestContext, record: &StreamRecord) -> Result<bool, ServiceError> {
        Ok(self.which_are_readable(context, std::slice::from_ref(record)).await? == [true])
    }

    /// The token of the page that starts after `last`, for a page that was cut short.
    pub fn token_after(parent: &Parent, last: &str) -> String {
        page::token(&list_name(parent), last)
    }

    /// How long a deleted table can be restored.
    pub fn trash_retention(&self) -> std::time::Duration {
        self.services.trash_retention
    }

    /// Reads the table of a stream that should run. Where that contradicts what is known, the reconciler looks too, acts on
    /// it, and the answer waits for that.
    async fn with_table_looked_at(&self, record: StreamRecord) -> Result<Option<StreamRecord>, ServiceError> {
        let observed = &record.observed;
        if record.declared.presence != Presence::Present || !observed.provisioned {
            return Ok(Some(record));
        }
        let table = &record.declared.spec.ingestion.destination;
        let expected = observed.table.as_ref().map(|table| table.columns.as_slice()).unwrap_or_default();
        let looked = tokio::time::timeout(TABLE_PROBE_WAIT, self.services.engine.table_state(table, &record.uid)).await;
        let is_known = match looked.map(|state| state.and_then(|state| state.expect_kept_columns(table, expected))) {
            Ok(Ok(())) => observed.state == StreamState::TableAltered || !table_is_missing(&record),
            Ok(Err(TableError::Gone { .. })) => table_is_missing(&record),
            Ok(Err(TableError::Altered { .. })) => observed.state == StreamState::TableAltered,
            // Storage that is slow or fails says nothing about the table; the pipeline's conditions tell of it.
            Ok(Err(_)) | Err(_) => true,
        };
        if is_known {
            return Ok(Some(record));
        }
        let ticket = self.services.reconciler.wake_to_probe(&record.uid);
        let begun_again = |record: &StreamRecord| record.observed.state != StreamState::Provisioning;
        let probed = |record: &StreamRecord| self.services.reconciler.is_probed(&record.uid, ticket) && begun_again(record);
        self.services.wait_for_stream(&record.uid, Some(TABLE_PROBE_WAIT), probed).await
    }
}

/// Whether it is known already that the table is not in its place: lost, or in the trash.
fn table_is_missing(record: &StreamRecord) -> bool {
    let stopped = matches!(record.observed.state, StreamState::TableGone | StreamState::Failed);
    stopped
        && record
            .observed
            .conditions
            .iter()
            .any(|condition| condition.condition_type == TABLE_HEALTHY && !condition.status)
}

fn listed(record: &StreamRecord) -> Listed<'_> {
    Listed {
        securable_type: SecurableType::Table,
        name: record.declared.spec.ingestion.destination.as_str(),
        owner: Some(record.declared.created_by.as_str()),
    }
}

/// The name of a list of streams, in page tokens.
fn list_name(parent: &Parent) -> String {
    match &parent.schema {
        Some(schema) => format!("streams of {}.{schema}", parent.catalog),
        None => format!("streams of {}", parent.catalog),
    }
}
