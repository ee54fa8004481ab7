//! Get and list. Get looks at the table first, so that a table that was dropped a moment ago shows at once and not when
//! the pipeline happens to commit.

use stream_pipeline::table::TableError;
use stream_spec::name::StreamName;

use super::{StreamService, StreamView};
use crate::governance::{Action, RequestContext, Securable};
use crate::limits::TABLE_PROBE_WAIT;
use crate::services::error::ServiceError;
use crate::services::page::{self, Page, PageRequest};
use crate::state::{StreamState, TABLE_HEALTHY};
use crate::store::Parent;
use crate::store::records::{Presence, StreamRecord};

impl StreamService {
    /// One stream.
    pub async fn get(&self, context: &RequestContext, name: &StreamName) -> Result<StreamView, ServiceError> {
        self.services
            .authorizer
            .authorize(context, Action::Read, Securable::Stream(name))
            .await?;
        let record = self.find(name).await?;
        let record = self.with_table_looked_at(record).await?;
        record.map(|record| self.view(record)).ok_or_else(|| super::not_found(name))
    }

    /// Streams of a catalog or a schema, a page at a time.
    pub async fn list(&self, context: &RequestContext, parent: &Parent, page: &PageRequest) -> Result<Page<StreamView>, ServiceError> {
        self.services
            .authorizer
            .authorize(context, Action::List, Securable::Streams(parent))
            .await?;
        let list = list_name(parent);
        let (limit, after) = (page.limit()?, page.after(&list)?);
        let mut records = self.services.store.list_streams(parent, after.as_deref(), limit + 1).await?;
        let has_more = records.len() > limit;
        records.truncate(limit);
        let next_page_token = match records.last() {
            Some(last) if has_more => page::token(&list, last.declared.spec.name.as_str()),
            _ => String::new(),
        };
        Ok(Page {
            items: records.into_iter().map(|record| self.view(record)).collect(),
            next_page_token,
        })
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

/// The name of a list of streams, in page tokens.
fn list_name(parent: &Parent) -> String {
    match &parent.schema {
        Some(schema) => format!("streams of {}.{schema}", parent.catalog),
        None => format!("streams of {}", parent.catalog),
    }
}
