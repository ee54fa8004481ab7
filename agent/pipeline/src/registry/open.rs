//! What a client of a registry is opened with, and what of that is refused.

use base64::Engine as _;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use url::Url;
use zeroize::Zeroizing;

use super::error::RegistryError;
use super::http::Transport;
use super::limits::{CONNECT_WAIT, REDIRECTS_MAX, URLS_MAX, Waits};
use crate::connection::PropertyValue;

/// What a registry's client is opened with. Holds secret bytes: it lives only while a client is opened, and prints none.
#[derive(Clone)]
pub struct RegistryProperties {
    /// Addresses of one registry, of which any may answer. A path is kept: `/apis/ccompat/v7`, `/contexts/.name`.
    pub urls: Vec<String>,
    /// The user; none where the registry asks for none.
    pub api_key: Option<String>,
    /// The user's password.
    pub api_secret: Option<PropertyValue>,
    /// Authorities that the registry's certificate may be of, in PEM; the system's without it.
    pub ca_pem: Option<String>,
    /// Equal for two opens that give interchangeable clients; never derived from a secret's bytes.
    pub identity: String,
}

impl std::fmt::Debug for RegistryProperties {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RegistryProperties")
            .field("urls", &self.urls)
            .finish_non_exhaustive()
    }
}

impl RegistryProperties {
    /// The addresses in the text of an option, which are separated by commas.
    pub fn urls_of(option: &str) -> Vec<String> {
        option
            .split(',')
            .map(str::trim)
            .filter(|url| !url.is_empty())
            .map(str::to_owned)
            .collect()
    }
}

/// A transport to the addresses of `properties`, which keeps the secret where requests are made and nowhere else.
pub(super) fn transport(properties: &RegistryProperties, waits: Waits) -> Result<Transport, RegistryError> {
    let urls = urls(&properties.urls)?;
    let mut headers = HeaderMap::new();
    headers.extend(authorization(properties)?.map(|value| (AUTHORIZATION, value)));
    let mut builder = reqwest::Client::builder()
        .user_agent("featurestore-agent")
        .default_headers(headers)
        .connect_timeout(CONNECT_WAIT)
        .redirect(reqwest::redirect::Policy::custom(follow_at_home));
    if let Some(pem) = &properties.ca_pem {
        builder = builder.tls_certs_only(authorities(pem)?);
    }
    let client = builder.build().map_err(|error| RegistryError::Properties {
        problem: format!("no client for a schema registry can be made: {error}"),
        remedy: "see to the system's certificate authorities, or give those of the registry in `ca_pem`".into(),
    })?;
    let user = match &properties.api_key {
        Some(key) => format!("the API key `{key}`"),
        None => "a caller without an API key".into(),
    };
    Ok(Transport::new(client, urls, user, waits))
}

/// Follows a redirect within one address, as behind a proxy; the caller sees any other one as it is.
fn follow_at_home(attempt: reqwest::redirect::Attempt<'_>) -> reqwest::redirect::Action {
    let at_home = attempt
        .previous()
        .first()
        .is_some_and(|first| first.origin() == attempt.url().origin());
    if at_home && attempt.previous().len() <= REDIRECTS_MAX {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

fn urls(texts: &[String]) -> Result<Vec<Url>, RegistryError> {
    if texts.is_empty() || texts.len() > URLS_MAX {
        return Err(RegistryError::Properties {
            problem: format!("`schema_registry_url` has {} addresses", texts.len()),
            remedy: format!("give one, or up to {URLS_MAX} of one registry with commas between them"),
        });
    }
    texts.iter().map(|text| url(text)).collect()
}

fn url(text: &str) -> Result<Url, RegistryError> {
    let refused = |problem: &str| {
        Err(RegistryError::Properties {
            // What may hold a password is not shown.
            problem: problem.to_owned(),
            remedy: "write `https://host:port` in `schema_registry_url`, with a path where the registry has one; the user goes into \
                     `schema_registry_api_key` and `schema_registry_api_secret`"
                .into(),
        })
    };
    let Ok(url) = Url::parse(text) else {
        return refused("an address in `schema_registry_url` is no URL");
    };
    if !url.username().is_empty() || url.password().is_some() {
        return refused("an address in `schema_registry_url` has a user in it");
    }
    if !matches!(url.scheme(), "http" | "https") || url.cannot_be_a_base() || url.host_str().is_none() {
        return refused(&format!("the address `{url}` in `schema_registry_url` is none of http or https"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return refused("an address in `schema_registry_url` has parameters");
    }
    Ok(url)
}

fn authorization(properties: &RegistryProperties) -> Result<Option<HeaderValue>, RegistryError> {
    let (key, secret) = match (&properties.api_key, &properties.api_secret) {
        (None, None) => return Ok(None),
        (Some(key), Some(secret)) => (key, secret),
        (key, _) => {
            let (given, other) = match key {
                Some(_) => ("schema_registry_api_key", "schema_registry_api_secret"),
                None => ("schema_registry_api_secret", "schema_registry_api_key"),
            };
            return Err(RegistryError::Properties {
                problem: format!("`{given}` is given without `{other}`"),
                remedy: "give both, or neither where the registry asks for no user".into(),
            });
        }
    };
    if key.contains(':') {
        return Err(RegistryError::Properties {
            problem: format!("the `schema_registry_api_key` `{key}` has a colon in it"),
            remedy: "use a key without one: it ends the user's name".into(),
        });
    }
    let pair = Zeroizing::new(format!("{key}:{}", secret.expose()));
    let text = Zeroizing::new(format!(
        "Basic {}",
        base64::engine::general_purpose::STANDARD.encode(pair.as_bytes())
    ));
    let mut value = HeaderValue::from_str(&text).map_err(|_| RegistryError::Properties {
        problem: "`schema_registry_api_secret` cannot be sent".into(),
        remedy: "use one of printable characters".into(),
    })?;
    value.set_sensitive(true);
    Ok(Some(value))
}

fn authorities(pem: &str) -> Result<Vec<reqwest::Certificate>, RegistryError> {
    let certificates = reqwest::Certificate::from_pem_bundle(pem.as_bytes()).unwrap_or_default();
    if certificates.is_empty() {
        return Err(RegistryError::Properties {
            problem: "`ca_pem` holds no certificate".into(),
            remedy: "give certificates between BEGIN CERTIFICATE and END CERTIFICATE".into(),
        });
    }
    Ok(certificates)
}
