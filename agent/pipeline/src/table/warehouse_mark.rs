//! The mark of a warehouse: a file in its root with a random id that says which warehouse it is.
//!
//! A folder that is not mounted looks like one whose tables were dropped. Invariant: once the warehouse is known, be it
//! from a former process, a table counts as gone or altered only while the mark is there.

use std::sync::{Arc, OnceLock};

use super::TableError;
use super::store::{EntryOutcome, TableStore};
use super::warehouse_lock::{NotHeld, WarehouseLock};
use crate::failpoint::{self, Point};

/// The file in the root. Names of catalogs do not start so.
pub(super) const MARK: &str = "_featurestore_warehouse";

/// Whose step it is where it is no table's.
const ROOT: &str = "of any stream";

/// What to do where the folder is not the warehouse that is known.
const REMEDY: &str = "mount the warehouse, or start the agent with the right `--warehouse`; \
    if a new warehouse is meant, start with a new data folder (`--data-dir`) too";

/// What this process knows of its warehouse.
#[derive(Clone, Debug)]
pub(super) struct WarehouseMark {
    store: Arc<dyn TableStore>,
    /// The id, from its first sight on, or from the start where a former process saw it.
    known: Arc<OnceLock<String>>,
    lock: WarehouseLock,
}

impl WarehouseMark {
    /// The mark in the root of that store, not yet looked at; `known` is the id where a former process saw it.
    pub(super) fn new(store: Arc<dyn TableStore>, known: Option<String>) -> Self {
        Self {
            lock: WarehouseLock::new(Arc::clone(&store)),
            store,
            known: Arc::new(known.map(OnceLock::from).unwrap_or_default()),
        }
    }

    /// The id, if it is known by now. Looks at no storage.
    pub(super) fn known(&self) -> Option<&str> {
        self.known.get().map(String::as_str)
    }

    /// Fails unless the warehouse is there, the one that is known, and no other agent's. One without a mark that was never
    /// known is new: it is accepted as it is. `table` is whose step it is, for the error.
    pub(super) fn expect(&self, table: &str) -> Result<(), TableError> {
        let text = self.store.read(MARK).map_err(|error| self.failed(table, error))?;
        let found = text.map(|text| String::from_utf8_lossy(&text).trim().to_owned());
        match (found, self.known.get()) {
            (None, None) => Ok(()),
            (None, Some(known)) => Err(self.failed(
                table,
                format!(
                    "the folder is missing or not mounted: it has no file `{MARK}`, and the warehouse's id there was `{known}`; {REMEDY}"
                ),
            )),
            (Some(found), _) => {
                let known = self.known.get_or_init(|| found.clone());
                if *known == found {
                    return self.hold(table);
                }
                Err(self.failed(
                    table,
                    format!("the folder is another warehouse: its id in `{MARK}` is `{found}`, it was `{known}`; {REMEDY}"),
                ))
            }
        }
    }

    /// Marks a warehouse that has no mark yet.
    pub(super) fn claim(&self, table: &str) -> Result<(), TableError> {
        self.expect(table)?;
        if self.known.get().is_some() {
            return Ok(());
        }
        let text = format!("{}\n", uuid::Uuid::new_v4());
        self.store.create_folder("").map_err(|error| self.failed(table, error))?;
        self.hold(table)?;
        // Of several that come first at once one writes it, and all read what it wrote.
        let written = failpoint::pass(Point::MarkBeforeEntry)
            .and_then(|()| self.store.write_entry("", MARK, text.as_bytes(), None))
            .and_then(|outcome| failpoint::pass(Point::MarkAfterEntry).map(|()| outcome));
        match written {
            Ok(EntryOutcome::Written(_) | EntryOutcome::VersionTaken) => self.expect(table),
            Ok(EntryOutcome::PreviousChanged) => Err(self.failed(table, "the folder vanished")),
            Err(error) => Err(self.failed(table, error)),
        }
    }

    /// From now on the warehouse is used only while no other agent has it. Takes it if it is there, or new: a folder that was
    /// never known is made, so that of two agents which begin together one is refused.
    pub(super) fn keep_others_out(&self) -> Result<(), TableError> {
        let table = ROOT;
        self.lock.want();
        self.expect(table)?;
        if self.known.get().is_none() {
            self.store.create_folder("").map_err(|error| self.failed(table, error))?;
            self.hold(table)?;
        }
        Ok(())
    }

    fn hold(&self, table: &str) -> Result<(), TableError> {
        match self.lock.hold() {
            Ok(()) => Ok(()),
            Err(NotHeld::ByAnother(holder)) => Err(TableError::InUse {
                location: self.store.location(""),
                holder,
            }),
            Err(NotHeld::Failed(error)) => Err(self.failed(table, error)),
        }
    }

    fn failed(&self, table: &str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> TableError {
        TableError::Storage {
            table: table.to_owned(),
            location: self.store.location(""),
            action: "finding the warehouse",
            source: source.into(),
        }
    }
}
