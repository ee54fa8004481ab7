//! Tries a connection, one that is stored or one that is only declared. The invariant: a secret that is kept is tried at the
//! address that it is kept for, and at no other that a caller names; and none is opened before there is room to try it.

use stream_pipeline::connection::ConnectionStep;
use stream_pipeline::error::PipelineError;
use stream_spec::name::ConnectionName;
use tokio::sync::SemaphorePermit;

use super::{ConnectionService, DeclaredConnection, not_found};
use crate::connections::{SecretValues, StoreResolver, schema_registry};
use crate::governance::{Action, RequestContext, Securable};
use crate::limits::CONNECTION_TEST_WAIT;
use crate::services::error::ServiceError;

/// What is to be tried.
#[derive(Debug)]
pub enum ConnectionToTest {
    /// A stored connection.
    Stored(ConnectionName),
    /// One that is declared, with the secrets that came with it.
    Declared(Box<DeclaredConnection>),
}

impl ConnectionService {
    /// Tries a connection step by step; bounded in time.
    pub async fn test(&self, context: &RequestContext, target: ConnectionToTest) -> Result<Vec<ConnectionStep>, ServiceError> {
        let resolver = StoreResolver::new(
            self.services.store.clone(),
            self.services.vault.clone(),
            self.services.aws.clone(),
            self.services.connection_changes.clone(),
        );
        let (_room, properties, registry) = match target {
            ConnectionToTest::Stored(name) => {
                self.services
                    .authorizer
                    .authorize(context, Action::Test, Securable::Connection(&name))
                    .await?;
                let room = self.room_for_a_test().await?;
                let record = self.services.store.connection(&name).await?.ok_or_else(|| not_found(&name))?;
                let registry = match schema_registry::has_registry(&record.spec) {
                    true => Some(resolver.registry_of_record(&record).await),
                    false => None,
                };
                (room, resolver.of_record(&record).await, registry)
            }
            ConnectionToTest::Declared(declared) => {
                self.services
                    .authorizer
                    .authorize(context, Action::Test, Securable::DeclaredConnection(&declared.spec))
                    .await?;
                self.refuse_what_does_not_work(&declared, None)?;
                let room = self.room_for_a_test().await?;
                let literals: SecretValues = declared
                    .literals
                    .into_iter()
                    .filter_map(|(name, value)| Some((name, value?)))
                    .collect();
                let registry = match schema_registry::has_registry(&declared.spec) {
                    true => Some(resolver.registry_of_declared(&declared.spec, &literals).await),
                    false => None,
                };
                (room, resolver.of_declared(&declared.spec, literals).await, registry)
            }
        };
        // A secret that is not there, or does not open, is what the caller wants to know.
        let tried = match properties {
            Ok(properties) => self.services.engine.try_connection(&properties).await,
            Err(error) => Err(error),
        };
        let failed = |error: PipelineError| ConnectionStep::failed_at_once(&ConnectionStep::OF_KAFKA, &error.to_string());
        let mut steps = tried.unwrap_or_else(failed);
        if let Some(registry) = registry {
            let tried = match registry {
                Ok(properties) => {
                    let tried = self.services.engine.try_registry(&properties).await;
                    tried.map_err(|error| error.to_string())
                }
                Err(error) => Err(error.to_string()),
            };
            steps.extend(tried.unwrap_or_else(|problem| ConnectionStep::failed_at_once(&ConnectionStep::OF_REGISTRY, &problem)));
        }
        Ok(steps)
    }

    /// Room for one more test, if some is free soon.
    async fn room_for_a_test(&self) -> Result<SemaphorePermit<'_>, ServiceError> {
        let permit = tokio::time::timeout(CONNECTION_TEST_WAIT, self.services.connection_tests.acquire()).await;
        // Closed never: without a permit there is no room, whatever the reason.
        permit.ok().and_then(Result::ok).ok_or(ServiceError::TestsAreOn)
    }
}
