//! What most tests begin with: a topic of its own, an agent of its own, a workspace, and a stream that is applied.

use std::sync::atomic::{AtomicU32, Ordering};

use e2e::agent::Agent;
use e2e::config::{self, STREAM_NAME, TABLE_NAME};
use e2e::kafka::kafka;
use e2e::plan::Run;
use e2e::producer::{Acknowledged, Outgoing, RecordingProducer};
use e2e::terraform::Workspace;
use featurestore_proto::v1::{StreamRecord, StreamState};
use serde_json::{Value, json};

/// Partitions of every topic made here: enough that order between them means nothing.
pub(crate) const PARTITIONS: i32 = 4;

pub(crate) struct Stage {
    pub(crate) topic: String,
    pub(crate) agent: Agent,
    pub(crate) workspace: Workspace,
}

/// A name that no other test of this run uses.
pub(crate) fn unique(name: &str) -> String {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    format!("{name}-{}", COUNTER.fetch_add(1, Ordering::Relaxed))
}

/// A new topic with a unique name.
pub(crate) fn new_topic(name: &str) -> String {
    let topic = unique(name);
    kafka().create_topic(&topic, PARTITIONS);
    topic
}

impl Stage {
    /// A topic, an agent and an empty workspace.
    pub(crate) fn new(name: &str) -> Self {
        Self::with_agent(name, Agent::start())
    }

    /// The same with an agent that was started with other flags.
    pub(crate) fn with_agent(name: &str, agent: Agent) -> Self {
        let topic = new_topic(name);
        let workspace = Workspace::new(agent.endpoint());
        Self { topic, agent, workspace }
    }

    /// The same with the standard stream applied.
    pub(crate) fn applied(name: &str) -> Self {
        let stage = Self::new(name);
        stage.apply(&stage.stream());
        stage
    }

    /// The arguments of the standard stream.
    pub(crate) fn stream(&self) -> Value {
        config::stream(&self.topic)
    }

    /// Writes a configuration with this stream and the standard connection.
    pub(crate) fn write(&self, stream: &Value) {
        self.workspace
            .write(&config::document(&config::connection(kafka().bootstrap()), stream));
    }

    /// Writes and applies it, and fails unless that succeeds.
    pub(crate) fn apply(&self, stream: &Value) -> Run {
        self.write(stream);
        let run = self.workspace.apply_now();
        run.assert_success();
        run
    }

    /// The stream as the agent has it.
    pub(crate) fn record(&self) -> StreamRecord {
        self.agent.api().stream(STREAM_NAME).unwrap()
    }

    /// The stream's uid.
    pub(crate) fn uid(&self) -> String {
        self.record().status.unwrap().uid
    }

    /// Waits until records flow.
    pub(crate) fn await_active(&self) -> StreamRecord {
        self.agent.api().await_state(STREAM_NAME, &[StreamState::Active])
    }

    /// Folder of the stream's table.
    pub(crate) fn table(&self) -> std::path::PathBuf {
        self.agent.table(TABLE_NAME)
    }

    /// Produces some orders, numbered from `first`, over all partitions.
    pub(crate) fn produce_orders(&self, first: i64, count: i64) -> Vec<Acknowledged> {
        let orders: Vec<Outgoing> = (first..first + count).map(order).collect();
        RecordingProducer::new().send_all(&self.topic, &orders)
    }
}

/// The status of the standard stream as Terraform shows it to somebody who only looks.
pub(crate) fn status_shown_by(agent: &Agent) -> Value {
    let looking = Workspace::new(agent.endpoint());
    looking.write(&json!({
        "terraform": {"required_providers": {"featurestore": {"source": "featurestore/featurestore"}}},
        "data": {"featurestore_stream": {"seen": {"name": STREAM_NAME}}},
        "output": {"status": {"value": "${data.featurestore_stream.seen.status}"}},
    }));
    looking.apply_now().assert_success();
    looking.state()["values"]["outputs"]["status"]["value"].clone()
}

/// An order whose every field follows from its number.
pub(crate) fn order(number: i64) -> Outgoing {
    let amount = f64::from(i32::try_from(number).unwrap()) / 4.0;
    let value = json!({"order_id": number, "amount": amount, "note": format!("note {number}")});
    Outgoing {
        partition: Some(i32::try_from(number).unwrap() % PARTITIONS),
        ..Outgoing::new(format!("customer-{}", number % 7), value.to_string())
    }
}
