//! How a client connects, as far as a message may say it.
//!
//! Invariant: what is kept here of a client's properties is no secret.

use std::time::{SystemTime, UNIX_EPOCH};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use stream_keystore::{CertificateFacts, client_fault};

use crate::connection::ClientProperties;

/// How a client connects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Security {
    pub(super) mechanism: Option<String>,
    pub(super) user: Option<String>,
    pub(super) has_own_authorities: bool,
    pub(super) uses_tls: bool,
    pub(super) uses_sasl: bool,
    /// What the certificates say of themselves that the client shows, its own first; `None` if it shows none.
    shown: Option<Vec<CertificateFacts>>,
}

impl Security {
    /// What the properties say.
    pub(crate) fn of(properties: &ClientProperties) -> Self {
        let text = |name: &str| properties.properties.get(name).map(|value| value.expose().to_owned());
        let chain = properties.properties.get("ssl.certificate.pem");
        let protocol = text("security.protocol").unwrap_or_default();
        Self {
            mechanism: text("sasl.mechanism"),
            user: text("sasl.username"),
            has_own_authorities: properties.properties.contains_key("ssl.ca.pem"),
            uses_tls: protocol.contains("ssl"),
            uses_sasl: protocol.contains("sasl"),
            shown: chain.map(|pem| facts(pem.expose())),
        }
    }

    /// Whether the client shows a certificate to brokers that ask for one.
    pub(crate) fn shows_certificate(&self) -> bool {
        self.shown.is_some()
    }

    /// The client's certificate, for a message; nothing if it shows none.
    pub(crate) fn shown_name(&self) -> Option<String> {
        let own = self.shown.as_ref()?.first()?;
        Some(format!("`{}`, good until {}", own.subject, own.until()))
    }

    /// Why no broker that asks for a certificate accepts those of the client now, which were good when it was opened: a CamelCase word
    /// for machines, and whose certificate has which problem.
    pub(crate) fn shown_fault(&self) -> Option<(&'static str, String)> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
        client_fault(self.shown.as_deref()?, i64::try_from(now).unwrap_or(i64::MAX))
    }
}

/// What certificates in PEM say; one that cannot be read says nothing.
fn facts(chain: &str) -> Vec<CertificateFacts> {
    let certificates = CertificateDer::pem_slice_iter(chain.as_bytes());
    certificates.filter_map(|it| CertificateFacts::read(&it.ok()?).ok()).collect()
}
