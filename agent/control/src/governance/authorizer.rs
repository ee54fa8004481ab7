//! Decides by the table of rules over what the store has: grants, owners, and which names there are. The invariant: a
//! refusal is the same for a name that exists and for one that does not, and a caller learns that a name does not exist only
//! where it would see what has that name. Who is let through is told which life of the name was looked at, and never let
//! through for a name that nothing has: what gets the name a moment later was not judged.

use std::sync::Arc;

use async_trait::async_trait;
use stream_spec::name::{ConnectionName, StreamName, TableName};
use stream_spec::stream::StreamSpec;

use super::denial::{Denial, Missing};
use super::grants::Grants;
use super::named::{self, Place};
use super::privilege::{Privilege, SecurableType};
use super::rules::{CREATE_STREAM, Need, On, Rule, rule};
use super::{Action, Allowed, Authorizer, Listed, Principal, RequestContext, Securable, SecurableKind};
use crate::services::error::{Kind, ServiceError};
use crate::store::documents::{self, CredentialRecord, FormerStreamRecord, ScopeRecord, VolumeRecord};
use crate::store::{Store, StoreError};

/// Decides by the grants in a store.
pub struct GrantAuthorizer {
    store: Arc<dyn Store>,
}

/// One need, with the place where it is to be met.
struct Wanted {
    need: Need,
    /// What is enough here: more than the need where there is nothing yet that could be harmed.
    enough: Vec<Privilege>,
    place: Place,
    owner: Owner,
    shown: String,
    life: Life,
}

/// What has the name that a request is about.
enum Life {
    /// The need is not on what the request is about, or that has no lives.
    Elsewhere,
    /// One of this uid.
    Uid(String),
    /// Nothing of that kind.
    Nothing(Kind),
}

/// What comes of a request.
enum Judged {
    /// The caller may, with the life of that uid if there is one.
    May(Option<String>),
    /// The caller may learn that there is nothing.
    Nothing(Kind),
    /// The caller lacks this; nothing of it where only the admin group may.
    Lacks(Vec<Missing>),
}

/// Who owns a place.
enum Owner {
    /// This one, or nobody.
    Known(Option<String>),
    /// To be looked up where the grants alone do not settle it.
    LookUp,
}

impl GrantAuthorizer {
    /// An authorizer over this store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// What a principal lacks to run a stream as it is declared.
    pub async fn missing_to_run(&self, principal: &Principal, spec: &StreamSpec) -> Result<Vec<Missing>, StoreError> {
        match self.judge(principal, CREATE_STREAM, Securable::NewStream(spec)).await? {
            Judged::Lacks(missing) => Ok(missing),
            Judged::May(_) | Judged::Nothing(_) => Ok(Vec::new()),
        }
    }

    async fn decide(&self, principal: &Principal, action: Action, securable: Securable<'_>) -> Result<Judged, StoreError> {
        let kind = securable.kind();
        let needs = match rule(action, kind) {
            _ if principal.name().is_empty() => return Ok(Judged::Lacks(Vec::new())),
            Rule::Never => return Ok(Judged::Lacks(Vec::new())),
            _ if principal.is_admin() => return Ok(Judged::May(None)),
            Rule::Anyone | Rule::Filtered => return Ok(Judged::May(None)),
            Rule::Admins => return Ok(Judged::Lacks(Vec::new())),
            Rule::Themselves => {
                let is_own = matches!(securable, Securable::Tokens(whose) if whose == principal.name());
                return Ok(if is_own { Judged::May(None) } else { Judged::Lacks(Vec::new()) });
            }
            Rule::AsCreateOrUpdate if self.sees(principal, securable).await? => rule(Action::Update, kind),
            Rule::AsCreateOrUpdate => rule(Action::Create, kind),
            needs @ Rule::Needs(_) => needs,
        };
        match needs {
            Rule::Needs(needs) => self.judge(principal, needs, securable).await,
            _ => Ok(Judged::Lacks(Vec::new())),
        }
    }

    /// Whether there is something of that name, and the caller may read it.
    async fn sees(&self, principal: &Principal, securable: Securable<'_>) -> Result<bool, StoreError> {
        let (kind, place) = match securable {
            Securable::NewStream(spec) => {
                let Some(found) = self.store.stream_by_name(&spec.name).await? else {
                    return Ok(false);
                };
                let table = found.declared.spec.ingestion.destination.to_string();
                (SecurableKind::Stream, (SecurableType::Table, table))
            }
            Securable::DeclaredConnection(spec) => {
                let place = (SecurableType::Connection, spec.name.to_string());
                if self.owner(&place).await?.is_none() {
                    return Ok(false);
                }
                (SecurableKind::Connection, place)
            }
            _ => return Ok(false),
        };
        self.hold(principal, read_by(kind), &place, &Owner::LookUp).await
    }

    async fn judge(&self, principal: &Principal, needs: &[Need], securable: Securable<'_>) -> Result<Judged, StoreError> {
        if principal.is_admin() {
            return Ok(Judged::May(None));
        }
        // What has the name is read before the grants, which go with it: those of a later life are of no use to this one.
        let mut wanted = Vec::new();
        for need in needs {
            match need.on {
                On::Itself => wanted.extend(self.itself(principal, *need, securable).await?),
                on => {
                    let places = self.places(securable, on).await?;
                    wanted.extend(places.into_iter().map(|place| elsewhere(*need, place)));
                }
            }
        }
        let places = wanted.iter().map(|wanted| (wanted.place.0, wanted.place.1.as_str()));
        let grants = Grants::on(&self.store, places).await?;
        let (mut missing, mut uid, mut nothing) = (Vec::new(), None, None);
        for wanted in wanted {
            let given = grants.give(principal, &wanted.enough, wanted.place.0, &wanted.place.1);
            if !given && !self.owns(principal, &wanted.place, &wanted.owner).await? {
                missing.push(Missing {
                    any: wanted.need.any,
                    on: wanted.need.on,
                    place: wanted.shown,
                });
            }
            match wanted.life {
                Life::Elsewhere => {}
                Life::Uid(found) => uid = Some(found),
                Life::Nothing(kind) => nothing = Some(kind),
            }
        }
        // Who may not use a connection is not told which credential it has.
        if missing.iter().any(|missing| missing.on == On::Connections) {
            missing.retain(|missing| missing.on != On::Credentials);
        }
        Ok(match nothing {
            _ if !missing.is_empty() => Judged::Lacks(missing),
            Some(kind) => Judged::Nothing(kind),
            None => Judged::May(uid),
        })
    }

    /// The places of a need that are not what the request is about.
    async fn places(&self, securable: Securable<'_>, on: On) -> Result<Vec<Place>, StoreError> {
        match (securable, on) {
            (Securable::NewStream(spec), On::Credentials) => {
                let mut credentials = Vec::new();
                for name in named::connections(spec) {
                    let record = self.store.connection(name).await?;
                    credentials.extend(record.and_then(|record| named::credential(&record.spec)));
                }
                Ok(credentials
                    .into_iter()
                    .map(|credential| (SecurableType::ServiceCredential, credential))
                    .collect())
            }
            (Securable::NewStream(spec), on) => Ok(named::in_stream(spec, on)),
            (Securable::DeclaredConnection(spec), on) => Ok(named::in_connection(spec, on)),
            _ => Ok(Vec::new()),
        }
    }

    /// The need on what the request is about. Nothing of that name: it is met where the caller would see what has it.
    async fn itself(&self, principal: &Principal, need: Need, securable: Securable<'_>) -> Result<Option<Wanted>, StoreError> {
        let (kind, place) = match securable {
            Securable::Stream(name) => return self.stream(principal, need, name).await.map(Some),
            Securable::NewStream(spec) => return self.stream(principal, need, &spec.name).await.map(Some),
            Securable::Connection(name) => (Kind::Connection, (SecurableType::Connection, name.to_string())),
            Securable::DeclaredConnection(spec) => (Kind::Connection, (SecurableType::Connection, spec.name.to_string())),
            Securable::Credential(name) => (Kind::Credential, (SecurableType::ServiceCredential, name.to_string())),
            Securable::SecretScope(name) => (Kind::Scope, (SecurableType::SecretScope, name.to_string())),
            Securable::Volume(name) => (Kind::Volume, (SecurableType::Volume, name.to_string())),
            Securable::Grants(securable_type, name) => return self.granted_on(need, (securable_type, name.to_owned())).await.map(Some),
            Securable::Agent
            | Securable::Streams(_)
            | Securable::Connections
            | Securable::Credentials
            | Securable::SecretScopes
            | Securable::Volumes(_)
            | Securable::AllGrants
            | Securable::Tokens(_)
            | Securable::Unreadable => return Ok(None),
        };
        let found = self.found(&place).await?;
        let mut wanted = elsewhere(need, place);
        if found.is_none() && kind == Kind::Volume {
            wanted.enough.extend(read_by(SecurableKind::Volume));
        }
        let (life, owner) = found.map_or((Life::Nothing(kind), None), |(uid, owner)| (Life::Uid(uid), Some(owner)));
        Ok(Some(Wanted {
            life,
            owner: Owner::Known(owner),
            ..wanted
        }))
    }

    /// The need on what grants are on. What nothing has, or what has no lives, is judged by what is granted there and above.
    async fn granted_on(&self, need: Need, place: Place) -> Result<Wanted, StoreError> {
        let found = self.found(&place).await?;
        let (life, owner) = found.map_or((Life::Elsewhere, None), |(uid, owner)| (Life::Uid(uid), Some(owner)));
        Ok(Wanted {
            life,
            owner: Owner::Known(owner),
            ..elsewhere(need, place)
        })
    }

    /// The need on a stream: on its table, or, if there is none, on the schema that its name is in.
    async fn stream(&self, principal: &Principal, need: Need, name: &StreamName) -> Result<Wanted, StoreError> {
        let shown = "its ingestion table".to_owned();
        if let Some(record) = self.store.stream_by_name(name).await? {
            return Ok(Wanted {
                need,
                enough: need.any.to_vec(),
                place: (SecurableType::Table, record.declared.spec.ingestion.destination.to_string()),
                owner: Owner::Known(Some(record.declared.created_by)),
                shown,
                life: Life::Uid(record.uid),
            });
        }
        let former = documents::get::<FormerStreamRecord>(&self.store, name.as_str()).await?;
        let saw_it = former.is_some_and(|former| former.readers.iter().any(|reader| principal.is_or_is_in(reader)));
        let mut enough = need.any.to_vec();
        enough.extend(read_by(SecurableKind::Stream));
        Ok(Wanted {
            need,
            enough,
            place: (SecurableType::Schema, named::schema_of(name.catalog(), name.schema())),
            owner: Owner::Known(saw_it.then(|| principal.name().to_owned())),
            shown,
            life: Life::Nothing(Kind::Stream),
        })
    }

    async fn hold(&self, principal: &Principal, any: &[Privilege], place: &Place, owner: &Owner) -> Result<bool, StoreError> {
        if principal.is_admin() {
            return Ok(true);
        }
        let grants = Grants::on(&self.store, std::iter::once((place.0, place.1.as_str()))).await?;
        Ok(grants.give(principal, any, place.0, &place.1) || self.owns(principal, place, owner).await?)
    }

    async fn owns(&self, principal: &Principal, place: &Place, owner: &Owner) -> Result<bool, StoreError> {
        Ok(match owner {
            Owner::Known(owner) => owner.as_deref() == Some(principal.name()),
            Owner::LookUp => self.owner(place).await?.as_deref() == Some(principal.name()),
        })
    }

    /// The owner of what is there; `None` where nothing is, and for catalogs and schemas, which nobody owns.
    async fn owner(&self, place: &Place) -> Result<Option<String>, StoreError> {
        Ok(self.found(place).await?.map(|(_, owner)| owner))
    }

    /// Uid and owner of what is there; for a table, of its stream.
    async fn found(&self, (securable_type, name): &Place) -> Result<Option<(String, String)>, StoreError> {
        let store = &self.store;
        Ok(match securable_type {
            SecurableType::Catalog | SecurableType::Schema => None,
            SecurableType::Table => {
                let Ok(table) = TableName::parse(name) else { return Ok(None) };
                let Some(stream) = store.stream_of_table(&table).await? else {
                    return Ok(None);
                };
                store
                    .stream_by_name(&stream)
                    .await?
                    .map(|record| (record.uid, record.declared.created_by))
            }
            SecurableType::Connection => {
                let Ok(name) = ConnectionName::parse(name) else { return Ok(None) };
                store.connection(&name).await?.map(|record| (record.uid, record.created_by))
            }
            SecurableType::ServiceCredential => documents::get::<CredentialRecord>(store, name)
                .await?
                .map(|record| (record.authorship.uid, record.authorship.created_by)),
            SecurableType::SecretScope => documents::get::<ScopeRecord>(store, name)
                .await?
                .map(|record| (record.authorship.uid, record.authorship.created_by)),
            SecurableType::Volume => documents::get::<VolumeRecord>(store, name)
                .await?
                .map(|record| (record.authorship.uid, record.authorship.created_by)),
        })
    }
}

/// A need at a place of its own.
fn elsewhere(need: Need, place: Place) -> Wanted {
    let shown = format!("the {} `{}`", place.0.noun(), place.1);
    Wanted {
        need,
        enough: need.any.to_vec(),
        place,
        owner: Owner::LookUp,
        shown,
        life: Life::Elsewhere,
    }
}

/// What lets a caller read something of that kind.
fn read_by(kind: SecurableKind) -> &'static [Privilege] {
    match rule(Action::Read, kind) {
        Rule::Needs([need]) => need.any,
        _ => &[],
    }
}

#[async_trait]
impl Authorizer for GrantAuthorizer {
    async fn authorize(&self, context: &RequestContext, action: Action, securable: Securable<'_>) -> Result<Allowed, ServiceError> {
        crate::audit::asked(action, &securable);
        match self.decide(&context.principal, action, securable).await? {
            Judged::May(uid) => Ok(Allowed { uid }),
            Judged::Nothing(kind) => Err(ServiceError::NotFound {
                kind,
                name: securable.name(),
            }),
            Judged::Lacks(missing) => Err(ServiceError::PermissionDenied(Box::new(Denial {
                principal: context.principal.name().to_owned(),
                doing: format!("{} {securable}", action.verb()),
                missing,
            }))),
        }
    }

    async fn readable(&self, principal: &Principal, kind: SecurableKind, listed: &[Listed<'_>]) -> Result<Vec<bool>, ServiceError> {
        if principal.is_admin() {
            return Ok(vec![true; listed.len()]);
        }
        let any = read_by(kind);
        let grants = Grants::on(&self.store, listed.iter().map(|listed| (listed.securable_type, listed.name))).await?;
        let mut readable = Vec::with_capacity(listed.len());
        for item in listed {
            let owned = match item.owner {
                Some(owner) => owner == principal.name(),
                None => {
                    let place = (item.securable_type, item.name.to_owned());
                    self.owns(principal, &place, &Owner::LookUp).await?
                }
            };
            readable.push(owned || grants.give(principal, any, item.securable_type, item.name));
        }
        Ok(readable)
    }

    async fn holds(
        &self,
        principal: &Principal,
        privilege: Privilege,
        securable_type: SecurableType,
        name: &str,
    ) -> Result<bool, ServiceError> {
        let place = (securable_type, name.to_owned());
        Ok(self.hold(principal, &[privilege], &place, &Owner::LookUp).await?)
    }
}
