//! A stream's whole life on librdkafka's mock cluster: made, run, stopped, run again. With a real broker: the e2e tests.

use std::sync::Arc;

use async_trait::async_trait;
use stream_spec::stream::ConnectionConfig;
use tokio::sync::watch;

use super::RunningStream;
use super::tests::{definition, evolved, wait_for};
use crate::connection::{ClientProperties, ConnectionResolver};
use crate::engine::{Engine, EngineSettings, StreamDefinition};
use crate::error::PipelineError;
use crate::kafka::testing::{Cluster, TOPIC, partition};
use crate::position::Position;
use crate::status::PipelineStatus;

struct AtCluster(ClientProperties, watch::Sender<u64>);

#[async_trait]
impl ConnectionResolver for AtCluster {
    async fn open(&self, _connection: &ConnectionConfig) -> Result<ClientProperties, PipelineError> {
        Ok(self.0.clone())
    }

    fn changes(&self, _connection: &ConnectionConfig) -> watch::Receiver<u64> {
        self.1.subscribe()
    }
}

struct Place {
    cluster: Cluster,
    engine: Arc<Engine>,
    _folder: tempfile::TempDir,
}

impl Place {
    fn new(cluster: Cluster) -> Self {
        let folder = tempfile::tempdir().expect("folder");
        let settings = EngineSettings::new(folder.path().to_string_lossy());
        let resolver = AtCluster(cluster.properties(), watch::Sender::new(0));
        Self {
            engine: Engine::new(settings, Arc::new(resolver)).expect("engine"),
            cluster,
            _folder: folder,
        }
    }

    fn send(&self, number: i64) {
        let payload = format!(r#"{{"id": {number}, "name": "n"}}"#);
        self.cluster.send(0, Some("k"), Some(&payload));
    }

    async fn run(&self, definition: StreamDefinition, rows: i64) -> RunningStream {
        let stream = self.engine.start(definition);
        wait_for(&stream, "all rows", |status| {
            rows_of(status) == rows && status.conditions.is_empty()
        })
        .await;
        stream
    }
}

fn rows_of(status: &PipelineStatus) -> i64 {
    status.table.as_ref().map_or(-1, |table| table.rows)
}

/// Makes a stream, runs it, redefines it, stops it, and runs it again.
async fn check_life(cluster: Cluster, has_ids: bool) {
    let place = Place::new(cluster);
    place.send(1);
    let made = place.engine.provision(&definition()).await.expect("made");
    assert_eq!(made.positions.get(&partition(0)), Some(&Position::new(1, 0)));
    assert_eq!(made.source.topic_ids.contains_key(TOPIC), has_ids);
    place.send(2);
    let stream = place.run(definition(), 1).await;
    place.send(3);
    wait_for(&stream, "the second row", |status| rows_of(status) == 2).await;
    stream.redefine(evolved(definition()));
    wait_for(&stream, "the second definition", |status| status.generation == 2).await;
    place.send(4);
    wait_for(&stream, "the third row", |status| rows_of(status) == 3).await;
    stream.stop().await;
    place.send(5);
    let stream = place.run(evolved(definition()), 4).await;
    stream.stop().await;
}

#[tokio::test]
async fn a_stream_lives_on_a_mock_cluster() {
    check_life(Cluster::new(1), true).await;
}

#[tokio::test]
async fn a_stream_lives_where_topics_have_no_ids() {
    check_life(Cluster::without_topic_ids(1), false).await;
}
