//! An issuer behind TLS, whose certificate an authority of its own has signed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::governance::authentication::certificate::NameField;
use crate::http::tls::{Certificates, TlsFiles};
use crate::limits::ISSUER_LOOK_INTERVAL;

/// What is answered at each path: a document, or another address to ask.
type Documents = Arc<Mutex<HashMap<String, Result<String, String>>>>;

/// The issuer, and what it is known by.
struct Issuer {
    folder: tempfile::TempDir,
    url: String,
    documents: Documents,
    certificates: Arc<Certificates>,
    stopping: CancellationToken,
}

impl Issuer {
    /// One whose certificate is for that host.
    async fn start(host: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let certificates = Arc::new(Certificates::load(issue(folder.path(), host)).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let documents = Documents::default();
        let router = Router::new().fallback(answer).with_state(documents.clone());
        let stopping = CancellationToken::new();
        tokio::spawn(crate::http::serve(listener, Some(certificates.clone()), router, stopping.clone()));
        Self {
            folder,
            url,
            documents,
            certificates,
            stopping,
        }
    }

    fn publish(&self, keys: &[Value]) {
        let discovery = json!({"issuer": self.url, "jwks_uri": format!("{}/keys", self.url)});
        let keys = json!({ "keys": keys });
        let mut documents = self.documents.lock().unwrap();
        for (path, document) in [("/.well-known/openid-configuration", discovery), ("/keys", keys)] {
            documents.insert(path.to_owned(), Ok(document.to_string()));
        }
    }

    /// Who takes its tokens, and checks its certificate against what is in that file.
    fn taken_with(&self, authorities: Option<&str>) -> Oidc {
        let issuer = IssuerSettings {
            issuer: self.url.clone(),
            discovery: None,
            authorities: authorities.map(|name| self.folder.path().join(name)),
            ..settings(Path::new("/"))
        };
        Oidc::new(vec![issuer]).unwrap()
    }

    fn token(&self, signer: &Signer) -> String {
        signer.sign(&claims(&json!({"iss": self.url})))
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.stopping.cancel();
    }
}

async fn answer(State(documents): State<Documents>, uri: Uri) -> Response {
    match documents.lock().unwrap().get(uri.path()).cloned() {
        Some(Ok(document)) => document.into_response(),
        Some(Err(elsewhere)) => (StatusCode::FOUND, [(header::LOCATION, elsewhere)]).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Writes a certificate for that host by a new authority, and the authority.
fn issue(folder: &Path, host: &str) -> TlsFiles {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new([host.to_owned()])
        .unwrap()
        .signed_by(&key, &authority)
        .unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    write("ca.pem", &authority.pem());
    TlsFiles {
        certificate: write("cert.pem", &certificate.pem()),
        key: write("key.pem", &key.serialize_pem()),
        client_authorities: None,
        principal: NameField::CommonName,
    }
}

fn reason(refused: &OidcError) -> String {
    match refused {
        OidcError::NoKeys(error) => error.to_string(),
        other => other.to_string(),
    }
}

#[tokio::test]
async fn an_issuer_is_believed_by_its_own_authority_and_its_keys_change_without_a_restart() {
    let issuer = Issuer::start("127.0.0.1").await;
    let (first, second) = (Signer::new("k1", Algorithm::ES256), Signer::new("k2", Algorithm::EdDSA));
    issuer.publish(&[first.published()]);
    let oidc = issuer.taken_with(Some("ca.pem"));
    assert_eq!(oidc.verify(&issuer.token(&first)).await.unwrap().name, "ada");
    issuer.publish(&[second.published()]);
    assert_eq!(
        reason(&oidc.verify(&issuer.token(&second)).await.unwrap_err()),
        "it names a key that its issuer does not publish"
    );
    oidc.issuers[0].keys.pretend_older(ISSUER_LOOK_INTERVAL);
    assert_eq!(oidc.verify(&issuer.token(&second)).await.unwrap().name, "ada");
    assert!(oidc.verify(&issuer.token(&first)).await.is_err(), "taken back");
    // Its certificate and authority are others now; the file says so.
    issue(issuer.folder.path(), "127.0.0.1");
    issuer.certificates.reload().unwrap();
    issuer.publish(&[first.published()]);
    oidc.issuers[0].keys.pretend_older(ISSUER_LOOK_INTERVAL);
    assert_eq!(oidc.verify(&issuer.token(&first)).await.unwrap().name, "ada");
}

#[tokio::test]
async fn whoever_cannot_show_that_it_is_the_issuer_is_not_asked_for_keys() {
    let issuer = Issuer::start("127.0.0.1").await;
    let signer = Signer::new("k1", Algorithm::ES256);
    issuer.publish(&[signer.published()]);
    let other = tempfile::tempdir().unwrap();
    issue(other.path(), "127.0.0.1");
    std::fs::copy(other.path().join("ca.pem"), issuer.folder.path().join("other.pem")).unwrap();
    for authorities in [None, Some("other.pem")] {
        let refused = issuer.taken_with(authorities).verify(&issuer.token(&signer)).await.unwrap_err();
        assert!(matches!(refused, OidcError::NoKeys(_)), "{authorities:?}: {refused:?}");
    }
    // For another host, by the right authority.
    let elsewhere = Issuer::start("issuer.example").await;
    elsewhere.publish(&[signer.published()]);
    let refused = elsewhere
        .taken_with(Some("ca.pem"))
        .verify(&elsewhere.token(&signer))
        .await
        .unwrap_err();
    assert!(matches!(refused, OidcError::NoKeys(_)), "{refused:?}");
    // A right one that sends elsewhere.
    {
        let mut documents = issuer.documents.lock().unwrap();
        let keys = documents.remove("/keys").unwrap();
        documents.insert("/moved".to_owned(), keys);
        documents.insert("/keys".to_owned(), Err(format!("{}/moved", issuer.url)));
    }
    let refused = issuer.taken_with(Some("ca.pem")).verify(&issuer.token(&signer)).await.unwrap_err();
    assert!(matches!(refused, OidcError::NoKeys(_)), "{refused:?}");
}

#[test]
fn authorities_of_no_use_are_refused_at_the_start_by_name() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, said) in [
        ("none.pem", Some("no certificate".to_owned()), "no certificate in PEM form"),
        ("long.pem", Some("x".repeat(2 << 20)), "bytes"),
        ("missing.pem", None, "No such file"),
    ] {
        let path = folder.path().join(name);
        if let Some(text) = text {
            std::fs::write(&path, text).unwrap();
        }
        let refused = Oidc::new(vec![IssuerSettings {
            authorities: Some(path),
            ..settings(Path::new("/"))
        }]);
        let refused = refused.err().unwrap().to_string();
        assert!(
            refused.contains(name) && refused.contains(said) && refused.contains(ISSUER),
            "{refused}"
        );
    }
}
