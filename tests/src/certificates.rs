//! Certificates for an agent that is encrypted and asks who calls: an authority of its own, the agent's certificate, and those of
//! callers. Invariant: they are made anew for each agent and trusted by nobody else.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair};

/// The folder of an agent's certificates, inside its own.
const FOLDER: &str = "certificates";

/// Where an agent's certificates are.
pub struct Certificates {
    folder: PathBuf,
}

impl Certificates {
    /// Those of the agent in that folder, if it has any.
    #[must_use]
    pub fn of(folder: &Path) -> Option<Self> {
        let folder = folder.join(FOLDER);
        folder.exists().then_some(Self { folder })
    }

    /// Makes an authority, a certificate for this machine, and one for each caller.
    #[must_use]
    pub fn make(folder: &Path, callers: &[&str]) -> Self {
        let made = Self {
            folder: folder.join(FOLDER),
        };
        fs::create_dir_all(&made.folder).unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        fs::write(made.authority(), authority.pem()).unwrap();
        made.issue(
            &authority,
            "agent",
            &["127.0.0.1", "localhost"],
            ExtendedKeyUsagePurpose::ServerAuth,
        );
        for caller in callers {
            made.issue(&authority, caller, &[], ExtendedKeyUsagePurpose::ClientAuth);
        }
        made
    }

    fn issue(&self, authority: &CertifiedIssuer<'_, KeyPair>, name: &str, hosts: &[&str], purpose: ExtendedKeyUsagePurpose) {
        let hosts: Vec<_> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let mut params = CertificateParams::new(hosts).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, authority).unwrap();
        fs::write(self.certificate(name), certificate.pem()).unwrap();
        fs::write(self.key(name), key.serialize_pem()).unwrap();
    }

    /// The authority's certificate.
    #[must_use]
    pub fn authority(&self) -> PathBuf {
        self.folder.join("ca.pem")
    }

    /// The certificate of a caller, or of the agent.
    #[must_use]
    pub fn certificate(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.pem"))
    }

    /// The key that goes with it.
    #[must_use]
    pub fn key(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.key"))
    }

    /// Flags of `serve` that have the agent use them.
    #[must_use]
    pub fn flags(&self) -> Vec<PathBuf> {
        let mut flags = Vec::new();
        for (flag, file) in [
            ("--tls-cert-file", self.certificate("agent")),
            ("--tls-key-file", self.key("agent")),
            ("--client-ca-file", self.authority()),
        ] {
            flags.extend([PathBuf::from(flag), file]);
        }
        flags
    }
}
