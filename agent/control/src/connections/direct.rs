//! Client properties of a stream that shows a client certificate: keys and certificates from its two stores, by passwords that it
//! refers to.
//!
//! librdkafka reads no JKS, so what is in the stores is handed to it as PEM, from memory to memory: nothing is written to a disk. The
//! invariant: bytes of keys and passwords go into property values, which wipe them, and into nothing else.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use stream_keystore::{CertificateFacts, KeystoreError, certificates_pem, client_fault, client_identity, trusted_certificates};
use stream_pipeline::connection::{ClientProperties, PropertyValue};
use stream_pipeline::error::PipelineError;
use stream_spec::stream::{DirectMtlsConfig, SecretRef};

use super::{StoreResolver, revision_of, unavailable};
use crate::clock;
use crate::governance::named;
use crate::governance::secrets::SecretValue;
use crate::governance::volumes::VolumeError;
use crate::limits::VOLUME_FILE_BYTES_MAX;

/// The bytes that a client certificate is made of.
struct Stores {
    keystore: SecretValue,
    keystore_password: SecretValue,
    key_password: SecretValue,
    truststore: SecretValue,
    truststore_password: SecretValue,
}

impl StoreResolver {
    /// What a client is opened with that shows a certificate.
    pub(super) async fn of_direct(&self, direct: &DirectMtlsConfig) -> Result<ClientProperties, PipelineError> {
        // Before the values: if one is written in between, the next opening has another identity.
        let mut revisions = Vec::new();
        for reference in named::direct_secrets(direct) {
            let revision = revision_of(&self.store, reference).await;
            revisions.push(revision.map_err(|error| unavailable("SecretUnavailable", error.to_string()))?);
        }
        let stores = self.stores(direct).await?;
        let mtls = &direct.mtls;
        for (location, bytes) in [
            (&mtls.keystore_location, &stores.keystore),
            (&mtls.truststore_location, &stores.truststore),
        ] {
            revisions.push(self.files.of(location, bytes));
        }
        Ok(ClientProperties {
            bootstrap_servers: direct.bootstrap_servers.clone(),
            properties: converted(direct, stores).await?,
            tokens: None,
            identity: format!("direct/{}/{}", digest_of(direct), revisions.join("+")),
        })
    }

    /// Whether a client could be opened, as far as the agent can tell by itself.
    pub(crate) async fn check_direct(&self, direct: &DirectMtlsConfig) -> Result<(), PipelineError> {
        converted(direct, self.stores(direct).await?).await.map(drop)
    }

    async fn stores(&self, direct: &DirectMtlsConfig) -> Result<Stores, PipelineError> {
        let mtls = &direct.mtls;
        Ok(Stores {
            keystore: self.file("keystore", &mtls.keystore_location).await?,
            keystore_password: self.password("keystore_password_ref", &mtls.keystore_password_ref).await?,
            key_password: self.password("key_password_ref", &mtls.key_password_ref).await?,
            truststore: self.file("truststore", &mtls.truststore_location).await?,
            truststore_password: self.password("truststore_password_ref", &mtls.truststore_password_ref).await?,
        })
    }

    async fn file(&self, what: &str, location: &str) -> Result<SecretValue, PipelineError> {
        let read = self.volumes.read(location, VOLUME_FILE_BYTES_MAX).await;
        read.map_err(|error| {
            let reason = match error {
                VolumeError::VolumeMissing { .. } => "VolumeMissing",
                VolumeError::FileMissing { .. } => "VolumeFileMissing",
                VolumeError::TooLarge { .. } => "VolumeFileTooLarge",
                VolumeError::Store(_) => "StoreFailed",
                _ => "VolumeUnavailable",
            };
            unavailable(reason, format!("the {what}: {error}"))
        })
    }

    async fn password(&self, field: &str, reference: &SecretRef) -> Result<SecretValue, PipelineError> {
        let failed = |problem: String| {
            let message = format!("`{field}`, the secret `{}/{}`: {problem}", reference.scope, reference.key);
            unavailable("SecretUnavailable", message)
        };
        let value = self.referenced(reference).await.map_err(&failed)?;
        match value.expose_text() {
            Some(text) if !text.is_empty() => Ok(value),
            Some(_) => Err(failed("it is empty; put the password there".to_owned())),
            None => Err(failed("it is no text in UTF-8; put the password there".to_owned())),
        }
    }
}

/// The stores as properties. Deriving keys from passwords takes a while, by design.
async fn converted(direct: &DirectMtlsConfig, stores: Stores) -> Result<BTreeMap<String, PropertyValue>, PipelineError> {
    let direct = direct.clone();
    let converted = tokio::task::spawn_blocking(move || properties(&direct, &stores, clock::now_ms() / 1_000));
    converted.await.unwrap_or_else(|error| {
        Err(PipelineError::Internal {
            message: format!("reading the stores of keys broke off: {error}"),
        })
    })
}

/// Equal for equal declarations. References to secrets are part of it, values are not.
fn digest_of(direct: &DirectMtlsConfig) -> String {
    let digest = Sha256::digest(format!("{direct:?}"));
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The stores as properties of librdkafka, at a moment in seconds since 1970.
fn properties(direct: &DirectMtlsConfig, stores: &Stores, now: i64) -> Result<BTreeMap<String, PropertyValue>, PipelineError> {
    let mtls = &direct.mtls;
    let text = |password: &SecretValue| password.expose_text().unwrap_or_default().to_owned();
    let keystore_password: PropertyValue = text(&stores.keystore_password).into();
    let key_password: PropertyValue = text(&stores.key_password).into();
    let identity = client_identity(stores.keystore.expose(), keystore_password.expose(), key_password.expose());
    let identity = identity.map_err(|error| {
        let (reason, secret) = match error {
            KeystoreError::WrongStorePassword => ("KeystorePasswordWrong", Some(&mtls.keystore_password_ref)),
            KeystoreError::WrongKeyPassword { .. } => ("KeyPasswordWrong", Some(&mtls.key_password_ref)),
            _ => ("KeystoreUnusable", None),
        };
        unusable(reason, ("keystore", &mtls.keystore_location), secret, &error)
    })?;
    let chain = identity.chain.iter().map(|certificate| CertificateFacts::read(certificate));
    let chain = chain.collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|error| unusable("KeystoreUnusable", ("keystore", &mtls.keystore_location), None, &error))?;
    if let Some((reason, problem)) = client_fault(&chain, now) {
        let location = &mtls.keystore_location;
        let message = format!("the keystore `{location}`: {problem}; put one that is good now there, and look at the clock");
        return Err(unavailable(reason, message));
    }
    let truststore_password: PropertyValue = text(&stores.truststore_password).into();
    let trusted = trusted_certificates(stores.truststore.expose(), truststore_password.expose()).map_err(|error| {
        let (reason, secret) = match error {
            KeystoreError::WrongStorePassword => ("TruststorePasswordWrong", Some(&mtls.truststore_password_ref)),
            _ => ("TruststoreUnusable", None),
        };
        unusable(reason, ("truststore", &mtls.truststore_location), secret, &error)
    })?;
    let mut properties: BTreeMap<String, PropertyValue> = BTreeMap::from([
        ("security.protocol".to_owned(), "ssl".into()),
        ("ssl.key.pem".to_owned(), identity.key_pem().as_str().into()),
        ("ssl.certificate.pem".to_owned(), identity.chain_pem().into()),
        (
            "ssl.ca.pem".to_owned(),
            certificates_pem(trusted.iter().map(|it| it.certificate.as_slice())).into(),
        ),
    ]);
    if mtls.disable_hostname_verification {
        properties.insert("ssl.endpoint.identification.algorithm".to_owned(), "none".into());
    }
    Ok(properties)
}

fn unusable(reason: &'static str, (what, location): (&str, &str), secret: Option<&SecretRef>, error: &KeystoreError) -> PipelineError {
    let secret = secret.map(|secret| format!(" with the secret `{}/{}`", secret.scope, secret.key));
    let message = format!("the {what} `{location}`{}: {error}", secret.unwrap_or_default());
    unavailable(reason, message)
}
