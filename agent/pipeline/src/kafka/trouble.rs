//! What keeps a client from its cluster, told apart by what is to be done about it: librdkafka has words for it, and codes that
//! say little.
//!
//! Invariant: a message names address, user and mechanism, and nothing that is secret: librdkafka's own words never hold a
//! property's value.

use rdkafka::error::RDKafkaErrorCode;

use super::broker_certificate::CertificateFault;
use crate::connection::ClientProperties;

/// What librdkafka says before the reason why it was given no token: when it asked, and when it needed one.
const NO_TOKEN: [&str; 2] = [
    "Failed to acquire SASL OAUTHBEARER token: ",
    "there is no token available; last error: ",
];

/// What kind of trouble it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TroubleKind {
    /// No answer, or none that makes sense.
    Unreachable,
    /// The broker refuses user, password or mechanism.
    Authentication,
    /// There is no token to sign in with.
    Credential,
    /// The broker's certificate is not accepted.
    Certificate,
    /// The broker does not accept the client's certificate, or asks for one in vain.
    ClientCertificate,
    /// TLS does not come about for another reason.
    Tls,
}

/// The last thing that went wrong with a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) kind: TroubleKind,
    /// In librdkafka's words, without what differs from one attempt to the next.
    pub(crate) text: String,
    /// What is wrong with the broker's certificate, if it was looked at.
    pub(crate) fault: Option<CertificateFault>,
}

/// What brokers say when they do not accept the client's certificate, as OpenSSL names their alerts, and what it means. Java says the
/// first for a missing one, too, and the second for whatever its trust store does not vouch for.
const CLIENT_CERTIFICATE_ALERTS: [(&str, &str); 8] = [
    ("alert bad certificate", ""),
    ("alert certificate unknown", ""),
    ("alert unknown ca", ""),
    ("alert certificate required", "it got none"),
    ("alert certificate expired", "it has expired"),
    ("alert certificate revoked", "it was revoked"),
    ("alert unsupported certificate", "it is not of a kind that the broker takes"),
    ("alert access denied", "whom it names may not connect"),
];

/// How a client connects, as far as a message may say it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Security {
    mechanism: Option<String>,
    user: Option<String>,
    has_own_authorities: bool,
    shows_certificate: bool,
}

impl Security {
    /// What the properties say.
    pub(crate) fn of(properties: &ClientProperties) -> Self {
        let text = |name: &str| properties.properties.get(name).map(|value| value.expose().to_owned());
        Self {
            mechanism: text("sasl.mechanism"),
            user: text("sasl.username"),
            has_own_authorities: properties.properties.contains_key("ssl.ca.pem"),
            shows_certificate: properties.properties.contains_key("ssl.certificate.pem"),
        }
    }
}

impl Trouble {
    /// What an error event of librdkafka means.
    pub(crate) fn of(code: Option<RDKafkaErrorCode>, reason: &str) -> Self {
        let text = lasting_part(reason);
        if let Some((_, why)) = NO_TOKEN.iter().find_map(|words| text.split_once(words)) {
            return Self {
                kind: TroubleKind::Credential,
                text: why.to_owned(),
                fault: None,
            };
        }
        let kind = if text.contains("certificate verify failed") {
            TroubleKind::Certificate
        } else if alert(text).is_some() {
            TroubleKind::ClientCertificate
        } else if code == Some(RDKafkaErrorCode::Authentication) {
            TroubleKind::Authentication
        } else if code == Some(RDKafkaErrorCode::SSL) || text.contains("SSL handshake failed") || text.contains("SSL routines") {
            TroubleKind::Tls
        } else {
            TroubleKind::Unreachable
        };
        Self {
            kind,
            text: text.to_owned(),
            fault: None,
        }
    }

    /// The broker that it is about, `host:port`.
    pub(crate) fn broker(&self) -> Option<&str> {
        broker_of(&self.text)
    }

    /// True for the same trouble of the same or another broker: one that is down is reported under several ids.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.kind == other.kind && without_broker(&self.text) == without_broker(&other.text)
    }

    /// CamelCase word for machines.
    pub(crate) fn reason(&self, security: &Security) -> &'static str {
        match (self.kind, &self.fault) {
            (TroubleKind::Unreachable, _) => "SourceUnreachable",
            (TroubleKind::Authentication, _) => "AuthenticationFailed",
            (TroubleKind::Credential, _) => "CredentialRefused",
            (TroubleKind::Certificate, Some(CertificateFault::OutOfDate(_))) => "CertificateOutOfDate",
            (TroubleKind::Certificate, Some(CertificateFault::OtherHost(_))) => "CertificateForOtherHost",
            (TroubleKind::Certificate, _) => "CertificateNotTrusted",
            (TroubleKind::ClientCertificate, _) if security.shows_certificate => "ClientCertificateRefused",
            (TroubleKind::ClientCertificate, _) => "ClientCertificateRequired",
            (TroubleKind::Tls, _) => "TlsFailed",
        }
    }

    /// For users: what, whose, and what to do.
    pub(crate) fn message(&self, bootstrap_servers: &str, security: &Security) -> String {
        let broker = self.broker().unwrap_or(bootstrap_servers);
        match self.kind {
            TroubleKind::Unreachable => format!(
                "cannot reach Kafka at `{bootstrap_servers}`: {}; check the address, and that the broker is up",
                self.text
            ),
            TroubleKind::Credential => format!("cannot sign in to Kafka at `{bootstrap_servers}`: {}", self.text),
            TroubleKind::Authentication if security.mechanism.as_deref() == Some("OAUTHBEARER") => {
                let said = without_broker(&self.text);
                let said = said.strip_prefix("SASL authentication error: ").unwrap_or(said);
                format!(
                    "Kafka at `{broker}` refuses the role of the connection's service credential: {said}; see that a policy of the role \
                     allows kafka-cluster:Connect on this cluster, and that the cluster takes IAM on this port"
                )
            }
            TroubleKind::Authentication => {
                let user = security.user.as_deref().unwrap_or_default();
                let mechanism = security.mechanism.as_deref().unwrap_or_default();
                let said = without_broker(&self.text);
                let said = said.strip_prefix("SASL authentication error: ").unwrap_or(said);
                format!("Kafka at `{broker}` refuses the user `{user}` by {mechanism}: {said}; check user, password and mechanism")
            }
            TroubleKind::Certificate => self.of_brokers_certificate(broker, security),
            TroubleKind::ClientCertificate => self.of_clients_certificate(broker, security),
            TroubleKind::Tls => format!(
                "TLS with Kafka at `{broker}` does not come about: {}; check `security_protocol`, and that the port is one for TLS",
                without_broker(&self.text)
            ),
        }
    }

    fn of_brokers_certificate(&self, broker: &str, security: &Security) -> String {
        let place = match security.shows_certificate {
            true => "the truststore",
            false => "`ca_pem`",
        };
        let trusted = match security.has_own_authorities {
            true => format!("no authority in {place} has signed it"),
            false => "no authority that this system trusts has signed it".to_owned(),
        };
        let remedy = format!("put the certificate of the authority that signed it into {place}");
        match &self.fault {
            Some(CertificateFault::OutOfDate(problem)) => {
                format!("the certificate of Kafka at `{broker}` {problem}; give the broker another one, and look at the clocks")
            }
            Some(CertificateFault::OtherHost(hosts)) => {
                let or = match security.shows_certificate {
                    true => ", or set `disable_hostname_verification`",
                    false => "",
                };
                format!(
                    "the certificate of Kafka at `{broker}` is for {hosts}, and not for that host; use the host name that it is for{or}"
                )
            }
            Some(CertificateFault::UnknownIssuer(issuer)) => {
                format!("the certificate of Kafka at `{broker}` is not trusted: `{issuer}` issued it, and {trusted}; {remedy}")
            }
            None => format!(
                "the certificate of Kafka at `{broker}` is not trusted: {trusted}, it is for another host name, or it is out of date; \
                 {remedy}, or use the host name that it is for"
            ),
        }
    }

    fn of_clients_certificate(&self, broker: &str, security: &Security) -> String {
        if !security.shows_certificate {
            return format!(
                "Kafka at `{broker}` asks for a client certificate, and none is shown; give the stream `direct_mtls_config` with a keystore, \
                 or use a listener that asks for none"
            );
        }
        match alert(&self.text) {
            Some(meaning) if !meaning.is_empty() => format!(
                "Kafka at `{broker}` does not accept the client's certificate: {meaning}; put another one into the keystore, and look at \
                 the broker's log"
            ),
            _ => format!(
                "Kafka at `{broker}` does not accept the client's certificate ({}): no authority that the broker trusts has signed it, or a \
                 certificate between the two is missing in the keystore; have the broker trust the authority, or put the whole chain into \
                 the keystore",
                without_broker(&self.text)
            ),
        }
    }
}

/// What an alert about the client's certificate means, if it is one; empty if it says no more.
fn alert(text: &str) -> Option<&'static str> {
    let found = CLIENT_CERTIFICATE_ALERTS.iter().find(|(alert, _)| text.contains(alert));
    found.map(|(_, meaning)| *meaning)
}

/// A reason without the times and counts that differ from one attempt to the next.
fn lasting_part(reason: &str) -> &str {
    reason.split_once(" (after ").map_or(reason, |(lasting, _)| lasting)
}

/// A reason without the `host:port/id: ` of the broker.
fn without_broker(reason: &str) -> &str {
    split(reason).map_or(reason, |(_, rest)| rest)
}

/// The `host:port` of the broker in a reason.
fn broker_of(reason: &str) -> Option<&str> {
    let (broker, _) = split(reason)?;
    let (address, _id) = broker.rsplit_once('/')?;
    Some(address.rsplit_once('/').map_or(address, |(_scheme, address)| address))
}

fn split(reason: &str) -> Option<(&str, &str)> {
    reason.split_once(": ").filter(|(broker, _)| broker.contains('/'))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

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
        let alert =
            |name: &str| format!("ssl://c:2/1: Receive failed: error:0A000412:SSL routines::{name}: SSL alert number 42 (after 1ms)");
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
}
