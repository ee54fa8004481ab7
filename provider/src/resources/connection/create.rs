//! Create of a connection, under one request id.

use featurestore_proto::v1;
use tfplugin::call::CallContext;
use tfplugin::diagnostic::Diagnostic;
use tfplugin::path::AttributePath;
use tfplugin::resource::{Applied, CreateRequest};
use tonic::Code;

use crate::resources::label;

use super::model::{Declaration, add_secrets, state_of};
use super::{ConnectionResource, TYPE_NAME, notes_of};

impl ConnectionResource {
    pub(super) async fn create_connection(&self, request: &CreateRequest<'_>, context: &CallContext) -> Applied {
        let mut connection = Declaration::read(request.planned).connection;
        add_secrets(&mut connection, request.config);
        let name = connection.name.clone();
        let doing = format!("create the connection `{name}`");
        let client = match self.session.agent() {
            Ok(client) => client,
            Err(error) => return Applied::failed(self.failed(&error, &doing)),
        };
        let message = v1::CreateConnectionRequest {
            connection: Some(connection),
            request_id: uuid::Uuid::new_v4().to_string(),
        };
        match client.create_connection(message, &context.stop).await {
            Ok(made) => Applied::done(state_of(&made, request.planned), notes_of(&made)),
            Err(error) if error.code() == Some(Code::AlreadyExists) => Applied::failed(already_exists(&name)),
            Err(error) => {
                let mut diagnostics = self.failed(&error, &doing);
                if error.may_have_arrived() {
                    diagnostics.push(may_exist(&name));
                }
                Applied::failed(diagnostics)
            }
        }
    }
}

/// The answer may have been lost, and the connection be there.
fn may_exist(name: &str) -> Diagnostic {
    let detail = format!(
        "The answer to the create did not arrive, so the agent may have made `{name}`. If the next apply says that it exists, import \
         it:\n\n{}",
        import_block(name)
    );
    Diagnostic::warning("Connection May Exist", detail)
}

/// Configuration that takes over an existing connection.
fn import_block(name: &str) -> String {
    format!("import {{\n  to = {TYPE_NAME}.{}\n  id = \"{name}\"\n}}\n", label(name))
}

fn already_exists(name: &str) -> Diagnostic {
    Diagnostic::error(
        "Connection Already Exists",
        format!(
            "A connection `{name}` exists, and Terraform does not manage it here. Choose another name, or take it over with an import \
             block, with your resource's own address in `to`:\n\n{}",
            import_block(name)
        ),
    )
    .at(AttributePath::attributes("name"))
}
