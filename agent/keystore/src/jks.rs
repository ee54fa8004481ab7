//! Java's own store, JKS: numbers in network order, entries one after the other, and a digest over all of it and the password.
//!
//! A key in it is covered by a stream of SHA-1 digests, each of the password and the one before, that begins with a salt; what
//! follows the key is its digest with the password. No maintained library reads it without assuming one password for all.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{Context, Digest, SHA1_FOR_LEGACY_USE_ONLY, SHA1_OUTPUT_LEN};
use zeroize::Zeroizing;

use crate::der::{self, Reader};
use crate::error::{self, CUT, KeystoreError, damaged};
use crate::identity::{Contents, KeyEntry, Trusted};
use crate::limits::{CHAIN_MAX, ENTRIES_MAX};
use crate::{crypt, pem};

/// Goes into the digest over the store.
const WORDS: &[u8] = b"Mighty Aphrodite";
/// How keys are covered: 1.3.6.1.4.1.42.2.17.1.1.
const COVERED_BY_JAVA: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0x2a, 0x02, 0x11, 0x01, 0x01];
const KEY: u32 = 1;
const CERTIFICATE: u32 = 2;

/// A key as it stands in the store: DER around what is covered.
pub(crate) struct CoveredKey(Vec<u8>);

/// Opens a store that is known to be JKS.
pub(crate) fn open(bytes: &[u8], password: &str) -> Result<Contents<CoveredKey>, KeystoreError> {
    let (body, digest) = bytes
        .len()
        .checked_sub(SHA1_OUTPUT_LEN)
        .and_then(|at| bytes.split_at_checked(at))
        .ok_or(CUT)?;
    let expected = digest_of(&[&password_bytes(password), WORDS, body]);
    verify_slices_are_equal(expected.as_ref(), digest).map_err(|_| KeystoreError::WrongStorePassword)?;
    let mut reader = Fields(body);
    reader.number()?;
    let version = reader.number()?;
    if !(1..=2).contains(&version) {
        return Err(damaged("its version is neither 1 nor 2"));
    }
    let count = reader.count("entries", ENTRIES_MAX)?;
    let mut contents = Contents {
        keys: Vec::new(),
        trusted: Vec::new(),
    };
    for _ in 0..count {
        let kind = reader.number()?;
        let alias = reader.text()?;
        // When it was made.
        reader.take(size_of::<i64>())?;
        match kind {
            KEY => {
                let key = CoveredKey(reader.bytes()?.to_vec());
                let length = reader.count("certificates of a key", CHAIN_MAX)?;
                let chain = (0..length).map(|_| reader.certificate(version)).collect::<Result<_, _>>()?;
                contents.keys.push(KeyEntry { alias, key, chain });
            }
            CERTIFICATE => contents.trusted.push(Trusted {
                alias,
                certificate: reader.certificate(version)?,
            }),
            _ => return Err(damaged("an entry is neither a key nor a certificate")),
        }
    }
    Ok(contents)
}

/// Uncovers a key.
pub(crate) fn open_key(key: &CoveredKey, password: &str, alias: &str) -> Result<Zeroizing<Vec<u8>>, KeystoreError> {
    let mut inside = Reader::new(&key.0).sequence()?;
    let algorithm = inside.sequence()?.tagged(der::OBJECT)?;
    if algorithm != COVERED_BY_JAVA {
        return Err(crypt::unsupported(algorithm));
    }
    let covered = inside.tagged(der::OCTET_STRING)?;
    let (salt, rest) = covered.split_at_checked(SHA1_OUTPUT_LEN).ok_or(CUT)?;
    let (covered, check) = rest
        .len()
        .checked_sub(SHA1_OUTPUT_LEN)
        .and_then(|at| rest.split_at_checked(at))
        .ok_or(CUT)?;
    let password = password_bytes(password);
    let mut plain = Zeroizing::new(covered.to_vec());
    let mut digest = Zeroizing::new(salt.to_vec());
    for chunk in plain.chunks_mut(SHA1_OUTPUT_LEN) {
        let next = digest_of(&[&password, &digest]);
        digest.copy_from_slice(next.as_ref());
        for (byte, cover) in chunk.iter_mut().zip(digest.iter()) {
            *byte ^= cover;
        }
    }
    let wrong = || KeystoreError::WrongKeyPassword {
        alias: error::plain(alias),
    };
    verify_slices_are_equal(digest_of(&[&password, &plain]).as_ref(), check).map_err(|_| wrong())?;
    match pem::label(&plain) {
        Some(_) => Ok(plain),
        None => Err(damaged("what is kept as a key is none")),
    }
}

/// Two bytes for each unit of UTF-16.
fn password_bytes(password: &str) -> Zeroizing<Vec<u8>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(password.len() * 2));
    bytes.extend(password.encode_utf16().flat_map(u16::to_be_bytes));
    bytes
}

fn digest_of(parts: &[&[u8]]) -> Digest {
    let mut context = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    for part in parts {
        context.update(part);
    }
    context.finish()
}

/// Reads the store's fields one after the other.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], KeystoreError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(CUT)?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u32, KeystoreError> {
        let bytes = self.take(size_of::<u32>())?;
        Ok(bytes.iter().fold(0, |number, byte| (number << 8) | u32::from(*byte)))
    }

    fn count(&mut self, what: &'static str, most: usize) -> Result<usize, KeystoreError> {
        let count = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        match count <= most {
            true => Ok(count),
            false => Err(KeystoreError::TooMuch { what, most: most as u64 }),
        }
    }

    fn bytes(&mut self) -> Result<&'a [u8], KeystoreError> {
        let length = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        self.take(length)
    }

    /// Java's own form of UTF-8; letters that it writes otherwise than everybody are shown as unknown ones.
    fn text(&mut self) -> Result<String, KeystoreError> {
        let length = self.take(size_of::<u16>())?;
        let length = length.iter().fold(0, |length, byte| (length << 8) | usize::from(*byte));
        self.take(length).map(|text| String::from_utf8_lossy(text).into_owned())
    }

    fn certificate(&mut self, version: u32) -> Result<Vec<u8>, KeystoreError> {
        if version > 1 {
            // Its kind, which is X.509 always.
            self.text()?;
        }
        self.bytes().map(<[u8]>::to_vec)
    }
}
