//! Wires the agent together, runs it until it is told to stop, and takes it down in order: calls end, pipelines make
//! their last commits, the database is closed.

use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;

use agent_control::connections::{ConnectionChanges, StoreResolver};
use agent_control::governance::LocalAdminOnly;
use agent_control::http;
use agent_control::reconcile::backoff::Backoff;
use agent_control::reconcile::pipeline_engine::LocalEngine;
use agent_control::reconcile::{Reconciler, ReconcilerSettings};
use agent_control::services::{Services, ServicesSettings};
use agent_control::store::Store;
use agent_control::store::sqlite::SqliteStore;
use anyhow::Context;
use stream_pipeline::engine::{Engine, EngineSettings};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::limits::SHUTDOWN_WAIT;
use crate::logs;

/// Runs the agent until SIGTERM or SIGINT.
pub(crate) fn run(config: Config) -> anyhow::Result<()> {
    logs::start(config.log_format, &config.log_level)?;
    config.check()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let outcome = runtime.block_on(serve(config));
    // Threads that are inside a system call are not waited for: everything that must be durable is by now.
    runtime.shutdown_background();
    outcome
}

async fn serve(config: Config) -> anyhow::Result<()> {
    // First of all, so that a signal during the start is not lost.
    let stopping = stop_on_signals()?;
    create_private_folder(&config.data_dir)?;
    let database = config.data_dir.join("agent.db");
    let sqlite = Arc::new(SqliteStore::open(&database).await.context("cannot open the agent's database")?);
    let store: Arc<dyn Store> = sqlite.clone();
    let connection_changes = Arc::new(ConnectionChanges::default());
    let resolver = Arc::new(StoreResolver::new(store.clone(), connection_changes.clone()));
    let mut settings = engine_settings(&config);
    settings.warehouse_id = store.warehouse_id().await.context("cannot read the agent's database")?;
    let engine = Engine::new(settings, resolver).context("cannot open the warehouse")?;
    let engine = Arc::new(LocalEngine::new(engine, store.clone()));
    let listener = TcpListener::bind(config.listen)
        .await
        .with_context(|| format!("cannot listen on {}; choose another address with --listen", config.listen))?;
    let address = listener.local_addr().context("cannot tell the port that was taken")?;

    let settings = ReconcilerSettings {
        trash_retention: config.trash_retention,
        backoff: Backoff::default(),
    };
    let reconciler = Reconciler::start(store.clone(), engine.clone(), settings);
    let services = Services::new(ServicesSettings {
        store,
        engine,
        reconciler: reconciler.handle(),
        connection_changes,
        authorizer: Arc::new(LocalAdminOnly),
        trash_retention: config.trash_retention,
        version: env!("CARGO_PKG_VERSION"),
        stopping: stopping.clone(),
    });
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        %address,
        data_dir = %config.data_dir.display(),
        warehouse = config.warehouse,
        "agent started without authentication, for this machine only"
    );
    announce(&format!("ready: listening on http://{address}"))?;
    let served = http::serve(listener, http::router(&services), stopping.clone()).await;
    // Also when serving ended by itself: whoever waits inside must not wait on.
    stopping.cancel();
    let down = async {
        reconciler.shut_down().await;
        sqlite.close().await;
    };
    if tokio::time::timeout(SHUTDOWN_WAIT, down).await.is_err() {
        tracing::warn!(wait = ?SHUTDOWN_WAIT, "streams did not stop in time; what was in flight is read again at the next start");
    }
    tracing::info!("agent stopped");
    served.context("cannot serve")
}

fn engine_settings(config: &Config) -> EngineSettings {
    let mut settings = EngineSettings::new(config.warehouse.clone());
    if let Some(interval) = config.discovery_interval {
        settings.discovery_interval = interval;
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
