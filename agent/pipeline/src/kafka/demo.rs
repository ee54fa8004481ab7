//! A Kafka cluster inside this process, for trying the product out: librdkafka's mock. It listens on the loopback address,
//! keeps records in memory and forgets them with the process. Invariant: nothing starts it but an explicit wish for a demo.

use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;

use crate::error::{PipelineError, Retry};

/// The topic that is there from the start.
pub const TOPIC: &str = "card-transactions";
/// Its partitions.
pub const PARTITIONS: i32 = 4;

/// A running cluster of one broker; it ends when this is dropped.
pub struct DemoBroker {
    cluster: MockCluster<'static, DefaultProducerContext>,
}

/// Starts a broker with [`TOPIC`].
///
/// # Errors
/// When no loopback port can be had.
pub fn start() -> Result<DemoBroker, PipelineError> {
    let refused = |error: rdkafka::error::KafkaError| PipelineError::Source {
        reason: "DemoBroker",
        message: format!("cannot start the demo's broker: {error}"),
        retry: Retry::No,
    };
    let cluster = MockCluster::new(1).map_err(refused)?;
    cluster.create_topic(TOPIC, PARTITIONS, 1).map_err(refused)?;
    Ok(DemoBroker { cluster })
}

impl DemoBroker {
    /// `127.0.0.1:port`, what a connection takes as `bootstrap_servers`.
    #[must_use]
    pub fn bootstrap_servers(&self) -> String {
        self.cluster.bootstrap_servers()
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use rdkafka::ClientConfig;
    use rdkafka::consumer::{BaseConsumer, Consumer};

    use super::super::testing::DEADLINE;
    use super::*;

    #[test]
    fn the_broker_has_the_topic_and_listens_on_loopback_only() {
        let broker = start().unwrap();
        let address: SocketAddr = broker.bootstrap_servers().parse().unwrap();
        assert!(address.ip().is_loopback(), "{address}");
        let consumer: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", broker.bootstrap_servers())
            .create()
            .unwrap();
        let metadata = consumer.fetch_metadata(Some(TOPIC), DEADLINE).unwrap();
        let partitions = metadata.topics().iter().map(|topic| topic.partitions().len()).sum::<usize>();
        assert_eq!(i32::try_from(partitions), Ok(PARTITIONS));
        drop(consumer);
        drop(broker);
        assert!(std::net::TcpStream::connect(address).is_err(), "the port is closed with the broker");
    }
}
