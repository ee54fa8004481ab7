//! TLS of the port: the agent's certificate and key, and the authorities of its callers' certificates, read again when their
//! files change. Invariant: what is in force is always a whole set that was read and checked; a set that cannot be used leaves
//! the one before in force, and the log says why.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::SystemTime;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

use crate::governance::authentication::certificate::{CertificateName, NameField};
use crate::limits::{CERTIFICATES_LOOK_INTERVAL, PEM_BYTES_MAX};

/// Where certificates and keys are.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// PEM file of the agent's certificate, and those that lead from it to an authority.
    pub certificate: PathBuf,
    /// PEM file of its key.
    pub key: PathBuf,
    /// PEM file of the authorities of callers' certificates; `None`: callers are not asked for one.
    pub client_authorities: Option<PathBuf>,
    /// Which name in a caller's certificate is its principal.
    pub principal: NameField,
}

/// Why TLS cannot be used as it is set.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file that cannot be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// Which one.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// A file without what is looked for in it.
    #[error("the file {path} holds no {wanted} in PEM form{problem}")]
    Unusable {
        /// Which one.
        path: PathBuf,
        /// What is looked for.
        wanted: &'static str,
        /// More about it, starting with a punctuation mark; may be empty. Never says what is in a key's file.
        problem: String,
    },
    /// Certificate and key that do not go together, or authorities that are none.
    #[error("the certificate {certificate} cannot be used with the key {key}: {source}")]
    Mismatch {
        /// Its file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// Why not.
        #[source]
        source: rustls::Error,
    },
    /// Authorities that cannot be used.
    #[error("the certificate authorities in {path} cannot be used: {problem}")]
    Authorities {
        /// Their file.
        path: PathBuf,
        /// Why not.
        problem: String,
    },
}

/// When each file was last changed, and how long it is.
type Marks = Vec<Option<(SystemTime, u64)>>;

/// Certificates in force.
pub struct Certificates {
    files: TlsFiles,
    current: RwLock<Arc<ServerConfig>>,
    /// Marks of the files that `current` is from, taken before they were read: what changes meanwhile is read again.
    marks: Mutex<Marks>,
}

impl Certificates {
    /// Reads the files.
    pub fn load(files: TlsFiles) -> Result<Self, TlsError> {
        let marks = Mutex::new(marks(&files));
        let current = RwLock::new(Arc::new(config(&files)?));
        Ok(Self { files, current, marks })
    }

    /// Reads the files again whenever they change, until `stopping`. Those that cannot be used are tried again at each look.
    pub async fn watch(self: Arc<Self>, stopping: CancellationToken) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(CERTIFICATES_LOOK_INTERVAL) => {}
                () = stopping.cancelled() => return,
            }
            match self.clone().blocking(Self::look).await.flatten() {
                Some(Ok(())) => tracing::info!(certificate = %self.files.certificate.display(), "took new certificates"),
                Some(Err(error)) => tracing::warn!(%error, "new certificates cannot be used; the former ones stay in force"),
                None => {}
            }
        }
    }

    /// Takes what is in the files if they are not those in force; `None` if they are.
    fn look(&self) -> Option<Result<(), TlsError>> {
        let mut seen = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        let now = marks(&self.files);
        if now == *seen {
            return None;
        }
        let taken = self.reload();
        if taken.is_ok() {
            *seen = now;
        }
        Some(taken)
    }

    /// Storage that hangs must not hold a worker.
    async fn blocking<T: Send + 'static>(self: Arc<Self>, work: impl FnOnce(&Self) -> T + Send + 'static) -> Option<T> {
        tokio::task::spawn_blocking(move || work(&self)).await.ok()
    }

    /// Takes what is in the files now.
    pub(crate) fn reload(&self) -> Result<(), TlsError> {
        let fresh = Arc::new(config(&self.files)?);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(())
    }

    /// A connection's handshake, and the name in its peer's certificate if it showed one.
    pub(super) async fn accept<Io>(&self, io: Io) -> std::io::Result<(TlsStream<Io>, Option<Result<CertificateName, String>>)>
    where
        Io: AsyncRead + AsyncWrite + Unpin,
    {
        let config = self.current.read().unwrap_or_else(PoisonError::into_inner).clone();
        let stream = TlsAcceptor::from(config).accept(io).await?;
        let shown = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
        let name = shown.map(|certificate| CertificateName::read(certificate, self.files.principal));
        Ok((stream, name))
    }
}

fn config(files: &TlsFiles) -> Result<ServerConfig, TlsError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let chain = certificates(&files.certificate)?;
    let key_text = read(&files.key)?;
    let key = PrivateKeyDer::from_pem_slice(&key_text).map_err(|_| TlsError::Unusable {
        path: files.key.clone(),
        wanted: "private key",
        problem: String::new(),
    })?;
    let mismatch = |source| TlsError::Mismatch {
        certificate: files.certificate.clone(),
        key: files.key.clone(),
        source,
    };
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .map_err(mismatch)?;
    let builder = match &files.client_authorities {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let unusable = |problem: String| TlsError::Authorities {
                path: path.clone(),
                problem,
            };
            let mut roots = RootCertStore::empty();
            for certificate in certificates(path)? {
                roots.add(certificate).map_err(|error| unusable(error.to_string()))?;
            }
            // Not mandatory: whoever shows none has a token, or is not known.
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).allow_unauthenticated();
            builder.with_client_cert_verifier(verifier.build().map_err(|error| unusable(error.to_string()))?)
        }
    };
    let mut config = builder.with_single_cert(chain, key).map_err(mismatch)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read(path)?;
    let unusable = |problem: String| TlsError::Unusable {
        path: path.to_owned(),
        wanted: "certificate",
        problem,
    };
    let found: Vec<_> = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<_, _>>()
        .map_err(|error| unusable(format!(": {error}")))?;
    if found.is_empty() {
        return Err(unusable(String::new()));
    }
    Ok(found)
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    let unreadable = |source| TlsError::Unreadable {
        path: path.to_owned(),
        source,
    };
    if std::fs::metadata(path).map_err(unreadable)?.len() > PEM_BYTES_MAX {
        return Err(TlsError::Unusable {
            path: path.to_owned(),
            wanted: "certificate or key",
            problem: format!(": it has more than {PEM_BYTES_MAX} bytes"),
        });
    }
    std::fs::read(path).map_err(unreadable)
}

fn marks(files: &TlsFiles) -> Marks {
    let paths = [Some(&files.certificate), Some(&files.key), files.client_authorities.as_ref()];
    paths
        .into_iter()
        .flatten()
        .map(|path| {
            let metadata = std::fs::metadata(path).ok()?;
            Some((metadata.modified().ok()?, metadata.len()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_cannot_be_used_are_refused_by_name_and_leave_the_former_in_force() {
        let folder = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let other = rcgen::KeyPair::generate().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let files = TlsFiles {
            certificate: write("cert.pem", &made.cert.pem()),
            key: write("key.pem", &made.signing_key.serialize_pem()),
            client_authorities: None,
            principal: NameField::CommonName,
        };
        let certificates = Certificates::load(files.clone()).unwrap();
        let before = Arc::as_ptr(&certificates.current.read().unwrap());
        let check = |files: TlsFiles, said: &str| {
            let error = Certificates::load(files).err().expect(said).to_string();
            assert!(error.contains(said), "{error}");
        };
        let with_key = |path: PathBuf| TlsFiles {
            key: path,
            ..files.clone()
        };
        check(with_key(write("empty.pem", "")), "empty.pem holds no private key");
        check(with_key("/nowhere/key.pem".into()), "/nowhere/key.pem");
        check(with_key(write("other.pem", &other.serialize_pem())), "other.pem");
        check(with_key(write("long.pem", &"x".repeat(2 << 20))), "bytes");
        let with_authorities = |path| TlsFiles {
            client_authorities: Some(path),
            ..files.clone()
        };
        check(
            with_authorities(write("none.pem", "no certificate")),
            "none.pem holds no certificate",
        );
        write("key.pem", "half a key");
        assert!(certificates.reload().is_err());
        assert_eq!(Arc::as_ptr(&certificates.current.read().unwrap()), before);
        write("key.pem", &made.signing_key.serialize_pem());
        certificates.reload().unwrap();
        assert_ne!(Arc::as_ptr(&certificates.current.read().unwrap()), before);
    }

    #[test]
    fn files_that_could_not_be_used_are_tried_again_even_if_they_look_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let (certificate, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
        let text = made.signing_key.serialize_pem();
        std::fs::write(&certificate, made.cert.pem()).unwrap();
        let write_at = |text: &str, at: SystemTime| {
            std::fs::write(&key, text).unwrap();
            std::fs::File::options().write(true).open(&key).unwrap().set_modified(at).unwrap();
        };
        let (earlier, later) = (SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(60));
        write_at(&text, earlier);
        let certificates = Certificates::load(TlsFiles {
            certificate,
            key: key.clone(),
            client_authorities: None,
            principal: NameField::CommonName,
        })
        .unwrap();
        assert!(certificates.look().is_none(), "what is in force is not read again");
        write_at(&"x".repeat(text.len()), later);
        assert!(matches!(certificates.look(), Some(Err(_))));
        write_at(&text, later);
        assert!(matches!(certificates.look(), Some(Ok(()))), "as long and as old as what failed");
        assert!(certificates.look().is_none());
    }
}
