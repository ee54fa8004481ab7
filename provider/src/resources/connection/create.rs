//! Create of a connection, under one request id.

use featurestore_proto::v1;
use tfplugin::call::CallContext;
use tfplugin::diagnostic::Diagnostic;
use tfplugin::path::AttributePath;
use tfplugin::resource::{Applied, CreateRequest};
use tonic::Code;

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
            Err(error) => Applied::failed(self.failed(&error, &doing)),
        }
    }
}

fn already_exists(name: &str) -> Diagnostic {
    Diagnostic::error(
        "Connection Already Exists",
        format!(
            "A connection `{name}` exists, and Terraform does not manage it here. Choose another name, or take it over with an import \
             block, with your resource's own address in `to`:\n\nimport {{\n  to = {TYPE_NAME}.{name}\n  id = \"{name}\"\n}}\n"
        ),
    )
    .at(AttributePath::attributes("name"))
}
