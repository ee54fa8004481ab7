//! What a stream that shows a client certificate needs beside itself: volumes, secrets, and stores of keys that open.
//!
//! What is not there is refused by a create. A plan says nothing of it, because the same apply may make it; what is there and does not
//! fit is a warning in the plan. The invariant: nothing is read for a caller who may not create the stream.

use stream_spec::name::{ScopeName, SecretKey};
use stream_spec::stream::{ConnectionConfig, DirectMtlsConfig, StreamSpec};
use stream_spec::violation::Violation;
use stream_spec::volume::VolumePath;

use super::StreamService;
use crate::governance::secrets::ScopeId;
use crate::services::error::ServiceError;
use crate::store::documents::{self, VolumeRecord};

const FIELD: &str = "connection_config.direct_mtls_config.mtls_config";

impl StreamService {
    /// The volumes and secrets that the stream names and that are not there.
    pub(super) async fn missing_beside(&self, spec: &StreamSpec) -> Result<Vec<Violation>, ServiceError> {
        let ConnectionConfig::DirectMtls(DirectMtlsConfig { mtls, .. }) = &spec.connection else {
            return Ok(Vec::new());
        };
        let store = &self.services.store;
        let mut missing = Vec::new();
        for (name, location) in [
            ("keystore_location", &mtls.keystore_location),
            ("truststore_location", &mtls.truststore_location),
        ] {
            let Ok(VolumePath { volume, .. }) = VolumePath::parse(location) else {
                continue;
            };
            if documents::get::<VolumeRecord>(store, volume.as_str()).await?.is_none() {
                let problem = format!("there is no volume `{volume}`");
                missing.push(Violation::new(
                    format!("{FIELD}.{name}"),
                    location,
                    problem,
                    "create the volume first",
                ));
            }
        }
        for (name, reference) in [
            ("keystore_password_ref", &mtls.keystore_password_ref),
            ("key_password_ref", &mtls.key_password_ref),
            ("truststore_password_ref", &mtls.truststore_password_ref),
        ] {
            let found = match (ScopeName::parse(&reference.scope), SecretKey::parse(&reference.key)) {
                (Ok(scope), Ok(key)) => store.secret(&ScopeId::Named(scope), &key).await?.is_some(),
                _ => false,
            };
            if !found {
                let secret = format!("{}/{}", reference.scope, reference.key);
                let problem = format!("there is no secret `{secret}`");
                missing.push(Violation::new(
                    format!("{FIELD}.{name}"),
                    &secret,
                    problem,
                    "put the password there first",
                ));
            }
        }
        Ok(missing)
    }

    /// What would keep the stream from opening its connection now, if all that it names is there.
    pub(super) async fn connection_warnings(&self, spec: &StreamSpec) -> Result<Vec<Violation>, ServiceError> {
        let ConnectionConfig::DirectMtls(direct) = &spec.connection else {
            return Ok(Vec::new());
        };
        if !self.missing_beside(spec).await?.is_empty() {
            return Ok(Vec::new());
        }
        let Err(error) = self.services.resolver.check_direct(direct).await else {
            return Ok(Vec::new());
        };
        let remedy = "the stream would be made, and wait until that is put right";
        Ok(vec![Violation::new(FIELD, "the stores of keys", error.to_string(), remedy)])
    }
}
