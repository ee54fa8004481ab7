//! The provider: what it consists of, and its Configure. Everything else is in the rooms beside this file.

use std::sync::Arc;

use async_trait::async_trait;
use tfplugin::call::CallContext;
use tfplugin::data_source::DataSource;
use tfplugin::diagnostic::Diagnostics;
use tfplugin::provider::{ConfigureRequest, Provider};
use tfplugin::resource::Resource;
use tfplugin::schema::Schema;
use tfplugin::value::Value;

use crate::config::{self, Settings};
use crate::data_sources::agent::AgentDataSource;
use crate::data_sources::connection::ConnectionDataSource;
use crate::data_sources::stream::StreamDataSource;
use crate::data_sources::table_columns::TableColumnsDataSource;
use crate::resources::connection::ConnectionResource;
use crate::resources::grants::GrantsResource;
use crate::resources::secret::SecretResource;
use crate::resources::secret_scope::SecretScopeResource;
use crate::resources::service_credential::ServiceCredentialResource;
use crate::resources::stream::StreamResource;
use crate::resources::volume::VolumeResource;
use crate::session::Session;

/// The provider of `featurestore_…` resources and data sources.
pub(crate) struct FeaturestoreProvider {
    session: Session,
}

impl FeaturestoreProvider {
    /// A provider that is not configured yet.
    pub(crate) fn new() -> Self {
        Self { session: Session::new() }
    }
}

#[async_trait]
impl Provider for FeaturestoreProvider {
    fn schema(&self) -> Schema {
        config::schema()
    }

    fn resources(&self) -> Vec<Arc<dyn Resource>> {
        vec![
            Arc::new(StreamResource::new(self.session.clone())),
            Arc::new(ConnectionResource::new(self.session.clone())),
            Arc::new(ServiceCredentialResource::new(self.session.clone())),
            Arc::new(SecretScopeResource::new(self.session.clone())),
            Arc::new(SecretResource::new(self.session.clone())),
            Arc::new(VolumeResource::new(self.session.clone())),
            Arc::new(GrantsResource::new(self.session.clone())),
        ]
    }

    fn data_sources(&self) -> Vec<Arc<dyn DataSource>> {
        vec![
            Arc::new(StreamDataSource::new(self.session.clone())),
            Arc::new(ConnectionDataSource::new(self.session.clone())),
            Arc::new(AgentDataSource::new(self.session.clone())),
            Arc::new(TableColumnsDataSource),
        ]
    }

    async fn validate(&self, config: &Value, _context: &CallContext) -> Diagnostics {
        match Settings::read(config, environment) {
            Ok(_) => Diagnostics::none(),
            Err(problems) => problems,
        }
    }

    async fn configure(&self, request: ConfigureRequest<'_>, context: &CallContext) -> Diagnostics {
        let settings = match Settings::read(request.config, environment) {
            Ok(settings) => settings,
            Err(problems) => return problems,
        };
        match settings.open(request.terraform_version, &context.stop).await {
            Ok((access, plan_checks)) => {
                tracing::debug!(
                    ?access,
                    ?plan_checks,
                    terraform_version = request.terraform_version,
                    "provider configured"
                );
                self.session.configure(access, plan_checks);
                Diagnostics::none()
            }
            Err(problems) => problems,
        }
    }
}

fn environment(variable: &str) -> Option<String> {
    std::env::var(variable).ok()
}
