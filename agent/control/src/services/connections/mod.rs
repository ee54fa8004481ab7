//! The calls on connections.
//!
//! `write` makes and changes them, `secrets` decides what becomes of their secrets, `attempt` tries them, `sql` runs statements
//! about them. The invariant: a connection and its literal secrets are written in one transaction.

mod attempt;
mod secrets;
mod sql;
mod write;

use std::sync::Arc;

use stream_spec::connection::ConnectionSpec;
use stream_spec::name::{ConnectionName, StreamName};
use stream_spec::violation::Violation;
use stream_spec::{capability, validate};

use super::Services;
use super::error::{Kind, ServiceError};
use super::filling::Filling;
use super::missing;
use super::page::{Page, PageRequest};
use super::users::{self, Used};
use crate::connections::secrets_revision;
use crate::governance::privilege::SecurableType;
use crate::governance::{Action, Listed, RequestContext, Securable, SecurableKind};
use crate::limits::{NAMES_IN_A_MESSAGE_MAX, USERS_LOOKED_AT_MAX};
use crate::store::DeletedConnection;
use crate::store::records::ConnectionRecord;
use crate::store::users::Users;

pub use attempt::ConnectionToTest;
pub use secrets::LiteralChanges;
use secrets::Values;
pub use sql::SqlRows;

/// The name of the one list of connections, in page tokens.
const LIST: &str = "connections";

/// A connection as a caller declares it.
#[derive(Clone, Debug)]
pub struct DeclaredConnection {
    /// What it is.
    pub spec: ConnectionSpec,
    /// Literal secrets that came with it.
    pub literals: LiteralChanges,
}

/// A connection as callers see it.
#[derive(Clone, Debug)]
pub struct ConnectionView {
    /// What is stored.
    pub record: ConnectionRecord,
    /// Another text each time that a secret was written, be it one of a scope; empty without secrets.
    pub secrets_revision: String,
}

/// What would come of a connection's declaration.
#[derive(Clone, Debug, Default)]
pub struct CheckedConnection {
    /// What is wrong with it.
    pub violations: Vec<Violation>,
    /// What this agent cannot do yet.
    pub missing_capabilities: Vec<Violation>,
    /// What it names and what is not there: it may be when a client is opened.
    pub warnings: Vec<Violation>,
    /// Streams that use the existing connection of that name, some of those that the caller may read.
    pub used_by: Vec<StreamName>,
    /// How many use it that the caller may not read.
    pub used_by_others: usize,
}

/// Makes a new declaration from the one in force.
pub type MakeDeclaration<'a> = &'a (dyn Fn(&ConnectionSpec) -> Result<DeclaredConnection, Vec<Violation>> + Send + Sync);

/// A change of a connection.
pub struct ConnectionChange<'a> {
    /// Which connection.
    pub name: ConnectionName,
    /// The new declaration, made from the one in force.
    pub change: MakeDeclaration<'a>,
    /// Generation that the change was planned on; 0: any.
    pub generation: u64,
    /// Life of the name that is meant; empty: any.
    pub uid: String,
}

/// A connection to delete.
#[derive(Clone, Debug)]
pub struct ConnectionToDelete {
    /// Which connection.
    pub name: ConnectionName,
    /// Even if streams use it.
    pub even_if_used: bool,
    /// Life of the name that is meant; empty: any.
    pub uid: String,
}

/// The calls on connections.
#[derive(Clone)]
pub struct ConnectionService {
    services: Arc<Services>,
}

impl ConnectionService {
    /// The service over what services share.
    pub fn new(services: Arc<Services>) -> Self {
        Self { services }
    }

    /// One connection.
    pub async fn get(&self, context: &RequestContext, name: &ConnectionName) -> Result<ConnectionView, ServiceError> {
        let allowed = self
            .services
            .authorizer
            .authorize(context, Action::Read, Securable::Connection(name))
            .await?;
        let record = self.services.store.connection(name).await?.ok_or_else(|| not_found(name))?;
        if allowed.life(&record.uid).is_none() {
            return Err(not_found(name));
        }
        self.view(record).await
    }

    /// All connections, a page at a time.
    pub async fn list(&self, context: &RequestContext, page: &PageRequest) -> Result<Page<ConnectionView>, ServiceError> {
        self.services
            .authorizer
            .authorize(context, Action::List, Securable::Connections)
            .await?;
        let mut filling = Filling::begin(LIST, page)?;
        while let Some((after, count)) = filling.next()? {
            let read = self.services.store.list_connections(after, count).await?;
            let listed: Vec<_> = read.iter().map(listed).collect();
            let authorizer = &self.services.authorizer;
            let visible = authorizer.readable(&context.principal, SecurableKind::Connection, &listed).await?;
            filling.take(read, &visible, |record| record.spec.name.to_string());
        }
        let Page {
            items: records,
            next_page_token,
        } = filling.page();
        let mut items = Vec::with_capacity(records.len());
        for record in records {
            items.push(self.view(record).await?);
        }
        Ok(Page { items, next_page_token })
    }

    /// Deletes a connection and its literal secrets, one that streams use only if the caller says so.
    pub async fn delete(&self, context: &RequestContext, request: &ConnectionToDelete) -> Result<(), ServiceError> {
        let name = &request.name;
        let allowed = self
            .services
            .authorizer
            .authorize(context, Action::Delete, Securable::Connection(name))
            .await?;
        let uid = allowed.life(&request.uid).ok_or_else(|| not_found(name))?;
        match self.services.store.delete_connection(name, &uid, request.even_if_used).await? {
            DeletedConnection::Deleted => {
                tracing::info!(connection = %name, by = context.principal.name(), "deleted connection");
                self.services.announce_connection(name);
                Ok(())
            }
            DeletedConnection::Missing => Err(not_found(name)),
            DeletedConnection::InUse(streams) => {
                let used = Used {
                    field: "name",
                    value: name.as_str(),
                    what: "the connection",
                };
                let users = Users {
                    streams,
                    ..Users::default()
                };
                Err(users::in_use(&self.services, &context.principal, used, &users).await)
            }
        }
    }

    /// Says what would come of a declaration, without creating anything. Empty literal secrets stand in for ones that a plan does
    /// not know.
    pub async fn check(&self, context: &RequestContext, connection: &DeclaredConnection) -> Result<CheckedConnection, ServiceError> {
        let name = &connection.spec.name;
        self.services
            .authorizer
            .authorize(context, Action::Check, Securable::DeclaredConnection(&connection.spec))
            .await?;
        let users = self.services.store.streams_on_connection(name, USERS_LOOKED_AT_MAX).await?;
        let mut users = users::streams(&self.services, &context.principal, &users).await?;
        users.readable.truncate(NAMES_IN_A_MESSAGE_MAX);
        let existing = self.services.store.connection(name).await?;
        Ok(CheckedConnection {
            warnings: missing::of_connection(&self.services.store, &connection.spec).await?,
            used_by: users.readable,
            used_by_others: users.others,
            ..self.judge(connection, existing.as_ref(), Values::StandIns)
        })
    }

    /// What is wrong with a declaration that could not be read: it is said to everybody, because it tells of nothing but the request.
    pub async fn check_unreadable(&self, context: &RequestContext, violations: Vec<Violation>) -> Result<CheckedConnection, ServiceError> {
        self.services
            .authorizer
            .authorize(context, Action::Check, Securable::Unreadable)
            .await?;
        Ok(CheckedConnection {
            violations,
            ..Default::default()
        })
    }

    async fn view(&self, record: ConnectionRecord) -> Result<ConnectionView, ServiceError> {
        let secrets_revision = secrets_revision(&self.services.store, &record).await?;
        Ok(ConnectionView { record, secrets_revision })
    }

    fn judge(&self, connection: &DeclaredConnection, existing: Option<&ConnectionRecord>, values: Values) -> CheckedConnection {
        let DeclaredConnection { spec, literals } = connection;
        let plan = secrets::plan(spec, literals, existing);
        let mut violations = validate::connection(spec);
        violations.extend(secrets::check(spec, literals, &plan, values));
        CheckedConnection {
            violations,
            missing_capabilities: capability::missing(&capability::needed_by_connection(spec), &self.services.capabilities),
            ..CheckedConnection::default()
        }
    }

    fn refuse_what_does_not_work(&self, connection: &DeclaredConnection, existing: Option<&ConnectionRecord>) -> Result<(), ServiceError> {
        let CheckedConnection {
            violations,
            missing_capabilities,
            ..
        } = self.judge(connection, existing, Values::Real);
        match (violations.is_empty(), missing_capabilities.is_empty()) {
            (false, _) => Err(ServiceError::Invalid(violations)),
            (true, false) => Err(ServiceError::MissingCapability(missing_capabilities)),
            (true, true) => Ok(()),
        }
    }
}

fn listed(record: &ConnectionRecord) -> Listed<'_> {
    Listed {
        securable_type: SecurableType::Connection,
        name: record.spec.name.as_str(),
        owner: Some(record.created_by.as_str()),
    }
}

fn another_life(name: &ConnectionName) -> ServiceError {
    ServiceError::AnotherLife {
        kind: Kind::Connection,
        name: name.to_string(),
    }
}

fn not_found(name: &ConnectionName) -> ServiceError {
    ServiceError::NotFound {
        kind: Kind::Connection,
        name: name.to_string(),
    }
}
