//! Real brokers: one for the whole test run, started when the first test asks, and others of single tests; and what tests do to topics.
//! Producing is in `producer`. Invariant: loopback only, and the broker dies with the run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use rdkafka::admin::{AdminClient, AdminOptions, AlterConfig, NewPartitions, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

use crate::api::block_on;
use crate::limits::{BROKER_READY, BROKER_REQUEST};
use crate::paths::{discard, fresh_folder, repository, test_parts};
use crate::spawn::{signal, spawn};
use crate::wait::wait_until;

/// A broker. It keeps its data and its address over restarts.
pub struct Kafka {
    folder: PathBuf,
    variables: Vec<Variable>,
    process: Mutex<Option<Child>>,
    bootstrap: String,
    admin: AdminClient<DefaultClientContext>,
}

/// A variable of the environment that `start.sh` looks at, with its value.
pub(crate) type Variable = (&'static str, String);

/// Topics that one request makes: it ends within the time that such a request has.
const TOPICS_PER_REQUEST: usize = 250;

/// Starts the broker that all tests share, or returns it.
pub fn kafka() -> &'static Kafka {
    static BROKER: OnceLock<Kafka> = OnceLock::new();
    BROKER.get_or_init(Kafka::start)
}

impl Kafka {
    /// A broker of one test, which may do to it what it likes.
    #[must_use]
    pub fn start() -> Self {
        Self::launched(&[])
    }

    /// One that writes each request that it has answered into its log.
    #[must_use]
    pub fn start_telling_requests() -> Self {
        let flag = "-Dorg.slf4j.simpleLogger.log.kafka.request.logger=debug";
        Self::launched(&[("KAFKA_JVM_FLAGS", flag.to_owned())])
    }

    /// One with a listener for each kind of security, by the key and the users in `security`.
    #[must_use]
    pub fn start_with_security(security: &Path) -> Self {
        Self::launched(&[("KAFKA_SECURITY", security.display().to_string())])
    }

    fn launched(variables: &[Variable]) -> Self {
        let folder = fresh_folder("kafka");
        let mut process = begin(&folder, &[], variables);
        await_ready(&mut process, &folder);
        let bootstrap = read(&folder, "bootstrap");
        Self::of(folder, process, bootstrap, variables)
    }

    /// One of a cluster, which may not be ready yet; `bootstrap` has the addresses of all.
    pub(crate) fn begin_in_cluster(variables: &[Variable], bootstrap: &str) -> Self {
        let folder = fresh_folder("kafka");
        let process = begin(&folder, &[], variables);
        Self::of(folder, process, bootstrap.to_owned(), variables)
    }

    fn of(folder: PathBuf, process: Child, bootstrap: String, variables: &[Variable]) -> Self {
        let admin = client_config(&bootstrap).create().expect("an admin client");
        Self {
            folder,
            variables: variables.to_vec(),
            process: Mutex::new(Some(process)),
            bootstrap,
            admin,
        }
    }

    /// Waits until it is ready.
    pub(crate) fn await_ready(&self) {
        await_ready(self.process.lock().unwrap().as_mut().expect("the broker runs"), &self.folder);
    }

    /// Kills it without warning.
    pub fn kill(&self) {
        let mut process = self.process.lock().unwrap().take().expect("the broker runs");
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// Has it hang: its connections stay, and nothing answers.
    pub fn freeze(&self) {
        signal(self.process.lock().unwrap().as_ref().expect("the broker runs"), libc::SIGSTOP);
    }

    /// Has it go on after [`Self::freeze`].
    pub fn thaw(&self) {
        signal(self.process.lock().unwrap().as_ref().expect("the broker runs"), libc::SIGCONT);
    }

    /// Asks it to stop, and waits until it has.
    pub fn stop(&self) {
        let mut process = self.process.lock().unwrap().take().expect("the broker runs");
        signal(&process, libc::SIGTERM);
        wait_until("the broker stops", BROKER_READY, || {
            process.try_wait().unwrap().ok_or("still running")
        });
    }

    /// Starts it again after a stop or a kill.
    pub fn start_again(&self) {
        let mut process = self.process.lock().unwrap();
        assert!(process.is_none(), "the broker still runs");
        // The script empties the log when it begins; until then the one of a former life says that it is ready.
        let _ = fs::remove_file(self.folder.join("log"));
        let again = process.insert(begin(&self.folder, &["--again"], &self.variables));
        await_ready(again, &self.folder);
    }

    /// Requests of a client of that id that were answered so far, by a name such as `METADATA`. The broker must be one that tells
    /// them.
    #[must_use]
    pub fn requests(&self, client_id: &str) -> BTreeMap<String, u64> {
        let client = format!("\"clientId\":\"{client_id}\"");
        let mut requests = BTreeMap::new();
        for line in log_of(&self.folder).lines().filter(|line| line.contains(&client)) {
            let name = line
                .split_once("\"requestApiKeyName\":\"")
                .and_then(|(_, rest)| rest.split_once('"'));
            *requests.entry(name.map_or("?", |(name, _)| name).to_owned()).or_default() += 1;
        }
        requests
    }

    /// What the broker's start left in a file of its folder.
    #[must_use]
    pub fn read(&self, file: &str) -> String {
        read(&self.folder, file)
    }

    /// The port of the plaintext listener.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.bootstrap.rsplit_once(':').unwrap().1.parse().unwrap()
    }

    /// `host:port` of the plaintext listener; in a cluster, of each broker's.
    #[must_use]
    pub fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    /// Makes a topic that keeps its records for ever, and returns when every partition has a leader.
    pub fn create_topic(&self, name: &str, partitions: i32) {
        self.create_topic_with(name, partitions, &[]);
    }

    /// The same with further properties of the topic.
    pub fn create_topic_with(&self, name: &str, partitions: i32, properties: &[(&str, &str)]) {
        let mut topic = NewTopic::new(name, partitions, TopicReplication::Fixed(1)).set("retention.ms", "-1");
        for (property, value) in properties {
            topic = topic.set(property, value);
        }
        let results = block_on(self.admin.create_topics([&topic], &AdminOptions::new()))
            .unwrap_or_else(|error| panic!("create topic `{name}`: {error}"));
        for result in results {
            result.unwrap_or_else(|(topic, code)| panic!("create topic `{topic}`: {code}"));
        }
        self.await_partitions(name, partitions);
    }

    /// Makes many topics of one partition each, whose empty logs take little of the disk, and returns when the broker has all of them.
    pub fn create_topics(&self, names: &[String]) {
        for names in names.chunks(TOPICS_PER_REQUEST) {
            let topic = |name| NewTopic::new(name, 1, TopicReplication::Fixed(1)).set("segment.index.bytes", "4096");
            let topics: Vec<NewTopic<'_>> = names.iter().map(|name| topic(name.as_str())).collect();
            let results = block_on(self.admin.create_topics(&topics, &AdminOptions::new()));
            for result in results.unwrap_or_else(|error| panic!("create topics: {error}")) {
                result.unwrap_or_else(|(topic, code)| panic!("create topic `{topic}`: {code}"));
            }
            names.last().into_iter().for_each(|last| self.await_partitions(last, 1));
        }
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

    /// Deletes the records of a partition before an offset.
    pub fn delete_records(&self, topic: &str, partition: i32, before: i64) {
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(topic, partition, Offset::Offset(before)).unwrap();
        let results = block_on(self.admin.delete_records(&list, &AdminOptions::new())).unwrap();
        for result in results.elements() {
            result
                .error()
                .unwrap_or_else(|error| panic!("delete records of `{topic}` {partition}: {error}"));
        }
    }

    /// Changes a property of a topic.
    pub fn set_topic_property(&self, topic: &str, property: &str, value: &str) {
        let change = AlterConfig::new(ResourceSpecifier::Topic(topic)).set(property, value);
        let results = block_on(self.admin.alter_configs([&change], &AdminOptions::new())).unwrap();
        for result in results {
            result.unwrap_or_else(|(_, code)| panic!("set `{property}` of `{topic}`: {code}"));
        }
    }

    /// Loses a partition's log, as a broken disk would. The broker must be stopped.
    pub fn lose_log(&self, topic: &str, partition: i32) {
        assert!(self.process.lock().unwrap().is_none(), "the broker runs");
        let log = self.folder.join("data").join(format!("{topic}-{partition}"));
        fs::remove_dir_all(&log).unwrap_or_else(|error| panic!("{}: {error}", log.display()));
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

impl Drop for Kafka {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = process.kill();
            let _ = process.wait();
        }
        discard(&self.folder);
    }
}

fn begin(folder: &Path, flags: &[&str], variables: &[Variable]) -> Child {
    let mut command = Command::new(repository().join("scripts/kafka/start.sh"));
    command.arg("--foreground").args(flags).arg(folder);
    command.env("KAFKA_HOME", &test_parts().kafka_home).stdin(Stdio::null());
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    spawn(command).expect("start the broker")
}

fn await_ready(broker: &mut Child, folder: &Path) {
    wait_until("the broker is ready", BROKER_READY, || {
        if let Some(status) = broker.try_wait().unwrap() {
            panic!("the broker stopped with {status}: {}", log_of(folder));
        }
        let log = log_of(folder);
        if log.contains("Kafka Server started") { Ok(()) } else { Err(log) }
    });
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
