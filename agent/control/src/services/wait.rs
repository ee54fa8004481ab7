//! Bounded waits for the reconciler. A wait never fails: when it is over, the caller answers with what is known then.

use std::time::Duration;

use tokio::time::Instant;

use super::Services;
use super::error::ServiceError;
use crate::limits::CALL_WAIT_MAX;
use crate::store::records::StreamRecord;

impl Services {
    /// Waits until `reached` is true of the stream, the stream is gone, `wait` is over (none: the limit), or the agent shuts
    /// down. Answers with the record then, `None` when it is gone.
    pub(crate) async fn wait_for_stream(
        &self,
        uid: &str,
        wait: Option<Duration>,
        reached: impl Fn(&StreamRecord) -> bool,
    ) -> Result<Option<StreamRecord>, ServiceError> {
        let deadline = Instant::now() + wait.unwrap_or(CALL_WAIT_MAX).min(CALL_WAIT_MAX);
        let mut progress = self.reconciler.progress();
        loop {
            // Marked as seen before the record is read: what is written after the read moves the counter again.
            progress.borrow_and_update();
            let record = self.store.stream_by_uid(uid).await?;
            let Some(record) = record else { return Ok(None) };
            if reached(&record) {
                return Ok(Some(record));
            }
            tokio::select! {
                changed = progress.changed() => if changed.is_err() { return Ok(Some(record)) },
                () = tokio::time::sleep_until(deadline) => return Ok(Some(record)),
                () = self.stopping.cancelled() => return Ok(Some(record)),
            }
        }
    }
}
