//! Is a data source's configuration right? Invariant: unknown values are no mistake.

use crate::diagnostic::Diagnostics;
use crate::value::Value;

use super::{DataSourceType, Engine, guarded};

impl Engine {
    pub(crate) async fn validate_data_resource_config(&self, found: &DataSourceType, config: &Value) -> Diagnostics {
        let context = self.context();
        let call = format!("the validation of data source `{}`", found.data_source.type_name());
        guarded(&call, found.data_source.validate(config, &context))
            .await
            .unwrap_or_else(|bug| bug)
    }
}
