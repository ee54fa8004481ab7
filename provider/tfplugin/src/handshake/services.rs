//! go-plugin's own services beside the provider's: output, further connections, the end.
//!
//! Terraform opens the first two at once and keeps them open; nothing ever goes through them. Invariant: Shutdown ends both
//! streams, so that the server can close, and us with it, within the two seconds that go-plugin grants.

use std::pin::Pin;

use featurestore_proto::go_plugin as pb;
use featurestore_proto::go_plugin::grpc_broker_server::GrpcBroker;
use featurestore_proto::go_plugin::grpc_controller_server::GrpcController;
use featurestore_proto::go_plugin::grpc_stdio_server::GrpcStdio;
use futures::{Stream, StreamExt, stream};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming};

/// All three services; they share the signal that ends us.
#[derive(Clone)]
pub(crate) struct PluginServices {
    stop: CancellationToken,
}

impl PluginServices {
    pub(crate) fn new(stop: CancellationToken) -> Self {
        Self { stop }
    }

    /// A stream without items that ends when we do.
    fn silence<Item: Send + 'static>(&self) -> Silence<Item> {
        Box::pin(stream::pending().take_until(self.stop.clone().cancelled_owned()))
    }
}

type Silence<Item> = Pin<Box<dyn Stream<Item = Result<Item, Status>> + Send>>;

#[tonic::async_trait]
impl GrpcStdio for PluginServices {
    type StreamStdioStream = Silence<pb::StdioData>;

    async fn stream_stdio(&self, _request: Request<()>) -> Result<Response<Self::StreamStdioStream>, Status> {
        Ok(Response::new(self.silence()))
    }
}

#[tonic::async_trait]
impl GrpcBroker for PluginServices {
    type StartStreamStream = Silence<pb::ConnInfo>;

    async fn start_stream(&self, _request: Request<Streaming<pb::ConnInfo>>) -> Result<Response<Self::StartStreamStream>, Status> {
        Ok(Response::new(self.silence()))
    }
}

#[tonic::async_trait]
impl GrpcController for PluginServices {
    async fn shutdown(&self, _request: Request<pb::Empty>) -> Result<Response<pb::Empty>, Status> {
        tracing::debug!("terraform asks to exit");
        self.stop.cancel();
        Ok(Response::new(pb::Empty {}))
    }
}
