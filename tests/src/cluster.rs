//! Brokers that are each other's replicas: one of them may be away, and the others take over. What one of them is told is said to
//! [`Kafka`]; what the cluster is asked is asked again until it is so, whoever is away meanwhile.
//! Invariant: no acknowledged record is lost. A broker that was killed may have lost some, so it does not lead where it was the last one
//! that had all of them: the partition waits for another one that had, even if two of three are there.

use std::net::TcpListener;

use rdkafka::admin::{AdminClient, AdminOptions, NewPartitions, NewTopic, TopicReplication, TopicResult};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::Consumer;
use rdkafka::error::{KafkaResult, RDKafkaErrorCode};

use crate::api::block_on;
use crate::kafka::{Kafka, Variable, client_config};
use crate::limits::{BROKER_REQUEST, CLUSTER_REQUEST, CLUSTER_SETTLES};
use crate::reassignment::Reassignment;
use crate::wait::wait_until;

/// Brokers of a cluster.
pub const BROKERS: usize = 3;

/// The one that has the controller. While it is away no leader moves, nothing is made, and no other broker starts.
pub const CONTROLLER: usize = 0;

/// A cluster.
pub struct Cluster {
    brokers: Vec<Kafka>,
}

impl Cluster {
    /// Starts one, and returns when each broker is ready.
    #[must_use]
    pub fn start() -> Self {
        let ports = free_ports(BROKERS + 1);
        let (clients, controller) = ports.split_at(BROKERS);
        let addresses: Vec<String> = clients.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let bootstrap = addresses.join(",");
        let begin = |(node, port): (usize, &u16)| {
            let variables: [Variable; 3] = [
                ("KAFKA_NODE", node.to_string()),
                ("KAFKA_PORT", port.to_string()),
                ("KAFKA_CONTROLLER", controller[0].to_string()),
            ];
            Kafka::begin_in_cluster(&variables, &bootstrap)
        };
        let brokers: Vec<Kafka> = (1..).zip(clients).map(begin).collect();
        brokers.iter().for_each(Kafka::await_ready);
        Self { brokers }
    }

    /// One of its brokers, counted from zero.
    #[must_use]
    pub fn broker(&self, index: usize) -> &Kafka {
        &self.brokers[index]
    }

    /// The addresses of all brokers.
    #[must_use]
    pub fn bootstrap(&self) -> &str {
        self.brokers[0].bootstrap()
    }

    /// Makes a topic that each broker has, and returns when the controller has it.
    pub fn create_topic(&self, name: &str, partitions: i32) {
        // As many replicas as the brokers are configured for, of which so many have a record before it is acknowledged.
        let topic = NewTopic::new(name, partitions, TopicReplication::Fixed(-1)).set("retention.ms", "-1");
        let topic = topic.set("min.insync.replicas", "2");
        self.ask(
            &format!("create topic `{name}`"),
            RDKafkaErrorCode::TopicAlreadyExists,
            |admin, options| block_on(admin.create_topics([&topic], options)),
        );
    }

    /// Removes a topic with its records, and returns when the controller has none of that name.
    pub fn delete_topic(&self, name: &str) {
        self.ask(
            &format!("delete topic `{name}`"),
            RDKafkaErrorCode::UnknownTopicOrPartition,
            |admin, options| block_on(admin.delete_topics(&[name], options)),
        );
    }

    /// Raises the number of a topic's partitions, and returns when the controller has them.
    pub fn add_partitions(&self, name: &str, total: i32) {
        let wanted = NewPartitions::new(name, usize::try_from(total).unwrap());
        // What there is already is refused as no addition.
        self.ask(
            &format!("add partitions to `{name}`"),
            RDKafkaErrorCode::InvalidPartitions,
            |admin, options| block_on(admin.create_partitions([&wanted], options)),
        );
    }

    /// Has a broker lead a partition, which is another one's turn as long as nobody says otherwise. Both that broker and the one that is
    /// asked must be there.
    ///
    /// # Errors
    /// It does not lead it yet, and was asked to.
    pub fn move_leader(&self, topic: &str, partition: usize, to: usize, asked: usize) -> Result<(), String> {
        let node = i32::try_from(to + 1).unwrap();
        let leaders = self.leaders(topic)?;
        if leaders.get(partition) == Some(&node) {
            return Ok(());
        }
        let mut replicas: Vec<i32> = (1..=i32::try_from(BROKERS).unwrap()).collect();
        replicas.rotate_left(to);
        let reassignment = Reassignment {
            topic,
            partition: i32::try_from(partition).unwrap(),
            replicas: &replicas,
        };
        let answer = reassignment.ask(self.bootstrap().split(',').nth(asked).unwrap());
        Err(format!("led by {leaders:?}; when asked: {answer:?}"))
    }

    /// The brokers that lead the partitions of a topic, by number from one; less than that is nobody.
    ///
    /// # Errors
    /// Why nobody could tell.
    pub fn leaders(&self, topic: &str) -> Result<Vec<i32>, String> {
        let consumer = self.brokers[0].consumer();
        let metadata = consumer
            .fetch_metadata(Some(topic), BROKER_REQUEST)
            .map_err(|error| error.to_string())?;
        let partitions = metadata.topics().iter().flat_map(|found| found.partitions());
        Ok(partitions.map(|partition| partition.leader()).collect())
    }

    /// Asks until it is done, or was done by a question before whose answer was lost.
    fn ask(
        &self,
        what: &str,
        done_before: RDKafkaErrorCode,
        question: impl Fn(&AdminClient<DefaultClientContext>, &AdminOptions) -> KafkaResult<Vec<TopicResult>>,
    ) {
        wait_until(what, CLUSTER_SETTLES, || {
            // A client of its own each time: one that has learnt from a broker whom to ask goes on asking that one, which may be away by
            // now or have been away all along, until its view of the cluster is five minutes old.
            let admin = client_config(self.bootstrap()).create().expect("an admin client");
            let options = AdminOptions::new().request_timeout(Some(CLUSTER_REQUEST));
            for answer in question(&admin, &options).map_err(|error| error.to_string())? {
                match answer {
                    Ok(_) => {}
                    Err((_, code)) if code == done_before => {}
                    Err((_, code)) => return Err(code.to_string()),
                }
            }
            Ok(())
        });
    }
}

/// Held together until all are known, so that they differ.
fn free_ports(count: usize) -> Vec<u16> {
    let listeners: Vec<TcpListener> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    listeners.iter().map(|listener| listener.local_addr().unwrap().port()).collect()
}
