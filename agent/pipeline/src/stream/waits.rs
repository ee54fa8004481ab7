//! Waits of a session's loop for what may never come. Invariant: each is cancel safe, and none returns for nothing.

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::survey::{Survey, Surveying};
use crate::error::PipelineError;
use crate::table::TableState;

/// The outcome of a look around; never where there is none on its way.
pub(super) async fn joined(surveying: &mut Option<Surveying>) -> Result<Survey, PipelineError> {
    match surveying {
        Some(task) => task.await.unwrap_or_else(|error| {
            Err(PipelineError::Internal {
                message: format!("a look around ended early: {error}"),
            })
        }),
        None => std::future::pending().await,
    }
}

/// Returns once nothing is widened any more; never where no partition waits for that, nor if nobody looks after the table any more,
/// which the next look around finds and says.
pub(super) async fn widened(table: &mut Option<watch::Receiver<TableState>>) {
    if let Some(table) = table
        && table.wait_for(|table| table.widening.is_none()).await.is_ok()
    {
        return;
    }
    std::future::pending().await
}

/// Returns once a schema that is waited for is told; never where none is.
pub(super) async fn told(waiting: &mut Option<AbortOnDropHandle<()>>) {
    match waiting {
        Some(waiting) => drop(waiting.await),
        None => std::future::pending().await,
    }
}

/// Returns at a moment; never where there is none.
pub(super) async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::position::Positions;
    use crate::table::{SourceIdentity, TableTotals, WideningState};

    fn state(is_widening: bool) -> TableState {
        TableState {
            version: 1,
            generation: 1,
            columns: Vec::new(),
            widening: is_widening.then(|| WideningState {
                stored_columns: Vec::new(),
                trouble: None,
            }),
            positions: Positions::new(),
            source: SourceIdentity::default(),
            losses: Vec::new(),
            schema_starts: Arc::default(),
            registry: None,
            totals: TableTotals::default(),
            created_ms: 0,
        }
    }

    #[tokio::test]
    async fn the_end_of_a_widening_is_heard_and_the_end_of_a_committer_is_not_taken_for_it() {
        let (sender, receiver) = watch::channel(state(true));
        let mut table = Some(receiver);
        let wait = Duration::from_millis(20);
        assert!(tokio::time::timeout(wait, widened(&mut table)).await.is_err());
        sender.send_replace(state(false));
        widened(&mut table).await;
        sender.send_replace(state(true));
        drop(sender);
        assert!(tokio::time::timeout(wait, widened(&mut table)).await.is_err(), "it would spin");
    }
}
