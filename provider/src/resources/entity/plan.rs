//! Plan of an entity, where no attribute of a configuration can show it: that a secret value drifted, and that what it lies on
//! is made anew by the same plan.

use tfplugin::diagnostic::Diagnostic;
use tfplugin::path::AttributePath;
use tfplugin::resource::{Plan, PlanKind, PlanRequest};

use super::{Entity, life_of, secrets_changed_elsewhere};
use crate::begun::Begun;

/// Notes what the plan makes, and plans to do once more on another life what was done on the one that ends.
pub(super) fn lives<E: Entity>(begun: &Begun, request: &PlanRequest<'_>, plan: &mut Plan) {
    if request.kind == PlanKind::Create {
        E::note(begun, &E::key(&plan.planned));
    }
    let (PlanKind::Update, Some(attribute)) = (request.kind, E::LIFE) else {
        return;
    };
    let begins = E::lies_on(&plan.planned).is_some_and(|(securable_type, name)| begun.has(securable_type, &name));
    if begins && plan.requires_replace.is_empty() && !life_of::<E>(request.prior).is_empty() {
        plan.mark_unknown(&AttributePath::attributes(attribute));
        if let Some(revision) = E::REVISION {
            plan.mark_unknown(&AttributePath::attributes(revision));
        }
    }
}

/// Plans to send secret values again that someone else has written. What they were is not known here, nor what they are.
pub(super) fn secrets_that_changed_elsewhere<E: Entity>(request: &PlanRequest<'_>, plan: &mut Plan) {
    let Some(attribute) = E::REVISION else { return };
    if request.kind != PlanKind::Update
        || !E::has_secrets(request.config)
        || !secrets_changed_elsewhere::<E>(request.prior, request.private)
    {
        return;
    }
    let path = AttributePath::attributes(attribute);
    plan.mark_unknown(&path);
    let detail = format!(
        "Since Terraform wrote the {} `{}`, a value of it was written in another way, or taken away. Applying the plan sends the \
         configuration's values again.",
        E::NOUN,
        E::key(request.prior)
    );
    plan.tell(Diagnostic::warning("Secret Changed Elsewhere", detail).at(path));
}
