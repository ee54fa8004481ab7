//! Update of a connection: the options that changed, and no others. Secret values go along when the user says so, when someone
//! else has written one, and when they would go somewhere else from now on: the agent wants them sent again then.

use featurestore_proto::v1;
use tfplugin::path::AttributePath;

use super::model::{Declaration, SECRETS, add_secrets, mask_path};
use crate::client::error::AgentError;
use crate::resources::entity::{Agent, Change};

/// Sends the change.
pub(super) async fn update(agent: &Agent<'_>, change: &Change<'_>) -> Result<v1::Connection, AgentError> {
    let request = change.request;
    let mut connection = Declaration::read(request.planned).connection;
    let paths = mask(change);
    if paths.is_empty() {
        return agent.client.get_connection(&connection.name, agent.stop).await;
    }
    add_secrets(&mut connection, request.config);
    let message = v1::UpdateConnectionRequest {
        connection: Some(connection),
        update_mask: Some(prost_types::FieldMask { paths }),
        generation: change.generation,
        uid: change.id.to_owned(),
    };
    agent.client.update_connection(message, agent.stop).await
}

/// The options to send.
fn mask(change: &Change<'_>) -> Vec<String> {
    let request = change.request;
    let mut paths: Vec<String> = request.changed.iter().filter_map(|path| mask_path(&path.to_string())).collect();
    let changes = |path: &str| request.changes(&AttributePath::attributes(path));
    let again = (changes("secrets_wo_version") || change.secrets_changed_elsewhere) && request.planned.get("kafka").is_present();
    for secret in &SECRETS {
        let is_value = request.config.dig(secret.value).is_present();
        // From a reference to a value: the value has never been sent.
        let moved = is_value && changes(secret.reference);
        let goes_elsewhere = is_value && secret.goes_by.iter().any(|option| changes(option));
        if moved || goes_elsewhere || (again && request.config.dig(secret.reference).is_null()) {
            paths.push(secret.option.to_owned());
        }
    }
    paths.sort();
    paths.dedup();
    paths
}
