//! A provider's `main`: everything from the handshake to the exit.
//!
//! Invariant: the process ends when Terraform says so, within the time that go-plugin grants, and removes what it made.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use featurestore_proto::go_plugin::grpc_broker_server::GrpcBrokerServer;
use featurestore_proto::go_plugin::grpc_controller_server::GrpcControllerServer;
use featurestore_proto::go_plugin::grpc_stdio_server::GrpcStdioServer;
use featurestore_proto::tfplugin6::provider_server::ProviderServer;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use tonic_health::ServingStatus;

use crate::engine::Engine;
use crate::handshake::certificate::{self, Tls, TlsError};
use crate::handshake::connection::incoming;
use crate::handshake::line::line;
use crate::handshake::listener::Listener;
use crate::handshake::reattach;
use crate::handshake::services::PluginServices;
use crate::handshake::{self, Refusal};
use crate::limits::{EXIT_WAIT_MAX, MESSAGE_BYTES_MAX, PARENT_LOOK_INTERVAL};
use crate::provider::Provider;
use crate::wire::ProviderService;
use crate::{logging, panic_hook};

/// Why a provider could not be served.
#[derive(Debug, thiserror::Error)]
enum ServeError {
    #[error("{0}")]
    Refused(#[from] Refusal),
    #[error("cannot listen")]
    Listen(#[source] std::io::Error),
    #[error("cannot print the handshake")]
    Print(#[source] std::io::Error),
    #[error("cannot set up the connection with Terraform")]
    Tls(#[from] TlsError),
    #[error("cannot serve")]
    Serve(#[from] tonic::transport::Error),
    #[error("the provider's schema is not sound: {0}")]
    Schema(String),
}

/// Serves a provider to the Terraform that started this process, or, with the argument `-debug`, to every Terraform that is
/// told about it, until it is interrupted. `address` is the provider's own, such as
/// `registry.terraform.io/namespace/name`. Returns when it is over.
pub fn serve(address: &str, provider: impl Provider) -> ExitCode {
    let by_hand = std::env::args()
        .skip(1)
        .any(|argument| matches!(argument.as_str(), "-debug" | "--debug" | "-debug=true"));
    let environment = |name: &str| std::env::var(name).ok();
    if by_hand {
        logging::for_a_person(environment);
    } else {
        if let Err(refusal) = handshake::check(environment) {
            return failed(&refusal.into());
        }
        logging::for_terraform(environment);
    }
    panic_hook::install();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&ServeError::Listen(error)),
    };
    let served = runtime.block_on(async {
        let engine = Engine::new(Arc::new(provider)).map_err(|errors| {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            ServeError::Schema(errors.join("; "))
        })?;
        if by_hand {
            serve_by_hand(address, engine).await
        } else {
            serve_terraform(engine).await
        }
    });
    // Calls that still run would be waited for; Terraform does not want their answers any more.
    runtime.shutdown_background();
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn failed(error: &ServeError) -> ExitCode {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    // The text of a refusal is the whole message.
    while let Some(cause) = source.filter(|_| !matches!(error, ServeError::Refused(_))) {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    drop(writeln!(std::io::stderr(), "{text}"));
    ExitCode::FAILURE
}

/// Serves the Terraform that started us, until it asks to exit.
async fn serve_terraform(engine: Engine) -> Result<(), ServeError> {
    let environment = |name: &str| std::env::var(name).ok();
    // Without a client certificate Terraform was told to go without TLS.
    let tls = environment("PLUGIN_CLIENT_CERT")
        .filter(|pem| !pem.is_empty())
        .map(|pem| certificate::tls(&pem))
        .transpose()?;
    let listener = Listener::open(environment).await.map_err(ServeError::Listen)?;
    let address = listener.address().map_err(ServeError::Listen)?;
    let stop = CancellationToken::new();
    stop_at_signals(&stop, Interrupts::AreTerraforms);
    stop_without_terraform(&stop);
    print(&line(&address, tls.as_ref().map(|tls| tls.certificate.as_slice())))?;
    run(engine, listener, tls, stop).await
}

/// Serves every Terraform that is told about us, until we are interrupted.
async fn serve_by_hand(provider_address: &str, engine: Engine) -> Result<(), ServeError> {
    let listener = Listener::open(|_| None).await.map_err(ServeError::Listen)?;
    let address = listener.address().map_err(ServeError::Listen)?;
    let stop = CancellationToken::new();
    stop_at_signals(&stop, Interrupts::AreOurs);
    print("The provider is ready. Set this for Terraform; end it with Ctrl-C:\n")?;
    print(&format!("\t{}", reattach::variable(provider_address, &address)))?;
    run(engine, listener, None, stop).await
}

fn print(text: &str) -> Result<(), ServeError> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{text}").and_then(|()| stdout.flush()).map_err(ServeError::Print)
}

/// Whom Ctrl-C in the terminal, which reaches every process there, is meant for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Interrupts {
    /// Terraform; it then tells us to stop by a call.
    AreTerraforms,
    /// Us.
    AreOurs,
}

#[cfg(unix)]
fn stop_at_signals(stop: &CancellationToken, interrupts: Interrupts) {
    use tokio::signal::unix::{SignalKind, signal};

    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) else {
        tracing::warn!("cannot watch for signals, they end the process at once");
        return;
    };
    let stop = stop.clone();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = terminate.recv() => stop.cancel(),
                _ = interrupt.recv() => if interrupts == Interrupts::AreOurs { stop.cancel() },
            }
        }
    });
}

#[cfg(not(unix))]
fn stop_at_signals(stop: &CancellationToken, interrupts: Interrupts) {
    let stop = stop.clone();
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            if interrupts == Interrupts::AreOurs {
                stop.cancel();
            }
        }
    });
}

/// A Terraform that is killed tells nobody to exit; its providers would stay for ever.
#[cfg(unix)]
fn stop_without_terraform(stop: &CancellationToken) {
    use std::os::unix::process::parent_id;

    let terraform = parent_id();
    let stop = stop.clone();
    tokio::spawn(async move {
        while parent_id() == terraform {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(PARENT_LOOK_INTERVAL) => {}
            }
        }
        tracing::warn!("the Terraform that started this provider is gone");
        stop.cancel();
    });
}

#[cfg(not(unix))]
fn stop_without_terraform(_stop: &CancellationToken) {}

/// Serves until the order to stop, then until everything is closed or the time is up.
async fn run(engine: Engine, listener: Listener, tls: Option<Tls>, stop: CancellationToken) -> Result<(), ServeError> {
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_service_status("plugin", ServingStatus::Serving).await;
    let provider = ProviderServer::new(ProviderService::new(Arc::new(engine)))
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
        .max_encoding_message_size(MESSAGE_BYTES_MAX);
    let plugin = PluginServices::new(stop.clone());
    let server = Server::builder()
        .add_service(health_service)
        .add_service(GrpcStdioServer::new(plugin.clone()))
        .add_service(GrpcBrokerServer::new(plugin.clone()))
        .add_service(GrpcControllerServer::new(plugin))
        .add_service(provider);
    let (connections, accepting) = incoming(listener, tls.map(|tls| tls.config), stop.clone());
    let serving = server.serve_with_incoming_shutdown(connections, stop.clone().cancelled_owned());
    let time_is_up = async {
        stop.cancelled().await;
        tokio::time::sleep(EXIT_WAIT_MAX).await;
    };
    let served = tokio::select! {
        served = serving => served.map_err(ServeError::from),
        () = time_is_up => Ok(()),
    };
    stop.cancel();
    if accepting.await.is_err() {
        tracing::warn!("the listener did not close in order");
    }
    served
}
