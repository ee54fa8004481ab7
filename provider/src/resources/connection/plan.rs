//! Plan of a connection: another kind is another connection, and what this agent cannot do is an error here.

use featurestore_proto::v1;
use tfplugin::call::CallContext;
use tfplugin::diagnostic::Diagnostic;
use tfplugin::path::AttributePath;
use tfplugin::resource::{Plan, PlanKind, PlanRequest};

use super::ConnectionResource;
use super::model::Declaration;
use crate::client::consult::{Consulted, consult, unanswered};
use crate::client::diagnostics::{missing_capabilities, violations};
use crate::client::error::AgentError;
use crate::session::PlanChecks;

impl ConnectionResource {
    pub(super) async fn plan_connection(&self, request: &PlanRequest<'_>, plan: &mut Plan, context: &CallContext) {
        match request.kind {
            PlanKind::Destroy => return,
            PlanKind::Update if request.changed.is_empty() => return,
            PlanKind::Update => {
                for kind in ["kafka", "kinesis"] {
                    if request.prior.get(kind).is_null() != plan.planned.get(kind).is_null() {
                        plan.require_replacement(AttributePath::attributes(kind));
                    }
                }
            }
            PlanKind::Create => {}
        }
        warn_of_plain_text(plan);
        self.check(plan, context).await;
    }

    async fn check(&self, plan: &mut Plan, context: &CallContext) {
        let declared = Declaration::read(&plan.planned);
        let connection = declared.connection.clone();
        let asked = consult(&self.session, |client| async move {
            client.check_connection(connection, &context.stop).await
        });
        match asked.await {
            Ok(Consulted::Answer(answer)) => {
                // What the agent says of a stand-in for an unknown value is judged again during the apply.
                let sure = |found: Vec<v1::Violation>| -> Vec<v1::Violation> {
                    found.into_iter().filter(|it| !declared.is_unsure(&it.field)).collect()
                };
                plan.diagnostics.extend(violations(&sure(answer.violations), &self.schema));
                plan.diagnostics
                    .extend(missing_capabilities(&sure(answer.missing_capabilities), &self.schema));
            }
            Ok(Consulted::Silence(error)) => {
                let quiet = matches!(error, AgentError::NotConfigured { .. });
                if !quiet || self.session.plan_checks() == PlanChecks::Required {
                    let consequence = "Whether this agent can do what is planned shows at apply.";
                    plan.tell(unanswered(&self.session, &error, consequence));
                }
            }
            Ok(Consulted::NotAsked) => {}
            Err(error) => plan.diagnostics.extend(self.failed(&error, "check the plan")),
        }
    }
}

/// Without TLS everyone on the way reads along.
fn warn_of_plain_text(plan: &mut Plan) {
    const PROTOCOL: &str = "kafka.security_protocol";
    let what = match plan.planned.dig(PROTOCOL).as_str() {
        Some("PLAINTEXT") => "Messages travel",
        Some("SASL_PLAINTEXT") => "Messages and the password travel",
        _ => return,
    };
    plan.tell(
        Diagnostic::warning(
            "Connection Without Encryption",
            format!("{what} readable for everyone on the way to the brokers. Use it for brokers on this machine only."),
        )
        .at(AttributePath::attributes(PROTOCOL)),
    );
}
