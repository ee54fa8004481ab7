//! The entries after a checkpoint, folded: the newest action of every file, transaction, protocol and metadata.
//!
//! Invariant: for each file the last action wins, and a file that is named here at all hides what the checkpoint says of it.

use std::collections::HashMap;

use super::actions::{Action, Add, Metadata, Protocol, Remove, Txn};
use super::rewrites::Rewrites;

/// What the tail says of one file.
#[derive(Clone, Debug)]
pub(in crate::table) enum FileChange {
    /// It is live; the number orders additions.
    Added(Box<Add>, u64),
    /// It is gone.
    Removed(Box<Remove>),
}

/// Folded actions.
#[derive(Clone, Debug, Default)]
pub(in crate::table) struct Tail {
    /// The protocol in force, if the tail has one.
    pub protocol: Option<Protocol>,
    /// The metadata in force, if the tail has one.
    pub metadata: Option<Metadata>,
    /// The newest version of each application.
    pub txns: HashMap<String, Txn>,
    /// The newest action of each file, by its key.
    pub files: HashMap<String, FileChange>,
    /// Entries that may have rewritten what was rewritten before.
    pub rewrites: Rewrites,
    added: u64,
}

impl Tail {
    /// Takes in the next entry.
    pub(in crate::table) fn fold_entry(&mut self, version: i64, actions: Vec<Action>) {
        self.rewrites.before(version, &actions, &self.files);
        self.fold(actions);
        self.rewrites.after(&self.files);
    }

    /// Takes in further actions. A removal and an addition of one key in one entry cannot both be: the addition wins.
    pub(in crate::table) fn fold(&mut self, actions: Vec<Action>) {
        let (removals, others): (Vec<Action>, Vec<Action>) = actions.into_iter().partition(|action| action.remove.is_some());
        for action in removals.into_iter().chain(others) {
            self.fold_action(action);
        }
    }

    /// Live files that the tail added, in the order of their commits.
    pub(in crate::table) fn added(&self) -> Vec<&Add> {
        let mut added: Vec<(&Add, u64)> = self
            .files
            .values()
            .filter_map(|change| match change {
                FileChange::Added(add, order) => Some((&**add, *order)),
                FileChange::Removed(_) => None,
            })
            .collect();
        added.sort_by_key(|(_, order)| *order);
        added.into_iter().map(|(add, _)| add).collect()
    }

    fn fold_action(&mut self, action: Action) {
        let Action {
            commit_info: _,
            protocol,
            meta_data,
            txn,
            add,
            remove,
        } = action;
        if let Some(remove) = remove {
            self.files.insert(remove.key(), FileChange::Removed(Box::new(remove)));
        }
        if let Some(add) = add {
            self.added += 1;
            self.files.insert(add.key(), FileChange::Added(Box::new(add), self.added));
        }
        if let Some(txn) = txn {
            self.txns.insert(txn.app_id.clone(), txn);
        }
        if protocol.is_some() {
            self.protocol = protocol;
        }
        if meta_data.is_some() {
            self.metadata = meta_data;
        }
    }
}
