//! Applying as Terraform does it. Invariant: everything is planned again first, and the second plan keeps the first one's word.
#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "for tests: a broken rule must end the test where it is broken"
)]

use featurestore_proto::tfplugin6 as pb;
use featurestore_proto::tfplugin6::provider_server::Provider as _;
use tonic::Request;

use super::{Action, Applied, Core, Planned, Stored, refuse};
use crate::diagnostic::Diagnostics;
use crate::engine::rules::check;
use crate::testing::codec::{decode, diagnostics, encode};
use crate::value::Value;

impl Core {
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
}
