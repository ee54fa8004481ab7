//! Plan of a connection: another kind is another connection, and what this agent cannot do is an error here.

use featurestore_proto::v1;
use tfplugin::call::CallContext;
use tfplugin::diagnostic::Diagnostic;
use tfplugin::path::AttributePath;
use tfplugin::resource::{Plan, PlanKind, PlanRequest};
use tfplugin::value::Value;

use super::ConnectionResource;
use super::model::{Declaration, SECRETS, add_stand_ins_for_secrets};
use crate::client::consult::{Consulted, consult, denied, unanswered};
use crate::client::diagnostics::{attribute_of, missing_capabilities, violations, worries};
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
        self.check(request.config, plan, context).await;
        if request.kind == PlanKind::Update && !plan.requires_replace.is_empty() {
            self.warn_of_users(request.prior, plan, context).await;
        }
    }

    /// The agent deletes no connection that streams use, and a replacement begins with that.
    async fn warn_of_users(&self, prior: &Value, plan: &mut Plan, context: &CallContext) {
        let connection = Declaration::read(prior).connection;
        let name = connection.name.clone();
        let asked = consult(&self.session, |client| async move {
            client.check_connection(connection, &context.stop).await
        });
        // Silence and refusals were told when the planned connection was checked.
        let Ok(Consulted::Answer(answer)) = asked.await else { return };
        let named: Vec<String> = answer.used_by.iter().map(|user| format!("`{user}`")).collect();
        let users = match (named.is_empty(), answer.used_by_others) {
            (true, 0) => return,
            (true, others) => format!("{others} of them that you may not see"),
            (false, 0) => format!("among them {}", named.join(", ")),
            (false, others) => format!("among them {}, and {others} more that you may not see", named.join(", ")),
        };
        let detail = format!(
            "The plan deletes the connection `{name}` to make another one. The agent refuses that while streams use it, {users}. \
             Unless the same plan destroys or replaces these, make the new connection under another name beside this one."
        );
        let cause = plan.requires_replace.first().cloned().unwrap_or_default();
        plan.tell(Diagnostic::warning("Connection Is In Use", detail).at(cause));
    }

    async fn check(&self, config: &Value, plan: &mut Plan, context: &CallContext) {
        let declared = Declaration::read(&plan.planned);
        let mut connection = declared.connection.clone();
        add_stand_ins_for_secrets(&mut connection, config);
        let asked = consult(&self.session, |client| async move {
            client.check_connection(connection, &context.stop).await
        });
        match asked.await {
            Ok(Consulted::Answer(answer)) => {
                // What the agent says of a stand-in for an unknown value is judged again during the apply.
                let sure = |found: Vec<v1::Violation>| -> Vec<v1::Violation> {
                    // No check sees a secret's value, so no unknown value makes what is said of it unsure.
                    let is_secret = |it: &v1::Violation| SECRETS.iter().any(|secret| secret.option == it.field);
                    found
                        .into_iter()
                        .filter(|it| is_secret(it) || !declared.is_unsure(&it.field))
                        .collect()
                };
                let begins = |it: &v1::Violation| {
                    let attribute = attribute_of(&it.field);
                    self.session.begun().has_named(attribute, plan.planned.dig(attribute))
                };
                let warned: Vec<v1::Violation> = sure(answer.warnings).into_iter().filter(|it| !begins(it)).collect();
                plan.diagnostics.extend(worries(&warned, &self.schema));
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
            Ok(Consulted::Denied(error)) => plan.tell(denied(&self.session, &error)),
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
