//! One real broker for the whole test run, started when the first test asks, and what tests do to its topics.
//! Producing is in `producer`. Invariant: loopback only, and the broker dies with the run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewPartitions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};

use crate::api::block_on;
use crate::limits::{BROKER_READY, BROKER_REQUEST};
use crate::paths::{fresh_folder, repository, test_parts};
use crate::spawn::spawn;
use crate::wait::wait_until;

/// The broker that all tests share.
pub struct Kafka {
    bootstrap: String,
    admin: AdminClient<DefaultClientContext>,
}

/// Starts the broker, or returns the one that runs.
pub fn kafka() -> &'static Kafka {
    static BROKER: OnceLock<Kafka> = OnceLock::new();
    BROKER.get_or_init(Kafka::start)
}

impl Kafka {
    fn start() -> Self {
        let folder = fresh_folder("kafka");
        let mut command = Command::new(repository().join("scripts/kafka/start.sh"));
        command.arg("--foreground").arg(&folder).env("KAFKA_HOME", &test_parts().kafka_home);
        command.stdin(Stdio::null());
        let mut broker = spawn(command).expect("start the broker");
        let bootstrap = wait_until("the broker is ready", BROKER_READY, || {
            if let Some(status) = broker.try_wait().unwrap() {
                panic!("the broker stopped with {status}: {}", log_of(&folder));
            }
            let log = log_of(&folder);
            if log.contains("Kafka Server started") {
                Ok(read(&folder, "bootstrap"))
            } else {
                Err(log)
            }
        });
        let admin = client_config(&bootstrap).create().expect("an admin client");
        Self { bootstrap, admin }
    }

    /// `host:port` of the plaintext listener.
    #[must_use]
    pub fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    /// Makes a topic that keeps its records for ever, and returns when every partition has a leader.
    pub fn create_topic(&self, name: &str, partitions: i32) {
        let topic = NewTopic::new(name, partitions, TopicReplication::Fixed(1)).set("retention.ms", "-1");
        let results = block_on(self.admin.create_topics([&topic], &AdminOptions::new()))
            .unwrap_or_else(|error| panic!("create topic `{name}`: {error}"));
        for result in results {
            result.unwrap_or_else(|(topic, code)| panic!("create topic `{topic}`: {code}"));
        }
        self.await_partitions(name, partitions);
    }

    /// Raises the number of a topic's partitions.
    pub fn add_partitions(&self, name: &str, total: i32) {
        let wanted = NewPartitions::new(name, usize::try_from(total).unwrap());
        let results = block_on(self.admin.create_partitions([&wanted], &AdminOptions::new())).unwrap();
        for result in results {
            result.unwrap_or_else(|(topic, code)| panic!("add partitions to `{topic}`: {code}"));
        }
        self.await_partitions(name, total);
    }

    /// Removes a topic with its records.
    pub fn delete_topic(&self, name: &str) {
        let results = block_on(self.admin.delete_topics(&[name], &AdminOptions::new())).unwrap();
        for result in results {
            result.unwrap_or_else(|(topic, code)| panic!("delete topic `{topic}`: {code}"));
        }
    }

    /// First and next offset of a partition, as a read-committed reader sees them.
    #[must_use]
    pub fn watermarks(&self, topic: &str, partition: i32) -> (i64, i64) {
        self.consumer().fetch_watermarks(topic, partition, BROKER_REQUEST).unwrap()
    }

    /// A consumer without a group, for looking at topics from outside the product.
    #[must_use]
    pub fn consumer(&self) -> BaseConsumer {
        client_config(&self.bootstrap)
            .set("group.id", "outside-look")
            .set("enable.auto.commit", "false")
            .create()
            .expect("a consumer")
    }

    // A topic is not always visible to the next request after its creation was acknowledged.
    fn await_partitions(&self, name: &str, count: i32) {
        let consumer = self.consumer();
        wait_until(
            &format!("topic `{name}` has {count} partitions with leaders"),
            BROKER_REQUEST,
            || {
                let metadata = consumer
                    .fetch_metadata(Some(name), BROKER_REQUEST)
                    .map_err(|error| error.to_string())?;
                let led = metadata
                    .topics()
                    .iter()
                    .flat_map(|t| t.partitions())
                    .filter(|p| p.leader() >= 0)
                    .count();
                if led == usize::try_from(count).unwrap() {
                    Ok(())
                } else {
                    Err(format!("{led} with leaders"))
                }
            },
        );
    }
}

/// The settings that every client of the tests starts from.
#[must_use]
pub fn client_config(bootstrap: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", bootstrap).set("broker.address.family", "v4");
    config
}

fn log_of(folder: &Path) -> String {
    fs::read_to_string(folder.join("log")).unwrap_or_default()
}

fn read(folder: &Path, file: &str) -> String {
    let path: PathBuf = folder.join(file);
    fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        .trim()
        .to_owned()
}
