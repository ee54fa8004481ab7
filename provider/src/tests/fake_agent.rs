//! An agent inside the test: the real gRPC services over a small world in memory that a test scripts. It decides updates by
//! the same functions as the real one, answers every repeated field in another order each time, and can be told to fail, to
//! lose an answer after acting, to lag behind, or to need some looks before a stream is ready.

mod connections;
mod governance;
mod shuffle;
mod streams;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use featurestore_proto::v1;
use featurestore_proto::v1::agent_service_server::{AgentService, AgentServiceServer};
use featurestore_proto::v1::connection_service_server::ConnectionServiceServer;
use featurestore_proto::v1::credential_service_server::CredentialServiceServer;
use featurestore_proto::v1::grant_service_server::GrantServiceServer;
use featurestore_proto::v1::secret_service_server::SecretServiceServer;
use featurestore_proto::v1::stream_service_server::StreamServiceServer;
use featurestore_proto::v1::volume_service_server::VolumeServiceServer;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Code, Request, Response, Status};

/// What befalls one call.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// Refused before anything happens.
    Refuse(Code, &'static str),
    /// Too many requests, with advice on when to come again.
    RateLimit(std::time::Duration),
    /// Everything happens, but the answer is lost.
    LoseAnswer,
    /// An answer with nothing in it.
    Hollow,
    /// No answer, ever.
    Hang,
}

/// A stream as the fake keeps it.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) record: v1::StreamRecord,
    pub(crate) request_id: String,
    pub(crate) history: Vec<v1::DirectSchemas>,
    /// Looks until a provisioning stream becomes active, or a new definition is in force.
    pub(crate) looks_until_ready: u32,
    /// After so many looks it is in that state.
    pub(crate) becomes: Option<(u32, v1::StreamState)>,
}

/// Everything the fake knows.
#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) streams: BTreeMap<String, Kept>,
    pub(crate) connections: BTreeMap<String, v1::Connection>,
    /// Credentials, secrets, volumes, grants.
    pub(crate) governance: governance::Governance,
    /// Request ids of creates, by the name of what was made.
    pub(crate) request_ids: BTreeMap<String, String>,
    /// Faults to come, by RPC name.
    pub(crate) faults: BTreeMap<&'static str, VecDeque<Fault>>,
    /// Every call that arrived, in order.
    pub(crate) calls: Vec<&'static str>,
    /// The connections by which they came.
    pub(crate) peers: BTreeSet<SocketAddr>,
    /// Metadata `authorization` of the last call.
    pub(crate) authorization: Option<String>,
    /// What a new stream is at first.
    pub(crate) first_state: Option<v1::StreamState>,
    /// See [`Kept::looks_until_ready`], for streams to come and updates to come.
    pub(crate) looks_until_ready: u32,
    /// Looks until a deleted stream is gone; `None`: at once.
    pub(crate) looks_until_gone: Option<u32>,
    /// Answers of CheckStream and CheckConnection.
    pub(crate) missing_capabilities: Vec<v1::Violation>,
    /// Write-only values as they arrived.
    pub(crate) passwords: BTreeMap<String, String>,
    /// `retain_table` of every deletion.
    pub(crate) retained: Vec<bool>,
    /// Passwords as checks brought them.
    pub(crate) checked_passwords: Vec<Option<String>>,
    /// Answers of CheckConnection: who uses the connection.
    pub(crate) used_by: Vec<String>,
    pub(crate) used_by_others: u32,
    /// The verdict that CheckStream answers instead of the true one.
    pub(crate) scripted_verdict: Option<v1::Verdict>,
    /// The streams whose places CheckStream was asked about.
    pub(crate) replaced: Vec<String>,
    /// What CheckStream answers as warnings.
    pub(crate) scripted_warnings: Vec<v1::Violation>,
    /// What CheckStream answers as columns.
    pub(crate) scripted_columns: Vec<v1::TableColumn>,
    /// What CheckStream answers as subjects of the stream's registry.
    pub(crate) scripted_subjects: Vec<v1::RegistrySubject>,
    /// What becomes of a repaired stream, which starts for so many looks before; `None`: active at once.
    pub(crate) restarts_as: Option<(v1::StreamState, u32)>,
    /// True: a call that changes operations is answered before they are in force.
    pub(crate) operates_slowly: bool,
    /// Waits of SetStreamOperations in seconds.
    pub(crate) waits: Vec<i64>,
    /// Update masks as they arrived.
    pub(crate) masks: Vec<Vec<String>>,
    counter: u64,
}

impl World {
    /// The stream of that name.
    pub(crate) fn stream(&mut self, name: &str) -> &mut Kept {
        self.streams.get_mut(name).expect("the stream exists")
    }

    /// Changes a stream's definition as another user would.
    pub(crate) fn change(&mut self, name: &str, change: impl FnOnce(&mut v1::Stream)) {
        let kept = self.stream(name);
        change(kept.record.stream.as_mut().expect("a stream"));
        let status = kept.record.status.as_mut().expect("a status");
        status.generation += 1;
        status.observed_generation += 1;
    }

    /// Changes a stream's operations as another user would.
    pub(crate) fn operate(&mut self, name: &str, change: impl FnOnce(&mut v1::StreamOperations)) {
        let kept = self.stream(name);
        change(kept.record.operations.as_mut().expect("operations"));
        kept.record.status.as_mut().expect("a status").operations_generation += 1;
    }

    /// Deletes a stream and creates it again, as another user would.
    pub(crate) fn begin_another_life(&mut self, name: &str) {
        let before = self.streams.remove(name).expect("the stream exists").record;
        self.create(before.stream.expect("a stream"), before.operations.expect("operations"), "theirs");
    }

    /// Puts a stream into a state.
    pub(crate) fn set_state(&mut self, name: &str, state: v1::StreamState) {
        self.stream(name).record.status.as_mut().expect("a status").state = state.into();
    }

    /// Notes a call and says what befalls it.
    fn arrive<T>(&mut self, call: &'static str, request: &Request<T>) -> Result<Option<Fault>, Status> {
        self.calls.push(call);
        self.peers.extend(request.remote_addr());
        let authorization = request.metadata().get("authorization").and_then(|value| value.to_str().ok());
        self.authorization = authorization.map(str::to_owned);
        match self.faults.get_mut(call).and_then(VecDeque::pop_front) {
            Some(Fault::Refuse(code, message)) => Err(Status::new(code, message)),
            Some(Fault::RateLimit(advice)) => {
                let retry_after = prost_types::Duration::try_from(advice).ok();
                let detail = v1::ErrorDetail {
                    retry_after,
                    ..Default::default()
                };
                Err(featurestore_proto::convert::status_with_detail(
                    Code::ResourceExhausted,
                    "too many requests",
                    &detail,
                ))
            }
            other => Ok(other),
        }
    }

    /// Refuses what was planned on another life of a name.
    fn same_life(&self, planned_on: &str, uid: &str) -> Result<(), Status> {
        if planned_on.is_empty() || planned_on == uid {
            return Ok(());
        }
        Err(Status::aborted("another one has its name"))
    }

    fn next(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }
}

/// The fake agent: services on a loopback port until it is dropped.
pub(crate) struct FakeAgent {
    world: Arc<Mutex<World>>,
    endpoint: String,
    leave: Option<tokio::sync::oneshot::Sender<()>>,
    server: tokio::task::JoinHandle<()>,
}

/// The services' side of the world.
#[derive(Clone)]
struct Services(Arc<Mutex<World>>);

impl Services {
    fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Services {
    /// Never comes back if the next fault of the call is to hang.
    async fn hang_if_told(&self, call: &str) {
        let told = {
            let mut world = self.world();
            let faults = world.faults.get_mut(call);
            let next = faults.and_then(|faults| faults.pop_front_if(|fault| matches!(fault, Fault::Hang)));
            next.is_some()
        };
        if told {
            std::future::pending::<()>().await;
        }
    }
}

impl FakeAgent {
    /// Starts one.
    pub(crate) async fn start() -> Self {
        Self::on(Server::builder()).await
    }

    /// Starts one that ends connections of that age in order.
    pub(crate) async fn start_with_connections_of(age: Duration) -> Self {
        Self::on(Server::builder().max_connection_age(age)).await
    }

    async fn on(mut server: Server) -> Self {
        let world = Arc::new(Mutex::new(World::default()));
        let incoming = TcpIncoming::bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
        let endpoint = format!("http://{}", incoming.local_addr().expect("a port"));
        let services = Services(world.clone());
        let router = server
            .add_service(StreamServiceServer::new(services.clone()))
            .add_service(ConnectionServiceServer::new(services.clone()))
            .add_service(CredentialServiceServer::new(services.clone()))
            .add_service(SecretServiceServer::new(services.clone()))
            .add_service(VolumeServiceServer::new(services.clone()))
            .add_service(GrantServiceServer::new(services.clone()))
            .add_service(AgentServiceServer::new(services));
        let (leave, left) = tokio::sync::oneshot::channel::<()>();
        let until_left = async move {
            // A dropped sender is the end as well.
            let _ = left.await;
        };
        let server = tokio::spawn(async move {
            router
                .serve_with_incoming_shutdown(incoming, until_left)
                .await
                .expect("the server runs")
        });
        Self {
            world,
            endpoint,
            leave: Some(leave),
            server,
        }
    }

    /// Closes its port and its connections, and comes back when that is done.
    pub(crate) async fn leave(&mut self) {
        self.leave.take();
        (&mut self.server).await.expect("the server ends");
    }

    /// Where it listens.
    pub(crate) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Looks into the world or changes it.
    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets faults befall the next calls of that name.
    pub(crate) fn fail(&self, call: &'static str, faults: impl IntoIterator<Item = Fault>) {
        self.world().faults.entry(call).or_default().extend(faults);
    }

    /// How often a call arrived.
    pub(crate) fn count(&self, call: &str) -> usize {
        self.world().calls.iter().filter(|seen| **seen == call).count()
    }
}

impl Drop for FakeAgent {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// An answer, unless it is lost.
fn answer<T: Default>(fault: Option<Fault>, message: T) -> Result<Response<T>, Status> {
    match fault {
        Some(Fault::Hollow) => Ok(Response::new(T::default())),
        Some(Fault::LoseAnswer) => Err(Status::unavailable("connection reset")),
        _ => Ok(Response::new(message)),
    }
}

#[tonic::async_trait]
impl AgentService for Services {
    async fn get_agent(&self, request: Request<v1::GetAgentRequest>) -> Result<Response<v1::GetAgentResponse>, Status> {
        let fault = self.world().arrive("GetAgent", &request)?;
        let agent = v1::GetAgentResponse {
            version: "0.1.0".to_owned(),
            capabilities: vec!["schema.json".to_owned(), "kafka.subscribe".to_owned()],
            trash_retention: Some(prost_types::Duration {
                seconds: 7 * 86_400,
                nanos: 0,
            }),
            principal: "admin".to_owned(),
            usage: None,
        };
        answer(fault, agent)
    }
}

/// A schema configuration with one JSON Schema for the payload.
pub(crate) fn json_payload(text: &str) -> v1::SchemaConfig {
    let schema = v1::DirectSchema {
        schema: Some(v1::direct_schema::Schema::JsonSchema(text.to_owned())),
    };
    let direct = v1::DirectSchemas {
        key_schema: None,
        payload_schema: Some(schema),
    };
    v1::SchemaConfig {
        config: Some(v1::schema_config::Config::DirectSchemas(direct)),
    }
}
