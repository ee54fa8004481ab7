//! What keeps a client from its cluster, told apart by what is to be done about it: librdkafka has words for it, and codes that
//! say little.
//!
//! Invariant: a message names address, user and mechanism, and nothing that is secret: librdkafka's own words never hold a
//! property's value.

use rdkafka::error::RDKafkaErrorCode;

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
    /// The broker's certificate is not trusted.
    Certificate,
    /// TLS does not come about for another reason.
    Tls,
}

/// The last thing that went wrong with a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) kind: TroubleKind,
    /// In librdkafka's words, without what differs from one attempt to the next.
    pub(crate) text: String,
}

/// How a client connects, as far as a message may say it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Security {
    mechanism: Option<String>,
    user: Option<String>,
    has_own_authorities: bool,
}

impl Security {
    /// What the properties say.
    pub(crate) fn of(properties: &ClientProperties) -> Self {
        let text = |name: &str| properties.properties.get(name).map(|value| value.expose().to_owned());
        Self {
            mechanism: text("sasl.mechanism"),
            user: text("sasl.username"),
            has_own_authorities: properties.properties.contains_key("ssl.ca.pem"),
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
            };
        }
        let kind = if text.contains("certificate verify failed") {
            TroubleKind::Certificate
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
        }
    }

    /// True for the same trouble of the same or another broker: one that is down is reported under several ids.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.kind == other.kind && without_broker(&self.text) == without_broker(&other.text)
    }

    /// CamelCase word for machines.
    pub(crate) fn reason(&self) -> &'static str {
        match self.kind {
            TroubleKind::Unreachable => "SourceUnreachable",
            TroubleKind::Authentication => "AuthenticationFailed",
            TroubleKind::Credential => "CredentialRefused",
            TroubleKind::Certificate => "CertificateNotTrusted",
            TroubleKind::Tls => "TlsFailed",
        }
    }

    /// For users: what, whose, and what to do.
    pub(crate) fn message(&self, bootstrap_servers: &str, security: &Security) -> String {
        let broker = broker_of(&self.text).unwrap_or(bootstrap_servers);
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
            TroubleKind::Certificate => {
                let (authority, remedy) = if security.has_own_authorities {
                    (
                        "no authority in `ca_pem` has signed it",
                        "put the certificate of the authority that signed it into `ca_pem`",
                    )
                } else {
                    (
                        "no authority that this system trusts has signed it",
                        "put the certificate of the authority that signed it into `ca_pem`",
                    )
                };
                format!(
                    "the certificate of Kafka at `{broker}` is not trusted: {authority}, it is for another host name, or it is out of date; \
                     {remedy}, or use the host name that it is for"
                )
            }
            TroubleKind::Tls => format!(
                "TLS with Kafka at `{broker}` does not come about: {}; check `security_protocol`, and that the port is one for TLS",
                without_broker(&self.text)
            ),
        }
    }
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
        let trouble = Trouble::of(Some(code), said);
        let found = format!("{} {}", trouble.reason(), trouble.message("b:1,c:2", &security));
        assert_eq!(found, expected);
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
