//! The door of the table room: where tables are, how they are created and opened. Trash is in `trash`.
//!
//! Every step may be repeated at any point. Invariant: nothing is written at a name whose table carries another stream's uid.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use stream_spec::name::TableName;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::care::schedule::CareSchedule;
use super::commit::{Operation, new_commit_id, with_commit_info};
use super::committer::Committer;
use super::doubled;
use super::limits::{CARE_JOBS, COMMIT_QUEUE};
use super::log::actions::{Action, Format, Metadata, entry_text};
use super::log::entry_name;
use super::log::replay::{expect_no_gap, last_listed};
use super::open_tables::OpenTables;
use super::state::LoadedTable;
use super::store::local::LocalStore;
use super::store::table_files::{LOG_FOLDER, TableFiles};
use super::store::{EntryOutcome, TableStore};
use super::warehouse_mark::WarehouseMark;
use super::{
    NewTable, SchemaVersion, TableCareSettings, TableError, TableHandle, TableState, clock, pinned, positions, properties, protocol,
    schema, schema_starts, trash,
};
use crate::failpoint::{self, Point};
use crate::position::Positions;

/// A folder of tables.
#[derive(Clone, Debug)]
pub struct Warehouse {
    store: Arc<dyn TableStore>,
    mark: WarehouseMark,
    care_jobs: Arc<Semaphore>,
    pub(super) open_tables: OpenTables,
    looks: OpenTables,
}

impl Warehouse {
    /// Opens a local folder, by path or `file://` URL; any other scheme is refused. `known_id` is the id that a former process
    /// saw: what is there counts only with that id.
    pub fn open(url_or_path: &str, known_id: Option<String>) -> Result<Self, TableError> {
        Ok(Self::with_store(Arc::new(LocalStore::new(local_folder(url_or_path)?)), known_id))
    }

    /// A warehouse on that store.
    pub(super) fn with_store(store: Arc<dyn TableStore>, known_id: Option<String>) -> Self {
        Self {
            mark: WarehouseMark::new(Arc::clone(&store), known_id),
            store,
            care_jobs: Arc::new(Semaphore::new(CARE_JOBS)),
            open_tables: OpenTables::default(),
            looks: OpenTables::of_looks(),
        }
    }

    /// Keeps other agents out as long as this process runs. Fails with [`TableError::InUse`] where one is in; after any other
    /// failure, or where the warehouse is not there yet, it is taken before the first step that needs it.
    pub async fn keep_others_out(&self) -> Result<(), TableError> {
        let mark = self.mark.clone();
        blocking(&"of any stream", move || mark.keep_others_out()).await
    }

    /// The warehouse's id, from its first sight on: by the first table's creation at the latest. Looks at no storage.
    pub fn known_id(&self) -> Option<&str> {
        self.mark.known()
    }

    /// Where a table is, for people and readers.
    pub fn location(&self, name: &TableName) -> String {
        self.store.location(&folder(name))
    }

    /// Creates a table by its version 0, or returns the state of the one that this stream's uid created before.
    pub async fn create(&self, table: NewTable) -> Result<TableState, TableError> {
        let files = self.files(&table.name);
        blocking(&table.name.clone(), move || create(&files, &table)).await
    }

    /// Opens a table of the stream `uid` and starts its committer and care. Waits until a former handle of it is closed.
    pub async fn open_table(&self, name: &TableName, uid: &str, care: TableCareSettings) -> Result<TableHandle, TableError> {
        let files = self.files(name);
        let claim = self.open_tables.claim(&folder(name), &files).await?;
        let (files_to_read, uid, small_below) = (files.clone(), uid.to_owned(), care.small_below());
        // The claim goes with the work: one that hangs keeps it, also when nobody waits for the work any more.
        let work = move || open(&files_to_read, &uid, small_below).map(|table| (table, Arc::new(claim)));
        let (table, claim) = blocking(name, work).await?;
        let (publish, state) = watch::channel(table.public());
        let (requests, receiver) = mpsc::channel(COMMIT_QUEUE);
        let target_file_bytes = care.target_file_bytes;
        let committer = Committer::new(files.clone(), CareSchedule::new(care, Arc::clone(&self.care_jobs)), publish);
        let held = Arc::clone(&claim);
        let committer = tokio::spawn(async move {
            committer.run(table, receiver).await;
            drop(held);
        });
        Ok(TableHandle::new(files, target_file_bytes, state, requests, committer, claim))
    }

    /// Reads a table of the stream `uid` without opening it.
    pub async fn read_state(&self, name: &TableName, uid: &str) -> Result<TableState, TableError> {
        let (files, uid) = (self.files(name), uid.to_owned());
        let claim = self.looks.claim(&folder(name), &files).await?;
        let work = move || {
            let _claim = claim;
            files.pass(Point::LookBeforeRead)?;
            files.mark().expect(files.table())?;
            LoadedTable::read(&files, &uid, 0).map(|table| table.public())
        };
        blocking(name, work).await
    }

    /// Moves the table of the stream `uid` to the trash, once its handle is closed. A table that is gone, or in the trash
    /// already, is success.
    pub async fn trash(&self, name: &TableName, uid: &str) -> Result<(), TableError> {
        let (store, files, folder, uid) = (Arc::clone(&self.store), self.files(name), folder(name), uid.to_owned());
        let claim = self.open_tables.claim(&folder, &files).await?;
        let work = move || {
            let answer = trash::trash(&*store, &files, &folder, &uid);
            drop(claim);
            answer
        };
        blocking(name, work).await
    }

    /// Moves the table of the stream `uid` back from the trash; refused if the name is taken.
    pub async fn restore(&self, name: &TableName, uid: &str) -> Result<(), TableError> {
        let (store, files, folder, uid) = (Arc::clone(&self.store), self.files(name), folder(name), uid.to_owned());
        let claim = self.open_tables.claim(&folder, &files).await?;
        let work = move || {
            let answer = trash::restore(&*store, &files, &folder, &uid);
            drop(claim);
            answer
        };
        blocking(name, work).await
    }

    /// Whether a table of the stream `uid` is in the trash.
    pub async fn in_trash(&self, uid: &str) -> Result<bool, TableError> {
        let (store, mark, uid) = (Arc::clone(&self.store), self.mark.clone(), uid.to_owned());
        let work = move || {
            mark.expect(trash::TRASH)?;
            trash::holds(&*store, &uid)
        };
        blocking(&trash::TRASH, work).await
    }

    /// Deletes what has been in the trash longer than that; returns the uids. It may take long for tables of many files; where
    /// the future is dropped it ends between two files, and the next call goes on.
    pub async fn purge_trash(&self, older_than: Duration) -> Result<Vec<String>, TableError> {
        let (store, mark) = (Arc::clone(&self.store), self.mark.clone());
        let stopping = CancellationToken::new();
        let _stops_when_dropped = stopping.clone().drop_guard();
        let work = move || {
            mark.expect(trash::TRASH)?;
            trash::purge(&*store, older_than, clock::now_ms(), &|| !stopping.is_cancelled())
        };
        blocking(&trash::TRASH, work).await
    }

    /// The files of a table.
    pub(super) fn files(&self, name: &TableName) -> TableFiles {
        TableFiles::new(Arc::clone(&self.store), self.mark.clone(), folder(name), name.to_string())
    }
}

fn folder(name: &TableName) -> String {
    format!("{}/{}/{}", name.catalog(), name.schema(), name.object())
}

fn local_folder(url_or_path: &str) -> Result<PathBuf, TableError> {
    let unsupported = |message: String| Err(TableError::Unsupported { message });
    if url_or_path.is_empty() {
        return unsupported("the warehouse is empty; give a folder, as in `/var/lib/featurestore/warehouse`".into());
    }
    if !url_or_path.contains("://") {
        let path = PathBuf::from(url_or_path);
        return std::path::absolute(&path)
            .or_else(|error| unsupported(format!("the warehouse `{url_or_path}` is no usable folder: {error}")));
    }
    let Ok(url) = Url::parse(url_or_path) else {
        return unsupported(format!("the warehouse `{url_or_path}` is no URL; give a folder or a `file://` URL"));
    };
    if url.scheme() != "file" {
        return unsupported(format!(
            "the warehouse `{url_or_path}` has the scheme `{}`, and this agent writes only local folders yet; give a folder or a `file://` URL",
            url.scheme()
        ));
    }
    url.to_file_path().or_else(|()| {
        unsupported(format!(
            "the warehouse `{url_or_path}` names no local folder; write it as in `file:///data/warehouse`"
        ))
    })
}

fn open(files: &TableFiles, uid: &str, small_below: u64) -> Result<LoadedTable, TableError> {
    files.mark().expect(files.table())?;
    // A hint at a checkpoint spares the listing, and then nobody sees an entry beyond a gap, which a commit would fill. What is
    // read after the listing reaches at least as far.
    let listed = last_listed(files)?;
    let mut table = LoadedTable::read(files, uid, small_below)?;
    expect_no_gap(files, table.snapshot.version, listed)?;
    // A table of ours is there, so this is the warehouse, also if it came without a mark.
    files.mark().claim(files.table())?;
    doubled::recall(files, &mut table)?;
    // Of all that was read little is kept, whatever the table's age.
    crate::give_back_memory();
    Ok(table)
}

fn create(files: &TableFiles, table: &NewTable) -> Result<TableState, TableError> {
    schema::expect_storable(&table.columns).map_err(|message| TableError::Unsupported { message })?;
    // The uid becomes part of app ids and of a folder's name.
    trash::expect_plain(&table.stream_uid).map_err(|what| files.internal(what))?;
    files.mark().claim(files.table())?;
    if let Some(state) = existing(files, &table.stream_uid)? {
        return Ok(state);
    }
    files.pass(Point::CreateBeforeFolder)?;
    files.create_log_folder()?;
    files.pass(Point::CreateAfterFolder)?;
    let lines = with_commit_info(Operation::Create, &new_commit_id(), &None, first_actions(table), clock::now_ms());
    let text = entry_text(&lines).map_err(|error| files.internal(format!("an entry has no JSON form: {error}")))?;
    let written = failpoint::pass(Point::CreateBeforeEntry)
        .and_then(|()| files.write_entry(&entry_name(0), &text, None))
        .and_then(|outcome| failpoint::pass(Point::CreateAfterEntry).map(|()| outcome));
    match written {
        // Whoever was faster, or whatever the error means: the log tells whose table it is.
        Ok(EntryOutcome::Written(_) | EntryOutcome::VersionTaken) => existing(files, &table.stream_uid)?.ok_or_else(|| files.gone()),
        Ok(EntryOutcome::PreviousChanged) => Err(files.gone()),
        Err(error) => existing(files, &table.stream_uid)?.ok_or_else(|| files.failed("creating the table", error)),
    }
}

/// The state of this stream's table if it is there; an error if anything else is at its place.
fn existing(files: &TableFiles, uid: &str) -> Result<Option<TableState>, TableError> {
    match LoadedTable::read(files, uid, 0) {
        Ok(table) => {
            files.sync_log()?;
            Ok(Some(table.public()))
        }
        Err(TableError::Gone { .. }) if is_free(files)? => Ok(None),
        Err(TableError::Gone { .. }) => Err(files.exists()),
        Err(TableError::Altered { table, what }) => match trash::owner(files) {
            Ok(Some(owner)) if owner == uid => Err(TableError::Altered { table, what }),
            _ => Err(files.exists()),
        },
        Err(error) => Err(error),
    }
}

/// Whether a folder without a log is free: not there, or left by a create that broke off.
fn is_free(files: &TableFiles) -> Result<bool, TableError> {
    let mut free = true;
    files.list("", &mut |listed| free = free && listed.name == LOG_FOLDER)?;
    Ok(free)
}

fn first_actions(table: &NewTable) -> Vec<Action> {
    let now_ms = clock::now_ms();
    let mut configuration = properties::of_new_table(&table.stream_uid, table.generation, &table.source, table.history);
    let (before, nowhere) = (0, Positions::new());
    // Whatever came before it, a new table begins it.
    let schemas = SchemaVersion {
        generation: table.generation,
        ..table.schemas
    };
    schema_starts::add(&mut configuration, &[], schemas, (before, &nowhere), &table.positions);
    if let Some(versions) = &table.registry {
        pinned::set(&mut configuration, versions);
    }
    let metadata = Metadata {
        id: uuid::Uuid::new_v4().to_string(),
        name: Some(table.name.to_string()),
        description: None,
        format: Format::default(),
        schema_string: schema::schema_text(&table.columns),
        partition_columns: Vec::new(),
        configuration,
        created_time: Some(now_ms),
    };
    let mut actions: Vec<Action> = vec![protocol::for_columns(&table.columns).into(), metadata.into()];
    actions.extend(
        positions::txns(&table.stream_uid, &nowhere, &table.positions, now_ms)
            .into_iter()
            .map(Action::from),
    );
    actions
}

/// Runs blocking work; a panic in it is an error of ours.
async fn blocking<T: Send + 'static>(
    table: &impl ToString,
    work: impl FnOnce() -> Result<T, TableError> + Send + 'static,
) -> Result<T, TableError> {
    let broke_off = |error: tokio::task::JoinError| TableError::Internal {
        table: table.to_string(),
        message: format!("a step broke off: {error}"),
    };
    tokio::task::spawn_blocking(work).await.map_err(broke_off)?
}
