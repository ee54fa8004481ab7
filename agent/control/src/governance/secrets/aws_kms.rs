//! A master key that never leaves AWS KMS: data keys go there to be sealed and opened.
//!
//! The invariant: each data key is bound by KMS's encryption context to its scope and its life, so that one which was moved to
//! another place does not open; and only the key that the settings name opens it. A data key is in this process as it is with a
//! local master key, and in the buffers of the TLS client besides, which are not wiped.

use async_trait::async_trait;
use aws_sdk_kms::Client;
use aws_sdk_kms::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_kms::primitives::Blob;
use tokio::sync::OnceCell;
use zeroize::Zeroizing;

use super::cipher::Key;
use super::master::{KeyUse, KeyWrapper, WrapError};
use crate::governance::aws::{self, AwsEnvironment};

/// Names of the encryption context. They are stored in no place but must be the same for ever: nothing opens without them.
const SCOPE: &str = "featurestore:scope";
const KEY_ID: &str = "featurestore:key-id";

/// A text that names no key of AWS KMS.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "`{text}` names no AWS KMS key; give the key's ARN (`arn:aws:kms:<region>:<account>:key/<id>`) or its id, \
     not an alias, which may come to mean another key"
)]
pub struct NotAKmsKey {
    text: String,
}

/// A key of AWS KMS, by its id or ARN.
pub struct KmsKey {
    /// As the settings name it.
    name: String,
    id: String,
    environment: AwsEnvironment,
    client: OnceCell<Client>,
}

impl KmsKey {
    /// The key of that name. AWS is not asked before the key is used.
    pub fn parse(name: &str) -> Result<Self, NotAKmsKey> {
        let region = region_of(name).ok_or_else(|| NotAKmsKey { text: name.to_owned() })?;
        Ok(Self::reached_by(name, AwsEnvironment::in_region(region.map(str::to_owned))))
    }

    pub(super) fn reached_by(name: &str, environment: AwsEnvironment) -> Self {
        Self {
            name: name.to_owned(),
            id: format!("aws-kms/{name}"),
            environment,
            client: OnceCell::new(),
        }
    }

    async fn client(&self) -> Result<&Client, String> {
        let connect = || async { Ok(Client::new(self.environment.configuration().await?)) };
        self.client.get_or_try_init(connect).await
    }
}

#[async_trait]
impl KeyWrapper for KmsKey {
    fn id(&self) -> &str {
        &self.id
    }

    async fn seal_key(&self, purpose: KeyUse<'_>, key: &Key) -> Result<Vec<u8>, WrapError> {
        let sealing = async {
            let request = self.client().await?.encrypt().key_id(&self.name).plaintext(Blob::new(key.bytes()));
            let sent = request
                .encryption_context(SCOPE, purpose.scope)
                .encryption_context(KEY_ID, purpose.key_id)
                .send();
            let answer = sent.await.map_err(|error| aws::problem(&error))?;
            let sealed = answer.ciphertext_blob.ok_or("AWS answered without the sealed key")?;
            Ok(sealed.into_inner())
        };
        aws::within_bound(sealing).await.map_err(unavailable)
    }

    async fn open_key(&self, purpose: KeyUse<'_>, sealed: &[u8]) -> Result<Key, WrapError> {
        let opening = async {
            let request = self.client().await?.decrypt().key_id(&self.name).ciphertext_blob(Blob::new(sealed));
            let sent = request
                .encryption_context(SCOPE, purpose.scope)
                .encryption_context(KEY_ID, purpose.key_id)
                .send();
            match sent.await {
                Ok(answer) => Ok(answer.plaintext),
                Err(error) if is_not_authentic(&error) => Ok(None),
                Err(error) => Err(aws::problem(&error)),
            }
        };
        let opened = aws::within_bound(opening).await.map_err(unavailable)?;
        let bytes = Zeroizing::new(opened.ok_or(WrapError::NotAuthentic)?.into_inner());
        Key::from_bytes(&bytes).ok_or(WrapError::NotAuthentic)
    }
}

/// What to do is said here, because only here it is known that the key is in KMS.
fn unavailable(problem: String) -> WrapError {
    WrapError::Unavailable(format!(
        "{problem}; see that the key is there and enabled, that the agent's AWS identity may call kms:Encrypt and kms:Decrypt on it, and \
         that AWS can be reached"
    ))
}

/// True if KMS did its work and says that the bytes are not what this key sealed for that use.
fn is_not_authentic<E: ProvideErrorMetadata, R>(error: &SdkError<E, R>) -> bool {
    matches!(error.code(), Some("InvalidCiphertextException" | "IncorrectKeyException"))
}

/// The region in a key's name: `Some(None)` for an id, which has none, and `None` for what is no name of a key.
fn region_of(name: &str) -> Option<Option<&str>> {
    let Some(arn) = name.strip_prefix("arn:") else {
        return is_key_id(name).then_some(None);
    };
    let parts: Vec<&str> = arn.split(':').collect();
    let [partition, "kms", region, account, resource] = parts.as_slice() else {
        return None;
    };
    let is_key = resource.strip_prefix("key/").is_some_and(is_key_id);
    let is_account = account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit());
    (is_word(partition) && is_word(region) && is_account && is_key).then_some(Some(region))
}

/// A UUID, or the id of a key of many regions: `mrk-` and 32 hexadecimal digits.
fn is_key_id(text: &str) -> bool {
    let hexadecimal = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match text.strip_prefix("mrk-") {
        Some(digits) => digits.len() == 32 && hexadecimal(digits),
        None => text.len() == 36 && text.split('-').count() == 5 && text.split('-').all(hexadecimal),
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
mod tests;
