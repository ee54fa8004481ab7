//! Is the provider's configuration right? Invariant: unknown values are no mistake.

use crate::diagnostic::Diagnostics;
use crate::value::Value;

use super::{Engine, guarded};

impl Engine {
    pub(crate) async fn validate_provider_config(&self, config: &Value) -> Diagnostics {
        let context = self.context();
        guarded("the validation of its configuration", self.provider.validate(config, &context))
            .await
            .unwrap_or_else(|bug| bug)
    }
}
