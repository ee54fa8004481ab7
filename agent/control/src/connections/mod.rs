//! Turns a connection into client properties: from the store for a pipeline, from a declaration for an attempt.
//!
//! `direct` makes the properties of a client certificate from stores of keys, and `file_watch` notices when these are others. Secrets are
//! read each time a client is opened, so a pipeline never runs on an old address or password. The invariant: what
//! tells two openings apart is the connection's life, its options and the random revisions of its secrets, never their bytes.

mod changes;
mod direct;
mod file_revisions;
mod file_watch;
mod governed;
mod msk;
mod properties;
pub(crate) mod schema_registry;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use stream_pipeline::connection::{ClientProperties, ConnectionResolver, TokenSource};
use stream_pipeline::error::{PipelineError, Retry};
use stream_pipeline::registry::RegistryProperties;
use stream_spec::connection::{ConnectionOptions, ConnectionSpec};
use stream_spec::name::{ConnectionName, CredentialName, ScopeName, SecretKey};
use stream_spec::options::connection::{self as registry, ConnectionOption};
use stream_spec::stream::{ConnectionConfig, SecretRef, StreamSpec};
use tokio::sync::watch;

use self::msk::MskTokens;
use crate::governance::credentials::{AwsCredentials, SessionName};
use crate::governance::secrets::{ScopeId, SecretValue, Vault};
use crate::governance::volumes::VolumeReader;
use crate::store::records::ConnectionRecord;
use crate::store::{Store, StoreError};

pub use changes::ConnectionChanges;
use file_revisions::FileRevisions;
pub use governed::GovernedResolver;

/// Resolves connections from the store.
#[derive(Clone)]
pub struct StoreResolver {
    store: Arc<dyn Store>,
    vault: Vault,
    aws: Arc<AwsCredentials>,
    volumes: VolumeReader,
    files: Arc<FileRevisions>,
    changes: Arc<ConnectionChanges>,
}

/// The values of a connection's secrets, by option.
pub(crate) type SecretValues = BTreeMap<&'static str, SecretValue>;

impl StoreResolver {
    /// A resolver over this store.
    pub fn new(store: Arc<dyn Store>, vault: Vault, aws: Arc<AwsCredentials>, changes: Arc<ConnectionChanges>) -> Self {
        Self {
            volumes: VolumeReader::new(store.clone()),
            files: Arc::new(FileRevisions::new()),
            store,
            vault,
            aws,
            changes,
        }
    }

    /// What a client of a stored connection is opened with.
    pub(crate) async fn of_record(&self, record: &ConnectionRecord) -> Result<ClientProperties, PipelineError> {
        // Before the values: if one is written in between, the next opening has another identity.
        let revision = secrets_revision(&self.store, record)
            .await
            .map_err(|error| no_secret(record, &error))?;
        let mut values = SecretValues::new();
        for option in secret_options(&record.spec) {
            if let Some(value) = self.secret(record, option).await? {
                values.insert(option.name, value);
            }
        }
        self.expect_unchanged(record).await?;
        let (tokens, credential) = self.tokens(&record.spec).await?;
        let options = properties::digest_of_options(&record.spec);
        let identity = format!("{}/{options}/{revision}/{credential}", record.uid);
        properties::of(&record.spec, &values, tokens, identity)
    }

    /// The value of one of a connection's secrets, if it has that one.
    async fn secret(&self, record: &ConnectionRecord, option: &ConnectionOption) -> Result<Option<SecretValue>, PipelineError> {
        let value = match option.reference(&record.spec.options) {
            Some(reference) => self.referenced(reference).await,
            None if record.literal_secrets.contains_key(option.name) => self.literal(&record.uid, option).await,
            None => return Ok(None),
        };
        value.map(Some).map_err(|error| no_secret(record, &error))
    }

    /// Secrets that were given for another address meanwhile must not go to this one: they are written with the connection.
    async fn expect_unchanged(&self, record: &ConnectionRecord) -> Result<(), PipelineError> {
        let now = self.record(&record.spec.name).await?;
        if (&now.uid, now.generation) != (&record.uid, record.generation) {
            let message = format!(
                "connection `{}` was changed while it was opened; it is opened again",
                record.spec.name
            );
            return Err(unavailable("ConnectionChanged", message));
        }
        Ok(())
    }

    /// What a client of a connection that is not stored is opened with; `literals` are the secrets that came with it.
    pub(crate) async fn of_declared(&self, spec: &ConnectionSpec, mut literals: SecretValues) -> Result<ClientProperties, PipelineError> {
        for option in secret_options(spec) {
            if let Some(reference) = option.reference(&spec.options) {
                let value = self.referenced(reference).await;
                let value = value.map_err(|error| unavailable("SecretUnavailable", format!("connection `{}`: {error}", spec.name)))?;
                literals.insert(option.name, value);
            }
        }
        let (tokens, _) = self.tokens(spec).await?;
        properties::of(spec, &literals, tokens, format!("declared/{}", uuid::Uuid::new_v4()))
    }

    /// Who gives tokens to a client that signs in with a service credential, and which life and version of that it is.
    async fn tokens(&self, spec: &ConnectionSpec) -> Result<(Option<Arc<dyn TokenSource>>, String), PipelineError> {
        let ConnectionOptions::Kafka(kafka) = &spec.options else {
            return Ok((None, String::new()));
        };
        let Some(name) = &kafka.credential else {
            return Ok((None, String::new()));
        };
        let failed = |problem: String| unavailable("CredentialRefused", format!("connection `{}`: {problem}", spec.name));
        let name = CredentialName::parse(name).map_err(|error| failed(error.to_string()))?;
        let record = msk::credential(&self.store, &name).await.map_err(failed)?;
        let version = format!("{}.{}", record.authorship.uid, record.generation);
        let tokens = MskTokens {
            store: self.store.clone(),
            aws: self.aws.clone(),
            credential: name,
            region: msk::region_of(&kafka.bootstrap_servers),
            session: SessionName::of(spec.name.as_str()),
        };
        Ok((Some(Arc::new(tokens)), version))
    }

    async fn referenced(&self, reference: &SecretRef) -> Result<SecretValue, String> {
        let scope = ScopeName::parse(&reference.scope).map_err(|error| error.to_string())?;
        let key = SecretKey::parse(&reference.key).map_err(|error| error.to_string())?;
        self.vault
            .read(&ScopeId::Named(scope), &key)
            .await
            .map_err(|error| error.to_string())
    }

    async fn literal(&self, uid: &str, option: &ConnectionOption) -> Result<SecretValue, String> {
        let key = SecretKey::parse(option.name).map_err(|error| error.to_string())?;
        let scope = ScopeId::Connection(uid.to_owned());
        self.vault.read(&scope, &key).await.map_err(|error| error.to_string())
    }

    async fn record(&self, name: &ConnectionName) -> Result<ConnectionRecord, PipelineError> {
        let record = self.store.connection(name).await;
        let record = record.map_err(|error| unavailable("StoreFailed", error.to_string()))?;
        record.ok_or_else(|| {
            unavailable(
                "ConnectionMissing",
                format!("there is no connection `{name}`; create it, or make a stream on another one"),
            )
        })
    }
}

#[async_trait]
impl ConnectionResolver for StoreResolver {
    async fn open(&self, stream: &StreamSpec, _run_as: &str) -> Result<ClientProperties, PipelineError> {
        let name = match &stream.connection {
            ConnectionConfig::UcConnectionName(name) => name,
            ConnectionConfig::DirectMtls(direct) => return self.of_direct(direct).await,
        };
        let record = self.record(name).await?;
        if matches!(record.spec.options, ConnectionOptions::Kinesis(_)) {
            return Err(PipelineError::Definition {
                message: format!("connection `{name}` is of type KINESIS, and the stream reads Kafka; use a connection of type KAFKA"),
            });
        }
        let properties = self.of_record(&record).await?;
        if let Some(tokens) = &properties.tokens {
            // Known before anything is opened: the client itself would only say that nobody answers while AWS is slow.
            let first = tokens.token().await;
            first.map_err(|problem| unavailable("CredentialRefused", format!("connection `{name}`: {problem}")))?;
        }
        Ok(properties)
    }

    async fn open_registry(&self, stream: &StreamSpec, _run_as: &str) -> Result<RegistryProperties, PipelineError> {
        self.registry_of(stream).await
    }

    fn changes(&self, connection: &ConnectionConfig) -> watch::Receiver<u64> {
        match connection {
            ConnectionConfig::UcConnectionName(name) => self.changes.follow(name),
            ConnectionConfig::DirectMtls(direct) => self.changes.follow_direct(direct),
        }
    }
}

fn no_secret(record: &ConnectionRecord, error: &dyn std::fmt::Display) -> PipelineError {
    unavailable("SecretUnavailable", format!("connection `{}`: {error}", record.spec.name))
}

/// The options of a connection's kind that are secrets.
pub(crate) fn secret_options(spec: &ConnectionSpec) -> impl Iterator<Item = &'static ConnectionOption> {
    registry::all(spec.options.kind()).iter().filter(|option| option.is_secret())
}

/// The random revisions of a connection's secrets, those that it refers to included; empty without secrets.
pub(crate) async fn secrets_revision(store: &Arc<dyn Store>, record: &ConnectionRecord) -> Result<String, StoreError> {
    let mut revisions = Vec::new();
    for option in secret_options(&record.spec) {
        revisions.extend(secret_revision(store, record, option).await?);
    }
    Ok(revisions.join("+"))
}

/// The random revision of one of a connection's secrets, if it has that one.
async fn secret_revision(
    store: &Arc<dyn Store>,
    record: &ConnectionRecord,
    option: &ConnectionOption,
) -> Result<Option<String>, StoreError> {
    match (option.reference(&record.spec.options), record.literal_secrets.get(option.name)) {
        (Some(reference), _) => revision_of(store, reference).await.map(Some),
        (None, revision) => Ok(revision.cloned()),
    }
}

async fn revision_of(store: &Arc<dyn Store>, reference: &SecretRef) -> Result<String, StoreError> {
    let (Ok(scope), Ok(key)) = (ScopeName::parse(&reference.scope), SecretKey::parse(&reference.key)) else {
        return Ok("none".to_owned());
    };
    let found = store.secret(&ScopeId::Named(scope), &key).await?;
    Ok(found.map_or_else(|| "none".to_owned(), |(_, secret)| secret.revision))
}

/// Whoever mends the connection mends the stream: trying again is enough.
fn unavailable(reason: &'static str, message: String) -> PipelineError {
    PipelineError::Source {
        reason,
        message,
        retry: Retry::Later,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::governance::secrets::master::MasterKeys;
    use crate::store::sqlite::SqliteStore;
    use crate::store::{LiteralSecrets, Replaced};
    use crate::testing::definitions::connection;

    #[tokio::test]
    async fn a_connection_that_was_changed_while_its_secrets_were_read_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&folder.path().join("agent.db")).await.unwrap());
        let resolver = StoreResolver::new(
            store.clone(),
            Vault::new(store.clone(), MasterKeys::none("")),
            Arc::default(),
            Arc::new(ConnectionChanges::default()),
        );
        let before = connection("kafka");
        assert!(store.insert_connection(&before, &LiteralSecrets::Stay).await.unwrap());
        let first = resolver.of_record(&before).await.unwrap();
        let mut after = before.clone();
        after.generation = 2;
        let replaced = store.replace_connection(1, &after, &LiteralSecrets::Stay).await.unwrap();
        assert_eq!(replaced, Replaced::Done);
        let error = resolver.of_record(&before).await.unwrap_err();
        assert!(
            error.retry() == Retry::Later && error.to_string().contains("was changed while"),
            "{error}"
        );
        // The options are the same, so the clients may be shared.
        assert_eq!(resolver.of_record(&after).await.unwrap().identity, first.identity);
    }
}
