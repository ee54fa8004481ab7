//! Makes and changes connections. The invariant: what is written was authorized and judged as it is written, secrets included.

use std::collections::BTreeMap;

use stream_spec::connection::ConnectionSpec;
use stream_spec::name::SecretKey;
use uuid::Uuid;

use super::secrets::{self, LiteralChanges, LiteralPlan};
use super::{ConnectionChange, ConnectionService, ConnectionView, DeclaredConnection, another_life, not_found};
use crate::clock;
use crate::governance::secrets::NewSecret;
use crate::governance::{Action, RequestContext, Securable};
use crate::limits::WRITE_ATTEMPTS_MAX;
use crate::services::error::{Kind, ServiceError};
use crate::store::records::ConnectionRecord;
use crate::store::{LiteralSecrets, Replaced};

impl ConnectionService {
    /// Creates a connection. A repeat under the same request id is answered as the first was.
    pub async fn create(
        &self,
        context: &RequestContext,
        connection: DeclaredConnection,
        request_id: &str,
    ) -> Result<ConnectionView, ServiceError> {
        let name = connection.spec.name.clone();
        self.services
            .authorizer
            .authorize(context, Action::Create, Securable::DeclaredConnection(&connection.spec))
            .await?;
        self.refuse_what_does_not_work(&connection, None)?;
        let (now_ms, who) = (clock::now_ms(), context.principal.name());
        let uid = Uuid::now_v7().to_string();
        let plan = secrets::plan(&connection.spec, &connection.literals, None);
        let sealed = self.seal(&uid, &plan, &connection.literals, who).await?;
        let record = ConnectionRecord {
            uid,
            spec: connection.spec,
            literal_secrets: revisions(&plan, &sealed, BTreeMap::new()),
            generation: 1,
            create_time_ms: now_ms,
            created_by: who.to_owned(),
            update_time_ms: now_ms,
            updated_by: who.to_owned(),
            create_request_id: request_id.to_owned(),
        };
        if self.services.store.insert_connection(&record, &sealed).await? {
            tracing::info!(connection = %name, by = who, "created connection");
            // A stream may wait for a connection of this name already.
            self.services.announce_connection(&name);
            return self.view(record).await;
        }
        match self.services.store.connection(&name).await? {
            Some(existing) if !request_id.is_empty() && existing.create_request_id == request_id => self.view(existing).await,
            _ => Err(ServiceError::AlreadyExists {
                kind: Kind::Connection,
                name: name.to_string(),
                hint: "; choose another name, or import the connection that is there",
            }),
        }
    }

    /// Changes a connection; pipelines that use it reconnect at their exact positions.
    pub async fn update(&self, context: &RequestContext, change: ConnectionChange<'_>) -> Result<ConnectionView, ServiceError> {
        let name = &change.name;
        let allowed = self
            .services
            .authorizer
            .authorize(context, Action::Update, Securable::Connection(name))
            .await?;
        let uid = allowed.life(&change.uid).ok_or_else(|| another_life(name))?;
        let mut found = 0;
        for _ in 0..WRITE_ATTEMPTS_MAX {
            let record = self.services.store.connection(name).await?.ok_or_else(|| not_found(name))?;
            found = record.generation;
            if !uid.is_empty() && uid != record.uid {
                return Err(another_life(name));
            }
            if change.generation != 0 && change.generation != found {
                break;
            }
            let wanted = (change.change)(&record.spec).map_err(ServiceError::Invalid)?;
            let plan = self.judge_change(context, &record, &wanted).await?;
            let same_secrets = plan.put.is_empty() && plan.go.is_empty();
            if wanted.spec == record.spec && same_secrets {
                return self.view(record).await;
            }
            let who = context.principal.name();
            let sealed = match same_secrets {
                true => LiteralSecrets::Stay,
                false => self.seal(&record.uid, &plan, &wanted.literals, who).await?,
            };
            let replacement = ConnectionRecord {
                spec: wanted.spec,
                literal_secrets: revisions(&plan, &sealed, record.literal_secrets),
                generation: found + 1,
                update_time_ms: clock::now_ms(),
                updated_by: who.to_owned(),
                ..record
            };
            match self.services.store.replace_connection(found, &replacement, &sealed).await? {
                Replaced::Done => {
                    tracing::info!(connection = %name, generation = replacement.generation, by = who, "changed connection");
                    self.services.announce_connection(name);
                    return self.view(replacement).await;
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

    /// Whether a change may be made; what becomes of the literal secrets then.
    async fn judge_change(
        &self,
        context: &RequestContext,
        record: &ConnectionRecord,
        wanted: &DeclaredConnection,
    ) -> Result<LiteralPlan, ServiceError> {
        refuse_another_kind(&record.spec, &wanted.spec)?;
        if wanted.spec.options != record.spec.options {
            // Whoever changes where a referenced secret goes must be one who may use it.
            self.services
                .authorizer
                .authorize(context, Action::Update, Securable::DeclaredConnection(&wanted.spec))
                .await?;
        }
        self.refuse_what_does_not_work(wanted, Some(record))?;
        let plan = secrets::plan(&wanted.spec, &wanted.literals, Some(record));
        let exposed = secrets::exposed(&record.spec, &wanted.spec, &plan);
        match exposed.is_empty() {
            true => Ok(plan),
            false => Err(ServiceError::Precondition(exposed)),
        }
    }

    /// Seals the literal secrets that are to be kept.
    async fn seal(&self, uid: &str, plan: &LiteralPlan, sent: &LiteralChanges, by: &str) -> Result<LiteralSecrets, ServiceError> {
        let mut put = Vec::new();
        for name in &plan.put {
            if let Some(Some(value)) = sent.get(name) {
                put.push(NewSecret {
                    key: key(name)?,
                    value: value.clone(),
                });
            }
        }
        let vault = &self.services.vault;
        Ok(match (put.is_empty(), plan.stay.is_empty()) {
            (true, true) if plan.go.is_empty() => LiteralSecrets::Stay,
            (true, true) => LiteralSecrets::Go,
            // Nothing that was kept is needed any more, so none of it has to be readable.
            (false, true) => LiteralSecrets::Change(Box::new(vault.seal_all_for_connection(uid, &put, by).await?)),
            (_, false) => {
                let remove = plan.go.iter().map(|name| key(name)).collect::<Result<_, _>>()?;
                LiteralSecrets::Change(Box::new(vault.seal_for_connection(uid, &put, remove, by).await?))
            }
        })
    }
}

fn key(option: &str) -> Result<SecretKey, ServiceError> {
    SecretKey::parse(option).map_err(|error| ServiceError::invalid("options", option, error.problem, error.remedy))
}

/// The revisions of the literal secrets that are kept from now on.
fn revisions(plan: &LiteralPlan, sealed: &LiteralSecrets, before: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut revisions: BTreeMap<String, String> = before.into_iter().filter(|(name, _)| plan.stay.contains(name.as_str())).collect();
    if let LiteralSecrets::Change(write) = sealed {
        revisions.extend(write.put.iter().map(|secret| (secret.key.to_string(), secret.revision.clone())));
    }
    revisions
}

fn refuse_another_kind(now: &ConnectionSpec, wanted: &ConnectionSpec) -> Result<(), ServiceError> {
    let (is, asked) = (now.options.kind(), wanted.options.kind());
    if is == asked {
        return Ok(());
    }
    Err(ServiceError::invalid(
        asked.attribute(),
        now.name.as_str(),
        format!("the connection is of type {is}, and its type never changes"),
        "make a new connection",
    ))
}
