//! A provider, as its author writes it: its own configuration, and what it consists of.
//!
//! Resources and data sources hold whatever they share with the provider (a client that `configure` fills in) by themselves.
//! Invariant: `configure` may come again in one process, by a later run of Terraform that found us by reattaching.

use std::sync::Arc;

use async_trait::async_trait;

use crate::call::CallContext;
use crate::data_source::DataSource;
use crate::diagnostic::Diagnostics;
use crate::resource::Resource;
use crate::schema::Schema;
use crate::value::Value;

/// A provider. Called from many tasks at once.
#[async_trait]
pub trait Provider: Send + Sync + 'static {
    /// The shape of its configuration.
    fn schema(&self) -> Schema;

    /// Its resources. Asked once, at the start.
    fn resources(&self) -> Vec<Arc<dyn Resource>>;

    /// Its data sources. Asked once, at the start.
    fn data_sources(&self) -> Vec<Arc<dyn DataSource>>;

    /// Is the configuration right, as far as it is known?
    async fn validate(&self, config: &Value, context: &CallContext) -> Diagnostics {
        let _ = (config, context);
        Diagnostics::none()
    }

    /// Takes the configuration into use. While planning any of it may be unknown, which is no error.
    async fn configure(&self, request: ConfigureRequest<'_>, context: &CallContext) -> Diagnostics;
}

/// How to be from now on.
pub struct ConfigureRequest<'a> {
    /// The provider's configuration.
    pub config: &'a Value,
    /// Terraform's own version, for a user agent.
    pub terraform_version: &'a str,
}
