//! Looks at the certificate that a broker shows, after the client did not accept it: librdkafka says that, and not why.
//!
//! The handshake is broken off once the certificate is seen, so nothing is sent to whoever answers, and nothing depends on what is found
//! here but words. Invariant: a look is bounded in time, whatever the other side does.

use std::net::{TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, aws_lc_rs};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme};
use stream_keystore::CertificateFacts;
use stream_spec::connection::parse_servers;

use crate::limits;

/// Why a broker's certificate is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CertificateFault {
    /// In words, as in "has expired on …".
    OutOfDate(String),
    /// The hosts that it is for, in words.
    OtherHost(String),
    /// Neither: who issued it is not trusted.
    UnknownIssuer(String),
}

/// Looks at the certificate of a broker, `host:port`. Nothing if none is shown.
pub(crate) fn look(broker: &str, checks_host: bool) -> Option<CertificateFault> {
    let servers = parse_servers(broker).ok()?;
    let (host, port) = servers.first()?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let chain = shown(host, *port)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    judge(&chain, checks_host.then_some(host), i64::try_from(now).unwrap_or(i64::MAX))
}

/// The first thing that is wrong with certificates, the broker's own first.
fn judge(chain: &[Vec<u8>], host: Option<&str>, now: i64) -> Option<CertificateFault> {
    let own = CertificateFacts::read(chain.first()?).ok()?;
    if let Some(problem) = own.out_of_date(now) {
        return Some(CertificateFault::OutOfDate(problem.to_string()));
    }
    if host.is_some_and(|host| !own.is_for(host)) {
        return Some(CertificateFault::OtherHost(own.hosts()));
    }
    let issuers = chain.iter().skip(1).filter_map(|issuer| CertificateFacts::read(issuer).ok());
    for issuer in issuers {
        if let Some(problem) = issuer.out_of_date(now) {
            let problem = format!("is signed by `{}`, whose certificate {problem}", issuer.subject);
            return Some(CertificateFault::OutOfDate(problem));
        }
    }
    Some(CertificateFault::UnknownIssuer(own.issuer))
}

/// The certificates that the server shows, DER.
fn shown(host: &str, port: u16) -> Option<Vec<Vec<u8>>> {
    let give_up_at = Instant::now() + limits::CERTIFICATE_LOOK_WAIT;
    let left = || give_up_at.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
    let address = (host, port).to_socket_addrs().ok()?.next()?;
    let mut stream = TcpStream::connect_timeout(&address, left()?).ok()?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let seen = Arc::new(Seen::new(&provider));
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .ok()?;
    let config = config
        .dangerous()
        .with_custom_certificate_verifier(seen.clone())
        .with_no_client_auth();
    let name = ServerName::try_from(host.to_owned()).ok()?;
    let mut connection = ClientConnection::new(Arc::new(config), name).ok()?;
    while seen.chain().is_empty() {
        stream.set_read_timeout(Some(left()?)).ok()?;
        stream.set_write_timeout(Some(left()?)).ok()?;
        while connection.wants_write() {
            connection.write_tls(&mut stream).ok()?;
        }
        if connection.read_tls(&mut stream).ok()? == 0 {
            break;
        }
        // Fails once the certificates are seen, which is what they are looked at for.
        if connection.process_new_packets().is_err() {
            break;
        }
    }
    Some(seen.chain()).filter(|chain| !chain.is_empty())
}

/// Keeps the certificates and accepts none: no handshake comes to its end.
#[derive(Debug)]
struct Seen {
    chain: Mutex<Vec<Vec<u8>>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Seen {
    fn new(provider: &CryptoProvider) -> Self {
        Self {
            chain: Mutex::default(),
            algorithms: provider.signature_verification_algorithms,
        }
    }

    fn chain(&self) -> Vec<Vec<u8>> {
        self.chain.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ServerCertVerifier for Seen {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let chain = [end_entity].into_iter().chain(intermediates).map(|it| it.to_vec());
        *self.chain.lock().unwrap_or_else(PoisonError::into_inner) = chain.collect();
        Err(rustls::Error::General("it was only looked at".to_owned()))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;

    use rcgen::{CertificateParams, CertifiedIssuer, DnType, KeyPair, date_time_ymd};
    use rustls::ServerConfig;
    use rustls::pki_types::PrivatePkcs8KeyDer;

    use super::*;

    fn params(name: &str, until: i32) -> CertificateParams {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.not_after = date_time_ymd(until, 1, 1);
        params
    }

    /// The address of a server that shows a certificate for a name with an authority, each good until a year.
    fn server(name: &str, until: i32, authority_until: i32) -> u16 {
        let mut authority = params("authority", authority_until);
        authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let own = params(name, until).signed_by(&key, &authority).unwrap();
        let chain = vec![own.der().clone(), authority.der().clone()];
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, PrivatePkcs8KeyDer::from(key.serialize_der()).into())
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut connection = rustls::ServerConnection::new(Arc::new(config)).unwrap();
            while connection.complete_io(&mut stream).is_ok_and(|(read, _)| read > 0) {}
            let _ = stream.flush();
        });
        port
    }

    #[test]
    fn what_is_wrong_with_a_brokers_certificate_is_found() {
        let look = |port: u16, checks_host| look(&format!("localhost:{port}"), checks_host);
        let date = |year: i32| format!("has expired on {year}-01-01T00:00:00Z");
        assert_eq!(
            look(server("localhost", 2020, 4000), true),
            Some(CertificateFault::OutOfDate(date(2020)))
        );
        assert_eq!(
            look(server("other", 4000, 4000), true),
            Some(CertificateFault::OtherHost("`other`".to_owned()))
        );
        let unknown = CertificateFault::UnknownIssuer("CN=authority".to_owned());
        assert!(matches!(
            look(server("other", 4000, 4000), false),
            Some(CertificateFault::UnknownIssuer(_))
        ));
        let Some(CertificateFault::UnknownIssuer(issuer)) = look(server("localhost", 4000, 4000), true) else {
            panic!("not {unknown:?}")
        };
        assert!(issuer.contains("CN=authority"), "{issuer}");
        let Some(CertificateFault::OutOfDate(problem)) = look(server("localhost", 4000, 2021), true) else {
            panic!("the authority has expired")
        };
        assert!(problem.contains("CN=authority") && problem.contains(&date(2021)), "{problem}");
    }

    #[test]
    fn whoever_shows_none_is_not_waited_for_without_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert_eq!(look(&address.to_string(), true), None, "it never answers");
        drop(listener);
        assert_eq!(look(&address.to_string(), true), None, "nobody is there");
    }
}
