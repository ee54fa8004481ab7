//! `featurestore_volume`: a folder or bucket prefix under a name, for key stores and the like.

use async_trait::async_trait;
use featurestore_proto::v1;
use stream_spec::name::VolumeName;
use stream_spec::privilege::SecurableType;
use stream_spec::validate;
use stream_spec::violation::Violation;
use tfplugin::resource::CreateRequest;
use tfplugin::schema::Schema;
use tfplugin::schema::attribute::Attribute;
use tfplugin::value::Value;
use tfplugin::value::types::Type;

use super::entity::{Agent, Change, Deletion, Entity, EntityResource, Facts};
use super::{check_name, name_attribute, parse_with, say, text_of, uid_attribute};
use crate::client::error::AgentError;

/// The resource.
pub(crate) type VolumeResource = EntityResource<Volume>;

/// A volume.
pub(crate) struct Volume;

#[async_trait]
impl Entity for Volume {
    type Record = v1::Volume;

    const TYPE_NAME: &'static str = "featurestore_volume";
    const NOUN: &'static str = "volume";
    const IMPORT_ID: &'static str = "the volume's name";
    const SECURABLE: Option<SecurableType> = Some(SecurableType::Volume);

    fn schema() -> Schema {
        Schema::new(
            "A volume: a folder or bucket prefix whose files are read as `/Volumes/<catalog>/<schema>/<volume>/…`. Its files are not \
             touched, not even when it is destroyed.",
            [
                ("id", uid_attribute("volume")),
                (
                    "name",
                    name_attribute(
                        "Name in three parts, `catalog.schema.volume`, each of lower-case letters, digits and `_`.",
                        "volume",
                    ),
                ),
                (
                    "storage_location",
                    Attribute::required(
                        Type::String,
                        say(
                            "An absolute folder of the agent's machine, or `s3://<bucket>/<prefix>`.",
                            "Changes in place: files are read from the new location from then on.",
                        ),
                    )
                    .equal_text_by(same_location),
                ),
            ],
        )
    }

    fn key(value: &Value) -> String {
        text_of(value, "name")
    }

    fn check_key(key: &str) -> Result<(), String> {
        parse_with(VolumeName::parse, key)
    }

    fn violations(config: &Value) -> Vec<Violation> {
        let mut found = check_name(config, "name", VolumeName::parse);
        found.extend(config.get("storage_location").as_str().and_then(validate::storage_location));
        found
    }

    fn state(record: &v1::Volume, _own: &Value) -> Value {
        Value::object([
            ("id", Value::string(&record.uid)),
            ("name", Value::string(&record.name)),
            ("storage_location", Value::string(&record.storage_location)),
        ])
    }

    fn facts(record: &v1::Volume) -> Facts {
        Facts {
            id: record.uid.clone(),
            generation: record.generation,
            revision: String::new(),
        }
    }

    async fn get(agent: &Agent<'_>, key: &str) -> Result<v1::Volume, AgentError> {
        agent.client.get_volume(key, agent.stop).await
    }

    async fn create(agent: &Agent<'_>, request: &CreateRequest<'_>) -> Result<v1::Volume, AgentError> {
        let message = v1::CreateVolumeRequest {
            volume: Some(declared(request.planned)),
            request_id: uuid::Uuid::new_v4().to_string(),
        };
        agent.client.create_volume(message, agent.stop).await
    }

    async fn update(agent: &Agent<'_>, change: &Change<'_>) -> Result<v1::Volume, AgentError> {
        let message = v1::UpdateVolumeRequest {
            volume: Some(declared(change.request.planned)),
            generation: change.generation,
            uid: change.id.to_owned(),
        };
        agent.client.update_volume(message, agent.stop).await
    }

    async fn delete(agent: &Agent<'_>, deletion: &Deletion<'_>) -> Result<(), AgentError> {
        agent.client.delete_volume(deletion.key, deletion.id, agent.stop).await
    }
}

/// A plan as the agent's message.
fn declared(planned: &Value) -> v1::Volume {
    v1::Volume {
        name: text_of(planned, "name"),
        storage_location: text_of(planned, "storage_location"),
        ..Default::default()
    }
}

/// `file:///srv/keys/` and `/srv/keys` are one folder.
fn same_location(left: &str, right: &str) -> bool {
    let plain = |text: &str| text.strip_prefix("file://").unwrap_or(text).trim_end_matches('/').to_owned();
    plain(left) == plain(right)
}
