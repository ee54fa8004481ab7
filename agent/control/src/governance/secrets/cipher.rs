//! AES-256-GCM with a random nonce, in one form of bytes: format version, nonce, ciphertext and tag.
//!
//! The invariant: associated data names everything that the bytes are for, each part with its length before it, so that
//! bytes which were moved to another place do not open. A data key seals far less than the 2^32 values after which random
//! nonces would be a risk.

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use zeroize::Zeroizing;

use super::value::SecretValue;

/// Version of the form of sealed bytes.
const FORMAT: u8 = 1;

/// Bytes of a key.
pub(super) const KEY_BYTES: usize = 32;

/// A key, wiped when it is dropped.
#[derive(Clone)]
pub struct Key(Zeroizing<[u8; KEY_BYTES]>);

/// Bytes that do not open: damaged, moved, or sealed under another key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotAuthentic;

/// The system's random numbers or the cipher failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CipherFailed;

impl Key {
    /// A new random key.
    pub(super) fn random() -> Result<Self, CipherFailed> {
        let mut bytes = Zeroizing::new([0; KEY_BYTES]);
        getrandom::fill(bytes.as_mut_slice()).map_err(|_| CipherFailed)?;
        Ok(Self(bytes))
    }

    /// The key of these bytes, if they are as many as a key has.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        if bytes.len() != KEY_BYTES {
            return None;
        }
        key.copy_from_slice(bytes);
        Some(Self(key))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.0.as_slice()
    }

    /// Seals `plain` for what `bound_to` names.
    pub(super) fn seal(&self, bound_to: &[&str], plain: &[u8]) -> Result<Vec<u8>, CipherFailed> {
        let key = RandomizedNonceKey::new(&AES_256_GCM, self.bytes()).map_err(|_| CipherFailed)?;
        // Wiped if sealing fails half way.
        let mut in_place = Zeroizing::new(plain.to_vec());
        let (nonce, tag) = key
            .seal_in_place_separate_tag(associated_data(bound_to), in_place.as_mut_slice())
            .map_err(|_| CipherFailed)?;
        let mut sealed = Vec::with_capacity(1 + NONCE_LEN + plain.len() + tag.as_ref().len());
        sealed.push(FORMAT);
        sealed.extend_from_slice(nonce.as_ref());
        sealed.extend_from_slice(&in_place);
        sealed.extend_from_slice(tag.as_ref());
        Ok(sealed)
    }

    /// Opens what was sealed for what `bound_to` names.
    pub(super) fn open(&self, bound_to: &[&str], sealed: &[u8]) -> Result<SecretValue, NotAuthentic> {
        let (format, rest) = sealed.split_first().ok_or(NotAuthentic)?;
        let (nonce, text) = rest.split_at_checked(NONCE_LEN).ok_or(NotAuthentic)?;
        if *format != FORMAT {
            return Err(NotAuthentic);
        }
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| NotAuthentic)?;
        let key = RandomizedNonceKey::new(&AES_256_GCM, self.bytes()).map_err(|_| NotAuthentic)?;
        let mut in_place = Zeroizing::new(text.to_vec());
        let plain = key
            .open_in_place(nonce, associated_data(bound_to), in_place.as_mut_slice())
            .map_err(|_| NotAuthentic)?;
        Ok(SecretValue::new(plain.to_vec()))
    }
}

fn associated_data(parts: &[&str]) -> Aad<Vec<u8>> {
    let mut bytes = vec![FORMAT];
    for part in parts {
        bytes.extend_from_slice(&part.len().to_be_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    Aad::from(bytes)
}
