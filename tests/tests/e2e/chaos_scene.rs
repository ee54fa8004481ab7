//! Where everything comes and goes: three brokers, a registry, an agent and three streams. What happens to them is in `chaos_deeds`.
//! Invariant: the load knows of what was made, and nothing else.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use e2e::agent::Agent;
use e2e::cluster::Cluster;
use e2e::config::{self, with};
use e2e::limits::CLUSTER_SETTLES;
use e2e::random::Random;
use e2e::registry::{Registry, Schema};
use e2e::spawn::peak_memory_mib;
use e2e::terraform::Workspace;
use e2e::wait::wait_until;
use featurestore_proto::v1::{StreamState, StreamStatus};
use serde_json::{Value, json};

use crate::chaos_deeds::Away;
use crate::chaos_load::{Load, Target, Targets, schema_of};

/// Streams, each with a table of its name and `_raw`: one reads topics of a pattern, one a topic that is made again, one by the
/// schemas of a registry.
pub(crate) const STREAMS: [&str; 3] = ["main.chaos.orders", "main.chaos.remade", "main.chaos.registered"];
/// Topics of the latter two.
pub(crate) const REMADE: &str = "remade";
const REGISTERED: &str = "registered";
const SUBJECT: &str = "registered-value";
/// New topics and partitions are seen soon, and so are new versions.
const FLAGS: [&str; 6] = [
    "--discovery-interval",
    "1s",
    "--table-compact-files",
    "20",
    "--registry-restart-interval",
    "4s",
];
/// Until the next thing happens: so many transactions, or so long if there are none, because too few brokers are left.
const TRANSACTIONS_MAX: usize = 20;
pub(crate) const STILL_MAX: Duration = Duration::from_secs(6);
const PARTITIONS: i32 = 3;
/// Each version adds a column.
const VERSIONS_MAX: usize = 40;
/// Transactions after which all is well.
const LAST_TRANSACTIONS: usize = 5;

pub(crate) struct Chaos {
    pub(crate) cluster: Cluster,
    pub(crate) registry: Registry,
    pub(crate) agent: Agent,
    pub(crate) workspace: Workspace,
    pub(crate) targets: Targets,
    pub(crate) random: Random,
    pub(crate) away: BTreeMap<usize, Away>,
    pub(crate) registry_away: Option<Away>,
    leaders: Vec<i32>,
    pub(crate) tally: BTreeMap<&'static str, usize>,
    pub(crate) memory_mib: u64,
    begun: Instant,
}

impl Chaos {
    pub(crate) fn set(seed: u64) -> Self {
        let (cluster, registry) = thread::scope(|scope| {
            let registry = scope.spawn(Registry::start);
            (Cluster::start(), registry.join().unwrap())
        });
        let agent = Agent::start_with(&FLAGS);
        let workspace = Workspace::new(agent.endpoint());
        let mut chaos = Self {
            cluster,
            registry,
            agent,
            workspace,
            targets: Targets::default(),
            random: Random::new(seed),
            away: BTreeMap::new(),
            registry_away: None,
            leaders: Vec::new(),
            tally: BTreeMap::new(),
            memory_mib: 0,
            begun: Instant::now(),
        };
        for topic in ["orders-0", REMADE, REGISTERED] {
            chaos.create(topic, PARTITIONS, 1);
        }
        let first = chaos.register();
        chaos.publish(first);
        chaos.workspace.write(&document(&chaos.cluster, &chaos.registry));
        chaos.workspace.apply_now().assert_success();
        for stream in STREAMS {
            chaos.agent.api().await_state(stream, &[StreamState::Active]);
        }
        chaos
    }

    /// The clock starts.
    pub(crate) fn begin(&mut self) {
        self.tally.clear();
        self.begun = Instant::now();
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    pub(crate) fn note(&mut self, what: &'static str, detail: &str) {
        *self.tally.entry(what).or_default() += 1;
        println!("{:7.1} s: {what} {detail}", self.elapsed().as_secs_f64());
    }

    pub(crate) fn create(&mut self, topic: &str, partitions: i32, life: usize) {
        self.cluster.create_topic(topic, partitions);
        let target = Target {
            partitions,
            life,
            schemas: Vec::new(),
        };
        self.targets.lock().unwrap().insert(topic.to_owned(), target);
    }

    /// Waits until the status has the loss of each time that the topic was deleted.
    pub(crate) fn await_losses(&mut self) {
        let times = self.targets.lock().unwrap()[REMADE].life - 1;
        self.until(&format!("losses of {times} deletions are shown"), |chaos| {
            let partitions = chaos.status(STREAMS[1])?.partitions;
            let epoch = |loss: Option<&featurestore_proto::v1::PartitionLoss>| loss.map_or(0, |loss| loss.epoch);
            let is_shown = |epoch: u32| usize::try_from(epoch).unwrap() == times;
            let shown = partitions.iter().filter(|partition| is_shown(epoch(partition.last_loss.as_ref())));
            if i32::try_from(shown.count()) == Ok(PARTITIONS) {
                Ok(())
            } else {
                Err(format!("{partitions:?}"))
            }
        });
    }

    /// What the agent says of a stream.
    pub(crate) fn status(&self, stream: &str) -> Result<StreamStatus, String> {
        let record = self.agent.api().stream(stream).map_err(|error| error.to_string())?;
        Ok(record.status.unwrap_or_default())
    }

    /// Registers the next version, and answers its id.
    pub(crate) fn register(&mut self) -> Option<u32> {
        let version = self.targets.lock().unwrap()[REGISTERED].schemas.len();
        (version < VERSIONS_MAX).then(|| {
            let id = self.registry.register(SUBJECT, &Schema::avro(&schema_of(version)));
            self.note("version", &format!("{}", version + 1));
            id
        })
    }

    /// From now on records are written by it too.
    pub(crate) fn publish(&self, id: Option<u32>) {
        self.targets.lock().unwrap().get_mut(REGISTERED).unwrap().schemas.extend(id);
    }

    pub(crate) fn look_at_memory(&mut self) {
        self.memory_mib = self.memory_mib.max(peak_memory_mib(self.agent.pid()));
    }

    /// Counts the partitions of the first topic that have another leader than at the last look.
    pub(crate) fn look_at_leaders(&mut self) {
        let Ok(leaders) = self.cluster.leaders("orders-0") else { return };
        let moved = leaders.iter().zip(&self.leaders).filter(|(now, before)| now != before).count();
        *self.tally.entry("leaders moved").or_default() += moved;
        self.leaders = leaders;
    }

    pub(crate) fn let_pass(&mut self, load: &Load) {
        let (transactions, start) = (load.ended() + 1 + self.random.below(TRANSACTIONS_MAX), Instant::now());
        wait_until("some transactions, or the end of the wait for them", 2 * STILL_MAX, || {
            if load.ended() >= transactions || start.elapsed() > STILL_MAX {
                Ok(())
            } else {
                Err("neither")
            }
        });
    }

    /// Brings everything back, and lets transactions come through.
    pub(crate) fn heal(&mut self, load: &Load) {
        while !self.away.is_empty() {
            self.bring_back();
        }
        self.bring_registry_back();
        let wanted = load.ended() + LAST_TRANSACTIONS;
        wait_until("transactions end again", 2 * CLUSTER_SETTLES, || match load.ended() {
            ended if ended >= wanted => Ok(()),
            ended => Err(format!("{ended} ended")),
        });
    }
}

/// One connection and the three streams.
fn document(cluster: &Cluster, registry: &Registry) -> Value {
    let stream = |name: &str, mode: Value| {
        let mode = json!({"kafka_stream_config": {"subscription_mode": mode}});
        let stream = with(&with(&config::stream(""), "/name", name), "/source_config", mode);
        let stream = with(
            &stream,
            "/ingestion_config/ingestion_destination/delta_table_name",
            format!("{name}_raw"),
        );
        with(&stream, "/operations", json!({"flush_interval": "200ms"}))
    };
    let locator = json!({"confluent_schema": {"subject": SUBJECT, "format": "FORMAT_AVRO"}});
    let schemas = json!({"schema_registry_config": {"payload_schema_locator": locator}});
    let orders = stream(STREAMS[0], json!({"subscribe_pattern": r"orders-\d+"}));
    let remade = with(
        &stream(STREAMS[1], json!({"subscribe": REMADE})),
        "/operations/on_data_loss",
        "earliest",
    );
    let registered = with(&stream(STREAMS[2], json!({"subscribe": REGISTERED})), "/schema_config", schemas);
    let connection = with(
        &config::connection(cluster.bootstrap()),
        "/kafka/schema_registry_url",
        registry.url(),
    );
    let document = config::document(&connection, &orders);
    let document = with(&document, "/resource/featurestore_stream/remade", remade);
    with(&document, "/resource/featurestore_stream/registered", registered)
}
