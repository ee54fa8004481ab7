//! How long the provider takes from the start of its process to its handshake line: Terraform starts it several times a command.
//! Invariant: it is started as Terraform starts it, with a client certificate on P-521.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use e2e::paths::binary;
use e2e::spawn::spawn;
use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P521_SHA512};

use crate::report::{milliseconds, print_head, print_row};

const HANDSHAKES: usize = 21;

/// Prints the median.
pub(crate) fn measure() {
    let certificate = client_certificate();
    let mut times: Vec<Duration> = (0..HANDSHAKES).map(|_| handshake(&certificate)).collect();
    times.sort();
    let median = u64::try_from(times[HANDSHAKES / 2].as_micros()).unwrap();
    print_head("Provider", &["what", "time"]);
    let what = format!("from the start of the process to the handshake line, median of {HANDSHAKES}");
    print_row(&[what, milliseconds(median)]);
}

fn handshake(certificate: &str) -> Duration {
    let mut command = Command::new(binary("terraform-provider-featurestore"));
    command
        .env(
            "TF_PLUGIN_MAGIC_COOKIE",
            "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
        )
        .env("PLUGIN_PROTOCOL_VERSIONS", "5,6")
        .env("PLUGIN_CLIENT_CERT", certificate)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let start = Instant::now();
    let mut provider = spawn(command).unwrap();
    let mut line = String::new();
    BufReader::new(provider.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let elapsed = start.elapsed();
    assert!(line.starts_with("1|6|"), "{line}");
    provider.kill().unwrap();
    provider.wait().unwrap();
    elapsed
}

/// Self-signed on P-521, as Terraform's is.
fn client_certificate() -> String {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P521_SHA512).unwrap();
    CertificateParams::new(vec!["localhost".to_owned()])
        .unwrap()
        .self_signed(&key)
        .unwrap()
        .pem()
}
