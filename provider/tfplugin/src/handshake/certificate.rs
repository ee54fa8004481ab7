//! TLS on the plugin's connection: our certificate of the hour, and the one client that we let in.
//!
//! Terraform makes a certificate for each run and hands it to us in the environment; it trusts exactly the one in our line.
//! Invariant: a connection whose certificate is not, byte for byte, the one that Terraform gave us does not get through,
//! so no other process of this machine can use the provider's credentials.

use std::sync::Arc;

use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, ServerConfig, SignatureScheme};

/// The name by which Terraform asks for us in the TLS handshake.
const SERVER_NAME: &str = "localhost";

/// Why there is no TLS to be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    /// Terraform's certificate is none.
    #[error("PLUGIN_CLIENT_CERT is not a certificate in PEM form")]
    ClientCertificate(#[source] rustls::pki_types::pem::Error),
    /// Ours could not be made.
    #[error("cannot make a certificate")]
    OwnCertificate(#[from] rcgen::Error),
    /// The TLS library wants something else.
    #[error("cannot set up TLS")]
    Tls(#[from] rustls::Error),
}

/// TLS for one run.
pub(crate) struct Tls {
    /// What we accept connections with.
    pub(crate) config: Arc<ServerConfig>,
    /// Our certificate, for the handshake line.
    pub(crate) certificate: Vec<u8>,
}

/// TLS that lets in the holder of this certificate alone.
pub(crate) fn tls(client_certificate_pem: &str) -> Result<Tls, TlsError> {
    let expected = CertificateDer::from_pem_slice(client_certificate_pem.as_bytes()).map_err(TlsError::ClientCertificate)?;
    let crypto = Arc::new(aws_lc_rs::default_provider());
    let verifier = PinnedClient {
        expected,
        crypto: Arc::clone(&crypto),
    };

    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new([SERVER_NAME.to_owned()])?;
    params.distinguished_name.push(DnType::CommonName, SERVER_NAME);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let certificate = params.self_signed(&key)?.der().clone();

    let private_key = PrivatePkcs8KeyDer::from(key.serialize_der());
    let mut config = ServerConfig::builder_with_provider(crypto)
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(Arc::new(verifier))
        .with_single_cert(vec![certificate.clone()], private_key.into())?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(Tls {
        config: Arc::new(config),
        certificate: certificate.to_vec(),
    })
}

/// Lets in the holder of one certificate. The usual verification by chains and purposes says nothing here: the certificate
/// signs itself, and calls itself an authority.
#[derive(Debug)]
struct PinnedClient {
    expected: CertificateDer<'static>,
    crypto: Arc<CryptoProvider>,
}

impl ClientCertVerifier for PinnedClient {
    fn client_auth_mandatory(&self) -> bool {
        true
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        if end_entity.as_ref() == self.expected.as_ref() {
            Ok(ClientCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.crypto.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.crypto.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        // Terraform's key is P-521. A list without that scheme gets no certificate at all.
        self.crypto.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terraforms_kind_of_key_is_offered() {
        let crypto = Arc::new(aws_lc_rs::default_provider());
        let verifier = PinnedClient {
            expected: CertificateDer::from(vec![1]),
            crypto,
        };
        assert!(
            verifier
                .supported_verify_schemes()
                .contains(&SignatureScheme::ECDSA_NISTP521_SHA512)
        );
        assert!(verifier.client_auth_mandatory());
    }

    #[test]
    fn only_the_pinned_certificate_passes() {
        let crypto = Arc::new(aws_lc_rs::default_provider());
        let verifier = PinnedClient {
            expected: CertificateDer::from(vec![1, 2]),
            crypto,
        };
        let now = UnixTime::now();
        assert!(verifier.verify_client_cert(&CertificateDer::from(vec![1, 2]), &[], now).is_ok());
        assert!(verifier.verify_client_cert(&CertificateDer::from(vec![1, 2, 3]), &[], now).is_err());
    }

    #[test]
    fn a_text_that_is_no_certificate_is_refused() {
        assert!(matches!(tls("not a certificate"), Err(TlsError::ClientCertificate(_))));
    }
}
