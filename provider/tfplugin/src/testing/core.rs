//! A stand-in for Terraform's core: it drives a provider through the protocol's own messages, in this process, and checks
//! every answer by Terraform's rules.
//!
//! Invariant: an answer that Terraform would refuse is a panic here, so that a test that passes means an apply that does.
#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "for tests: a broken rule must end the test where it is broken"
)]

use std::sync::Arc;

use featurestore_proto::tfplugin6::provider_server::Provider as _;
use featurestore_proto::tfplugin6::{self as pb, attribute_path::step::Selector};
use tonic::Request;

use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::engine::rules::check::{self, Broken};
use crate::engine::{Engine, Shape};
use crate::path::AttributePath;
use crate::provider::Provider;
use crate::testing::proposed::proposed;
use crate::value::conform::conform;
use crate::value::{Value, json, msgpack};
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

    /// Validates a resource's configuration.
    pub async fn validate(&self, type_name: &str, config: Value) -> Diagnostics {
        let request = pb::validate_resource_config::Request {
            type_name: type_name.to_owned(),
            config: Some(encode(self.shape(type_name), &config)),
            client_capabilities: Some(pb::ClientCapabilities {
                write_only_attributes_allowed: true,
                ..Default::default()
            }),
        };
        let answer = self.service.validate_resource_config(Request::new(request)).await;
        diagnostics(answer.expect("no status").into_inner().diagnostics)
    }

    /// Plans: a create without `prior`, a deletion without `config`.
    ///
    /// # Errors
    /// When the validation or the plan has errors; with everything that was said.
    ///
    /// # Panics
    /// When the plan is one that Terraform would refuse.
    pub async fn plan(&self, type_name: &str, prior: Option<&Stored>, config: Option<Value>) -> Result<Planned, Diagnostics> {
        let mut said = Diagnostics::none();
        if let Some(config) = &config {
            said.extend(self.validate(type_name, config.clone()).await);
            if said.has_errors() {
                return Err(said);
            }
        }
        let mut plan = self.plan_once(type_name, prior, config.clone(), &mut said).await?;
        if plan.action == Action::Update && !plan.requires_replace.is_empty() {
            let again = self.plan_once(type_name, None, config, &mut said).await?;
            plan = Planned {
                action: Action::Replace,
                planned: again.planned,
                private: again.private,
                ..plan
            };
        }
        Ok(Planned { diagnostics: said, ..plan })
    }

    async fn plan_once(
        &self,
        type_name: &str,
        prior: Option<&Stored>,
        config: Option<Value>,
        said: &mut Diagnostics,
    ) -> Result<Planned, Diagnostics> {
        let shape = self.shape(type_name);
        let schema = &shape.schema;
        let prior_state = prior.map_or(Value::Null, |prior| prior.state.clone());
        let config = config.map(|config| conform(config, &shape.value_type).expect("a configuration that fits the schema"));
        let proposed = config
            .as_ref()
            .map_or(Value::Null, |config| proposed(&schema.attributes, &prior_state, config));
        let config_value = config.clone().unwrap_or_default();
        let request = pb::plan_resource_change::Request {
            type_name: type_name.to_owned(),
            prior_state: Some(encode(shape, &prior_state)),
            proposed_new_state: Some(encode(shape, &proposed)),
            config: Some(encode(shape, &config_value)),
            prior_private: prior.map(|prior| prior.private.clone()).unwrap_or_default(),
            ..Default::default()
        };
        let answer = self
            .service
            .plan_resource_change(Request::new(request))
            .await
            .expect("no status")
            .into_inner();
        said.extend(diagnostics(answer.diagnostics));
        if said.has_errors() {
            return Err(std::mem::take(said));
        }
        let planned = decode(shape, answer.planned_state.as_ref());
        let mut requires_replace: Vec<AttributePath> = answer.requires_replace.iter().map(path).collect();
        if config.is_some() {
            refuse(&check::plan(schema, &config_value, &prior_state, &planned, &requires_replace));
        } else {
            assert!(planned.is_null(), "a deletion must be planned as null");
        }
        requires_replace.retain(|path| !prior_state.is_null() && prior_state.at(path) != planned.at(path));
        let action = match (config.is_some(), prior.is_some()) {
            (false, _) => Action::Delete,
            (true, false) => Action::Create,
            (true, true) if planned == prior_state => Action::NoOp,
            (true, true) => Action::Update,
        };
        Ok(Planned {
            action,
            planned,
            requires_replace,
            diagnostics: Diagnostics::none(),
            type_name: type_name.to_owned(),
            config,
            prior: prior.cloned(),
            private: answer.planned_private,
        })
    }

    /// Carries out a plan as Terraform does: plans again, holds the second plan to the first, then applies it.
    ///
    /// # Panics
    /// When an answer breaks a rule or the promise of the plan.
    pub async fn apply(&self, plan: Planned) -> Applied {
        let config = plan.config.clone();
        self.apply_known(plan, config).await
    }

    /// Like [`Core::apply`], with values in the configuration that were unknown when it was planned.
    ///
    /// # Panics
    /// When an answer breaks a rule or the promise of the plan.
    pub async fn apply_known(&self, plan: Planned, config: Option<Value>) -> Applied {
        let Planned {
            action,
            planned,
            type_name,
            prior,
            private,
            ..
        } = plan;
        let nothing = |diagnostics| Applied {
            stored: None,
            tainted: false,
            diagnostics,
        };
        match action {
            Action::NoOp => Applied {
                stored: prior,
                ..nothing(Diagnostics::none())
            },
            Action::Delete => self.apply_once(&type_name, prior.as_ref(), None, Value::Null, private).await,
            Action::Create | Action::Update => self.apply_again(&type_name, action, prior.as_ref(), config, &planned).await,
            Action::Replace => {
                let deleted = self.apply_once(&type_name, prior.as_ref(), None, Value::Null, Vec::new()).await;
                if deleted.diagnostics.has_errors() {
                    return deleted;
                }
                let mut created = self.apply_again(&type_name, Action::Create, None, config, &planned).await;
                let mut said = deleted.diagnostics;
                said.extend(std::mem::take(&mut created.diagnostics));
                Applied {
                    diagnostics: said,
                    ..created
                }
            }
        }
    }

    async fn apply_again(
        &self,
        type_name: &str,
        action: Action,
        prior: Option<&Stored>,
        config: Option<Value>,
        promised: &Value,
    ) -> Applied {
        let mut said = Diagnostics::none();
        let again = match self.plan_once(type_name, prior, config.clone(), &mut said).await {
            Ok(again) => again,
            Err(diagnostics) => {
                return Applied {
                    stored: prior.cloned(),
                    tainted: false,
                    diagnostics,
                };
            }
        };
        let same = again.action == action || (action == Action::Update && again.action == Action::NoOp);
        assert!(same, "the final plan does {:?}, the first one did {action:?}", again.action);
        refuse(&check::promise(&self.shape(type_name).schema, promised, &again.planned));
        self.apply_once(type_name, prior, config, again.planned, again.private).await
    }

    async fn apply_once(
        &self,
        type_name: &str,
        prior: Option<&Stored>,
        config: Option<Value>,
        planned: Value,
        private: Vec<u8>,
    ) -> Applied {
        let shape = self.shape(type_name);
        let prior_state = prior.map_or(Value::Null, |prior| prior.state.clone());
        let request = pb::apply_resource_change::Request {
            type_name: type_name.to_owned(),
            prior_state: Some(encode(shape, &prior_state)),
            planned_state: Some(encode(shape, &planned)),
            config: Some(encode(shape, &config.unwrap_or_default())),
            planned_private: private,
            ..Default::default()
        };
        let answer = self
            .service
            .apply_resource_change(Request::new(request))
            .await
            .expect("no status")
            .into_inner();
        let said = diagnostics(answer.diagnostics);
        let state = decode(shape, answer.new_state.as_ref());
        assert!(state.is_wholly_known(), "unknown values after an apply: {state:?}");
        if !said.has_errors() {
            assert_eq!(
                state.is_null(),
                planned.is_null(),
                "null after an apply means deleted, and nothing else"
            );
            if !planned.is_null() {
                refuse(&check::promise(&shape.schema, &planned, &state));
            }
        }
        let tainted = said.has_errors() && prior.is_none() && !state.is_null();
        let stored = (!state.is_null()).then(|| Stored {
            type_name: type_name.to_owned(),
            state,
            private: answer.private,
        });
        Applied {
            stored,
            tainted,
            diagnostics: said,
        }
    }

    /// Reads a resource as a refresh does, by way of its stored JSON. `None`: it is gone.
    ///
    /// # Errors
    /// When it could not be read.
    ///
    /// # Panics
    /// When the answer is one that Terraform would refuse.
    pub async fn refresh(&self, stored: &Stored) -> Result<(Option<Stored>, Diagnostics), Diagnostics> {
        let shape = self.shape(&stored.type_name);
        let raw = pb::RawState {
            json: json::encode(&stored.state).into_bytes(),
            flatmap: Default::default(),
        };
        let request = pb::upgrade_resource_state::Request {
            type_name: stored.type_name.clone(),
            version: i64::from(shape.schema.version),
            raw_state: Some(raw),
        };
        let upgraded = self
            .service
            .upgrade_resource_state(Request::new(request))
            .await
            .expect("no status")
            .into_inner();
        let mut said = diagnostics(upgraded.diagnostics);
        if said.has_errors() {
            return Err(said);
        }
        let request = pb::read_resource::Request {
            type_name: stored.type_name.clone(),
            current_state: upgraded.upgraded_state,
            private: stored.private.clone(),
            ..Default::default()
        };
        let answer = self
            .service
            .read_resource(Request::new(request))
            .await
            .expect("no status")
            .into_inner();
        said.extend(diagnostics(answer.diagnostics));
        if said.has_errors() {
            return Err(said);
        }
        let state = decode(shape, answer.new_state.as_ref());
        assert!(state.is_wholly_known(), "unknown values after a read: {state:?}");
        let found = (!state.is_null()).then(|| Stored {
            state,
            private: answer.private,
            ..stored.clone()
        });
        Ok((found, said))
    }

    /// Imports a resource and reads it.
    ///
    /// # Errors
    /// When it could not be found or read.
    pub async fn import(&self, type_name: &str, id: &str) -> Result<Stored, Diagnostics> {
        let request = pb::import_resource_state::Request {
            type_name: type_name.to_owned(),
            id: id.to_owned(),
            ..Default::default()
        };
        let answer = self
            .service
            .import_resource_state(Request::new(request))
            .await
            .expect("no status")
            .into_inner();
        let said = diagnostics(answer.diagnostics);
        let Some(imported) = answer.imported_resources.into_iter().next().filter(|_| !said.has_errors()) else {
            return Err(said);
        };
        let state = decode(self.shape(type_name), imported.state.as_ref());
        let stored = Stored {
            type_name: type_name.to_owned(),
            state,
            private: imported.private,
        };
        match self.refresh(&stored).await? {
            (Some(stored), _) => Ok(stored),
            (None, _) => Err(Diagnostic::error("Cannot Import Non-Existent Remote Object", "It was gone after the import.").into()),
        }
    }

    /// Validates and reads a data source.
    ///
    /// # Errors
    /// When it could not be read.
    pub async fn read_data(&self, type_name: &str, config: Value) -> Result<(Value, Diagnostics), Diagnostics> {
        let shape = &self.engine.data_source(type_name)?.shape;
        let config = Some(encode(shape, &config));
        let request = pb::validate_data_resource_config::Request {
            type_name: type_name.to_owned(),
            config: config.clone(),
        };
        let answer = self
            .service
            .validate_data_resource_config(Request::new(request))
            .await
            .expect("no status")
            .into_inner();
        let mut said = diagnostics(answer.diagnostics);
        if said.has_errors() {
            return Err(said);
        }
        let request = pb::read_data_source::Request {
            type_name: type_name.to_owned(),
            config,
            ..Default::default()
        };
        let answer = self
            .service
            .read_data_source(Request::new(request))
            .await
            .expect("no status")
            .into_inner();
        said.extend(diagnostics(answer.diagnostics));
        if said.has_errors() {
            Err(said)
        } else {
            Ok((decode(shape, answer.state.as_ref()), said))
        }
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

fn encode(shape: &Shape, value: &Value) -> pb::DynamicValue {
    let value = conform(value.clone(), &shape.value_type).expect("a value that fits the schema");
    let msgpack = msgpack::encode(&shape.value_type, &value).expect("a value that fits the schema");
    pb::DynamicValue { msgpack, json: Vec::new() }
}

fn decode(shape: &Shape, value: Option<&pb::DynamicValue>) -> Value {
    value.map_or(Value::Null, |value| {
        msgpack::decode(&shape.value_type, &value.msgpack).expect("an answer that fits the schema")
    })
}

fn diagnostics(messages: Vec<pb::Diagnostic>) -> Diagnostics {
    messages
        .into_iter()
        .map(|message| Diagnostic {
            severity: if message.severity() == pb::diagnostic::Severity::Warning {
                Severity::Warning
            } else {
                Severity::Error
            },
            summary: message.summary,
            detail: message.detail,
            path: message.attribute.as_ref().map(path),
        })
        .collect()
}

fn path(path: &pb::AttributePath) -> AttributePath {
    path.steps.iter().fold(AttributePath::root(), |path, step| match &step.selector {
        Some(Selector::AttributeName(name)) => path.attribute(name),
        Some(Selector::ElementKeyString(key)) => path.key(key),
        Some(Selector::ElementKeyInt(index)) => path.index(usize::try_from(*index).expect("an index is not negative")),
        None => panic!("a step without a selector"),
    })
}
