//! What the tests of lost records share: a stream whose topics or broker something happens to, and what is then true of its
//! table, its log and its status.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use e2e::agent::Agent;
use e2e::config::{self, STREAM_NAME, TABLE_NAME, with};
use e2e::kafka::{Kafka, kafka};
use e2e::limits::STREAM_SETTLES;
use e2e::producer::{Acknowledged, Outgoing, RecordingProducer};
use e2e::tables::{READERS, rows};
use e2e::terraform::Workspace;
use e2e::wait::wait_until;
use featurestore_proto::v1::{ConditionStatus, StreamStatus};
use rdkafka::consumer::{CommitMode, Consumer};
use rdkafka::{Offset, TopicPartitionList};
use serde_json::{Value, json};

use crate::rows::await_count;
use crate::stage::{PARTITIONS, order, status_shown_by, unique};

/// Agents here look for what has changed every second.
const FLAGS: [&str; 2] = ["--discovery-interval", "1s"];
const SUBSCRIBE: &str = "/source_config/kafka_stream_config/subscription_mode/subscribe";

/// One stream on one topic, and maybe on others.
pub(crate) struct Scene {
    /// `None` is the broker that all tests share.
    broker: Option<Kafka>,
    pub(crate) topic: String,
    pub(crate) agent: Agent,
    pub(crate) workspace: Workspace,
}

impl Scene {
    pub(crate) fn new(name: &str) -> Self {
        Self::at(None, name)
    }

    /// With a broker of its own.
    pub(crate) fn with_broker(name: &str) -> Self {
        Self::at(Some(Kafka::start()), name)
    }

    fn at(broker: Option<Kafka>, name: &str) -> Self {
        let topic = unique(name);
        broker.as_ref().unwrap_or_else(|| kafka()).create_topic(&topic, PARTITIONS);
        let agent = Agent::start_with(&FLAGS);
        let workspace = Workspace::new(agent.endpoint());
        Self {
            broker,
            topic,
            agent,
            workspace,
        }
    }

    /// The broker that the stream reads from.
    pub(crate) fn kafka(&self) -> &Kafka {
        self.broker.as_ref().unwrap_or_else(|| kafka())
    }

    pub(crate) fn table(&self) -> PathBuf {
        self.agent.table(TABLE_NAME)
    }

    /// Writes a configuration with these changes to the standard stream.
    pub(crate) fn write(&self, changes: &[(&str, Value)]) {
        let stream = changes.iter().fold(config::stream(&self.topic), |stream, (pointer, value)| {
            with(&stream, pointer, value.clone())
        });
        self.workspace
            .write(&config::document(&config::connection(self.kafka().bootstrap()), &stream));
    }

    pub(crate) fn apply(&self, changes: &[(&str, Value)]) {
        self.write(changes);
        self.workspace.apply_now().assert_success();
    }

    /// Applies the stream with a policy, on its topic and others, and fails unless the next plan is empty.
    pub(crate) fn apply_policy(&self, policy: &str, others: &[&str]) {
        let topics = std::iter::once(self.topic.as_str()).chain(others.iter().copied());
        let topics = topics.collect::<Vec<_>>().join(",");
        self.apply(&[(SUBSCRIBE, json!(topics)), ("/operations/on_data_loss", json!(policy))]);
        self.workspace.plan().assert_empty();
    }

    /// Produces orders, numbered from `first`, over all partitions of the topic.
    pub(crate) fn produce(&self, first: i64, count: i64) -> Vec<Acknowledged> {
        self.produce_to(&self.topic, first, count)
    }

    pub(crate) fn produce_to(&self, topic: &str, first: i64, count: i64) -> Vec<Acknowledged> {
        let orders: Vec<Outgoing> = (first..first + count).map(order).collect();
        RecordingProducer::to(self.kafka().bootstrap(), &[]).send_all(topic, &orders)
    }

    /// The same over the first partitions of a topic.
    pub(crate) fn produce_to_some(&self, topic: &str, first: i64, count: i64, partitions: i32) -> Vec<Acknowledged> {
        let outgoing = |number: i64| Outgoing {
            partition: Some(i32::try_from(number).unwrap() % partitions),
            ..order(number)
        };
        let orders: Vec<Outgoing> = (first..first + count).map(outgoing).collect();
        RecordingProducer::to(self.kafka().bootstrap(), &[]).send_all(topic, &orders)
    }

    /// Has somebody's consumer group commit an offset, which makes a record in the cluster's own topic.
    pub(crate) fn commit_to_a_group(&self) {
        let consumer = self.kafka().consumer();
        let mut offsets = TopicPartitionList::new();
        offsets.add_partition_offset(&self.topic, 0, Offset::Offset(1)).unwrap();
        wait_until("a group commits an offset", STREAM_SETTLES, || {
            consumer.commit(&offsets, CommitMode::Sync).map_err(|error| error.to_string())
        });
    }

    /// Waits until the agent's log has these words.
    pub(crate) fn await_log(&self, words: &str) {
        wait_until(&format!("the log says `{words}`"), STREAM_SETTLES, || {
            if self.agent.log().contains(words) {
                Ok(())
            } else {
                Err("it does not")
            }
            .map_err(str::to_owned)
        });
    }

    /// The agent ends and starts again, without having been asked to.
    pub(crate) fn restart_agent(&mut self) {
        self.agent.kill();
        self.agent.start_again();
    }

    /// Waits until a condition is false and says all of this.
    #[track_caller]
    pub(crate) fn await_condition(&self, condition_type: &str, texts: &[&str]) -> StreamStatus {
        wait_until(&format!("{condition_type} is false and says {texts:?}"), STREAM_SETTLES, || {
            let status = self.status()?;
            let said = status.conditions.iter().any(|condition| {
                condition.r#type == condition_type
                    && condition.status() == ConditionStatus::False
                    && texts.iter().all(|text| condition.message.contains(text))
            });
            if said {
                Ok(status)
            } else {
                Err(format!("{:?}", status.conditions))
            }
        })
    }

    /// Waits until the table has more rows than that.
    pub(crate) fn await_rows_beyond(&self, rows: usize) {
        wait_until(&format!("more than {rows} rows"), STREAM_SETTLES, || {
            let found = self.status()?.table.unwrap_or_default().rows;
            if usize::try_from(found).is_ok_and(|found| found > rows) {
                Ok(())
            } else {
                Err(format!("{found} rows"))
            }
        });
    }

    /// Waits until every partition was read to its end.
    pub(crate) fn await_no_lag(&self) {
        wait_until("no partition lags behind", STREAM_SETTLES, || {
            let partitions = self.status()?.partitions;
            let read = partitions.iter().all(|partition| partition.lag == Some(0));
            if read { Ok(()) } else { Err(format!("{partitions:?}")) }
        });
    }

    /// Waits until nothing is amiss.
    #[track_caller]
    pub(crate) fn await_no_condition(&self) -> StreamStatus {
        wait_until("no condition is false", STREAM_SETTLES, || {
            let status = self.status()?;
            let is_false = |condition: &featurestore_proto::v1::Condition| condition.status() == ConditionStatus::False;
            if status.conditions.iter().any(is_false) {
                Err(format!("{:?}", status.conditions))
            } else {
                Ok(status)
            }
        })
    }

    pub(crate) fn status(&self) -> Result<StreamStatus, String> {
        let record = self.agent.api().stream(STREAM_NAME).map_err(|status| status.to_string())?;
        Ok(record.status.unwrap_or_default())
    }

    /// Fails unless exactly these losses are in the log's commits, as the status and Terraform's data source show the last
    /// one of each partition: partition, cause, from, to, epoch.
    #[track_caller]
    pub(crate) fn assert_losses(&self, topic: &str, expected: &[(i64, &str, i64, i64, i64)]) {
        let expected: Vec<Value> = expected
            .iter()
            .map(|(partition, cause, from, to, epoch)| {
                json!({"topic": topic, "partition": partition, "cause": cause, "from": from, "to": to, "epoch": epoch})
            })
            .collect();
        let mut committed = losses_in_log(&self.table());
        committed.sort_by_key(|loss| loss["partition"].as_i64());
        assert_eq!(committed, expected, "in the log");

        let shown = self.shown_by_data_source();
        let last: Vec<Value> = shown
            .as_array()
            .unwrap()
            .iter()
            .filter(|partition| !partition["last_loss"].is_null())
            .map(flat)
            .collect();
        assert_eq!(last, expected, "in the data source");
    }

    fn shown_by_data_source(&self) -> Value {
        status_shown_by(&self.agent)["partitions"].clone()
    }
}

/// A partition's last loss in the form of the log.
fn flat(partition: &Value) -> Value {
    let loss = &partition["last_loss"];
    json!({
        "topic": partition["topic"], "partition": partition["partition"], "cause": loss["cause"], "from": loss["from"], "to": loss["to"],
        "epoch": loss["epoch"],
    })
}

/// Every loss that a commit of the table names.
pub(crate) fn losses_in_log(table: &Path) -> Vec<Value> {
    let mut names: Vec<PathBuf> = fs::read_dir(table.join("_delta_log"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.retain(|name| name.extension().is_some_and(|extension| extension == "json"));
    names.sort();
    let lines = names.iter().flat_map(|name| {
        let text = fs::read_to_string(name).unwrap();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    });
    let actions = lines.map(|line| serde_json::from_str::<Value>(&line).unwrap());
    let named = actions.filter_map(|action| action["commitInfo"]["featurestore.losses"].as_array().cloned());
    named.flatten().collect()
}

/// Waits until a table has as many rows, then fails unless each reader sees each record once, with its own content, and no
/// other: a topic that was created again has offsets twice.
#[track_caller]
pub(crate) fn assert_exactly(table: &Path, records: &[Acknowledged]) {
    type Seen = BTreeMap<(String, i64, i64, i64), usize>;
    let mut wanted = Seen::new();
    for record in records {
        let order: Value = serde_json::from_slice(record.value.as_ref().unwrap()).unwrap();
        let key = (
            record.topic.clone(),
            i64::from(record.partition),
            record.offset,
            order["order_id"].as_i64().unwrap(),
        );
        *wanted.entry(key).or_default() += 1;
    }
    await_count(table, records.len());
    for reader in READERS {
        let mut found = Seen::new();
        for row in rows(reader, table, &["kafka_topic", "kafka_partition", "kafka_offset", "value"]).unwrap() {
            let number = |value: &Value| value.as_i64().unwrap_or_else(|| panic!("{row}"));
            let topic = row["kafka_topic"].as_str().unwrap().to_owned();
            let key = (
                topic,
                number(&row["kafka_partition"]),
                number(&row["kafka_offset"]),
                number(&row["value"]["order_id"]),
            );
            *found.entry(key).or_default() += 1;
        }
        assert_eq!(found, wanted, "{reader}");
    }
}
