//! Secret scopes, secrets, service credentials and volumes, over the port.

use featurestore_proto::v1::credential_service_client::CredentialServiceClient;
use featurestore_proto::v1::secret_service_client::SecretServiceClient;
use featurestore_proto::v1::volume_service_client::VolumeServiceClient;
use stream_pipeline::connection::ConnectionResolver;
use stream_spec::connection::ConnectionOptions;
use stream_spec::name::{ConnectionName, ScopeName, SecretKey};
use stream_spec::stream::{ConnectionConfig, DirectMtlsConfig, MtlsConfig, SecretRef};

use super::*;
use crate::governance::secrets::ScopeId;
use crate::store::users::UsedThing;
use crate::testing::definitions::declared;

const CANARY: &[u8] = b"canary-0b3f";

impl Agent {
    fn secrets(&self) -> SecretServiceClient<Channel> {
        SecretServiceClient::new(self.channel.clone())
    }

    async fn create_scope(&self, name: &str, request_id: &str) -> Result<v1::SecretScope, Status> {
        let request = v1::CreateSecretScopeRequest {
            scope: Some(v1::SecretScope {
                name: name.into(),
                ..Default::default()
            }),
            request_id: request_id.into(),
        };
        let answer = self.secrets().create_secret_scope(request).await?;
        Ok(answer.into_inner().scope.unwrap())
    }

    async fn put(&self, scope: &str, key: &str, value: &[u8]) -> Result<v1::SecretMetadata, Status> {
        let request = v1::PutSecretRequest {
            scope: scope.into(),
            key: key.into(),
            value: value.into(),
            ..Default::default()
        };
        let answer = self.secrets().put_secret(request).await?;
        Ok(answer.into_inner().secret.unwrap())
    }

    async fn delete_secret(&self, scope: &str, key: &str, force: bool) -> Result<(), Status> {
        let request = v1::DeleteSecretRequest {
            scope: scope.into(),
            key: key.into(),
            force,
            ..Default::default()
        };
        self.secrets().delete_secret(request).await.map(drop)
    }

    async fn delete_scope(&self, name: &str, force: bool) -> Result<(), Status> {
        let request = v1::DeleteSecretScopeRequest {
            name: name.into(),
            force,
            ..Default::default()
        };
        self.secrets().delete_secret_scope(request).await.map(drop)
    }
}

/// A connection that takes its password from the scope `pay` and has a credential.
async fn a_user(agent: &Agent) -> ConnectionName {
    let mut record = connection("user");
    if let ConnectionOptions::Kafka(kafka) = &mut record.spec.options {
        kafka.password_secret = Some(SecretRef {
            scope: "pay".into(),
            key: "password".into(),
        });
        kafka.credential = Some("reader".into());
    }
    assert!(
        agent
            .services
            .store
            .insert_connection(&record, &crate::store::LiteralSecrets::Stay)
            .await
            .unwrap()
    );
    record.spec.name
}

fn refused(outcome: Result<impl std::fmt::Debug, Status>, code: Code, said: &str) {
    let status = outcome.unwrap_err();
    let text = format!("{status:?}");
    assert!(status.code() == code && status.message().contains(said), "{text}");
    assert!(!text.contains("canary"), "{text}");
}

#[tokio::test]
async fn secrets_are_kept_listed_by_name_and_never_shown() {
    let agent = Agent::start().await;
    agent.create_scope("pay", "r1").await.unwrap();
    agent.create_scope("pay", "r1").await.unwrap();
    refused(agent.create_scope("pay", "r2").await, Code::AlreadyExists, "`pay`");
    refused(agent.create_scope("a/b", "").await, Code::InvalidArgument, "'/'");
    agent.create_scope("ship", "").await.unwrap();
    let first = agent.put("pay", "password", CANARY).await.unwrap();
    let second = agent.put("pay", "password", CANARY).await.unwrap();
    assert_ne!(first.revision, second.revision);
    agent.put("pay", "other", &vec![b'x'; 128 * 1024]).await.unwrap();
    refused(
        agent.put("pay", "other", &vec![b'x'; 128 * 1024 + 1]).await,
        Code::InvalidArgument,
        "131073",
    );
    refused(agent.put("pay", "other", b"").await, Code::InvalidArgument, "empty");
    refused(agent.put("nowhere", "k", CANARY).await, Code::NotFound, "`nowhere`");
    refused(agent.put("pay", "a b", CANARY).await, Code::InvalidArgument, "' '");

    let scopes = |page_size, page_token: String| v1::ListSecretScopesRequest { page_size, page_token };
    let page = agent
        .secrets()
        .list_secret_scopes(scopes(1, String::new()))
        .await
        .unwrap()
        .into_inner();
    let next = agent
        .secrets()
        .list_secret_scopes(scopes(1, page.next_page_token))
        .await
        .unwrap()
        .into_inner();
    let names = |page: &[v1::SecretScope]| page.iter().map(|scope| scope.name.clone()).collect::<Vec<_>>();
    assert_eq!(
        (names(&page.scopes), names(&next.scopes)),
        (vec!["pay".into()], vec!["ship".into()])
    );
    assert_eq!(next.next_page_token, "");

    let request = v1::ListSecretsRequest {
        scope: "pay".into(),
        ..Default::default()
    };
    let listed = agent.secrets().list_secrets(request).await.unwrap().into_inner();
    let keys: Vec<_> = listed.secrets.iter().map(|secret| secret.key.as_str()).collect();
    assert_eq!(keys, ["other", "password"]);
    assert_eq!(listed.secrets.last(), Some(&second));
    let (scope, key) = (
        ScopeId::Named(ScopeName::parse("pay").unwrap()),
        SecretKey::parse("password").unwrap(),
    );
    assert_eq!(agent.services.vault.read(&scope, &key).await.unwrap().expose(), CANARY);
}

#[tokio::test]
async fn what_connections_use_is_deleted_only_by_force_and_its_changes_are_announced() {
    let agent = Agent::start().await;
    agent.create_scope("pay", "").await.unwrap();
    agent.put("pay", "password", CANARY).await.unwrap();
    agent.put("pay", "unused", CANARY).await.unwrap();
    let user = a_user(&agent).await;
    let resolver = crate::connections::StoreResolver::new(
        agent.services.store.clone(),
        agent.services.vault.clone(),
        agent.services.aws.clone(),
        agent.services.connection_changes.clone(),
    );
    let mut changes = resolver.changes(&ConnectionConfig::UcConnectionName(user));
    let mut was_told = || {
        let told = changes.has_changed().unwrap();
        changes.mark_unchanged();
        told
    };
    agent.put("pay", "unused", CANARY).await.unwrap();
    assert!(!was_told());
    agent.put("pay", "password", CANARY).await.unwrap();
    assert!(was_told());
    refused(
        agent.delete_secret("pay", "password", false).await,
        Code::FailedPrecondition,
        "`user`",
    );
    refused(agent.delete_scope("pay", false).await, Code::FailedPrecondition, "`user`");
    assert!(!was_told());
    agent.delete_secret("pay", "unused", false).await.unwrap();
    refused(agent.delete_secret("pay", "unused", false).await, Code::NotFound, "`pay/unused`");
    agent.delete_secret("pay", "password", true).await.unwrap();
    assert!(was_told());
    agent.delete_scope("pay", true).await.unwrap();
    assert!(was_told());
    refused(agent.delete_scope("pay", true).await, Code::NotFound, "`pay`");
}

#[tokio::test]
async fn a_secret_is_written_only_in_place_of_what_the_caller_expects() {
    let agent = Agent::start().await;
    agent.create_scope("pay", "").await.unwrap();
    let put = async |expected_revision: &str, must_not_exist: bool, request_id: &str| {
        let request = v1::PutSecretRequest {
            scope: "pay".into(),
            key: "k".into(),
            value: CANARY.into(),
            expected_revision: expected_revision.into(),
            must_not_exist,
            request_id: request_id.into(),
            scope_uid: String::new(),
        };
        let answer = agent.secrets().put_secret(request).await?;
        Ok::<_, Status>(answer.into_inner().secret.unwrap().revision)
    };
    refused(put("none", false, "").await, Code::Aborted, "`none`");
    let first = put("", true, "r1").await.unwrap();
    assert_eq!(put("", true, "r1").await.unwrap(), first, "a repeat");
    refused(put("", true, "r2").await, Code::AlreadyExists, "`pay/k`");
    refused(put("other", false, "").await, Code::Aborted, "`other`");
    refused(put(&first, true, "").await, Code::InvalidArgument, "expected_revision");
    let second = put(&first, false, "r3").await.unwrap();
    assert_ne!(second, first);
    assert_eq!(put(&first, false, "r3").await.unwrap(), second, "a repeat");
    refused(put(&first, false, "r4").await, Code::Aborted, &first);
    let scope = ScopeId::Named(ScopeName::parse("pay").unwrap());
    let read = agent.services.vault.read(&scope, &SecretKey::parse("k").unwrap()).await;
    assert_eq!(read.unwrap().expose(), CANARY);
}

#[tokio::test]
async fn a_scope_is_deleted_in_the_life_that_is_named() {
    let agent = Agent::start().await;
    let uid = agent.create_scope("pay", "").await.unwrap().uid;
    let request = v1::ListSecretsRequest {
        scope: "pay".into(),
        ..Default::default()
    };
    assert_eq!(agent.secrets().list_secrets(request).await.unwrap().into_inner().scope_uid, uid);
    let delete = async |uid: &str| {
        let request = v1::DeleteSecretScopeRequest {
            name: "pay".into(),
            uid: uid.into(),
            ..Default::default()
        };
        agent.secrets().delete_secret_scope(request).await.map(drop)
    };
    refused(delete("another").await, Code::NotFound, "`pay`");
    delete(&uid).await.unwrap();
}

#[tokio::test]
async fn a_secret_is_written_and_deleted_in_the_life_of_its_scope_that_is_named() {
    let agent = Agent::start().await;
    let first = agent.create_scope("pay", "").await.unwrap().uid;
    agent.delete_scope("pay", false).await.unwrap();
    let second = agent.create_scope("pay", "").await.unwrap().uid;
    let put = async |scope_uid: &str| {
        let request = v1::PutSecretRequest {
            scope: "pay".into(),
            key: "k".into(),
            value: CANARY.into(),
            scope_uid: scope_uid.into(),
            ..Default::default()
        };
        agent.secrets().put_secret(request).await.map(drop)
    };
    let delete = async |scope_uid: &str| {
        let request = v1::DeleteSecretRequest {
            scope: "pay".into(),
            key: "k".into(),
            scope_uid: scope_uid.into(),
            ..Default::default()
        };
        agent.secrets().delete_secret(request).await.map(drop)
    };
    refused(put(&first).await, Code::Aborted, "plan again");
    put(&second).await.unwrap();
    refused(delete(&first).await, Code::NotFound, "`pay/k`");
    delete(&second).await.unwrap();
}

#[tokio::test]
async fn all_pipelines_are_told_of_a_change_when_its_users_are_not_known() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Arc::new(SqliteStore::open(&folder.path().join("agent.db")).await.unwrap());
    let store: Arc<dyn Store> = sqlite.clone();
    let (_reconciler, services) = services(&store, &FakeEngine::default(), CancellationToken::new());
    let resolver = crate::connections::StoreResolver::new(
        store.clone(),
        services.vault.clone(),
        services.aws.clone(),
        services.connection_changes.clone(),
    );
    let changes = resolver.changes(&ConnectionConfig::UcConnectionName(ConnectionName::parse("user").unwrap()));
    sqlite.close().await;
    let secret = UsedThing::Secret(ScopeName::parse("pay").unwrap(), SecretKey::parse("password").unwrap());
    services.announce(&secret).await;
    assert!(changes.has_changed().unwrap());
}

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

#[tokio::test]
async fn volumes_live_and_move() {
    let agent = Agent::start().await;
    let mut client = VolumeServiceClient::new(agent.channel.clone());
    let volume = |name: &str, location: &str| {
        Some(v1::Volume {
            name: name.into(),
            storage_location: location.into(),
            ..Default::default()
        })
    };
    let create = |name: &str, location: &str| v1::CreateVolumeRequest {
        volume: volume(name, location),
        request_id: String::new(),
    };
    refused(
        client.create_volume(create("main.pay.keys", "keys")).await,
        Code::InvalidArgument,
        "storage_location",
    );
    let owns = "/var/lib/agent/warehouse";
    refused(
        client.create_volume(create("main.pay.keys", owns)).await,
        Code::InvalidArgument,
        "the data folder",
    );
    for name in ["main.pay.keys", "main.pay2.keys", "other.pay.keys"] {
        client.create_volume(create(name, "/srv/keys")).await.unwrap();
    }
    refused(
        client.create_volume(create("main.pay.keys", "/srv")).await,
        Code::AlreadyExists,
        "main.pay.keys",
    );
    for (parent, expected) in [("main", 2), ("main.pay", 1), ("main.pa", 0)] {
        let request = v1::ListVolumesRequest {
            parent: parent.into(),
            ..Default::default()
        };
        assert_eq!(
            client.list_volumes(request).await.unwrap().into_inner().volumes.len(),
            expected,
            "{parent}"
        );
    }
    let update = v1::UpdateVolumeRequest {
        volume: volume("main.pay.keys", "s3://bucket/keys"),
        generation: 1,
        uid: String::new(),
    };
    let into_an_own_folder = v1::UpdateVolumeRequest {
        volume: volume("main.pay.keys", owns),
        ..update.clone()
    };
    refused(
        client.update_volume(into_an_own_folder).await,
        Code::InvalidArgument,
        "the data folder",
    );
    let moved = client.update_volume(update.clone()).await.unwrap().into_inner().volume.unwrap();
    assert_eq!((moved.generation, moved.storage_location.as_str()), (2, "s3://bucket/keys"));
    let same = v1::UpdateVolumeRequest { generation: 2, ..update };
    let same = client.update_volume(same).await.unwrap().into_inner().volume.unwrap();
    assert_eq!(same.generation, 2, "nothing to change is no change");
    let delete = |uid: &str| v1::DeleteVolumeRequest {
        name: "main.pay.keys".into(),
        uid: uid.into(),
        force: false,
    };
    refused(client.delete_volume(delete("another")).await, Code::NotFound, "main.pay.keys");
    client.delete_volume(delete(&moved.uid)).await.unwrap();
    let get = v1::GetVolumeRequest {
        name: "main.pay.keys".into(),
    };
    refused(client.get_volume(get).await, Code::NotFound, "main.pay.keys");
}

#[tokio::test]
async fn a_volume_that_streams_use_is_deleted_only_by_force_and_its_changes_are_announced() {
    let agent = Agent::start().await;
    let mut client = VolumeServiceClient::new(agent.channel.clone());
    let volume = |location: &str| v1::Volume {
        name: "main.pay.keys".into(),
        storage_location: location.into(),
        ..Default::default()
    };
    let create = v1::CreateVolumeRequest {
        volume: Some(volume("/srv/keys")),
        request_id: String::new(),
    };
    client.create_volume(create).await.unwrap();
    let secret = || SecretRef {
        scope: "stores".into(),
        key: "store".into(),
    };
    let direct = DirectMtlsConfig {
        bootstrap_servers: "b:1".into(),
        mtls: MtlsConfig {
            keystore_location: "/Volumes/main/pay/keys/client.jks".into(),
            truststore_location: "/Volumes/main/pay/other/trust.jks".into(),
            keystore_password_ref: secret(),
            key_password_ref: secret(),
            truststore_password_ref: secret(),
            disable_hostname_verification: false,
        },
    };
    let mut declared = declared("main.pay.orders");
    declared.spec.connection = ConnectionConfig::DirectMtls(direct);
    agent.store.insert_stream("u1", &declared).await.unwrap();
    let resolver = agent.services.resolver.clone();
    let changes = resolver.changes(&declared.spec.connection);
    let told = |changes: &mut tokio::sync::watch::Receiver<u64>| {
        let told = changes.has_changed().unwrap();
        changes.mark_unchanged();
        told
    };
    let mut changes = changes;
    let delete = |force| v1::DeleteVolumeRequest {
        name: "main.pay.keys".into(),
        uid: String::new(),
        force,
    };
    refused(
        client.delete_volume(delete(false)).await,
        Code::FailedPrecondition,
        "`main.pay.orders`",
    );
    assert!(!told(&mut changes));
    let update = v1::UpdateVolumeRequest {
        volume: Some(volume("/srv/other")),
        ..Default::default()
    };
    client.update_volume(update).await.unwrap();
    assert!(told(&mut changes), "it is somewhere else");
    agent.create_scope("stores", "").await.unwrap();
    agent.put("stores", "unused", CANARY).await.unwrap();
    assert!(!told(&mut changes));
    agent.put("stores", "store", CANARY).await.unwrap();
    assert!(told(&mut changes), "its password is another one");
    client.delete_volume(delete(true)).await.unwrap();
    assert!(told(&mut changes));
}
