//! Wires the agent together, runs it until it is told to stop, and takes it down in order: calls end, pipelines make
//! their last commits, the database is closed. Invariant: once told to stop, the process ends within a bound, whatever hangs.

use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use agent_control::audit::ship::{Pace, Shipper, SystemTables};
use agent_control::connections::{ConnectionChanges, GovernedResolver, StoreResolver};
use agent_control::governance::GrantAuthorizer;
use agent_control::governance::authentication::oidc::Oidc;
use agent_control::governance::authentication::{Authenticator, Directory, Door, admin};
use agent_control::governance::credentials::AwsCredentials;
use agent_control::governance::private_folders::PrivateFolders;
use agent_control::governance::secrets::Vault;
use agent_control::http;
use agent_control::http::tls::Certificates;
use agent_control::reconcile::backoff::Backoff;
use agent_control::reconcile::pipeline_engine::LocalEngine;
use agent_control::reconcile::{Reconciler, ReconcilerSettings};
use agent_control::services::{Services, ServicesSettings};
use agent_control::store::Store;
use agent_control::store::sqlite::SqliteStore;
use anyhow::Context;
use stream_pipeline::engine::{Engine, EngineSettings};
use stream_pipeline::table::TableError;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::limits::{BLOCKING_THREADS_MAX, SHUTDOWN_WAIT, STOPPED_WITHIN, WAREHOUSE_LOOK_AGAIN, WAREHOUSE_WAIT};
use crate::{logs, master_key};

/// How the agent ended that was told to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Every stream came to its end in time, and what it had in hand is committed.
    InOrder,
    /// A last commit failed, which the log says, or something hung, and the wait for it is over. What was in flight is read again
    /// at the next start.
    CutShort,
}

/// Runs the agent until SIGTERM or SIGINT.
pub(crate) fn run(config: Config) -> anyhow::Result<Ended> {
    logs::start(config.log_format, &config.log_level)?;
    config.check()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS_MAX)
        .build()
        .context("cannot start the runtime")?;
    let outcome = runtime.block_on(serve_within_the_bound(config));
    // Threads that are inside a system call are not waited for: everything that must be durable is by now.
    runtime.shutdown_background();
    outcome
}

async fn serve_within_the_bound(config: Config) -> anyhow::Result<Ended> {
    // First of all, so that a signal during the start is not lost.
    let stopping = stop_on_signals()?;
    // In a task of its own, so that whatever hangs in it does not keep the bound from being looked at.
    let serving = tokio::spawn(serve(config, stopping.clone()));
    let bound = async {
        stopping.cancelled().await;
        tokio::time::sleep(STOPPED_WITHIN).await;
    };
    tokio::select! {
        outcome = serving => outcome.context("the agent broke off")?,
        () = bound => {
            tracing::warn!(wait = ?STOPPED_WITHIN, "the agent did not stop in time; what was in flight is read again at the next start");
            Ok(Ended::CutShort)
        }
    }
}

async fn serve(config: Config, stopping: CancellationToken) -> anyhow::Result<Ended> {
    // A folder that does not answer must not hang a worker: with one processor that is the only one, and it looks at signals too.
    let folder = config.data_dir.clone();
    tokio::task::spawn_blocking(move || create_private_folder(&folder))
        .await
        .context("making the data folder broke off")??;
    let database = config.data_dir.join("agent.db");
    let sqlite = Arc::new(SqliteStore::open(&database).await.context("cannot open the agent's database")?);
    let store: Arc<dyn Store> = sqlite.clone();
    let vault = Vault::new(store.clone(), master_key::at_start(&config, &store).await?);
    master_key::warn_of_lost_keys(&vault).await?;
    let connection_changes = Arc::new(ConnectionChanges::default());
    let directory = Arc::new(Directory::new(config.groups.clone()).with_issuers(config.access.issuers()));
    let aws = Arc::new(AwsCredentials::default());
    let resolver = StoreResolver::new(store.clone(), vault.clone(), aws.clone(), connection_changes.clone());
    let mut settings = engine_settings(&config);
    let watching_files = tokio::spawn(resolver.clone().watch_files(settings.discovery_interval, stopping.clone()));
    let resolver = Arc::new(GovernedResolver::new(resolver, directory.clone()));
    settings.warehouse_id = store.warehouse_id().await.context("cannot read the agent's database")?;
    let engine = Engine::new(settings, resolver).context("cannot open the warehouse")?;
    keep_others_out(&engine).await?;
    let engine = Arc::new(LocalEngine::new(engine, store.clone()));
    let listener = TcpListener::bind(config.listen)
        .await
        .with_context(|| format!("cannot listen on {}; choose another address with --listen", config.listen))?;
    let address = listener.local_addr().context("cannot tell the port that was taken")?;

    let changes = connection_changes.clone();
    let door = open_door(&config, &store, &directory).await?;
    // A pipeline looks at what its identity holds when it looks at its connection.
    let door = Arc::new(door.telling_of_other_groups(move || changes.announce_all()));
    let refusals = door.refusals();
    let certificates = certificates(&config).await?;
    let watching = certificates
        .clone()
        .map(|certificates| tokio::spawn(certificates.watch(stopping.clone())));
    let port = http::PortSettings {
        authenticator: door,
        loopback: config.listen.ip().is_loopback(),
        encrypted: certificates.is_some(),
    };
    let scheme = if port.encrypted { "https" } else { "http" };

    let settings = ReconcilerSettings {
        trash_retention: config.trash_retention,
        backoff: Backoff::default(),
    };
    let reconciler = Reconciler::start(store.clone(), engine.clone(), settings);
    let audit_tables = config.audit_table.then(|| engine.clone() as Arc<dyn SystemTables>);
    let shipper = Shipper::start(store.clone(), refusals, audit_tables, Pace::default());
    let authorizer = Arc::new(GrantAuthorizer::new(store.clone()));
    let services = Services::new(ServicesSettings {
        store,
        engine,
        reconciler: reconciler.handle(),
        connection_changes,
        authorizer,
        directory,
        vault,
        aws,
        private_folders: private_folders(&config),
        trash_retention: config.trash_retention,
        version: env!("CARGO_PKG_VERSION"),
        stopping: stopping.clone(),
    });
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        %address,
        data_dir = %config.data_dir.display(),
        warehouse = config.warehouse,
        authentication = !config.access.insecure_local,
        "agent started"
    );
    announce(&format!("ready: listening on {scheme}://{address}"))?;
    http::serve(listener, certificates, http::router(&services, port), stopping.clone()).await;
    // They may hang in a folder that does not answer, and have nothing to finish.
    for watching in watching.into_iter().chain([watching_files]) {
        watching.abort();
    }
    let down = async {
        // No call is on any more: these are the last events.
        let (in_order, ()) = tokio::join!(reconciler.shut_down(), shipper.shut_down());
        sqlite.close().await;
        in_order
    };
    let ended = match tokio::time::timeout(SHUTDOWN_WAIT, down).await {
        Ok(true) => Ended::InOrder,
        Ok(false) => Ended::CutShort,
        Err(_) => {
            tracing::warn!(wait = ?SHUTDOWN_WAIT, "streams did not stop in time; what was in flight is read again at the next start");
            Ended::CutShort
        }
    };
    tracing::info!(?ended, "agent stopped");
    Ok(ended)
}

/// Takes the warehouse for this agent. A former agent that is just ending is waited for; one that goes on is an error. Storage
/// that is not there, or fails, is for the streams to wait for: they take the warehouse before they use it.
async fn keep_others_out(engine: &Engine) -> anyhow::Result<()> {
    let until = Instant::now() + WAREHOUSE_WAIT;
    loop {
        match tokio::time::timeout(WAREHOUSE_WAIT, engine.keep_others_out()).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error @ TableError::InUse { .. })) if Instant::now() >= until => return Err(error).context("cannot start"),
            Ok(Err(TableError::InUse { .. })) => tokio::time::sleep(WAREHOUSE_LOOK_AGAIN).await,
            Ok(Err(error)) => {
                tracing::warn!(%error, "the warehouse cannot be used yet; its streams wait for it");
                return Ok(());
            }
            Err(_) => {
                tracing::warn!(wait = ?WAREHOUSE_WAIT, "the warehouse's storage does not answer; its streams wait for it");
                return Ok(());
            }
        }
    }
}

/// Finds out who calls. Whoever must show who they are finds the admin token in the data folder.
async fn open_door(config: &Config, store: &Arc<dyn Store>, directory: &Arc<Directory>) -> anyhow::Result<Authenticator> {
    let door = if config.access.insecure_local {
        tracing::warn!("callers are not asked who they are: whoever reaches this machine's port may do everything");
        Door::Open
    } else {
        let file = admin::ensure(store, &config.data_dir).await?;
        announce(&format!("admin token: {}", file.display()))?;
        Door::Closed
    };
    let oidc = Oidc::new(config.access.issuers()).context("cannot use an [[oidc]] of the configuration")?;
    Ok(Authenticator::new(store.clone(), directory.clone(), oidc, door))
}

/// The certificates to serve with, if there are any.
async fn certificates(config: &Config) -> anyhow::Result<Option<Arc<Certificates>>> {
    let Some(files) = config.access.tls() else { return Ok(None) };
    let loaded = tokio::task::spawn_blocking(move || Certificates::load(files)).await;
    let loaded = loaded.context("reading the certificates broke off")?;
    Ok(Some(Arc::new(loaded.context("cannot serve TLS")?)))
}

fn engine_settings(config: &Config) -> EngineSettings {
    let mut settings = EngineSettings::new(config.warehouse.clone());
    if let Some(interval) = config.discovery_interval {
        settings.discovery_interval = interval;
    }
    if let Some(clients) = config.kafka_clients_max {
        settings.kafka_clients_max = usize::try_from(clients.get()).unwrap_or(usize::MAX);
    }
    if let Some(interval) = config.registry_restart_interval {
        settings.registry_restart_interval = interval;
    }
    if let Some(history) = config.table_history {
        settings.table_care.history = history;
    }
    if let Some(commits) = config.table_checkpoint_commits {
        settings.table_care.checkpoint_every_commits = commits.get().into();
    }
    if let Some(files) = config.table_compact_files {
        settings.table_care.compact_at_files = usize::try_from(files.get()).unwrap_or(usize::MAX);
    }
    settings
}

/// Where no volume may lie.
fn private_folders(config: &Config) -> PrivateFolders {
    let folders = PrivateFolders::default()
        .with("the data folder", &config.data_dir)
        .with("the warehouse", &config.warehouse);
    match config.master_key.folder() {
        Some(folder) => folders.with("the folder of the master key", folder),
        None => folders,
    }
}

/// A token that SIGTERM or SIGINT cancels.
fn stop_on_signals() -> anyhow::Result<CancellationToken> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    let stopping = CancellationToken::new();
    let token = stopping.clone();
    tokio::spawn(async move {
        let name = tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        };
        tracing::info!(signal = name, "stopping");
        token.cancel();
    });
    Ok(stopping)
}

/// The database knows every connection: nobody else on the machine need read it.
fn create_private_folder(folder: &Path) -> anyhow::Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .with_context(|| {
            format!(
                "cannot create the data folder {}; choose another one with --data-dir",
                folder.display()
            )
        })
}

/// A line on standard output. Whoever started the agent may have closed it.
pub(crate) fn announce(line: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match writeln!(stdout, "{line}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error).context("cannot write to standard output"),
        _ => Ok(()),
    }
}
