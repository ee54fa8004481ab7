//! Every wait of the harness, with its reason. All are deadlines: a healthy run meets none of them.

use std::time::Duration;

/// A broker is ready in two seconds, three in five; a machine that compiles at the same time takes ten times that, and more.
pub const BROKER_READY: Duration = Duration::from_secs(120);
/// A cluster of which brokers come and go has a leader for each partition again, after the four seconds in which a broker is missed.
pub const CLUSTER_SETTLES: Duration = Duration::from_secs(120);
/// One request to a cluster, which is asked again: the broker that is to answer may be away.
pub const CLUSTER_REQUEST: Duration = Duration::from_secs(5);
/// A schema registry answers in three seconds; a machine that compiles at the same time takes several times that.
pub const REGISTRY_READY: Duration = Duration::from_secs(90);
/// One request to a schema registry, slow ones of tests included.
pub const REGISTRY_REQUEST: Duration = Duration::from_secs(30);
/// One administrative request to the broker.
pub const BROKER_REQUEST: Duration = Duration::from_secs(20);
/// All outstanding acknowledgements of a producer, or the end of its transaction: a broker that was killed may come back meanwhile,
/// and the client's connection after it.
pub const PRODUCER_FLUSH: Duration = Duration::from_secs(120);
/// The agent says that it listens. After a kill it opens its store and nothing more before that line.
pub const AGENT_READY: Duration = Duration::from_secs(30);
/// The agent ends 28 s after it was told to, whatever hangs (`STOPPED_WITHIN` of the agent), and some slack.
pub const AGENT_STOP: Duration = Duration::from_secs(45);
/// One call to the agent; creates and updates wait inside the agent for 30 s at most.
pub const AGENT_CALL: Duration = Duration::from_secs(45);
/// A stream reaches a state, a row becomes visible.
pub const STREAM_SETTLES: Duration = Duration::from_secs(60);
/// A backlog of some hundred thousand records is in the table.
pub const STREAM_CATCHES_UP: Duration = Duration::from_secs(240);
/// One Terraform command; a create inside it may use its whole default timeout.
pub const TERRAFORM_COMMAND: Duration = Duration::from_secs(240);
/// One answer of a script: most take milliseconds, the first of Spark tens of seconds, the verdict on a long crash test minutes.
pub const SCRIPT_ANSWER: Duration = Duration::from_secs(600);
/// An operation of Spark lands on a table that nobody else writes to: seconds, and its session may be just starting.
pub const SPARK_LANDS: Duration = Duration::from_secs(180);
/// A program that prints something and ends.
pub const SHORT_COMMAND: Duration = Duration::from_secs(30);
/// A part of a benchmark that is a program of its own, with many records.
pub const BENCHMARK_PART: Duration = Duration::from_secs(3600);
/// Between two looks at a state that is waited for.
pub const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Mounting a small disk, or changing how it is mounted, takes milliseconds.
pub const DISK_STEP: Duration = Duration::from_secs(20);
