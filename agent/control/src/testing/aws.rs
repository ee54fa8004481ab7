//! A service of AWS on a port of its own: it answers as the test says, and counts what it was asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_sts::config::{Credentials, SharedCredentialsProvider};
use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};

/// A secret key that nothing else spells.
pub(crate) const AGENT_SECRET: &str = "canary-agent-0b9d";

/// The service.
pub(crate) struct FakeAws {
    /// How to reach it.
    pub(crate) configuration: SdkConfig,
    asked: Arc<AtomicUsize>,
}

impl FakeAws {
    /// Starts one: `answer` gets the number of the request from 0, the operation's name in the header, if there is one, and the body.
    pub(crate) async fn start(answer: impl Fn(usize, &str, &[u8]) -> (u16, String) + Send + Sync + 'static) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let (counter, answer) = (asked.clone(), Arc::new(answer));
        let handler = move |headers: HeaderMap, body: Bytes| {
            let number = counter.fetch_add(1, Ordering::SeqCst);
            let target = headers.get("x-amz-target").map_or("", |target| target.to_str().unwrap());
            let (status, text) = answer(number, target, &body);
            std::future::ready((StatusCode::from_u16(status).unwrap(), text))
        };
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(handler)).await });
        Self {
            configuration: configuration(&format!("http://{address}")),
            asked,
        }
    }

    /// How many requests came.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// The configuration of an agent whose AWS is at that address.
pub(crate) fn configuration(endpoint: &str) -> SdkConfig {
    let credentials = Credentials::new("AKIDAGENT", AGENT_SECRET, None, None, "test");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .endpoint_url(endpoint)
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .build()
}

/// The configuration of an agent to which nobody has given credentials: no call leaves it.
pub(crate) fn without_credentials() -> SdkConfig {
    let mut without = configuration("http://127.0.0.1:9").into_builder();
    without.set_credentials_provider(None);
    without.build()
}
