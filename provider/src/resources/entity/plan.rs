//! Plan of an entity: the one drift that no attribute of a configuration can show, that of a secret value.

use tfplugin::diagnostic::Diagnostic;
use tfplugin::path::AttributePath;
use tfplugin::resource::{Plan, PlanKind, PlanRequest};

use super::{Entity, secrets_changed_elsewhere};

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
