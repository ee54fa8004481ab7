//! The keys of one issuer: read when they are first needed, kept, and read again when they are old or a token names another one.
//! Invariant: however many tokens name unknown keys, the issuer is asked at most once in a while, and callers whose keys are known
//! do not wait for that.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use tokio::sync::Mutex;
use url::Url;

use super::IssuerSettings;
use crate::limits::{
    ISSUER_ANSWER_BYTES_MAX, ISSUER_KEYS_AGE_MAX, ISSUER_KEYS_MAX, ISSUER_KEYS_STALE_MAX, ISSUER_LOOK_INTERVAL, ISSUER_WAIT, PEM_BYTES_MAX,
};

/// Why an issuer's keys cannot be had.
#[derive(Clone, Debug, thiserror::Error)]
pub enum KeysError {
    /// An address that is none of those that are taken.
    #[error("the address `{text}` of an issuer is neither https:// nor file://")]
    Address {
        /// As it was written.
        text: String,
    },
    /// Authorities that cannot be used.
    #[error("the certificate authorities of the issuer `{issuer}` in {path} cannot be used: {problem}")]
    Authorities {
        /// Whose.
        issuer: String,
        /// Their file.
        path: PathBuf,
        /// Why not.
        problem: String,
    },
    /// The client for web addresses cannot be made.
    #[error("cannot make a client for the issuer's address: {problem}")]
    Client {
        /// Why not.
        problem: String,
    },
    /// Reading an address failed.
    #[error("cannot read {place}: {problem}")]
    Read {
        /// Which one.
        place: String,
        /// Why not.
        problem: String,
    },
    /// What was read is not what it should be.
    #[error("{place} {problem}")]
    Content {
        /// Where it was read.
        place: String,
        /// What is wrong with it.
        problem: String,
    },
    /// It was tried a moment ago, in vain.
    #[error("the issuer's keys could not be read a moment ago")]
    Failed,
}

/// Where something is read.
#[derive(Clone, Debug)]
pub(super) enum Place {
    File(PathBuf),
    Web(Url),
}

/// The only thing that is wanted of the discovery document.
#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
}

/// A key as it was published.
struct Key {
    id: Option<String>,
    algorithm: Algorithm,
    key: Arc<DecodingKey>,
}

#[derive(Default)]
struct Cache {
    keys: Vec<Key>,
    /// When `keys` were read.
    read: Option<Instant>,
    /// When that was last tried.
    tried: Option<Instant>,
}

/// The keys of one issuer.
pub(super) struct Keys {
    issuer: String,
    discovery: Place,
    authorities: Option<PathBuf>,
    cache: RwLock<Cache>,
    reading: Mutex<()>,
}

impl Keys {
    /// Of an issuer that was not asked yet.
    pub(super) fn of(settings: &IssuerSettings) -> Result<Self, KeysError> {
        let text = match &settings.discovery {
            Some(text) => text.clone(),
            None => format!("{}/.well-known/openid-configuration", settings.issuer.trim_end_matches('/')),
        };
        let keys = Self {
            issuer: settings.issuer.clone(),
            discovery: Place::parse(&text)?,
            authorities: settings.authorities.clone(),
            cache: RwLock::default(),
            reading: Mutex::new(()),
        };
        // Whoever starts an agent with a file of no use learns it then.
        keys.client()?;
        Ok(keys)
    }

    /// The key of that id for that algorithm; without an id the only one there is for it. `None`: the issuer publishes no such key.
    pub(super) async fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Result<Option<Arc<DecodingKey>>, KeysError> {
        let (found, age) = self.cached(id, algorithm);
        if found.is_some() && age.is_some_and(|age| age < ISSUER_KEYS_AGE_MAX) {
            return Ok(found);
        }
        let still_good = age.is_some_and(|age| age < ISSUER_KEYS_STALE_MAX);
        if found.is_some() && still_good {
            // Old, but known: one caller asks, the others go on with what there is.
            if let Ok(_reading) = self.reading.try_lock() {
                self.read_if_due(ISSUER_KEYS_AGE_MAX).await;
            }
        } else {
            let _reading = self.reading.lock().await;
            self.read_if_due(ISSUER_LOOK_INTERVAL).await;
        }
        match self.cached(id, algorithm) {
            (_, None) => Err(KeysError::Failed),
            (_, Some(age)) if age >= ISSUER_KEYS_STALE_MAX => Err(KeysError::Failed),
            (found, _) => Ok(found),
        }
    }

    fn cached(&self, id: Option<&str>, algorithm: Algorithm) -> (Option<Arc<DecodingKey>>, Option<std::time::Duration>) {
        let cache = self.cache.read().unwrap_or_else(PoisonError::into_inner);
        let mut fitting = cache
            .keys
            .iter()
            .filter(|key| key.algorithm == algorithm && (id.is_none() || key.id.as_deref() == id));
        let first = fitting.next();
        // Two keys that fit, and nothing that says which: neither.
        let only = first.filter(|_| id.is_some() || fitting.next().is_none());
        (only.map(|key| key.key.clone()), cache.read.map(|read| read.elapsed()))
    }

    /// Asks the issuer if it was not asked within `interval`. What fails is for the log; what was there stays.
    async fn read_if_due(&self, interval: std::time::Duration) {
        {
            let mut cache = self.cache.write().unwrap_or_else(PoisonError::into_inner);
            let due = |at: Option<Instant>, wait| at.is_none_or(|at| at.elapsed() >= wait);
            if !due(cache.read, interval) || !due(cache.tried, ISSUER_LOOK_INTERVAL) {
                return;
            }
            cache.tried = Some(Instant::now());
        }
        match self.read().await {
            Ok(keys) => {
                tracing::debug!(issuer = self.issuer, keys = keys.len(), "read an issuer's keys");
                let mut cache = self.cache.write().unwrap_or_else(PoisonError::into_inner);
                cache.keys = keys;
                cache.read = Some(Instant::now());
            }
            Err(error) => tracing::warn!(issuer = self.issuer, %error, "failed to read an issuer's keys"),
        }
    }

    /// Has everything happened earlier.
    #[cfg(test)]
    pub(super) fn pretend_older(&self, by: std::time::Duration) {
        let mut cache = self.cache.write().unwrap();
        cache.read = cache.read.and_then(|at| at.checked_sub(by));
        cache.tried = cache.tried.and_then(|at| at.checked_sub(by));
    }

    async fn read(&self) -> Result<Vec<Key>, KeysError> {
        let client = self.client()?;
        let text = fetch(&client, &self.discovery).await?;
        let place = self.place_of_keys(&text)?;
        let text = fetch(&client, &place).await?;
        let set: serde_json::Value = serde_json::from_slice(&text).map_err(|error| wrong(&place, format!("is no set of keys: {error}")))?;
        Ok(usable(&set))
    }

    /// Where the keys are by a discovery document, if it is of this issuer.
    pub(super) fn place_of_keys(&self, document: &[u8]) -> Result<Place, KeysError> {
        let discovery: Discovery = serde_json::from_slice(document)
            .map_err(|error| wrong(&self.discovery, format!("is no discovery document of OpenID Connect: {error}")))?;
        if discovery.issuer != self.issuer {
            let problem = format!("is of the issuer `{}`, and `{}` is configured", discovery.issuer, self.issuer);
            return Err(wrong(&self.discovery, problem));
        }
        let place = Place::parse(&discovery.jwks_uri)?;
        // Whoever writes a document in the web must not have this machine's files read.
        if matches!((&self.discovery, &place), (Place::Web(_), Place::File(_))) {
            return Err(wrong(&self.discovery, "names a file for its keys".to_owned()));
        }
        Ok(place)
    }

    /// A client for its addresses. The authorities are read each time, as the keys are: they are renewed while the agent runs.
    fn client(&self) -> Result<reqwest::Client, KeysError> {
        // No redirects: where keys are is for the configuration and the discovery document to say.
        let mut builder = reqwest::Client::builder()
            .https_only(true)
            .redirect(reqwest::redirect::Policy::none())
            .timeout(ISSUER_WAIT);
        if let Some(path) = &self.authorities {
            builder = builder.tls_certs_only(authorities(path).map_err(|problem| KeysError::Authorities {
                issuer: self.issuer.clone(),
                path: path.clone(),
                problem,
            })?);
        }
        builder.build().map_err(|error| KeysError::Client { problem: in_full(&error) })
    }
}

fn authorities(path: &Path) -> Result<Vec<reqwest::Certificate>, String> {
    let mut text = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(PEM_BYTES_MAX + 1).read_to_end(&mut text))
        .map_err(|error| error.to_string())?;
    if u64::try_from(text.len()).is_ok_and(|length| length > PEM_BYTES_MAX) {
        return Err(format!("it has more than {PEM_BYTES_MAX} bytes"));
    }
    match reqwest::Certificate::from_pem_bundle(&text) {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err("it holds no certificate in PEM form".to_owned()),
        Err(error) => Err(in_full(&error)),
    }
}

async fn fetch(client: &reqwest::Client, place: &Place) -> Result<Vec<u8>, KeysError> {
    let failed = |problem: String| KeysError::Read {
        place: place.to_string(),
        problem,
    };
    let reading = async {
        match place {
            Place::File(path) => tokio::fs::read(path).await.map_err(|error| failed(error.to_string())),
            Place::Web(url) => download(client, url).await.map_err(failed),
        }
    };
    match tokio::time::timeout(ISSUER_WAIT, reading).await {
        Ok(Ok(text)) if text.len() > ISSUER_ANSWER_BYTES_MAX => Err(failed(format!("it has more than {ISSUER_ANSWER_BYTES_MAX} bytes"))),
        Ok(read) => read,
        Err(_) => Err(failed(format!("no answer within {ISSUER_WAIT:?}"))),
    }
}

/// An error with its causes: that a request failed does not say that it is the certificate.
fn in_full(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn wrong(place: &Place, problem: String) -> KeysError {
    KeysError::Content {
        place: place.to_string(),
        problem,
    }
}

impl Place {
    fn parse(text: &str) -> Result<Self, KeysError> {
        let refused = || KeysError::Address { text: text.to_owned() };
        let url = Url::parse(text).map_err(|_| refused())?;
        match url.scheme() {
            "https" => Ok(Self::Web(url)),
            "file" => url.to_file_path().map(Self::File).map_err(|()| refused()),
            _ => Err(refused()),
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Web(url) => write!(f, "{url}"),
        }
    }
}

async fn download(client: &reqwest::Client, url: &Url) -> Result<Vec<u8>, String> {
    let mut answer = client.get(url.clone()).send().await.map_err(|error| in_full(&error))?;
    if !answer.status().is_success() {
        return Err(format!("the answer is {}", answer.status()));
    }
    let mut text = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| in_full(&error))? {
        text.extend_from_slice(&chunk);
        if text.len() > ISSUER_ANSWER_BYTES_MAX {
            break;
        }
    }
    Ok(text)
}

/// The keys that signatures can be checked with. Others are left out, each for itself: an issuer may publish keys for other ends,
/// and of kinds that nobody here knows.
fn usable(set: &serde_json::Value) -> Vec<Key> {
    let listed = set
        .get("keys")
        .and_then(serde_json::Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let parsed = listed
        .iter()
        .take(ISSUER_KEYS_MAX)
        .filter_map(|key| serde_json::from_value::<Jwk>(key.clone()).ok());
    JwkSet { keys: parsed.collect() }.keys.iter().flat_map(keys_of).collect()
}

fn keys_of(jwk: &Jwk) -> Vec<Key> {
    if matches!(&jwk.common.public_key_use, Some(end) if *end != PublicKeyUse::Signature) {
        return Vec::new();
    }
    // By its kind, never by what a token says: a public key is not taken for a shared secret.
    let algorithms: &[Algorithm] = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => &[Algorithm::RS256, Algorithm::PS256],
        AlgorithmParameters::EllipticCurve(of) if of.curve == EllipticCurve::P256 => &[Algorithm::ES256],
        AlgorithmParameters::OctetKeyPair(of) if of.curve == EllipticCurve::Ed25519 => &[Algorithm::EdDSA],
        _ => &[],
    };
    let Ok(key) = DecodingKey::from_jwk(jwk) else { return Vec::new() };
    let key = Arc::new(key);
    let named = jwk.common.key_algorithm.map(|name| name.to_string());
    let fitting = algorithms
        .iter()
        .filter(|algorithm| named.as_ref().is_none_or(|name| *name == format!("{algorithm:?}")));
    fitting
        .map(|algorithm| Key {
            id: jwk.common.key_id.clone(),
            algorithm: *algorithm,
            key: key.clone(),
        })
        .collect()
}
