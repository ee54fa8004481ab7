//! Entries that put files in the place of others that were not live any more, as far as the tail shows them.
//!
//! Other writers make them (see `table/doubled.rs`). Invariant: none after the last checkpoint is passed over, and one that was
//! taken back since is not among them.

use std::collections::{HashMap, HashSet};

use super::actions::{Action, Add, Remove};
use super::tail::FileChange;

/// The entries of a tail that may be such.
#[derive(Clone, Debug, Default)]
pub(in crate::table) struct Rewrites(Vec<Rewrite>);

/// An entry that removed files and added others.
#[derive(Clone, Debug)]
struct Rewrite {
    version: i64,
    /// Keys of what it added.
    added: Vec<String>,
    /// Keys of what it removed and the tail had added before.
    live: Vec<String>,
    /// Keys of what it removed and the tail had not spoken of: only the checkpoint says whether they were live.
    unknown: Vec<String>,
    /// It removed a file that the tail had removed before.
    twice: bool,
    /// It was taken back, but for these unknown files.
    taken_back_without: Option<Vec<String>>,
}

impl Rewrites {
    /// Looks at the next entry, before it is folded into `files`.
    pub(super) fn before(&mut self, version: i64, actions: &[Action], files: &HashMap<String, FileChange>) {
        let added: Vec<String> = actions.iter().filter_map(|action| action.add.as_ref()).map(Add::key).collect();
        if added.is_empty() {
            return;
        }
        let mut rewrite = Rewrite {
            version,
            added,
            live: Vec::new(),
            unknown: Vec::new(),
            twice: false,
            taken_back_without: None,
        };
        for key in actions.iter().filter_map(|action| action.remove.as_ref()).map(Remove::key) {
            match files.get(&key) {
                Some(FileChange::Added(..)) => rewrite.live.push(key),
                Some(FileChange::Removed(_)) => rewrite.twice = true,
                None => rewrite.unknown.push(key),
            }
        }
        if rewrite.twice || !rewrite.unknown.is_empty() {
            self.0.push(rewrite);
        }
    }

    /// Looks at what the entry made of `files`.
    pub(super) fn after(&mut self, files: &HashMap<String, FileChange>) {
        let is_live = |key: &String| matches!(files.get(key), Some(FileChange::Added(..)));
        for rewrite in &mut self.0 {
            if rewrite.added.iter().any(is_live) || !rewrite.live.iter().all(is_live) {
                continue;
            }
            let without: Vec<String> = rewrite.unknown.iter().filter(|key| !is_live(key)).cloned().collect();
            let fewer = rewrite.taken_back_without.as_ref().is_none_or(|known| without.len() < known.len());
            if fewer {
                rewrite.taken_back_without = Some(without);
            }
        }
    }

    /// The files of which the checkpoint has to say whether they were live.
    pub(super) fn unknown(&self) -> HashSet<&str> {
        self.0.iter().flat_map(|rewrite| &rewrite.unknown).map(String::as_str).collect()
    }

    /// Versions of the entries that still hold, oldest first; `checkpointed` are those of the unknown files that the checkpoint has.
    pub(super) fn doubling(&self, checkpointed: &HashSet<String>) -> Vec<i64> {
        let was_live = |key: &String| checkpointed.contains(key);
        let doubling = self.0.iter().filter(|rewrite| {
            let doubled = rewrite.twice || !rewrite.unknown.iter().all(was_live);
            let taken_back = rewrite.taken_back_without.as_ref();
            doubled && taken_back.is_none_or(|without| without.iter().any(was_live))
        });
        doubling.map(|rewrite| rewrite.version).collect()
    }
}
