//! Which format the bytes are in, told by how they begin.

use crate::der::{self, Reader};
use crate::error::KeystoreError;

/// A format that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Java's own.
    Jks,
    /// The standard one.
    Pkcs12,
}

const JKS: &[u8] = &[0xfe, 0xed, 0xfe, 0xed];
const JCEKS: &[u8] = &[0xce, 0xce, 0xce, 0xce];
/// Bouncy Castle's: a version, then a salt of twenty bytes.
const BKS: [&[u8]; 2] = [&[0, 0, 0, 1, 0, 0, 0, 20], &[0, 0, 0, 2, 0, 0, 0, 20]];

/// The format of a store. Errors: one that is not read, and what is no store.
pub(crate) fn of(bytes: &[u8]) -> Result<Format, KeystoreError> {
    let begins = |with: &[u8]| bytes.starts_with(with);
    let other = |format| Err(KeystoreError::OtherFormat { format });
    let no_store = |found, remedy| Err(KeystoreError::NotAStore { found, remedy });
    let make = "make one with `keytool`";
    match bytes {
        _ if begins(JKS) => Ok(Format::Jks),
        _ if begins(JCEKS) => other("JCEKS"),
        _ if BKS.iter().any(|bks| begins(bks)) => other("BKS"),
        [] => no_store("an empty file", make),
        [der::SEQUENCE, ..] => of_der(bytes),
        _ if begins(b"-----BEGIN") => no_store(
            "a text in PEM form",
            "make a store of it by `openssl pkcs12 -export`, or by `keytool -importcert` for authorities",
        ),
        _ => no_store("something else", make),
    }
}

/// PKCS#12 begins with its version. Bouncy Castle's FIPS store, and a bare certificate, begin with another sequence.
fn of_der(bytes: &[u8]) -> Result<Format, KeystoreError> {
    let first = Reader::new(bytes)
        .sequence()
        .and_then(|mut outer| outer.any())
        .map(|first| (first.tag, first.content));
    match first {
        Ok((der::SEQUENCE, content)) => {
            // A certificate's inner sequence begins with its version in a tag of its own, or a number.
            let inner = Reader::new(content).any().map(|inner| inner.tag);
            match inner {
                Ok(der::CONTEXT_0 | der::INTEGER) => Err(KeystoreError::NotAStore {
                    found: "a bare certificate",
                    remedy: "put it into a store by `keytool -importcert`",
                }),
                _ => Err(KeystoreError::OtherFormat { format: "BCFKS" }),
            }
        }
        // Whatever it is, reading it as PKCS#12 says what is wrong.
        _ => Ok(Format::Pkcs12),
    }
}
