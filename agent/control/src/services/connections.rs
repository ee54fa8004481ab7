//! The calls on connections. Testing one and SQL about them belong to capabilities that this agent does not have yet.

use std::sync::Arc;

use stream_spec::connection::{ConnectionOptions, ConnectionSpec};
use stream_spec::name::{ConnectionName, StreamName};
use stream_spec::violation::Violation;
use stream_spec::{capability, validate};
use uuid::Uuid;

use super::Services;
use super::error::{Kind, ServiceError};
use super::page::{self, Page, PageRequest};
use crate::clock;
use crate::governance::{Action, RequestContext, Securable};
use crate::limits::{NAMES_IN_A_MESSAGE_MAX, WRITE_ATTEMPTS_MAX};
use crate::store::records::ConnectionRecord;
use crate::store::{DeletedConnection, Replaced};

/// The name of the one list of connections, in page tokens.
const LIST: &str = "connections";

/// A connection as a caller declares it.
#[derive(Clone, Debug)]
pub struct DeclaredConnection {
    /// What it is.
    pub spec: ConnectionSpec,
    /// Fields that came with a literal secret. The values stay with whoever read them: this agent cannot keep any yet.
    pub literal_secrets: Vec<&'static str>,
}

/// What would come of a connection's declaration.
#[derive(Clone, Debug, Default)]
pub struct CheckedConnection {
    /// What is wrong with it.
    pub violations: Vec<Violation>,
    /// What this agent cannot do yet.
    pub missing_capabilities: Vec<Violation>,
    /// Streams that use the existing connection of that name, some of them.
    pub used_by: Vec<StreamName>,
}

/// A change of a connection.
pub struct ConnectionChange<'a> {
    /// Which connection.
    pub name: ConnectionName,
    /// The new declaration, made from the one in force.
    pub change: &'a (dyn Fn(&ConnectionSpec) -> Result<DeclaredConnection, Vec<Violation>> + Send + Sync),
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

    /// Creates a connection. A repeat under the same request id is answered as the first was.
    pub async fn create(
        &self,
        context: &RequestContext,
        connection: DeclaredConnection,
        request_id: &str,
    ) -> Result<ConnectionRecord, ServiceError> {
        let name = connection.spec.name.clone();
        self.services
            .authorizer
            .authorize(context, Action::Create, Securable::DeclaredConnection(&connection.spec))
            .await?;
        self.refuse_what_does_not_work(&connection)?;
        let (now_ms, who) = (clock::now_ms(), context.principal.name());
        let record = ConnectionRecord {
            uid: Uuid::now_v7().to_string(),
            spec: connection.spec,
            generation: 1,
            create_time_ms: now_ms,
            created_by: who.to_owned(),
            update_time_ms: now_ms,
            updated_by: who.to_owned(),
            create_request_id: request_id.to_owned(),
        };
        if self.services.store.insert_connection(&record).await? {
            tracing::info!(connection = %name, by = who, "created connection");
            // A stream may wait for a connection of this name already.
            self.services.connection_changes.announce(&name);
            return Ok(record);
        }
        match self.services.store.connection(&name).await? {
            Some(existing) if !request_id.is_empty() && existing.create_request_id == request_id => Ok(existing),
            _ => Err(ServiceError::AlreadyExists {
                kind: Kind::Connection,
                name: name.to_string(),
                hint: "; choose another name, or import the connection that is there",
            }),
        }
    }

    /// One connection.
    pub async fn get(&self, context: &RequestContext, name: &ConnectionName) -> Result<ConnectionRecord, ServiceError> {
        self.services
            .authorizer
            .authorize(context, Action::Read, Securable::Connection(name))
            .await?;
        self.services.store.connection(name).await?.ok_or_else(|| not_found(name))
    }

    /// All connections, a page at a time.
    pub async fn list(&self, context: &RequestContext, page: &PageRequest) -> Result<Page<ConnectionRecord>, ServiceError> {
        self.services
            .authorizer
            .authorize(context, Action::List, Securable::Connections)
            .await?;
        let (limit, after) = (page.limit()?, page.after(LIST)?);
        let mut items = self.services.store.list_connections(after.as_deref(), limit + 1).await?;
        let has_more = items.len() > limit;
        items.truncate(limit);
        let next_page_token = match items.last() {
            Some(last) if has_more => page::token(LIST, last.spec.name.as_str()),
            _ => String::new(),
        };
        Ok(Page { items, next_page_token })
    }

    /// Changes a connection; pipelines that use it reconnect at their exact positions.
    pub async fn update(&self, context: &RequestContext, change: ConnectionChange<'_>) -> Result<ConnectionRecord, ServiceError> {
        let name = &change.name;
        self.services
            .authorizer
            .authorize(context, Action::Update, Securable::Connection(name))
            .await?;
        let mut found = 0;
        for _ in 0..WRITE_ATTEMPTS_MAX {
            let record = self.services.store.connection(name).await?.ok_or_else(|| not_found(name))?;
            found = record.generation;
            if !change.uid.is_empty() && change.uid != record.uid {
                return Err(ServiceError::AnotherLife {
                    kind: Kind::Connection,
                    name: name.to_string(),
                });
            }
            if change.generation != 0 && change.generation != found {
                break;
            }
            let wanted = (change.change)(&record.spec).map_err(ServiceError::Invalid)?;
            refuse_another_kind(&record.spec, &wanted.spec)?;
            self.refuse_what_does_not_work(&wanted)?;
            if wanted.spec == record.spec {
                return Ok(record);
            }
            let replacement = ConnectionRecord {
                spec: wanted.spec,
                generation: found + 1,
                update_time_ms: clock::now_ms(),
                updated_by: context.principal.name().to_owned(),
                ..record
            };
            match self.services.store.replace_connection(found, &replacement).await? {
                Replaced::Done => {
                    tracing::info!(connection = %name, generation = replacement.generation, by = context.principal.name(), "changed connection");
                    self.services.connection_changes.announce(name);
                    return Ok(replacement);
                }
                Replaced::Missing => return Err(not_found(name)),
                Replaced::Conflict => {}
            }
        }
        Err(ServiceError::Conflict {
            kind: Kind::Connection,
            name: name.to_string(),
            what: "generation",
            found,
            wanted: change.generation,
        })
    }

    /// Deletes a connection, one that streams use only if the caller says so.
    pub async fn delete(&self, context: &RequestContext, request: &ConnectionToDelete) -> Result<(), ServiceError> {
        let name = &request.name;
        self.services
            .authorizer
            .authorize(context, Action::Delete, Securable::Connection(name))
            .await?;
        match self
            .services
            .store
            .delete_connection(name, &request.uid, request.even_if_used)
            .await?
        {
            DeletedConnection::Deleted => {
                tracing::info!(connection = %name, by = context.principal.name(), "deleted connection");
                self.services.connection_changes.announce(name);
                Ok(())
            }
            DeletedConnection::Missing => Err(not_found(name)),
            DeletedConnection::InUse(users) => {
                let users: Vec<String> = users.iter().map(|user| format!("`{user}`")).collect();
                let problem = format!("streams use the connection, among them {}", users.join(", "));
                Err(ServiceError::precondition(
                    "name",
                    name.as_str(),
                    problem,
                    "delete the streams first, or force the deletion",
                ))
            }
        }
    }

    /// Says what would come of a declaration, without creating anything.
    pub async fn check(&self, context: &RequestContext, connection: &DeclaredConnection) -> Result<CheckedConnection, ServiceError> {
        self.services
            .authorizer
            .authorize(context, Action::Check, Securable::DeclaredConnection(&connection.spec))
            .await?;
        let used_by = self
            .services
            .store
            .streams_on_connection(&connection.spec.name, NAMES_IN_A_MESSAGE_MAX)
            .await?;
        Ok(CheckedConnection {
            used_by,
            ..self.judge(connection)
        })
    }

    fn judge(&self, connection: &DeclaredConnection) -> CheckedConnection {
        let mut missing_capabilities =
            capability::missing(&capability::needed_by_connection(&connection.spec), &self.services.capabilities);
        missing_capabilities.extend(connection.literal_secrets.iter().map(|field| Violation {
            field: (*field).to_owned(),
            value: "[redacted]".to_owned(),
            problem: "this agent cannot keep secrets yet".to_owned(),
            remedy: "leave it out, or use an agent that has the capability `secrets`".to_owned(),
        }));
        CheckedConnection {
            violations: validate::connection(&connection.spec),
            missing_capabilities,
            used_by: Vec::new(),
        }
    }

    fn refuse_what_does_not_work(&self, connection: &DeclaredConnection) -> Result<(), ServiceError> {
        let CheckedConnection {
            violations,
            missing_capabilities,
            ..
        } = self.judge(connection);
        match (violations.is_empty(), missing_capabilities.is_empty()) {
            (false, _) => Err(ServiceError::Invalid(violations)),
            (true, false) => Err(ServiceError::MissingCapability(missing_capabilities)),
            (true, true) => Ok(()),
        }
    }
}

fn not_found(name: &ConnectionName) -> ServiceError {
    ServiceError::NotFound {
        kind: Kind::Connection,
        name: name.to_string(),
    }
}

fn refuse_another_kind(now: &ConnectionSpec, wanted: &ConnectionSpec) -> Result<(), ServiceError> {
    match (&now.options, &wanted.options) {
        (ConnectionOptions::Kafka(_), ConnectionOptions::Kafka(_)) | (ConnectionOptions::Kinesis(_), ConnectionOptions::Kinesis(_)) => {
            Ok(())
        }
        (ConnectionOptions::Kafka(_), ConnectionOptions::Kinesis(_)) => Err(ServiceError::invalid(
            "kinesis",
            now.name.as_str(),
            "the connection is of type KAFKA, and its type never changes",
            "make a new connection",
        )),
        (ConnectionOptions::Kinesis(_), ConnectionOptions::Kafka(_)) => Err(ServiceError::invalid(
            "kafka",
            now.name.as_str(),
            "the connection is of type KINESIS, and its type never changes",
            "make a new connection",
        )),
    }
}
