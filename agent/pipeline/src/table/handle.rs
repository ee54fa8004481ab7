//! What the rest of the package sees of an open table: append, switch, probe, close, and a state to watch.
//!
//! The handle encodes rows into data files in the caller's task; every commit is the committer's. Invariant: when a call
//! returns an error, nothing of it is in the table, except after [`TableError::Storage`], where reading the state tells.

use tokio::sync::watch;

use super::{Append, Switch, TableError, TableState};

/// An open table. Appends are made one after another; dropping the future of a call does not undo the commit.
#[derive(Debug)]
pub struct TableHandle {
    state: watch::Receiver<TableState>,
}

impl TableHandle {
    /// The state after the last commit or foreign change that was seen.
    pub fn state(&self) -> watch::Receiver<TableState> {
        self.state.clone()
    }

    /// Commits rows together with the positions that they advance to; returns the version.
    pub async fn append(&self, append: Append) -> Result<i64, TableError> {
        drop(append);
        Err(self.not_yet())
    }

    /// Commits a new definition; returns the version from which on it is in force.
    pub async fn switch(&self, switch: Switch) -> Result<i64, TableError> {
        drop(switch);
        Err(self.not_yet())
    }

    /// Looks whether the table is still ours and takes in foreign commits.
    pub async fn probe(&self) -> Result<(), TableError> {
        Err(self.not_yet())
    }

    /// Ends the committer and care of this table, after what is under way.
    pub async fn close(self) {}

    fn not_yet(&self) -> TableError {
        TableError::Internal { table: String::new(), message: "not connected".into() }
    }
}
