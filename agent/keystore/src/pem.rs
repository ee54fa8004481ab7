//! PEM texts, as librdkafka takes them.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use zeroize::Zeroizing;

use crate::der::{self, Reader};

/// Characters of a line.
const LINE: usize = 64;
/// Bytes that make such a line.
const LINE_BYTES: usize = LINE / 4 * 3;

/// Certificates one after the other.
pub fn certificates_pem<'a>(certificates: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut text = String::new();
    for certificate in certificates {
        write(&mut text, "CERTIFICATE", certificate);
    }
    text
}

/// A private key, under the name of its form.
pub(crate) fn key_pem(key: &[u8]) -> Zeroizing<String> {
    // All room at once: a text that grows leaves copies behind.
    let mut text = Zeroizing::new(String::with_capacity(key.len() * 2 + 256));
    write(&mut text, label(key).unwrap_or("PRIVATE KEY"), key);
    text
}

/// The name of a key's form: PKCS#8, or the older ones of RSA and of elliptic curves. Nothing for what is no key.
pub(crate) fn label(key: &[u8]) -> Option<&'static str> {
    let mut inside = Reader::new(key).sequence().ok()?;
    let version = inside.number().ok()?;
    match (version, inside.any().ok()?.tag) {
        (0 | 1, der::SEQUENCE) => Some("PRIVATE KEY"),
        (0 | 1, der::INTEGER) => Some("RSA PRIVATE KEY"),
        (1, der::OCTET_STRING) => Some("EC PRIVATE KEY"),
        _ => None,
    }
}

fn write(text: &mut String, label: &str, bytes: &[u8]) {
    for part in ["-----BEGIN ", label, "-----\n"] {
        text.push_str(part);
    }
    let mut line = Zeroizing::new([0u8; LINE]);
    for chunk in bytes.chunks(LINE_BYTES) {
        let encoded = BASE64_STANDARD.encode_slice(chunk, line.as_mut_slice()).unwrap_or_default();
        text.push_str(
            line.get(..encoded)
                .and_then(|line| std::str::from_utf8(line).ok())
                .unwrap_or_default(),
        );
        text.push('\n');
    }
    for part in ["-----END ", label, "-----\n"] {
        text.push_str(part);
    }
}
