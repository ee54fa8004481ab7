//! Planning as Terraform does it. Invariant: a plan that would replace is planned a second time as a create.
#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "for tests: a broken rule must end the test where it is broken"
)]

use featurestore_proto::tfplugin6 as pb;
use featurestore_proto::tfplugin6::provider_server::Provider as _;
use tonic::Request;

use super::{Action, Core, Planned, Stored, refuse};
use crate::diagnostic::Diagnostics;
use crate::engine::rules::check;
use crate::path::AttributePath;
use crate::testing::codec::{decode, diagnostics, encode, path};
use crate::testing::proposed::proposed;
use crate::value::Value;
use crate::value::conform::conform;

impl Core {
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

    /// One call of PlanResourceChange, checked.
    pub(super) async fn plan_once(
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
}
