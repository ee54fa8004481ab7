//! The agent's gRPC API as blocking calls, for what tests do behind Terraform's back.
//! Invariant: every call has a deadline.

mod credentials;
mod governance;

use std::future::Future;
use std::sync::OnceLock;

use featurestore_proto::v1::agent_service_client::AgentServiceClient;
use featurestore_proto::v1::connection_service_client::ConnectionServiceClient;
use featurestore_proto::v1::secret_service_client::SecretServiceClient;
use featurestore_proto::v1::stream_service_client::StreamServiceClient;
pub use featurestore_proto::v1::test_connection_request::Target;
use featurestore_proto::v1::token_service_client::TokenServiceClient;
use featurestore_proto::v1::{
    CheckStreamRequest, CheckStreamResponse, ConfluentSchema, Connection, ConnectionConfig, CreateConnectionRequest,
    CreateSecretScopeRequest, CreateStreamRequest, CreateTokenRequest, DeleteConnectionRequest, DeleteStreamRequest, DeltaTable,
    DirectSchema, DirectSchemas, GetAgentRequest, GetAgentResponse, GetConnectionRequest, GetStreamRequest, IngestionConfig,
    KafkaConnection, KafkaStreamConfig, RestartStreamRequest, SchemaConfig, SchemaLocator, SchemaRegistryConfig, SecretScope,
    SetStreamOperationsRequest, SourceConfig, Stream, StreamOperations, StreamRecord, StreamState, SubscriptionMode, TestConnectionRequest,
    TestStep, UpdateConnectionRequest, UpdateStreamRequest, connection::Options, connection_config, direct_schema, schema_config,
    source_config, subscription_mode,
};
use tokio::runtime::Runtime;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Status};

use crate::certificates::Certificates;
use crate::config::{CONNECTION_NAME, STREAM_NAME, TABLE_NAME};
use crate::limits::{AGENT_CALL, STREAM_SETTLES};
use crate::wait::wait_until;

/// Runs a future on the harness' own runtime.
pub fn block_on<F: Future>(future: F) -> F::Output {
    runtime().block_on(future)
}

fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap()
    })
}

/// The standard stream as a message: one topic from its beginning, by that JSON schema.
#[must_use]
pub fn stream_message(topic: &str, json_schema: &str) -> Stream {
    stream_message_by(topic, direct_schema::Schema::JsonSchema(json_schema.to_owned()))
}

/// The same by a schema of any kind.
#[must_use]
pub fn stream_message_by(topic: &str, schema: direct_schema::Schema) -> Stream {
    let schemas = DirectSchemas {
        key_schema: None,
        payload_schema: Some(DirectSchema { schema: Some(schema) }),
    };
    stream_with(topic, schema_config::Config::DirectSchemas(schemas))
}

/// The same by the schemas of a subject in the connection's registry, `FORMAT_AVRO` or `FORMAT_PROTOBUF`.
#[must_use]
pub fn registry_stream(topic: &str, subject: &str, format: &str) -> Stream {
    let schema = ConfluentSchema {
        subject: subject.to_owned(),
        format: format.to_owned(),
    };
    let config = SchemaRegistryConfig {
        payload_schema_locator: Some(SchemaLocator {
            confluent_schema: Some(schema),
        }),
        ..SchemaRegistryConfig::default()
    };
    stream_with(topic, schema_config::Config::SchemaRegistryConfig(config))
}

fn stream_with(topic: &str, schemas: schema_config::Config) -> Stream {
    let source = KafkaStreamConfig {
        subscription_mode: Some(SubscriptionMode {
            mode: Some(subscription_mode::Mode::Subscribe(topic.to_owned())),
        }),
        extra_options: [("startingOffsets".to_owned(), "earliest".to_owned())].into(),
    };
    let connection = connection_config::Connection::UcConnectionName(CONNECTION_NAME.to_owned());
    Stream {
        name: STREAM_NAME.to_owned(),
        source_config: Some(SourceConfig {
            source: Some(source_config::Source::KafkaStreamConfig(source)),
        }),
        connection_config: Some(ConnectionConfig {
            connection: Some(connection),
        }),
        schema_config: Some(SchemaConfig { config: Some(schemas) }),
        ingestion_config: Some(IngestionConfig {
            ingestion_destination: Some(DeltaTable {
                delta_table_name: TABLE_NAME.to_owned(),
            }),
            ..IngestionConfig::default()
        }),
        ..Stream::default()
    }
}

/// What a stream of Kafka reads.
pub fn kafka_source(stream: &mut Stream) -> &mut KafkaStreamConfig {
    match &mut stream.source_config.as_mut().unwrap().source {
        Some(source_config::Source::KafkaStreamConfig(source)) => source,
        other => panic!("a stream of Kafka: {other:?}"),
    }
}

/// A connection to a plaintext broker, with a schema registry beside it or none.
#[must_use]
pub fn kafka_connection(name: &str, bootstrap: &str, registry_url: Option<&str>) -> Connection {
    Connection {
        name: name.to_owned(),
        options: Some(Options::Kafka(KafkaConnection {
            bootstrap_servers: bootstrap.to_owned(),
            security_protocol: "PLAINTEXT".to_owned(),
            schema_registry_url: registry_url.map(str::to_owned),
            ..KafkaConnection::default()
        })),
        ..Connection::default()
    }
}

/// One of many streams of the same connection: with a name and a table of its own.
#[must_use]
pub fn numbered_stream(number: usize, topic: &str, json_schema: &str) -> Stream {
    let mut stream = stream_message(topic, json_schema);
    stream.name = format!("{STREAM_NAME}_{number}");
    let destination = stream.ingestion_config.as_mut().unwrap().ingestion_destination.as_mut();
    destination.unwrap().delta_table_name = format!("{TABLE_NAME}_{number}");
    stream
}

/// A client of one agent; it connects again by itself after the agent was killed.
#[derive(Clone)]
pub struct Api {
    channel: Calls,
}

/// Calls that say who makes them.
type Calls = InterceptedService<Channel, Bearer>;

/// Puts a token into each call, if there is one.
#[derive(Clone)]
struct Bearer(Option<MetadataValue<Ascii>>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            request.metadata_mut().insert("authorization", token.clone());
        }
        Ok(request)
    }
}

impl Api {
    /// For an agent at `endpoint`; connects with the first call.
    #[must_use]
    pub fn new(endpoint: &str) -> Self {
        // Connecting lazily needs the runtime's reactor.
        let _entered = runtime().enter();
        let channel = Endpoint::from_shared(endpoint.to_owned())
            .unwrap()
            .timeout(AGENT_CALL)
            .connect_lazy();
        Self {
            channel: InterceptedService::new(channel, Bearer(None)),
        }
    }

    /// For an agent at `endpoint` with these certificates, as the one whom the token speaks for.
    #[must_use]
    pub fn secured(endpoint: &str, certificates: &Certificates, token: &str) -> Self {
        let _entered = runtime().enter();
        let authority = std::fs::read(certificates.authority()).unwrap();
        let channel = Endpoint::from_shared(endpoint.to_owned())
            .unwrap()
            .tls_config(ClientTlsConfig::new().ca_certificate(Certificate::from_pem(authority)))
            .unwrap()
            .timeout(AGENT_CALL)
            .connect_lazy();
        let token = format!("Bearer {token}").parse().unwrap();
        Self {
            channel: InterceptedService::new(channel, Bearer(Some(token))),
        }
    }

    /// Makes a token.
    ///
    /// # Errors
    /// As the agent answers.
    pub fn create_token(&self, principal: &str) -> Result<String, Status> {
        let mut client = TokenServiceClient::new(self.channel.clone());
        let request = CreateTokenRequest {
            principal: principal.to_owned(),
            lifetime: None,
        };
        block_on(client.create_token(request)).map(|answer| answer.into_inner().value)
    }

    /// Version and capabilities.
    ///
    /// # Errors
    /// As the agent answers, or that it does not.
    pub fn agent(&self) -> Result<GetAgentResponse, Status> {
        let mut client = AgentServiceClient::new(self.channel.clone());
        block_on(client.get_agent(GetAgentRequest {})).map(tonic::Response::into_inner)
    }

    /// Creates a connection to a plaintext broker.
    ///
    /// # Errors
    /// As the agent answers.
    pub fn create_kafka_connection(&self, name: &str, bootstrap: &str) -> Result<(), Status> {
        self.create_connection(&kafka_connection(name, bootstrap, None)).map(drop)
    }

    /// Creates a connection.
    ///
    /// # Errors
    /// As the agent answers.
    pub fn create_connection(&self, connection: &Connection) -> Result<Connection, Status> {
        let request = CreateConnectionRequest {
            connection: Some(connection.clone()),
            request_id: String::new(),
        };
        block_on(self.connections().create_connection(request)).map(|answer| answer.into_inner().connection.unwrap())
    }

    /// Updates the fields that `mask` names.
    ///
    /// # Errors
    /// As the agent answers.
    pub fn update_connection(&self, connection: &Connection, mask: &[&str]) -> Result<Connection, Status> {
        let paths = mask.iter().map(|path| (*path).to_owned()).collect();
        let request = UpdateConnectionRequest {
            connection: Some(connection.clone()),
            update_mask: Some(prost_types::FieldMask { paths }),
            ..UpdateConnectionRequest::default()
        };
        block_on(self.connections().update_connection(request)).map(|answer| answer.into_inner().connection.unwrap())
    }

    /// A connection.
    ///
    /// # Errors
    /// As the agent answers.
    pub fn connection(&self, name: &str) -> Result<Connection, Status> {
        let request = GetConnectionRequest { name: name.to_owned() };
        block_on(self.connections().get_connection(request)).map(|answer| answer.into_inner().connection.unwrap())
    }

    /// Tries a connection, by its name or as it is declared.
    ///
    /// # Errors
    /// As the agent answers.
    pub fn test_connection(&self, target: Target) -> Result<Vec<TestStep>, Status> {
        let request = TestConnectionRequest { target: Some(target) };
        block_on(self.connections().test_connection(request)).map(|answer| answer.into_inner().steps)
    }

    /// Deletes a connection.
    ///
    /// # Errors
    /// As the agent answers.
    pub fn delete_connection(&self, name: &str) -> Result<(), Status> {
        let mut client = ConnectionServiceClient::new(self.channel.clone());
        let request = DeleteConnectionRequest {
            name: name.to_owned(),
            force: false,
            ..DeleteConnectionRequest::default()
        };
        block_on(client.delete_connection(request)).map(|_| ())
    }

    /// Creates a secret scope.
    ///
    /// # Errors
    /// As the agent answers.
    pub fn create_secret_scope(&self, name: &str) -> Result<(), Status> {
        let request = CreateSecretScopeRequest {
            scope: Some(SecretScope {
                name: name.to_owned(),
                ..SecretScope::default()
            }),
            ..CreateSecretScopeRequest::default()
        };
        block_on(self.secrets().create_secret_scope(request)).map(drop)
    }

    /// Creates a stream, with default operations.
    ///
    /// # Errors
    /// As the agent answers.
    pub fn create_stream(&self, stream: Stream, request_id: &str) -> Result<StreamRecord, Status> {
        let request = CreateStreamRequest {
            stream: Some(stream),
            operations: None,
            request_id: request_id.to_owned(),
            wait: None,
        };
        block_on(self.streams().create_stream(request)).map(|answer| answer.into_inner().record.unwrap())
    }

    /// Creates a stream and does not wait for it.
    ///
    /// # Errors
    /// As the agent answers.
    pub fn declare_stream(&self, stream: Stream) -> Result<StreamRecord, Status> {
        self.declare_stream_with(stream, StreamOperations::default())
    }

    /// The same with operations other than the defaults.
    ///
    /// # Errors
    /// As the agent answers.
    pub fn declare_stream_with(&self, stream: Stream, operations: StreamOperations) -> Result<StreamRecord, Status> {
        let request = CreateStreamRequest {
            stream: Some(stream),
            operations: Some(operations),
            wait: Some(prost_types::Duration::default()),
            ..CreateStreamRequest::default()
        };
        block_on(self.streams().create_stream(request)).map(|answer| answer.into_inner().record.unwrap())
    }

    /// A stream with its status.
    ///
    /// # Errors
    /// As the agent answers.
    pub fn stream(&self, name: &str) -> Result<StreamRecord, Status> {
        let request = GetStreamRequest { name: name.to_owned() };
        block_on(self.streams().get_stream(request)).map(|answer| answer.into_inner().record.unwrap())
    }

    /// Updates the fields that `mask` names.
    ///
    /// # Errors
    /// As the agent answers.
    pub fn update_stream(&self, stream: Stream, mask: &[&str], generation: u64) -> Result<StreamRecord, Status> {
        let paths = mask.iter().map(|path| (*path).to_owned()).collect();
        let request = UpdateStreamRequest {
            stream: Some(stream),
            update_mask: Some(prost_types::FieldMask { paths }),
            generation,
            ..UpdateStreamRequest::default()
        };
        block_on(self.streams().update_stream(request)).map(|answer| answer.into_inner().record.unwrap())
    }

    /// Changes how a stream runs.
    ///
    /// # Errors
    /// As the agent answers.
    pub fn set_operations(&self, name: &str, operations: StreamOperations) -> Result<StreamRecord, Status> {
        let request = SetStreamOperationsRequest {
            name: name.to_owned(),
            operations: Some(operations),
            ..SetStreamOperationsRequest::default()
        };
        block_on(self.streams().set_stream_operations(request)).map(|answer| answer.into_inner().record.unwrap())
    }

    /// Ends a stream's run and begins another, with the table from the trash if it is there.
    ///
    /// # Errors
    /// As the agent answers.
    pub fn restart_stream(&self, name: &str) -> Result<StreamRecord, Status> {
        let request = RestartStreamRequest {
            name: name.to_owned(),
            ..RestartStreamRequest::default()
        };
        block_on(self.streams().restart_stream(request)).map(|answer| answer.into_inner().record.unwrap())
    }

    /// What a create or an update would do.
    ///
    /// # Errors
    /// As the agent answers.
    pub fn check_stream(&self, stream: Stream) -> Result<CheckStreamResponse, Status> {
        let request = CheckStreamRequest {
            stream: Some(stream),
            ..CheckStreamRequest::default()
        };
        block_on(self.streams().check_stream(request)).map(tonic::Response::into_inner)
    }

    /// Deletes a stream with its table.
    ///
    /// # Errors
    /// As the agent answers.
    pub fn delete_stream(&self, name: &str) -> Result<bool, Status> {
        let request = DeleteStreamRequest {
            name: name.to_owned(),
            ..DeleteStreamRequest::default()
        };
        block_on(self.streams().delete_stream(request)).map(|answer| answer.into_inner().done)
    }

    /// Waits until a stream is in one of these states.
    pub fn await_state(&self, name: &str, wanted: &[StreamState]) -> StreamRecord {
        wait_until(&format!("stream `{name}` is {wanted:?}"), STREAM_SETTLES, || {
            let record = self.stream(name).map_err(|status| status.to_string())?;
            let status = record.status.clone().unwrap_or_default();
            if wanted.contains(&status.state()) {
                Ok(record)
            } else {
                Err(format!("{:?} {:?}", status.state(), status.conditions))
            }
        })
    }

    fn connections(&self) -> ConnectionServiceClient<Calls> {
        ConnectionServiceClient::new(self.channel.clone())
    }

    fn secrets(&self) -> SecretServiceClient<Calls> {
        SecretServiceClient::new(self.channel.clone())
    }

    fn streams(&self) -> StreamServiceClient<Calls> {
        StreamServiceClient::new(self.channel.clone())
    }
}
