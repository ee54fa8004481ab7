//! Carries audit events from the outbox into their table.
//!
//! The table knows the number of the last event that is in it, from the commit that added the event. Invariant: an event is
//! forgotten only after the table was seen to have it, and only events after that number are added, so a death between the two
//! loses nothing and doubles nothing.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use stream_pipeline::error::Retry;
use stream_pipeline::table::{SystemTable, SystemValues, TableError};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::refusals::Refusals;
use super::table;
use crate::clock;
use crate::limits::{AUDIT_BATCH_EVENTS, AUDIT_INTERVAL, AUDIT_RETRY_WAIT_MAX, AUDIT_STOP_WAIT, RETRY_WAIT_FIRST};
use crate::reconcile::backoff::Backoff;
use crate::store::{Store, StoreError};

/// Opens tables of the agent's own.
#[async_trait]
pub trait SystemTables: Send + Sync + 'static {
    /// Opens a table for the rows that one source has numbered, and makes it where there is none.
    async fn open(&self, table: SystemTable, source: &str) -> Result<Box<dyn OpenSystemTable>, TableError>;
}

/// A table of the agent's own that is open. After an error it is closed, and opened again to learn what is in it.
#[async_trait]
pub trait OpenSystemTable: Send + Sync + 'static {
    /// Number of the source's last row that is in the table; 0 if none is.
    fn last_number(&self) -> i64;

    /// Adds rows, of which the last has that number, in one commit.
    async fn append(&self, columns: Vec<SystemValues>, last_number: i64) -> Result<(), TableError>;

    /// Ends what is under way.
    async fn close(self: Box<Self>);
}

/// How often events are carried.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Between two looks at the outbox.
    pub interval: Duration,
    /// Waits after failures.
    pub backoff: Backoff,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            interval: AUDIT_INTERVAL,
            backoff: Backoff {
                first: RETRY_WAIT_FIRST,
                max: AUDIT_RETRY_WAIT_MAX,
            },
        }
    }
}

/// The task that carries events.
pub struct Shipper {
    stopping: CancellationToken,
    task: JoinHandle<()>,
}

impl Shipper {
    /// Starts to carry events, those of refused callers among them; without tables they are dropped from the outbox, because the log
    /// has them.
    pub fn start(store: Arc<dyn Store>, refusals: Arc<Refusals>, tables: Option<Arc<dyn SystemTables>>, pace: Pace) -> Self {
        let stopping = CancellationToken::new();
        let ship = Ship {
            store,
            refusals,
            tables,
            open: None,
        };
        let task = tokio::spawn(run(ship, pace, stopping.clone()));
        Self { stopping, task }
    }

    /// Carries what waits and ends, within a bound: what does not get there by then waits in the database for the next start.
    pub async fn shut_down(mut self) {
        self.stopping.cancel();
        match tokio::time::timeout(AUDIT_STOP_WAIT, &mut self.task).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "carrying audit events to their table ended by a panic"),
            Err(_) => {
                self.task.abort();
                tracing::warn!(wait = ?AUDIT_STOP_WAIT, "audit events did not get into their table in time; they wait in the database");
            }
        }
    }
}

/// Why events did not get on.
#[derive(Debug, thiserror::Error)]
enum ShipError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Table(#[from] TableError),
}

struct Ship {
    store: Arc<dyn Store>,
    refusals: Arc<Refusals>,
    tables: Option<Arc<dyn SystemTables>>,
    /// The table, once there was an event, with the outbox that it was opened for.
    open: Option<(String, Box<dyn OpenSystemTable>)>,
}

async fn run(mut ship: Ship, pace: Pace, stopping: CancellationToken) {
    let mut failures = 0;
    loop {
        let is_last = stopping.is_cancelled();
        ship.collect(is_last).await;
        match ship.carry_all().await {
            Ok(()) => failures = 0,
            Err(error) => {
                failures += 1;
                report(&error);
                // Whether the last commit landed the table itself tells, when it is opened again.
                ship.close().await;
            }
        }
        if is_last {
            break;
        }
        let wait = match failures {
            0 => pace.interval,
            _ => pace.backoff.wait(failures, getrandom::u32().unwrap_or(u32::MAX / 2)),
        };
        tokio::select! {
            () = stopping.cancelled() => {}
            () = tokio::time::sleep(wait) => {}
        }
    }
    ship.close().await;
}

fn report(error: &ShipError) {
    match error {
        ShipError::Table(TableError::Gone { .. }) => tracing::warn!(%error, "the table of audit events is gone; a new one is made"),
        ShipError::Table(error) if error.retry() == Retry::No => {
            tracing::error!(%error, "audit events wait in the database until somebody puts their table right");
        }
        error => tracing::warn!(%error, "failed to carry audit events into their table; they wait in the database"),
    }
}

impl Ship {
    /// Puts what was counted of refused callers into the outbox. What does not get there is in the log, call by call.
    async fn collect(&self, is_last: bool) {
        for event in self.refusals.take(clock::now_ms(), is_last) {
            match self.store.append_audit_event(&event).await {
                // Without room it is counted with the others.
                Ok(true | false) => {}
                Err(error) => tracing::error!(%error, "failed to write an event of refused callers; they are in the log alone"),
            }
        }
    }

    /// Carries events until none waits.
    async fn carry_all(&mut self) -> Result<(), ShipError> {
        let Some(tables) = self.tables.clone() else {
            let outbox = self.store.audit_outbox().await?;
            return Ok(self.store.forget_audit_events(outbox.last_sequence).await?);
        };
        loop {
            let after = self.open.as_ref().map_or(0, |(_, table)| table.last_number());
            let events = self.store.audit_events(after, AUDIT_BATCH_EVENTS).await?;
            let Some(last) = events.last().map(|stored| stored.sequence) else {
                return Ok(());
            };
            let Some((outbox, table)) = &self.open else {
                self.open(&*tables).await?;
                continue;
            };
            table.append(table::rows(outbox, &events), last).await?;
            self.store.forget_audit_events(last).await?;
        }
    }

    async fn open(&mut self, tables: &dyn SystemTables) -> Result<(), ShipError> {
        // Read before the table is: what is in the table by then was numbered before.
        let outbox = self.store.audit_outbox().await?;
        let table = tables.open(table::events_table(), &outbox.id).await?;
        let last = table.last_number();
        if last > outbox.last_sequence {
            table.close().await;
            tracing::error!(
                in_table = last,
                in_database = outbox.last_sequence,
                "the database is older than the table of audit events; from here on its events are numbered apart"
            );
            return Ok(self.store.renew_audit_outbox().await?);
        }
        // Those whose commit landed while nobody was there to hear of it.
        self.store.forget_audit_events(last).await?;
        self.open = Some((outbox.id, table));
        Ok(())
    }

    async fn close(&mut self) {
        if let Some((_, table)) = self.open.take() {
            table.close().await;
        }
    }
}

#[cfg(test)]
mod tests;
