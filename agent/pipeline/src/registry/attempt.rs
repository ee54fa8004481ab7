//! Tries a registry step by step: does an address answer, does TLS come about, is the user let in, are subjects told.
//!
//! Everything is asked by the client that streams use, and by no other: what works here works there. Invariant: every step is bounded in
//! time, and nothing is left open.

use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::client::RegistryClient;
use super::error::RegistryError;
use super::http::Knock;
use super::open::RegistryProperties;
use crate::connection::ConnectionStep;
use crate::limits::ADDRESS_WAIT;

/// Status of an answer to one who is not who it says.
const NOT_SIGNED_IN: u16 = 401;

/// Tries a registry with a client of its own. An error says that none can be opened.
pub(crate) async fn attempt(properties: &RegistryProperties) -> Result<Vec<ConnectionStep>, RegistryError> {
    let client = RegistryClient::open(properties)?;
    let outcomes = outcomes(&client, properties.api_key.is_some()).await;
    let skipped = ConnectionStep::OF_REGISTRY.get(outcomes.len()..).unwrap_or_default();
    let tried = ConnectionStep::OF_REGISTRY.into_iter().zip(outcomes);
    let tried = tried.map(|(name, outcome)| ConnectionStep::of(name, outcome));
    Ok(tried.chain(ConnectionStep::skipped(skipped)).collect())
}

/// What came of each step, up to the first one that failed.
async fn outcomes(client: &RegistryClient, shows_key: bool) -> Vec<Result<String, String>> {
    let Found { address, tls } = look(client.knock(Instant::now() + ADDRESS_WAIT).await).await;
    if address.is_err() {
        return vec![address];
    }
    if tls.is_err() {
        return vec![address, tls];
    }
    let told = client.subject_count().await;
    let let_in = match (&told, shows_key) {
        (Err(error @ RegistryError::Refused { status: NOT_SIGNED_IN, .. }), _) => return vec![address, tls, Err(error.to_string())],
        (_, false) => "not used",
        (Ok(_), true) => "the registry lets the API key in",
        (Err(_), true) => "the registry does not refuse the API key",
    };
    let told = told.map(|count| format!("the schema registry tells {count} subjects"));
    vec![address, tls, Ok(let_in.to_owned()), told.map_err(|error| error.to_string())]
}

/// What came of the first two steps.
struct Found {
    address: Result<String, String>,
    tls: Result<String, String>,
}

/// One address that answers is enough; the others are named. What takes a connection and lets no client in fails by its encryption.
async fn look(knocks: Vec<Knock>) -> Found {
    let (mut answered, mut untrusted, mut away) = (Vec::new(), Vec::new(), Vec::new());
    let uses_tls = knocks.iter().any(|knock| knock.url.scheme() == "https");
    for Knock { url, failed } in knocks {
        match failed {
            None => answered.push(format!("`{url}`")),
            Some(cause) if url.scheme() == "https" && takes_connections(&url).await => untrusted.push(format!("`{url}`: {cause}")),
            Some(cause) => away.push(format!("`{url}`: {cause}")),
        }
    }
    if answered.is_empty() && untrusted.is_empty() {
        let problem = format!(
            "cannot connect to {}; check the address, and that the registry is up",
            away.join(", ")
        );
        return Found {
            address: Err(problem),
            tls: Ok(String::new()),
        };
    }
    let others = [untrusted.as_slice(), &away].concat();
    let tls = match (answered.is_empty(), uses_tls) {
        (true, _) => Err(untrusted.join(", ")),
        (false, true) => Ok("TLS came about, and the registry's certificate is trusted".to_owned()),
        (false, false) => Ok("not used".to_owned()),
    };
    let address = match (answered.is_empty(), others.is_empty()) {
        (true, _) => "an address takes connections".to_owned(),
        (false, true) => format!("connected to {}", answered.join(", ")),
        (false, false) => format!("connected to {}, but not to {}", answered.join(", "), others.join(", ")),
    };
    Found { address: Ok(address), tls }
}

async fn takes_connections(url: &Url) -> bool {
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return false;
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let connected = timeout_at(Instant::now() + ADDRESS_WAIT, TcpStream::connect((host, port))).await;
    connected.is_ok_and(|connected| connected.is_ok())
}
