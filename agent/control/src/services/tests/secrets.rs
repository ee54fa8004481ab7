//! Secret scopes and secrets, over the port.

use featurestore_proto::v1::secret_service_client::SecretServiceClient;
use stream_pipeline::connection::ConnectionResolver;
use stream_spec::connection::ConnectionOptions;
use stream_spec::name::{ConnectionName, ScopeName, SecretKey};
use stream_spec::stream::{ConnectionConfig, SecretRef};

use super::*;
use crate::governance::secrets::ScopeId;
use crate::store::users::UsedThing;

pub(super) const CANARY: &[u8] = b"canary-0b3f";

impl Agent {
    fn secrets(&self) -> SecretServiceClient<Channel> {
        SecretServiceClient::new(self.channel.clone())
    }

    pub(super) async fn create_scope(&self, name: &str, request_id: &str) -> Result<v1::SecretScope, Status> {
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

    pub(super) async fn put(&self, scope: &str, key: &str, value: &[u8]) -> Result<v1::SecretMetadata, Status> {
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
pub(super) async fn a_user(agent: &Agent) -> ConnectionName {
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

pub(super) fn refused(outcome: Result<impl std::fmt::Debug, Status>, code: Code, said: &str) {
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
