//! `kill -9` of the agent under fire, again and again: at named points of failure, and while thousands of records arrive each
//! second. Other teams optimise the table and delete from it, one of them with Spark, the broker is restarted, other streams
//! come and go.
//! Invariant of the product: every version of the table holds exactly the committed records up to its positions, less what
//! the other teams deleted. The fire is in `fire` and `fire_spark`; each point on its own is in `crash_points`.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use e2e::agent::Agent;
use e2e::config::{self, STREAM_NAME, TABLE_NAME, with};
use e2e::kafka::Kafka;
use e2e::limits::{BROKER_READY, STREAM_CATCHES_UP, STREAM_SETTLES};
use e2e::paths::fresh_folder;
use e2e::producer::{Acknowledged, RecordingProducer};
use e2e::tables::{self, Script};
use e2e::terraform::Workspace;
use e2e::wait::wait_until;
use featurestore_proto::v1::StreamState;
use serde_json::{Value, json};

use crate::fire::{self, Load, Neighbour, OtherTeam, Produced, Stop};
use crate::fire_spark::SparkTeam;
use crate::rows::assert_each_exactly_once;
use crate::stage::{PARTITIONS, order};

/// Kills of one ordinary run; `make soak` asks for more.
const KILLS: usize = 25;
/// A kill at no named point comes while at least so many records arrive in a second.
const RATE: usize = 5_000;
/// Longest wait for that rate on a machine that is busy with other things; then the kill comes at a named point.
const RATE_WAIT: Duration = Duration::from_secs(5);
/// Longest wait for a commit or a file: the broker may be away meanwhile.
const WORK_WAIT: Duration = BROKER_READY.saturating_add(STREAM_SETTLES);
/// Longest wait for a named point; those of other streams come by once in several Terraform commands.
const POINT_WAIT: Duration = Duration::from_secs(120);
/// The moments of the kills are spread over this time after a commit.
const MOMENT_MAX: Duration = Duration::from_millis(300);
const TOPIC: &str = "orders";
const NEIGHBOURS_TOPIC: &str = "refunds";
const NEIGHBOURS_RECORDS: i64 = 40;

/// Points at which the agent dies under fire. An open batch is in the hands of those that begin with `append`, and of every
/// other one as far as the files say.
const POINTS: [&str; 24] = [
    "append.before_file",
    "commit.after_temporary",
    "compact.after_files",
    "append.before_commit",
    "switch.before_commit",
    "commit.after_entry",
    "append.after_file",
    "checkpoint.after_file",
    "create.after_entry",
    "file.before_name",
    "append.before_commit",
    "compact.after_commit",
    "commit.before_entry",
    "append.after_commit",
    "trash.after_marker",
    "append.after_file",
    "checkpoint.before_file",
    "file.after_name",
    "switch.after_commit",
    "commit.after_temporary",
    "compact.before_commit",
    "trash.after_move",
    "store.before_forget",
    "checkpoint.after_hint",
];

/// Points that take the place of moments where the records do not come fast enough: a batch is open at all of them.
const BATCH_POINTS: [&str; 3] = ["append.before_commit", "append.before_file", "append.after_file"];

/// Kills beyond those asked for until half of all have hit an open batch.
const KILLS_MORE: usize = 10;

fn kills() -> usize {
    std::env::var("E2E_KILLS").map_or(KILLS, |text| text.parse().expect("E2E_KILLS is a number"))
}

/// All that burns.
struct Scene {
    kafka: Arc<Kafka>,
    agent: Agent,
    workspace: Workspace,
    files: Files,
}

/// What was counted.
#[derive(Debug, Default)]
struct Tally {
    at_points: usize,
    at_moments: usize,
    rates: Vec<usize>,
    open_batches: usize,
}

/// The table's own files that no commit names, to tell a kill that hit an open batch.
#[derive(Default)]
struct Files {
    read_until: usize,
    named: BTreeSet<String>,
    left: BTreeSet<String>,
}

impl Files {
    /// Data files of batches, complete or not, that no entry names, without those that former lives left. What a compaction
    /// writes has another name.
    fn new_unnamed(&mut self, table: &Path) -> Vec<String> {
        while let Ok(text) = std::fs::read_to_string(table.join(format!("_delta_log/{:020}.json", self.read_until))) {
            let actions = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            self.named
                .extend(actions.filter_map(|action| action["add"]["path"].as_str().map(str::to_owned)));
            self.read_until += 1;
        }
        let names = std::fs::read_dir(table)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let ours = names.filter(|name| {
            let name = name.trim_start_matches('.');
            name.starts_with("fs-") && !name.starts_with("fs-compacted-")
        });
        ours.filter(|name| !self.named.contains(name) && !self.left.contains(name))
            .collect()
    }
}

impl Scene {
    fn set() -> Self {
        let kafka = Arc::new(Kafka::start());
        kafka.create_topic(TOPIC, PARTITIONS);
        kafka.create_topic(NEIGHBOURS_TOPIC, PARTITIONS);
        let agent = Agent::start_with(&["--table-compact-files", "8", "--table-checkpoint-commits", "10"]);
        let workspace = Workspace::new(agent.endpoint());
        let stream = with(&config::stream(TOPIC), "/operations", json!({"flush_interval": "100ms"}));
        workspace.write(&config::document(&config::connection(kafka.bootstrap()), &stream));
        workspace.apply_now().assert_success();
        Self {
            kafka,
            agent,
            workspace,
            files: Files::default(),
        }
    }

    /// Lets the agent live until so many commits more are in the table.
    fn let_it_work(&self, commits: usize) {
        let entries = || tables::log_entries(&self.agent.table(TABLE_NAME));
        let start = entries();
        wait_until("the agent commits under fire", WORK_WAIT, || {
            let now = entries();
            if now >= start + commits {
                Ok(())
            } else {
                Err(format!("{} new log entries", now - start))
            }
        });
    }

    /// Kills the agent, starts it again, and counts.
    fn kill(&mut self, number: usize, load: &Load, spark: &SparkTeam, tally: &mut Tally) {
        // Moments and points take turns; where the records do not come fast enough, a point of a batch is taken.
        let moment = MOMENT_MAX * u32::try_from(number * 7 % 25).unwrap() / 25;
        let rate = (number.is_multiple_of(2) && number < kills())
            .then(|| rate_at(load, moment))
            .flatten();
        if rate.is_some() {
            self.await_a_file();
        }
        let at = match rate {
            Some(rate) => {
                self.agent.kill();
                tally.at_moments += 1;
                tally.rates.push(rate);
                "a moment"
            }
            None => {
                let turn = number / 2;
                let instead = number.is_multiple_of(2) || number >= kills();
                let point = if instead {
                    BATCH_POINTS[turn % BATCH_POINTS.len()]
                } else {
                    POINTS[turn % POINTS.len()]
                };
                self.kill_at(point, number);
                tally.at_points += 1;
                point
            }
        };
        let left = self.files.new_unnamed(&self.agent.table(TABLE_NAME));
        let unnamed = left.len();
        self.files.left.extend(left);
        let open = at == "append.before_file" || unnamed > 0;
        tally.open_batches += usize::from(open);
        println!("kill {number} at {at}: {unnamed} files of batches that no commit names, open batch {open}, {rate:?} records/s");
        if let Some(operation) = to_land_before(number) {
            spark.await_landed(operation);
        }
        self.agent.start_again();
    }

    /// Waits until the agent has a data file that no commit names, so that the kill comes while it is written or committed.
    fn await_a_file(&mut self) {
        let table = self.agent.table(TABLE_NAME);
        wait_until("a file of a batch", WORK_WAIT, || {
            if self.files.new_unnamed(&table).is_empty() {
                Err("none")
            } else {
                Ok(())
            }
        });
    }

    fn kill_at(&mut self, point: &str, number: usize) {
        let before = self.agent.failpoints().hits().len();
        // The neighbour's points come by once in several commands: none of them is let through.
        let rare = ["create", "trash", "store"].iter().any(|kind| point.starts_with(kind));
        let let_through = if rare { 0 } else { number % 3 };
        self.agent.failpoints().arm(&format!("{point} kill {let_through}\n"));
        let updater = point.starts_with("switch").then(|| {
            let (api, table) = (self.agent.api().clone(), number);
            thread::spawn(move || update_until_cut_off(&api, table))
        });
        self.agent.await_end(point, POINT_WAIT);
        if let Some(updater) = updater {
            updater.join().unwrap();
        }
        self.agent.failpoints().disarm();
        assert_eq!(
            self.agent.failpoints().hits()[before..],
            [point],
            "the agent ended at another point"
        );
    }
}

/// What of Spark's must have landed before the agent is started again after this kill, so that each run has both.
fn to_land_before(number: usize) -> Option<&'static str> {
    match number {
        number if number == kills() / 3 => Some("OPTIMIZE"),
        number if number == kills() * 2 / 3 => Some("DELETE"),
        _ => None,
    }
}

/// The rate at a moment in which it is high enough; none if that does not come.
fn rate_at(load: &Load, moment: Duration) -> Option<usize> {
    let start = Instant::now();
    wait_until("a moment of many records, or the end of the wait for it", 2 * RATE_WAIT, || {
        assert!(!load.has_ended(), "the producer ended");
        let rate = load.per_second();
        match start.elapsed() {
            past if past >= moment && rate >= RATE => Ok(Some(rate)),
            past if past >= RATE_WAIT => Ok(None),
            _ => Err(format!("{rate} records/s")),
        }
    })
}

/// Changes the exclusions to and fro until the agent dies of it.
fn update_until_cut_off(api: &e2e::api::Api, first: usize) {
    for number in first.. {
        let Ok(record) = api.stream(STREAM_NAME) else { return };
        let mut stream = record.stream.unwrap();
        stream.excluded_columns = if number.is_multiple_of(2) {
            vec!["value.amount".to_owned()]
        } else {
            Vec::new()
        };
        if api.update_stream(stream, &["excluded_columns"], 0).is_err() {
            return;
        }
    }
}

#[test]
fn after_many_kills_of_the_busy_agent_each_committed_record_is_there_exactly_once() {
    let mut scene = Scene::set();
    let refunds = produce_refunds(&scene.kafka);
    let stop = Stop::default();
    let load = Load::start(scene.kafka.bootstrap(), TOPIC, &stop);
    let team = OtherTeam::start(scene.agent.table(TABLE_NAME), &stop);
    let spark = SparkTeam::start(scene.agent.table(TABLE_NAME), &stop);
    let neighbour = Neighbour::start(scene.agent.endpoint(), scene.kafka.bootstrap(), NEIGHBOURS_TOPIC);
    let mut tally = Tally::default();
    let mut restart = None;
    let mut number = 0;
    // A commit can land between the look and the kill, and a point can be another table's: then some more kills follow.
    while number < kills() || (2 * tally.open_batches < number && number < kills() + KILLS_MORE) {
        scene.let_it_work(1 + number % 3);
        if number == kills() / 2 {
            let kafka = Arc::clone(&scene.kafka);
            restart = Some(thread::spawn(move || {
                // Not stopped in order: a broker on its own then completes a commit whose markers it cannot write any more, and
                // records that it acknowledged as committed are aborted ones for every reader.
                kafka.kill();
                kafka.start_again();
            }));
        }
        scene.kill(number, &load, &spark, &mut tally);
        number += 1;
    }
    restart.expect("the broker was restarted").join().unwrap();
    scene.let_it_work(1);
    stop.now();
    let produced = load.end();
    let (mut script, team) = team.end();
    println!(
        "{tally:?}; the other team: {team:?}; Spark: {:?}; the neighbour: {:?}",
        spark.outcomes(),
        neighbour.outcomes()
    );
    let deeds = spark.end();
    let neighbours = neighbour.end_after_a_cycle();

    await_end_of_topic(&mut script, &scene, &produced);
    scene.agent.api().await_state(STREAM_NAME, &[StreamState::Active]);
    // Updates that were cut off are either in force or not there; the configuration takes them back.
    scene.workspace.apply_now().assert_success();
    scene.workspace.plan().assert_empty();
    expect_sound_neighbour(&scene, &neighbours, &refunds);
    assert!(scene.agent.terminate().success());
    let report = judge(&mut script, &scene, &produced, &deeds);
    println!(
        "{number} kills, {} at named points and {} while {} to {} records/s arrived, {} with an open batch; {} aborted transactions; {report}",
        tally.at_points,
        tally.at_moments,
        tally.rates.iter().min().unwrap_or(&0),
        tally.rates.iter().max().unwrap_or(&0),
        tally.open_batches,
        produced.aborted_transactions,
    );
    assert!(
        2 * tally.open_batches >= number,
        "only {} kills hit an open batch",
        tally.open_batches
    );
    assert!(produced.aborted_transactions > 0);
    // On a machine that is busy with other tests the rate may not come; the long run is made on one that is not.
    assert!(
        kills() <= KILLS || 3 * tally.at_moments >= kills(),
        "only {} kills at moments",
        tally.at_moments
    );
    for operation in [
        "agent WRITE",
        "agent OPTIMIZE",
        "other OPTIMIZE",
        "other DELETE",
        "spark OPTIMIZE",
        "spark DELETE",
    ] {
        assert!(report["operations"][operation].as_u64() > Some(0), "no {operation}: {report}");
    }
}

fn produce_refunds(kafka: &Kafka) -> Vec<Acknowledged> {
    let orders: Vec<_> = (0..NEIGHBOURS_RECORDS).map(order).collect();
    RecordingProducer::to(kafka.bootstrap(), &[]).send_all(NEIGHBOURS_TOPIC, &orders)
}

fn await_end_of_topic(script: &mut Script, scene: &Scene, produced: &Produced) {
    let ends = produced.ends();
    let request = json!({"action": "positions", "path": scene.agent.table(TABLE_NAME)});
    wait_until("everything is in the table", STREAM_CATCHES_UP, || {
        let positions = script.ask(&request)?;
        let behind = ends
            .iter()
            .find(|(partition, end)| positions[partition.to_string()].as_i64() < Some(**end));
        match behind {
            None => Ok(()),
            Some(behind) => Err(format!("{positions}, not yet {behind:?}")),
        }
    });
}

/// The neighbour's stream is whatever the last command left; one more apply makes it whole, and a destroy takes it away.
fn expect_sound_neighbour(scene: &Scene, workspace: &Workspace, refunds: &[Acknowledged]) {
    workspace.write(&fire::neighbours_document(scene.kafka.bootstrap(), NEIGHBOURS_TOPIC, 0));
    let run = workspace.apply_now();
    fire::take_up(workspace, &run);
    workspace.apply_now().assert_success();
    workspace.plan().assert_empty();
    let table = scene.agent.table(fire::NEIGHBOUR_TABLE);
    assert_each_exactly_once(&table, refunds);
    workspace.destroy().assert_success();
    assert!(!table.exists());
}

/// Has every version of the table read, and compared with what the producer knows as committed.
fn judge(script: &mut Script, scene: &Scene, produced: &Produced, deeds: &[Value]) -> Value {
    let file = fresh_folder("committed").join("committed.csv");
    produced.write(&file);
    let request = json!({"action": "check", "path": scene.agent.table(TABLE_NAME), "csv": file, "deeds": deeds});
    script.ask(&request).unwrap_or_else(|error| panic!("{error}"))
}
