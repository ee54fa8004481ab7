//! A data source, as a provider writes it. Invariant: it changes nothing, so it may be read as often as Terraform likes.

use async_trait::async_trait;

use crate::call::CallContext;
use crate::diagnostic::Diagnostics;
use crate::schema::Schema;
use crate::value::Value;

/// One type of data source. Called from many tasks at once.
#[async_trait]
pub trait DataSource: Send + Sync {
    /// Its whole name.
    fn type_name(&self) -> &'static str;

    /// Its shape. Asked once, at the start.
    fn schema(&self) -> Schema;

    /// Is the configuration right, as far as it is known? Called without a configured provider.
    async fn validate(&self, config: &Value, context: &CallContext) -> Diagnostics {
        let _ = (config, context);
        Diagnostics::none()
    }

    /// Its values. Terraform asks only once the configuration is wholly known.
    async fn read(&self, config: &Value, context: &CallContext) -> Result<DataRead, Diagnostics>;
}

/// What a data source found.
#[derive(Debug)]
pub struct DataRead {
    /// The whole object: the configuration's values and the computed ones.
    pub state: Value,
    /// Warnings.
    pub diagnostics: Diagnostics,
}
