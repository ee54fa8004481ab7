//! The mark of a warehouse: a file in its root with a random id that says which warehouse it is.
//!
//! A folder that is not mounted looks like one whose tables were dropped. Invariant: once the warehouse is known, be it
//! from a former process, a table counts as gone or altered only while the mark is there.

use std::sync::{Arc, OnceLock};

use super::TableError;
use super::store::{EntryOutcome, TableStore};

/// The file in the root. Names of catalogs do not start so.
pub(super) const MARK: &str = "_featurestore_warehouse";

/// What to do where the folder is not the warehouse that is known.
const REMEDY: &str = "mount the warehouse, or start the agent with the right `--warehouse`; \
    if a new warehouse is meant, start with a new data folder (`--data-dir`) too";

/// What this process knows of its warehouse.
#[derive(Clone, Debug)]
pub(super) struct WarehouseMark {
    store: Arc<dyn TableStore>,
    /// The id, from its first sight on, or from the start where a former process saw it.
    known: Arc<OnceLock<String>>,
}

impl WarehouseMark {
    /// The mark in the root of that store, not yet looked at; `known` is the id where a former process saw it.
    pub(super) fn new(store: Arc<dyn TableStore>, known: Option<String>) -> Self {
        Self {
            store,
            known: Arc::new(known.map(OnceLock::from).unwrap_or_default()),
        }
    }

    /// The id, if it is known by now. Looks at no storage.
    pub(super) fn known(&self) -> Option<&str> {
        self.known.get().map(String::as_str)
    }

    /// Fails unless the warehouse is there and the one that is known. One without a mark that was never known is new: it is
    /// accepted as it is. `table` is whose step it is, for the error.
    pub(super) fn expect(&self, table: &str) -> Result<(), TableError> {
        let text = self.store.read(MARK).map_err(|error| failed(table, error))?;
        let found = text.map(|text| String::from_utf8_lossy(&text).trim().to_owned());
        let root = self.store.location("");
        match (found, self.known.get()) {
            (None, None) => Ok(()),
            (None, Some(known)) => Err(failed(
                table,
                format!(
                    "`{root}` is missing or not mounted: it has no file `{MARK}`, and the warehouse's id there was `{known}`; {REMEDY}"
                ),
            )),
            (Some(found), _) => {
                let known = self.known.get_or_init(|| found.clone());
                if *known == found {
                    return Ok(());
                }
                Err(failed(
                    table,
                    format!("`{root}` is another warehouse: its id in `{MARK}` is `{found}`, it was `{known}`; {REMEDY}"),
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
        self.store.create_folder("").map_err(|error| failed(table, error))?;
        // Of several that come first at once one writes it, and all read what it wrote.
        match self.store.write_entry("", MARK, text.as_bytes(), None) {
            Ok(EntryOutcome::Written(_) | EntryOutcome::VersionTaken) => self.expect(table),
            Ok(EntryOutcome::PreviousChanged) => Err(failed(table, format!("`{}` vanished", self.store.location("")))),
            Err(error) => Err(failed(table, error)),
        }
    }
}

fn failed(table: &str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> TableError {
    TableError::Storage {
        table: table.to_owned(),
        action: "finding the warehouse",
        source: source.into(),
    }
}
