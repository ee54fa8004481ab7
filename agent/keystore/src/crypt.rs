//! Derives keys from passwords and decrypts, by what PKCS#12 stores name: PBES2 with AES, and the older ways with triple DES and RC2.
//!
//! The invariant: rounds are counted down before they are made (`Rounds`).

use std::num::NonZeroU32;

use aws_lc_rs::cipher::{AES_128, AES_192, AES_256, Algorithm as Aes, DecryptionContext, PaddedBlockDecryptingKey, UnboundCipherKey};
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::{digest, pbkdf2};
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockModeDecrypt, InnerIvInit, KeyIvInit};
use zeroize::Zeroizing;

use crate::der::{self, Reader};
use crate::error::{KeystoreError, damaged};
use crate::limits::ROUNDS_MAX;

/// What is left of the rounds that one store may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounds(u32);

impl Rounds {
    pub(crate) fn all() -> Self {
        Self(ROUNDS_MAX)
    }

    fn take(&mut self, count: u32) -> Result<NonZeroU32, KeystoreError> {
        self.0 = self.0.checked_sub(count).ok_or(KeystoreError::TooMuch {
            what: "rounds of deriving keys",
            most: u64::from(ROUNDS_MAX),
        })?;
        NonZeroU32::new(count).ok_or(damaged("a key is derived in no round"))
    }
}

/// What a password is asked for; the numbers are those of the standard.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    Key = 1,
    Vector = 2,
    Check = 3,
}

const PBES2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0d];
const PBKDF2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0c];
/// Before the number of one of the older ways.
const OLDER: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x01];
/// Before the number of a digest with a key.
const HMAC: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02];
/// Before the number of an AES mode.
const AES: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01];
const TRIPLE_DES: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x03, 0x07];

/// A cipher with all that it needs.
enum Cipher {
    /// With the length of its key.
    Aes(&'static Aes, usize),
    TripleDes,
    /// With so many bits of its key in use.
    Rc2(usize),
}

impl Cipher {
    fn key_length(&self) -> usize {
        match self {
            Self::Aes(_, length) => *length,
            Self::TripleDes => 24,
            Self::Rc2(bits) => bits / 8,
        }
    }
}

/// Decrypts by an algorithm and its parameters. `Ok(None)`: not with that password.
pub(crate) fn decrypt(
    mut algorithm: Reader<'_>,
    password: &str,
    data: &[u8],
    rounds: &mut Rounds,
) -> Result<Option<Zeroizing<Vec<u8>>>, KeystoreError> {
    let object = algorithm.tagged(der::OBJECT)?;
    let mut parameters = algorithm.sequence()?;
    if object == PBES2 {
        let derivation = parameters.sequence()?;
        let mut scheme = parameters.sequence()?;
        let cipher = cipher_of(scheme.tagged(der::OBJECT)?)?;
        let vector = scheme.tagged(der::OCTET_STRING)?;
        let key = derive(derivation, password, cipher.key_length(), rounds)?;
        return cipher_text(&cipher, &key, vector, data);
    }
    let cipher = match object.strip_prefix(OLDER) {
        Some([3]) => Cipher::TripleDes,
        Some([5]) => Cipher::Rc2(128),
        Some([6]) => Cipher::Rc2(40),
        _ => return Err(unsupported(object)),
    };
    let salt = parameters.tagged(der::OCTET_STRING)?;
    let count = parameters.number()?;
    let password = older_password(password);
    let sha1 = &digest::SHA1_FOR_LEGACY_USE_ONLY;
    let mut of = |purpose, length| older_derivation(sha1, &password, salt, count, purpose, length, rounds);
    let (key, vector) = (of(Purpose::Key, cipher.key_length())?, of(Purpose::Vector, 8)?);
    cipher_text(&cipher, &key, &vector, data)
}

fn cipher_of(object: &[u8]) -> Result<Cipher, KeystoreError> {
    match object.strip_prefix(AES) {
        Some([2]) => Ok(Cipher::Aes(&AES_128, 16)),
        Some([22]) => Ok(Cipher::Aes(&AES_192, 24)),
        Some([42]) => Ok(Cipher::Aes(&AES_256, 32)),
        _ if object == TRIPLE_DES => Ok(Cipher::TripleDes),
        _ => Err(unsupported(object)),
    }
}

fn derive(mut derivation: Reader<'_>, password: &str, length: usize, rounds: &mut Rounds) -> Result<Zeroizing<Vec<u8>>, KeystoreError> {
    let object = derivation.tagged(der::OBJECT)?;
    if object != PBKDF2 {
        return Err(unsupported(object));
    }
    let mut parameters = derivation.sequence()?;
    let salt = parameters.tagged(der::OCTET_STRING)?;
    let count = rounds.take(parameters.number()?)?;
    // The key's length, which the cipher says as well.
    parameters.optional(der::INTEGER)?;
    let function = match parameters.is_empty() {
        true => pbkdf2::PBKDF2_HMAC_SHA1,
        false => {
            let object = parameters.sequence()?.tagged(der::OBJECT)?;
            match object.strip_prefix(HMAC) {
                Some([7]) => pbkdf2::PBKDF2_HMAC_SHA1,
                Some([9]) => pbkdf2::PBKDF2_HMAC_SHA256,
                Some([10]) => pbkdf2::PBKDF2_HMAC_SHA384,
                Some([11]) => pbkdf2::PBKDF2_HMAC_SHA512,
                _ => return Err(unsupported(object)),
            }
        }
    };
    let mut key = Zeroizing::new(vec![0; length]);
    pbkdf2::derive(function, count, salt, password.as_bytes(), &mut key);
    Ok(key)
}

fn cipher_text(cipher: &Cipher, key: &[u8], vector: &[u8], data: &[u8]) -> Result<Option<Zeroizing<Vec<u8>>>, KeystoreError> {
    let bad = || damaged("a key or a vector has the wrong length");
    let mut plain = Zeroizing::new(data.to_vec());
    let length = match cipher {
        Cipher::Aes(algorithm, _) => {
            let vector: [u8; 16] = vector.try_into().map_err(|_| bad())?;
            let key = UnboundCipherKey::new(algorithm, key).and_then(PaddedBlockDecryptingKey::cbc_pkcs7);
            let context = DecryptionContext::Iv128(FixedLength::from(vector));
            key.map_err(|_| bad())?.decrypt(&mut plain, context).map(|plain| plain.len()).ok()
        }
        Cipher::TripleDes => {
            let decryptor = cbc::Decryptor::<des::TdesEde3>::new_from_slices(key, vector).map_err(|_| bad())?;
            decryptor.decrypt_padded::<Pkcs7>(&mut plain).map(<[u8]>::len).ok()
        }
        Cipher::Rc2(bits) => {
            let cipher = rc2::Rc2::new_with_eff_key_len(key, *bits);
            let decryptor = cbc::Decryptor::<rc2::Rc2>::inner_iv_slice_init(cipher, vector).map_err(|_| bad())?;
            decryptor.decrypt_padded::<Pkcs7>(&mut plain).map(<[u8]>::len).ok()
        }
    };
    Ok(length.map(|length| {
        plain.truncate(length);
        plain
    }))
}

/// A password for the older derivation: two bytes for each unit of UTF-16, and two zeros.
pub(crate) fn older_password(password: &str) -> Zeroizing<Vec<u8>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(password.len() * 2 + 2));
    bytes.extend(password.encode_utf16().chain([0]).flat_map(u16::to_be_bytes));
    bytes
}

/// The derivation of PKCS#12 itself (RFC 7292, appendix B).
pub(crate) fn older_derivation(
    algorithm: &'static digest::Algorithm,
    password: &[u8],
    salt: &[u8],
    count: u32,
    purpose: Purpose,
    length: usize,
    rounds: &mut Rounds,
) -> Result<Zeroizing<Vec<u8>>, KeystoreError> {
    let block = algorithm.block_len();
    let fill = |text: &[u8]| -> Vec<u8> { text.iter().copied().cycle().take(text.len().div_ceil(block) * block).collect() };
    let purpose = vec![purpose as u8; block];
    let mut input = Zeroizing::new(fill(salt));
    input.extend_from_slice(&Zeroizing::new(fill(password)));
    let mut derived = Zeroizing::new(Vec::with_capacity(length + algorithm.output_len()));
    while derived.len() < length {
        let count = rounds.take(count)?;
        let mut digest = Zeroizing::new(Vec::with_capacity(algorithm.output_len()));
        let mut context = digest::Context::new(algorithm);
        context.update(&purpose);
        context.update(&input);
        digest.extend_from_slice(context.finish().as_ref());
        for _ in 1..count.get() {
            let next = digest::digest(algorithm, &digest);
            digest.copy_from_slice(next.as_ref());
        }
        derived.extend_from_slice(&digest);
        let addend: Zeroizing<Vec<u8>> = Zeroizing::new(digest.iter().copied().cycle().take(block).collect());
        for part in input.chunks_mut(block) {
            add_one_and(part, &addend);
        }
    }
    derived.truncate(length);
    Ok(derived)
}

/// `part + addend + 1`, as numbers of that many bytes.
fn add_one_and(part: &mut [u8], addend: &[u8]) {
    let mut carry = 1u16;
    for (byte, add) in part.iter_mut().zip(addend).rev() {
        carry += u16::from(*byte) + u16::from(*add);
        *byte = carry.to_be_bytes()[1];
        carry >>= 8;
    }
}

pub(crate) fn unsupported(object: &[u8]) -> KeystoreError {
    KeystoreError::UnsupportedAlgorithm {
        algorithm: format!("the algorithm {}", der::dotted(object)),
    }
}
