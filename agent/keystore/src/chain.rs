//! Puts the certificates of a PKCS#12 store, which have no order there, in the order of a chain: each is issued by the next.

use crate::der::{self, Reader};
use crate::error::KeystoreError;
use crate::limits::CHAIN_MAX;

/// Issuer and subject of a certificate, as they are written.
fn names(certificate: &[u8]) -> Result<(&[u8], &[u8]), KeystoreError> {
    let mut inside = Reader::new(certificate).sequence()?.sequence()?;
    inside.optional(der::CONTEXT_0)?;
    // Its number, and the algorithm that it is signed by.
    inside.tagged(der::INTEGER)?;
    inside.any()?;
    let issuer = inside.any()?.whole;
    // Its validity.
    inside.any()?;
    Ok((issuer, inside.any()?.whole))
}

/// The certificate, and those of its issuers that are there, up to the one that issued itself.
pub(crate) fn of<'a>(leaf: &'a [u8], all: &[&'a [u8]]) -> Result<Vec<&'a [u8]>, KeystoreError> {
    let mut chain = vec![leaf];
    let (mut issuer, mut subject) = names(leaf)?;
    while issuer != subject && chain.len() < CHAIN_MAX {
        let next = all
            .iter()
            .find_map(|found| Some((*found, names(found).ok().filter(|(_, subject)| *subject == issuer)?)));
        let Some((next, found)) = next.filter(|(next, _)| !chain.contains(next)) else {
            break;
        };
        chain.push(next);
        (issuer, subject) = found;
    }
    Ok(chain)
}
