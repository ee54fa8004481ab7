//! What the measurements share: the stream that is measured, and the topic that it reads. Invariant: every measurement ingests
//! the same kind of record by the same definition, so that their figures can be set side by side.

use std::time::Duration;

use e2e::agent::Agent;
use e2e::api::{kafka_connection, stream_message};
use e2e::config::{CONNECTION_NAME, STREAM_NAME};
use e2e::kafka::kafka;
use e2e::transactions::SCHEMA;
use e2e::wait::wait_until;
use featurestore_proto::v1::TableStatus;

/// Partitions of every topic.
pub(crate) const PARTITIONS: i32 = 4;
/// A million records take less than a minute; this is for a machine ten times slower.
pub(crate) const DEADLINE: Duration = Duration::from_secs(900);

/// A number from the environment.
pub(crate) fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| {
        text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}"))
    })
}

/// Starts reading a topic from its beginning.
pub(crate) fn start_stream(agent: &Agent, topic: &str) {
    agent.api().create_stream(stream_message(topic, SCHEMA), "bench").unwrap();
}

/// An agent that knows the broker.
pub(crate) fn agent_with_connection() -> Agent {
    let agent = Agent::start();
    agent.api().create_kafka_connection(CONNECTION_NAME, kafka().bootstrap()).unwrap();
    agent
}

/// An agent that knows the broker and a schema registry.
pub(crate) fn agent_with_registry(url: &str) -> Agent {
    let agent = Agent::start();
    let connection = kafka_connection(CONNECTION_NAME, kafka().bootstrap(), Some(url));
    agent.api().create_connection(&connection).unwrap();
    agent
}

/// What the agent says of the table.
pub(crate) fn table_status(agent: &Agent) -> Result<TableStatus, String> {
    let record = agent.api().stream(STREAM_NAME).map_err(|status| status.to_string())?;
    Ok(record.status.unwrap_or_default().table.unwrap_or_default())
}

/// Waits until the table has exactly these many rows.
pub(crate) fn await_rows(agent: &Agent, records: u64) {
    wait_until("everything is in the table", DEADLINE, || {
        let rows = u64::try_from(table_status(agent)?.rows).unwrap();
        assert!(rows <= records, "{rows} rows from {records} records");
        if rows == records { Ok(()) } else { Err(format!("{rows} rows")) }
    });
}
