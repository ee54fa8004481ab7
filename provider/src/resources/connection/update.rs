//! Update of a connection: the options that changed, and no others. Secret values go along only when the user says so.

use featurestore_proto::v1;
use tfplugin::call::CallContext;
use tfplugin::diagnostic::Diagnostic;
use tfplugin::path::AttributePath;
use tfplugin::resource::{Applied, UpdateRequest};
use tonic::Code;

use super::model::{Declaration, add_secrets, mask_path, state_of};
use super::{ConnectionResource, GENERATION, name_of, notes_of, uid_of};
use crate::client::AgentClient;
use crate::client::error::AgentError;

/// A write-only attribute, the reference that says the same, and the option that both set.
const SECRETS: [(&str, &str, &str); 2] = [
    ("kafka.password_wo", "kafka.password_secret", "kafka.password"),
    (
        "kafka.schema_registry_api_secret_wo",
        "kafka.schema_registry_api_secret_secret",
        "kafka.schema_registry_api_secret",
    ),
];

impl ConnectionResource {
    pub(super) async fn update_connection(&self, request: &UpdateRequest<'_>, context: &CallContext) -> Applied {
        let paths = mask(request);
        if paths.is_empty() {
            return Applied::done(request.planned.clone(), request.private.clone());
        }
        let Some(generation) = request.private.get::<u64>(GENERATION).filter(|generation| *generation > 0) else {
            return Applied::failed(unknown_version(name_of(request.prior)));
        };
        let doing = format!("update the connection `{}`", name_of(request.prior));
        let client = match self.session.agent() {
            Ok(client) => client,
            Err(error) => return Applied::failed(self.failed(&error, &doing)),
        };
        let mut connection = Declaration::read(request.planned).connection;
        add_secrets(&mut connection, request.config);
        let message = v1::UpdateConnectionRequest {
            connection: Some(connection),
            update_mask: Some(prost_types::FieldMask { paths }),
            generation,
            uid: uid_of(request.prior).to_owned(),
        };
        match update(&client, message, context).await {
            Ok(changed) => Applied::done(state_of(&changed, request.planned), notes_of(&changed)),
            Err(error) => Applied::failed(self.failed(&error, &doing)),
        }
    }
}

/// Without the version a change would overwrite whatever someone else has made of the connection since.
fn unknown_version(name: &str) -> Diagnostic {
    let detail = format!(
        "Terraform's state does not say which version of the connection `{name}` the plan was made on, so the change could overwrite \
         someone else's. Nothing was changed: plan again with a refresh."
    );
    Diagnostic::error("Planned Version Not Known", detail)
}

/// Sends the change. A conflict after a lost answer may be our own success: then what was asked for is there.
async fn update(client: &AgentClient, message: v1::UpdateConnectionRequest, context: &CallContext) -> Result<v1::Connection, AgentError> {
    let (planned_on, uid) = (message.generation, message.uid.clone());
    let wanted = message.connection.clone().map(without_secrets).unwrap_or_default();
    let conflict = match client.update_connection(message, &context.stop).await {
        Err(error) if error.code() == Some(Code::Aborted) => error,
        answer => return answer,
    };
    let seen = client.get_connection(&wanted.name, &context.stop).await?;
    let ours = seen.uid == uid && seen.generation == planned_on + 1 && seen.comment == wanted.comment && seen.options == wanted.options;
    if ours { Ok(seen) } else { Err(conflict) }
}

/// The connection as the agent shows it.
fn without_secrets(mut connection: v1::Connection) -> v1::Connection {
    if let Some(v1::connection::Options::Kafka(kafka)) = &mut connection.options {
        kafka.password = None;
        kafka.schema_registry_api_secret = None;
    }
    connection
}

/// The options to send.
fn mask(request: &UpdateRequest<'_>) -> Vec<String> {
    let mut paths: Vec<String> = request.changed.iter().filter_map(|path| mask_path(&path.to_string())).collect();
    let changes = |path: &str| request.changes(&AttributePath::attributes(path));
    let again = changes("secrets_wo_version") && request.planned.get("kafka").is_present();
    for (value, reference, option) in SECRETS {
        // From a reference to a value: the value has never been sent.
        let moved = changes(reference) && request.config.dig(value).is_present();
        if moved || (again && request.config.dig(reference).is_null()) {
            paths.push(option.to_owned());
        }
    }
    paths.sort();
    paths.dedup();
    paths
}
