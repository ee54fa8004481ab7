//! Which tables of this process are open: each has one committer at most. And which are looked at: by one thread at a time.
//!
//! Two committers of one stream would take each other's commits for foreign moves of its positions. Invariant: a claim is held
//! from before the log is read until the committer has ended.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;

use super::TableError;
use super::limits::{CLOSE_WAIT, LOOK_WAIT};
use super::store::table_files::TableFiles;

/// Tables by their folder.
#[derive(Clone, Debug)]
pub(super) struct OpenTables {
    /// What a claim is for, in an error.
    action: &'static str,
    wait: Duration,
    claims: Arc<Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>>,
}

impl Default for OpenTables {
    fn default() -> Self {
        Self {
            action: "opening the table",
            wait: CLOSE_WAIT,
            claims: Arc::default(),
        }
    }
}

/// The right to commit to a table, or to look at it, until it is dropped.
#[derive(Debug)]
pub(super) struct Claim {
    _guard: OwnedMutexGuard<()>,
}

impl OpenTables {
    /// Claims for looks at tables. A disk that hangs keeps a look's thread as long as it hangs: one for each table, however often
    /// somebody asks.
    pub(super) fn of_looks() -> Self {
        Self {
            action: "looking at the table",
            wait: LOOK_WAIT,
            claims: Arc::default(),
        }
    }

    /// Claims a table; waits a bounded time for the former claim to end.
    pub(super) async fn claim(&self, folder: &str, files: &TableFiles) -> Result<Claim, TableError> {
        let claim = self.lock_of(folder).lock_owned();
        match tokio::time::timeout(self.wait, claim).await {
            Ok(guard) => Ok(Claim { _guard: guard }),
            Err(_) => Err(files.failed(
                self.action,
                format!("what began before is not over after {} seconds", self.wait.as_secs()),
            )),
        }
    }

    fn lock_of(&self, folder: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        // Tables that nobody claims or waits for any more are forgotten, so the map is as long as tables are open.
        claims.retain(|_, claim| Arc::strong_count(claim) > 1);
        Arc::clone(claims.entry(folder.to_owned()).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::store::TableStore;
    use crate::table::store::local::LocalStore;
    use crate::table::warehouse_mark::WarehouseMark;

    #[tokio::test]
    async fn a_table_that_stays_open_is_refused_after_a_while_and_then_forgotten() {
        let store: Arc<dyn TableStore> = Arc::new(LocalStore::new("nowhere".into()));
        let files = TableFiles::new(Arc::clone(&store), WarehouseMark::new(store, None), "t".into(), "a.b.t".into());
        let tables = OpenTables {
            wait: Duration::from_millis(1),
            ..OpenTables::default()
        };
        let first = tables.claim("t", &files).await.unwrap();
        let error = tables.claim("t", &files).await.unwrap_err().to_string();
        assert!(error.contains("opening the table") && error.contains("not over"), "{error}");
        drop(first);
        drop(tables.claim("t", &files).await.unwrap());
        let other = tables.claim("other", &files).await.unwrap();
        assert_eq!(tables.claims.lock().unwrap().len(), 1);
        drop(other);
    }
}
