//! The reconciler over a scripted engine: every plan with every effect failing once, with the process ending before and
//! after every effect, and with every look taken twice.

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
use crate::store::{InsertedStream, Store};
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
        store.insert_connection(&connection("kafka")).await.unwrap();
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
                Some(Ok(Next::Settled | Next::Forgotten)) => return,
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

/// A change of the world, and what must be true when the reconciler has dealt with it.
struct Plan {
    name: &'static str,
    prepare: fn(&Bench),
    change: fn(&mut crate::store::records::DeclaredStream),
    /// Whether the stream runs before the change.
    from_running: bool,
    check: fn(&Bench, Option<&StreamRecord>),
}

const PLANS: [Plan; 6] = [
    Plan {
        name: "create",
        prepare: |_| {},
        change: |_| {},
        from_running: false,
        check: is_active,
    },
    Plan {
        name: "change the definition",
        prepare: |_| {},
        change: |declared| declared.generation = 2,
        from_running: true,
        check: |bench, record| {
            is_active(bench, record);
            assert_eq!(
                (
                    bench.engine.table(&table()).unwrap().generation,
                    record.unwrap().observed.generation
                ),
                (2, 2)
            );
        },
    },
    Plan {
        name: "pause",
        prepare: |_| {},
        change: |declared| {
            declared.operations.paused = true;
            declared.operations_generation = 2;
        },
        from_running: true,
        check: |bench, record| {
            let observed = &record.unwrap().observed;
            assert_eq!(
                (observed.state, observed.operations_generation, bench.engine.running()),
                (StreamState::Paused, 2, 1)
            );
        },
    },
    Plan {
        name: "restore from the trash",
        prepare: |bench| {
            let mut world = bench.engine.world.lock().unwrap();
            let found = world.tables.remove(&table()).unwrap();
            world.trash.insert(UID.into(), (table(), found));
        },
        change: |declared| declared.restart_generation = 1,
        from_running: true,
        check: |bench, record| {
            is_active(bench, record);
            assert_eq!(record.unwrap().observed.restart_generation, 1);
            assert!(bench.engine.world.lock().unwrap().trash.is_empty());
        },
    },
    Plan {
        name: "delete",
        prepare: |_| {},
        change: |declared| declared.presence = Presence::Deleted { retain_table: false },
        from_running: true,
        check: |bench, record| {
            assert!(record.is_none());
            assert_eq!((bench.engine.running(), bench.engine.table(&table())), (0, None));
            assert!(bench.engine.world.lock().unwrap().trash.contains_key(UID));
        },
    },
    Plan {
        name: "delete and retain the table",
        prepare: |_| {},
        change: |declared| declared.presence = Presence::Deleted { retain_table: true },
        from_running: true,
        check: |bench, record| {
            assert!(record.is_none());
            assert_eq!((bench.engine.running(), bench.engine.table(&table()).unwrap().incarnation), (0, 1));
        },
    },
];

fn is_active(bench: &Bench, record: Option<&StreamRecord>) {
    let observed = &record.unwrap().observed;
    assert_eq!(
        (observed.state, observed.provisioned),
        (StreamState::Active, true),
        "{:?}",
        observed.conditions
    );
    assert_eq!(bench.engine.running(), 1);
    assert_eq!(
        bench.engine.table(&table()).map(|table| table.incarnation),
        Some(1),
        "the table was made once"
    );
}

impl Plan {
    /// Carries the plan out under a fault; answers with the number of its effects.
    async fn carry_out(&self, fault: Fault) -> usize {
        let mut bench = Bench::new().await;
        if self.from_running {
            bench.settle().await;
            (self.prepare)(&bench);
            bench.declare(self.change).await;
        }
        bench.engine.effects.arm(fault);
        bench.settle().await;
        let effects = bench.engine.effects.count();
        bench.engine.effects.arm(Fault::None);
        (self.check)(&bench, bench.record().await.as_ref());
        // Again, with the same process and with another one: nothing more happens.
        bench.settle().await;
        (self.check)(&bench, bench.record().await.as_ref());
        bench.restart();
        bench.settle().await;
        (self.check)(&bench, bench.record().await.as_ref());
        let broken = bench.engine.world.lock().unwrap().broken_promises.clone();
        assert!(broken.is_empty(), "{} under {fault:?}: {broken:?}", self.name);
        effects
    }
}

#[tokio::test]
async fn every_plan_survives_a_failure_and_a_crash_around_each_of_its_effects() {
    for plan in &PLANS {
        let effects = plan.carry_out(Fault::None).await;
        assert!(effects > 0, "{}", plan.name);
        for at in 0..effects {
            for fault in [Fault::Fail(at), Fault::CrashBefore(at), Fault::CrashAfter(at)] {
                plan.carry_out(fault).await;
            }
        }
    }
}

#[tokio::test]
async fn provisioning_that_may_succeed_later_is_tried_again_and_says_why_it_waits() {
    let bench = Bench::new().await;
    bench.engine.world.lock().unwrap().refuse_provision = Some(("BrokerUnreachable", Retry::Later));
    assert_eq!(bench.look().await.unwrap().unwrap(), Next::Retry);
    assert_eq!(bench.state().await, StreamState::Provisioning);
    assert_eq!(bench.condition(START_POSITIONS).await, (false, "BrokerUnreachable".into()));
    bench.engine.world.lock().unwrap().refuse_provision = None;
    assert_eq!(bench.look().await.unwrap().unwrap(), Next::Settled);
    assert_eq!(bench.state().await, StreamState::Active);
    assert!(bench.condition(START_POSITIONS).await.0);
}

#[tokio::test]
async fn provisioning_that_cannot_succeed_fails_until_a_restart_is_asked_for() {
    let bench = Bench::new().await;
    bench.engine.world.lock().unwrap().refuse_provision = Some(("Refused", Retry::No));
    assert_eq!(bench.look().await.unwrap().unwrap(), Next::Settled);
    assert_eq!(bench.state().await, StreamState::Failed);
    bench.engine.world.lock().unwrap().refuse_provision = None;
    bench.declare(|declared| declared.restart_generation += 1).await;
    assert_eq!(bench.look().await.unwrap().unwrap(), Next::Settled);
    assert_eq!(bench.state().await, StreamState::Active);
}

#[tokio::test]
async fn a_table_that_was_dropped_is_never_made_anew() {
    let mut bench = Bench::new().await;
    bench.settle().await;
    bench.engine.world.lock().unwrap().tables.clear();
    bench.restart();
    bench.settle().await;
    assert_eq!(bench.state().await, StreamState::TableGone);
    assert_eq!(bench.condition(TABLE_HEALTHY).await, (false, "TableGone".into()));
    assert_eq!(bench.engine.world.lock().unwrap().tables_made, 1);
    let rows = bench.record().await.unwrap().observed.table.map(|table| table.rows);
    assert_eq!(rows, Some(4), "what was in it is still known");
}

#[tokio::test]
async fn a_look_at_the_table_stops_a_pipeline_that_has_not_noticed() {
    let cases: [(fn(&FakeEngine), StreamState, &str); 3] = [
        (
            |engine| engine.world.lock().unwrap().tables.clear(),
            StreamState::TableGone,
            "TableGone",
        ),
        (
            |engine| engine.world.lock().unwrap().tables.get_mut(&table()).unwrap().columns.truncate(1),
            StreamState::TableAltered,
            "TableAltered",
        ),
        (
            |engine| engine.world.lock().unwrap().tables.get_mut(&table()).unwrap().uid = "somebody".into(),
            StreamState::TableAltered,
            "TableAltered",
        ),
    ];
    for (damage, state, reason) in cases {
        let mut bench = Bench::new().await;
        bench.settle().await;
        bench.settle().await;
        damage(&bench.engine);
        bench.settle().await;
        assert_eq!(bench.state().await, StreamState::Active, "nobody has looked yet");
        bench.shared.slots.ask_for_probe(UID);
        bench.settle().await;
        assert_eq!(bench.state().await, state);
        assert_eq!(bench.condition(TABLE_HEALTHY).await, (false, reason.into()));
        assert_eq!(bench.engine.running(), 0);
        bench.settle().await;
        assert_eq!(bench.state().await, state, "it stays that way until someone acts");
    }
}

#[tokio::test]
async fn deleting_a_stream_leaves_a_table_that_is_not_its_own() {
    let mut bench = Bench::new().await;
    bench.settle().await;
    bench.engine.world.lock().unwrap().tables.get_mut(&table()).unwrap().uid = "somebody".into();
    bench
        .declare(|declared| declared.presence = Presence::Deleted { retain_table: false })
        .await;
    bench.settle().await;
    assert!(bench.record().await.is_none());
    assert_eq!(bench.engine.table(&table()).unwrap().uid, "somebody");
}

#[tokio::test]
async fn a_failed_pipeline_starts_again_when_its_operations_change() {
    let mut bench = Bench::new().await;
    bench.settle().await;
    bench.engine.say(UID, |status| {
        status.phase = Phase::Failed {
            reason: "ClusterChanged".into(),
            message: "another cluster".into(),
        }
    });
    bench.settle().await;
    assert_eq!(bench.state().await, StreamState::Failed);
    bench.declare(|declared| declared.operations_generation = 2).await;
    bench.settle().await;
    assert_eq!(bench.state().await, StreamState::Active);
}

#[tokio::test]
async fn the_running_reconciler_follows_what_pipelines_say_and_stops_them_at_the_end() {
    let bench = Bench::new().await;
    let reconciler = Reconciler::start(bench.store.clone(), Arc::new(bench.engine.clone()), settings());
    wait_until("the stream is active", async || bench.state().await == StreamState::Active).await;
    bench.engine.say(UID, |status| {
        status.conditions = vec![PipelineCondition {
            condition_type: "SourceReachable",
            reason: "Down".into(),
            message: "b:9092 refused".into(),
        }];
    });
    wait_until("the stream is degraded", async || bench.state().await == StreamState::Degraded).await;
    bench.engine.say(UID, |status| status.conditions.clear());
    wait_until("the stream is active again", async || bench.state().await == StreamState::Active).await;
    bench.declare(|declared| declared.generation = 2).await;
    reconciler.handle().wake(UID);
    wait_until("the change is in force", async || {
        bench.record().await.unwrap().observed.generation == 2
    })
    .await;
    reconciler.shut_down().await;
    assert_eq!(bench.engine.running(), 0);
}

#[tokio::test]
async fn the_running_reconciler_retries_until_the_source_is_there() {
    let bench = Bench::new().await;
    bench.engine.world.lock().unwrap().refuse_provision = Some(("TopicMissing", Retry::Later));
    let reconciler = Reconciler::start(bench.store.clone(), Arc::new(bench.engine.clone()), settings());
    wait_until("the stream says why it waits", async || {
        !bench.record().await.unwrap().observed.conditions.is_empty()
    })
    .await;
    bench.engine.world.lock().unwrap().refuse_provision = None;
    wait_until("the stream is active", async || bench.state().await == StreamState::Active).await;
    reconciler.shut_down().await;
}
