//! Takes the provider's configuration into use. Invariant: a stop signal given before belongs to an earlier run.

use std::sync::PoisonError;

use crate::call::StopSignal;
use crate::diagnostic::Diagnostics;
use crate::provider::ConfigureRequest;

use super::{Engine, guarded};

impl Engine {
    pub(crate) async fn configure_provider(&self, request: ConfigureRequest<'_>) -> Diagnostics {
        *self.stop.lock().unwrap_or_else(PoisonError::into_inner) = StopSignal::new();
        let context = self.context();
        guarded("its configuration", self.provider.configure(request, &context))
            .await
            .unwrap_or_else(|bug| bug)
    }
}
