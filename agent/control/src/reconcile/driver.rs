//! Decides when a stream is looked at: when something woke it, when its wait after a failure is over, or when it has not
//! been looked at for a while. One run per stream at a time, a bounded number at once.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::{self, JoinSet};
use tokio::time::Instant;

use super::Shared;
use super::steps::{self, Next};
use crate::limits::{LOOK_AGAIN_AFTER, RUNS_AT_ONCE_MAX, TABLE_AWAY_LOOK_AFTER, TRASH_PURGE_INTERVAL};
use crate::store::StoreError;

/// Streams that were woken. Waking twice is waking once, so this never holds more than there are streams.
#[derive(Default)]
pub(super) struct Wakeups {
    uids: Mutex<HashSet<String>>,
    /// Whether those whose last run failed are woken, too.
    failed: AtomicBool,
    notify: Notify,
}

impl Wakeups {
    pub(super) fn wake(&self, uid: &str) {
        self.uids.lock().unwrap_or_else(PoisonError::into_inner).insert(uid.to_owned());
        self.notify.notify_one();
    }

    pub(super) fn wake_failed(&self) {
        self.failed.store(true, Ordering::Release);
        self.notify.notify_one();
    }

    fn pass_on(&self, schedule: &mut Schedule) {
        if self.failed.swap(false, Ordering::AcqRel) {
            schedule.wake_failed();
        }
        let uids = std::mem::take(&mut *self.uids.lock().unwrap_or_else(PoisonError::into_inner));
        uids.iter().for_each(|uid| schedule.wake(uid));
    }
}

/// When a stream is looked at next.
struct Entry {
    due: Instant,
    running: bool,
    /// Woken while a run was on: what the run read may be old already.
    woken_meanwhile: bool,
    failures: u32,
}

/// Runs until the shared token is cancelled, then until the runs that were on have ended.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut schedule = Schedule::default();
    let mut runs = Runs::default();
    // At most one, beside the runs: a table of a week has hundreds of thousands of files.
    let mut purge = JoinSet::new();
    let mut next_purge = Instant::now();
    let mut know_all = false;
    let mut next_listing = Instant::now();
    let mut listing_failures = 0;
    loop {
        let now = Instant::now();
        if !know_all && next_listing <= now {
            match shared.store.stream_uids().await {
                Ok(uids) => {
                    uids.iter().for_each(|uid| schedule.wake(uid));
                    know_all = true;
                }
                Err(error) => {
                    listing_failures += 1;
                    next_listing = now + shared.settings.backoff.wait(listing_failures, random());
                    tracing::error!(%error, "failed to list streams");
                }
            }
        }
        let may_purge = know_all && purge.is_empty();
        if may_purge && next_purge <= now {
            let shared = shared.clone();
            purge.spawn(async move { purge_trash(&shared).await });
            next_purge = now + TRASH_PURGE_INTERVAL;
        }
        for uid in schedule.begin_due(RUNS_AT_ONCE_MAX - runs.tasks.len()) {
            let shared = shared.clone();
            runs.start(uid.clone(), async move { steps::run(&shared, &uid).await });
        }
        let wake_at = [
            (!know_all).then_some(next_listing),
            may_purge.then_some(next_purge),
            schedule.next_due().filter(|_| runs.tasks.len() < RUNS_AT_ONCE_MAX),
        ];
        let wake_at = wake_at.into_iter().flatten().min().unwrap_or(now + LOOK_AGAIN_AFTER);
        tokio::select! {
            () = shared.stopping.cancelled() => break,
            () = shared.wakeups.notify.notified() => shared.wakeups.pass_on(&mut schedule),
            Some((uid, next)) = runs.next_finished() => {
                schedule.end(&uid, next, |failures| shared.settings.backoff.wait(failures, random()));
            }
            Some(joined) = purge.join_next() => {
                if let Err(error) = joined {
                    tracing::error!(%error, "purging the trash panicked");
                }
            }
            () = tokio::time::sleep_until(wake_at) => {}
        }
    }
    // What is left in the trash is purged after the next start.
    purge.shutdown().await;
    while runs.next_finished().await.is_some() {}
}

/// The runs that are on. Whose a task is lies beside it, so that a panic costs one run and the stream gets another.
#[derive(Default)]
struct Runs {
    tasks: JoinSet<Result<Next, StoreError>>,
    uids: HashMap<task::Id, String>,
}

impl Runs {
    fn start(&mut self, uid: String, steps: impl Future<Output = Result<Next, StoreError>> + Send + 'static) {
        self.uids.insert(self.tasks.spawn(steps).id(), uid);
    }

    /// Waits for the next run to end; nothing if none is on. May be dropped while it waits.
    async fn next_finished(&mut self) -> Option<(String, Next)> {
        loop {
            let (id, result) = match self.tasks.join_next_with_id().await? {
                Ok((id, result)) => (id, Ok(result)),
                Err(error) => (error.id(), Err(error)),
            };
            let Some(uid) = self.uids.remove(&id) else { continue };
            let next = match result {
                Ok(Ok(next)) => next,
                Ok(Err(error)) => {
                    tracing::error!(stream.uid = %uid, %error, "failed to reconcile stream");
                    Next::Retry
                }
                Err(error) => {
                    tracing::error!(stream.uid = %uid, %error, "reconciling a stream panicked");
                    Next::Retry
                }
            };
            return Some((uid, next));
        }
    }
}

async fn purge_trash(shared: &Shared) {
    match shared.engine.purge_trash(shared.settings.trash_retention).await {
        Ok(0) => {}
        Ok(tables) => tracing::info!(tables, "purged tables from the trash"),
        Err(error) => tracing::warn!(%error, "failed to purge the trash"),
    }
}

/// A random number for jitter; the middle where the system has none to give.
fn random() -> u32 {
    getrandom::u32().unwrap_or(u32::MAX / 2)
}

#[derive(Default)]
struct Schedule {
    entries: HashMap<String, Entry>,
}

impl Schedule {
    fn wake(&mut self, uid: &str) {
        let now = Instant::now();
        let entry = self.entries.entry(uid.to_owned()).or_insert(Entry {
            due: now,
            running: false,
            woken_meanwhile: false,
            failures: 0,
        });
        entry.due = now;
        entry.woken_meanwhile = entry.running;
    }

    /// Those whose last run failed, and those that are on: they may fail on what was mended meanwhile.
    fn wake_failed(&mut self) {
        let now = Instant::now();
        for entry in self.entries.values_mut().filter(|entry| entry.failures > 0 || entry.running) {
            entry.due = now;
            entry.woken_meanwhile = entry.running;
        }
    }

    /// Streams to start now, at most `limit`.
    fn begin_due(&mut self, limit: usize) -> Vec<String> {
        let now = Instant::now();
        let mut due: Vec<(Instant, &String)> = self
            .entries
            .iter()
            .filter(|(_, entry)| !entry.running && entry.due <= now)
            .map(|(uid, entry)| (entry.due, uid))
            .collect();
        due.sort();
        let chosen: Vec<String> = due.into_iter().take(limit).map(|(_, uid)| uid.clone()).collect();
        for uid in &chosen {
            if let Some(entry) = self.entries.get_mut(uid) {
                entry.running = true;
            }
        }
        chosen
    }

    fn next_due(&self) -> Option<Instant> {
        self.entries.values().filter(|entry| !entry.running).map(|entry| entry.due).min()
    }

    fn end(&mut self, uid: &str, next: Next, retry_wait: impl Fn(u32) -> Duration) {
        let Some(entry) = self.entries.get_mut(uid) else { return };
        entry.running = false;
        let woken = std::mem::take(&mut entry.woken_meanwhile);
        entry.failures = if matches!(next, Next::Retry) {
            entry.failures.saturating_add(1)
        } else {
            0
        };
        let wait = match next {
            _ if woken => Duration::ZERO,
            Next::Retry => retry_wait(entry.failures),
            Next::Settled => LOOK_AGAIN_AFTER,
            Next::TableAway => TABLE_AWAY_LOOK_AFTER,
            Next::Forgotten => {
                self.entries.remove(uid);
                return;
            }
        };
        entry.due = Instant::now() + wait;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use async_trait::async_trait;
    use stream_pipeline::connection::{ClientProperties, ConnectionStep};
    use stream_pipeline::engine::StreamDefinition;
    use stream_pipeline::error::PipelineError;
    use stream_pipeline::registry::{RegistryError, RegistryProperties};
    use stream_pipeline::registry_versions::RegistryVersions;
    use stream_pipeline::table::{TableError, TableState};
    use stream_pipeline::usage::Usage;
    use stream_spec::name::TableName;
    use stream_spec::stream::StreamSpec;

    use super::*;
    use crate::reconcile::backoff::Backoff;
    use crate::reconcile::engine::{PipelineEngine, RunningPipeline};
    use crate::reconcile::{Reconciler, ReconcilerSettings};
    use crate::store::sqlite::SqliteStore;
    use crate::store::{LiteralSecrets, Store};
    use crate::testing::definitions::{connection, declared};
    use crate::testing::engine::FakeEngine;
    use crate::testing::wait_until;

    /// An engine whose trash never gets empty.
    #[derive(Default)]
    struct EndlessPurge {
        engine: FakeEngine,
        purges: AtomicUsize,
    }

    #[async_trait]
    impl PipelineEngine for EndlessPurge {
        async fn provision(&self, definition: &StreamDefinition) -> Result<TableState, PipelineError> {
            self.engine.provision(definition).await
        }

        fn start(&self, definition: StreamDefinition) -> Arc<dyn RunningPipeline> {
            self.engine.start(definition)
        }

        async fn table_state(&self, table: &TableName, uid: &str) -> Result<TableState, TableError> {
            self.engine.table_state(table, uid).await
        }

        async fn trash(&self, table: &TableName, uid: &str) -> Result<(), TableError> {
            self.engine.trash(table, uid).await
        }

        async fn restore(&self, table: &TableName, uid: &str) -> Result<(), TableError> {
            self.engine.restore(table, uid).await
        }

        async fn in_trash(&self, uid: &str) -> Result<bool, TableError> {
            self.engine.in_trash(uid).await
        }

        async fn latest_versions(&self, stream: &StreamSpec, run_as: &str) -> Result<RegistryVersions, PipelineError> {
            self.engine.latest_versions(stream, run_as).await
        }

        async fn try_registry(&self, properties: &RegistryProperties) -> Result<Vec<ConnectionStep>, RegistryError> {
            self.engine.try_registry(properties).await
        }

        async fn try_connection(&self, properties: &ClientProperties) -> Result<Vec<ConnectionStep>, PipelineError> {
            self.engine.try_connection(properties).await
        }

        async fn purge_trash(&self, _older_than: Duration) -> Result<usize, TableError> {
            self.purges.fetch_add(1, Ordering::SeqCst);
            std::future::pending().await
        }

        fn usage(&self) -> Usage {
            self.engine.usage()
        }

        fn location(&self, table: &TableName) -> String {
            self.engine.location(table)
        }
    }

    #[tokio::test]
    async fn streams_start_and_the_agent_ends_while_the_trash_is_purged() {
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&folder.path().join("agent.db")).await.unwrap());
        store.insert_connection(&connection("kafka"), &LiteralSecrets::Stay).await.unwrap();
        store.insert_stream("u1", &declared("main.pay.orders")).await.unwrap();
        let engine = Arc::new(EndlessPurge::default());
        let settings = ReconcilerSettings {
            trash_retention: Duration::from_secs(60),
            backoff: Backoff {
                first: Duration::from_millis(1),
                max: Duration::from_millis(5),
            },
        };
        let reconciler = Reconciler::start(store, engine.clone(), settings);
        wait_until("the stream runs beside the purge", || async {
            engine.engine.running() == 1 && engine.purges.load(Ordering::SeqCst) == 1
        })
        .await;
        let ended = tokio::time::timeout(Duration::from_secs(10), reconciler.shut_down()).await;
        ended.expect("the purge should not hold the agent up");
        assert_eq!(engine.purges.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_run_that_ends_in_whatever_way_is_known_by_its_stream() {
        let mut runs = Runs::default();
        runs.start("panicked".into(), async { panic!("made to fail") });
        runs.start("settled".into(), async { Ok(Next::Settled) });
        runs.start("cancelled".into(), std::future::pending());
        let mut ended = HashMap::from([runs.next_finished().await.unwrap(), runs.next_finished().await.unwrap()]);
        runs.tasks.abort_all();
        ended.extend([runs.next_finished().await.unwrap()]);
        let expected = [("panicked", Next::Retry), ("settled", Next::Settled), ("cancelled", Next::Retry)];
        assert_eq!(ended, expected.map(|(uid, next)| (uid.to_owned(), next)).into());
        assert!(runs.next_finished().await.is_none() && runs.uids.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_is_run_once_at_a_time_and_again_when_it_was_woken_meanwhile() {
        let mut schedule = Schedule::default();
        schedule.wake("a");
        schedule.wake("a");
        assert_eq!(schedule.begin_due(10), ["a"]);
        assert!(schedule.begin_due(10).is_empty());
        schedule.wake("a");
        assert!(schedule.begin_due(10).is_empty());
        schedule.end("a", Next::Settled, |_| Duration::ZERO);
        assert_eq!(schedule.begin_due(10), ["a"]);
        schedule.end("a", Next::Settled, |_| Duration::ZERO);
        assert!(schedule.begin_due(10).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn failures_wait_longer_each_time_until_one_run_settles() {
        let mut schedule = Schedule::default();
        schedule.wake("a");
        let mut waits = Vec::new();
        for next in [Next::Retry, Next::Retry, Next::Settled, Next::Retry] {
            schedule.wake("a");
            assert_eq!(schedule.begin_due(1), ["a"]);
            schedule.end("a", next, |failures| Duration::from_secs(failures.into()));
            waits.push(schedule.next_due().map(|due| due - Instant::now()).unwrap().as_secs());
        }
        assert_eq!(waits, [1, 2, LOOK_AGAIN_AFTER.as_secs(), 1]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_failed_is_tried_again_when_something_was_mended_and_what_settled_is_not() {
        let mut schedule = Schedule::default();
        for uid in ["failed", "settled", "running"] {
            schedule.wake(uid);
        }
        assert_eq!(schedule.begin_due(3).len(), 3);
        schedule.end("failed", Next::Retry, |_| Duration::from_secs(10));
        schedule.end("settled", Next::Settled, |_| Duration::ZERO);
        assert!(schedule.begin_due(3).is_empty());
        let wakeups = Wakeups::default();
        wakeups.wake_failed();
        wakeups.pass_on(&mut schedule);
        assert_eq!(schedule.begin_due(3), ["failed"]);
        schedule.end("running", Next::Retry, |_| Duration::from_secs(10));
        assert_eq!(schedule.begin_due(3), ["running"], "what it failed on may be what was mended");
        wakeups.pass_on(&mut schedule);
        assert!(schedule.begin_due(3).is_empty(), "woken once");
    }

    #[tokio::test(start_paused = true)]
    async fn a_forgotten_stream_leaves_nothing_behind() {
        let mut schedule = Schedule::default();
        schedule.wake("a");
        schedule.begin_due(1);
        schedule.end("a", Next::Forgotten, |_| Duration::ZERO);
        assert!(schedule.entries.is_empty());
    }
}
