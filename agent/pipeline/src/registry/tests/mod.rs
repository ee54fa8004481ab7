//! The client against servers made by hand: shapes of answers, and what goes wrong on the way.

mod attempts;
pub(crate) mod server;
mod shapes;
mod troubles;

use super::open::RegistryProperties;
use super::{RegistryClient, RegistryError};

/// Properties without a user.
fn properties(urls: &[String]) -> RegistryProperties {
    RegistryProperties {
        urls: urls.to_vec(),
        api_key: None,
        api_secret: None,
        ca_pem: None,
        identity: "test".into(),
    }
}

/// A client without a user.
fn client(urls: &[String]) -> RegistryClient {
    RegistryClient::open(&properties(urls)).expect("a client")
}

/// An answer about a schema.
fn schema(members: &str, text: &str) -> String {
    format!("{{{members}\"schema\":{}}}", serde_json::Value::from(text))
}
