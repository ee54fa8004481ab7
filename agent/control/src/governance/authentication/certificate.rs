//! The name in a client certificate. That the certificate is sound was checked when its connection was made; here is read whom it
//! names. Invariant: a certificate names nobody unless exactly one name is in the field that was set.

use serde::Deserialize;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

/// Which field of a certificate is the principal's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NameField {
    /// The subject's common name.
    #[default]
    CommonName,
    /// The subject alternative name that is a URI, as SPIFFE has it.
    Uri,
    /// The subject alternative name that is a host.
    Dns,
    /// The subject alternative name that is an address of electronic mail.
    Email,
}

impl NameField {
    fn words(self) -> &'static str {
        match self {
            Self::CommonName => "common name",
            Self::Uri => "URI among its alternative names",
            Self::Dns => "host among its alternative names",
            Self::Email => "mail address among its alternative names",
        }
    }
}

impl std::str::FromStr for NameField {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "common_name" => Ok(Self::CommonName),
            "uri" => Ok(Self::Uri),
            "dns" => Ok(Self::Dns),
            "email" => Ok(Self::Email),
            _ => Err(format!("`{text}` is no field of a certificate; use common_name, uri, dns or email")),
        }
    }
}

/// Whom a certificate names, and until when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateName {
    /// The principal's name.
    pub name: String,
    /// Milliseconds since 1970: a connection may outlive the certificate that it was made with.
    pub not_after_ms: i64,
}

impl CertificateName {
    /// Reads a certificate; says why it names nobody.
    pub fn read(der: &[u8], field: NameField) -> Result<Self, String> {
        let (_, certificate) = X509Certificate::from_der(der).map_err(|error| format!("the certificate cannot be read: {error}"))?;
        let names: Vec<&str> = match field {
            NameField::CommonName => {
                let names = certificate.subject().iter_common_name();
                names.filter_map(|name| name.as_str().ok()).collect()
            }
            _ => {
                let extension = certificate
                    .subject_alternative_name()
                    .map_err(|error| format!("the certificate's alternative names cannot be read: {error}"))?;
                let names = extension.iter().flat_map(|extension| &extension.value.general_names);
                names.filter_map(|name| of_field(name, field)).collect()
            }
        };
        match names.as_slice() {
            [name] => Ok(Self {
                name: (*name).to_owned(),
                not_after_ms: certificate.validity().not_after.timestamp().saturating_mul(1_000),
            }),
            [] => Err(format!("the certificate has no {}", field.words())),
            _ => Err(format!(
                "the certificate has {} of the field {}, and one is wanted",
                names.len(),
                field.words()
            )),
        }
    }
}

fn of_field<'a>(name: &'a GeneralName<'a>, field: NameField) -> Option<&'a str> {
    match (name, field) {
        (GeneralName::URI(name), NameField::Uri)
        | (GeneralName::DNSName(name), NameField::Dns)
        | (GeneralName::RFC822Name(name), NameField::Email) => Some(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair, SanType};

    use super::*;

    #[test]
    fn exactly_one_name_in_the_field_that_is_set_is_the_principal() {
        let mut params = CertificateParams::new(["one.example".to_owned(), "two.example".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, "ada");
        let uri = "spiffe://example/ci".try_into().unwrap();
        params.subject_alt_names.push(SanType::URI(uri));
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let cases = [
            (NameField::CommonName, Ok("ada")),
            (NameField::Uri, Ok("spiffe://example/ci")),
            (NameField::Dns, Err("has 2 of")),
            (NameField::Email, Err("has no mail address")),
        ];
        for (field, expected) in cases {
            match (CertificateName::read(certificate.der(), field), expected) {
                (Ok(found), expected) => assert_eq!(Ok(found.name.as_str()), expected),
                (Err(error), Err(said)) => assert!(error.contains(said), "{error}"),
                (Err(error), Ok(name)) => panic!("{name}: {error}"),
            }
        }
        assert!(CertificateName::read(b"no certificate", NameField::CommonName).is_err());
    }
}
