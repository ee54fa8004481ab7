//! The embedded database: SQLite in WAL mode with full synchronisation, behind one thread of its own.
//!
//! This file owns the thread, the file and its settings; statements are in `streams.rs`, `connections.rs`,
//! `documents.rs`, `secrets.rs` and `facts.rs`, the schema and its versions in `migrations.rs`. The invariant: one connection, one thread, each job one transaction, so that
//! a job that was answered is on disk.

mod audit;
mod connections;
mod documents;
mod facts;
mod file;
mod grants;
mod migrations;
mod scope_keys;
mod secrets;
mod streams;
#[cfg(test)]
mod tests;
mod tokens;
mod users;

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use stream_pipeline::failpoint::{self, Point};
use stream_spec::name::{ConnectionName, StreamName, TableName};
use tokio::sync::{mpsc, oneshot};

use super::documents::{DocumentKind, GrantsRecord, StoredDocument};
use super::records::{ConnectionRecord, DeclaredStream, ObservedStream, StreamRecord};
use super::{DeletedConnection, InsertedStream, LiteralSecrets, Parent, Replaced, Store, StoreError, WrittenGrants};
use crate::governance::privilege::SecurableType;
use crate::limits::{DATABASE_BUSY_WAIT, STORE_JOBS_MAX};

/// Points of failure around every write of a document.
const DOCUMENT_POINTS: (Point, Point) = (Point::StoreBeforeDocument, Point::StoreAfterDocument);

/// Work for the database's thread.
enum Job {
    Run(Box<dyn FnOnce(&mut Connection) + Send>),
    Close(oneshot::Sender<()>),
}

/// A store in one SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    jobs: mpsc::Sender<Job>,
}

impl SqliteStore {
    /// Opens the file, creates it if it is not there, and brings its schema up to date. The file belongs to this store
    /// until it is closed or its process ends.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let (jobs, queue) = mpsc::channel(STORE_JOBS_MAX);
        let (opened, when_opened) = oneshot::channel();
        let path = path.to_owned();
        std::thread::Builder::new()
            .name("store".into())
            .spawn(move || match open_connection(&path) {
                Ok(connection) => {
                    if opened.send(Ok(())).is_ok() {
                        run_jobs(connection, queue);
                    }
                }
                // The opener gave up waiting: nobody is left to tell.
                Err(error) => drop(opened.send(Err(error))),
            })
            .map_err(|source| StoreError::Database {
                action: "start the database's thread",
                source: Box::new(source),
            })?;
        when_opened.await.map_err(|_| StoreError::Closed)??;
        Ok(Self { jobs })
    }

    /// Closes the file after the jobs that are queued. Later calls answer `StoreError::Closed`.
    pub async fn close(&self) {
        let (closed, when_closed) = oneshot::channel();
        // An error on either way means that the thread has ended already, which is what is wanted.
        if self.jobs.send(Job::Close(closed)).await.is_ok() {
            drop(when_closed.await);
        }
    }

    /// Writes the file anew without what was deleted from it, and empties its log: copies of secrets under a former key are gone
    /// then. Takes the time and the room of one copy of the file.
    pub async fn compact(&self) -> Result<(), StoreError> {
        let (answer, when_answered) = oneshot::channel();
        let job = Job::Run(Box::new(move |connection| {
            let compacted = file::compact(connection).map_err(|source| StoreError::Database {
                action: "write the database anew without what was deleted",
                source: Box::new(source),
            });
            // The caller went away; it is done all the same.
            drop(answer.send(compacted));
        }));
        self.jobs.send(job).await.map_err(|_| StoreError::Closed)?;
        when_answered.await.map_err(|_| StoreError::Closed)?
    }

    /// Runs `work`, which changes something, between two points of failure, and with it the audit event of the call that is on.
    async fn change<T, F>(&self, action: &'static str, (before, after): (Point, Point), work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Transaction<'_>) -> Result<T, WorkError> + Send + 'static,
    {
        let at = |point| {
            failpoint::pass(point).map_err(|source| StoreError::Database {
                action,
                source: Box::new(source),
            })
        };
        let event = crate::audit::pending();
        let is_audited = event.is_some();
        at(before)?;
        let (changed, took_event) = self
            .run(action, move |transaction| {
                let before = transaction.total_changes();
                let changed = work(transaction)?;
                // What changes nothing is audited when its call ends, with what came of it.
                let takes_event = is_audited && transaction.total_changes() != before;
                if let (true, Some(event)) = (takes_event, event) {
                    audit::append_with_change(transaction, &event)?;
                }
                Ok((changed, takes_event))
            })
            .await?;
        if took_event {
            crate::audit::written();
        }
        at(after)?;
        Ok(changed)
    }

    /// Runs `work` as one transaction on the database's thread.
    async fn run<T, F>(&self, action: &'static str, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Transaction<'_>) -> Result<T, WorkError> + Send + 'static,
    {
        let (answer, when_answered) = oneshot::channel();
        let job = Job::Run(Box::new(move |connection| {
            let result = transact(connection, work).map_err(|error| error.into_store_error(action));
            // The caller went away; what it asked for is done all the same.
            drop(answer.send(result));
        }));
        self.jobs.send(job).await.map_err(|_| StoreError::Closed)?;
        when_answered.await.map_err(|_| StoreError::Closed)?
    }
}

/// Why a transaction's work failed: the database, or bytes in it.
#[derive(Debug)]
enum WorkError {
    Database(rusqlite::Error),
    Store(StoreError),
}

impl From<rusqlite::Error> for WorkError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl From<StoreError> for WorkError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl WorkError {
    fn into_store_error(self, action: &'static str) -> StoreError {
        match self {
            Self::Database(source) => StoreError::Database {
                action,
                source: Box::new(source),
            },
            Self::Store(error) => error,
        }
    }
}

fn transact<T>(connection: &mut Connection, work: impl FnOnce(&Transaction<'_>) -> Result<T, WorkError>) -> Result<T, WorkError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let result = work(&transaction)?;
    transaction.commit()?;
    Ok(result)
}

fn run_jobs(mut connection: Connection, mut queue: mpsc::Receiver<Job>) {
    while let Some(job) = queue.blocking_recv() {
        match job {
            Job::Run(work) => work(&mut connection),
            Job::Close(closed) => {
                // A failure to tidy up the log on the way out costs the next start a moment, nothing else.
                drop(connection.close());
                let _: Result<(), ()> = closed.send(());
                return;
            }
        }
    }
}

fn open_connection(path: &Path) -> Result<Connection, StoreError> {
    let shown = || path.display().to_string();
    let failed = |source: rusqlite::Error| match source.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::InUse { path: shown() },
        _ => StoreError::Database {
            action: "open the database",
            source: Box::new(source),
        },
    };
    file::make_private(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(DATABASE_BUSY_WAIT).map_err(failed)?;
    // Exclusive locking makes a second agent on the same folder fail at its start, before it can do harm.
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE").map_err(failed)?;
    connection.pragma_update(None, "journal_mode", "WAL").map_err(failed)?;
    connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    connection.pragma_update(None, "foreign_keys", "ON").map_err(failed)?;
    // What is deleted is overwritten: a former secret must not lie about in the file.
    connection.pragma_update(None, "secure_delete", "ON").map_err(failed)?;
    connection.execute_batch("BEGIN EXCLUSIVE; COMMIT").map_err(failed)?;
    let path = PathBuf::from(path);
    migrations::migrate(&mut connection, &path)?;
    Ok(connection)
}

#[async_trait]
impl Store for SqliteStore {
    async fn insert_stream(&self, uid: &str, declared: &DeclaredStream) -> Result<InsertedStream, StoreError> {
        let (uid, declared) = (uid.to_owned(), declared.clone());
        self.change(
            "insert a stream",
            (Point::StoreBeforeInsert, Point::StoreAfterInsert),
            move |transaction| streams::insert(transaction, &uid, &declared),
        )
        .await
    }

    async fn stream_by_name(&self, name: &StreamName) -> Result<Option<StreamRecord>, StoreError> {
        let name = name.clone();
        self.run("read a stream", move |transaction| streams::by_name(transaction, name.as_str()))
            .await
    }

    async fn stream_by_uid(&self, uid: &str) -> Result<Option<StreamRecord>, StoreError> {
        let uid = uid.to_owned();
        self.run("read a stream", move |transaction| streams::by_uid(transaction, &uid))
            .await
    }

    async fn stream_of_table(&self, table: &TableName) -> Result<Option<StreamName>, StoreError> {
        let table = table.clone();
        self.run("read a stream", move |transaction| streams::of_table(transaction, table.as_str()))
            .await
    }

    async fn list_streams(&self, parent: &Parent, after: Option<&str>, limit: usize) -> Result<Vec<StreamRecord>, StoreError> {
        let (parent, after) = (parent.clone(), after.map(str::to_owned));
        self.run("list streams", move |transaction| {
            streams::list(transaction, &parent, after.as_deref(), limit)
        })
        .await
    }

    async fn stream_uids(&self) -> Result<Vec<String>, StoreError> {
        self.run("list streams", streams::uids).await
    }

    async fn declare_stream(&self, uid: &str, revision: u64, declared: &DeclaredStream) -> Result<Replaced, StoreError> {
        let (uid, declared) = (uid.to_owned(), declared.clone());
        self.change(
            "change a stream",
            (Point::StoreBeforeDeclare, Point::StoreAfterDeclare),
            move |transaction| streams::declare(transaction, &uid, revision, &declared),
        )
        .await
    }

    async fn observe_stream(&self, uid: &str, observed: &ObservedStream) -> Result<(), StoreError> {
        let (uid, observed) = (uid.to_owned(), observed.clone());
        self.change(
            "write a stream's status",
            (Point::StoreBeforeObserve, Point::StoreAfterObserve),
            move |transaction| streams::observe(transaction, &uid, &observed),
        )
        .await
    }

    async fn forget_stream(&self, uid: &str) -> Result<(), StoreError> {
        let uid = uid.to_owned();
        self.change(
            "remove a stream",
            (Point::StoreBeforeForget, Point::StoreAfterForget),
            move |transaction| streams::forget(transaction, &uid),
        )
        .await
    }

    async fn insert_connection(&self, record: &ConnectionRecord, secrets: &LiteralSecrets) -> Result<bool, StoreError> {
        let (record, secrets) = (record.clone(), secrets.clone());
        self.change(
            "insert a connection",
            (Point::StoreBeforeConnection, Point::StoreAfterConnection),
            move |transaction| connections::insert(transaction, &record, &secrets),
        )
        .await
    }

    async fn connection(&self, name: &ConnectionName) -> Result<Option<ConnectionRecord>, StoreError> {
        let name = name.clone();
        self.run("read a connection", move |transaction| {
            connections::by_name(transaction, name.as_str())
        })
        .await
    }

    async fn list_connections(&self, after: Option<&str>, limit: usize) -> Result<Vec<ConnectionRecord>, StoreError> {
        let after = after.map(str::to_owned);
        self.run("list connections", move |transaction| {
            connections::list(transaction, after.as_deref(), limit)
        })
        .await
    }

    async fn replace_connection(
        &self,
        generation: u64,
        record: &ConnectionRecord,
        secrets: &LiteralSecrets,
    ) -> Result<Replaced, StoreError> {
        let (record, secrets) = (record.clone(), secrets.clone());
        self.change(
            "change a connection",
            (Point::StoreBeforeConnection, Point::StoreAfterConnection),
            move |transaction| connections::replace(transaction, generation, &record, &secrets),
        )
        .await
    }

    async fn delete_connection(&self, name: &ConnectionName, uid: &str, even_if_used: bool) -> Result<DeletedConnection, StoreError> {
        let (name, uid) = (name.clone(), uid.to_owned());
        self.change(
            "delete a connection",
            (Point::StoreBeforeConnection, Point::StoreAfterConnection),
            move |transaction| connections::delete(transaction, &name, &uid, even_if_used),
        )
        .await
    }

    async fn streams_on_connection(&self, name: &ConnectionName, limit: usize) -> Result<Vec<StreamName>, StoreError> {
        let name = name.clone();
        self.run("list a connection's streams", move |transaction| {
            streams::on_connection(transaction, name.as_str(), limit)
        })
        .await
    }

    async fn insert_document(&self, kind: DocumentKind, document: &StoredDocument) -> Result<bool, StoreError> {
        let document = document.clone();
        self.change("insert a document", DOCUMENT_POINTS, move |transaction| {
            documents::insert(transaction, kind, &document)
        })
        .await
    }

    async fn document(&self, kind: DocumentKind, name: &str) -> Result<Option<StoredDocument>, StoreError> {
        let name = name.to_owned();
        self.run("read a document", move |transaction| documents::by_name(transaction, kind, &name))
            .await
    }

    async fn documents_named(&self, kind: DocumentKind, names: &[String]) -> Result<Vec<StoredDocument>, StoreError> {
        let names = names.to_vec();
        self.run("read documents", move |transaction| documents::named(transaction, kind, &names))
            .await
    }

    async fn list_documents(
        &self,
        kind: DocumentKind,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<StoredDocument>, StoreError> {
        let (prefix, after) = (prefix.to_owned(), after.map(str::to_owned));
        self.run("list documents", move |transaction| {
            documents::list(transaction, kind, &prefix, after.as_deref(), limit)
        })
        .await
    }

    async fn replace_document(&self, kind: DocumentKind, generation: u64, document: &StoredDocument) -> Result<Replaced, StoreError> {
        let document = document.clone();
        self.change("change a document", DOCUMENT_POINTS, move |transaction| {
            documents::replace(transaction, kind, generation, &document)
        })
        .await
    }

    async fn delete_document(&self, kind: DocumentKind, generation: u64, name: &str) -> Result<Replaced, StoreError> {
        let name = name.to_owned();
        self.change("delete a document", DOCUMENT_POINTS, move |transaction| {
            documents::delete(transaction, kind, generation, &name)
        })
        .await
    }

    async fn life(&self, securable_type: SecurableType, name: &str) -> Result<Option<String>, StoreError> {
        let name = name.to_owned();
        self.run("read what has a name", move |transaction| {
            grants::life(transaction, securable_type, &name)
        })
        .await
    }

    async fn set_grants(&self, planned: Option<u64>, life: &str, record: &GrantsRecord) -> Result<WrittenGrants, StoreError> {
        let (life, record) = (life.to_owned(), record.clone());
        self.change("set grants", DOCUMENT_POINTS, move |transaction| {
            grants::set(transaction, planned, &life, &record)
        })
        .await
    }

    async fn warehouse_id(&self) -> Result<Option<String>, StoreError> {
        self.run("read the warehouse's id", facts::warehouse_id).await
    }

    async fn remember_warehouse(&self, id: &str) -> Result<(), StoreError> {
        let id = id.to_owned();
        self.change(
            "write the warehouse's id",
            (Point::StoreBeforeWarehouse, Point::StoreAfterWarehouse),
            move |transaction| facts::remember_warehouse(transaction, &id),
        )
        .await
    }

    async fn check(&self) -> Result<(), StoreError> {
        self.run("read the database", |transaction| {
            transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
            Ok(())
        })
        .await
    }
}
