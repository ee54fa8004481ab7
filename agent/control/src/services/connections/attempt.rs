//! Tries a connection: one that is stored, one that is only declared, or the one of a stream, by client certificate as by name. The
//! invariant: a secret that is kept is tried at the address that it is kept for, and at no other that a caller names, unless that caller
//! could make a stream do so; and none is opened before there is room to try it.

use stream_pipeline::connection::ConnectionResolver;
use stream_pipeline::connection::ConnectionStep;
use stream_pipeline::error::PipelineError;
use stream_spec::name::ConnectionName;
use stream_spec::stream::StreamSpec;
use stream_spec::{capability, validate};
use tokio::sync::SemaphorePermit;

use super::{ConnectionService, DeclaredConnection, not_found};
use crate::connections::{SecretValues, schema_registry};
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
    /// The one of a stream, there already or not.
    OfStream(Box<StreamSpec>),
}

impl ConnectionService {
    /// Tries a connection step by step; bounded in time.
    pub async fn test(&self, context: &RequestContext, target: ConnectionToTest) -> Result<Vec<ConnectionStep>, ServiceError> {
        let resolver = &self.services.resolver;
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
            ConnectionToTest::OfStream(spec) => {
                // Whoever may make the stream may have it connect.
                self.services
                    .authorizer
                    .authorize(context, Action::Create, Securable::NewStream(&spec))
                    .await?;
                self.refuse_unsound(&spec)?;
                let room = self.room_for_a_test().await?;
                let run_as = context.principal.name();
                let registry = match spec.registry_connection() {
                    Some(_) => Some(resolver.open_registry(&spec, run_as).await),
                    None => None,
                };
                (room, resolver.open(&spec, run_as).await, registry)
            }
        };
        // A secret that is not there, or does not open, is what the caller wants to know.
        let tried = match properties {
            Ok(properties) => self.services.engine.try_connection(&properties).await,
            Err(error) => Err(error),
        };
        let mut steps = tried.unwrap_or_else(|error| nothing_tried(&error));
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

    fn refuse_unsound(&self, spec: &StreamSpec) -> Result<(), ServiceError> {
        let violations = validate::stream(spec);
        if !violations.is_empty() {
            return Err(ServiceError::Invalid(violations));
        }
        let missing = capability::missing(&capability::needed(spec), &self.services.capabilities);
        match missing.is_empty() {
            true => Ok(()),
            false => Err(ServiceError::MissingCapability(missing)),
        }
    }

    /// Room for one more test, if some is free soon.
    async fn room_for_a_test(&self) -> Result<SemaphorePermit<'_>, ServiceError> {
        let permit = tokio::time::timeout(CONNECTION_TEST_WAIT, self.services.connection_tests.acquire()).await;
        // Closed never: without a permit there is no room, whatever the reason.
        permit.ok().and_then(Result::ok).ok_or(ServiceError::TestsAreOn)
    }
}

/// Every step, none of them tried: what the client would sign in with is not there, or does not open.
fn nothing_tried(error: &PipelineError) -> Vec<ConnectionStep> {
    let nothing = || "not tried, because there is nothing to sign in with".to_owned();
    let mut steps = vec![
        ConnectionStep::of(ConnectionStep::ADDRESS, Err(nothing())),
        ConnectionStep::of(ConnectionStep::TLS, Err(nothing())),
        ConnectionStep::of(ConnectionStep::AUTHENTICATION, Err(error.to_string())),
    ];
    steps.extend(ConnectionStep::skipped(&[ConnectionStep::TOPICS]));
    steps
}
