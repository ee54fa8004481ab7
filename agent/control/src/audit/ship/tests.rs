//! Events get into a scripted table, each once, whatever fails.

use std::sync::{Mutex, PoisonError};

use super::*;
use crate::audit::AuditEvent;
use crate::store::audit::AuditStore;
use crate::store::sqlite::SqliteStore;
use crate::testing::wait_until;

/// What an effect on the table does before it is as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    OpenFails,
    AppendFails,
    /// It lands, and the caller is told that it failed.
    AppendLands,
    /// The table is dropped: it has nothing and knows nothing.
    Dropped,
}

#[derive(Debug, Default)]
struct World {
    /// Ids of events, by source.
    rows: Vec<(String, i64)>,
    faults: Vec<Fault>,
    open: usize,
    opened: usize,
}

#[derive(Clone, Default)]
struct FakeTables(Arc<Mutex<World>>);

struct FakeTable(FakeTables, String);

fn failed() -> TableError {
    TableError::Storage {
        table: "system.audit.events".into(),
        location: "/w".into(),
        action: "an effect",
        source: "made to fail".into(),
    }
}

impl FakeTables {
    fn world<T>(&self, work: impl FnOnce(&mut World) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn numbers(&self) -> Vec<i64> {
        self.world(|world| world.rows.iter().map(|(_, number)| *number).collect())
    }
}

#[async_trait]
impl SystemTables for FakeTables {
    async fn open(&self, table: SystemTable, source: &str) -> Result<Box<dyn OpenSystemTable>, TableError> {
        assert_eq!(table.name.as_str(), "system.audit.events");
        self.world(|world| {
            if world.faults.first() == Some(&Fault::OpenFails) {
                world.faults.remove(0);
                return Err(failed());
            }
            world.open += 1;
            world.opened += 1;
            assert_eq!(world.open, 1, "a table is closed before it is opened again");
            Ok(())
        })?;
        Ok(Box::new(FakeTable(self.clone(), source.to_owned())))
    }
}

#[async_trait]
impl OpenSystemTable for FakeTable {
    fn last_number(&self) -> i64 {
        self.0.world(|world| {
            let of_source = world.rows.iter().filter(|(source, _)| *source == self.1);
            of_source.map(|(_, number)| *number).max().unwrap_or(0)
        })
    }

    async fn append(&self, columns: Vec<SystemValues>, last_number: i64) -> Result<(), TableError> {
        let types: Vec<_> = table::events_table().columns.into_iter().map(|column| column.data_type).collect();
        assert_eq!(columns.iter().map(SystemValues::data_type).collect::<Vec<_>>(), types);
        let Some(SystemValues::Number(numbers)) = columns.get(2) else {
            panic!("no numbers")
        };
        assert_eq!(numbers.last(), Some(&last_number));
        self.0.world(|world| {
            let fault = (!world.faults.is_empty()).then(|| world.faults.remove(0));
            match fault {
                Some(Fault::Dropped) => world.rows.clear(),
                Some(Fault::AppendFails) => {}
                _ => world.rows.extend(numbers.iter().map(|number| (self.1.clone(), *number))),
            }
            match fault {
                None => Ok(()),
                Some(Fault::Dropped) => Err(TableError::Gone {
                    table: "system.audit.events".into(),
                    location: "/w".into(),
                }),
                Some(_) => Err(failed()),
            }
        })
    }

    async fn close(self: Box<Self>) {
        self.0.world(|world| world.open -= 1);
    }
}

struct Office {
    _folder: tempfile::TempDir,
    store: Arc<SqliteStore>,
    refusals: Arc<Refusals>,
    tables: FakeTables,
}

impl Office {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("agent.db")).await.unwrap();
        Self {
            _folder: folder,
            store: Arc::new(store),
            refusals: Arc::default(),
            tables: FakeTables::default(),
        }
    }

    fn start(&self) -> Shipper {
        let soon = Duration::from_millis(1);
        let pace = Pace {
            interval: soon,
            backoff: Backoff { first: soon, max: soon },
        };
        Shipper::start(self.store.clone(), self.refusals.clone(), Some(Arc::new(self.tables.clone())), pace)
    }

    async fn note(&self, events: usize) {
        for _ in 0..events {
            assert!(self.store.append_audit_event(&AuditEvent::default()).await.unwrap());
        }
    }

    async fn nothing_waits(&self) -> bool {
        self.store.audit_events(0, 10).await.unwrap().is_empty()
    }
}

#[tokio::test]
async fn each_event_is_in_the_table_once_whatever_fails() {
    use Fault::*;
    for faults in [
        vec![],
        vec![OpenFails, OpenFails],
        vec![AppendFails],
        vec![AppendLands],
        vec![AppendFails, OpenFails, AppendLands],
        vec![Dropped],
    ] {
        let office = Office::new().await;
        office.note(3).await;
        office.tables.world(|world| world.faults.clone_from(&faults));
        let shipper = office.start();
        wait_until("the outbox is empty", || office.nothing_waits()).await;
        office.note(2).await;
        shipper.shut_down().await;
        assert_eq!(office.tables.numbers(), [1, 2, 3, 4, 5], "{faults:?}");
        assert!(office.nothing_waits().await);
        assert_eq!(office.tables.world(|world| (world.open, world.faults.len())), (0, 0));
    }
}

#[tokio::test]
async fn what_cannot_be_carried_waits_and_a_table_is_opened_only_for_events() {
    let office = Office::new().await;
    office.start().shut_down().await;
    assert_eq!(office.tables.world(|world| world.opened), 0);
    office.note(2).await;
    office.tables.world(|world| world.faults = vec![Fault::OpenFails; 1_000]);
    office.start().shut_down().await;
    assert!(!office.nothing_waits().await);
    office.tables.world(|world| world.faults.clear());
    office.start().shut_down().await;
    assert_eq!(office.tables.numbers(), [1, 2]);
}

#[tokio::test]
async fn events_that_are_in_the_table_already_are_forgotten_and_those_of_a_database_that_was_put_back_are_not() {
    let office = Office::new().await;
    office.note(2).await;
    let outbox = office.store.audit_outbox().await.unwrap().id;
    office.tables.world(|world| world.rows = vec![(outbox.clone(), 1)]);
    office.start().shut_down().await;
    assert_eq!(office.tables.numbers(), [1, 2]);
    // As if the table had been written by a later life of this database.
    office.tables.world(|world| world.rows = vec![(outbox.clone(), 9)]);
    office.note(1).await;
    office.start().shut_down().await;
    assert_eq!(office.tables.numbers(), [9, 3]);
    assert_ne!(office.store.audit_outbox().await.unwrap().id, outbox);
}

#[tokio::test]
async fn refused_callers_are_carried_too_and_the_last_ones_at_the_end() {
    let office = Office::new().await;
    office.refusals.note(None, "unknown token", 5);
    let shipper = office.start();
    wait_until("the first is carried", || async { office.tables.numbers() == [1] }).await;
    office.refusals.note(None, "unknown token", 6);
    shipper.shut_down().await;
    assert_eq!(office.tables.numbers(), [1, 2]);
}

#[tokio::test]
async fn without_a_table_events_do_not_pile_up() {
    let office = Office::new().await;
    office.note(3).await;
    Shipper::start(office.store.clone(), Arc::default(), None, Pace::default())
        .shut_down()
        .await;
    assert!(office.nothing_waits().await);
}

#[test]
fn an_event_becomes_a_row_with_null_for_what_it_does_not_have() {
    let stored = crate::store::audit::StoredAuditEvent {
        sequence: 7,
        event: AuditEvent {
            time_ms: 5,
            principal: "ann".into(),
            ..AuditEvent::default()
        },
    };
    let text = |text: &str| SystemValues::Text(vec![(!text.is_empty()).then(|| text.to_owned())]);
    let columns = table::events_table().columns;
    let rows = table::rows("o", &[stored]);
    for (name, expected) in [
        ("event_time", SystemValues::Time(vec![5])),
        ("event_id", text("o/7")),
        ("sequence", SystemValues::Number(vec![7])),
        ("principal", text("ann")),
        ("securable_name", text("")),
    ] {
        let at = columns.iter().position(|column| column.name == name).unwrap();
        assert_eq!(rows.get(at), Some(&expected), "{name}");
    }
}
