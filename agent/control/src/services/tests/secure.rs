//! The port over TLS: who gets through the handshake, who a certificate is, and certificates that are renewed under way.

use std::path::Path;

use featurestore_proto::v1::agent_service_client::AgentServiceClient;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use tonic::transport::{Certificate, ClientTlsConfig, Identity};

use super::tokens::{admin_token, with};
use super::*;
use crate::governance::authentication::certificate::NameField;
use crate::http::tls::{Certificates, TlsFiles};

/// An authority that issues certificates into files.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        Self { issuer }
    }

    fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// Certificate and key of a host, or of a caller of that name.
    fn issue(&self, hosts: &[&str], name: &str, purpose: ExtendedKeyUsagePurpose) -> (String, String) {
        let hosts: Vec<_> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let mut params = CertificateParams::new(hosts).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    /// Writes a certificate for this machine, and takes callers of this authority.
    fn write(&self, folder: &Path) -> TlsFiles {
        let (certificate, key) = self.issue(&["127.0.0.1"], "agent", ExtendedKeyUsagePurpose::ServerAuth);
        let file = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        TlsFiles {
            certificate: file("cert.pem", &certificate),
            key: file("key.pem", &key),
            client_authorities: Some(file("ca.pem", &self.pem())),
            principal: NameField::CommonName,
        }
    }

    fn caller(&self, name: &str) -> Identity {
        let (certificate, key) = self.issue(&[], name, ExtendedKeyUsagePurpose::ClientAuth);
        Identity::from_pem(certificate, key)
    }
}

/// An agent with a second port, which is encrypted.
struct Scene {
    agent: Agent,
    address: std::net::SocketAddr,
    certificates: Arc<Certificates>,
}

impl Scene {
    async fn new(authority: &Authority) -> Self {
        let agent = Agent::start_behind(Door::Closed).await;
        let certificates = Arc::new(Certificates::load(authority.write(agent.folder.path())).unwrap());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = crate::http::serve(listener, Some(certificates.clone()), agent.router.clone(), agent.stopping.clone());
        tokio::spawn(serving);
        Self {
            agent,
            address,
            certificates,
        }
    }

    /// Who the agent says that one is, over a new connection.
    async fn principal(&self, authority: &Authority, identity: Option<Identity>, token: &str) -> Result<String, String> {
        let mut tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(authority.pem()));
        if let Some(identity) = identity {
            tls = tls.identity(identity);
        }
        let endpoint = Channel::from_shared(format!("https://{}", self.address))
            .unwrap()
            .tls_config(tls)
            .unwrap();
        let channel = endpoint.connect().await.map_err(|error| format!("{error:?}"))?;
        let answer = AgentServiceClient::new(channel)
            .get_agent(with(token, v1::GetAgentRequest {}))
            .await;
        answer
            .map(|answer| answer.into_inner().principal)
            .map_err(|status| format!("{status:?}"))
    }
}

#[tokio::test]
async fn a_caller_is_who_its_token_or_its_certificate_says() {
    let (ours, other) = (Authority::new(), Authority::new());
    let scene = Scene::new(&ours).await;
    let token = admin_token(&scene.agent).await;
    assert_eq!(scene.principal(&ours, None, &token).await.unwrap(), "admin");
    assert_eq!(scene.principal(&ours, Some(ours.caller("ada")), "").await.unwrap(), "ada");
    assert_eq!(scene.principal(&ours, Some(ours.caller("ada")), &token).await.unwrap(), "admin");
    for (identity, token, said) in [
        (None, "", "does not say who makes it"),
        (Some(ours.caller("admin")), "", "belongs to the agent itself"),
        (Some(ours.caller("ada")), "fst_0", "none of this agent's"),
        (Some(other.caller("ada")), token.as_str(), ""),
    ] {
        let refusal = scene.principal(&ours, identity, token).await.unwrap_err();
        assert!(refusal.contains(said), "{refusal}");
    }
    assert!(
        scene
            .principal(&other, None, &token)
            .await
            .unwrap_err()
            .contains("InvalidCertificate")
    );
}

#[tokio::test]
async fn what_is_not_encrypted_gets_no_answer_and_renewed_certificates_are_taken_without_a_restart() {
    let (former, renewed) = (Authority::new(), Authority::new());
    let scene = Scene::new(&former).await;
    let token = admin_token(&scene.agent).await;
    let plain = Channel::from_shared(format!("http://{}", scene.address)).unwrap();
    if let Ok(channel) = plain.connect().await {
        let answer = AgentServiceClient::new(channel)
            .get_agent(with(&token, v1::GetAgentRequest {}))
            .await;
        answer.unwrap_err();
    }
    renewed.write(scene.agent.folder.path());
    assert_eq!(scene.principal(&former, None, &token).await.unwrap(), "admin", "not looked at yet");
    scene.certificates.reload().unwrap();
    assert_eq!(scene.principal(&renewed, None, &token).await.unwrap(), "admin");
    assert!(scene.principal(&former, None, &token).await.is_err());
    assert_eq!(scene.principal(&renewed, Some(renewed.caller("ada")), "").await.unwrap(), "ada");
}
