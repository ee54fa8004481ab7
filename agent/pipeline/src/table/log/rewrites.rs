//! Entries that put files in the place of others that were not live any more, and those that rewrote their files in turn, as
//! far as the tail shows them.
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
    /// Versions of entries like this one whose files it rewrote.
    upon: Vec<i64>,
    /// It was taken back, but for these unknown files.
    taken_back_without: Option<Vec<String>>,
}

impl Rewrites {
    /// Looks at the next entry, before it is folded into `files`.
    pub(super) fn before(&mut self, version: i64, actions: &[Action], files: &HashMap<String, FileChange>) {
        let added: Vec<String> = actions.iter().filter_map(|action| action.add.as_ref()).map(Add::key).collect();
        let removed: HashSet<String> = actions
            .iter()
            .filter_map(|action| action.remove.as_ref())
            .map(Remove::key)
            .collect();
        if added.is_empty() || removed.is_empty() {
            return;
        }
        let upon: Vec<&Rewrite> = self.0.iter().filter(|earlier| earlier.is_rewritten(&removed, &added)).collect();
        let made: HashSet<&String> = upon.iter().flat_map(|earlier| &earlier.added).collect();
        let mut rewrite = Rewrite {
            version,
            added,
            live: Vec::new(),
            unknown: Vec::new(),
            twice: false,
            upon: upon.iter().map(|earlier| earlier.version).collect(),
            taken_back_without: None,
        };
        for key in removed.iter().cloned() {
            match files.get(&key) {
                // Whoever takes both entries back at once does not put it back.
                Some(FileChange::Added(..)) if made.contains(&key) => {}
                Some(FileChange::Added(..)) => rewrite.live.push(key),
                Some(FileChange::Removed(_)) => rewrite.twice = true,
                None => rewrite.unknown.push(key),
            }
        }
        if rewrite.twice || !rewrite.unknown.is_empty() || !rewrite.upon.is_empty() {
            self.0.push(rewrite);
        }
    }

    /// Looks at what the entry made of `files`.
    pub(super) fn after(&mut self, files: &HashMap<String, FileChange>) {
        let is_live = |key: &String| matches!(files.get(key), Some(FileChange::Added(..)));
        let mut rewritten: HashSet<i64> = HashSet::new();
        for rewrite in self.0.iter_mut().rev() {
            let is_taken_back = !rewrite.added.iter().any(is_live) && rewrite.live.iter().all(is_live);
            if !is_taken_back || rewritten.contains(&rewrite.version) {
                if rewrite.taken_back_without.is_none() {
                    rewritten.extend(&rewrite.upon);
                }
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
        let mut doubling = Vec::new();
        for rewrite in &self.0 {
            let upon_such = rewrite.upon.iter().any(|version| doubling.contains(version));
            let doubled = rewrite.twice || upon_such || !rewrite.unknown.iter().all(was_live);
            let taken_back = rewrite.taken_back_without.as_ref();
            if doubled && taken_back.is_none_or(|without| without.iter().any(was_live)) {
                doubling.push(rewrite.version);
            }
        }
        doubling
    }
}

impl Rewrite {
    /// As [`super::super::doubled`] sees it: an entry that removed and added these rewrote what this one made, and takes it not back.
    fn is_rewritten(&self, removed: &HashSet<String>, added: &[String]) -> bool {
        let takes_back = added.iter().any(|key| self.live.contains(key) || self.unknown.contains(key));
        !takes_back && self.added.iter().any(|key| removed.contains(key))
    }
}
