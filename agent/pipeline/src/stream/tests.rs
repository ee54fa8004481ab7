//! A stream's life where no broker answers, and rows made of a mock cluster's records. With a real broker: the e2e tests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use async_trait::async_trait;
use stream_decode::report::MisfitReason;
use stream_spec::name::{ConnectionName, StreamName, TableName};
use stream_spec::stream::{
    ConnectionConfig, DirectSchemas, IngestionConfig, KafkaSource, SchemaConfig, SchemaText, Side, SourceConfig, StreamOperations,
    StreamSpec, SubscriptionMode,
};
use tokio::sync::watch;

use super::RunningStream;
use super::in_force::InForce;
use super::rows::RowMaker;
use super::stages::Stages;
use crate::connection::{ClientProperties, ConnectionResolver};
use crate::engine::{Engine, EngineSettings, StreamDefinition};
use crate::error::{PipelineError, Retry};
use crate::kafka::batch::SourceBatch;
use crate::kafka::testing::{Cluster, led, partition, read};
use crate::misfits::MisfitCount;
use crate::position::{Position, Positions, SourcePlace};
use crate::registry::RegistryProperties;
use crate::status::{Phase, PipelineStatus, condition};
use crate::table::{NewTable, SchemaStart, SourceIdentity, TableCareSettings};

pub(super) const DEADLINE: Duration = Duration::from_secs(30);

/// Nobody listens on port 1.
const ABSENT_BROKER: &str = "127.0.0.1:1";

struct Absent(watch::Sender<u64>);

#[async_trait]
impl ConnectionResolver for Absent {
    async fn open(&self, _stream: &StreamSpec, _run_as: &str) -> Result<ClientProperties, PipelineError> {
        let (bootstrap_servers, identity) = (ABSENT_BROKER.to_owned(), "absent".to_owned());
        Ok(ClientProperties {
            bootstrap_servers,
            properties: BTreeMap::new(),
            tokens: None,
            identity,
        })
    }

    async fn open_registry(&self, _stream: &StreamSpec, _run_as: &str) -> Result<RegistryProperties, PipelineError> {
        Err(no_registry())
    }

    fn changes(&self, _connection: &ConnectionConfig) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
}

/// What a resolver says that knows no registry.
pub(super) fn no_registry() -> PipelineError {
    PipelineError::Definition {
        message: "there is no registry here".to_owned(),
    }
}

pub(super) fn json_schemas(payload: &str) -> DirectSchemas {
    DirectSchemas {
        key: None,
        payload: Some(SchemaText::Json(payload.to_owned())),
    }
}

pub(super) fn definition() -> StreamDefinition {
    let schemas =
        json_schemas(r#"{"type": "object", "properties": {"id": {"type": "integer", "format": "int64"}, "name": {"type": "string"}}}"#);
    StreamDefinition {
        uid: "0198c0de-0000-7000-8000-000000000001".to_owned(),
        generation: 1,
        spec: StreamSpec {
            name: StreamName::parse("main.shop.orders").expect("legal"),
            description: None,
            source: SourceConfig::Kafka(KafkaSource {
                subscription: SubscriptionMode::Subscribe("orders".to_owned()),
                extra_options: BTreeMap::new(),
            }),
            connection: ConnectionConfig::UcConnectionName(ConnectionName::parse("kafka").expect("legal")),
            schemas: SchemaConfig::Direct(schemas.clone()),
            ingestion: IngestionConfig {
                destination: TableName::parse("main.shop.orders_raw").expect("legal"),
                backfill_source: None,
                deduplication_columns: BTreeSet::new(),
                tags: BTreeMap::new(),
                budget_policy_id: None,
            },
            record_type_filter: None,
            excluded_columns: BTreeSet::new(),
        },
        run_as: "ada".to_owned(),
        operations: StreamOperations::default(),
        schema_history: vec![schemas],
        schemas_generation: 1,
        excluded_at_creation: BTreeSet::new(),
    }
}

/// What a definition with schemas of its own puts in force.
pub(super) fn in_force(definition: &StreamDefinition) -> InForce {
    InForce::direct(definition).expect("sound").expect("direct")
}

pub(super) fn row_maker(definition: &StreamDefinition) -> RowMaker {
    RowMaker::compile(definition, &in_force(definition)).expect("compiles")
}

/// The definition with one more field, one generation later.
pub(super) fn evolved(mut definition: StreamDefinition) -> StreamDefinition {
    let schemas = json_schemas(
        r#"{"type": "object", "properties": {"id": {"type": "integer", "format": "int64"}, "name": {"type": "string"}, "email": {"type": "string"}}}"#,
    );
    definition.generation += 1;
    definition.schemas_generation = definition.generation;
    definition.spec.schemas = SchemaConfig::Direct(schemas.clone());
    definition.schema_history.push(schemas);
    definition
}

struct Place {
    engine: Arc<Engine>,
    _folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("folder");
        let settings = EngineSettings::new(folder.path().to_string_lossy());
        let engine = Engine::new(settings, Arc::new(Absent(watch::Sender::new(0)))).expect("engine");
        Self { engine, _folder: folder }
    }

    /// A place in which the table exists already.
    async fn with_table(definition: &StreamDefinition) -> Self {
        let place = Self::new();
        let table = NewTable {
            name: definition.spec.ingestion.destination.clone(),
            stream_uid: definition.uid.clone(),
            generation: definition.generation,
            columns: in_force(definition).columns,
            positions: Positions::from([(partition(0), Position::new(7, 0))]),
            source: SourceIdentity::default(),
            schemas: definition.schemas_in_force(),
            registry: None,
            history: TableCareSettings::default().history,
        };
        place.engine.shared().warehouse.create(table).await.expect("created");
        place
    }
}

/// Which versions of the schemas began where in partition 0.
pub(super) fn starts(status: &PipelineStatus) -> Vec<(u64, i64)> {
    let starts = status.schema_starts.iter();
    let first = |start: &SchemaStart| start.positions.iter().map(|place| place.offset).next();
    starts.filter_map(|start| Some((start.version, first(start)?))).collect()
}

pub(super) async fn wait_for(stream: &RunningStream, what: &str, mut seen: impl FnMut(&PipelineStatus) -> bool) -> PipelineStatus {
    let mut status = stream.status();
    let found = tokio::time::timeout(DEADLINE, status.wait_for(|status| seen(status))).await;
    match found {
        Ok(found) => found.expect("the stream lives").clone(),
        Err(_) => panic!("{what} did not happen: {:?}", *stream.status().borrow()),
    }
}

fn is_unreachable(status: &PipelineStatus) -> bool {
    status
        .conditions
        .iter()
        .any(|condition| condition.condition_type == condition::SOURCE_REACHABLE)
}

#[tokio::test]
async fn a_cluster_that_is_away_is_a_condition_with_address_and_reason_and_stopping_does_not_wait_for_it() {
    let place = Place::with_table(&definition()).await;
    let stream = place.engine.start(definition());
    let status = wait_for(&stream, "a condition", is_unreachable).await;
    let condition = status.conditions.first().expect("one condition");
    assert!(
        condition.message.contains(ABSENT_BROKER) && condition.message.contains("Connection refused"),
        "{}",
        condition.message
    );
    assert_eq!(status.phase, Phase::Running);
    assert_eq!(
        status.partitions.get(&partition(0)).map(|progress| progress.position.next_offset),
        Some(7)
    );
    let reader = stream.status();
    tokio::time::timeout(DEADLINE / 3, stream.stop()).await.expect("stops in time");
    assert_eq!(reader.borrow().phase, Phase::Stopped);
}

#[tokio::test]
async fn a_new_definition_is_in_force_while_the_cluster_is_away() {
    let place = Place::with_table(&definition()).await;
    let stream = place.engine.start(definition());
    wait_for(&stream, "the first definition", |status| status.generation == 1).await;
    stream.redefine(evolved(definition()));
    let status = wait_for(&stream, "the second definition", |status| status.generation == 2).await;
    let table = status.table.expect("known");
    let value = table
        .columns
        .iter()
        .find(|column| column.name == "value")
        .expect("a value")
        .data_type
        .to_string();
    assert_eq!(value, "STRUCT<id: BIGINT, name: STRING, email: STRING>");
    assert_eq!(table.version, 1, "one commit");
    stream.stop().await;
    let state = place
        .engine
        .table_state(&definition().spec.ingestion.destination, &definition().uid)
        .await
        .expect("readable");
    assert_eq!(state.positions.get(&partition(0)), Some(&Position::new(7, 0)), "positions stay");
}

#[tokio::test]
async fn a_stream_that_starts_with_a_newer_definition_commits_it_first() {
    let place = Place::with_table(&definition()).await;
    let twice = evolved(evolved(definition()));
    let stream = place.engine.start(twice);
    let status = wait_for(&stream, "the latest definition", |status| status.generation == 3).await;
    let starts: Vec<(u64, i64)> = starts(&status);
    assert_eq!(starts, [(1, 7), (3, 7)], "the version between was never in force");
    assert_eq!(status.table.expect("known").version, 1, "straight to the latest");
    stream.stop().await;
}

#[tokio::test]
async fn a_paused_stream_needs_no_cluster_and_resumes_when_told() {
    let place = Place::with_table(&definition()).await;
    let mut paused = definition();
    paused.operations.paused = true;
    let stream = place.engine.start(paused);
    let status = wait_for(&stream, "the pause", |status| status.phase == Phase::Paused).await;
    assert_eq!(status.conditions, []);
    stream.redefine(definition());
    wait_for(&stream, "reading", |status| status.phase == Phase::Running).await;
    stream.stop().await;
}

#[tokio::test]
async fn a_stream_without_its_table_says_so_and_reads_nothing() {
    let place = Place::new();
    let stream = place.engine.start(definition());
    let status = wait_for(&stream, "the verdict", |status| matches!(status.phase, Phase::TableGone { .. })).await;
    let Phase::TableGone { message } = status.phase else {
        panic!("{:?}", status.phase)
    };
    assert!(message.contains("main.shop.orders_raw"), "{message}");
    stream.stop().await;
}

#[tokio::test]
async fn a_definition_that_cannot_run_fails_and_another_one_wakes_the_stream() {
    let place = Place::with_table(&definition()).await;
    let mut refused = definition();
    refused.spec.source = SourceConfig::Kafka(KafkaSource {
        subscription: SubscriptionMode::SubscribePattern("o(.*".to_owned()),
        extra_options: BTreeMap::new(),
    });
    let stream = place.engine.start(refused);
    let status = wait_for(&stream, "the refusal", |status| matches!(status.phase, Phase::Failed { .. })).await;
    let Phase::Failed { reason, message } = status.phase else {
        panic!("{:?}", status.phase)
    };
    assert_eq!(reason, "DefinitionRefused");
    assert!(
        message.contains("`subscribe_pattern`: the pattern has a group that is not closed"),
        "{message}"
    );
    stream.redefine(definition());
    wait_for(&stream, "the other one", |status| {
        status.phase == Phase::Running && is_unreachable(status)
    })
    .await;
    stream.stop().await;
}

#[tokio::test]
async fn provisioning_without_a_cluster_can_be_tried_again_and_makes_nothing() {
    let place = Place::new();
    let error = place.engine.provision(&definition()).await.expect_err("no cluster");
    assert_eq!(error.retry(), Retry::Later);
    let message = error.to_string();
    assert!(
        message.contains(ABSENT_BROKER) && message.contains("Connection refused"),
        "{message}"
    );
    let state = place
        .engine
        .table_state(&definition().spec.ingestion.destination, &definition().uid)
        .await;
    assert!(state.is_err(), "nothing is there: {state:?}");
}

#[tokio::test]
async fn provisioning_a_table_that_is_there_asks_no_cluster() {
    let place = Place::with_table(&definition()).await;
    let state = place.engine.provision(&definition()).await.expect("there");
    assert_eq!((state.version, state.positions.len()), (0, 1));
}

#[tokio::test]
async fn rows_hold_both_sides_without_what_is_excluded_and_the_metadata() {
    let cluster = Cluster::new(1);
    cluster.send(0, Some("k"), Some(r#"{"id": 1, "name": "Ada"}"#));
    cluster.send(0, None, None);
    cluster.send(0, Some("k"), Some("{"));
    let mut source = cluster.attach(&[0]).await;
    let batch = read(&mut source, 3).await;
    let mut definition = definition();
    definition.spec.excluded_columns = BTreeSet::from(["value.name".to_owned()]);
    let mut maker = row_maker(&definition);
    let ready = maker.make(batch).expect("rows");
    source.close().await;

    let [rows] = ready.rows.as_slice() else { panic!("one portion") };
    let column = |name: &str| -> ArrayRef { rows.column_by_name(name).unwrap_or_else(|| panic!("no column {name}")).clone() };
    assert_eq!(
        column("key").as_string::<i32>().iter().collect::<Vec<_>>(),
        [Some("k"), None, Some("k")]
    );
    let value = column("value");
    assert_eq!(value.as_struct().column_names(), ["id"]);
    assert_eq!(
        value.as_struct().column(0).as_primitive::<Int64Type>().iter().collect::<Vec<_>>(),
        [Some(1), None, None]
    );
    assert!(value.is_null(1), "a tombstone is a null");
    assert_eq!(
        column("record_source").as_string::<i32>().iter().collect::<Vec<_>>(),
        [Some("stream"); 3]
    );
    assert_eq!(column("kafka_topic").as_string::<i32>().value(2), "orders");
    assert_eq!(column("kafka_offset").as_primitive::<Int64Type>().values(), &[0, 1, 2]);
    let misfits: Vec<_> = ready.misfits.counts().collect();
    let malformed = MisfitCount {
        messages: 1,
        latest: vec![SourcePlace {
            partition: partition(0),
            offset: 2,
            epoch: 0,
        }],
    };
    assert_eq!(misfits, [(Side::Payload, MisfitReason::Malformed, &malformed)]);
    assert_eq!(ready.positions, Positions::from([(partition(0), led(3))]));
    assert_eq!(ready.topics, BTreeSet::from(["orders".to_owned()]));
}

#[tokio::test]
async fn a_batch_is_decoded_in_portions_that_keep_order_and_origin() {
    let cluster = Cluster::new(2);
    let mut source = cluster.attach(&[0, 0]).await;
    // Each record is taken by a call of its own, so that there is something to split.
    let mut batch: Option<SourceBatch> = None;
    for (number, origin) in [0, 0, 1, 0, 1, 1].into_iter().enumerate() {
        cluster.send(origin, None, Some(&number.to_string()));
        let next = read(&mut source, 1).await;
        match &mut batch {
            None => batch = Some(next),
            Some(batch) => {
                batch.messages.extend(next.messages);
                batch.runs.extend(next.runs);
                batch.rows += next.rows;
                batch.positions = next.positions;
            }
        }
    }
    source.close().await;
    let mut batch = batch.expect("six records");
    let mut sizes = Vec::new();
    let mut seen = Vec::new();
    let end = Positions::from([(partition(0), Position::new(3, 0)), (partition(1), Position::new(3, 2))]);
    while batch.rows > 0 {
        let portion = batch.take_portion(2);
        sizes.push(portion.rows);
        let columns = portion.source_columns();
        let column = |name: &str| columns.iter().find(|(field, _)| field.name() == name).expect(name).1.clone();
        let partitions = column("kafka_partition").as_primitive::<Int32Type>().values().to_vec();
        let offsets = column("kafka_offset").as_primitive::<Int64Type>().values().to_vec();
        for (row, payload) in portion.payloads().into_iter().enumerate() {
            let place = portion.place(row, &end).expect("it is somewhere");
            assert_eq!((place.partition.partition, place.offset), (partitions[row], offsets[row]));
            assert_eq!(place.epoch, if place.partition == partition(0) { 0 } else { 2 });
            seen.push((
                String::from_utf8_lossy(payload.expect("some")).into_owned(),
                partitions[row],
                offsets[row],
            ));
        }
        assert_eq!(portion.place(portion.rows, &end), None);
    }
    let expected = [("0", 0, 0), ("1", 0, 1), ("2", 1, 0), ("3", 0, 2), ("4", 1, 1), ("5", 1, 2)];
    assert_eq!(seen, expected.map(|(text, partition, offset)| (text.to_owned(), partition, offset)));
    assert_eq!(sizes, [2, 2, 2]);
    assert_eq!(
        batch.positions.keys().collect::<Vec<_>>(),
        [&partition(1)],
        "those after the last record stay"
    );
    assert_eq!(batch.take_portion(2).rows, 0);
}

#[tokio::test]
async fn a_batch_that_has_no_room_is_an_error_and_not_dropped_in_silence() {
    let definition = definition();
    let place = Place::with_table(&definition).await;
    let shared = place.engine.shared();
    let table = shared
        .warehouse
        .open_table(
            &definition.spec.ingestion.destination,
            &definition.uid,
            TableCareSettings::default(),
        )
        .await
        .expect("open");
    let properties = Absent(watch::Sender::new(0)).open(&definition.spec, "ada").await.expect("some");
    let client = shared.clients.visit(&properties, &Default::default()).await.expect("opened");
    let rows = row_maker(&definition);
    let mut stages = Stages::new(client, Arc::new(table), BTreeMap::new(), rows, None);
    let batch = || SourceBatch {
        messages: Vec::new(),
        runs: Vec::new(),
        partitions: Arc::new([]),
        rows: 0,
        positions: Positions::new(),
        taken_until: std::time::Instant::now(),
        include_headers: false,
    };
    stages.start(batch()).expect("there is room");
    assert!(!stages.has_room());
    assert!(matches!(stages.start(batch()), Err(PipelineError::Internal { .. })));
}
