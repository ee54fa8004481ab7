//! `featurestore_service_credential`: who the agent is to AWS.

use async_trait::async_trait;
use featurestore_proto::v1;
use featurestore_proto::v1::service_credential::Identity;
use stream_spec::name::CredentialName;
use stream_spec::privilege::SecurableType;
use stream_spec::validate;
use stream_spec::violation::Violation;
use tfplugin::diagnostic::Diagnostic;
use tfplugin::resource::CreateRequest;
use tfplugin::schema::Schema;
use tfplugin::schema::attribute::{Attribute, AttributeType};
use tfplugin::value::Value;
use tfplugin::value::types::Type;

use super::entity::{Agent, Change, Deletion, Entity, EntityResource, Facts};
use super::{check_name, name_attribute, parse_with, say, text_of, uid_attribute};
use crate::client::diagnostics::sentence;
use crate::client::error::AgentError;

const IN_PLACE: &str = "Changes in place: what uses the credential goes on with the new identity.";

/// The resource.
pub(crate) type ServiceCredentialResource = EntityResource<ServiceCredential>;

/// A service credential.
pub(crate) struct ServiceCredential;

#[async_trait]
impl Entity for ServiceCredential {
    type Record = v1::ServiceCredential;

    const TYPE_NAME: &'static str = "featurestore_service_credential";
    const NOUN: &'static str = "service credential";
    const IMPORT_ID: &'static str = "the credential's name";
    const SECURABLE: Option<SecurableType> = Some(SecurableType::ServiceCredential);

    fn schema() -> Schema {
        let role = AttributeType::single([
            (
                "role_arn",
                Attribute::required(
                    Type::String,
                    say("ARN of the role, `arn:aws:iam::<account>:role/<name>`.", IN_PLACE),
                ),
            ),
            (
                "external_id",
                Attribute::optional(Type::String, say("External id that the role's trust policy asks for.", IN_PLACE)),
            ),
        ]);
        Schema::new(
            "A service credential: who the agent is to AWS. Connections refer to it by name.",
            [
                ("id", uid_attribute("credential")),
                ("name", name_attribute("Letters, digits, `_` and `-`.", "credential")),
                (
                    "aws_iam_role",
                    Attribute::optional(
                        role,
                        say("A role to assume. Exactly one of `aws_iam_role`, `ambient = true`.", IN_PLACE),
                    ),
                ),
                (
                    "ambient",
                    Attribute::optional(
                        Type::Bool,
                        say(
                            "`true`: the AWS credentials of the agent's own environment. Exactly one of `aws_iam_role`, `ambient = true`.",
                            IN_PLACE,
                        ),
                    ),
                ),
            ],
        )
    }

    fn key(value: &Value) -> String {
        text_of(value, "name")
    }

    fn check_key(key: &str) -> Result<(), String> {
        parse_with(CredentialName::parse, key)
    }

    fn violations(config: &Value) -> Vec<Violation> {
        let mut found = check_name(config, "name", CredentialName::parse);
        let (role, ambient) = (config.get("aws_iam_role"), config.get("ambient"));
        let nothing = |field: &str, problem: &str, remedy: &str| Violation {
            value: String::new(),
            ..Violation::missing(field, problem, remedy)
        };
        let is_ambient = ambient.as_bool() == Some(true);
        if role.is_present() && is_ambient {
            let problem = "exactly one of `aws_iam_role`, `ambient = true` may be set, and here are both";
            found.push(nothing("ambient", problem, "leave one of them"));
        } else if role.is_null() && !is_ambient && !ambient.is_unknown() {
            let problem = "exactly one of `aws_iam_role`, `ambient = true` is required, and here is none";
            found.push(nothing("aws_iam_role", problem, "set one of them"));
        }
        if let Some(role_arn) = role.get("role_arn").as_str() {
            found.extend(validate::aws_iam_role(role_arn, role.get("external_id").as_str()));
        }
        found
    }

    fn state(record: &v1::ServiceCredential, own: &Value) -> Value {
        let (role, ambient) = match &record.identity {
            Some(Identity::AwsIamRole(role)) => {
                let role = Value::object([
                    ("role_arn", Value::string(&role.role_arn)),
                    ("external_id", Value::optional_string(role.external_id.as_deref())),
                ]);
                // `false` says no more than null, and is the user's own.
                let ambient = own.get("ambient");
                (
                    role,
                    if ambient.as_bool() == Some(false) {
                        ambient.clone()
                    } else {
                        Value::Null
                    },
                )
            }
            Some(Identity::Ambient(_)) => (Value::Null, Value::Bool(true)),
            None => (Value::Null, Value::Null),
        };
        Value::object([
            ("id", Value::string(&record.uid)),
            ("name", Value::string(&record.name)),
            ("aws_iam_role", role),
            ("ambient", ambient),
        ])
    }

    fn facts(record: &v1::ServiceCredential) -> Facts {
        Facts {
            id: record.uid.clone(),
            generation: record.generation,
            revision: String::new(),
        }
    }

    fn warning(record: &v1::ServiceCredential) -> Option<Diagnostic> {
        let problem = sentence(&record.problem);
        (!problem.is_empty()).then(|| {
            let detail = format!(
                "{problem} The credential is kept: what uses it waits until AWS agrees. A role or trust policy that was made a moment ago \
                 takes AWS some seconds."
            );
            Diagnostic::warning("Service Credential Cannot Be Used Yet", detail)
        })
    }

    async fn get(agent: &Agent<'_>, key: &str) -> Result<v1::ServiceCredential, AgentError> {
        agent.client.get_credential(key, agent.stop).await
    }

    async fn create(agent: &Agent<'_>, request: &CreateRequest<'_>) -> Result<v1::ServiceCredential, AgentError> {
        let message = v1::CreateServiceCredentialRequest {
            credential: Some(declared(request.planned)),
            request_id: uuid::Uuid::new_v4().to_string(),
        };
        agent.client.create_credential(message, agent.stop).await
    }

    async fn update(agent: &Agent<'_>, change: &Change<'_>) -> Result<v1::ServiceCredential, AgentError> {
        let message = v1::UpdateServiceCredentialRequest {
            credential: Some(declared(change.request.planned)),
            generation: change.generation,
            uid: change.id.to_owned(),
        };
        agent.client.update_credential(message, agent.stop).await
    }

    async fn delete(agent: &Agent<'_>, deletion: &Deletion<'_>) -> Result<(), AgentError> {
        agent.client.delete_credential(deletion.key, deletion.id, agent.stop).await
    }
}

/// A plan as the agent's message.
fn declared(planned: &Value) -> v1::ServiceCredential {
    let role = planned.get("aws_iam_role");
    let identity = if role.is_present() {
        Identity::AwsIamRole(v1::AwsIamRole {
            role_arn: text_of(role, "role_arn"),
            external_id: role.get("external_id").as_str().map(str::to_owned),
        })
    } else {
        Identity::Ambient(v1::AmbientIdentity {})
    };
    v1::ServiceCredential {
        name: text_of(planned, "name"),
        identity: Some(identity),
        ..Default::default()
    }
}
