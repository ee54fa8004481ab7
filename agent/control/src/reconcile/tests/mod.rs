//! The reconciler over a scripted engine: every plan with every effect failing once, with the process ending before and
//! after every effect, and with every look taken twice.

mod plans;
mod states;

use std::sync::Arc;
use std::time::Duration;

use stream_pipeline::error::Retry;
use stream_pipeline::status::{Phase, PipelineCondition};
use stream_spec::name::TableName;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::backoff::Backoff;
use super::slots::Slots;
use super::steps::{self, Next};
use super::{Reconciler, ReconcilerSettings, Shared, driver};
use crate::state::{START_POSITIONS, StreamState, TABLE_HEALTHY};
use crate::store::records::{Presence, StreamRecord};
use crate::store::sqlite::SqliteStore;
use crate::store::{InsertedStream, LiteralSecrets, Store};
use crate::testing::definitions::{connection, declared};
use crate::testing::effects::Fault;
use crate::testing::engine::FakeEngine;
use crate::testing::store::FaultyStore;
use crate::testing::wait_until;

const NAME: &str = "main.pay.orders";
const UID: &str = "u1";

/// One database, one warehouse, and as many processes as a test wants.
struct Bench {
    engine: FakeEngine,
    store: Arc<FaultyStore>,
    shared: Arc<Shared>,
    _folder: tempfile::TempDir,
}

fn settings() -> ReconcilerSettings {
    let backoff = Backoff {
        first: Duration::from_millis(1),
        max: Duration::from_millis(5),
    };
    ReconcilerSettings {
        trash_retention: Duration::from_secs(60),
        backoff,
    }
}

fn process(store: &Arc<FaultyStore>, engine: &FakeEngine) -> Arc<Shared> {
    Arc::new(Shared {
        store: store.clone(),
        engine: Arc::new(engine.clone()),
        settings: settings(),
        slots: Slots::default(),
        wakeups: driver::Wakeups::default(),
        progress: watch::Sender::new(0),
        stopping: CancellationToken::new(),
    })
}

impl Bench {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = FakeEngine::default();
        let inner = SqliteStore::open(&folder.path().join("agent.db")).await.unwrap();
        let store = Arc::new(FaultyStore {
            inner,
            effects: engine.effects.clone(),
        });
        store.insert_connection(&connection("kafka"), &LiteralSecrets::Stay).await.unwrap();
        assert!(matches!(
            store.insert_stream(UID, &declared(NAME)).await.unwrap(),
            InsertedStream::Inserted(_)
        ));
        let shared = process(&store, &engine);
        Self {
            engine,
            store,
            shared,
            _folder: folder,
        }
    }

    /// The process ends and another one starts on what is left.
    fn restart(&mut self) {
        self.engine.end_of_process();
        self.shared = process(&self.store, &self.engine);
    }

    /// One look, in a task of its own as the driver does it; `None` if the process ended in it.
    async fn look(&self) -> Option<Result<Next, crate::store::StoreError>> {
        let shared = self.shared.clone();
        tokio::spawn(async move { steps::run(&shared, UID).await }).await.ok()
    }

    /// Looks until there is nothing to do; starts another process each time one ended.
    async fn settle(&mut self) {
        for _ in 0..20 {
            match self.look().await {
                Some(Ok(Next::Settled | Next::TableAway | Next::Forgotten)) => return,
                Some(Ok(Next::Retry) | Err(_)) => {}
                None => self.restart(),
            }
        }
        panic!("the stream does not settle");
    }

    async fn record(&self) -> Option<StreamRecord> {
        self.store.stream_by_uid(UID).await.unwrap()
    }

    async fn declare(&self, change: impl FnOnce(&mut crate::store::records::DeclaredStream)) {
        let mut record = self.record().await.unwrap();
        change(&mut record.declared);
        self.store.declare_stream(UID, record.revision, &record.declared).await.unwrap();
    }

    async fn condition(&self, condition_type: &str) -> (bool, String) {
        let record = self.record().await.unwrap();
        let found = record
            .observed
            .conditions
            .iter()
            .find(|condition| condition.condition_type == condition_type);
        found.map(|condition| (condition.status, condition.reason.clone())).unwrap()
    }

    async fn state(&self) -> StreamState {
        self.record().await.unwrap().observed.state
    }
}

fn table() -> TableName {
    TableName::parse(&format!("{NAME}_raw")).unwrap()
}
