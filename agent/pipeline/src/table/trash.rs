//! The trash: `<warehouse>/_trash/<uid>/` holds the table of a deleted stream until its time is over.
//!
//! A table moves as a whole, in one step, with the time of its deletion inside. Invariant: each step may break off anywhere
//! and be repeated; a table is at its name, in the trash, or being purged, and never in two places.

use std::time::Duration;

use super::log::actions::parse_entry;
use super::log::entry_path;
use super::log::replay::read_snapshot;
use super::store::table_files::TableFiles;
use super::store::{MoveOutcome, TableStore};
use super::{TableError, clock, properties};
use crate::failpoint::{self, Point};

/// The folder in the warehouse's root.
pub(super) const TRASH: &str = "_trash";
/// File inside a trashed table: milliseconds since 1970 of its deletion. Delta readers pass over it.
const MARKER: &str = "_trashed_ms";
/// How a folder is called once nothing can bring it back.
const PURGING_SUFFIX: &str = ".purging";

/// The uid of the stream that a table belongs to, whatever else is wrong with it; nothing if it is no stream's.
pub(super) fn owner(files: &TableFiles) -> Result<Option<String>, TableError> {
    match read_snapshot(files, 0) {
        Ok(snapshot) => Ok(properties::stream_uid(&snapshot.metadata.configuration).map(str::to_owned)),
        // A damaged log: version 0 says whose table it was made as.
        Err(error @ TableError::Altered { .. }) => match first_owner(files)? {
            Some(owner) => Ok(Some(owner)),
            None => Err(error),
        },
        Err(error) => Err(error),
    }
}

fn first_owner(files: &TableFiles) -> Result<Option<String>, TableError> {
    let actions = files.read(&entry_path(0))?.and_then(|text| parse_entry(&text).ok());
    let metadata = actions.and_then(|actions| actions.into_iter().find_map(|action| action.meta_data));
    Ok(metadata.and_then(|metadata| properties::stream_uid(&metadata.configuration).map(str::to_owned)))
}

/// Moves a stream's table to the trash.
pub(super) fn trash(store: &dyn TableStore, files: &TableFiles, folder: &str, uid: &str) -> Result<(), TableError> {
    let place = trash_folder(files.table(), uid)?;
    files.mark().expect(files.table())?;
    match owner(files) {
        Ok(Some(owner)) if owner == uid => {}
        // The name is free, or another table's: ours is in the trash or gone.
        Ok(_) | Err(TableError::Gone { .. }) => return Ok(()),
        Err(error) => return Err(error),
    }
    files.pass(Point::TrashBeforeMarker)?;
    files.write(MARKER, clock::now_ms().to_string().as_bytes())?;
    files.pass(Point::TrashAfterMarker)?;
    match store
        .move_folder(folder, &place)
        .map_err(|error| files.failed("moving the table to the trash", error))?
    {
        MoveOutcome::Moved => files.pass(Point::TrashAfterMove),
        MoveOutcome::SourceMissing => Ok(()),
        MoveOutcome::TargetExists => Err(files.internal(format!(
            "the trash already has `{}` while the table is at its name",
            store.location(&place)
        ))),
    }
}

/// Moves a stream's table back to a free name.
pub(super) fn restore(store: &dyn TableStore, files: &TableFiles, folder: &str, uid: &str) -> Result<(), TableError> {
    let place = trash_folder(files.table(), uid)?;
    files.mark().expect(files.table())?;
    files.pass(Point::RestoreBeforeMove)?;
    let moved = store
        .move_folder(&place, folder)
        .map_err(|error| files.failed("moving the table from the trash", error))?;
    match moved {
        MoveOutcome::Moved => {
            files.pass(Point::RestoreAfterMove)?;
            files.delete(MARKER)?;
            files.pass(Point::RestoreAfterMarker)
        }
        MoveOutcome::TargetExists => Err(files.exists()),
        MoveOutcome::SourceMissing => match owner(files)? {
            Some(owner) if owner == uid => files.delete(MARKER),
            _ => Err(files.exists()),
        },
    }
}

/// Whether the trash holds the table of that stream.
pub(super) fn holds(store: &dyn TableStore, uid: &str) -> Result<bool, TableError> {
    let place = trash_folder(uid, uid)?;
    let facts = store
        .facts(&place)
        .map_err(|error| failed(store, "looking into the trash", error))?;
    Ok(facts.is_some())
}

/// Deletes tables that have been in the trash longer than that, and ends purges that broke off; returns their uids. Ends early
/// once it is not to go on.
pub(super) fn purge(
    store: &dyn TableStore,
    older_than: Duration,
    now_ms: i64,
    go_on: &dyn Fn() -> bool,
) -> Result<Vec<String>, TableError> {
    let mut names = Vec::new();
    store
        .list(TRASH, &mut |listed| {
            if listed.folder {
                names.push(listed.name.to_owned());
            }
        })
        .map_err(|error| failed(store, "listing the trash", error))?;
    let kept_ms = i64::try_from(older_than.as_millis()).unwrap_or(i64::MAX);
    let purging = |error| failed(store, "purging the trash", error);
    let at = |point| failpoint::pass(point).map_err(purging);
    let mut purged = Vec::new();
    for name in names {
        let uid = match name.strip_suffix(PURGING_SUFFIX) {
            Some(uid) => uid.to_owned(),
            None if now_ms.saturating_sub(trashed_ms(store, &name, now_ms)?) < kept_ms => continue,
            None => {
                let (from, to) = (format!("{TRASH}/{name}"), format!("{TRASH}/{name}{PURGING_SUFFIX}"));
                at(Point::PurgeBeforeMove)?;
                store.move_folder(&from, &to).map_err(purging)?;
                at(Point::PurgeAfterMove)?;
                name
            }
        };
        if !store
            .delete_folder(&format!("{TRASH}/{uid}{PURGING_SUFFIX}"), &|| {
                go_on() && at(Point::PurgeBeforeFile).is_ok()
            })
            .map_err(purging)?
        {
            break;
        }
        at(Point::PurgeAfterDelete)?;
        purged.push(uid);
    }
    Ok(purged)
}

/// When a table came into the trash. One that someone put there without a time counts from now on.
fn trashed_ms(store: &dyn TableStore, uid: &str, now_ms: i64) -> Result<i64, TableError> {
    let marker = format!("{TRASH}/{uid}/{MARKER}");
    let text = store
        .read(&marker)
        .map_err(|error| failed(store, "looking into the trash", error))?;
    if let Some(ms) = text.and_then(|text| std::str::from_utf8(&text).ok()?.trim().parse().ok()) {
        return Ok(ms);
    }
    let write = || {
        let mut file = store.create(&marker)?;
        file.write_all(now_ms.to_string().as_bytes())?;
        file.finish()
    };
    write().map_err(|error| failed(store, "marking a table in the trash", error))?;
    Ok(now_ms)
}

/// Refuses a uid that is no plain folder name.
pub(super) fn expect_plain(uid: &str) -> Result<(), String> {
    let plain = !uid.is_empty() && uid.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    if plain {
        Ok(())
    } else {
        Err(format!("the uid `{uid}` is no folder name"))
    }
}

/// The folder of a stream's table in the trash.
fn trash_folder(table: &str, uid: &str) -> Result<String, TableError> {
    expect_plain(uid).map_err(|message| TableError::Internal {
        table: table.to_owned(),
        message,
    })?;
    Ok(format!("{TRASH}/{uid}"))
}

fn failed(store: &dyn TableStore, action: &'static str, source: std::io::Error) -> TableError {
    TableError::Storage {
        table: TRASH.to_owned(),
        location: store.location(TRASH),
        action,
        source: source.into(),
    }
}
