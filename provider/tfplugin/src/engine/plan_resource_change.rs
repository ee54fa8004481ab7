//! Plans a change: the standard rules first, then the resource's own say.
//!
//! Invariant: a plan with an error promises nothing; a plan without one is valid by Terraform's rules.

use crate::diagnostic::Diagnostics;
use crate::path::AttributePath;
use crate::private::Private;
use crate::resource::{Plan, PlanKind, PlanRequest};
use crate::value::Value;

use super::rules::settle::{Settled, settle};
use super::rules::write_only;
use super::{Engine, ResourceType, guarded};

/// What to plan from.
pub(crate) struct PlanQuestion<'a> {
    pub(crate) config: &'a Value,
    pub(crate) prior: &'a Value,
    pub(crate) proposed: &'a Value,
    pub(crate) private: &'a Private,
}

/// A plan.
pub(crate) struct PlanAnswer {
    pub(crate) planned: Value,
    pub(crate) requires_replace: Vec<AttributePath>,
    pub(crate) private: Private,
    pub(crate) diagnostics: Diagnostics,
}

impl Engine {
    pub(crate) async fn plan_resource_change(&self, found: &ResourceType, question: PlanQuestion<'_>) -> Result<PlanAnswer, Diagnostics> {
        let PlanQuestion {
            config,
            prior,
            proposed,
            private,
        } = question;
        let name = found.resource.type_name();
        let schema = &found.shape.schema;
        let (kind, settled) = match (proposed.is_null(), prior.is_null()) {
            (true, _) => {
                let nothing = Settled {
                    planned: Value::Null,
                    changed: Vec::new(),
                    requires_replace: Vec::new(),
                };
                (PlanKind::Destroy, nothing)
            }
            (false, true) => (PlanKind::Create, settle(schema, config, prior)),
            (false, false) => (PlanKind::Update, settle(schema, config, prior)),
        };
        let mut plan = Plan {
            planned: settled.planned,
            requires_replace: settled.requires_replace,
            private: private.clone(),
            diagnostics: Diagnostics::none(),
        };
        let request = PlanRequest {
            kind,
            config,
            prior,
            proposed,
            changed: &settled.changed,
            private,
        };
        let context = self.context();
        guarded(
            &format!("the plan of `{name}`"),
            found.resource.modify_plan(&request, &mut plan, &context),
        )
        .await?;
        if plan.diagnostics.has_errors() {
            return Err(plan.diagnostics);
        }
        let mut planned = match kind {
            PlanKind::Destroy => Value::Null,
            PlanKind::Create | PlanKind::Update => found.shape.conform(plan.planned, &format!("the plan of `{name}`"))?,
        };
        write_only::forget(&schema.attributes, &mut planned);
        #[cfg(any(debug_assertions, test, feature = "testing"))]
        if kind != PlanKind::Destroy {
            use super::rules::check;
            check::report(name, &check::plan(schema, config, prior, &planned, &plan.requires_replace))?;
        }
        Ok(PlanAnswer {
            planned,
            requires_replace: plan.requires_replace,
            private: plan.private,
            diagnostics: plan.diagnostics,
        })
    }
}
