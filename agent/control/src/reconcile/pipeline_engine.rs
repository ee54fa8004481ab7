//! The pipeline package as the reconciler's engine. The only file that knows both.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use stream_pipeline::engine::{Engine, StreamDefinition};
use stream_pipeline::error::PipelineError;
use stream_pipeline::status::PipelineStatus;
use stream_pipeline::stream::RunningStream;
use stream_pipeline::table::{TableError, TableState};
use stream_spec::name::TableName;
use tokio::sync::watch;

use super::engine::{PipelineEngine, RunningPipeline};

/// The engine that this agent runs streams with.
pub struct LocalEngine {
    engine: Arc<Engine>,
}

impl LocalEngine {
    /// Streams run in this process.
    pub fn new(engine: Arc<Engine>) -> Self {
        Self { engine }
    }
}

#[async_trait]
impl PipelineEngine for LocalEngine {
    async fn provision(&self, definition: &StreamDefinition) -> Result<TableState, PipelineError> {
        self.engine.provision(definition).await
    }

    fn start(&self, definition: StreamDefinition) -> Arc<dyn RunningPipeline> {
        let stream = self.engine.start(definition);
        Arc::new(LocalPipeline {
            status: stream.status(),
            stream: Mutex::new(Some(stream)),
        })
    }

    async fn table_state(&self, table: &TableName, uid: &str) -> Result<TableState, TableError> {
        self.engine.table_state(table, uid).await
    }

    async fn trash(&self, table: &TableName, uid: &str) -> Result<(), TableError> {
        self.engine.trash(table, uid).await
    }

    async fn restore(&self, table: &TableName, uid: &str) -> Result<(), TableError> {
        self.engine.restore(table, uid).await
    }

    async fn in_trash(&self, uid: &str) -> Result<bool, TableError> {
        self.engine.in_trash(uid).await
    }

    async fn purge_trash(&self, older_than: Duration) -> Result<usize, TableError> {
        self.engine.purge_trash(older_than).await.map(|uids| uids.len())
    }

    fn location(&self, table: &TableName) -> String {
        self.engine.location(table)
    }
}

/// A stream in this process. It has a status after it was stopped, too.
struct LocalPipeline {
    status: watch::Receiver<PipelineStatus>,
    stream: Mutex<Option<RunningStream>>,
}

#[async_trait]
impl RunningPipeline for LocalPipeline {
    fn status(&self) -> watch::Receiver<PipelineStatus> {
        self.status.clone()
    }

    fn redefine(&self, definition: StreamDefinition) {
        if let Some(stream) = self.stream.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            stream.redefine(definition);
        }
    }

    async fn stop(&self) {
        let stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(stream) = stream {
            stream.stop().await;
        }
    }
}
