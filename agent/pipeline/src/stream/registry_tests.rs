//! Streams whose schemas come from a registry made by hand, on librdkafka's mock cluster: what is pinned, what waits, what is null.
//! With real registries and a real broker: the e2e tests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use stream_spec::stream::{ConnectionConfig, SchemaConfig, SchemaLocator, SchemaRegistryConfig, StreamSpec};
use stream_spec::types::Field;
use tokio::sync::watch;

use super::RunningStream;
use super::tests::{definition, wait_for};
use crate::connection::{ClientProperties, ConnectionResolver};
use crate::engine::{Engine, EngineSettings, StreamDefinition};
use crate::error::{PipelineError, Retry};
use crate::kafka::testing::{Cluster, partition};
use crate::registry::RegistryProperties;
use crate::registry::tests::server::{Asked, Reply, Server};
use crate::status::{PipelineStatus, condition};

const SUBJECT: &str = "orders-value";
const ID: &str = r#"{"name":"id","type":"long"}"#;
const NAME: &str = r#"{"name":"name","type":"string"}"#;
const NOTE: &str = r#"{"name":"note","type":["null","string"],"default":null}"#;

fn record(fields: &[&str]) -> String {
    format!(r#"{{"type":"record","name":"Order","fields":[{}]}}"#, fields.join(","))
}

/// What the registry has, and how it is.
#[derive(Default)]
struct Contents {
    /// Subject and text of each id, from 1.
    schemas: Vec<(String, String)>,
    is_down: bool,
}

impl Contents {
    fn reply(&self, asked: &Asked) -> Reply {
        if self.is_down {
            return Reply::status(500);
        }
        let path = asked.target.split('?').next().unwrap_or_default();
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let by_id = |id: &str| {
            let id: usize = id.parse().ok()?;
            self.schemas.get(id.checked_sub(1)?)
        };
        match parts.as_slice() {
            ["subjects", subject, "versions", "latest"] => {
                let of_subject = |(_, (of, _)): &(usize, &(String, String))| of == subject;
                let all: Vec<_> = self.schemas.iter().enumerate().filter(of_subject).collect();
                match all.last() {
                    Some((place, (_, text))) => Reply::json(&format!(
                        r#"{{"subject":"{subject}","version":{},"id":{},"schema":{}}}"#,
                        all.len(),
                        place + 1,
                        serde_json::Value::from(text.as_str())
                    )),
                    None => Reply::missing(40401),
                }
            }
            ["schemas", "ids", id] => match by_id(id) {
                Some((_, text)) => Reply::json(&format!(r#"{{"schema":{}}}"#, serde_json::Value::from(text.as_str()))),
                None => Reply::missing(40403),
            },
            ["schemas", "ids", id, "versions"] => match by_id(id) {
                Some((subject, _)) => Reply::json(&format!(r#"[{{"subject":"{subject}","version":1}}]"#)),
                None => Reply::missing(40403),
            },
            _ => Reply::missing(404),
        }
    }
}

struct AtBoth(ClientProperties, String, watch::Sender<u64>);

#[async_trait]
impl ConnectionResolver for AtBoth {
    async fn open(&self, _stream: &StreamSpec, _run_as: &str) -> Result<ClientProperties, PipelineError> {
        Ok(self.0.clone())
    }

    async fn open_registry(&self, _stream: &StreamSpec, _run_as: &str) -> Result<RegistryProperties, PipelineError> {
        Ok(RegistryProperties {
            urls: vec![self.1.clone()],
            api_key: None,
            api_secret: None,
            ca_pem: None,
            identity: "registry".to_owned(),
        })
    }

    fn changes(&self, _connection: &ConnectionConfig) -> watch::Receiver<u64> {
        self.2.subscribe()
    }
}

struct Place {
    cluster: Cluster,
    registry: Arc<Mutex<Contents>>,
    _server: Server,
    engine: Arc<Engine>,
    _folder: tempfile::TempDir,
}

impl Place {
    /// With a registry that has those versions of the subject, and streams that look at it so often.
    async fn new(versions: &[String], restart: Duration) -> Self {
        let (cluster, folder) = (Cluster::new(2), tempfile::tempdir().expect("folder"));
        let registry = Arc::new(Mutex::new(Contents::default()));
        let asked = registry.clone();
        let server = Server::start(move |request, _| asked.lock().expect("no panic").reply(request)).await;
        let settings = EngineSettings {
            discovery_interval: Duration::from_millis(100),
            registry_restart_interval: restart,
            ..EngineSettings::new(folder.path().to_string_lossy())
        };
        let resolver = AtBoth(cluster.properties(), server.url(), watch::Sender::new(0));
        let place = Self {
            engine: Engine::new(settings, Arc::new(resolver)).expect("engine"),
            cluster,
            registry,
            _server: server,
            _folder: folder,
        };
        for text in versions {
            place.register(SUBJECT, text);
        }
        place
    }

    /// Registers a schema; its id.
    fn register(&self, subject: &str, text: &str) -> u8 {
        let mut contents = self.registry.lock().expect("no panic");
        contents.schemas.push((subject.to_owned(), text.to_owned()));
        u8::try_from(contents.schemas.len()).expect("few")
    }

    fn set_down(&self, is_down: bool) {
        self.registry.lock().expect("no panic").is_down = is_down;
    }

    /// Sends a message of that schema; a number is one byte as long as it is small.
    fn send(&self, number: i32, id: u8, order: u8, rest: &[u8]) {
        let bytes = [&[0, 0, 0, 0, id, order * 2][..], rest].concat();
        let text = String::from_utf8(bytes).expect("each byte is small");
        self.cluster.send(number, None, Some(&text));
    }

    async fn start(&self) -> RunningStream {
        let definition = registry_definition();
        self.engine.provision(&definition).await.expect("made");
        self.engine.start(definition)
    }
}

fn registry_definition() -> StreamDefinition {
    let mut definition = definition();
    definition.spec.schemas = SchemaConfig::Registry(SchemaRegistryConfig {
        uc_connection: None,
        api_secret_ref: None,
        payload: Some(SchemaLocator {
            subject: SUBJECT.to_owned(),
            format: "FORMAT_AVRO".to_owned(),
        }),
        key: None,
    });
    definition.schema_history = Vec::new();
    definition.operations.flush_interval = Duration::from_millis(100);
    definition
}

fn name(text: &str) -> Vec<u8> {
    [&[u8::try_from(text.len()).expect("short") * 2], text.as_bytes()].concat()
}

fn rows(status: &PipelineStatus) -> i64 {
    status.table.as_ref().map_or(-1, |table| table.rows)
}

fn value_type(status: &PipelineStatus) -> String {
    let columns = status.table.as_ref().map(|table| table.columns.as_slice()).unwrap_or_default();
    let value = columns.iter().find(|column: &&Field| column.name == "value");
    value.map(|column| column.data_type.to_string()).unwrap_or_default()
}

fn said(status: &PipelineStatus, condition_type: &str) -> Option<String> {
    let found = status.conditions.iter().find(|found| found.condition_type == condition_type);
    found.map(|found| format!("{} {}", found.reason, found.message))
}

fn misfits(status: &PipelineStatus) -> BTreeMap<&'static str, u64> {
    status
        .misfits
        .counts()
        .map(|(_, reason, count)| (reason.name(), count.messages))
        .collect()
}

/// No stream of a test comes to its next restart.
const NEVER: Duration = Duration::from_secs(3_600);
const SOON: Duration = Duration::from_millis(500);

/// apache/hudi#8966, #2589: each message is decoded by its own writer's schema.
#[tokio::test]
async fn messages_of_several_schemas_become_rows_of_the_latest_and_a_restart_takes_a_later_one() {
    let place = Place::new(&[record(&[ID]), record(&[ID, NAME])], SOON).await;
    let stream = place.start().await;
    // The first version lacks what the second one needs and has no default for.
    place.send(0, 2, 1, &name("a"));
    place.send(0, 1, 2, &[]);
    place.send(1, 2, 3, &name("c"));
    let status = wait_for(&stream, "three rows", |status| rows(status) == 3 && status.conditions.is_empty()).await;
    assert_eq!(value_type(&status), "STRUCT<id: BIGINT, name: STRING>");
    assert_eq!(
        status.subjects.iter().map(|it| (it.in_force, it.latest)).collect::<Vec<_>>(),
        [(Some((2, 2)), Some((2, 2)))]
    );
    assert_eq!(misfits(&status), BTreeMap::from([("unresolved_schema", 1)]));

    let third = place.register(SUBJECT, &record(&[ID, NAME, NOTE]));
    wait_for(&stream, "the third version", |status| {
        value_type(status) == "STRUCT<id: BIGINT, name: STRING, note: STRING>"
    })
    .await;
    place.send(0, third, 4, &[name("d"), vec![2], name("n")].concat());
    place.send(0, 2, 5, &name("e"));
    let status = wait_for(&stream, "five rows", |status| rows(status) == 5).await;
    assert_eq!(status.subjects.first().and_then(|it| it.in_force), Some((3, 3)));
    assert!(stream.stop().await);

    // A registry that is away keeps no stream from starting.
    place.set_down(true);
    let stream = place.engine.start(registry_definition());
    place.send(0, third, 6, &[name("f"), vec![0]].concat());
    let status = wait_for(&stream, "the sixth row", |status| rows(status) == 6).await;
    let told = said(&status, condition::SCHEMAS_AVAILABLE).expect("told");
    assert!(told.starts_with("RegistryUnavailable"), "{told}");
    assert!(stream.stop().await);
}

#[tokio::test]
async fn while_the_registry_is_away_known_schemas_go_on_and_unknown_ones_wait_where_they_are() {
    let place = Place::new(&[record(&[ID, NAME])], NEVER).await;
    let stream = place.start().await;
    place.send(0, 1, 1, &name("a"));
    wait_for(&stream, "the first row", |status| rows(status) == 1).await;
    let second = place.register(SUBJECT, &record(&[ID, NAME, NOTE]));
    place.set_down(true);
    place.send(0, 1, 2, &name("b"));
    place.send(0, second, 3, &[name("c"), vec![0]].concat());
    place.send(0, 1, 4, &name("d"));
    place.send(1, 1, 5, &name("e"));
    let waits = |status: &PipelineStatus| {
        let held = status.partitions.get(&partition(0)).is_some_and(|progress| progress.held.is_some());
        held && rows(status) == 3
    };
    let status = wait_for(&stream, "what is known, and no more", waits).await;
    assert_eq!(status.partitions[&partition(0)].position.next_offset, 2, "it stands at what waits");
    let told = said(&status, condition::SCHEMAS_AVAILABLE).expect("told");
    assert!(
        told.starts_with("SchemasUnknown partitions that wait: 0 of `orders`; the next `value` names the schema 2, which is not known:"),
        "{told}"
    );
    place.send(1, 1, 6, &name("f"));
    wait_for(&stream, "the others going on", |status| rows(status) == 4).await;
    place.set_down(false);
    let status = wait_for(&stream, "all rows, each once", |status| {
        rows(status) == 6 && status.conditions.is_empty()
    })
    .await;
    assert_eq!(status.partitions[&partition(0)].position.next_offset, 4);
    assert_eq!(status.misfits.messages(), 0);
    assert!(stream.stop().await);
}

/// gklijs/schema_registry_converter#176, goldsky-io/streamling#60: what cannot be read is null and counted, and harms no other message.
#[tokio::test]
async fn messages_that_name_no_schema_of_the_subject_are_null_and_counted_by_their_reason() {
    let place = Place::new(&[record(&[ID, NAME])], NEVER).await;
    let other = place.register("elsewhere", &record(&[ID, NAME]));
    let unlike = place.register(
        SUBJECT,
        r#"{"type":"record","name":"Order","fields":[{"name":"id","type":"string"},{"name":"name","type":"string"}]}"#,
    );
    // The latest version cannot be the first: it is what the table is made by.
    place.register(SUBJECT, &record(&[ID, NAME]));
    let stream = place.start().await;
    place.send(0, 1, 1, &name("a"));
    place.send(0, other, 2, &name("b"));
    place.send(0, unlike, 3, &name("c"));
    place.send(0, 99, 4, &[]);
    place.cluster.send(0, None, Some("\u{0}\u{0}"));
    place.cluster.send(0, None, Some("{\"id\": 1}"));
    let guid = format!("\u{1}{}", "g".repeat(16));
    place.cluster.send(0, None, Some(&guid));
    place.cluster.send(0, None, None);
    place.send(0, 1, 9, &name("z"));
    let status = wait_for(&stream, "a row for each", |status| rows(status) == 9).await;
    let found = misfits(&status);
    assert_eq!(found.get("other_subject"), Some(&1), "{found:?}");
    assert_eq!(found.get("unknown_schema"), Some(&1), "{found:?}");
    assert_eq!(found.get("not_framed"), Some(&2), "{found:?}");
    assert_eq!(found.get("named_by_guid"), Some(&1), "{found:?}");
    assert_eq!(status.misfits.messages(), 6, "the one of another type, too: {found:?}");
    assert!(stream.stop().await);
}

#[tokio::test]
async fn a_latest_version_that_the_table_cannot_take_stays_out_and_is_named() {
    let place = Place::new(&[record(&[ID, NAME])], SOON).await;
    let stream = place.start().await;
    place.send(0, 1, 1, &name("a"));
    wait_for(&stream, "the first row", |status| rows(status) == 1).await;
    place.register(SUBJECT, &record(&[ID, r#"{"name":"name","type":"int"}"#]));
    let status = wait_for(&stream, "the refusal", |status| said(status, condition::SCHEMAS_CURRENT).is_some()).await;
    let told = said(&status, condition::SCHEMAS_CURRENT).unwrap_or_default();
    for part in [
        "VersionRefused",
        SUBJECT,
        "version 1 stays in force",
        "version 2 cannot be taken",
        "value.name",
        "register a version",
    ] {
        assert!(told.contains(part), "{told}");
    }
    assert_eq!(
        status.subjects.iter().map(|it| (it.in_force, it.latest)).collect::<Vec<_>>(),
        [(Some((1, 1)), Some((2, 2)))]
    );
    place.send(0, 1, 2, &name("b"));
    wait_for(&stream, "the second row", |status| rows(status) == 2).await;
    place.register(SUBJECT, &record(&[ID, NAME, NOTE]));
    wait_for(&stream, "the third version", |status| {
        status.conditions.is_empty() && value_type(status).contains("note")
    })
    .await;
    assert!(stream.stop().await);
}

#[tokio::test]
async fn a_stream_whose_subject_is_not_there_is_made_once_it_is() {
    let place = Place::new(&[], NEVER).await;
    let error = place.engine.provision(&registry_definition()).await.expect_err("no subject");
    assert!(error.retry() == Retry::Later && error.to_string().contains(SUBJECT), "{error}");
    place.register(SUBJECT, &record(&[ID]));
    let made = place.engine.provision(&registry_definition()).await.expect("made");
    let versions = made.registry.expect("recorded");
    assert_eq!(versions.payload.as_ref().map(|version| (version.version, version.id)), Some((1, 1)));
}

#[tokio::test]
async fn a_filter_that_a_version_does_not_have_keeps_it_out() {
    let place = Place::new(&[record(&[ID, NAME])], SOON).await;
    let mut definition = registry_definition();
    definition.spec.record_type_filter = Some("value.name = 'keep'".to_owned());
    place.engine.provision(&definition).await.expect("made");
    let stream = place.engine.start(definition);
    place.send(0, 1, 1, &name("keep"));
    place.send(0, 1, 2, &name("drop"));
    wait_for(&stream, "one row", |status| rows(status) == 1 && status.records_filtered == 1).await;
    place.register(SUBJECT, &record(&[ID]));
    let status = wait_for(&stream, "the refusal", |status| said(status, condition::SCHEMAS_CURRENT).is_some()).await;
    let told = said(&status, condition::SCHEMAS_CURRENT).unwrap_or_default();
    assert!(told.contains("record_type_filter") && told.contains("version 1 stays"), "{told}");
    assert!(stream.stop().await);
}
