//! PKCS#12 (RFC 7292): containers of bags, a part of them encrypted, under a check by the store's password.
//!
//! A certificate is trusted where its writer says so, as Java does; in a store without a key, where nothing is marked, all are. The key's
//! own certificate has the key's id.

mod bags;
mod check;
#[cfg(test)]
mod tests;

use zeroize::Zeroizing;

use crate::crypt::{self, Rounds};
use crate::der::{self, Reader};
use crate::error::{self, KeystoreError, damaged};
use crate::identity::{Contents, KeyEntry, Trusted};
use crate::{chain, pem};

pub(crate) use bags::SealedKey;
use bags::{Bags, CertificateBag, KeyBag};

/// Content as it is.
const DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01];
/// Content that is encrypted by a password.
const ENCRYPTED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x06];

/// Opens a store that is known to be no other format; with what is left of the rounds for its key.
pub(crate) fn open(bytes: &[u8], password: &str) -> Result<(Contents<SealedKey>, Rounds), KeystoreError> {
    let mut rounds = Rounds::all();
    let mut outer = Reader::new(bytes).sequence()?;
    if outer.number()? != 3 {
        return Err(damaged("its version is not 3"));
    }
    let content = data_of(outer.sequence()?)?;
    let is_checked = !outer.is_empty();
    if is_checked {
        check::verify(outer.sequence()?, content, password, &mut rounds)?;
    }
    let mut bags = Bags::default();
    let mut containers = Reader::new(content).sequence()?;
    while !containers.is_empty() {
        let container = containers.sequence()?;
        match opened(container, password, &mut rounds)? {
            Some(plain) => bags.read(&plain, 0)?,
            // The check has told already that the password is the right one.
            None if is_checked => return Err(damaged("a part of it does not decrypt")),
            None => return Err(KeystoreError::WrongStorePassword),
        }
    }
    Ok((arrange(bags)?, rounds))
}

/// Decrypts a key.
pub(crate) fn open_key(key: &SealedKey, password: &str, alias: &str, mut rounds: Rounds) -> Result<Zeroizing<Vec<u8>>, KeystoreError> {
    let plain = match key {
        SealedKey::Plain(key) => Some(key.clone()),
        SealedKey::Encrypted(sealed) => {
            let mut inside = Reader::new(sealed).sequence()?;
            let algorithm = inside.sequence()?;
            crypt::decrypt(algorithm, password, inside.tagged(der::OCTET_STRING)?, &mut rounds)?
        }
    };
    // A wrong password gives what looks whole once in some hundred times, and then is no key.
    plain
        .filter(|plain| pem::label(plain).is_some())
        .ok_or_else(|| KeystoreError::WrongKeyPassword {
            alias: error::plain(alias),
        })
}

/// The bytes of a container that is not encrypted.
fn data_of(mut container: Reader<'_>) -> Result<&[u8], KeystoreError> {
    let kind = container.tagged(der::OBJECT)?;
    match kind == DATA {
        true => Reader::new(container.tagged(der::CONTEXT_0)?).tagged(der::OCTET_STRING),
        false => Err(crypt::unsupported(kind)),
    }
}

fn opened(mut container: Reader<'_>, password: &str, rounds: &mut Rounds) -> Result<Option<Zeroizing<Vec<u8>>>, KeystoreError> {
    let whole = container;
    let kind = container.tagged(der::OBJECT)?;
    if kind != ENCRYPTED_DATA {
        return data_of(whole).map(|data| Some(Zeroizing::new(data.to_vec())));
    }
    let mut encrypted = Reader::new(container.tagged(der::CONTEXT_0)?).sequence()?;
    encrypted.number()?;
    let mut content = encrypted.sequence()?;
    content.tagged(der::OBJECT)?;
    let algorithm = content.sequence()?;
    crypt::decrypt(algorithm, password, content.tagged(der::CONTEXT_0_BYTES)?, rounds)
}

fn arrange(bags: Bags) -> Result<Contents<SealedKey>, KeystoreError> {
    let Bags { keys, certificates, .. } = bags;
    let is_marked = certificates.iter().any(|bag| bag.is_trusted);
    let is_trusted = |bag: &CertificateBag| bag.is_trusted || (keys.is_empty() && !is_marked);
    let trusted = certificates.iter().filter(|bag| is_trusted(bag)).map(|bag| Trusted {
        alias: bag.alias.clone(),
        certificate: bag.certificate.clone(),
    });
    let trusted = trusted.collect();
    let all: Vec<&[u8]> = certificates.iter().map(|bag| bag.certificate.as_slice()).collect();
    let only = keys.len() == 1;
    let mut entries = Vec::new();
    for KeyBag { alias, id, key } in keys {
        let leaf = leaf_of(&id, only, &certificates);
        let chain = leaf.map(|leaf| chain::of(leaf, &all)).transpose()?.unwrap_or_default();
        let chain = chain.into_iter().map(<[u8]>::to_vec).collect();
        entries.push(KeyEntry { alias, key, chain });
    }
    Ok(Contents { keys: entries, trusted })
}

/// A key's own certificate: the one with its id, or, where nothing has an id, the only one.
fn leaf_of<'a>(id: &[u8], only_key: bool, certificates: &'a [CertificateBag]) -> Option<&'a [u8]> {
    let same = |bag: &&CertificateBag| !id.is_empty() && bag.id == id;
    let found = certificates.iter().find(same).or(match certificates {
        [alone] if only_key => Some(alone),
        _ => None,
    });
    found.map(|bag| bag.certificate.as_slice())
}
