//! What each thing that librdkafka reports is called, and what is said of it.

use std::collections::BTreeMap;

use super::*;
use crate::connection::ClientProperties;

fn check(code: RDKafkaErrorCode, said: &str, properties: &[(&str, &str)], expected: &str) {
    check_fault(code, said, properties, None, expected);
}

fn check_fault(code: RDKafkaErrorCode, said: &str, properties: &[(&str, &str)], fault: Option<CertificateFault>, expected: &str) {
    let properties: BTreeMap<String, _> = properties
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).into()))
        .collect();
    let security = Security::of(&ClientProperties {
        bootstrap_servers: "b:1,c:2".to_owned(),
        properties,
        tokens: None,
        identity: String::new(),
    });
    let trouble = Trouble {
        fault,
        ..Trouble::of(Some(code), said)
    };
    let found = format!("{} {}", trouble.reason(&security), trouble.message("b:1,c:2", &security));
    assert_eq!(found, expected);
}

#[test]
fn whose_certificate_is_not_accepted_and_why_is_said() {
    const UNTRUSTED: &str = "ssl://c:2/1: SSL handshake failed: certificate verify failed: broker certificate could not be verified";
    let shows = [("ssl.ca.pem", "-"), ("ssl.certificate.pem", "-")];
    for (fault, properties, expected) in [
        (
            CertificateFault::OutOfDate("has expired on 2026-03-01T00:00:00Z".to_owned()),
            &shows[..],
            "CertificateOutOfDate the certificate of Kafka at `c:2` has expired on 2026-03-01T00:00:00Z; give the broker another one, and \
             look at the clocks",
        ),
        (
            CertificateFault::OtherHost("`b.example`".to_owned()),
            &shows[..],
            "CertificateForOtherHost the certificate of Kafka at `c:2` is for `b.example`, and not for that host; use the host name that \
             it is for, or set `disable_hostname_verification`",
        ),
        (
            CertificateFault::OtherHost("no host".to_owned()),
            &shows[..1],
            "CertificateForOtherHost the certificate of Kafka at `c:2` is for no host, and not for that host; use the host name that it is \
             for",
        ),
        (
            CertificateFault::UnknownIssuer("CN=other".to_owned()),
            &shows[..],
            "CertificateNotTrusted the certificate of Kafka at `c:2` is not trusted: `CN=other` issued it, and no authority in the \
             truststore has signed it; put the certificate of the authority that signed it into the truststore",
        ),
    ] {
        check_fault(RDKafkaErrorCode::SSL, UNTRUSTED, properties, Some(fault), expected);
    }
    let alert = |name: &str| format!("ssl://c:2/1: Receive failed: error:0A000412:SSL routines::{name}: SSL alert number 42 (after 1ms)");
    let refused = "ClientCertificateRefused Kafka at `c:2` does not accept the client's certificate";
    for (name, properties, expected) in [
        (
            "ssl/tls alert bad certificate",
            &shows[..1],
            "ClientCertificateRequired Kafka at `c:2` asks for a client certificate, and none is shown; give the stream \
             `direct_mtls_config` with a keystore, or use a listener that asks for none"
                .to_owned(),
        ),
        (
            "tlsv1 alert unknown ca",
            &shows[..],
            format!(
                "{refused} (Receive failed: error:0A000412:SSL routines::tlsv1 alert unknown ca: SSL alert number 42): no authority that \
                 the broker trusts has signed it, or a certificate between the two is missing in the keystore; have the broker trust the \
                 authority, or put the whole chain into the keystore"
            ),
        ),
        (
            "ssl/tls alert certificate expired",
            &shows[..],
            format!("{refused}: it has expired; put another one into the keystore, and look at the broker's log"),
        ),
    ] {
        check(RDKafkaErrorCode::SSL, &alert(name), properties, &expected);
    }
}

#[test]
fn each_trouble_has_its_own_words() {
    let scram = [
        ("sasl.mechanism", "SCRAM-SHA-256"),
        ("sasl.username", "ada"),
        ("sasl.password", "hunter2"),
    ];
    check(
        RDKafkaErrorCode::Authentication,
        "sasl_plaintext://c:2/bootstrap: SASL authentication error: Authentication failed during authentication due to invalid credentials \
         with SASL mechanism SCRAM-SHA-256 (after 208ms in state AUTH_REQ, 3 identical error(s) suppressed)",
        &scram,
        "AuthenticationFailed Kafka at `c:2` refuses the user `ada` by SCRAM-SHA-256: Authentication failed during authentication due to \
         invalid credentials with SASL mechanism SCRAM-SHA-256; check user, password and mechanism",
    );
    let untrusted = "ssl://c:2/1: SSL handshake failed: ssl/statem/statem_clnt.c:1921:error:0A000086:SSL \
                     routines:tls_post_process_server_certificate:certificate verify failed: broker certificate could not be verified, verify \
                     that ssl.ca.location is correctly configured (after 7ms in state SSL_HANDSHAKE)";
    check(
        RDKafkaErrorCode::SSL,
        untrusted,
        &[("ssl.ca.pem", "-")],
        "CertificateNotTrusted the certificate of Kafka at `c:2` is not trusted: no authority in `ca_pem` has signed it, it is for another \
         host name, or it is out of date; put the certificate of the authority that signed it into `ca_pem`, or use the host name that it \
         is for",
    );
    check(
        RDKafkaErrorCode::BrokerTransportFailure,
        "ssl://b:1/bootstrap: SSL handshake failed: SSL transport error: Success: connecting to a PLAINTEXT broker listener? (after 1ms \
         in state SSL_HANDSHAKE)",
        &[],
        "TlsFailed TLS with Kafka at `b:1` does not come about: SSL handshake failed: SSL transport error: Success: connecting to a \
         PLAINTEXT broker listener?; check `security_protocol`, and that the port is one for TLS",
    );
    let token = [("sasl.mechanism", "OAUTHBEARER")];
    for said in [
        "Failed to acquire SASL OAUTHBEARER token: the role is refused",
        "sasl_ssl://c:2/bootstrap: Failed to initialize SASL authentication: OAUTHBEARER cannot log in because there is no token \
         available; last error: the role is refused (after 3ms in state AUTH_REQ)",
    ] {
        let expected = "CredentialRefused cannot sign in to Kafka at `b:1,c:2`: the role is refused";
        check(RDKafkaErrorCode::Authentication, said, &token, expected);
    }
    check(
        RDKafkaErrorCode::Authentication,
        "sasl_ssl://c:2/bootstrap: SASL authentication error: {\"status\":\"invalid_token\"} (after 9ms in state AUTH_REQ)",
        &token,
        "AuthenticationFailed Kafka at `c:2` refuses the role of the connection's service credential: {\"status\":\"invalid_token\"}; see \
         that a policy of the role allows kafka-cluster:Connect on this cluster, and that the cluster takes IAM on this port",
    );
    check(
        RDKafkaErrorCode::BrokerTransportFailure,
        "b:1/bootstrap: Connect to ipv4#1.2.3.4:1 failed: Connection refused (after 0ms in state CONNECT)",
        &scram,
        "SourceUnreachable cannot reach Kafka at `b:1,c:2`: b:1/bootstrap: Connect to ipv4#1.2.3.4:1 failed: Connection refused; check \
         the address, and that the broker is up",
    );
}

#[test]
fn a_client_certificate_that_is_out_of_date_is_said_with_its_date_whatever_the_broker_says() {
    let mut params = rcgen::CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(rcgen::DnType::CommonName, "old");
    params.not_after = rcgen::date_time_ymd(2021, 3, 1);
    let pem = params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().pem();
    for alert in ["bad certificate", "certificate unknown", "unknown ca", "certificate expired"] {
        check(
            RDKafkaErrorCode::SSL,
            &format!("ssl://c:2/1: Receive failed: error:0A000412:SSL routines::ssl/tls alert {alert}: SSL alert number 42 (after 1ms)"),
            &[("ssl.certificate.pem", &pem)],
            "ClientCertificateExpired Kafka at `c:2` does not let the client in: the client's certificate, `CN=old`, has expired on \
             2021-03-01T00:00:00Z; put another one into the keystore",
        );
    }
}

#[test]
fn a_port_of_another_security_protocol_is_told_from_a_broker_that_goes_away() {
    let security = |protocol: &str| {
        Security::of(&ClientProperties {
            bootstrap_servers: String::new(),
            properties: BTreeMap::from([("security.protocol".to_owned(), protocol.into())]),
            tokens: None,
            identity: String::new(),
        })
    };
    let line = |when: &str| {
        format!("[thrd:c:2/bootstrap]: c:2/bootstrap: Disconnected: connection closed by peer: receive 0 after POLLIN ({when})")
    };
    for (protocol, when, expected) in [
        ("plaintext", "after 3ms in state APIVERSION_QUERY", Some(Port::Tls)),
        (
            "sasl_plaintext",
            "after 3ms in state APIVERSION_QUERY, 1 identical error(s) suppressed",
            Some(Port::Tls),
        ),
        ("ssl", "after 3ms in state APIVERSION_QUERY", None),
        ("plaintext", "after 3ms in state UP", Some(Port::Sasl)),
        ("ssl", "after 3ms in state UP", Some(Port::Sasl)),
        ("sasl_ssl", "after 3ms in state UP", None),
        ("ssl", "after 300000ms in state UP", None),
        ("ssl", "after 3ms in state CONNECT", None),
    ] {
        let (line, security) = (line(when), security(protocol));
        let found = Trouble::of_closed(&line, &security);
        assert_eq!(
            found.as_ref().map(|it| it.kind),
            expected.map(TroubleKind::OtherProtocol),
            "{protocol} {line}"
        );
        if let Some(found) = found {
            let message = found.message("b:1", &security);
            assert_eq!(found.reason(&security), "OtherSecurityProtocol");
            assert!(
                message.starts_with("Kafka at `c:2` closes the connection") && message.contains("seems to be one for"),
                "{message}"
            );
        }
    }
    let refused = line("after 3ms in state UP").replace("Disconnected", "Connect to ipv4#1.2.3.4:1 failed");
    assert_eq!(Trouble::of_closed(&refused, &security("ssl")), None);
    check(
        RDKafkaErrorCode::Authentication,
        "c:2/1: SASL PLAIN mechanism handshake failed: Broker: Request not valid in current SASL state: broker's supported mechanisms: (after 1ms)",
        &[],
        "OtherSecurityProtocol Kafka at `c:2` takes no user on that port: it is one without SASL; set `security_protocol` to SSL or PLAINTEXT, or \
         use a port for SASL",
    );
}
