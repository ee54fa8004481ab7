//! Key stores of Java, JKS and PKCS#12, as what a TLS client needs: a private key with its certificates, or the authorities that it
//! trusts; and what a certificate says of itself. librdkafka reads no JKS, and of PKCS#12 only a file with one key.
//!
//! Pure: bytes and passwords in, no I/O, no clock. The invariant: bytes of a key and of a password are wiped when they are dropped,
//! no error repeats any of them, and whatever the bytes are, the work that they cause is bounded (`limits`).

mod certificate;
mod chain;
mod crypt;
mod der;
mod error;
mod format;
mod identity;
mod jks;
pub mod limits;
mod pem;
mod pkcs12;

pub use certificate::{CertificateFacts, OutOfDate, client_fault};
pub use error::KeystoreError;
pub use identity::{ClientIdentity, Trusted, client_identity, trusted_certificates};
pub use pem::certificates_pem;
