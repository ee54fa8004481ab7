//! The table of audit events: what was called by whom and what came of it, each call once, whatever becomes of the agent.
//! Invariant: a call that was answered is in the table once, one that was cut off once or not at all, and nothing of what was in a
//! call.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use e2e::agent::Agent;
use e2e::api::Api;
use e2e::limits::STREAM_SETTLES;
use e2e::tables::{READERS, rows};
use e2e::wait::wait_until;
use featurestore_proto::v1::connection::Options;
use featurestore_proto::v1::{Connection, KafkaConnection};
use serde_json::Value;
use stream_pipeline::failpoint::Point;
use tonic::Code;

/// Kills at no named point.
const KILLS: u32 = 8;
/// The moments of these are spread over this time after a start, in which the agent carries what waits.
const MOMENT_MAX: Duration = Duration::from_millis(300);
/// Nobody else says this word.
const CANARY: &str = "canary-7f3a91-never-in-the-audit";

fn events_folder(agent: &Agent) -> PathBuf {
    agent.table("system.audit.events")
}

/// The events by what they are about, with those of the rest under "". Both readers see the same.
fn events(agent: &Agent) -> Result<BTreeMap<String, Vec<Value>>, String> {
    let mut seen = Vec::new();
    for reader in READERS {
        let mut found = rows(reader, &events_folder(agent), &[])?;
        found.sort_by_key(|row| row["sequence"].as_i64());
        seen.push(found);
    }
    if seen[0] != seen[1] {
        return Err("the table moves between two looks".into());
    }
    let mut events: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for row in seen.swap_remove(0) {
        events
            .entry(row["securable_name"].as_str().unwrap_or_default().to_owned())
            .or_default()
            .push(row);
    }
    Ok(events)
}

/// Calls that can be told apart by their names.
#[derive(Default)]
struct Calls {
    answered: Vec<String>,
    cut_off: Vec<String>,
}

impl Calls {
    fn make(&mut self, agent: &Agent) {
        let name = format!("main.audit.call_{}", self.answered.len() + self.cut_off.len());
        match agent.api().stream(&name).unwrap_err().code() {
            Code::NotFound => self.answered.push(name),
            _ => self.cut_off.push(name),
        }
    }
}

#[test]
fn each_call_is_in_the_audit_table_once_after_a_death_at_every_point_of_its_way() {
    use Point::*;
    let mut agent = Agent::start_with(&["--audit-table"]);
    let mut calls = Calls::default();
    for point in [
        CreateBeforeFolder,
        CreateAfterFolder,
        CreateBeforeEntry,
        CreateAfterEntry,
        AppendBeforeFile,
        AppendAfterFile,
        AppendBeforeCommit,
        CommitBeforeEntry,
        CommitAfterEntry,
        AppendAfterCommit,
    ] {
        agent.failpoints().arm(&format!("{} kill\n", point.name()));
        if !agent.is_running() {
            agent.start_to_end();
        }
        wait_until(&format!("the agent dies at {}", point.name()), STREAM_SETTLES, || {
            if agent.has_ended() {
                return Ok(());
            }
            calls.make(&agent);
            Err("the agent lives")
        });
        agent.await_end(point.name(), STREAM_SETTLES);
        agent.failpoints().disarm();
    }
    for number in 0..KILLS {
        agent.start_to_end();
        let since = Instant::now();
        while since.elapsed() < MOMENT_MAX * (number * 3 % KILLS) / KILLS {
            calls.make(&agent);
        }
        agent.kill();
    }
    agent.start_again();
    for _ in 0..3 {
        calls.make(&agent);
    }
    assert_eq!(agent.terminate().code(), Some(0));

    // An end in order carries everything.
    let events = events(&agent).unwrap();
    assert!(calls.answered.len() > 10, "{}", calls.answered.len());
    for name in &calls.answered {
        assert_eq!(events.get(name).map(Vec::len), Some(1), "{name}: {:?}", events.get(name));
    }
    for name in &calls.cut_off {
        assert!(
            events.get(name).is_none_or(|found| found.len() == 1),
            "{name}: {:?}",
            events.get(name)
        );
    }
    let all: Vec<&Value> = events.values().flatten().collect();
    let mut sequences: Vec<i64> = all.iter().map(|row| row["sequence"].as_i64().unwrap()).collect();
    sequences.sort_unstable();
    assert_eq!(
        sequences,
        (1..=i64::try_from(all.len()).unwrap()).collect::<Vec<_>>(),
        "no event is lost"
    );

    // Somebody drops the table: it begins anew, and the agent goes on.
    fs::remove_dir_all(events_folder(&agent)).unwrap();
    agent.start_again();
    calls.make(&agent);
    let last = calls.answered.last().unwrap().clone();
    wait_until("the table is back", STREAM_SETTLES, || {
        let found = self::events(&agent)?;
        if found.contains_key(&last) {
            Ok(())
        } else {
            Err(format!("{found:?}"))
        }
    });
}

#[test]
fn the_audit_says_who_was_allowed_and_who_was_not_and_nothing_of_what_was_sent() {
    let mut agent = Agent::start_secured(&[], &["--audit-table=true"]);
    let as_one_with = |token: &str| Api::secured(agent.endpoint(), &agent.certificates(), token);
    let token = agent.api().create_token("eve").unwrap();
    let (admin, eve, nobody) = (agent.api(), as_one_with(&token), as_one_with(&format!("{CANARY}-token")));
    let code = |api: &Api, name: &str| api.stream(name).unwrap_err().code();
    assert_eq!(code(&eve, "main.audit.plans"), Code::PermissionDenied);
    assert_eq!(code(admin, "main.audit.plans"), Code::NotFound);
    assert_eq!(code(&nobody, "main.audit.plans"), Code::Unauthenticated);
    assert_eq!(code(admin, &format!("main.{CANARY}")), Code::InvalidArgument);
    let kafka = KafkaConnection {
        bootstrap_servers: "127.0.0.1:1".to_owned(),
        security_protocol: "SASL_SSL".to_owned(),
        sasl_mechanism: Some("PLAIN".to_owned()),
        user: Some("ann".to_owned()),
        password: Some(CANARY.to_owned()),
        ..KafkaConnection::default()
    };
    let connection = Connection {
        name: "audited".to_owned(),
        options: Some(Options::Kafka(kafka)),
        ..Connection::default()
    };
    assert_eq!(eve.create_connection(&connection).unwrap_err().code(), Code::PermissionDenied);
    admin.create_connection(&connection).unwrap();
    assert_eq!(agent.terminate().code(), Some(0));

    let events = events(&agent).unwrap();
    let short = |name: &str| -> Vec<String> {
        let found = events.get(name).cloned().unwrap_or_default();
        let words = ["principal", "call", "action", "securable_type", "outcome"];
        let text = |row: &Value| words.map(|word| row[word].as_str().unwrap_or("-").to_owned()).join(" ");
        found.iter().map(text).collect()
    };
    assert_eq!(
        short("main.audit.plans"),
        [
            "eve GetStream read stream permission_denied",
            "admin GetStream read stream not_found"
        ]
    );
    assert_eq!(
        short("audited"),
        [
            "eve CreateConnection create connection permission_denied",
            "admin CreateConnection create connection ok"
        ]
    );
    let unnamed = short("");
    assert!(unnamed.contains(&"admin GetStream - - invalid_argument".to_owned()), "{unnamed:?}");
    let everything = format!("{events:?}");
    let admin = fs::read_to_string(agent.data_folder().join("admin.token")).unwrap();
    for (what, secret) in [("the canary", CANARY), ("a token", &token), ("the admin's token", admin.trim())] {
        assert!(!everything.contains(secret), "{what} is in the audit: {everything}");
    }
}
