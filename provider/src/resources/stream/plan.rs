//! Plan: what the standard rules cannot know. The verdict on a new schema (the agent's, or the same function on the prior
//! state), what a repair needs, what a replacement or a destroy costs, what this agent cannot do. Invariant: whatever apply
//! would refuse, and the plan can know, is an error here; what another part of the same plan may mend first is a warning.

use featurestore_proto::{convert, v1};
use stream_spec::privilege::SecurableType;
use stream_spec::verdict::Verdict;
use tfplugin::call::CallContext;
use tfplugin::diagnostic::Diagnostic;
use tfplugin::path::AttributePath;
use tfplugin::resource::{Plan, PlanKind, PlanRequest};
use tfplugin::value::Value;

use super::create::import_block;
use super::delete::{is_protected, protected};
use super::model::Declaration;
use super::verdict::{offline, tell_exclusions, tell_refusal, tell_removals};
use super::versions::{self, REGISTRY};
use super::{StreamResource, text, words};
use crate::client::consult::{Consulted, consult, denied, unanswered};
use crate::client::diagnostics::{missing_capabilities, violations, worries};
use crate::client::error::AgentError;
use crate::session::PlanChecks;

const TABLE: &str = "ingestion_config.ingestion_destination.delta_table_name";
const DIRECT: &str = "schema_config.direct_schemas";
const EXCLUDED: &str = "excluded_columns";
const ROWS_NOT_KNOWN: &str = "How many rows the plan touches is not known.";

/// What a definition is checked as.
enum As<'a> {
    /// What it is: a new stream, or a change of the one that has its name.
    Declared,
    /// A new one in the place of the one that has its name.
    New,
    /// A new one in the place of the one of this other name.
    InsteadOf(&'a str),
}

impl StreamResource {
    pub(super) async fn plan_stream(&self, request: &PlanRequest<'_>, plan: &mut Plan, context: &CallContext) {
        match request.kind {
            PlanKind::Create => {
                let table = text(&plan.planned, TABLE);
                self.session.begun().note(SecurableType::Table, table);
                self.plan_create(plan, context).await;
            }
            PlanKind::Update => self.plan_update(request, plan, context).await,
            PlanKind::Destroy => self.plan_destroy(request.prior, plan, context).await,
        }
    }

    async fn plan_create(&self, plan: &mut Plan, context: &CallContext) {
        let declared = Declaration::read(&plan.planned);
        match self.check_new(&declared, context).await {
            Ok(Consulted::Answer(answer)) => {
                self.tell_problems(&declared, answer.violations, answer.missing_capabilities, plan);
                self.tell_worries(&declared, answer.warnings, plan);
                if !declared.is_unsure("schema_config") {
                    versions::tell_first(&answer.registry_subjects, &answer.columns, plan);
                }
                if !declared.is_unsure("name") {
                    tell_existing(&declared.stream.name, answer.existing, plan);
                }
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

    /// What the agent would say to a new stream. One of that name may be there: the second plan of a replacement is a create,
    /// and then only what holds for any new stream counts.
    async fn check_new(&self, declared: &Declaration, context: &CallContext) -> Result<Consulted<v1::CheckStreamResponse>, AgentError> {
        let first = match self.check(declared, As::Declared, context).await? {
            Consulted::Answer(answer) if answer.existing.is_some() => answer,
            settled => return Ok(settled),
        };
        Ok(match self.check(declared, As::New, context).await? {
            Consulted::Answer(answer) => Consulted::Answer(v1::CheckStreamResponse {
                existing: first.existing,
                ..answer
            }),
            other => other,
        })
    }

    async fn plan_update(&self, request: &PlanRequest<'_>, plan: &mut Plan, context: &CallContext) {
        let state = AttributePath::attributes("state");
        match text(request.prior, "state") {
            "FAILED" | "TABLE_ALTERED" => plan.mark_unknown(&state),
            "TABLE_GONE" => return self.plan_after_loss(request.prior, plan, context).await,
            _ => {}
        }
        let changes = |path: &str| request.changes(&AttributePath::attributes(path));
        let asked = plan.requires_replace.is_empty() && (changes(DIRECT) || changes(EXCLUDED));
        if asked {
            self.plan_definition(request, plan, context).await;
        }
        if plan.requires_replace.is_empty() && !asked && plan.planned.dig(REGISTRY).is_present() {
            self.plan_versions(plan, context).await;
        }
        if !plan.requires_replace.is_empty() {
            self.plan_replacement(request.prior, plan, context).await;
        } else if !asked && (changes("operations") || plan.planned.get("state").is_unknown()) {
            // Nothing to judge, but `plan_checks = "required"` wants to hear that the agent is there.
            let consequence = "Whether the change is still possible shows at apply.";
            self.look(text(request.prior, "name"), consequence, plan, context).await;
        }
    }

    /// Which versions of its registry the stream reads by. A plan that needs nothing from the agent does not fail for that.
    async fn plan_versions(&self, plan: &mut Plan, context: &CallContext) {
        let declared = Declaration::read(&plan.planned);
        if declared.is_unsure("schema_config") {
            return;
        }
        if let Ok(Consulted::Answer(answer)) = self.check(&declared, As::Declared, context).await {
            let status = answer.existing.as_ref().and_then(|record| record.status.as_ref());
            versions::tell_later(&answer.registry_subjects, status, plan);
        }
    }

    /// The table is gone for good: a new stream, and nothing left to warn of but what is lost already.
    async fn plan_after_loss(&self, prior: &Value, plan: &mut Plan, context: &CallContext) {
        let (name, table, state) = (text(prior, "name"), text(prior, TABLE), AttributePath::attributes("state"));
        plan.mark_unknown(&state);
        plan.require_replacement(state.clone());
        if is_protected(prior) {
            return plan.tell(protected(name));
        }
        let last_seen = self.look(name, ROWS_NOT_KNOWN, plan, context).await;
        let held = last_seen
            .map(|table| format!(" When last seen it held {}.", words::figures(&table)))
            .unwrap_or_default();
        let detail = format!(
            "Someone deleted `{table}`, and it cannot be restored: its rows are lost.{held} The stream `{name}` is replaced; the new one \
             starts {}.",
            words::start(&plan.planned)
        );
        plan.tell(Diagnostic::warning("Table Gone", detail).at(state));
    }

    /// A new schema or new exclusions: in place, an error, or a replacement.
    async fn plan_definition(&self, request: &PlanRequest<'_>, plan: &mut Plan, context: &CallContext) {
        let declared = Declaration::read(&plan.planned);
        if declared.is_unsure("schema_config") || declared.is_unsure(EXCLUDED) {
            plan.tell(Diagnostic::warning(
                "Change Not Checked",
                format!(
                    "A schema or an excluded column is known only during the apply, so the change is planned as one in place. Should it \
                     not be backward compatible, the apply stops before anything is changed; then plan again.{}",
                    words::late_replacement(&plan.planned)
                ),
            ));
            let consequence = "Whether the change is possible shows at apply.";
            let table = self.look(text(request.prior, "name"), consequence, plan, context).await;
            return tell_exclusions(request.prior, &[], table.as_ref(), plan);
        }
        let mut answer = match self.check(&declared, As::Declared, context).await {
            Ok(Consulted::Answer(answer)) => Some(answer),
            Ok(Consulted::Silence(error)) => {
                let consequence = "The change was compared with the schema in Terraform's state; earlier versions of it, whose columns are \
                                   in the table, were not checked.";
                let consequence = format!("{consequence}{}", words::late_replacement(&plan.planned));
                plan.tell(unanswered(&self.session, &error, &consequence));
                None
            }
            Ok(Consulted::Denied(error)) => {
                plan.tell(denied(&self.session, &error));
                None
            }
            Ok(Consulted::NotAsked) => None,
            Err(error) => return plan.diagnostics.extend(self.failed(&error, "check the plan")),
        };
        if let Some(answer) = &mut answer {
            let (violations, missing) = (
                std::mem::take(&mut answer.violations),
                std::mem::take(&mut answer.missing_capabilities),
            );
            self.tell_problems(&declared, violations, missing, plan);
            let status = answer.existing.as_ref().and_then(|record| record.status.as_ref());
            versions::tell_later(&answer.registry_subjects, status, plan);
        }
        if plan.diagnostics.has_errors() {
            return;
        }
        let said = answer
            .as_ref()
            .and_then(|answer| answer.verdict.as_ref())
            .and_then(convert::verdict_to_spec);
        match said.or_else(|| offline(&Declaration::read(request.prior), &declared)) {
            Some(Verdict::Refused { reasons }) => tell_refusal(&self.schema, request.prior, &reasons, plan),
            accepted => {
                let existing = answer
                    .and_then(|answer| answer.existing)
                    .and_then(|record| record.status)
                    .and_then(|status| status.table);
                let changes = match accepted {
                    Some(Verdict::InPlace { changes }) => changes,
                    _ => Vec::new(),
                };
                tell_removals(&changes, existing.as_ref(), plan);
                tell_exclusions(request.prior, &changes, existing.as_ref(), plan);
            }
        }
    }

    /// What a replacement destroys, and what makes it impossible.
    async fn plan_replacement(&self, prior: &Value, plan: &mut Plan, context: &CallContext) {
        let name = text(prior, "name");
        if is_protected(prior) {
            return plan.tell(protected(name));
        }
        let (table, keeps) = (text(prior, TABLE), text(prior, "on_destroy") == "retain");
        if keeps && plan.planned.dig(TABLE).as_str() == Some(table) {
            return plan.tell(Diagnostic::error(
                "Retained Table Is In The Way",
                format!("The stream is replaced and `on_destroy = \"retain\"` keeps its table `{table}`, so the new stream cannot have that name. Set another `delta_table_name`, or apply `on_destroy = \"delete\"` first."),
            ).at(AttributePath::attributes(TABLE)));
        }
        if !keeps && text(&plan.planned, "on_destroy") == "retain" {
            return plan.tell(Diagnostic::error(
                "Retain Comes Too Late",
                format!("The plan replaces the stream, and `on_destroy = \"retain\"` is new in it: the table `{table}` would still be deleted, by the setting in force. Apply `on_destroy = \"retain\"` alone first."),
            ).at(AttributePath::attributes("on_destroy")));
        }
        self.plan_rename(name, plan, context).await;
        let seen = self.look(name, ROWS_NOT_KNOWN, plan, context).await;
        let holds = words::table(table, seen.as_ref());
        let (summary, detail) = if keeps {
            (
                "Replacement Leaves A Table Behind",
                format!(
                    "The stream `{name}` is replaced. {holds} It stays, and nothing is appended to it any more. The new stream starts anew."
                ),
            )
        } else {
            let trash = seen.as_ref().map(words::trash).unwrap_or_default();
            (
                "Replacement Deletes A Table",
                format!(
                    "The stream `{name}` is replaced, and its table is deleted with it. {holds} {trash}\n\nTo keep the rows, apply `on_destroy = \"retain\"` first, then replace the stream together with a new `delta_table_name`."
                ),
            )
        };
        let cause = plan.requires_replace.first().cloned().unwrap_or_default();
        plan.tell(Diagnostic::warning(summary, detail).at(cause));
    }

    async fn plan_destroy(&self, prior: &Value, plan: &mut Plan, context: &CallContext) {
        let name = text(prior, "name");
        if is_protected(prior) {
            return plan.tell(protected(name));
        }
        if text(prior, "on_destroy") == "retain" {
            return;
        }
        let seen = self.look(name, ROWS_NOT_KNOWN, plan, context).await;
        let holds = words::table(text(prior, TABLE), seen.as_ref());
        let trash = seen.as_ref().map(words::trash).unwrap_or_default();
        plan.tell(Diagnostic::warning(
            "Destroy Deletes A Table",
            format!("The stream `{name}` is destroyed, and its table is deleted with it. {holds} {trash}\n\nTo keep the rows, apply `on_destroy = \"retain\"` first."),
        ));
    }

    /// The stream's table as it is, for the figures of a warning.
    async fn look(&self, name: &str, consequence: &str, plan: &mut Plan, context: &CallContext) -> Option<v1::TableStatus> {
        let looked = consult(&self.session, |client| async move { client.get_stream(name, &context.stop).await }).await;
        match looked {
            Ok(Consulted::Answer(record)) => record.status.table,
            Ok(Consulted::Silence(error)) => {
                plan.tell(unanswered(&self.session, &error, consequence));
                None
            }
            Ok(Consulted::Denied(error)) => {
                plan.tell(denied(&self.session, &error));
                None
            }
            Ok(Consulted::NotAsked) => None,
            Err(error) if error.is_not_found() => None,
            Err(error) => {
                plan.diagnostics
                    .extend(self.failed(&error, &format!("look at the stream `{name}`")));
                None
            }
        }
    }

    /// What the agent would say to a definition.
    async fn check(
        &self,
        declared: &Declaration,
        what: As<'_>,
        context: &CallContext,
    ) -> Result<Consulted<v1::CheckStreamResponse>, AgentError> {
        let request = v1::CheckStreamRequest {
            stream: Some(declared.stream.clone()),
            operations: Some(declared.operations),
            as_new: matches!(what, As::New),
            replaces: match what {
                As::InsteadOf(name) => name.to_owned(),
                As::Declared | As::New => String::new(),
            },
        };
        consult(
            &self.session,
            |client| async move { client.check_stream(request, &context.stop).await },
        )
        .await
    }

    /// Where the stream gets another name, what is in the way of the new one: the plan's create does not know whose place it takes.
    async fn plan_rename(&self, name: &str, plan: &mut Plan, context: &CallContext) {
        let declared = Declaration::read(&plan.planned);
        if declared.stream.name == name || declared.is_unsure("name") {
            return;
        }
        // What else may come of asking, the create tells.
        if let Ok(Consulted::Answer(answer)) = self.check(&declared, As::InsteadOf(name), context).await {
            self.tell_problems(&declared, answer.violations, answer.missing_capabilities, plan);
            tell_existing(&declared.stream.name, answer.existing, plan);
        }
    }

    /// What would be refused as things are, except what this plan makes before the stream.
    fn tell_worries(&self, declared: &Declaration, found: Vec<v1::Violation>, plan: &mut Plan) {
        let begins = |it: &v1::Violation| self.session.begun().has_named(&it.field, plan.planned.dig(&it.field));
        let found: Vec<v1::Violation> = found
            .into_iter()
            .filter(|it| !declared.is_unsure(&it.field) && !begins(it))
            .collect();
        plan.diagnostics.extend(worries(&found, &self.schema));
    }

    /// What the agent found, except where it saw a stand-in for an unknown value: that is judged again during the apply.
    fn tell_problems(&self, declared: &Declaration, wrong: Vec<v1::Violation>, missing: Vec<v1::Violation>, plan: &mut Plan) {
        let sure =
            |found: Vec<v1::Violation>| -> Vec<v1::Violation> { found.into_iter().filter(|it| !declared.is_unsure(&it.field)).collect() };
        plan.diagnostics.extend(violations(&sure(wrong), &self.schema));
        plan.diagnostics.extend(missing_capabilities(&sure(missing), &self.schema));
    }
}

/// A stream of that name where a create is planned: one whose creation failed, which Terraform gives up without telling the
/// provider, or one that is not Terraform's. In the second plan of a replacement Terraform drops this warning.
fn tell_existing(name: &str, existing: Option<v1::StreamRecord>, plan: &mut Plan) {
    let Some(status) = existing.and_then(|record| record.status) else {
        return;
    };
    // With an error the plan replaces nothing, and Terraform shows this even for the second plan of a replacement.
    if status.state() == v1::StreamState::Deleting || plan.diagnostics.has_errors() {
        return;
    }
    let table = status.table.as_ref().map(|table| table.delta_table_name.as_str());
    let holds = words::table(table.unwrap_or("its table"), status.table.as_ref());
    let trash = status.table.as_ref().map(words::trash).unwrap_or_default();
    let detail = format!(
        "The agent has a stream `{name}`. If this plan replaces it because its creation failed, the stream goes first, and its table \
         with it unless `on_destroy = \"retain\"` is in force. {holds} {trash}\n\nIf Terraform does not manage it \
         yet, the apply will fail; import it instead:\n\n{}",
        import_block(name)
    );
    plan.tell(Diagnostic::warning("Stream Exists", detail).at(AttributePath::attributes("name")));
}
