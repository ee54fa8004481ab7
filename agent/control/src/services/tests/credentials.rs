//! Service credentials, over the port.

use featurestore_proto::v1::credential_service_client::CredentialServiceClient;

use super::secrets::{a_user, refused};
use super::*;

#[tokio::test]
async fn credentials_live_and_change_and_are_kept_while_connections_use_them() {
    use v1::service_credential::Identity;
    let agent = Agent::start().await;
    let mut client = CredentialServiceClient::new(agent.channel.clone());
    let role = |account: &str| {
        Identity::AwsIamRole(v1::AwsIamRole {
            role_arn: format!("arn:aws:iam::{account}:role/reader"),
            external_id: Some("tenant-7".into()),
        })
    };
    let credential = |identity| {
        Some(v1::ServiceCredential {
            name: "reader".into(),
            identity: Some(identity),
            ..Default::default()
        })
    };
    let create = |identity, request_id: &str| v1::CreateServiceCredentialRequest {
        credential: credential(identity),
        request_id: request_id.into(),
    };
    refused(
        client.create_service_credential(create(role("12"), "")).await,
        Code::InvalidArgument,
        "aws_iam_role.role_arn",
    );
    let created = client.create_service_credential(create(role("123456789012"), "r1")).await.unwrap();
    let created = created.into_inner().credential.unwrap();
    for part in ["`reader`", "arn:aws:iam::123456789012:role/reader", "trust policy"] {
        assert!(created.problem.contains(part), "{}", created.problem);
    }
    let repeated = client.create_service_credential(create(role("123456789012"), "r1")).await.unwrap();
    assert_eq!(repeated.into_inner().credential.unwrap(), created);
    refused(
        client
            .create_service_credential(create(Identity::Ambient(v1::AmbientIdentity {}), "r2"))
            .await,
        Code::AlreadyExists,
        "`reader`",
    );
    let update = |identity, generation, uid: &str| v1::UpdateServiceCredentialRequest {
        credential: credential(identity),
        generation,
        uid: uid.into(),
    };
    let ambient = || Identity::Ambient(v1::AmbientIdentity {});
    let changed = client.update_service_credential(update(ambient(), 1, &created.uid)).await.unwrap();
    let changed = changed.into_inner().credential.unwrap();
    assert_eq!((changed.generation, changed.identity), (2, Some(ambient())));
    assert!(changed.problem.contains("the agent's own AWS credentials"), "{}", changed.problem);
    refused(
        client.update_service_credential(update(role("123456789012"), 1, "")).await,
        Code::Aborted,
        "generation",
    );
    refused(
        client.update_service_credential(update(ambient(), 0, "another")).await,
        Code::Aborted,
        "is gone",
    );
    let listed = client
        .list_service_credentials(v1::ListServiceCredentialsRequest::default())
        .await
        .unwrap();
    let listed = listed.into_inner().credentials;
    assert_eq!((listed.len(), listed[0].problem.as_str()), (1, ""));
    a_user(&agent).await;
    let delete = |force, uid: &str| v1::DeleteServiceCredentialRequest {
        name: "reader".into(),
        force,
        uid: uid.into(),
    };
    refused(
        client.delete_service_credential(delete(false, "")).await,
        Code::FailedPrecondition,
        "`user`",
    );
    refused(
        client.delete_service_credential(delete(true, "another")).await,
        Code::NotFound,
        "`reader`",
    );
    client.delete_service_credential(delete(true, &created.uid)).await.unwrap();
    let get = v1::GetServiceCredentialRequest { name: "reader".into() };
    refused(client.get_service_credential(get).await, Code::NotFound, "`reader`");
}
