//! One commit: compare-and-swap on the next version, decided by reading the log.
//!
//! What goes into a commit is the caller's; it is asked again after each foreign commit. Invariant: success means that the
//! entry with this commit's id is in the log, once; failure other than of storage means that it is not.

use super::classify::{Effect, accept_reread, classify};
use super::limits::COMMIT_ATTEMPTS_MAX;
use super::log::actions::{Action, COMMIT_ID, commit_id, entry_text, parse_entry};
use super::log::replay::unreadable;
use super::log::{entry_name, entry_path};
use super::state::{LoadedTable, Unresolved};
use super::store::table_files::TableFiles;
use super::store::{EntryOutcome, FileFacts};
use super::{TableError, clock, doubled};
use crate::failpoint::{self, Point};

/// What a commit is called in the table's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// Version 0.
    Create,
    /// Rows and positions.
    Append,
    /// Definition.
    Switch,
    /// Small files put together.
    Compact,
    /// Columns widened, and every file in the place of one with the narrow ones.
    Widen,
    /// Another writer's commit undone.
    Undo,
}

impl Operation {
    /// Delta's name for it and its parameters.
    fn describe(self) -> (&'static str, serde_json::Value) {
        match self {
            Self::Create => ("CREATE TABLE", serde_json::json!({"isManaged": "true", "partitionBy": "[]"})),
            Self::Append => ("WRITE", serde_json::json!({"mode": "Append", "partitionBy": "[]"})),
            Self::Switch => ("SET TBLPROPERTIES", serde_json::json!({})),
            Self::Compact => ("OPTIMIZE", serde_json::json!({"predicate": "[]"})),
            Self::Widen => ("CHANGE COLUMN", serde_json::json!({})),
            Self::Undo => ("RESTORE", serde_json::json!({})),
        }
    }

    /// The points of failure before and after its entry is written.
    fn points(self) -> (Point, Point) {
        match self {
            Self::Create => (Point::CreateBeforeEntry, Point::CreateAfterEntry),
            Self::Append => (Point::AppendBeforeCommit, Point::AppendAfterCommit),
            Self::Switch => (Point::SwitchBeforeCommit, Point::SwitchAfterCommit),
            Self::Widen => (Point::WidenBeforeCommit, Point::WidenAfterCommit),
            // An undo is care too: it puts files in the place of others.
            Self::Compact | Self::Undo => (Point::CompactBeforeCommit, Point::CompactAfterCommit),
        }
    }
}

/// A commit that is to be made. The same id stays through all attempts: an attempt that was thought lost is found by it.
pub(super) struct Commit<'a> {
    /// What it is.
    pub operation: Operation,
    /// What its `commitInfo` says beside the usual.
    pub note: Note,
    /// The actions for the table as it is now; called again when another writer was faster.
    pub actions: &'a dyn Fn(&LoadedTable) -> Result<Actions, TableError>,
}

/// The actions of a commit; nothing if there is nothing to commit any more.
pub(super) type Actions = Option<Vec<Action>>;

/// A name and a value in `commitInfo`.
pub(super) type Note = Option<(&'static str, serde_json::Value)>;

/// A random id for one commit.
pub(super) fn new_commit_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// The lines of an entry: what it is, then the actions.
pub(super) fn with_commit_info(operation: Operation, id: &str, note: &Note, actions: Vec<Action>, now_ms: i64) -> Vec<Action> {
    let (name, parameters) = operation.describe();
    let mut info = serde_json::json!({
        "timestamp": now_ms,
        "operation": name,
        "operationParameters": parameters,
        // Without this mark a user's DELETE or MERGE would conflict with every flush.
        "isBlindAppend": operation == Operation::Append,
        "engineInfo": concat!("featurestore-agent/", env!("CARGO_PKG_VERSION")),
        COMMIT_ID: id,
    });
    if let (Some((name, value)), Some(info)) = (note, info.as_object_mut()) {
        info.insert((*name).to_owned(), value.clone());
    }
    let info = Action {
        commit_info: info.as_object().cloned(),
        ..Action::default()
    };
    std::iter::once(info).chain(actions).collect()
}

/// Makes a commit; returns its version, or nothing if the caller gave no actions.
pub(super) fn commit(files: &TableFiles, table: &mut LoadedTable, commit: &Commit<'_>) -> Result<Option<i64>, TableError> {
    let id = new_commit_id();
    let mut failure = None;
    for _ in 0..COMMIT_ATTEMPTS_MAX {
        resolve(files, table)?;
        let Some(actions) = (commit.actions)(table)? else { return Ok(None) };
        let lines = with_commit_info(commit.operation, &id, &commit.note, actions, clock::now_ms());
        let text = entry_text(&lines).map_err(|error| files.internal(format!("an entry has no JSON form: {error}")))?;
        let current = table.snapshot.version;
        let previous = (entry_name(current), table.snapshot.entry);
        let (before, after) = commit.operation.points();
        let written = failpoint::pass(before)
            .and_then(|()| files.write_entry(&entry_name(current + 1), &text, Some((&previous.0, previous.1))))
            .and_then(|outcome| failpoint::pass(after).map(|()| outcome));
        match written {
            Ok(EntryOutcome::Written(facts)) => {
                table.advance_own(&lines, facts).map_err(|what| files.internal(what))?;
                return Ok(Some(table.snapshot.version));
            }
            Ok(EntryOutcome::VersionTaken) => {}
            Ok(EntryOutcome::PreviousChanged) => reread(files, table)?,
            // Nobody knows whether the entry is there: only the log does.
            Err(error) => failure = Some(error),
        }
        table.unresolved = Some(Unresolved {
            commit_id: id.clone(),
            version: current + 1,
        });
        let mut landed = None;
        let caught_up = catch_up(files, table, &mut landed);
        if landed.is_some() {
            // Whatever is wrong after our entry is for the next call to say: this one is in the table.
            return Ok(landed);
        }
        caught_up?;
        table.unresolved = None;
        if let Some(error) = failure.take() {
            return Err(files.failed("committing", error));
        }
    }
    Err(files.failed(
        "committing",
        format!("another writer was faster {COMMIT_ATTEMPTS_MAX} times in a row"),
    ))
}

/// Settles what could not be read when it came up: the outcome of a commit of ours, and which files another writer removed.
pub(super) fn resolve(files: &TableFiles, table: &mut LoadedTable) -> Result<(), TableError> {
    if table.unresolved.is_some() || table.files_stale {
        catch_up(files, table, &mut None)?;
        table.unresolved = None;
    }
    Ok(())
}

/// Takes in what is in the log after the version that is known. `landed` is set as soon as the entry of the unresolved commit
/// was found, also if what follows it is an error.
fn catch_up(files: &TableFiles, table: &mut LoadedTable, landed: &mut Option<i64>) -> Result<(), TableError> {
    while let Some((actions, facts)) = next_entry(files, table.snapshot.version)? {
        let version = table.snapshot.version + 1;
        let expected = table.unresolved.as_ref().filter(|unresolved| unresolved.version == version);
        if expected.is_some_and(|unresolved| commit_id(&actions) == Some(&unresolved.commit_id)) {
            // It can be there because making it durable failed: as long as that fails its outcome stays unknown.
            files.sync_log()?;
            table.unresolved = None;
            table.advance_own(&actions, facts).map_err(|what| files.internal(what))?;
            *landed = Some(version);
            continue;
        }
        if expected.is_some() {
            table.unresolved = None;
        }
        let effect = classify(table, &actions).map_err(|what| altered_by(files, version, &actions, &what))?;
        if effect == Effect::FilesLeft
            && let Some(doubled) = doubled::find(files, version, &actions, &table.doubled)?
        {
            table.doubled.push(doubled);
        }
        // Kept in the table and not on the stack: a failure below must not make the removed files look live.
        table.files_stale |= effect == Effect::FilesLeft;
        table.advance_foreign(&actions, facts).map_err(|what| files.altered(what))?;
        tracing::info!(table = files.table(), version, "took in a commit of another writer");
    }
    if table.files_stale {
        reread(files, table)?;
    }
    Ok(())
}

/// Looks whether the entry that was read last still is what it was, then takes in what came after it.
pub(super) fn probe(files: &TableFiles, table: &mut LoadedTable) -> Result<(), TableError> {
    if files.facts(&entry_path(table.snapshot.version))? != Some(table.snapshot.entry) {
        reread(files, table)?;
    }
    resolve(files, table)?;
    catch_up(files, table, &mut None)
}

/// Reads the whole log again, and accepts it only as a continuation of what was known.
fn reread(files: &TableFiles, table: &mut LoadedTable) -> Result<(), TableError> {
    let read = LoadedTable::read(files, &table.uid, table.snapshot.small_files.below())?;
    accept_reread(table, &read).map_err(|what| files.altered(what))?;
    let mut read = LoadedTable {
        doubled: table.doubled.clone(),
        ..read
    };
    doubled::recall(files, &mut read)?;
    read.unresolved = table.unresolved.take();
    read.widening.continue_from(&table.widening);
    read.snapshot.small_files.keep_aside(&table.snapshot.small_files);
    *table = read;
    Ok(())
}

fn next_entry(files: &TableFiles, version: i64) -> Result<Option<(Vec<Action>, FileFacts)>, TableError> {
    let path = entry_path(version + 1);
    let Some(facts) = files.facts(&path)? else { return Ok(None) };
    let Some(text) = files.read(&path)? else { return Ok(None) };
    let actions = parse_entry(&text).map_err(|error| unreadable(files, version + 1, &error))?;
    Ok(Some((actions, facts)))
}

fn altered_by(files: &TableFiles, version: i64, actions: &[Action], what: &str) -> TableError {
    let info = actions.iter().find_map(|action| action.commit_info.as_ref());
    let operation = info
        .and_then(|info| info.get("operation"))
        .and_then(serde_json::Value::as_str)
        .unwrap_or("unnamed operation");
    files.altered(format!("{what} (version {version}, {operation})"))
}
