//! A Kafka cluster in this process for tests: librdkafka's own mock, and how to write to it and read from it.
//!
//! The mock knows no transactions, no deletion of topics and no security: those are tested end to end with a real broker.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseProducer, BaseRecord, DefaultProducerContext, Producer};
use rdkafka::types::RDKafkaApiKey;

use super::batch::SourceBatch;
use super::client_count::ClientCount;
use super::options::ClientOptions;
use super::pool::{ClientLease, ClientPool};
use super::source::{BatchBounds, KafkaSource};
use super::topic_list::TopicList;
use crate::connection::ClientProperties;
use crate::position::{PartitionId, Position, Positions};

pub(crate) const TOPIC: &str = "orders";
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

pub(crate) struct Cluster {
    mock: MockCluster<'static, DefaultProducerContext>,
    producer: BaseProducer,
    pool: ClientPool,
}

impl Cluster {
    pub(crate) fn new(partitions: i32) -> Self {
        Self::of_brokers(1, partitions)
    }

    /// A cluster in which partition 0 is led by broker 1, and so on, round and round.
    pub(crate) fn of_brokers(brokers: i32, partitions: i32) -> Self {
        let mock = MockCluster::new(brokers).expect("mock cluster");
        mock.create_topic(TOPIC, partitions, 1).expect("topic");
        for partition in 0..partitions {
            let leader = Some(partition % brokers + 1);
            mock.partition_leader(TOPIC, partition, leader).expect("leader");
        }
        let producer = ClientConfig::new()
            .set("bootstrap.servers", mock.bootstrap_servers())
            .create()
            .expect("producer");
        Self {
            mock,
            producer,
            pool: ClientPool::new(crate::limits::KAFKA_CLIENTS_MAX),
        }
    }

    /// A cluster like one before Kafka 2.8: it gives topics no ids.
    pub(crate) fn without_topic_ids(partitions: i32) -> Self {
        let cluster = Self::new(partitions);
        for (api, version_max) in [(RDKafkaApiKey::Metadata, 9), (RDKafkaApiKey::Fetch, 12)] {
            cluster.mock.apiversion(api, Some(0), Some(version_max)).expect("limited");
        }
        cluster
    }

    /// Another broker leads the partition from now on, in a new leader epoch.
    pub(crate) fn move_leader(&self, partition: i32, broker: i32) {
        self.mock.partition_leader(TOPIC, partition, Some(broker)).expect("moved");
    }

    pub(crate) fn stop_broker(&self, broker: i32) {
        self.mock.broker_down(broker).expect("stopped");
    }

    /// From now on the broker takes connections and questions, and answers none.
    pub(crate) fn silence_broker(&self, broker: i32) {
        self.mock.broker_round_trip_time(broker, DEADLINE).expect("silenced");
    }

    pub(crate) fn properties(&self) -> ClientProperties {
        ClientProperties {
            bootstrap_servers: self.mock.bootstrap_servers(),
            properties: BTreeMap::new(),
            tokens: None,
            identity: "mock".to_owned(),
        }
    }

    pub(crate) fn create_topic(&self, topic: &str, partitions: i32) {
        self.mock.create_topic(topic, partitions, 1).expect("topic");
    }

    pub(crate) fn send(&self, partition: i32, key: Option<&str>, payload: Option<&str>) {
        self.send_to(TOPIC, partition, key, payload);
    }

    pub(crate) fn send_to(&self, topic: &str, partition: i32, key: Option<&str>, payload: Option<&str>) {
        let mut record: BaseRecord<'_, str, str> = BaseRecord::to(topic).partition(partition).timestamp(1_700_000_000_123);
        record.key = key;
        record.payload = payload;
        self.producer.send(record).map_err(|(error, _)| error).expect("queued");
        self.producer.flush(DEADLINE).expect("delivered");
    }

    pub(crate) fn topic_list(&self) -> Arc<TopicList> {
        self.pool.topic_list(&self.properties())
    }

    pub(crate) fn count(&self) -> &ClientCount {
        self.pool.count()
    }

    pub(crate) async fn lease(&self) -> ClientLease {
        self.lease_of(TOPIC).await
    }

    pub(crate) async fn lease_of(&self, topic: &str) -> ClientLease {
        self.pool
            .lease(&self.properties(), &ClientOptions::default(), BTreeSet::from([topic.to_owned()]))
            .await
            .expect("client")
    }

    pub(crate) async fn attach(&self, offsets: &[i64]) -> KafkaSource {
        self.attach_bounded(
            offsets,
            BatchBounds {
                bytes_max: usize::MAX,
                records_max: usize::MAX,
            },
        )
        .await
    }

    pub(crate) async fn attach_bounded(&self, offsets: &[i64], bounds: BatchBounds) -> KafkaSource {
        let positions = offsets
            .iter()
            .enumerate()
            .map(|(index, offset)| (partition(index as i32), at(*offset)))
            .collect();
        self.attach_at(&positions, bounds).await
    }

    pub(crate) async fn attach_at(&self, positions: &Positions, bounds: BatchBounds) -> KafkaSource {
        KafkaSource::attach(self.lease().await, positions, bounds, false)
            .await
            .expect("attached")
    }
}

pub(crate) fn partition(partition: i32) -> PartitionId {
    PartitionId {
        topic: TOPIC.to_owned(),
        partition,
    }
}

pub(crate) fn at(next_offset: i64) -> Position {
    Position::new(next_offset, 0)
}

/// The position after records that were read: a new partition of the mock has the leader epoch 1.
pub(crate) fn led(next_offset: i64) -> Position {
    Position {
        leader_epoch: Some(1),
        ..at(next_offset)
    }
}

/// Takes until so many rows are gathered, then cuts.
pub(crate) async fn read(source: &mut KafkaSource, rows: usize) -> SourceBatch {
    let reading = async {
        loop {
            let emptied = source.take();
            if source.gathered_rows() >= rows {
                return;
            }
            if emptied {
                source.filled().await;
            }
        }
    };
    tokio::time::timeout(DEADLINE, reading).await.expect("records arrive");
    source.cut()
}
