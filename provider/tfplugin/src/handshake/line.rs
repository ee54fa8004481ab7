//! The one line on stdout that tells Terraform where we listen and by which certificate it knows us.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use super::PROTOCOL_VERSION;
use super::listener::Address;

/// The version of go-plugin's own handshake, ahead of the plugin protocol's.
const CORE_PROTOCOL_VERSION: u32 = 1;

/// The handshake line without its line end. Without a certificate there is no TLS, and the last field is empty.
pub(crate) fn line(address: &Address, certificate: Option<&[u8]>) -> String {
    // Padded base64 is refused by Terraform.
    let certificate = certificate.map(|der| STANDARD_NO_PAD.encode(der)).unwrap_or_default();
    let Address { network, address } = address;
    format!("{CORE_PROTOCOL_VERSION}|{PROTOCOL_VERSION}|{network}|{address}|grpc|{certificate}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_six_fields_and_no_padding() {
        let address = Address {
            network: "unix",
            address: "/run/p/s".to_owned(),
        };
        assert_eq!(line(&address, None), "1|6|unix|/run/p/s|grpc|");
        assert_eq!(line(&address, Some(&[0xff])), "1|6|unix|/run/p/s|grpc|/w");
    }
}
