//! Writes checkpoints by streaming: the last checkpoint without what the tail overrides, then the tail.
//!
//! Removals older than the history are left out, and their files deleted before that. Invariant: a checkpoint is visible only
//! complete and durable, and memory holds the tail and one row group, however many files the table has.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_json::ReaderBuilder;
use arrow_json::reader::Decoder;
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use super::actions::{Action, Add, Metadata, Protocol, Remove, Txn};
use super::base::{Checkpoint, LastCheckpoint};
use super::checkpoint_reader::{FileRows, read_singles, scan};
use super::checkpoint_schema::checkpoint_schema;
use super::replay::{CheckpointSize, find_start, read_tail};
use super::tail::{FileChange, Tail};
use super::{LAST_CHECKPOINT, checkpoint_path};
use crate::failpoint::Point;
use crate::table::limits::{CHECKPOINT_BATCH_ROWS, CHECKPOINT_GROUP_BYTES};
use crate::table::store::NewFile;
use crate::table::store::table_files::{Leave, TableFiles};
use crate::table::{TableError, clock, data_path, protocol};

/// Writes the checkpoint of a version. Removals before `expired_before_ms` are over: their files are deleted.
pub(in crate::table) fn write_checkpoint(
    files: &TableFiles,
    version: i64,
    expired_before_ms: i64,
    leave: &Leave,
) -> Result<CheckpointSize, TableError> {
    let start = find_start(files, version)?;
    let base_version = start.checkpoint.as_ref().map_or(-1, |checkpoint| checkpoint.version);
    let (tail, last) = read_tail(files, base_version + 1, version)?;
    if last != version {
        return Err(files.failed("writing a checkpoint", format!("the log ends at version {last}, before {version}")));
    }
    let mut definition = Tail::default();
    if let Some(checkpoint) = &start.checkpoint {
        definition.fold(read_singles(files, checkpoint)?);
    }
    let missing = |what: &str| files.altered(format!("its log has no {what}"));
    let protocol = tail
        .protocol
        .as_ref()
        .or(definition.protocol.as_ref())
        .ok_or_else(|| missing("protocol"))?;
    let metadata = tail
        .metadata
        .as_ref()
        .or(definition.metadata.as_ref())
        .ok_or_else(|| missing("metadata"))?;
    files.expect_wanted(leave)?;
    files.pass(Point::CheckpointBeforeFile)?;
    let mut writer = CheckpointWriter::begin(files, version, protocol, expired_before_ms, leave)?;
    writer.definition(protocol, metadata, &definition.txns, &tail.txns)?;
    if let Some(checkpoint) = &start.checkpoint {
        writer.kept_rows(checkpoint, &tail)?;
    }
    writer.tail(&tail)?;
    writer.finish(version)
}

struct CheckpointWriter<'a> {
    files: &'a TableFiles,
    leave: &'a Leave,
    schema: SchemaRef,
    encoder: Decoder,
    writer: ArrowWriter<Box<dyn NewFile>>,
    expired_before_ms: i64,
    delete_expired: bool,
    actions: usize,
    adds: usize,
}

impl<'a> CheckpointWriter<'a> {
    fn begin(
        files: &'a TableFiles,
        version: i64,
        protocol: &Protocol,
        expired_before_ms: i64,
        leave: &'a Leave,
    ) -> Result<Self, TableError> {
        let failed = |error| files.failed("writing a checkpoint", error);
        let schema = checkpoint_schema();
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_dictionary_enabled(false)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_max_row_group_bytes(Some(CHECKPOINT_GROUP_BYTES))
            .build();
        let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
        let file = files.create(&checkpoint_path(version))?;
        let writer = ArrowWriter::try_new_with_options(file, Arc::clone(&schema), options).map_err(failed)?;
        let encoder = ReaderBuilder::new(Arc::clone(&schema))
            .with_batch_size(CHECKPOINT_BATCH_ROWS)
            .build_decoder();
        let encoder = encoder.map_err(|error| files.failed("writing a checkpoint", error))?;
        // With deletion vectors a removed path can still be a live file; then deleting is left to VACUUM.
        let delete_expired = !protocol::has_deletion_vectors(protocol);
        Ok(Self {
            files,
            leave,
            schema,
            encoder,
            writer,
            expired_before_ms,
            delete_expired,
            actions: 0,
            adds: 0,
        })
    }

    fn definition(
        &mut self,
        protocol: &Protocol,
        metadata: &Metadata,
        older: &HashMap<String, Txn>,
        newer: &HashMap<String, Txn>,
    ) -> Result<(), TableError> {
        let mut rows: Vec<Action> = vec![protocol.clone().into(), metadata.clone().into()];
        rows.extend(
            older
                .iter()
                .filter(|(app_id, _)| !newer.contains_key(*app_id))
                .map(|(_, txn)| txn.clone().into()),
        );
        rows.extend(newer.values().cloned().map(Action::from));
        self.encode(&rows)
    }

    /// Copies the file actions of the last checkpoint that are still true.
    fn kept_rows(&mut self, checkpoint: &Checkpoint, tail: &Tail) -> Result<(), TableError> {
        let schema = Arc::clone(&self.schema);
        scan(self.files, checkpoint, &schema, &mut |batch| {
            self.files.expect_wanted(self.leave)?;
            let keep = self.rows_to_keep(batch, tail)?;
            if keep.true_count() > 0 {
                let kept = filter_record_batch(batch, &keep).map_err(|error| self.files.failed("writing a checkpoint", error))?;
                self.write(&kept)?;
            }
            Ok(())
        })
    }

    fn rows_to_keep(&mut self, batch: &RecordBatch, tail: &Tail) -> Result<BooleanArray, TableError> {
        let (adds, removes) = (FileRows::of(batch, "add"), FileRows::of(batch, "remove"));
        let mut keep = Vec::with_capacity(batch.num_rows());
        for row in 0..batch.num_rows() {
            let overridden = |rows: &FileRows<'_>| rows.key(row).map(|key| tail.files.contains_key(&key));
            let added = adds.as_ref().and_then(overridden);
            let removed = removes.as_ref().and_then(overridden);
            keep.push(match (added, removed) {
                (Some(overridden), _) => {
                    self.adds += usize::from(!overridden);
                    !overridden
                }
                (None, Some(true)) | (None, None) => false,
                (None, Some(false)) => {
                    let rows = removes.as_ref();
                    // One without a time, of another writer's checkpoint, is kept: nobody knows when its file may go.
                    let time = rows.and_then(|rows| rows.long("deletionTimestamp", row));
                    let expired = time.is_some_and(|time| time < self.expired_before_ms);
                    if expired && let Some(path) = rows.and_then(|rows| rows.path(row)) {
                        self.delete(path)?;
                    }
                    !expired
                }
            });
        }
        Ok(keep.into())
    }

    fn tail(&mut self, tail: &Tail) -> Result<(), TableError> {
        let mut rows: Vec<Action> = Vec::with_capacity(CHECKPOINT_BATCH_ROWS);
        for add in tail.added() {
            rows.push(
                Add {
                    data_change: false,
                    ..add.clone()
                }
                .into(),
            );
            self.adds += 1;
            self.encode_if_full(&mut rows)?;
        }
        let now_ms = clock::now_ms();
        for change in tail.files.values() {
            let FileChange::Removed(remove) = change else { continue };
            // One without a time counts from now on: versions that have the file can be as young as that.
            let time = remove.deletion_timestamp.unwrap_or(now_ms);
            if time < self.expired_before_ms {
                self.delete(&remove.path)?;
                continue;
            }
            rows.push(
                Remove {
                    deletion_timestamp: Some(time),
                    data_change: false,
                    ..(**remove).clone()
                }
                .into(),
            );
            self.encode_if_full(&mut rows)?;
        }
        self.encode(&rows)
    }

    fn encode_if_full(&mut self, rows: &mut Vec<Action>) -> Result<(), TableError> {
        if rows.len() >= CHECKPOINT_BATCH_ROWS {
            self.encode(rows)?;
            rows.clear();
        }
        Ok(())
    }

    fn encode(&mut self, rows: &[Action]) -> Result<(), TableError> {
        for chunk in rows.chunks(CHECKPOINT_BATCH_ROWS) {
            let encoded = self.encoder.serialize(chunk).and_then(|()| self.encoder.flush());
            let batch = encoded.map_err(|error| self.files.failed("writing a checkpoint", error))?;
            if let Some(batch) = batch {
                self.write(&batch)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<(), TableError> {
        self.actions += batch.num_rows();
        self.writer
            .write(batch)
            .map_err(|error| self.files.failed("writing a checkpoint", error))
    }

    /// Deletes a file whose removal is over, before the removal is forgotten: breaking off between them repeats it.
    fn delete(&self, path: &str) -> Result<(), TableError> {
        match data_path::inside_table(path) {
            Some(path) if self.delete_expired => {
                self.files.expect_wanted(self.leave)?;
                self.files.pass(Point::CheckpointBeforeDelete)?;
                self.files.delete(&path)?;
                self.files.pass(Point::CheckpointAfterDelete)
            }
            _ => Ok(()),
        }
    }

    fn finish(self, version: i64) -> Result<CheckpointSize, TableError> {
        self.files.expect_wanted(self.leave)?;
        let file = self
            .writer
            .into_inner()
            .map_err(|error| self.files.failed("writing a checkpoint", error))?;
        let facts = file.finish().map_err(|error| self.files.failed("writing a checkpoint", error))?;
        self.files.pass(Point::CheckpointAfterFile)?;
        let actions = i64::try_from(self.actions).unwrap_or(i64::MAX);
        let hint = LastCheckpoint {
            version,
            size: actions,
            parts: None,
            size_in_bytes: i64::try_from(facts.bytes).ok(),
            num_of_add_files: i64::try_from(self.adds).ok(),
        };
        let text = serde_json::to_vec(&hint).map_err(|error| self.files.internal(format!("a checkpoint has no JSON form: {error}")))?;
        // The checkpoint went to the folder that it was begun in; the hint goes by path.
        self.files.expect_unchanged(self.leave)?;
        self.files.write(LAST_CHECKPOINT, &text)?;
        self.files.pass(Point::CheckpointAfterHint)?;
        Ok(CheckpointSize { version, actions })
    }
}
