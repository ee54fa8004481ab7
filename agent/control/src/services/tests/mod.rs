//! The services as callers meet them: over the port, through gRPC, with a scripted engine behind them.

mod connection_secrets;
mod connection_sql;
mod connections;
mod create;
mod credentials;
mod lives;
mod port;
mod privileges;
mod read;
mod registry;
mod repair;
mod secrets;
mod secure;
mod tokens;
mod update;
mod volumes;

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
use crate::governance::GrantAuthorizer;
use crate::governance::authentication::oidc::Oidc;
use crate::governance::authentication::{Authenticator, Directory, Door, admin};
use crate::governance::aws::AwsEnvironment;
use crate::governance::credentials::AwsCredentials;
use crate::governance::private_folders::PrivateFolders;
use crate::governance::secrets::Vault;
use crate::governance::secrets::master::{LocalKey, MasterKeys};
use crate::reconcile::backoff::Backoff;
use crate::reconcile::{Reconciler, ReconcilerSettings};
use crate::store::sqlite::SqliteStore;
use crate::store::{LiteralSecrets, Store};
use crate::testing::aws::without_credentials;
use crate::testing::definitions::{SCHEMA, connection, stream};
use crate::testing::engine::{FakeEngine, Table};

const NAME: &str = "main.pay.orders";

/// With one group.
fn directory() -> Directory {
    Directory::new([("payments-team".to_owned(), ["ada".to_owned()].into())].into())
}

/// Services over a store and an engine.
pub(crate) fn services(store: &Arc<dyn Store>, engine: &FakeEngine, stopping: CancellationToken) -> (Reconciler, Arc<Services>) {
    let backoff = Backoff {
        first: Duration::from_millis(1),
        max: Duration::from_millis(5),
    };
    services_with(store, engine, stopping, backoff)
}

fn services_with(
    store: &Arc<dyn Store>,
    engine: &FakeEngine,
    stopping: CancellationToken,
    backoff: Backoff,
) -> (Reconciler, Arc<Services>) {
    let trash_retention = Duration::from_secs(60);
    let reconciler = Reconciler::start(
        store.clone(),
        Arc::new(engine.clone()),
        ReconcilerSettings { trash_retention, backoff },
    );
    let master_key = Arc::new(LocalKey::from_bytes(&[7; 32]).unwrap());
    let services = Services::new(ServicesSettings {
        store: store.clone(),
        vault: Vault::new(store.clone(), MasterKeys::new(master_key, Vec::new(), "")),
        aws: Arc::new(AwsCredentials::by(AwsEnvironment::of(without_credentials()))),
        private_folders: PrivateFolders::default().with("the data folder", "/var/lib/agent"),
        engine: Arc::new(engine.clone()),
        reconciler: reconciler.handle(),
        connection_changes: Arc::new(ConnectionChanges::default()),
        authorizer: Arc::new(GrantAuthorizer::new(store.clone())),
        directory: Arc::new(directory()),
        trash_retention,
        version: "0.0.0",
        stopping,
    });
    (reconciler, services)
}

/// Services by themselves, with what they need to stay.
pub(crate) async fn services_alone() -> (Arc<Services>, Reconciler, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&folder.path().join("agent.db")).await.unwrap());
    let (reconciler, services) = services(&store, &FakeEngine::default(), CancellationToken::new());
    (services, reconciler, folder)
}

/// An agent on a port of its own.
struct Agent {
    streams: StreamServiceClient<Channel>,
    connections: ConnectionServiceClient<Channel>,
    channel: Channel,
    router: axum::Router,
    store: Arc<dyn Store>,
    vault: Vault,
    services: Arc<Services>,
    engine: FakeEngine,
    address: std::net::SocketAddr,
    stopping: CancellationToken,
    _reconciler: Reconciler,
    folder: tempfile::TempDir,
}

impl Agent {
    /// With a connection `kafka`, for everybody.
    async fn start() -> Self {
        Self::start_behind(Door::Open).await
    }

    async fn start_behind(door: Door) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = FakeEngine::default();
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&folder.path().join("agent.db")).await.unwrap());
        store.insert_connection(&connection("kafka"), &LiteralSecrets::Stay).await.unwrap();
        let stopping = CancellationToken::new();
        let (reconciler, services) = services(&store, &engine, stopping.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let authenticator = Authenticator::new(services.store.clone(), Arc::new(directory()), Oidc::default(), door);
        let settings = crate::http::PortSettings {
            authenticator: Arc::new(authenticator),
            loopback: true,
            encrypted: false,
        };
        let router = crate::http::router(&services, settings);
        tokio::spawn(crate::http::serve(listener, None, router.clone(), stopping.clone()));
        let channel = Channel::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap();
        Self {
            streams: StreamServiceClient::new(channel.clone()),
            connections: ConnectionServiceClient::new(channel.clone()),
            channel,
            router,
            store: services.store.clone(),
            vault: services.vault.clone(),
            services,
            engine,
            address,
            stopping,
            _reconciler: reconciler,
            folder,
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
        self.check_in_place_of("", stream, as_new).await
    }

    async fn check_in_place_of(&mut self, replaces: &str, stream: v1::Stream, as_new: bool) -> v1::CheckStreamResponse {
        let request = v1::CheckStreamRequest {
            stream: Some(stream),
            operations: None,
            as_new,
            replaces: replaces.into(),
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
