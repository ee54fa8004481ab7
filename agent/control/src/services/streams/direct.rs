//! What a stream that shows a client certificate needs beside itself: stores of keys that open.
//!
//! What is not there is refused by a create, and is a warning in the plan, because the same apply may make it first; so is what is there
//! and does not fit. The invariant: nothing is read for a caller who may not create the stream.

use stream_spec::stream::{ConnectionConfig, StreamSpec};
use stream_spec::violation::Violation;

use super::StreamService;
use crate::services::error::ServiceError;
use crate::services::missing;

const FIELD: &str = "connection_config.direct_mtls_config.mtls_config";

impl StreamService {
    /// What would keep the stream from opening its connection now.
    pub(super) async fn certificate_warnings(&self, spec: &StreamSpec) -> Result<Vec<Violation>, ServiceError> {
        let ConnectionConfig::DirectMtls(direct) = &spec.connection else {
            return Ok(Vec::new());
        };
        let missing = missing::of_certificate(&self.services.store, spec).await?;
        if !missing.is_empty() {
            return Ok(missing);
        }
        let Err(error) = self.services.resolver.check_direct(direct).await else {
            return Ok(Vec::new());
        };
        let remedy = "the stream would be made, and wait until that is put right";
        Ok(vec![Violation::new(FIELD, "the stores of keys", error.to_string(), remedy)])
    }
}
