//! One of each thing, who may do what with it, and what each rule wants: what the matrix is asked about.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use stream_spec::connection::{ConnectionOptions, ConnectionSpec};
use stream_spec::name::{ConnectionName, CredentialName, ScopeName, StreamName, TableName, VolumeName};
use stream_spec::stream::{ConnectionConfig, DirectMtlsConfig, MtlsConfig, SchemaConfig, SchemaRegistryConfig, SecretRef, StreamSpec};

use crate::governance::privilege::{Privilege, SecurableType};
use crate::governance::rules::{Need, On};
use crate::governance::{Action, Authorizer, GrantAuthorizer, Principal, RequestContext, Securable, SecurableKind};
use crate::services::error::ServiceError;
use crate::store::documents::{self, Authorship, CredentialIdentity, CredentialRecord, GrantsRecord, ScopeRecord, VolumeRecord};
use crate::store::records::ConnectionRecord;
use crate::store::sqlite::SqliteStore;
use crate::store::{LiteralSecrets, Parent, Store};
use crate::testing::definitions::{connection, declared, stream};

pub(super) const OWNER: &str = "owner";

pub(super) type Place = (SecurableType, &'static str);

/// Everywhere that something is granted.
pub(super) const PLACES: [Place; 10] = [
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

pub(super) struct World {
    pub(super) store: Arc<dyn Store>,
    pub(super) authorizer: GrantAuthorizer,
    granted: Mutex<BTreeMap<Place, Grants>>,
    _folder: tempfile::TempDir,
}

/// What is granted, and to whom.
pub(super) type Granted = BTreeMap<Place, BTreeSet<Privilege>>;

impl World {
    pub(super) async fn new() -> Self {
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
        // What it uses stays, whoever may delete it.
        orders.spec.connection = ConnectionConfig::UcConnectionName(ConnectionName::parse("msk").unwrap());
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
    pub(super) async fn grant(&self, who: &str, granted: &Granted) {
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
            self.store.set_grants(None, "", &record).await.unwrap();
        }
    }

    /// What the authorizer says to a principal with these groups; the text of a refusal.
    pub(super) async fn ask(&self, who: &str, groups: &[&str], action: Action, securable: Securable<'_>) -> Result<(), String> {
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

pub(super) fn connection_spec(name: &str) -> ConnectionSpec {
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
pub(super) fn by_connection() -> StreamSpec {
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
pub(super) fn place(need: Need, securable: Securable<'_>) -> Option<Place> {
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
pub(super) fn above(place: Place) -> &'static [Place] {
    match place {
        (SecurableType::Table, "main.old.orders") => &[(SecurableType::Schema, "main.old"), (SecurableType::Catalog, "main")],
        (SecurableType::Table | SecurableType::Volume, _) => &[(SecurableType::Schema, "main.pay"), (SecurableType::Catalog, "main")],
        (SecurableType::Schema, _) => &[(SecurableType::Catalog, "main")],
        _ => &[],
    }
}

/// What each call asks for, on something that is there.
pub(super) fn securables<'a>(kind: SecurableKind, names: &'a Names) -> Vec<Securable<'a>> {
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
        SecurableKind::Tokens => vec![Securable::Tokens(OWNER)],
        SecurableKind::Unreadable => vec![Securable::Unreadable],
    }
}

pub(super) struct Names {
    pub(super) stream: StreamName,
    pub(super) table: String,
    pub(super) by_connection: StreamSpec,
    pub(super) by_certificate: StreamSpec,
    pub(super) connection: ConnectionSpec,
    pub(super) credential: CredentialName,
    pub(super) scope: ScopeName,
    pub(super) volume: VolumeName,
    pub(super) parent: Parent,
}

pub(super) fn names(stream: &str, one: &str) -> Names {
    Names {
        stream: StreamName::parse(&format!("main.pay.{stream}")).unwrap(),
        table: format!("main.pay.{stream}_raw"),
        by_connection: by_connection(),
        by_certificate: by_certificate(),
        connection: connection_spec(if one.is_empty() { "msk" } else { one }),
        credential: CredentialName::parse(if one.is_empty() { "role" } else { one }).unwrap(),
        scope: ScopeName::parse(if one.is_empty() { "keys" } else { one }).unwrap(),
        volume: VolumeName::parse(&format!("main.pay.{}", if one.is_empty() { "files" } else { one })).unwrap(),
        parent: Parent {
            catalog: "main".into(),
            schema: Some("pay".into()),
        },
    }
}

/// A text in which all names are the same.
pub(super) fn without_names(text: &str) -> String {
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
