//! The services as callers meet them: over the port, through gRPC, with a scripted engine behind them.

use std::sync::Arc;
use std::time::Duration;

use featurestore_proto::convert::{connection_from_spec, detail_of, stream_from_spec};
use featurestore_proto::v1;
use featurestore_proto::v1::connection_service_client::ConnectionServiceClient;
use featurestore_proto::v1::stream_service_client::StreamServiceClient;
use stream_pipeline::error::Retry;
use stream_spec::name::TableName;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;
use tonic::{Code, Status};

use super::{Services, ServicesSettings};
use crate::connections::ConnectionChanges;
use crate::governance::LocalAdminOnly;
use crate::reconcile::backoff::Backoff;
use crate::reconcile::{Reconciler, ReconcilerSettings};
use crate::store::Store;
use crate::store::sqlite::SqliteStore;
use crate::testing::definitions::{SCHEMA, connection, stream};
use crate::testing::engine::{FakeEngine, Table};

const NAME: &str = "main.pay.orders";

/// An agent on a port of its own.
struct Agent {
    streams: StreamServiceClient<Channel>,
    connections: ConnectionServiceClient<Channel>,
    channel: Channel,
    engine: FakeEngine,
    address: std::net::SocketAddr,
    stopping: CancellationToken,
    _reconciler: Reconciler,
    _folder: tempfile::TempDir,
}

impl Agent {
    /// With a connection `kafka`.
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = FakeEngine::default();
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&folder.path().join("agent.db")).await.unwrap());
        store.insert_connection(&connection("kafka")).await.unwrap();
        let backoff = Backoff {
            first: Duration::from_millis(1),
            max: Duration::from_millis(5),
        };
        let trash_retention = Duration::from_secs(60);
        let reconciler = Reconciler::start(
            store.clone(),
            Arc::new(engine.clone()),
            ReconcilerSettings { trash_retention, backoff },
        );
        let stopping = CancellationToken::new();
        let services = Services::new(ServicesSettings {
            store,
            engine: Arc::new(engine.clone()),
            reconciler: reconciler.handle(),
            connection_changes: Arc::new(ConnectionChanges::default()),
            authorizer: Arc::new(LocalAdminOnly),
            trash_retention,
            version: "0.0.0",
            stopping: stopping.clone(),
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(crate::http::serve(listener, crate::http::router(&services), stopping.clone()));
        let channel = Channel::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap();
        Self {
            streams: StreamServiceClient::new(channel.clone()),
            connections: ConnectionServiceClient::new(channel.clone()),
            channel,
            engine,
            address,
            stopping,
            _reconciler: reconciler,
            _folder: folder,
        }
    }

    async fn create(&mut self, request_id: &str) -> Result<v1::StreamRecord, Status> {
        self.create_as(stream_from_spec(&stream(NAME)), request_id).await
    }

    async fn create_as(&mut self, stream: v1::Stream, request_id: &str) -> Result<v1::StreamRecord, Status> {
        let request = v1::CreateStreamRequest {
            stream: Some(stream),
            request_id: request_id.into(),
            ..Default::default()
        };
        self.streams
            .create_stream(request)
            .await
            .map(|answer| answer.into_inner().record.unwrap())
    }

    async fn get(&mut self) -> Result<v1::StreamRecord, Status> {
        self.streams
            .get_stream(v1::GetStreamRequest { name: NAME.into() })
            .await
            .map(|answer| answer.into_inner().record.unwrap())
    }

    async fn update(&mut self, payload: &str, excluded: &[&str], paths: &[&str], generation: u64) -> Result<v1::StreamRecord, Status> {
        let request = v1::UpdateStreamRequest {
            stream: Some(changed(payload, excluded)),
            update_mask: Some(prost_types::FieldMask {
                paths: paths.iter().map(|path| (*path).to_owned()).collect(),
            }),
            generation,
            ..Default::default()
        };
        self.streams
            .update_stream(request)
            .await
            .map(|answer| answer.into_inner().record.unwrap())
    }

    async fn delete(&mut self, retain_table: bool, uid: &str) -> Result<bool, Status> {
        let request = v1::DeleteStreamRequest {
            name: NAME.into(),
            retain_table,
            uid: uid.into(),
            wait: None,
        };
        self.streams.delete_stream(request).await.map(|answer| answer.into_inner().done)
    }

    async fn restart(&mut self) -> Result<v1::StreamRecord, Status> {
        let request = v1::RestartStreamRequest {
            name: NAME.into(),
            ..Default::default()
        };
        self.streams
            .restart_stream(request)
            .await
            .map(|answer| answer.into_inner().record.unwrap())
    }

    async fn check(&mut self, stream: v1::Stream, as_new: bool) -> v1::CheckStreamResponse {
        let request = v1::CheckStreamRequest {
            stream: Some(stream),
            operations: None,
            as_new,
        };
        self.streams.check_stream(request).await.unwrap().into_inner()
    }
}

fn changed(payload: &str, excluded: &[&str]) -> v1::Stream {
    let schema = v1::DirectSchema {
        schema: Some(v1::direct_schema::Schema::JsonSchema(payload.into())),
    };
    let direct = v1::DirectSchemas {
        key_schema: None,
        payload_schema: Some(schema),
    };
    v1::Stream {
        schema_config: Some(v1::SchemaConfig {
            config: Some(v1::schema_config::Config::DirectSchemas(direct)),
        }),
        excluded_columns: excluded.iter().map(|path| (*path).to_owned()).collect(),
        ..stream_from_spec(&stream(NAME))
    }
}

fn state(record: &v1::StreamRecord) -> v1::StreamState {
    record.status.as_ref().unwrap().state()
}

fn table() -> TableName {
    TableName::parse(&format!("{NAME}_raw")).unwrap()
}

const WIDER: &str = r#"{"type":"object","properties":{"id":{"type":"string"},"amount":{"type":"integer"},"note":{"type":"string"}}}"#;
const INCOMPATIBLE: &str = r#"{"type":"object","properties":{"id":{"type":"boolean"},"amount":{"type":"integer"}}}"#;
const BIGINT: &str = r#"{"type":"object","properties":{"id":{"type":"string"},"amount":{"type":"integer","format":"int64"}}}"#;
const SCHEMAS: &str = "schema_config.direct_schemas";

#[tokio::test]
async fn a_created_stream_is_active_and_shows_all_that_is_known_of_it() {
    let mut agent = Agent::start().await;
    let record = agent.create("r1").await.unwrap();
    assert_eq!(state(&record), v1::StreamState::Active);
    let status = record.status.unwrap();
    assert_eq!(
        (status.generation, status.observed_generation, status.operations_generation),
        (1, 1, 1)
    );
    let seen = status.table.unwrap();
    assert_eq!(
        (seen.delta_table_name.as_str(), seen.version, seen.rows),
        ("main.pay.orders_raw", Some(1), 4)
    );
    assert_eq!(seen.trash_retention.unwrap().seconds, 60);
    assert_eq!(status.schema_versions.len(), 1);
    assert_eq!(status.schema_versions[0].digest.len(), 64);
    let stream = record.stream.unwrap();
    assert_eq!(stream.created_by, "local-admin");
    let ingestion = stream.ingestion_config.unwrap();
    assert!(ingestion.ingestion_job_id > 0 && !ingestion.ingestion_pipeline_id.is_empty());
}

#[tokio::test]
async fn a_repeated_create_answers_as_the_first_and_another_one_finds_the_name_taken() {
    let mut agent = Agent::start().await;
    let first = agent.create("r1").await.unwrap().status.unwrap().uid;
    assert_eq!(agent.create("r1").await.unwrap().status.unwrap().uid, first);
    for request_id in ["r2", ""] {
        assert_eq!(agent.create(request_id).await.unwrap_err().code(), Code::AlreadyExists);
    }
    assert_eq!(agent.engine.world.lock().unwrap().tables_made, 1);
}

#[tokio::test]
async fn two_creates_of_one_name_at_once_make_one_stream() {
    let agent = Agent::start().await;
    let create = |request_id: &'static str| {
        let mut streams = agent.streams.clone();
        let request = v1::CreateStreamRequest {
            stream: Some(stream_from_spec(&stream(NAME))),
            request_id: request_id.into(),
            ..Default::default()
        };
        async move { streams.create_stream(request).await.map_err(|status| status.code()) }
    };
    let (one, other) = tokio::join!(create("r1"), create("r2"));
    assert_eq!([one.is_ok(), other.is_ok()].iter().filter(|ok| **ok).count(), 1);
    assert!([one.err(), other.err()].contains(&Some(Code::AlreadyExists)));
}

#[tokio::test]
async fn a_create_that_cannot_be_says_which_field_and_why() {
    let mut agent = Agent::start().await;
    agent.create("r1").await.unwrap();
    agent.engine.world.lock().unwrap().tables.insert(
        TableName::parse("main.pay.there").unwrap(),
        Table {
            uid: String::new(),
            generation: 0,
            columns: Vec::new(),
            incarnation: 9,
        },
    );
    let other = || stream_from_spec(&stream("main.pay.refunds"));
    let into_table = |name: &str| {
        let mut stream = other();
        let destination = v1::DeltaTable {
            delta_table_name: name.into(),
        };
        stream.ingestion_config.as_mut().unwrap().ingestion_destination = Some(destination);
        stream
    };
    let on_connection = |name: &str| v1::Stream {
        connection_config: Some(v1::ConnectionConfig {
            connection: Some(v1::connection_config::Connection::UcConnectionName(name.into())),
        }),
        ..other()
    };
    let cases = [
        (
            v1::Stream {
                name: "main.Pay.x".into(),
                ..other()
            },
            Code::InvalidArgument,
            "name",
            "upper-case",
        ),
        (
            v1::Stream {
                excluded_columns: vec!["value.nothing".into()],
                ..other()
            },
            Code::InvalidArgument,
            "excluded_columns",
            "nothing",
        ),
        (
            v1::Stream {
                record_type_filter: Some("value.id = 'a'".into()),
                ..other()
            },
            Code::Unimplemented,
            "record_type_filter",
            "cannot filter",
        ),
        (into_table("main.pay.orders_raw"), Code::FailedPrecondition, "delta_table_name", ""),
        (
            into_table("main.pay.there"),
            Code::FailedPrecondition,
            "delta_table_name",
            "/warehouse/main.pay.there",
        ),
        (
            on_connection("nowhere"),
            Code::FailedPrecondition,
            "connection_config.uc_connection_name",
            "`nowhere`",
        ),
    ];
    for (stream, code, field, said) in cases {
        let status = agent.create_as(stream, "r9").await.unwrap_err();
        let detail = detail_of(&status).unwrap_or_else(|| panic!("{status:?} has no detail"));
        assert_eq!(status.code(), code, "{status:?}");
        assert!(detail.violations[0].field.ends_with(field), "{field}: {detail:?}");
        assert!(status.message().contains(said), "{said}: {}", status.message());
    }
}

#[tokio::test]
async fn a_create_comes_back_after_its_wait_and_says_what_it_waits_for() {
    let mut agent = Agent::start().await;
    agent.engine.world.lock().unwrap().refuse_provision = Some(("BrokerUnreachable", Retry::Later));
    let request = v1::CreateStreamRequest {
        stream: Some(stream_from_spec(&stream(NAME))),
        wait: Some(prost_types::Duration {
            seconds: 0,
            nanos: 100_000_000,
        }),
        ..Default::default()
    };
    let record = agent.streams.create_stream(request).await.unwrap().into_inner().record.unwrap();
    assert_eq!(state(&record), v1::StreamState::Provisioning);
    let waiting = agent.get().await.unwrap().status.unwrap().conditions;
    assert_eq!(
        (waiting[0].r#type.as_str(), waiting[0].status(), waiting[0].reason.as_str()),
        ("StartPositions", v1::ConditionStatus::False, "BrokerUnreachable")
    );
    agent.stopping.cancel();
}

#[tokio::test]
async fn an_update_is_in_force_when_it_returns() {
    let mut agent = Agent::start().await;
    agent.create("r1").await.unwrap();
    let record = agent
        .update(WIDER, &["value.note"], &[SCHEMAS, "excluded_columns"], 1)
        .await
        .unwrap();
    let status = record.status.unwrap();
    assert_eq!(
        (status.generation, status.observed_generation, status.schema_versions.len()),
        (2, 2, 2)
    );
    assert_eq!(agent.engine.table(&table()).unwrap().generation, 2);
    let value = format!("{:?}", agent.engine.table(&table()).unwrap().columns);
    assert!(
        !value.contains("note"),
        "a column that arrives excluded has no place in the table: {value}"
    );
    let record = agent.update("", &[], &["excluded_columns"], 2).await.unwrap();
    assert_eq!(record.status.unwrap().observed_generation, 3);
    assert!(format!("{:?}", agent.engine.table(&table()).unwrap().columns).contains("note"));
}

#[tokio::test]
async fn an_update_is_refused_for_its_reason() {
    let mut agent = Agent::start().await;
    agent.create("r1").await.unwrap();
    let cases = [
        (WIDER, vec![], vec![SCHEMAS], 7, Code::Aborted),
        (WIDER, vec![], vec!["description"], 1, Code::InvalidArgument),
        (WIDER, vec![], vec![], 1, Code::InvalidArgument),
        ("no json", vec![], vec![SCHEMAS], 1, Code::InvalidArgument),
        (WIDER, vec!["value.nothing"], vec!["excluded_columns"], 1, Code::InvalidArgument),
        (BIGINT, vec![], vec![SCHEMAS], 1, Code::Unimplemented),
        (INCOMPATIBLE, vec![], vec![SCHEMAS], 1, Code::FailedPrecondition),
    ];
    for (payload, excluded, paths, generation, code) in cases {
        let status = agent.update(payload, &excluded, &paths, generation).await.unwrap_err();
        assert_eq!(status.code(), code, "{status:?}");
        if code == Code::FailedPrecondition {
            let verdict = detail_of(&status).unwrap().verdict.unwrap();
            assert_eq!(
                (verdict.kind(), verdict.findings[0].path.as_str()),
                (v1::VerdictKind::Refused, "value.id")
            );
        }
    }
    assert_eq!(agent.get().await.unwrap().status.unwrap().generation, 1);
}

#[tokio::test]
async fn an_update_that_means_nothing_changes_nothing() {
    let mut agent = Agent::start().await;
    agent.create("r1").await.unwrap();
    let spaced = SCHEMA.replace(':', " : ");
    let record = agent.update(&spaced, &[], &[SCHEMAS, "excluded_columns"], 1).await.unwrap();
    assert_eq!(record.status.unwrap().generation, 1);
}

#[tokio::test]
async fn operations_change_and_are_in_force_when_the_call_returns() {
    let mut agent = Agent::start().await;
    agent.create("r1").await.unwrap();
    let set = |paused, operations_generation| v1::SetStreamOperationsRequest {
        name: NAME.into(),
        operations: Some(v1::StreamOperations {
            paused: Some(paused),
            ..Default::default()
        }),
        operations_generation,
    };
    let record = agent
        .streams
        .set_stream_operations(set(true, 1))
        .await
        .unwrap()
        .into_inner()
        .record
        .unwrap();
    assert_eq!(state(&record), v1::StreamState::Paused);
    assert_eq!(
        record.operations.unwrap().flush_interval.unwrap().seconds,
        1,
        "what was not sent stays"
    );
    let again = agent
        .streams
        .set_stream_operations(set(true, 1))
        .await
        .unwrap()
        .into_inner()
        .record
        .unwrap();
    assert_eq!(
        again.status.unwrap().operations_generation,
        2,
        "a lost answer can be asked for again"
    );
    assert_eq!(
        agent.streams.set_stream_operations(set(false, 1)).await.unwrap_err().code(),
        Code::Aborted
    );
    let record = agent
        .streams
        .set_stream_operations(set(false, 2))
        .await
        .unwrap()
        .into_inner()
        .record
        .unwrap();
    assert_eq!((state(&record), record.status.unwrap().generation), (v1::StreamState::Active, 1));
    let mut bad = set(false, 0);
    bad.operations.as_mut().unwrap().flush_interval = Some(prost_types::Duration { seconds: 7_200, nanos: 0 });
    assert_eq!(
        agent.streams.set_stream_operations(bad).await.unwrap_err().code(),
        Code::InvalidArgument
    );
}

#[tokio::test]
async fn get_sees_a_dropped_table_at_once_and_a_restart_says_that_it_is_lost() {
    let mut agent = Agent::start().await;
    agent.create("r1").await.unwrap();
    agent.engine.world.lock().unwrap().tables.clear();
    let record = agent.get().await.unwrap();
    assert_eq!(state(&record), v1::StreamState::TableGone);
    assert_eq!(record.status.unwrap().table.unwrap().rows, 4, "plans quote what is lost");
    let status = agent.restart().await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition);
    assert!(detail_of(&status).unwrap().violations[0].remedy.contains("replace"));
}

#[tokio::test]
async fn a_table_that_was_moved_away_and_back_is_written_again() {
    let mut agent = Agent::start().await;
    agent.create("r1").await.unwrap();
    let moved = agent.engine.world.lock().unwrap().tables.remove(&table()).unwrap();
    assert_eq!(state(&agent.get().await.unwrap()), v1::StreamState::TableGone);
    assert_eq!(state(&agent.get().await.unwrap()), v1::StreamState::TableGone);
    agent.engine.world.lock().unwrap().tables.insert(table(), moved.clone());
    assert_eq!(state(&agent.get().await.unwrap()), v1::StreamState::Active);
    agent.engine.world.lock().unwrap().tables.insert(
        table(),
        Table {
            uid: "somebody".into(),
            ..moved
        },
    );
    assert_eq!(state(&agent.get().await.unwrap()), v1::StreamState::TableAltered);
    agent.engine.world.lock().unwrap().tables.clear();
    assert_eq!(state(&agent.get().await.unwrap()), v1::StreamState::TableGone);
}

#[tokio::test]
async fn a_restart_restores_a_table_from_the_trash() {
    let mut agent = Agent::start().await;
    let uid = agent.create("r1").await.unwrap().status.unwrap().uid;
    {
        let mut world = agent.engine.world.lock().unwrap();
        let found = world.tables.remove(&table()).unwrap();
        world.trash.insert(uid, (table(), found));
    }
    let record = agent.get().await.unwrap();
    assert_eq!(state(&record), v1::StreamState::Failed);
    assert!(
        record
            .status
            .unwrap()
            .conditions
            .iter()
            .any(|condition| condition.reason == "TableInTrash")
    );
    assert_eq!(state(&agent.restart().await.unwrap()), v1::StreamState::Active);
}

#[tokio::test]
async fn a_restart_takes_an_altered_table_back_only_when_it_is_sound_again() {
    let mut agent = Agent::start().await;
    agent.create("r1").await.unwrap();
    let sound = agent.engine.table(&table()).unwrap();
    agent
        .engine
        .world
        .lock()
        .unwrap()
        .tables
        .get_mut(&table())
        .unwrap()
        .columns
        .truncate(2);
    assert_eq!(state(&agent.get().await.unwrap()), v1::StreamState::TableAltered);
    assert_eq!(agent.restart().await.unwrap_err().code(), Code::FailedPrecondition);
    agent.engine.world.lock().unwrap().tables.insert(table(), sound);
    assert_eq!(state(&agent.restart().await.unwrap()), v1::StreamState::Active);
    let untouched = agent.restart().await.unwrap();
    assert_eq!(
        state(&untouched),
        v1::StreamState::Active,
        "a stream that needs no repair is left alone"
    );
}

#[tokio::test]
async fn a_deleted_stream_is_gone_with_its_table_and_its_name_is_free() {
    let mut agent = Agent::start().await;
    let uid = agent.create("r1").await.unwrap().status.unwrap().uid;
    assert_eq!(agent.delete(false, "another-life").await.unwrap_err().code(), Code::NotFound);
    assert!(agent.delete(false, &uid).await.unwrap());
    assert_eq!(agent.get().await.unwrap_err().code(), Code::NotFound);
    assert_eq!(agent.delete(false, "").await.unwrap_err().code(), Code::NotFound);
    assert_eq!(agent.engine.table(&table()), None);
    let again = agent.create("r2").await.unwrap().status.unwrap().uid;
    assert_ne!(again, uid);
    assert!(agent.delete(true, &again).await.unwrap());
    assert!(agent.engine.table(&table()).is_some(), "a retained table stays");
    assert_eq!(
        agent.create("r3").await.unwrap_err().code(),
        Code::FailedPrecondition,
        "and is never taken over"
    );
}

#[tokio::test]
async fn a_check_says_what_create_and_update_would_do() {
    let mut agent = Agent::start().await;
    let fresh = agent.check(changed(SCHEMA, &[]), false).await;
    assert!(fresh.violations.is_empty() && fresh.missing_capabilities.is_empty() && fresh.existing.is_none());
    assert_eq!(fresh.columns.first().map(|column| column.name.as_str()), Some("key"));
    let unsound = agent
        .check(
            v1::Stream {
                name: "X".into(),
                ..changed(SCHEMA, &[])
            },
            false,
        )
        .await;
    assert_eq!(unsound.violations[0].field, "name");
    let unreachable = v1::Stream {
        connection_config: Some(v1::ConnectionConfig {
            connection: Some(v1::connection_config::Connection::UcConnectionName("later".into())),
        }),
        ..changed(SCHEMA, &[])
    };
    assert!(
        agent.check(unreachable, false).await.violations.is_empty(),
        "the connection may come in the same apply"
    );

    agent.create("r1").await.unwrap();
    let cases = [
        (SCHEMA, v1::VerdictKind::Unchanged, 0),
        (WIDER, v1::VerdictKind::InPlace, 0),
        (BIGINT, v1::VerdictKind::InPlace, 1),
        (INCOMPATIBLE, v1::VerdictKind::Refused, 0),
    ];
    for (payload, kind, missing) in cases {
        let answer = agent.check(changed(payload, &[]), false).await;
        assert_eq!(
            (answer.verdict.unwrap().kind(), answer.missing_capabilities.len()),
            (kind, missing),
            "{payload}"
        );
        assert!(answer.existing.is_some());
    }
    let replaced = v1::Stream {
        description: Some("another".into()),
        ..changed(WIDER, &[])
    };
    assert!(agent.check(replaced.clone(), false).await.verdict.is_none());
    let as_new = agent.check(replaced, true).await;
    assert!(as_new.existing.is_none() && as_new.violations.is_empty(), "{as_new:?}");
}

#[tokio::test]
async fn lists_come_in_pages_and_without_schemas_unless_asked_for() {
    let mut agent = Agent::start().await;
    for name in ["main.pay.a", "main.pay.b", "main.pay.c", "main.hr.d"] {
        agent.create_as(stream_from_spec(&stream(name)), "r").await.unwrap();
    }
    let list = |parent: &str, token: &str, include_schemas| v1::ListStreamsRequest {
        parent: parent.into(),
        page_size: 2,
        page_token: token.into(),
        include_schemas,
    };
    let names = |answer: &v1::ListStreamsResponse| -> Vec<String> {
        answer
            .records
            .iter()
            .map(|record| record.stream.as_ref().unwrap().name.clone())
            .collect()
    };
    let first = agent.streams.list_streams(list("main.pay", "", false)).await.unwrap().into_inner();
    assert_eq!(names(&first), ["main.pay.a", "main.pay.b"]);
    assert!(first.records[0].status.as_ref().unwrap().schema_versions.is_empty());
    let second = agent
        .streams
        .list_streams(list("main.pay", &first.next_page_token, true))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        (names(&second), second.next_page_token.as_str()),
        (vec!["main.pay.c".to_owned()], "")
    );
    assert_eq!(second.records[0].status.as_ref().unwrap().schema_versions.len(), 1);
    for bad in [
        list("main", &first.next_page_token, false),
        list("", "", false),
        list("main.pay", "zz", false),
    ] {
        assert_eq!(agent.streams.list_streams(bad).await.unwrap_err().code(), Code::InvalidArgument);
    }
}

#[tokio::test]
async fn connections_live_and_change_and_are_kept_while_streams_use_them() {
    let mut agent = Agent::start().await;
    let wanted = |name: &str| connection_from_spec(&connection(name).spec);
    let create = |connection: v1::Connection, request_id: &str| v1::CreateConnectionRequest {
        connection: Some(connection),
        request_id: request_id.into(),
    };
    let created = agent
        .connections
        .create_connection(create(wanted("second"), "r1"))
        .await
        .unwrap()
        .into_inner()
        .connection
        .unwrap();
    assert_eq!((created.generation, created.created_by.as_str()), (1, "local-admin"));
    let repeated = agent
        .connections
        .create_connection(create(wanted("second"), "r1"))
        .await
        .unwrap()
        .into_inner()
        .connection
        .unwrap();
    assert_eq!(repeated.uid, created.uid);
    assert_eq!(
        agent
            .connections
            .create_connection(create(wanted("second"), "r2"))
            .await
            .unwrap_err()
            .code(),
        Code::AlreadyExists
    );

    let update = |path: &str, generation| {
        let mut changed = wanted("second");
        changed.comment = Some("moved".into());
        if let Some(v1::connection::Options::Kafka(kafka)) = &mut changed.options {
            kafka.bootstrap_servers = "127.0.0.1:9999".into();
        }
        let update_mask = Some(prost_types::FieldMask { paths: vec![path.into()] });
        v1::UpdateConnectionRequest {
            connection: Some(changed),
            update_mask,
            generation,
        }
    };
    let changed = agent
        .connections
        .update_connection(update("kafka.bootstrap_servers", 1))
        .await
        .unwrap()
        .into_inner()
        .connection
        .unwrap();
    assert_eq!((changed.generation, changed.comment), (2, None));
    assert_eq!(
        agent.connections.update_connection(update("comment", 1)).await.unwrap_err().code(),
        Code::Aborted
    );
    assert_eq!(
        agent.connections.update_connection(update("name", 2)).await.unwrap_err().code(),
        Code::InvalidArgument
    );
    assert_eq!(
        agent
            .connections
            .update_connection(update("kinesis.endpoint", 2))
            .await
            .unwrap_err()
            .code(),
        Code::InvalidArgument
    );

    agent.create("r1").await.unwrap();
    let delete = |name: &str, force| v1::DeleteConnectionRequest { name: name.into(), force };
    let refused = agent.connections.delete_connection(delete("kafka", false)).await.unwrap_err();
    assert!(
        refused.code() == Code::FailedPrecondition && refused.message().contains(NAME),
        "{refused:?}"
    );
    agent.connections.delete_connection(delete("kafka", true)).await.unwrap();
    agent.connections.delete_connection(delete("second", false)).await.unwrap();
    assert_eq!(
        agent
            .connections
            .delete_connection(delete("second", false))
            .await
            .unwrap_err()
            .code(),
        Code::NotFound
    );
    let left = agent
        .connections
        .list_connections(v1::ListConnectionsRequest::default())
        .await
        .unwrap()
        .into_inner();
    assert!(left.connections.is_empty());
}

#[tokio::test]
async fn what_this_agent_cannot_do_is_refused_with_the_capability_and_without_the_secret() {
    let mut agent = Agent::start().await;
    let mut secret = connection_from_spec(&connection("second").spec);
    if let Some(v1::connection::Options::Kafka(kafka)) = &mut secret.options {
        kafka.security_protocol = "SASL_SSL".into();
        kafka.sasl_mechanism = Some("PLAIN".into());
        kafka.user = Some("u".into());
        kafka.password = Some("hunter2".into());
    }
    let checked = agent
        .connections
        .check_connection(v1::CheckConnectionRequest {
            connection: Some(secret.clone()),
        })
        .await
        .unwrap()
        .into_inner();
    assert!(
        checked.missing_capabilities.iter().any(|missing| missing.field == "kafka.password"),
        "{checked:?}"
    );
    let refused = agent
        .connections
        .create_connection(v1::CreateConnectionRequest {
            connection: Some(secret),
            request_id: String::new(),
        })
        .await;
    let said = format!("{checked:?} {refused:?}");
    assert!(!said.contains("hunter2"), "{said}");

    let mut secrets = v1::secret_service_client::SecretServiceClient::new(agent.channel.clone());
    let status = secrets
        .list_secret_scopes(v1::ListSecretScopesRequest::default())
        .await
        .unwrap_err();
    assert_eq!(
        (status.code(), detail_of(&status).unwrap().violations[0].field.as_str()),
        (Code::Unimplemented, "secrets")
    );
    let status = agent.connections.execute_sql(v1::ExecuteSqlRequest::default()).await.unwrap_err();
    assert_eq!(status.code(), Code::Unimplemented);
}

#[tokio::test]
async fn the_agent_says_what_it_can_do() {
    let agent = Agent::start().await;
    let mut client = v1::agent_service_client::AgentServiceClient::new(agent.channel.clone());
    let answer = client.get_agent(v1::GetAgentRequest {}).await.unwrap().into_inner();
    assert!(answer.capabilities.is_sorted() && answer.capabilities.contains(&"kafka.subscribe".to_owned()));
    assert_eq!((answer.version.as_str(), answer.principal.as_str()), ("0.0.0", "local-admin"));
}

/// The status line of one request as any HTTP/1.1 client would send it.
async fn http(address: std::net::SocketAddr, path: &str, headers: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut connection = tokio::net::TcpStream::connect(address).await.unwrap();
    connection
        .write_all(format!("GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn health_is_plain_http_on_the_same_port_and_web_pages_stay_out() {
    let agent = Agent::start().await;
    let host = format!("Host: {}\r\n", agent.address);
    for path in ["/healthz", "/readyz"] {
        assert_eq!(http(agent.address, path, &host).await, "HTTP/1.1 200 OK");
        assert_eq!(http(agent.address, path, "Host: evil.example\r\n").await, "HTTP/1.1 403 Forbidden");
        assert_eq!(
            http(agent.address, path, &format!("{host}Origin: http://evil.example\r\n")).await,
            "HTTP/1.1 403 Forbidden"
        );
    }
}
