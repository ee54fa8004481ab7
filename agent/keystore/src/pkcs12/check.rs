//! The check over a PKCS#12 store: a digest of its content, with a key that is derived from the password.

use aws_lc_rs::{digest, hmac};

use crate::crypt::{Purpose, Rounds, older_derivation, older_password, unsupported};
use crate::der::{self, Reader};
use crate::error::KeystoreError;

const SHA1: &[u8] = &[0x2b, 0x0e, 0x03, 0x02, 0x1a];
/// Before the number of one of SHA-2.
const SHA2: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02];

/// Fails unless the password and the content are those that the check was made with.
pub(super) fn verify(mut check: Reader<'_>, content: &[u8], password: &str, rounds: &mut Rounds) -> Result<(), KeystoreError> {
    let mut info = check.sequence()?;
    let object = info.sequence()?.tagged(der::OBJECT)?;
    let expected = info.tagged(der::OCTET_STRING)?;
    let salt = check.tagged(der::OCTET_STRING)?;
    let count = match check.is_empty() {
        true => 1,
        false => check.number()?,
    };
    let (of_digest, with_key) = match object.strip_prefix(SHA2) {
        Some([1]) => (&digest::SHA256, hmac::HMAC_SHA256),
        Some([2]) => (&digest::SHA384, hmac::HMAC_SHA384),
        Some([3]) => (&digest::SHA512, hmac::HMAC_SHA512),
        _ if object == SHA1 => (&digest::SHA1_FOR_LEGACY_USE_ONLY, hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY),
        _ => return Err(unsupported(object)),
    };
    let password = older_password(password);
    let key = older_derivation(of_digest, &password, salt, count, Purpose::Check, of_digest.output_len(), rounds)?;
    hmac::verify(&hmac::Key::new(with_key, &key), content, expected).map_err(|_| KeystoreError::WrongStorePassword)
}
