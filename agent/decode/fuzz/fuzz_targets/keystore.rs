//! Any bytes as a key store: a key and certificates, or an error that says nothing of the password.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stream_keystore::{client_identity, trusted_certificates};

const PASSWORD: &str = "7c4f9e0b2d";

fuzz_target!(|bytes: &[u8]| {
    for error in [
        client_identity(bytes, PASSWORD, PASSWORD).err(),
        trusted_certificates(bytes, PASSWORD).err(),
    ]
    .into_iter()
    .flatten()
    {
        assert!(!error.to_string().contains(PASSWORD));
    }
});
