//! A stand-in for Terraform's core: it drives a provider through the protocol's own messages, in this process, and checks
//! every answer by Terraform's rules.
//!
//! Invariant: an answer that Terraform would refuse is a panic here, so that a test that passes means an apply that does.
#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "for tests: a broken rule must end the test where it is broken"
)]

mod apply;
mod plan;
mod read;

use std::sync::Arc;

use featurestore_proto::tfplugin6 as pb;
use featurestore_proto::tfplugin6::provider_server::Provider as _;
use tonic::Request;

use crate::diagnostic::Diagnostics;
use crate::engine::rules::check::Broken;
use crate::engine::{Engine, Shape};
use crate::path::AttributePath;
use crate::provider::Provider;
use crate::testing::codec::{diagnostics, encode};
use crate::value::Value;
use crate::wire::ProviderService;

/// Drives one provider. Configurations are objects in which missing attributes are null.
pub struct Core {
    engine: Arc<Engine>,
    service: ProviderService,
}

/// A resource in the state.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Its type.
    pub type_name: String,
    /// Its values.
    pub state: Value,
    /// Its private state, encoded.
    pub private: Vec<u8>,
}

/// What a plan does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    NoOp,
    /// Makes it.
    Create,
    /// Changes it in place.
    Update,
    /// Removes it and makes another one.
    Replace,
    /// Removes it.
    Delete,
}

/// A plan.
#[derive(Debug)]
pub struct Planned {
    /// What it does.
    pub action: Action,
    /// What there will be; null for a deletion.
    pub planned: Value,
    /// Which changes make it a replacement.
    pub requires_replace: Vec<AttributePath>,
    /// Warnings.
    pub diagnostics: Diagnostics,
    type_name: String,
    config: Option<Value>,
    prior: Option<Stored>,
    private: Vec<u8>,
}

/// What came of an apply.
#[derive(Debug)]
pub struct Applied {
    /// What the state holds now.
    pub stored: Option<Stored>,
    /// Would the next plan replace it, because its creation failed half-way?
    pub tainted: bool,
    /// Errors and warnings.
    pub diagnostics: Diagnostics,
}

impl Core {
    /// Starts with a provider that is not configured.
    ///
    /// # Panics
    /// When one of its schemas is not sound.
    pub fn new(provider: Arc<dyn Provider>) -> Self {
        let engine = match Engine::new(provider) {
            Ok(engine) => Arc::new(engine),
            Err(errors) => panic!("the schema is not sound: {errors:#?}"),
        };
        Self {
            service: ProviderService::new(Arc::clone(&engine)),
            engine,
        }
    }

    /// Validates and takes over the provider's configuration.
    pub async fn configure(&self, config: Value) -> Diagnostics {
        let config = Some(encode(&self.engine.configuration, &config));
        let request = pb::validate_provider_config::Request { config: config.clone() };
        let answer = self.service.validate_provider_config(Request::new(request)).await;
        let mut messages = diagnostics(answer.expect("no status").into_inner().diagnostics);
        if !messages.has_errors() {
            let request = pb::configure_provider::Request {
                config,
                terraform_version: "1.11.4".to_owned(),
                client_capabilities: None,
            };
            let answer = self.service.configure_provider(Request::new(request)).await;
            messages.extend(diagnostics(answer.expect("no status").into_inner().diagnostics));
        }
        messages
    }

    /// Gives the stop signal, as the first Ctrl-C does.
    pub async fn stop(&self) {
        let answer = self.service.stop_provider(Request::new(pb::stop_provider::Request {})).await;
        drop(answer.expect("no status"));
    }

    fn shape(&self, type_name: &str) -> &Shape {
        match self.engine.resource(type_name) {
            Ok(found) => &found.shape,
            Err(_) => panic!("no resource type {type_name:?}"),
        }
    }
}

fn refuse(broken: &[Broken]) {
    let broken: Vec<String> = broken.iter().map(ToString::to_string).collect();
    assert!(broken.is_empty(), "Terraform would refuse this: {}", broken.join("; "));
}
