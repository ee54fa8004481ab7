//! Every rule with each of its privileges taken away, one at a time, and put elsewhere: made from the table that the
//! documentation is made from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use stream_spec::connection::{ConnectionOptions, ConnectionSpec};
use stream_spec::name::{ConnectionName, CredentialName, ScopeName, StreamName, TableName, VolumeName};
use stream_spec::stream::{ConnectionConfig, DirectMtlsConfig, MtlsConfig, SchemaConfig, SchemaRegistryConfig, SecretRef, StreamSpec};

use super::calls::Call;
use super::privilege::{Privilege, SecurableType};
use super::rules::{Need, On, Rule, rule};
use super::{Action, Authorizer, GrantAuthorizer, Principal, RequestContext, Securable, SecurableKind};
use crate::services::error::ServiceError;
use crate::store::documents::{self, Authorship, CredentialIdentity, CredentialRecord, GrantsRecord, ScopeRecord, VolumeRecord};
use crate::store::records::ConnectionRecord;
use crate::store::sqlite::SqliteStore;
use crate::store::{LiteralSecrets, Store};
use crate::testing::definitions::{connection, declared, stream};

const OWNER: &str = "owner";

type Place = (SecurableType, &'static str);

/// Everywhere that something is granted.
const PLACES: [Place; 10] = [
    (SecurableType::Catalog, "main"),
    (SecurableType::Schema, "main.pay"),
    (SecurableType::Schema, "main.old"),
    (SecurableType::Table, "main.pay.orders_raw"),
    (SecurableType::Table, "main.old.orders"),
    (SecurableType::Connection, "msk"),
    (SecurableType::ServiceCredential, "role"),
    (SecurableType::SecretScope, "keys"),
    (SecurableType::Volume, "main.pay.files"),
    (SecurableType::Connection, "elsewhere"),
];

/// The grants on one place.
type Grants = BTreeMap<String, BTreeSet<Privilege>>;

struct World {
    store: Arc<dyn Store>,
    authorizer: GrantAuthorizer,
    granted: Mutex<BTreeMap<Place, Grants>>,
    _folder: tempfile::TempDir,
}

/// What is granted, and to whom.
type Granted = BTreeMap<Place, BTreeSet<Privilege>>;

impl World {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&folder.path().join("agent.db")).await.unwrap());
        for name in ["msk", "elsewhere", "kafka"] {
            let record = ConnectionRecord {
                spec: connection_spec(name),
                created_by: OWNER.into(),
                ..connection(name)
            };
            store.insert_connection(&record, &LiteralSecrets::Stay).await.unwrap();
        }
        let mut orders = declared("main.pay.orders");
        orders.created_by = OWNER.into();
        store.insert_stream("u1", &orders).await.unwrap();
        let authorship = Authorship {
            uid: "u".into(),
            create_time_ms: 0,
            created_by: OWNER.into(),
            update_time_ms: 0,
            updated_by: OWNER.into(),
            create_request_id: String::new(),
        };
        let credential = CredentialRecord {
            name: CredentialName::parse("role").unwrap(),
            generation: 1,
            authorship: authorship.clone(),
            identity: CredentialIdentity::Ambient,
        };
        assert!(documents::insert(&store, &credential).await.unwrap());
        let scope = ScopeRecord {
            name: ScopeName::parse("keys").unwrap(),
            generation: 1,
            authorship: authorship.clone(),
        };
        assert!(documents::insert(&store, &scope).await.unwrap());
        let volume = VolumeRecord {
            name: VolumeName::parse("main.pay.files").unwrap(),
            generation: 1,
            authorship,
            storage_location: "/srv/files".into(),
        };
        assert!(documents::insert(&store, &volume).await.unwrap());
        Self {
            authorizer: GrantAuthorizer::new(store.clone()),
            store,
            granted: Mutex::default(),
            _folder: folder,
        }
    }

    /// Grants this to `who` and nothing else to anybody.
    async fn grant(&self, who: &str, granted: &Granted) {
        for place in PLACES {
            let privileges = granted.get(&place).cloned().unwrap_or_default();
            let grants = match privileges.is_empty() {
                true => BTreeMap::new(),
                false => BTreeMap::from([(who.to_owned(), privileges)]),
            };
            // Each write is synced: only what differs is written.
            let before = self.granted.lock().unwrap().insert(place, grants.clone());
            if before.unwrap_or_default() == grants {
                continue;
            }
            let record = GrantsRecord {
                securable_type: place.0,
                securable_name: place.1.to_owned(),
                generation: 0,
                grants,
                update_time_ms: 0,
                updated_by: String::new(),
            };
            self.store.set_grants(0, &record).await.unwrap();
        }
    }

    /// What the authorizer says to a principal with these groups; the text of a refusal.
    async fn ask(&self, who: &str, groups: &[&str], action: Action, securable: Securable<'_>) -> Result<(), String> {
        let groups = groups.iter().map(|group| (*group).to_owned()).collect();
        let context = RequestContext {
            principal: Principal::new(who, groups),
            request_id: "r".into(),
        };
        match self.authorizer.authorize(&context, action, securable).await {
            Ok(_) => Ok(()),
            Err(error @ (ServiceError::PermissionDenied(_) | ServiceError::NotFound { .. })) => Err(error.to_string()),
            Err(error) => panic!("{error}"),
        }
    }
}

fn connection_spec(name: &str) -> ConnectionSpec {
    let mut spec = connection(name).spec;
    if let ConnectionOptions::Kafka(kafka) = &mut spec.options {
        kafka.credential = Some("role".into());
        kafka.password_secret = Some(secret());
    }
    spec
}

fn secret() -> SecretRef {
    SecretRef {
        scope: "keys".into(),
        key: "k".into(),
    }
}

/// A stream by a connection, a registry and with a backfill.
fn by_connection() -> StreamSpec {
    let mut spec = stream("main.pay.fresh");
    spec.connection = ConnectionConfig::UcConnectionName(ConnectionName::parse("msk").unwrap());
    spec.schemas = SchemaConfig::Registry(SchemaRegistryConfig {
        uc_connection: None,
        api_secret_ref: Some(secret()),
        payload: None,
        key: None,
    });
    spec.ingestion.backfill_source = Some(TableName::parse("main.old.orders").unwrap());
    spec
}

/// A stream by client certificate.
fn by_certificate() -> StreamSpec {
    let mut spec = stream("main.pay.fresh");
    spec.connection = ConnectionConfig::DirectMtls(DirectMtlsConfig {
        bootstrap_servers: "broker:9093".into(),
        mtls: MtlsConfig {
            keystore_location: "/Volumes/main/pay/files/client.jks".into(),
            truststore_location: "/Volumes/main/pay/files/trust.jks".into(),
            keystore_password_ref: secret(),
            key_password_ref: secret(),
            truststore_password_ref: secret(),
            disable_hostname_verification: false,
        },
    });
    spec
}

/// Where a need of a request is to be met; `None` where the request has no such thing.
fn place(need: Need, securable: Securable<'_>) -> Option<Place> {
    let certificate = matches!(securable, Securable::NewStream(spec) if matches!(spec.connection, ConnectionConfig::DirectMtls(_)));
    let (table, backfill) = (
        (SecurableType::Table, "main.pay.orders_raw"),
        (SecurableType::Table, "main.old.orders"),
    );
    match need.on {
        On::Itself => Some(match securable.kind() {
            SecurableKind::Connection | SecurableKind::DeclaredConnection => (SecurableType::Connection, "msk"),
            SecurableKind::Credential => (SecurableType::ServiceCredential, "role"),
            SecurableKind::SecretScope => (SecurableType::SecretScope, "keys"),
            SecurableKind::Volume => (SecurableType::Volume, "main.pay.files"),
            _ => table,
        }),
        On::Catalog => Some((SecurableType::Catalog, "main")),
        On::Schema => Some((SecurableType::Schema, "main.pay")),
        On::Connections => (!certificate).then_some((SecurableType::Connection, "msk")),
        On::Credentials => (!certificate).then_some((SecurableType::ServiceCredential, "role")),
        On::Scopes => Some((SecurableType::SecretScope, "keys")),
        On::Volumes => certificate.then_some((SecurableType::Volume, "main.pay.files")),
        On::BackfillSource => (!certificate).then_some(backfill),
    }
}

/// What a place is in.
fn above(place: Place) -> &'static [Place] {
    match place {
        (SecurableType::Table, "main.old.orders") => &[(SecurableType::Schema, "main.old"), (SecurableType::Catalog, "main")],
        (SecurableType::Table | SecurableType::Volume, _) => &[(SecurableType::Schema, "main.pay"), (SecurableType::Catalog, "main")],
        (SecurableType::Schema, _) => &[(SecurableType::Catalog, "main")],
        _ => &[],
    }
}

/// One rule: allowed with all of it, held directly, by a group or above; denied without any one part.
async fn check(world: &World, action: Action, securable: Securable<'_>, needs: &[Need]) {
    let what = format!("{} {securable}", action.verb());
    let needs: Vec<(Need, Place)> = needs.iter().filter_map(|need| Some((*need, place(*need, securable)?))).collect();
    // Need `at` is met by another privilege or at another place, or not at all.
    let granted = |at: usize, instead: Option<(Place, Privilege)>| {
        let mut granted = Granted::new();
        for (number, (need, place)) in needs.iter().enumerate() {
            let (place, privilege) = match (number == at, instead) {
                (true, None) => continue,
                (true, Some(instead)) => instead,
                (false, _) => (*place, need.any[0]),
            };
            granted.entry(place).or_default().insert(privilege);
        }
        granted
    };
    let all = granted(usize::MAX, None);
    world.grant("team", &all).await;
    world.ask("bob", &["team"], action, securable).await.unwrap();
    assert!(
        world.ask("bob", &["other"], action, securable).await.is_err(),
        "{what}: by another group"
    );
    world.grant("bob", &all).await;
    world.ask("bob", &[], action, securable).await.unwrap();
    for (at, (need, place)) in needs.iter().enumerate() {
        world.grant("bob", &granted(at, None)).await;
        let refusal = world.ask("bob", &[], action, securable).await.expect_err(&what);
        assert!(refusal.contains(need.any[0].name()), "{what} without {need:?}: {refusal}");
        for privilege in need.any {
            for place in std::iter::once(place).chain(above(*place)) {
                world.grant("bob", &granted(at, Some((*place, *privilege)))).await;
                let answer = world.ask("bob", &[], action, securable).await;
                assert_eq!(answer, Ok(()), "{what} with {privilege} on {place:?}");
            }
        }
        for other in Privilege::ALL.iter().filter(|other| !need.any.contains(other)) {
            world.grant("bob", &granted(at, Some((*place, *other)))).await;
            assert!(
                world.ask("bob", &[], action, securable).await.is_err(),
                "{what} with {other} for {need:?}"
            );
        }
    }
}

/// What each call asks for, on something that is there.
fn securables<'a>(kind: SecurableKind, names: &'a Names) -> Vec<Securable<'a>> {
    match kind {
        SecurableKind::Agent => vec![Securable::Agent],
        SecurableKind::Stream => vec![Securable::Stream(&names.stream)],
        SecurableKind::NewStream => vec![
            Securable::NewStream(&names.by_connection),
            Securable::NewStream(&names.by_certificate),
        ],
        SecurableKind::Connection => vec![Securable::Connection(&names.connection.name)],
        SecurableKind::DeclaredConnection => vec![Securable::DeclaredConnection(&names.connection)],
        SecurableKind::Connections => vec![Securable::Connections],
        SecurableKind::Credential => vec![Securable::Credential(&names.credential)],
        SecurableKind::Credentials => vec![Securable::Credentials],
        SecurableKind::SecretScope => vec![Securable::SecretScope(&names.scope)],
        SecurableKind::SecretScopes => vec![Securable::SecretScopes],
        SecurableKind::Volume => vec![Securable::Volume(&names.volume)],
        SecurableKind::Streams => vec![Securable::Streams(&names.parent)],
        SecurableKind::Volumes => vec![Securable::Volumes(&names.parent)],
        SecurableKind::Grants => vec![Securable::Grants(SecurableType::Table, &names.table)],
        SecurableKind::AllGrants => vec![Securable::AllGrants],
        SecurableKind::Tokens => vec![Securable::Tokens("owner")],
    }
}

struct Names {
    stream: StreamName,
    table: String,
    by_connection: StreamSpec,
    by_certificate: StreamSpec,
    connection: ConnectionSpec,
    credential: CredentialName,
    scope: ScopeName,
    volume: VolumeName,
    parent: crate::store::Parent,
}

fn names(stream: &str, one: &str) -> Names {
    Names {
        stream: StreamName::parse(&format!("main.pay.{stream}")).unwrap(),
        table: format!("main.pay.{stream}_raw"),
        by_connection: by_connection(),
        by_certificate: by_certificate(),
        connection: connection_spec(if one.is_empty() { "msk" } else { one }),
        credential: CredentialName::parse(if one.is_empty() { "role" } else { one }).unwrap(),
        scope: ScopeName::parse(if one.is_empty() { "keys" } else { one }).unwrap(),
        volume: VolumeName::parse(&format!("main.pay.{}", if one.is_empty() { "files" } else { one })).unwrap(),
        parent: crate::store::Parent {
            catalog: "main".into(),
            schema: Some("pay".into()),
        },
    }
}

#[tokio::test]
async fn every_call_needs_each_of_its_privileges_wherever_it_is_held() {
    let world = World::new().await;
    let names = names("orders", "");
    let mut checked = BTreeSet::new();
    for call in Call::ALL {
        for (action, kind) in call.asks() {
            if !checked.insert(format!("{action:?} {kind:?}")) {
                continue;
            }
            for securable in securables(*kind, &names) {
                world.grant("bob", &Granted::new()).await;
                let nothing = world.ask("bob", &[], *action, securable).await;
                let admin = world.ask("root", &["admins"], *action, securable).await;
                assert_eq!(admin, Ok(()), "{call:?}");
                assert!(world.ask("", &[], *action, securable).await.is_err(), "{call:?} by nobody");
                match rule(*action, *kind) {
                    Rule::Anyone | Rule::Filtered => assert_eq!(nothing, Ok(()), "{call:?}"),
                    Rule::Admins => {
                        assert!(nothing.is_err(), "{call:?}");
                        world
                            .grant(
                                "bob",
                                &PLACES
                                    .iter()
                                    .map(|place| (*place, Privilege::ALL.iter().copied().collect()))
                                    .collect(),
                            )
                            .await;
                        assert!(world.ask("bob", &[], *action, securable).await.is_err(), "{call:?} with everything");
                    }
                    Rule::Themselves => {
                        assert!(nothing.is_err(), "{call:?}");
                        assert_eq!(world.ask(OWNER, &[], *action, securable).await, Ok(()), "{call:?}");
                    }
                    Rule::Needs(needs) => {
                        assert!(nothing.is_err(), "{call:?}");
                        if let [Need { on: On::Itself, .. }] = needs {
                            assert_eq!(world.ask(OWNER, &[], *action, securable).await, Ok(()), "{call:?} by the owner");
                        }
                        check(&world, *action, securable, needs).await;
                    }
                    Rule::AsCreateOrUpdate => {
                        assert!(nothing.is_err(), "{call:?}");
                        // Nothing that bob may read has the name: as a create.
                        if let Rule::Needs(needs) = rule(Action::Create, *kind) {
                            check(&world, *action, securable, needs).await;
                        }
                    }
                    Rule::Never => panic!("{call:?} asks for something without a rule"),
                }
            }
        }
    }
    assert!(checked.len() > 25, "{checked:?}");
}

#[tokio::test]
async fn a_check_of_what_is_there_needs_what_its_change_would() {
    let world = World::new().await;
    let spec = stream("main.pay.orders");
    let table = (SecurableType::Table, "main.pay.orders_raw");
    let check = Securable::NewStream(&spec);
    for (privilege, expected) in [(Privilege::Select, false), (Privilege::Manage, true)] {
        world.grant("bob", &Granted::from([(table, BTreeSet::from([privilege]))])).await;
        assert_eq!(world.ask("bob", &[], Action::Check, check).await.is_ok(), expected, "{privilege}");
    }
    let declared = connection_spec("msk");
    let check = Securable::DeclaredConnection(&declared);
    let all = Granted::from([
        ((SecurableType::Connection, "msk"), BTreeSet::from([Privilege::Manage])),
        ((SecurableType::ServiceCredential, "role"), BTreeSet::from([Privilege::Access])),
        ((SecurableType::SecretScope, "keys"), BTreeSet::from([Privilege::Read])),
    ]);
    for left_out in all.keys().map(Some).chain([None]) {
        let granted = all.iter().filter(|(place, _)| Some(*place) != left_out);
        world
            .grant("bob", &granted.map(|(place, held)| (*place, held.clone())).collect())
            .await;
        for action in [Action::Check, Action::Test, Action::Update] {
            assert_eq!(
                world.ask("bob", &[], action, check).await.is_ok(),
                left_out.is_none(),
                "{action:?} without {left_out:?}"
            );
        }
    }
}

/// A text in which all names are the same.
fn without_names(text: &str) -> String {
    let names = [
        "main.pay.orders_raw",
        "main.pay.absent_raw",
        "main.pay.orders",
        "main.pay.absent",
        "main.pay.files",
    ];
    let names = names.into_iter().chain(["absent", "msk", "role", "keys"]);
    names.fold(text.to_owned(), |text, name| text.replace(&format!("`{name}`"), "`…`"))
}

#[tokio::test]
async fn a_refusal_is_the_same_for_what_is_there_and_for_what_is_not() {
    let world = World::new().await;
    let (there, away) = (names("orders", ""), names("absent", "absent"));
    let elsewhere = Granted::from([
        ((SecurableType::Schema, "main.old"), Privilege::ALL.iter().copied().collect()),
        ((SecurableType::Connection, "elsewhere"), Privilege::ALL.iter().copied().collect()),
        // What it takes to create streams is not what it takes to see them.
        (
            (SecurableType::Schema, "main.pay"),
            BTreeSet::from([Privilege::UseSchema, Privilege::CreateTable]),
        ),
    ]);
    world.grant("bob", &elsewhere).await;
    for call in Call::ALL {
        for (action, kind) in call.asks().iter().filter(|(action, _)| *action != Action::Create) {
            for (there, away) in securables(*kind, &there).into_iter().zip(securables(*kind, &away)) {
                if !matches!(rule(*action, *kind), Rule::Needs(_)) {
                    continue;
                }
                let refusal = world.ask("bob", &[], *action, there).await.expect_err("denied");
                let unknown = world.ask("bob", &[], *action, away).await.expect_err("denied");
                assert_eq!(without_names(&refusal), without_names(&unknown), "{call:?}");
            }
        }
    }
    // Who would see it is told that it is not there, and is not let through: what has the name a moment later was not judged.
    for (who, privilege) in [("ann", Privilege::Select), ("zoe", Privilege::Manage)] {
        world
            .grant(
                who,
                &Granted::from([((SecurableType::Schema, "main.pay"), BTreeSet::from([privilege]))]),
            )
            .await;
        for action in [Action::Read, Action::Update, Action::Operate, Action::Delete] {
            let told = world.ask(who, &[], action, Securable::Stream(&away.stream)).await;
            assert_eq!(told, Err("there is no stream `main.pay.absent`".to_owned()), "{action:?} by {who}");
        }
    }
    world
        .grant(
            "ann",
            &Granted::from([((SecurableType::Schema, "main.pay"), BTreeSet::from([Privilege::ReadVolume]))]),
        )
        .await;
    let told = world.ask("ann", &[], Action::Delete, Securable::Volume(&away.volume)).await;
    assert_eq!(told, Err("there is no volume `main.pay.absent`".to_owned()));
}

#[tokio::test]
async fn a_stream_needs_the_schema_of_its_name_as_well_as_that_of_its_table() {
    let world = World::new().await;
    let mut spec = stream("main.old.fresh");
    spec.ingestion.destination = TableName::parse("main.pay.fresh_raw").unwrap();
    spec.connection = ConnectionConfig::UcConnectionName(ConnectionName::parse("msk").unwrap());
    let on_schema = BTreeSet::from([Privilege::UseSchema, Privilege::CreateTable]);
    let all = Granted::from([
        ((SecurableType::Catalog, "main"), BTreeSet::from([Privilege::UseCatalog])),
        ((SecurableType::Schema, "main.pay"), on_schema.clone()),
        ((SecurableType::Schema, "main.old"), on_schema),
        ((SecurableType::Connection, "msk"), BTreeSet::from([Privilege::UseConnection])),
        ((SecurableType::ServiceCredential, "role"), BTreeSet::from([Privilege::Access])),
    ]);
    for left_out in [Some("main.old"), Some("main.pay"), None] {
        let granted = all.iter().filter(|((_, name), _)| Some(*name) != left_out);
        world
            .grant("bob", &granted.map(|(place, held)| (*place, held.clone())).collect())
            .await;
        for action in [Action::Create, Action::Check] {
            let answer = world.ask("bob", &[], action, Securable::NewStream(&spec)).await;
            match left_out {
                None => assert_eq!(answer, Ok(()), "{action:?}"),
                Some(schema) => assert!(
                    answer.unwrap_err().contains(&format!("CREATE TABLE on the schema `{schema}`")),
                    "{action:?}"
                ),
            }
        }
    }
}

#[tokio::test]
async fn who_is_let_through_is_let_through_for_one_life_of_the_name() {
    let world = World::new().await;
    let names = names("orders", "");
    let context = RequestContext {
        principal: Principal::new(OWNER, BTreeSet::new()),
        request_id: "r".into(),
    };
    let cases = [
        (Securable::Stream(&names.stream), "u1".to_owned()),
        (Securable::Connection(&names.connection.name), connection("msk").uid),
        (Securable::Credential(&names.credential), "u".to_owned()),
        (Securable::Volume(&names.volume), "u".to_owned()),
    ];
    for (securable, uid) in cases {
        let allowed = world.authorizer.authorize(&context, Action::Delete, securable).await.unwrap();
        assert_eq!(allowed.uid.as_deref(), Some(uid.as_str()), "{securable}");
        for (meant, life) in [("", Some(uid.clone())), (uid.as_str(), Some(uid.clone())), ("another", None)] {
            assert_eq!(allowed.clone().life(meant), life, "{securable}, of {meant:?}");
        }
    }
    assert_eq!(crate::governance::Allowed::default().life("u9"), Some("u9".to_owned()));
}
