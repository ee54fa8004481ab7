//! What a client takes from its two stores: its one key with the certificates for it, and the authorities that it trusts.

use zeroize::Zeroizing;

use crate::error::{self, KeystoreError};
use crate::format::{self, Format};
use crate::pem::{certificates_pem, key_pem};
use crate::{jks, pkcs12};

/// What a store holds: its keys still closed, because they may have another password.
pub(crate) struct Contents<Key> {
    pub(crate) keys: Vec<KeyEntry<Key>>,
    pub(crate) trusted: Vec<Trusted>,
}

/// A key as its store keeps it, and its certificates, the key's own first.
pub(crate) struct KeyEntry<Key> {
    pub(crate) alias: String,
    pub(crate) key: Key,
    pub(crate) chain: Vec<Vec<u8>>,
}

/// A certificate that is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trusted {
    /// Its name in the store.
    pub alias: String,
    /// DER.
    pub certificate: Vec<u8>,
}

/// A client's key and certificates.
pub struct ClientIdentity {
    /// The key's name in its store.
    pub alias: String,
    key: Zeroizing<Vec<u8>>,
    /// DER, the key's own certificate first, each issued by the next.
    pub chain: Vec<Vec<u8>>,
}

impl ClientIdentity {
    /// The key as PEM.
    pub fn key_pem(&self) -> Zeroizing<String> {
        key_pem(&self.key)
    }

    /// The certificates as PEM, the key's own first.
    pub fn chain_pem(&self) -> String {
        certificates_pem(self.chain.iter().map(Vec::as_slice))
    }
}

impl std::fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientIdentity").field("alias", &self.alias).finish_non_exhaustive()
    }
}

/// The one key of a store, with its certificates.
pub fn client_identity(bytes: &[u8], store_password: &str, key_password: &str) -> Result<ClientIdentity, KeystoreError> {
    match format::of(bytes)? {
        Format::Jks => {
            let entry = only_key(jks::open(bytes, store_password)?)?;
            let key = jks::open_key(&entry.key, key_password, &entry.alias)?;
            complete(entry, key)
        }
        Format::Pkcs12 => {
            let (contents, rounds) = pkcs12::open(bytes, store_password)?;
            let entry = only_key(contents)?;
            let key = pkcs12::open_key(&entry.key, key_password, &entry.alias, rounds)?;
            complete(entry, key)
        }
    }
}

/// The certificates of a store that are there to be trusted.
pub fn trusted_certificates(bytes: &[u8], store_password: &str) -> Result<Vec<Trusted>, KeystoreError> {
    match format::of(bytes)? {
        Format::Jks => only_trusted(jks::open(bytes, store_password)?),
        Format::Pkcs12 => only_trusted(pkcs12::open(bytes, store_password)?.0),
    }
}

fn only_key<Key>(contents: Contents<Key>) -> Result<KeyEntry<Key>, KeystoreError> {
    let Contents { mut keys, trusted } = contents;
    if keys.len() > 1 {
        let aliases = error::names(keys.iter().map(|entry| entry.alias.as_str()));
        return Err(KeystoreError::SeveralKeys { aliases });
    }
    keys.pop().ok_or_else(|| KeystoreError::NoKey {
        found: match trusted.is_empty() {
            true => "nothing".to_owned(),
            false => format!("certificates: {}", error::names(trusted.iter().map(|entry| entry.alias.as_str()))),
        },
    })
}

fn complete<Key>(entry: KeyEntry<Key>, key: Zeroizing<Vec<u8>>) -> Result<ClientIdentity, KeystoreError> {
    let KeyEntry { alias, chain, .. } = entry;
    match chain.is_empty() {
        true => Err(KeystoreError::NoCertificate {
            alias: error::plain(&alias),
        }),
        false => Ok(ClientIdentity { alias, key, chain }),
    }
}

fn only_trusted<Key>(contents: Contents<Key>) -> Result<Vec<Trusted>, KeystoreError> {
    let Contents { keys, trusted } = contents;
    if !trusted.is_empty() {
        return Ok(trusted);
    }
    Err(KeystoreError::NothingTrusted {
        found: match keys.is_empty() {
            true => "nothing".to_owned(),
            false => format!("the key {}", error::names(keys.iter().map(|entry| entry.alias.as_str()))),
        },
    })
}
