//! A stream's whole life on librdkafka's mock cluster: made, run, stopped, run again. With a real broker: the e2e tests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use stream_spec::name::TableName;
use stream_spec::stream::{ConnectionConfig, OnDataLoss, SchemaConfig, StreamSpec};
use tokio::sync::watch;

use super::RunningStream;
use super::tests::{definition, evolved, in_force, json_schemas, no_registry, starts, wait_for};
use crate::connection::{ClientProperties, ConnectionResolver};
use crate::engine::{Engine, EngineSettings, StreamDefinition};
use crate::error::PipelineError;
use crate::kafka::options::ClientOptions;
use crate::kafka::testing::{Cluster, TOPIC, partition};
use crate::position::{Position, Positions};
use crate::registry::RegistryProperties;
use crate::status::{Phase, PipelineStatus, condition};
use crate::table::{Loss, LossCause, NewTable, SourceIdentity, TableCareSettings};

struct AtCluster(ClientProperties, watch::Sender<u64>);

#[async_trait]
impl ConnectionResolver for AtCluster {
    async fn open(&self, _stream: &StreamSpec, _run_as: &str) -> Result<ClientProperties, PipelineError> {
        Ok(self.0.clone())
    }

    async fn open_registry(&self, _stream: &StreamSpec, _run_as: &str) -> Result<RegistryProperties, PipelineError> {
        Err(no_registry())
    }

    fn changes(&self, _connection: &ConnectionConfig) -> watch::Receiver<u64> {
        self.1.subscribe()
    }
}

/// Connects to whichever cluster was named last, and tells of it.
struct Switchable(Mutex<ClientProperties>, watch::Sender<u64>);

impl Switchable {
    fn to(&self, properties: ClientProperties) {
        *self.0.lock().expect("not poisoned") = properties;
        self.1.send_modify(|count| *count += 1);
    }
}

#[async_trait]
impl ConnectionResolver for Switchable {
    async fn open(&self, _stream: &StreamSpec, _run_as: &str) -> Result<ClientProperties, PipelineError> {
        Ok(self.0.lock().expect("not poisoned").clone())
    }

    async fn open_registry(&self, _stream: &StreamSpec, _run_as: &str) -> Result<RegistryProperties, PipelineError> {
        Err(no_registry())
    }

    fn changes(&self, _connection: &ConnectionConfig) -> watch::Receiver<u64> {
        self.1.subscribe()
    }
}

/// Streams here look for what has changed all the time.
const DISCOVERY_INTERVAL: Duration = Duration::from_millis(100);

pub(super) struct Place {
    pub(super) cluster: Cluster,
    pub(super) engine: Arc<Engine>,
    folder: tempfile::TempDir,
}

impl Place {
    pub(super) fn new(cluster: Cluster) -> Self {
        let folder = tempfile::tempdir().expect("folder");
        let settings = EngineSettings {
            discovery_interval: DISCOVERY_INTERVAL,
            ..EngineSettings::new(folder.path().to_string_lossy())
        };
        let resolver = AtCluster(cluster.properties(), watch::Sender::new(0));
        Self {
            engine: Engine::new(settings, Arc::new(resolver)).expect("engine"),
            cluster,
            folder,
        }
    }

    /// Makes the table of a stream that has read, or passed over, what is before an offset, and knows no leader epoch.
    async fn provision_at(&self, definition: &StreamDefinition, next_offset: i64) {
        self.provision_of(definition, next_offset, SourceIdentity::default()).await;
    }

    /// The same of a certain topic.
    async fn provision_of(&self, definition: &StreamDefinition, next_offset: i64, source: SourceIdentity) {
        let table = NewTable {
            name: definition.spec.ingestion.destination.clone(),
            stream_uid: definition.uid.clone(),
            generation: definition.generation,
            columns: in_force(definition).columns,
            positions: Positions::from([(partition(0), Position::new(next_offset, 0))]),
            source,
            schemas: definition.schemas_in_force(),
            registry: None,
            history: TableCareSettings::default().history,
        };
        self.engine.shared().warehouse.create(table).await.expect("created");
    }

    fn send(&self, number: i64) {
        let payload = format!(r#"{{"id": {number}, "name": "n"}}"#);
        self.cluster.send(0, Some("k"), Some(&payload));
    }

    async fn run(&self, definition: StreamDefinition, rows: i64) -> RunningStream {
        let stream = self.engine.start(definition);
        wait_for(&stream, "all rows", |status| {
            rows_of(status) == rows && status.conditions.is_empty()
        })
        .await;
        stream
    }
}

pub(super) fn rows_of(status: &PipelineStatus) -> i64 {
    status.table.as_ref().map_or(-1, |table| table.rows)
}

/// Makes a stream, runs it, redefines it, stops it, and runs it again.
async fn check_life(cluster: Cluster, has_ids: bool) {
    let place = Place::new(cluster);
    place.send(1);
    let made = place.engine.provision(&definition()).await.expect("made");
    assert_eq!(made.positions.get(&partition(0)), Some(&Position::new(1, 0)));
    assert_eq!(made.source.topic_ids.contains_key(TOPIC), has_ids);
    place.send(2);
    let stream = place.run(definition(), 1).await;
    place.send(3);
    wait_for(&stream, "the second row", |status| rows_of(status) == 2).await;
    stream.redefine(evolved(definition()));
    let status = wait_for(&stream, "the second definition", |status| status.generation == 2).await;
    assert_eq!(starts(&status), [(1, 1), (2, 3)], "each record is of one version");
    place.send(4);
    wait_for(&stream, "the third row", |status| rows_of(status) == 3).await;
    stream.stop().await;
    place.send(5);
    let stream = place.run(evolved(definition()), 4).await;
    stream.stop().await;
}

#[tokio::test]
async fn a_stream_lives_on_a_mock_cluster() {
    check_life(Cluster::new(1), true).await;
}

#[tokio::test]
async fn a_stream_lives_where_topics_have_no_ids() {
    check_life(Cluster::without_topic_ids(1), false).await;
}

#[tokio::test]
async fn a_stream_whose_filter_keeps_nothing_moves_on_and_makes_no_row() {
    let place = Place::new(Cluster::new(1));
    let mut definition = definition();
    definition.spec.record_type_filter = Some("value.id > 100".to_owned());
    place.engine.provision(&definition).await.expect("made");
    let stream = place.engine.start(definition);
    (0..3).for_each(|number| place.send(number));
    let status = wait_for(&stream, "the position behind all records", |status| {
        let progress = status.partitions.get(&partition(0));
        progress.is_some_and(|progress| progress.position.next_offset == 3)
    })
    .await;
    assert_eq!((rows_of(&status), status.records_filtered), (0, 3));
    place.send(101);
    let status = wait_for(&stream, "the row", |status| rows_of(status) == 1).await;
    assert_eq!(status.records_filtered, 3);
    stream.stop().await;
}

#[tokio::test]
async fn another_cluster_under_a_new_address_stops_the_stream_and_the_first_one_goes_on_exactly() {
    let place = Place::new(Cluster::new(1));
    let (home, other) = (place.cluster.properties(), Cluster::new(1));
    let resolver = Arc::new(Switchable(Mutex::new(home.clone()), watch::Sender::new(0)));
    let engine = Engine::new(place.engine.shared().settings.clone(), resolver.clone()).expect("engine");
    engine.provision(&definition()).await.expect("made");
    let stream = engine.start(definition());
    place.send(1);
    wait_for(&stream, "the first row", |status| rows_of(status) == 1).await;
    other.send(0, Some("k"), Some(r#"{"id": 9, "name": "n"}"#));
    other.send(0, Some("k"), Some(r#"{"id": 9, "name": "n"}"#));
    resolver.to(ClientProperties {
        identity: "other".to_owned(),
        ..other.properties()
    });
    let status = wait_for(&stream, "the stop", |status| matches!(status.phase, Phase::Failed { .. })).await;
    let Phase::Failed { reason, message } = status.phase else {
        panic!("{:?}", status.phase)
    };
    assert!(
        reason == "ClusterChanged" && message.contains(&other.properties().bootstrap_servers),
        "{message}"
    );
    place.send(2);
    // The same cluster under another identity, as after a change of the password alone.
    resolver.to(ClientProperties {
        identity: "home again".to_owned(),
        ..home
    });
    wait_for(&stream, "the second row", |status| rows_of(status) == 2).await;
    let table = engine
        .table_state(&definition().spec.ingestion.destination, &definition().uid)
        .await
        .expect("readable");
    assert_eq!(table.positions.get(&partition(0)).map(|position| position.next_offset), Some(2));
    stream.stop().await;
}

/// The mock does not make a topic again, so the table is made as if it had been: its broker then tells an id from before.
#[tokio::test]
async fn a_broker_that_tells_of_a_topic_as_it_was_before_it_was_made_again_moves_nothing() {
    let place = Place::new(Cluster::new(1));
    let told = place.engine.provision(&definition()).await.expect("made").source;
    let mut definition = definition();
    definition.uid = "another".to_owned();
    definition.spec.ingestion.destination = TableName::parse("main.shop.another").expect("a name");
    definition.operations.on_data_loss = OnDataLoss::Earliest;
    let mut source = told.clone();
    source.recreate(TOPIC, "its id since then");
    place.provision_of(&definition, 1, source.clone()).await;
    (0..3).for_each(|number| place.send(number));
    let stream = place.engine.start(definition.clone());
    let is_said = |status: &PipelineStatus| said(status, condition::TOPICS_EXIST).is_some_and(|said| said.contains("as it was before"));
    let status = wait_for(&stream, "the complaint", is_said).await;
    assert_eq!(rows_of(&status), 0);
    stream.stop().await;
    let destination = &definition.spec.ingestion.destination;
    let table = place.engine.table_state(destination, &definition.uid).await.expect("readable");
    assert_eq!(table.source, source);
    assert_eq!(table.positions, Positions::from([(partition(0), Position::new(1, 0))]));
}

/// librdkafka ignores leaders whose epoch is lower than that of the topic that had the name before.
#[tokio::test]
async fn a_topic_that_was_made_again_is_read_by_a_client_that_did_not_know_the_old_one() {
    let place = Place::new(Cluster::new(1));
    let mut definition = definition();
    definition.operations.on_data_loss = OnDataLoss::Earliest;
    let source = SourceIdentity {
        topic_ids: [(TOPIC.to_owned(), "its id before".to_owned())].into(),
        ..SourceIdentity::default()
    };
    place.provision_of(&definition, 7, source).await;
    let clients = &place.engine.shared().clients;
    let known = clients
        .visit(&place.cluster.properties(), &ClientOptions::default())
        .await
        .expect("a client");
    (0..3).for_each(|number| place.send(number));
    let stream = place.run(definition, 3).await;
    let now = clients
        .visit(&place.cluster.properties(), &ClientOptions::default())
        .await
        .expect("a client");
    assert!(known.is_retired() && !Arc::ptr_eq(&known, &now));
    stream.stop().await;
}

/// What a stream says of a condition.
pub(super) fn said(status: &PipelineStatus, condition_type: &str) -> Option<String> {
    let mut conditions = status.conditions.iter();
    let found = conditions.find(|condition| condition.condition_type == condition_type)?;
    Some(found.message.clone())
}

#[tokio::test]
async fn a_log_that_was_cut_is_held_although_it_reaches_beyond_the_position_again_and_no_leader_epoch_is_known() {
    let place = Place::new(Cluster::new(1));
    place.provision_at(&definition(), 7).await;
    (0..3).for_each(|number| place.send(number));
    let stream = place.engine.start(definition());
    let wanted = "wanted offset 7, available 0 to 3; its log was cut before that offset";
    let is_held = |status: &PipelineStatus| said(status, condition::DATA_AVAILABLE).is_some_and(|message| message.contains(wanted));
    wait_for(&stream, "the hold", is_held).await;

    (3..13).for_each(|number| place.send(number));
    // Another definition opens the stream again, and the position is in the range now.
    stream.redefine(evolved(definition()));
    let status = wait_for(&stream, "the other definition", |status| {
        let end = status.partitions.get(&partition(0)).and_then(|progress| progress.end_offset);
        status.generation == 2 && end == Some(13)
    })
    .await;
    let message = said(&status, condition::DATA_AVAILABLE).expect("it is held still");
    assert!(message.contains("wanted offset 7, available 0 to 13; its log was cut"), "{message}");
    assert_eq!(rows_of(&status), 0);

    let mut decided = evolved(definition());
    decided.operations.on_data_loss = OnDataLoss::Earliest;
    stream.redefine(decided);
    let next = Some(&Position::new(13, 1));
    let status = wait_for(&stream, "the move", |status| {
        status.partitions.get(&partition(0)).map(|progress| &progress.position) == next
    })
    .await;
    let loss = Loss {
        partition: partition(0),
        cause: LossCause::Truncated,
        from: 7,
        to: 13,
        epoch: 1,
    };
    assert_eq!(
        status.partitions.get(&partition(0)).and_then(|progress| progress.last_loss.clone()),
        Some(loss)
    );
    place.send(13);
    wait_for(&stream, "the row after it", |status| {
        rows_of(status) == 1 && status.conditions.is_empty()
    })
    .await;
    stream.stop().await;
}

/// The definition with an INT id, or, one generation later, a BIGINT one.
fn with_id(is_wide: bool) -> StreamDefinition {
    let narrow = json_schemas(r#"{"type": "object", "properties": {"id": {"type": "integer"}}}"#);
    let wide = json_schemas(r#"{"type": "object", "properties": {"id": {"type": "integer", "format": "int64"}}}"#);
    let mut definition = definition();
    definition.schema_history = vec![narrow];
    if is_wide {
        definition.generation += 1;
        definition.schema_history.push(wide);
    }
    let in_force = definition.schema_history.last().expect("some").clone();
    definition.spec.schemas = SchemaConfig::Direct(in_force);
    definition
}

impl Place {
    /// Another writer's commit, made of the file that an entry added: gives it a deletion vector, or takes it away.
    fn write_vector(&self, added_by: i64, version: i64, is_given: bool) {
        let log = self.folder.path().join("main/shop/orders_raw/_delta_log");
        let text = std::fs::read_to_string(log.join(format!("{added_by:020}.json"))).expect("an entry");
        let lines = text
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
        let add = lines.filter_map(|line| line.get("add").cloned()).next().expect("a file");
        let vector = serde_json::json!({"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 4, "sizeInBytes": 40, "cardinality": 1});
        let (mut again, mut gone) = (
            add.clone(),
            serde_json::json!({"path": add["path"], "deletionTimestamp": 5, "dataChange": true}),
        );
        let with = if is_given { &mut again } else { &mut gone };
        with["deletionVector"] = vector;
        let features = ["deletionVectors", "appendOnly", "invariants"];
        let protocol = serde_json::json!({"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors"], "writerFeatures": features});
        let lines = [
            serde_json::json!({"protocol": protocol}),
            serde_json::json!({"remove": gone}),
            serde_json::json!({"add": again}),
        ];
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let path = log.join(format!("{version:020}.json"));
        assert!(!path.exists());
        std::fs::write(path, text).expect("written");
    }
}

#[tokio::test]
async fn a_partition_whose_values_need_a_wider_column_waits_and_the_others_go_on() {
    let place = Place::new(Cluster::new(2));
    place.engine.provision(&with_id(false)).await.expect("made");
    let send = |partition, id: i64| place.cluster.send(partition, Some("k"), Some(&format!(r#"{{"id": {id}}}"#)));
    send(0, 1);
    let stream = place.run(with_id(false), 1).await;
    stream.stop().await;
    // A file with a deletion vector cannot be rewritten.
    place.write_vector(1, 2, true);

    send(1, 2);
    send(1, 3_000_000_000);
    let stream = place.engine.start(with_id(true));
    let waits = |status: &PipelineStatus| said(status, condition::COLUMNS_WIDENED).is_some_and(|text| text.contains("1 of `orders`"));
    wait_for(&stream, "the wait", waits).await;
    send(0, 4);
    let status = wait_for(&stream, "the row of the other partition", |status| {
        status.partitions.get(&partition(0)).map(|progress| progress.position.next_offset) == Some(2)
    })
    .await;
    let waiting = status.partitions.get(&partition(1)).expect("known");
    assert!(waiting.position.next_offset <= 1 && waiting.held.is_some(), "{waiting:?}");
    assert_eq!(status.generation, 2);
    let version = status.table.as_ref().expect("known").version;
    stream.stop().await;

    place.write_vector(1, version + 1, false);
    let stream = place.run(with_id(true), 4).await;
    stream.stop().await;
}
