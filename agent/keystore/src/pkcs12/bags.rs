//! The bags of a PKCS#12 store: keys and certificates, each with a name and an id. Others (revocation lists, secrets) are passed over.

use zeroize::Zeroizing;

use crate::der::{self, Reader};
use crate::error::{KeystoreError, damaged};
use crate::limits::{ENTRIES_MAX, NESTING_MAX};

/// Before the number of a kind of bag.
const BAG: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x0a, 0x01];
const X509: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x16, 0x01];
const NAME: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x14];
const ID: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x15];
/// Java's mark of a certificate that is trusted: 2.16.840.1.113894.746875.1.1.
const TRUSTED: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x86, 0xf9, 0x66, 0xad, 0xca, 0x7b, 0x01, 0x01];

/// A key as its bag has it.
pub(crate) enum SealedKey {
    Plain(Zeroizing<Vec<u8>>),
    /// DER: how, and what.
    Encrypted(Vec<u8>),
}

pub(super) struct KeyBag {
    pub(super) alias: String,
    pub(super) id: Vec<u8>,
    pub(super) key: SealedKey,
}

pub(super) struct CertificateBag {
    pub(super) alias: String,
    pub(super) id: Vec<u8>,
    pub(super) certificate: Vec<u8>,
    pub(super) is_trusted: bool,
}

/// What was read.
#[derive(Default)]
pub(super) struct Bags {
    pub(super) keys: Vec<KeyBag>,
    pub(super) certificates: Vec<CertificateBag>,
    read: usize,
}

/// What is said about a bag.
#[derive(Default)]
struct Attributes {
    alias: String,
    id: Vec<u8>,
    is_trusted: bool,
}

impl Bags {
    /// Reads the bags of a container, and of those in it.
    pub(super) fn read(&mut self, container: &[u8], depth: usize) -> Result<(), KeystoreError> {
        if depth > NESTING_MAX {
            return Err(KeystoreError::TooMuch {
                what: "containers within containers",
                most: NESTING_MAX as u64,
            });
        }
        let mut bags = Reader::new(container).sequence()?;
        while !bags.is_empty() {
            self.read += 1;
            if self.read > ENTRIES_MAX {
                return Err(KeystoreError::TooMuch {
                    what: "entries",
                    most: ENTRIES_MAX as u64,
                });
            }
            let mut bag = bags.sequence()?;
            let kind = bag.tagged(der::OBJECT)?.strip_prefix(BAG);
            let value = bag.tagged(der::CONTEXT_0)?;
            let Attributes { alias, id, is_trusted } = attributes(bag)?;
            match kind {
                Some([1]) => self.keys.push(KeyBag {
                    alias,
                    id,
                    key: SealedKey::Plain(Zeroizing::new(value.to_vec())),
                }),
                Some([2]) => self.keys.push(KeyBag {
                    alias,
                    id,
                    key: SealedKey::Encrypted(value.to_vec()),
                }),
                Some([3]) => {
                    if let Some(certificate) = certificate(value)? {
                        self.certificates.push(CertificateBag {
                            alias,
                            id,
                            certificate,
                            is_trusted,
                        });
                    }
                }
                Some([6]) => self.read(value, depth + 1)?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// A certificate, if it is one of X.509.
fn certificate(bag: &[u8]) -> Result<Option<Vec<u8>>, KeystoreError> {
    let mut inside = Reader::new(bag).sequence()?;
    if inside.tagged(der::OBJECT)? != X509 {
        return Ok(None);
    }
    let certificate = Reader::new(inside.tagged(der::CONTEXT_0)?).tagged(der::OCTET_STRING)?;
    Ok(Some(certificate.to_vec()))
}

fn attributes(mut bag: Reader<'_>) -> Result<Attributes, KeystoreError> {
    let mut found = Attributes::default();
    let mut attributes = Reader::new(bag.optional(der::SET)?.unwrap_or_default());
    while !attributes.is_empty() {
        let mut attribute = attributes.sequence()?;
        let kind = attribute.tagged(der::OBJECT)?;
        let mut values = Reader::new(attribute.tagged(der::SET)?);
        if kind == NAME {
            found.alias = text(values.tagged(der::BMP_STRING)?)?;
        } else if kind == ID {
            found.id = values.tagged(der::OCTET_STRING)?.to_vec();
        } else if kind == TRUSTED {
            found.is_trusted = true;
        }
    }
    Ok(found)
}

/// Two bytes for each unit of UTF-16.
fn text(bytes: &[u8]) -> Result<String, KeystoreError> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(damaged("a name has half a letter"));
    }
    let units: Vec<u16> = pairs.iter().map(|pair| u16::from_be_bytes(*pair)).collect();
    Ok(String::from_utf16_lossy(&units))
}
