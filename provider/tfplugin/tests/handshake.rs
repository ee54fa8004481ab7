//! The example provider as a process, spoken to as Terraform does it: what it prints, whom it lets in, how it ends.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of a test stop at the first surprise, as the test does"
)]

mod support;

use std::ops::RangeInclusive;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use featurestore_proto::go_plugin::Empty;
use featurestore_proto::go_plugin::grpc_broker_client::GrpcBrokerClient;
use featurestore_proto::go_plugin::grpc_controller_client::GrpcControllerClient;
use featurestore_proto::go_plugin::grpc_stdio_client::GrpcStdioClient;
use featurestore_proto::tfplugin6 as pb;
use featurestore_proto::tfplugin6::provider_client::ProviderClient;
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, PKCS_ECDSA_P521_SHA512};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStdout, Command};
use tokio_rustls::TlsConnector;
use tonic::transport::{Channel, Endpoint};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

const COOKIE: &str = "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2";
const DEADLINE: Duration = Duration::from_secs(20);
const PORTS: RangeInclusive<u16> = 10_000..=25_000;
const MESSAGE_BYTES: usize = 8 * 1024 * 1024;

/// A client certificate of Terraform's kind: P-521, signs itself, calls itself an authority.
struct Client {
    certificate: CertificateDer<'static>,
    pem: String,
    key: KeyPair,
}

impl Client {
    fn new() -> Self {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P521_SHA512).unwrap();
        let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        Self {
            certificate: certificate.der().clone(),
            pem: certificate.pem(),
            key,
        }
    }

    fn key(&self) -> PrivateKeyDer<'static> {
        PrivatePkcs8KeyDer::from(self.key.serialize_der()).into()
    }
}

/// A started provider and the fields of its handshake line.
struct Started {
    process: Child,
    _stdout: BufReader<ChildStdout>,
    _sockets: TempDir,
    fields: Vec<String>,
}

async fn start(client: Option<&Client>) -> Started {
    start_with_sockets_in(client, TempDir::new().unwrap()).await
}

async fn start_with_sockets_in(client: Option<&Client>, sockets: TempDir) -> Started {
    let mut command = Command::new(support::provider_program());
    command.env("TF_PLUGIN_MAGIC_COOKIE", COOKIE).env("PLUGIN_PROTOCOL_VERSIONS", "5,6");
    command.env("PLUGIN_UNIX_SOCKET_DIR", sockets.path());
    command
        .env("PLUGIN_MIN_PORT", PORTS.start().to_string())
        .env("PLUGIN_MAX_PORT", PORTS.end().to_string());
    if let Some(client) = client {
        command.env("PLUGIN_CLIENT_CERT", &client.pem);
    }
    let mut process = command.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let mut stdout = BufReader::new(process.stdout.take().unwrap());
    let mut line = String::new();
    tokio::time::timeout(DEADLINE, stdout.read_line(&mut line)).await.unwrap().unwrap();
    let fields = line.trim_end_matches('\n').split('|').map(str::to_owned).collect();
    Started {
        process,
        _stdout: stdout,
        _sockets: sockets,
        fields,
    }
}

impl Started {
    fn socket(&self) -> &str {
        assert_eq!(self.fields[..3], ["1", "6", "unix"]);
        assert_eq!((self.fields.len(), self.fields[4].as_str()), (6, "grpc"));
        &self.fields[3]
    }

    /// A connection as Terraform opens it: trusts the certificate of the line alone, shows this one of its own.
    async fn connect(&self, client: Option<&Client>) -> Result<Channel, Box<dyn std::error::Error>> {
        let certificate = CertificateDer::from(STANDARD_NO_PAD.decode(&self.fields[5])?);
        let mut roots = RootCertStore::empty();
        roots.add(certificate)?;
        let crypto = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(crypto)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots);
        let mut config = match client {
            Some(client) => builder.with_client_auth_cert(vec![client.certificate.clone()], client.key())?,
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"h2".to_vec()];
        let connector = TlsConnector::from(Arc::new(config));
        let socket = self.socket().to_owned();
        let connect = tower::service_fn(move |_| {
            let (connector, socket) = (connector.clone(), socket.clone());
            async move {
                let stream = UnixStream::connect(socket).await?;
                let stream = connector.connect(ServerName::try_from("localhost").unwrap(), stream).await?;
                Ok::<_, std::io::Error>(TokioIo::new(stream))
            }
        });
        // The connector does TLS itself; with `https` tonic would ask for its own.
        Ok(Endpoint::from_static("http://localhost").connect_with_connector(connect).await?)
    }

    fn signal(&self, name: &str) {
        let process = self.process.id().unwrap().to_string();
        assert!(
            std::process::Command::new("kill")
                .args([&format!("-{name}"), &process])
                .status()
                .unwrap()
                .success()
        );
    }

    async fn ended(&mut self) -> (ExitStatus, Duration) {
        let start = Instant::now();
        let status = tokio::time::timeout(DEADLINE, self.process.wait()).await.unwrap().unwrap();
        (status, start.elapsed())
    }
}

async fn schema(channel: Channel) -> Result<pb::get_provider_schema::Response, tonic::Status> {
    let answer = ProviderClient::new(channel)
        .get_provider_schema(pb::get_provider_schema::Request {})
        .await?;
    Ok(answer.into_inner())
}

#[tokio::test]
async fn the_terraform_that_started_it_is_served_until_it_says_shutdown() {
    let client = Client::new();
    let mut started = start(Some(&client)).await;
    let socket = started.socket().to_owned();
    let channel = started.connect(Some(&client)).await.unwrap();

    // As go-plugin does: both streams stay open while everything else happens.
    let stdio = GrpcStdioClient::new(channel.clone()).stream_stdio(()).await.unwrap();
    let broker = GrpcBrokerClient::new(channel.clone())
        .start_stream(futures::stream::pending())
        .await
        .unwrap();
    let health = HealthCheckRequest {
        service: "plugin".to_owned(),
    };
    assert_eq!(
        HealthClient::new(channel.clone()).check(health).await.unwrap().into_inner().status,
        1
    );

    let schemas = schema(channel.clone()).await.unwrap();
    assert!(schemas.resource_schemas.contains_key("corner_file"));
    let capabilities = schemas.server_capabilities.unwrap();
    assert!(capabilities.plan_destroy && capabilities.get_provider_schema_optional);

    let shutdown = GrpcControllerClient::new(channel).shutdown(Empty {}).await;
    assert!(shutdown.is_ok(), "{shutdown:?}");
    let (status, took) = started.ended().await;
    assert!(status.success() && took < Duration::from_secs(2), "{status:?} after {took:?}");
    assert!(!std::path::Path::new(&socket).exists(), "the socket is still there");
    drop((stdio, broker));
}

#[tokio::test]
async fn nobody_else_is_let_in() {
    let client = Client::new();
    let started = start(Some(&client)).await;
    for stranger in [Some(Client::new()), None] {
        let refused = match started.connect(stranger.as_ref()).await {
            Ok(channel) => schema(channel).await.err().map(|status| status.to_string()),
            Err(error) => Some(error.to_string()),
        };
        assert!(refused.is_some(), "a stranger got an answer");
    }
    // The one that it waits for still is.
    assert!(schema(started.connect(Some(&client)).await.unwrap()).await.is_ok());
}

#[tokio::test]
async fn without_a_client_certificate_there_is_no_tls_as_go_plugin_has_it() {
    let started = start(None).await;
    assert_eq!(started.fields[5], "");
    let socket = started.socket().to_owned();
    let connect = tower::service_fn(move |_| {
        let socket = socket.clone();
        async move { Ok::<_, std::io::Error>(TokioIo::new(UnixStream::connect(socket).await?)) }
    });
    let channel = Endpoint::from_static("http://localhost")
        .connect_with_connector(connect)
        .await
        .unwrap();
    assert!(schema(channel).await.is_ok());
}

#[tokio::test]
async fn where_no_socket_file_fits_it_listens_on_a_port_of_terraforms_range() {
    let too_long_for_a_socket = tempfile::Builder::new().prefix(&"x".repeat(150)).tempdir().unwrap();
    let started = start_with_sockets_in(None, too_long_for_a_socket).await;
    assert_eq!(started.fields[2], "tcp");
    let (host, port) = started.fields[3].rsplit_once(':').unwrap();
    assert_eq!(host, "127.0.0.1");
    assert!(PORTS.contains(&port.parse().unwrap()), "{port}");
    let channel = Endpoint::from_shared(format!("http://{}", started.fields[3]))
        .unwrap()
        .connect()
        .await
        .unwrap();
    assert!(schema(channel).await.is_ok());
}

#[tokio::test]
async fn an_interrupt_is_terraforms_business_and_a_termination_ends_in_order() {
    let client = Client::new();
    let mut started = start(Some(&client)).await;
    let channel = started.connect(Some(&client)).await.unwrap();
    started.signal("INT");
    assert!(schema(channel).await.is_ok());
    started.signal("TERM");
    let (status, _) = started.ended().await;
    assert!(status.success(), "{status:?}");
    assert!(!std::path::Path::new(started.socket()).exists(), "the socket is still there");
}

#[tokio::test]
async fn it_ends_when_the_terraform_that_started_it_was_killed() {
    let sockets = TempDir::new().unwrap();
    // A shell in Terraform's place: the provider is its child, and what the provider prints goes on to us.
    let mut terraform = Command::new("sh")
        .args(["-c", "\"$0\" & wait"])
        .arg(support::provider_program())
        .env("TF_PLUGIN_MAGIC_COOKIE", COOKIE)
        .env("PLUGIN_PROTOCOL_VERSIONS", "6")
        .env("PLUGIN_UNIX_SOCKET_DIR", sockets.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(terraform.stdout.take().unwrap());
    let mut line = String::new();
    tokio::time::timeout(DEADLINE, stdout.read_line(&mut line)).await.unwrap().unwrap();
    let socket = line.split('|').nth(3).unwrap().to_owned();
    assert!(std::path::Path::new(&socket).exists(), "{line}");
    terraform.kill().await.unwrap();
    // The pipe ends with the last process that holds it: the provider.
    let mut rest = Vec::new();
    tokio::time::timeout(DEADLINE, stdout.read_to_end(&mut rest))
        .await
        .unwrap()
        .unwrap();
    assert!(!std::path::Path::new(&socket).exists(), "the socket is still there");
}

#[tokio::test]
async fn messages_of_many_megabytes_go_both_ways() {
    let client = Client::new();
    let started = start(Some(&client)).await;
    let channel = started.connect(Some(&client)).await.unwrap();
    let mut provider = ProviderClient::new(channel).max_decoding_message_size(usize::MAX);
    let large = "x".repeat(MESSAGE_BYTES);
    let raw_state = pb::RawState {
        json: format!("{{\"name\":\"{large}\"}}").into_bytes(),
        ..Default::default()
    };
    let request = pb::upgrade_resource_state::Request {
        type_name: "corner_file".to_owned(),
        version: 0,
        raw_state: Some(raw_state),
    };
    let answer = provider.upgrade_resource_state(request).await.unwrap().into_inner();
    assert!(answer.upgraded_state.unwrap().msgpack.len() > MESSAGE_BYTES);
}

#[tokio::test]
async fn what_is_not_offered_is_unimplemented_and_what_is_unknown_is_a_diagnostic() {
    let client = Client::new();
    let started = start(Some(&client)).await;
    let mut provider = ProviderClient::new(started.connect(Some(&client)).await.unwrap());

    let status = provider.plan_action(pb::plan_action::Request::default()).await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::Unimplemented);
    let status = provider
        .open_ephemeral_resource(pb::open_ephemeral_resource::Request::default())
        .await
        .unwrap_err();
    assert_eq!(status.code(), tonic::Code::Unimplemented);
    assert!(
        provider
            .get_functions(pb::get_functions::Request {})
            .await
            .unwrap()
            .into_inner()
            .functions
            .is_empty()
    );
    let identities = provider
        .get_resource_identity_schemas(pb::get_resource_identity_schemas::Request {})
        .await
        .unwrap();
    assert!(identities.into_inner().identity_schemas.is_empty());
    let metadata = provider.get_metadata(pb::get_metadata::Request {}).await.unwrap().into_inner();
    assert_eq!(metadata.resources[0].type_name, "corner_file");
    let called = provider
        .call_function(pb::call_function::Request {
            name: "f".to_owned(),
            arguments: Vec::new(),
        })
        .await
        .unwrap();
    assert!(called.into_inner().error.unwrap().text.contains("no function \"f\""));

    let unknown = pb::read_resource::Request {
        type_name: "corner_nothing".to_owned(),
        private: vec![1],
        ..Default::default()
    };
    let answer = provider.read_resource(unknown).await.unwrap().into_inner();
    assert_eq!(
        (answer.diagnostics[0].summary.as_str(), answer.private),
        ("Unknown Resource Type", vec![1])
    );
    let garbage = pb::DynamicValue {
        msgpack: vec![0xc1],
        json: Vec::new(),
    };
    let request = pb::validate_resource_config::Request {
        type_name: "corner_file".to_owned(),
        config: Some(garbage),
        ..Default::default()
    };
    let answer = provider.validate_resource_config(request).await.unwrap().into_inner();
    assert_eq!(answer.diagnostics[0].summary, "Unreadable Value");
    let json = pb::DynamicValue {
        json: br#"{"name":"a/b"}"#.to_vec(),
        msgpack: Vec::new(),
    };
    let request = pb::validate_resource_config::Request {
        type_name: "corner_file".to_owned(),
        config: Some(json),
        ..Default::default()
    };
    let answer = provider.validate_resource_config(request).await.unwrap().into_inner();
    assert_eq!(answer.diagnostics[0].summary, "Invalid File Name");
}

#[tokio::test]
async fn a_terraform_that_would_store_write_only_values_is_refused_them() {
    let client = Client::new();
    let started = start(Some(&client)).await;
    let mut provider = ProviderClient::new(started.connect(Some(&client)).await.unwrap());
    for (allowed, expected) in [(false, 1), (true, 0)] {
        let config = pb::DynamicValue {
            json: br#"{"name":"a","secret_wo":"s"}"#.to_vec(),
            msgpack: Vec::new(),
        };
        let request = pb::validate_resource_config::Request {
            type_name: "corner_file".to_owned(),
            config: Some(config),
            client_capabilities: Some(pb::ClientCapabilities {
                write_only_attributes_allowed: allowed,
                deferral_allowed: false,
            }),
        };
        let said = provider.validate_resource_config(request).await.unwrap().into_inner().diagnostics;
        assert_eq!(said.len(), expected, "{said:?}");
        assert!(
            said.iter().all(|message| message.summary == "Write-Only Attribute Not Supported"),
            "{said:?}"
        );
    }
}

#[tokio::test]
async fn a_person_who_starts_it_is_told_what_it_is() {
    let mut command = Command::new(support::provider_program());
    command
        .env_remove("TF_PLUGIN_MAGIC_COOKIE")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let (mut stdout, mut stderr) = (String::new(), String::new());
    process.stdout.take().unwrap().read_to_string(&mut stdout).await.unwrap();
    process.stderr.take().unwrap().read_to_string(&mut stderr).await.unwrap();
    assert_eq!(process.wait().await.unwrap().code(), Some(1));
    assert_eq!(stdout, "");
    assert!(stderr.starts_with("This program is a Terraform provider."), "{stderr}");
}
