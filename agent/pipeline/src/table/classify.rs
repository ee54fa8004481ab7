//! Foreign commits: which ones a stream can live with, and which ones stop it.
//!
//! Pure. OPTIMIZE, VACUUM, rows deleted, updated or added, comments and added nullable columns are lived with. Invariant:
//! after an accepted commit, appends made for the old definition are still right.

use super::log::actions::{Action, Metadata, Protocol, Txn};
use super::state::{LoadedTable, writable_columns};
use super::{positions, properties, protocol, schema};

/// What an accepted foreign commit means for what is known of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Its actions can be taken in one by one.
    Plain,
    /// Files left, or came again, that are known only to the log: sums must be read again.
    FilesLeft,
}

/// Accepts a foreign commit, or says what it altered.
pub(super) fn classify(table: &LoadedTable, actions: &[Action]) -> Result<Effect, String> {
    let mut effect = Effect::Plain;
    for action in actions {
        if let Some(protocol) = &action.protocol {
            accept_protocol(protocol)?;
        }
        if let Some(metadata) = &action.meta_data {
            accept_metadata(table, metadata)?;
        }
        if let Some(txn) = &action.txn {
            accept_txn(&table.uid, txn)?;
        }
        // A file that comes without a change of data may be live already: it then says something new of itself.
        if action.remove.is_some() || action.add.as_ref().is_some_and(|add| !add.data_change) {
            effect = Effect::FilesLeft;
        }
    }
    Ok(effect)
}

/// Accepts a table that was read anew as the continuation of the one that was known, or says what differs.
pub(super) fn accept_reread(known: &LoadedTable, read: &LoadedTable) -> Result<(), String> {
    if read.snapshot.version < known.snapshot.version {
        return Err(format!(
            "its log ends at version {}, and version {} was there",
            read.snapshot.version, known.snapshot.version
        ));
    }
    accept_metadata(known, &read.snapshot.metadata)?;
    accept_protocol(&read.snapshot.protocol)?;
    if read.positions != known.positions {
        let differing = known
            .positions
            .iter()
            .find(|(id, position)| read.positions.get(id) != Some(position));
        let place = differing.map_or_else(
            || "a partition".to_owned(),
            |(id, _)| format!("partition {} of topic `{}`", id.partition, id.topic),
        );
        return Err(format!("its position of {place} was changed by another writer"));
    }
    Ok(())
}

fn accept_protocol(protocol: &Protocol) -> Result<(), String> {
    protocol::expect_writable(protocol)
}

fn accept_txn(uid: &str, txn: &Txn) -> Result<(), String> {
    if txn.app_id.starts_with(&positions::app_id_prefix(uid)) {
        return Err(format!(
            "another writer moved the stream's position `{}` to {}",
            txn.app_id, txn.version
        ));
    }
    Ok(())
}

fn accept_metadata(table: &LoadedTable, new: &Metadata) -> Result<(), String> {
    let old = &table.snapshot.metadata;
    if new.id != old.id {
        return Err(format!("it is another table: its id is `{}`, it was `{}`", new.id, old.id));
    }
    let columns = writable_columns(new)?;
    schema::expect_fields(&columns, &table.columns)?;
    if properties::stream_uid(&new.configuration) != Some(&table.uid) {
        return Err("the property that names its stream was taken away".to_owned());
    }
    if properties::widening(&new.configuration)? != table.widening.places {
        return Err("another writer changed which columns are being widened".to_owned());
    }
    let (generation, source) = properties::read(&new.configuration)?;
    if generation != table.generation || source != table.source {
        return Err(format!(
            "another writer changed the stream's properties (generation {generation}, it was {})",
            table.generation
        ));
    }
    Ok(())
}
