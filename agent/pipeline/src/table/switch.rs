//! The switch commit: a new definition in force, without rows, between two batches.
//!
//! Invariant: the table keeps its id, its time of creation and everything that other writers put into its metadata.

use super::commit::{Commit, Operation, commit};
use super::log::actions::{Action, Metadata};
use super::schema::{GrowthError, Ints};
use super::state::LoadedTable;
use super::store::table_files::TableFiles;
use super::{Loss, LossCause, Switch, TableError, clock, losses, pinned, positions, properties, protocol, schema, schema_starts};

/// Commits a switch; a table in which all of it is in force already keeps its version.
pub(super) fn commit_switch(files: &TableFiles, table: &mut LoadedTable, switch: &Switch) -> Result<i64, TableError> {
    let actions = |table: &LoadedTable| {
        let actions = switch_actions(files, table, switch)?;
        Ok((!actions.is_empty()).then_some(actions))
    };
    let version = commit(
        files,
        table,
        &Commit {
            operation: Operation::Switch,
            note: (!switch.losses.is_empty()).then(|| (losses::LOSSES, serde_json::json!(switch.losses))),
            actions: &actions,
        },
    )?;
    Ok(version.unwrap_or(table.snapshot.version))
}

fn switch_actions(files: &TableFiles, table: &LoadedTable, switch: &Switch) -> Result<Vec<Action>, TableError> {
    if switch.generation < table.generation {
        return Err(files.internal(format!(
            "a switch to generation {} while {} is in force",
            switch.generation, table.generation
        )));
    }
    if let Some((id, from, to)) = positions::first_backward(&table.positions, &switch.positions) {
        return Err(files.internal(format!(
            "a switch moves partition {} of topic `{}` back from offset {} to {}",
            id.partition, id.topic, from.next_offset, to.next_offset
        )));
    }
    let old = &table.snapshot.metadata;
    // Without files there is nothing to rewrite.
    let is_empty = table.snapshot.totals.files == 0 && !table.files_stale;
    let ints = if is_empty { Ints::Widened } else { Ints::Named };
    let mut wanted = switch.columns.clone();
    if is_empty && !table.widening.places.is_empty() {
        wanted.extend(table.widened_columns());
    }
    let grown = schema::grow(&old.schema_string, &wanted, ints).map_err(|error| refused(files, error))?;
    let mut metadata = Metadata {
        schema_string: grown.text.unwrap_or_else(|| old.schema_string.clone()),
        ..old.clone()
    };
    properties::set(&mut metadata.configuration, switch.generation, &switch.source);
    let mut narrow = grown.narrow;
    if !is_empty {
        narrow.extend(table.widening.places.iter().cloned());
    }
    properties::set_widening(&mut metadata.configuration, &narrow);
    losses::add(&mut metadata.configuration, &table.losses, &new_losses(table, &switch.losses));
    schema_starts::add(
        &mut metadata.configuration,
        &table.schema_starts,
        switch.schemas,
        (table.generation, &table.positions),
        &switch.positions,
    );
    if let Some(versions) = &switch.registry {
        pinned::set(&mut metadata.configuration, versions);
    }
    let columns = schema::parse(&metadata.schema_string).map_err(|what| files.internal(what))?;
    schema::expect_storable(&columns).map_err(|message| TableError::Unsupported { message })?;

    let mut actions = Vec::new();
    if let Some(protocol) = protocol::with_columns(&table.snapshot.protocol, &columns) {
        actions.push(protocol.into());
    }
    if metadata != *old {
        actions.push(metadata.into());
    }
    let moved = switch
        .positions
        .iter()
        .filter(|(id, position)| table.positions.get(id) != Some(position));
    let moved = moved.map(|(id, position)| (id.clone(), *position)).collect();
    actions.extend(
        positions::txns(&table.uid, &table.positions, &moved, clock::now_ms())
            .into_iter()
            .map(Action::from),
    );
    Ok(actions)
}

/// Losses that the table does not have yet: a repeated switch adds none.
fn new_losses(table: &LoadedTable, losses: &[Loss]) -> Vec<Loss> {
    let is_new = |loss: &&Loss| match loss.cause {
        // What is lost of a topic that is gone moves no position, so that no epoch tells.
        LossCause::Deleted => !table.losses.contains(loss),
        LossCause::Expired | LossCause::Truncated | LossCause::Recreated => {
            let position = table.positions.get(&loss.partition);
            position.is_none_or(|position| position.epoch < loss.epoch)
        }
    };
    losses.iter().filter(is_new).cloned().collect()
}

fn refused(files: &TableFiles, error: GrowthError) -> TableError {
    match error {
        GrowthError::Type(what) => TableError::Unsupported {
            message: format!("table `{}` cannot take the new columns: {what}; make a new stream", files.table()),
        },
        GrowthError::Text(what) => files.altered(what),
    }
}
