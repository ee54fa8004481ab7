//! Stores that Java does not write, put together by hand: others do.

use rcgen::{CertificateParams, KeyPair, PKCS_RSA_SHA256, RsaKeySize};

use super::DATA;
use crate::der::{BMP_STRING, CONTEXT_0, INTEGER, OBJECT, OCTET_STRING, Reader, SEQUENCE, SET};
use crate::limits::{NESTING_MAX, ROUNDS_MAX};
use crate::{KeystoreError, client_identity, trusted_certificates};

const BAG: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x0a, 0x01];
const X509: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x16, 0x01];
const NAME: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x14];

fn element(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = u32::try_from(content.len()).unwrap().to_be_bytes();
    [&[tag, 0x84], length.as_slice(), &content].concat()
}

fn bag(kind: u8, value: &[u8], alias: &str) -> Vec<u8> {
    let kind = element(OBJECT, &[BAG, &[kind]]);
    let alias: Vec<u8> = alias.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let alias = element(
        SEQUENCE,
        &[&element(OBJECT, &[NAME]), &element(SET, &[&element(BMP_STRING, &[&alias])])],
    );
    element(SEQUENCE, &[&kind, &element(CONTEXT_0, &[value]), &element(SET, &[&alias])])
}

fn certificate_bag(certificate: &[u8], alias: &str) -> Vec<u8> {
    let certificate = element(CONTEXT_0, &[&element(OCTET_STRING, &[certificate])]);
    bag(3, &element(SEQUENCE, &[&element(OBJECT, &[X509]), &certificate]), alias)
}

fn data(content: &[u8]) -> Vec<u8> {
    let content = element(CONTEXT_0, &[&element(OCTET_STRING, &[content])]);
    element(SEQUENCE, &[&element(OBJECT, &[DATA]), &content])
}

/// A store with neither encryption nor check.
fn store(bags: &[&[u8]]) -> Vec<u8> {
    let containers = element(SEQUENCE, &[&data(&element(SEQUENCE, bags))]);
    element(SEQUENCE, &[&element(INTEGER, &[&[3]]), &data(&containers)])
}

fn certificate(key: &KeyPair) -> Vec<u8> {
    CertificateParams::default().self_signed(key).unwrap().der().to_vec()
}

/// What PKCS#8 has inside: the key in its older form.
fn older_form(key: &KeyPair) -> Vec<u8> {
    let pkcs8 = key.serialize_der();
    let mut inside = Reader::new(&pkcs8).sequence().unwrap();
    inside.number().unwrap();
    inside.sequence().unwrap();
    inside.tagged(OCTET_STRING).unwrap().to_vec()
}

#[test]
fn keys_of_every_form_are_given_under_its_name() {
    let rsa = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048).unwrap();
    let curve = KeyPair::generate().unwrap();
    for (key, form, label) in [
        (&rsa, rsa.serialize_der(), "BEGIN PRIVATE KEY"),
        (&rsa, older_form(&rsa), "BEGIN RSA PRIVATE KEY"),
        (&curve, curve.serialize_der(), "BEGIN PRIVATE KEY"),
        (&curve, older_form(&curve), "BEGIN EC PRIVATE KEY"),
    ] {
        let certificate = certificate(key);
        let bytes = store(&[&bag(1, &form, "client"), &certificate_bag(&certificate, "client")]);
        let found = client_identity(&bytes, "any", "any").unwrap();
        assert!(found.key_pem().contains(label), "{label}");
        assert_eq!(found.chain, [certificate], "{label}");
        assert!(!format!("{found:?}").contains("key:"), "{found:?}");
    }
    let bytes = store(&[&bag(1, &rsa.serialize_der(), "alone")]);
    let error = client_identity(&bytes, "any", "any").unwrap_err();
    assert_eq!(error, KeystoreError::NoCertificate { alias: "alone".to_owned() });
    let bytes = store(&[&bag(1, b"no key", "odd"), &certificate_bag(&certificate(&rsa), "odd")]);
    assert!(matches!(
        client_identity(&bytes, "any", "any"),
        Err(KeystoreError::WrongKeyPassword { .. })
    ));
}

#[test]
fn certificates_without_marks_are_trusted_where_there_is_no_key() {
    let key = KeyPair::generate().unwrap();
    let (one, two) = (certificate(&key), certificate(&key));
    let bytes = store(&[&certificate_bag(&one, "one"), &certificate_bag(&two, "two")]);
    let trusted = trusted_certificates(&bytes, "any").unwrap();
    assert_eq!(trusted.iter().map(|it| it.alias.as_str()).collect::<Vec<_>>(), ["one", "two"]);
    let bytes = store(&[&bag(1, &key.serialize_der(), "client"), &certificate_bag(&one, "client")]);
    assert!(matches!(
        trusted_certificates(&bytes, "any"),
        Err(KeystoreError::NothingTrusted { .. })
    ));
}

#[test]
fn what_would_take_too_much_is_refused_before_it_is_done() {
    let mut nested = element(SEQUENCE, &[]);
    for _ in 0..=NESTING_MAX {
        nested = element(SEQUENCE, &[&bag(6, &nested, "box")]);
    }
    let containers = element(SEQUENCE, &[&data(&nested)]);
    let bytes = element(SEQUENCE, &[&element(INTEGER, &[&[3]]), &data(&containers)]);
    assert!(matches!(trusted_certificates(&bytes, "any"), Err(KeystoreError::TooMuch { .. })));

    // A check that asks for more rounds than all of them together.
    let sha1 = element(SEQUENCE, &[&element(OBJECT, &[&[0x2b, 0x0e, 0x03, 0x02, 0x1a]])]);
    let info = element(SEQUENCE, &[&sha1, &element(OCTET_STRING, &[&[0; 20]])]);
    let count = element(INTEGER, &[&(ROUNDS_MAX + 1).to_be_bytes()]);
    let check = element(SEQUENCE, &[&info, &element(OCTET_STRING, &[&[0; 8]]), &count]);
    let bytes = element(SEQUENCE, &[&element(INTEGER, &[&[3]]), &data(&element(SEQUENCE, &[])), &check]);
    let error = trusted_certificates(&bytes, "any").unwrap_err();
    assert!(error.to_string().contains("rounds"), "{error}");
}
