//! Who may do what, as callers meet it: over the port, as other principals than the admin.

mod audit;
mod checks;
mod grants;
mod lists;
mod users;

use std::collections::BTreeSet;

use axum::extract::Request;
use axum::middleware::{self, Next};
use featurestore_proto::v1::grant_service_client::GrantServiceClient;
use tonic::service::interceptor::InterceptedService;

use super::*;
use crate::governance::Principal;
use crate::governance::privilege::{Privilege, SecurableType};
use crate::store::WrittenGrants;
use crate::store::documents::GrantsRecord;

/// The header in which a test says who it is: name, then groups, separated by commas.
const WHO: &str = "x-test-principal";

/// A connection that says who it is.
pub(super) type As = InterceptedService<Channel, SaysWho>;

#[derive(Clone)]
pub(super) struct SaysWho(&'static str);

impl tonic::service::Interceptor for SaysWho {
    fn call(&mut self, mut request: tonic::Request<()>) -> Result<tonic::Request<()>, Status> {
        request.metadata_mut().insert(WHO, self.0.parse().unwrap());
        Ok(request)
    }
}

/// An agent that believes its callers.
pub(super) struct Town {
    pub(super) store: Arc<dyn Store>,
    engine: FakeEngine,
    channel: Channel,
    _reconciler: Reconciler,
    _folder: tempfile::TempDir,
}

impl Town {
    /// With a connection `kafka` of `local-admin`.
    pub(super) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = FakeEngine::default();
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&folder.path().join("agent.db")).await.unwrap());
        store.insert_connection(&connection("kafka"), &LiteralSecrets::Stay).await.unwrap();
        let (reconciler, services) = services(&store, &engine, CancellationToken::new());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = crate::grpc::routes(&services).layer(middleware::from_fn(believe));
        tokio::spawn(crate::http::serve(listener, None, router, CancellationToken::new()));
        let channel = Channel::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap();
        Self {
            store,
            engine,
            channel,
            _reconciler: reconciler,
            _folder: folder,
        }
    }

    pub(super) fn door(&self, who: &'static str) -> As {
        InterceptedService::new(self.channel.clone(), SaysWho(who))
    }

    pub(super) fn streams(&self, who: &'static str) -> StreamServiceClient<As> {
        StreamServiceClient::new(self.door(who))
    }

    pub(super) fn grants(&self, who: &'static str) -> GrantServiceClient<As> {
        GrantServiceClient::new(self.door(who))
    }

    /// Creates a stream as somebody.
    pub(super) async fn create(&self, who: &'static str, name: &str) -> Result<v1::StreamRecord, Status> {
        let request = v1::CreateStreamRequest {
            stream: Some(stream_from_spec(&stream(name))),
            ..Default::default()
        };
        let answer = self.streams(who).create_stream(request).await?;
        Ok(answer.into_inner().record.unwrap())
    }

    /// Sets the grants on something, past the service.
    pub(super) async fn grant(&self, securable_type: SecurableType, name: &str, grants: &[(&str, &[Privilege])]) {
        let record = GrantsRecord {
            securable_type,
            securable_name: name.to_owned(),
            generation: 0,
            grants: grants
                .iter()
                .map(|(who, privileges)| ((*who).to_owned(), privileges.iter().copied().collect::<BTreeSet<_>>()))
                .collect(),
            update_time_ms: 0,
            updated_by: String::new(),
        };
        let written = self.store.set_grants(None, "", &record).await.unwrap();
        assert!(matches!(written, WrittenGrants::Written(_)), "{written:?}");
    }

    /// Grants what it takes to create streams in `main.pay`.
    pub(super) async fn let_create(&self, who: &str) {
        self.grant(SecurableType::Catalog, "main", &[(who, &[Privilege::UseCatalog])]).await;
        let on_schema = [Privilege::UseSchema, Privilege::CreateTable];
        self.grant(SecurableType::Schema, "main.pay", &[(who, &on_schema)]).await;
        self.grant(SecurableType::Connection, "kafka", &[(who, &[Privilege::UseConnection])])
            .await;
    }
}

async fn believe(mut request: Request, next: Next) -> axum::response::Response {
    let who = request.headers().get(WHO).unwrap().to_str().unwrap().to_owned();
    let mut names = who.split(',').map(str::to_owned);
    let principal = Principal::new(names.next().unwrap(), names.collect());
    request.extensions_mut().insert(principal);
    next.run(request).await
}
