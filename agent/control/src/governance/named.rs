//! What a declaration names beside itself: the places where its rule wants something held. Pure. The invariant: a text that
//! is no name of its kind is still a place, where nobody holds anything but the admin group: nothing is skipped because it
//! cannot be read.

use std::collections::BTreeSet;

use stream_spec::connection::{ConnectionOptions, ConnectionSpec};
use stream_spec::name::ConnectionName;
use stream_spec::stream::{ConnectionConfig, DirectMtlsConfig, SchemaConfig, SecretRef, StreamSpec};
use stream_spec::volume::VolumePath;

use super::privilege::SecurableType;
use super::rules::On;

/// Something that privileges are granted on.
pub(super) type Place = (SecurableType, String);

/// The places of one need of a stream, without the credentials, which are named by its connections.
pub(super) fn in_stream(spec: &StreamSpec, on: On) -> Vec<Place> {
    let (destination, name) = (&spec.ingestion.destination, &spec.name);
    match on {
        On::Itself | On::Credentials => Vec::new(),
        // The name takes a place in a schema as the table does, and that it is taken already can be told from a create.
        On::Catalog => places(SecurableType::Catalog, [destination.catalog(), name.catalog()].map(str::to_owned)),
        On::Schema => {
            let of_name = schema_of(name.catalog(), name.schema());
            places(
                SecurableType::Schema,
                [schema_of(destination.catalog(), destination.schema()), of_name],
            )
        }
        On::Connections => places(SecurableType::Connection, connections(spec).into_iter().map(ToString::to_string)),
        On::Scopes => places(SecurableType::SecretScope, scopes(spec)),
        On::Volumes => places(SecurableType::Volume, volumes(spec)),
        On::BackfillSource => places(SecurableType::Table, spec.ingestion.backfill_source.iter().map(ToString::to_string)),
    }
}

/// The places of one need of a connection.
pub(super) fn in_connection(spec: &ConnectionSpec, on: On) -> Vec<Place> {
    match on {
        On::Credentials => places(SecurableType::ServiceCredential, credential(spec)),
        On::Scopes => places(SecurableType::SecretScope, connection_scopes(spec)),
        On::Itself | On::Catalog | On::Schema | On::Connections | On::Volumes | On::BackfillSource => Vec::new(),
    }
}

/// The connections that a stream names: its own, and its registry's.
pub(crate) fn connections(spec: &StreamSpec) -> BTreeSet<&ConnectionName> {
    let own = match &spec.connection {
        ConnectionConfig::UcConnectionName(name) => Some(name),
        ConnectionConfig::DirectMtls(_) => None,
    };
    let of_registry = match &spec.schemas {
        SchemaConfig::Registry(registry) => registry.uc_connection.as_ref(),
        SchemaConfig::Direct(_) => None,
    };
    own.into_iter().chain(of_registry).collect()
}

/// The service credential that a connection names.
pub(crate) fn credential(spec: &ConnectionSpec) -> Option<String> {
    match &spec.options {
        ConnectionOptions::Kafka(kafka) => kafka.credential.clone(),
        ConnectionOptions::Kinesis(kinesis) => Some(kinesis.credential.clone()),
    }
}

/// A schema's name.
pub(super) fn schema_of(catalog: &str, schema: &str) -> String {
    format!("{catalog}.{schema}")
}

fn places(securable_type: SecurableType, names: impl IntoIterator<Item = String>) -> Vec<Place> {
    // Each once: two passwords in one scope are one thing to be granted.
    let names: BTreeSet<String> = names.into_iter().collect();
    names.into_iter().map(|name| (securable_type, name)).collect()
}

fn scopes(spec: &StreamSpec) -> Vec<String> {
    stream_secrets(spec).into_iter().map(|secret| secret.scope.clone()).collect()
}

fn connection_scopes(spec: &ConnectionSpec) -> Vec<String> {
    connection_secrets(spec).into_iter().map(|secret| secret.scope.clone()).collect()
}

/// The secrets that a stream itself names.
pub(crate) fn stream_secrets(spec: &StreamSpec) -> Vec<&SecretRef> {
    let mut secrets = Vec::new();
    if let ConnectionConfig::DirectMtls(direct) = &spec.connection {
        secrets.extend(direct_secrets(direct));
    }
    if let SchemaConfig::Registry(registry) = &spec.schemas {
        secrets.extend(registry.api_secret_ref.iter());
    }
    secrets
}

/// The secrets of scopes that a connection names.
pub(crate) fn connection_secrets(spec: &ConnectionSpec) -> Vec<&SecretRef> {
    match &spec.options {
        ConnectionOptions::Kafka(kafka) => [&kafka.password_secret, &kafka.schema_registry_api_secret]
            .into_iter()
            .flatten()
            .collect(),
        ConnectionOptions::Kinesis(_) => Vec::new(),
    }
}

/// The secrets that open the stores of a client certificate.
pub(crate) fn direct_secrets(direct: &DirectMtlsConfig) -> [&SecretRef; 3] {
    let mtls = &direct.mtls;
    [&mtls.keystore_password_ref, &mtls.key_password_ref, &mtls.truststore_password_ref]
}

/// The volumes that the stores of a client certificate are in.
pub(crate) fn direct_volumes(direct: &DirectMtlsConfig) -> [String; 2] {
    [&direct.mtls.keystore_location, &direct.mtls.truststore_location].map(|location| volume_of(location))
}

/// The volumes that a stream names.
pub(crate) fn volumes(spec: &StreamSpec) -> Vec<String> {
    match &spec.connection {
        ConnectionConfig::DirectMtls(direct) => direct_volumes(direct).into(),
        ConnectionConfig::UcConnectionName(_) => Vec::new(),
    }
}

/// `catalog.schema.volume` of a path below `/Volumes`, or the path itself if it is none.
fn volume_of(location: &str) -> String {
    VolumePath::parse(location).map_or_else(|_| location.to_owned(), |path| path.volume.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_none_of_a_volume_is_not_taken_for_one() {
        for (location, expected) in [
            ("/Volumes/main/pay/stores/client.jks", "main.pay.stores"),
            ("/Volumes/main/pay/stores/a/b.jks", "main.pay.stores"),
            ("/Volumes/main/pay/stores", "/Volumes/main/pay/stores"),
            ("/Volumes/main/../stores/x", "/Volumes/main/../stores/x"),
            ("/etc/main/pay/stores/x", "/etc/main/pay/stores/x"),
            ("Volumes/main/pay/stores/x", "Volumes/main/pay/stores/x"),
        ] {
            assert_eq!(volume_of(location), expected, "{location}");
        }
    }
}
