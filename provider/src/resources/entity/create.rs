//! Create of an entity. One that is there already is never adopted in silence: the error brings the import block.

use tfplugin::call::CallContext;
use tfplugin::diagnostic::Diagnostic;
use tfplugin::path::AttributePath;
use tfplugin::resource::{Applied, CreateRequest};
use tonic::Code;

use super::{Entity, EntityResource, title, written};
use crate::resources::label;

impl<E: Entity> EntityResource<E> {
    pub(super) async fn create_entity(&self, request: &CreateRequest<'_>, context: &CallContext) -> Applied {
        let key = E::key(request.planned);
        let doing = format!("create the {} `{key}`", E::NOUN);
        let made = match self.agent(context) {
            Ok(agent) => E::create(&agent, request).await,
            Err(error) => Err(error),
        };
        match made {
            Ok(made) => written::<E>(&made, request.planned),
            Err(error) if error.code() == Some(Code::AlreadyExists) => Applied::failed(already_exists::<E>(&key)),
            Err(error) => {
                let mut diagnostics = self.failed(&error, &doing);
                if error.may_have_arrived() {
                    diagnostics.push(may_exist::<E>(&key));
                }
                Applied::failed(diagnostics)
            }
        }
    }
}

/// The answer may have been lost, and the entity be there.
fn may_exist<E: Entity>(key: &str) -> Diagnostic {
    let detail = format!(
        "The answer to the create did not arrive, so the agent may have made `{key}`. If the next apply says that it exists, import \
         it:\n\n{}",
        import_block::<E>(key)
    );
    Diagnostic::warning(format!("{} May Exist", title(E::NOUN)), detail)
}

fn already_exists<E: Entity>(key: &str) -> Diagnostic {
    let detail = format!(
        "A {} `{key}` exists, and Terraform does not manage it here. {} with an import block, with your resource's own address in \
         `to`:\n\n{}",
        E::NOUN,
        E::TAKE_OVER,
        import_block::<E>(key)
    );
    Diagnostic::error(format!("{} Already Exists", title(E::NOUN)), detail).at(AttributePath::attributes(E::NAMED_BY))
}

/// Configuration that takes over an existing entity.
fn import_block<E: Entity>(key: &str) -> String {
    format!("import {{\n  to = {}.{}\n  id = \"{key}\"\n}}\n", E::TYPE_NAME, label(key))
}
