//! What a declaration names and what is not there: volumes, secrets, service credentials, connections.
//!
//! The invariant: callers have asked whether theirs may use what is named, because an answer tells whether it exists.

use std::sync::Arc;

use stream_spec::connection::{ConnectionOptions, ConnectionSpec};
use stream_spec::name::{ConnectionName, CredentialName, ScopeName, SecretKey};
use stream_spec::stream::{ConnectionConfig, SchemaConfig, SecretRef, StreamSpec};
use stream_spec::violation::Violation;
use stream_spec::volume::VolumePath;

use crate::governance::secrets::ScopeId;
use crate::store::documents::{self, CredentialRecord, VolumeRecord};
use crate::store::{Store, StoreError};

const REMEDY: &str = "create it first; where the same Terraform plan does, refer to its resource, so that it comes first";

/// What a client certificate is made of, of a stream that shows one.
pub(super) async fn of_certificate(store: &Arc<dyn Store>, spec: &StreamSpec) -> Result<Vec<Violation>, StoreError> {
    let ConnectionConfig::DirectMtls(direct) = &spec.connection else {
        return Ok(Vec::new());
    };
    let (mtls, mut missing) = (&direct.mtls, Vec::new());
    let field = |name: &str| format!("connection_config.direct_mtls_config.mtls_config.{name}");
    for (name, location) in [
        ("keystore_location", &mtls.keystore_location),
        ("truststore_location", &mtls.truststore_location),
    ] {
        missing.extend(volume(store, &field(name), location).await?);
    }
    for (name, reference) in [
        ("keystore_password_ref", &mtls.keystore_password_ref),
        ("key_password_ref", &mtls.key_password_ref),
        ("truststore_password_ref", &mtls.truststore_password_ref),
    ] {
        missing.extend(secret(store, &field(name), reference).await?);
    }
    Ok(missing)
}

/// The connections of a stream: its own, and its registry's.
pub(super) async fn connections_of(store: &Arc<dyn Store>, spec: &StreamSpec) -> Result<Vec<Violation>, StoreError> {
    let mut missing = Vec::new();
    if let ConnectionConfig::UcConnectionName(name) = &spec.connection {
        missing.extend(connection(store, "connection_config.uc_connection_name", name).await?);
    }
    if let SchemaConfig::Registry(registry) = &spec.schemas
        && let Some(name) = &registry.uc_connection
    {
        missing.extend(connection(store, "schema_config.schema_registry_config.uc_connection", name).await?);
    }
    Ok(missing)
}

/// The secrets and the service credential of a connection.
pub(super) async fn of_connection(store: &Arc<dyn Store>, spec: &ConnectionSpec) -> Result<Vec<Violation>, StoreError> {
    let mut missing = Vec::new();
    match &spec.options {
        ConnectionOptions::Kafka(kafka) => {
            for (field, reference) in [
                ("kafka.password_secret", &kafka.password_secret),
                ("kafka.schema_registry_api_secret_ref", &kafka.schema_registry_api_secret),
            ] {
                if let Some(reference) = reference {
                    missing.extend(secret(store, field, reference).await?);
                }
            }
            if let Some(name) = &kafka.credential {
                missing.extend(credential(store, "kafka.credential", name).await?);
            }
        }
        ConnectionOptions::Kinesis(kinesis) => missing.extend(credential(store, "kinesis.credential", &kinesis.credential).await?),
    }
    Ok(missing)
}

async fn connection(store: &Arc<dyn Store>, field: &str, name: &ConnectionName) -> Result<Option<Violation>, StoreError> {
    let found = store.connection(name).await?;
    let missing = || Violation::new(field, name.as_str(), "there is no connection of that name", REMEDY);
    Ok(found.is_none().then(missing))
}

/// A path that is none of a volume is judged by the rules of definitions, and so is a name that is none.
async fn volume(store: &Arc<dyn Store>, field: &str, location: &str) -> Result<Option<Violation>, StoreError> {
    let Ok(VolumePath { volume, .. }) = VolumePath::parse(location) else {
        return Ok(None);
    };
    let found = documents::get::<VolumeRecord>(store, volume.as_str()).await?;
    let missing = || Violation::new(field, location, format!("there is no volume `{volume}`"), REMEDY);
    Ok(found.is_none().then(missing))
}

async fn credential(store: &Arc<dyn Store>, field: &str, name: &str) -> Result<Option<Violation>, StoreError> {
    let Ok(name) = CredentialName::parse(name) else {
        return Ok(None);
    };
    let found = documents::get::<CredentialRecord>(store, name.as_str()).await?;
    let missing = || Violation::new(field, name.as_str(), "there is no service credential of that name", REMEDY);
    Ok(found.is_none().then(missing))
}

async fn secret(store: &Arc<dyn Store>, field: &str, reference: &SecretRef) -> Result<Option<Violation>, StoreError> {
    let found = match (ScopeName::parse(&reference.scope), SecretKey::parse(&reference.key)) {
        (Ok(scope), Ok(key)) => store.secret(&ScopeId::Named(scope), &key).await?.is_some(),
        _ => false,
    };
    let shown = format!("{}/{}", reference.scope, reference.key);
    let missing = || Violation::new(field, &shown, format!("there is no secret `{shown}`"), REMEDY);
    Ok((!found).then(missing))
}
