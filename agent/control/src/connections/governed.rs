//! Opens connections for streams as their run-as identity may: whoever created a stream must hold what creating it takes each
//! time that its pipeline opens its client (product part A1). The invariant: no secret is read for an identity that lacks
//! something.

use std::sync::Arc;

use async_trait::async_trait;
use stream_pipeline::connection::{ClientProperties, ConnectionResolver};
use stream_pipeline::error::PipelineError;
use stream_pipeline::registry::RegistryProperties;
use stream_spec::stream::{ConnectionConfig, StreamSpec};
use tokio::sync::watch;

use super::{StoreResolver, unavailable};
use crate::governance::GrantAuthorizer;
use crate::governance::authentication::Directory;
use crate::store::{Store, StoreError};

/// Resolves connections for who may use them.
pub struct GovernedResolver {
    resolver: StoreResolver,
    authorizer: GrantAuthorizer,
    directory: Arc<Directory>,
}

impl GovernedResolver {
    /// A resolver that asks what is granted first.
    pub fn new(resolver: StoreResolver, directory: Arc<Directory>) -> Self {
        Self {
            authorizer: GrantAuthorizer::new(resolver.store.clone()),
            resolver,
            directory,
        }
    }

    async fn expect_privileges(&self, stream: &StreamSpec, run_as: &str) -> Result<(), PipelineError> {
        let lacks = self.lacks(stream, run_as).await;
        let lacks = lacks.map_err(|error| unavailable("StoreFailed", error.to_string()))?;
        if lacks.is_empty() {
            return Ok(());
        }
        let message = format!("the stream runs as `{run_as}`, who lacks {lacks}; grant it, and the stream goes on where it was");
        Err(unavailable("PrivilegeMissing", message))
    }

    /// What the identity lacks, for people; empty if nothing.
    async fn lacks(&self, stream: &StreamSpec, run_as: &str) -> Result<String, StoreError> {
        let store: &Arc<dyn Store> = &self.resolver.store;
        let principal = self.directory.absent_principal(store, run_as).await?;
        let missing = self.authorizer.missing_to_run(&principal, stream).await?;
        Ok(missing.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
    }
}

#[async_trait]
impl ConnectionResolver for GovernedResolver {
    async fn open(&self, stream: &StreamSpec, run_as: &str) -> Result<ClientProperties, PipelineError> {
        self.expect_privileges(stream, run_as).await?;
        self.resolver.open(stream, run_as).await
    }

    async fn open_registry(&self, stream: &StreamSpec, run_as: &str) -> Result<RegistryProperties, PipelineError> {
        self.expect_privileges(stream, run_as).await?;
        self.resolver.open_registry(stream, run_as).await
    }

    fn changes(&self, connection: &ConnectionConfig) -> watch::Receiver<u64> {
        self.resolver.changes(connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    use stream_spec::connection::ConnectionOptions;
    use stream_spec::name::ConnectionName;
    use stream_spec::stream::{SchemaConfig, SchemaLocator, SchemaRegistryConfig};

    use crate::connections::ConnectionChanges;
    use crate::governance::privilege::{Privilege, SecurableType};
    use crate::governance::secrets::Vault;
    use crate::governance::secrets::master::MasterKeys;
    use crate::store::LiteralSecrets;
    use crate::store::documents::GrantsRecord;
    use crate::store::sqlite::SqliteStore;
    use crate::testing::definitions::{connection, stream};

    #[tokio::test]
    async fn each_privilege_that_is_taken_away_closes_the_connection_and_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&folder.path().join("agent.db")).await.unwrap());
        let mut registry = connection("registry");
        if let ConnectionOptions::Kafka(kafka) = &mut registry.spec.options {
            kafka.schema_registry_url = Some("http://127.0.0.1:1".to_owned());
        }
        for record in [connection("kafka"), registry] {
            store.insert_connection(&record, &LiteralSecrets::Stay).await.unwrap();
        }
        let resolver = StoreResolver::new(
            store.clone(),
            Vault::new(store.clone(), MasterKeys::none("")),
            Arc::default(),
            Arc::new(ConnectionChanges::default()),
        );
        let members = BTreeSet::from(["ann".to_owned()]);
        let directory = Directory::new(BTreeMap::from([("team".to_owned(), members)]));
        let resolver = GovernedResolver::new(resolver, Arc::new(directory));
        let mut spec = stream("main.pay.orders");
        spec.schemas = SchemaConfig::Registry(SchemaRegistryConfig {
            uc_connection: Some(ConnectionName::parse("registry").unwrap()),
            api_secret_ref: None,
            payload: Some(SchemaLocator {
                subject: "orders-value".to_owned(),
                format: "FORMAT_AVRO".to_owned(),
            }),
            key: None,
        });
        let places = [
            (SecurableType::Catalog, "main", Privilege::UseCatalog),
            (SecurableType::Schema, "main.pay", Privilege::UseSchema),
            (SecurableType::Catalog, "main", Privilege::CreateTable),
            (SecurableType::Connection, "kafka", Privilege::UseConnection),
            (SecurableType::Connection, "registry", Privilege::UseConnection),
        ];
        for taken in 0..=places.len() {
            for (place, held) in [
                (SecurableType::Catalog, "main"),
                (SecurableType::Schema, "main.pay"),
                (SecurableType::Connection, "kafka"),
                (SecurableType::Connection, "registry"),
            ] {
                let held_there = places.iter().enumerate().filter(|(number, _)| *number != taken);
                let privileges = held_there.filter(|(_, it)| (it.0, it.1) == (place, held)).map(|(_, it)| it.2);
                let record = GrantsRecord {
                    securable_type: place,
                    securable_name: held.to_owned(),
                    generation: 0,
                    grants: BTreeMap::from([("team".to_owned(), privileges.collect())]),
                    update_time_ms: 0,
                    updated_by: String::new(),
                };
                store.set_grants(None, "", &record).await.unwrap();
            }
            // Neither of the two is opened without what the other takes.
            let opened = resolver.open(&spec, "ann").await.map(drop);
            let registry_opened = resolver.open_registry(&spec, "ann").await.map(drop);
            for answer in [opened, registry_opened] {
                match (places.get(taken), answer) {
                    (None, answer) => assert!(answer.is_ok(), "{answer:?}"),
                    (Some((_, name, privilege)), Err(PipelineError::Source { reason, message, .. })) => {
                        assert_eq!(reason, "PrivilegeMissing");
                        assert!(
                            message.contains(&format!("lacks {privilege} on")) && message.contains(name),
                            "{message}"
                        );
                    }
                    (Some((_, name, privilege)), _) => panic!("opened without {privilege} on {name}"),
                }
            }
            assert!(resolver.open(&spec, "bob").await.is_err());
            assert!(resolver.open(&spec, "local-admin").await.is_ok());
        }
    }
}
