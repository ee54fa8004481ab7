//! How Terraform finds a provider that was started by hand: by a variable that says where it listens.

use serde_json::json;

use super::PROTOCOL_VERSION;
use super::listener::Address;

/// What to set for Terraform, as `NAME='value'` for a shell.
pub(crate) fn variable(provider_address: &str, address: &Address) -> String {
    let Address { network, address } = address;
    let entry = json!({
        provider_address: {
            "Protocol": "grpc",
            "ProtocolVersion": PROTOCOL_VERSION,
            "Pid": std::process::id(),
            // Terraform then leaves the process alone when it is done.
            "Test": true,
            "Addr": { "Network": network, "String": address },
        }
    });
    format!("TF_REATTACH_PROVIDERS='{entry}'")
}
