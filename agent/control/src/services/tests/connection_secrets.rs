//! Secrets of connections: kept and never shown, given to nobody else, read when a client is opened.

use std::collections::BTreeMap;

use stream_spec::name::{ScopeName, SecretKey};

use super::*;
use crate::clock;
use crate::governance::secrets::{ScopeId, SecretValue};
use crate::store::documents::{self, Authorship, ScopeRecord};

const SECRET: &str = "hunter2-of-these-tests";

impl Agent {
    async fn create_connection(&mut self, connection: v1::Connection) -> Result<v1::Connection, Status> {
        let request = v1::CreateConnectionRequest {
            connection: Some(connection),
            request_id: String::new(),
        };
        let answer = self.connections.create_connection(request).await?;
        Ok(answer.into_inner().connection.unwrap())
    }

    async fn update_connection(&mut self, connection: v1::Connection, paths: &[&str]) -> Result<v1::Connection, Status> {
        let request = v1::UpdateConnectionRequest {
            connection: Some(connection),
            update_mask: Some(prost_types::FieldMask {
                paths: paths.iter().map(|path| (*path).to_owned()).collect(),
            }),
            ..Default::default()
        };
        let answer = self.connections.update_connection(request).await?;
        Ok(answer.into_inner().connection.unwrap())
    }

    async fn test(&mut self, target: v1::test_connection_request::Target) -> Result<Vec<v1::TestStep>, Status> {
        let request = v1::TestConnectionRequest { target: Some(target) };
        Ok(self.connections.test_connection(request).await?.into_inner().steps)
    }

    /// The password that a stored connection is opened with.
    async fn password_of(&mut self, name: &str) -> String {
        let steps = self.test(v1::test_connection_request::Target::Name(name.into())).await.unwrap();
        assert!(steps.iter().all(|step| step.ok), "{steps:?}");
        let world = self.engine.world.lock().unwrap();
        world.tried.last().unwrap().properties["sasl.password"].expose().to_owned()
    }

    async fn put_secret(&self, scope: &str, key: &str, value: &str) {
        let scope = ScopeName::parse(scope).unwrap();
        let record = ScopeRecord {
            name: scope.clone(),
            generation: 1,
            authorship: Authorship {
                uid: "s".into(),
                create_time_ms: clock::now_ms(),
                created_by: "local-admin".into(),
                update_time_ms: clock::now_ms(),
                updated_by: "local-admin".into(),
                create_request_id: String::new(),
            },
        };
        documents::insert(&self.store, &record).await.unwrap();
        let value = SecretValue::from(value.to_owned());
        let (scope, key) = (ScopeId::Named(scope), SecretKey::parse(key).unwrap());
        self.vault.put(&scope, &key, &value, "local-admin").await.unwrap();
    }
}

fn with(change: impl FnOnce(&mut v1::KafkaConnection)) -> v1::Connection {
    let mut connection = connection_from_spec(&connection("second").spec);
    let Some(v1::connection::Options::Kafka(kafka)) = &mut connection.options else {
        unreachable!("it is of Kafka")
    };
    kafka.security_protocol = "SASL_SSL".into();
    kafka.sasl_mechanism = Some("SCRAM-SHA-256".into());
    kafka.user = Some("ada".into());
    change(kafka);
    connection
}

fn with_password(password: &str) -> v1::Connection {
    with(|kafka| kafka.password = Some(password.into()))
}

#[tokio::test]
async fn a_literal_secret_is_kept_read_and_replaced_and_goes_with_its_connection() {
    let mut agent = Agent::start().await;
    let missing = agent.create_connection(with(|_| {})).await.unwrap_err();
    assert!(
        missing.message().contains("kafka.password: the mechanism needs a password"),
        "{missing:?}"
    );
    let made = agent.create_connection(with_password(SECRET)).await.unwrap();
    assert!(!made.secrets_revision.is_empty() && !format!("{made:?}").contains(SECRET));
    assert_eq!(agent.password_of("second").await, SECRET);

    let renamed = agent
        .update_connection(with(|kafka| kafka.user = Some("bob".into())), &["kafka.user"])
        .await
        .unwrap();
    assert_eq!((renamed.generation, &renamed.secrets_revision), (2, &made.secrets_revision));
    let same = agent
        .update_connection(with_password("another"), &["kafka.password"])
        .await
        .unwrap();
    assert_eq!(same.generation, 3, "a new secret is a change");
    assert_ne!(same.secrets_revision, made.secrets_revision);
    assert_eq!(agent.password_of("second").await, "another");

    let taken = agent.update_connection(with(|_| {}), &["kafka.password"]).await.unwrap_err();
    assert_eq!(taken.code(), Code::InvalidArgument, "{taken:?}");
    let plain = with(|kafka| {
        kafka.security_protocol = "SSL".into();
        kafka.sasl_mechanism = None;
        kafka.user = None;
    });
    let without = agent
        .update_connection(plain, &["kafka.security_protocol", "kafka.sasl_mechanism", "kafka.user"])
        .await
        .unwrap();
    assert_eq!(without.secrets_revision, "", "what is of no use any more is not kept");
    let scope = ScopeId::Connection(made.uid.clone());
    assert!(agent.store.list_secrets(&scope, None, 9).await.unwrap().is_empty());

    agent.update_connection(with_password(SECRET), &["kafka"]).await.unwrap();
    assert_eq!(agent.store.list_secrets(&scope, None, 9).await.unwrap().len(), 1);
    let delete = v1::DeleteConnectionRequest {
        name: "second".into(),
        ..Default::default()
    };
    agent.connections.delete_connection(delete).await.unwrap();
    assert!(agent.store.list_secrets(&scope, None, 9).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_kept_secret_goes_nowhere_else_unless_it_is_sent_again() {
    let mut agent = Agent::start().await;
    agent.create_connection(with_password(SECRET)).await.unwrap();
    let elsewhere = |password: Option<&str>| {
        with(|kafka| {
            kafka.bootstrap_servers = "evil:9092".into();
            kafka.password = password.map(str::to_owned);
        })
    };
    let refused = agent
        .update_connection(elsewhere(None), &["kafka.bootstrap_servers"])
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(
        refused.message().contains("send the secret again") && !refused.message().contains(SECRET),
        "{refused:?}"
    );
    // Trying the changed declaration does not send it there either.
    let target = v1::test_connection_request::Target::Connection(elsewhere(None));
    assert_eq!(agent.test(target).await.unwrap_err().code(), Code::InvalidArgument);
    assert!(agent.engine.world.lock().unwrap().tried.is_empty());
    let target = v1::test_connection_request::Target::Connection(elsewhere(Some("mine")));
    assert_eq!(agent.test(target).await.unwrap()[0].message, "evil:9092");
    agent
        .update_connection(elsewhere(Some("mine")), &["kafka.bootstrap_servers", "kafka.password"])
        .await
        .unwrap();
    assert_eq!(agent.password_of("second").await, "mine");
}

#[tokio::test]
async fn while_others_are_tried_a_connection_is_not_and_no_secret_of_it_is_read() {
    let mut agent = Agent::start().await;
    let referring = with(|kafka| {
        kafka.password_secret = Some(v1::SecretRef {
            scope: "pay".into(),
            key: "not-there".into(),
        });
    });
    agent.create_connection(referring.clone()).await.unwrap();
    let services = agent.services.clone();
    let permits = u32::try_from(crate::limits::CONNECTION_TESTS_AT_ONCE_MAX).unwrap();
    let others = services.connection_tests.acquire_many(permits).await.unwrap();
    for target in [
        v1::test_connection_request::Target::Name("second".into()),
        v1::test_connection_request::Target::Connection(referring),
    ] {
        // Not that the secret is missing: it was not looked for.
        let refused = agent.test(target).await.unwrap_err();
        assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
        assert!(detail_of(&refused).unwrap().retry_after.is_some_and(|advice| advice.seconds > 0));
    }
    drop(others);
    let target = v1::test_connection_request::Target::Name("second".into());
    assert!(agent.test(target).await.unwrap()[2].message.contains("`pay`"));
}

#[tokio::test]
async fn a_stream_that_waits_for_its_source_is_tried_at_once_when_its_connection_changes() {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&folder.path().join("agent.db")).await.unwrap());
    store.insert_connection(&connection("kafka"), &LiteralSecrets::Stay).await.unwrap();
    store
        .insert_stream("u1", &crate::testing::definitions::declared(NAME))
        .await
        .unwrap();
    let engine = FakeEngine::default();
    let refuse = |refused| engine.world.lock().unwrap().refuse_provision = refused;
    refuse(Some(("AuthenticationFailed", Retry::Later)));
    let hour = Duration::from_secs(3600);
    let patient = Backoff { first: hour, max: hour };
    let (_reconciler, services) = services_with(&store, &engine, CancellationToken::new(), patient);
    let failed = || async {
        let stream = store.stream_by_uid("u1").await.unwrap().unwrap();
        stream
            .observed
            .conditions
            .iter()
            .any(|condition| condition.reason == "AuthenticationFailed")
    };
    crate::testing::wait_until("the stream waits", failed).await;
    refuse(None);
    services.announce_connection(&stream_spec::name::ConnectionName::parse("kafka").unwrap());
    crate::testing::wait_until("the stream runs", || async { engine.running() == 1 }).await;
}

#[tokio::test]
async fn a_referenced_secret_is_read_at_each_opening_and_its_change_shows() {
    let mut agent = Agent::start().await;
    let referring = || {
        with(|kafka| {
            kafka.password_secret = Some(v1::SecretRef {
                scope: "pay".into(),
                key: "pw".into(),
            });
        })
    };
    let made = agent.create_connection(referring()).await.unwrap();
    let steps = agent
        .test(v1::test_connection_request::Target::Name("second".into()))
        .await
        .unwrap();
    assert!(!steps[2].ok && steps[2].message.contains("`pay`"), "{steps:?}");
    agent.put_secret("pay", "pw", SECRET).await;
    assert_eq!(agent.password_of("second").await, SECRET);
    let mut revisions = BTreeMap::from([(made.secrets_revision, "none")]);
    for value in ["one", "two"] {
        agent.put_secret("pay", "pw", value).await;
        assert_eq!(agent.password_of("second").await, value);
        let request = v1::GetConnectionRequest { name: "second".into() };
        let seen = agent
            .connections
            .get_connection(request)
            .await
            .unwrap()
            .into_inner()
            .connection
            .unwrap();
        assert!(
            revisions.insert(seen.secrets_revision, value).is_none(),
            "each write is another revision"
        );
    }
    let identities: Vec<String> = {
        let world = agent.engine.world.lock().unwrap();
        world.tried.iter().map(|tried| tried.identity.clone()).collect()
    };
    assert!(identities.windows(2).all(|pair| pair[0] != pair[1]), "{identities:?}");
    let both = with(|kafka| {
        kafka.password = Some(SECRET.into());
        kafka.password_secret = Some(v1::SecretRef {
            scope: "pay".into(),
            key: "pw".into(),
        });
    });
    let refused = agent.update_connection(both, &["kafka"]).await.unwrap_err();
    assert!(refused.message().contains("keep one of the two"), "{refused:?}");
    // A literal one in the place of the reference, and back.
    agent.update_connection(with_password("mine"), &["kafka"]).await.unwrap();
    assert_eq!(agent.password_of("second").await, "mine");
    let back = agent.update_connection(referring(), &["kafka.password_secret"]).await.unwrap();
    assert_eq!(agent.password_of("second").await, "two");
    let scope = ScopeId::Connection(back.uid);
    assert!(agent.store.list_secrets(&scope, None, 9).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_plan_may_stand_in_for_a_secret_and_knows_of_the_one_that_is_kept() {
    let mut agent = Agent::start().await;
    for (connection, expected) in [(with(|_| {}), 1), (with_password(""), 0), (with_password(SECRET), 0)] {
        let request = v1::CheckConnectionRequest {
            connection: Some(connection),
        };
        let checked = agent.connections.check_connection(request).await.unwrap().into_inner();
        assert_eq!(checked.violations.len(), expected, "{checked:?}");
    }
    let empty = agent.create_connection(with_password("")).await.unwrap_err();
    assert_eq!(empty.code(), Code::InvalidArgument);
    agent.create_connection(with_password(SECRET)).await.unwrap();
    let request = v1::CheckConnectionRequest {
        connection: Some(with(|_| {})),
    };
    let checked = agent.connections.check_connection(request).await.unwrap().into_inner();
    assert!(checked.violations.is_empty(), "{checked:?}");
}

#[tokio::test]
async fn a_check_tells_of_secrets_and_credentials_that_are_not_there() {
    let mut agent = Agent::start().await;
    let secret = |key: &str| {
        Some(v1::SecretRef {
            scope: "payments".into(),
            key: key.into(),
        })
    };
    let referring = with(|kafka| {
        kafka.password_secret = secret("kafka");
        kafka.schema_registry_url = Some("https://registry".into());
        kafka.schema_registry_api_key = Some("ada".into());
        kafka.schema_registry_api_secret_ref = secret("registry");
    });
    let signing = with(|kafka| {
        (kafka.sasl_mechanism, kafka.user) = (None, None);
        kafka.credential = Some("reader".into());
    });
    for (made, connection, expected) in [
        (
            "",
            &referring,
            &["kafka.password_secret", "kafka.schema_registry_api_secret_ref"][..],
        ),
        ("kafka", &referring, &["kafka.schema_registry_api_secret_ref"]),
        ("registry", &referring, &[]),
        ("", &signing, &["kafka.credential"]),
    ] {
        if !made.is_empty() {
            agent.put_secret("payments", made, SECRET).await;
        }
        let connection = Some(connection.clone());
        let checked = agent.connections.check_connection(v1::CheckConnectionRequest { connection }).await;
        let checked = checked.unwrap().into_inner();
        let warned: Vec<&str> = checked.warnings.iter().map(|warning| warning.field.as_str()).collect();
        assert_eq!(warned, expected, "{checked:?}");
        assert!(checked.violations.is_empty(), "what is not there may come: {checked:?}");
    }
}
