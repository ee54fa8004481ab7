//! What keeps a client from its cluster, told apart by what is to be done about it: librdkafka has words for it, and codes that
//! say little.
//!
//! Invariant: a message names address, user and mechanism, and nothing that is secret: librdkafka's own words never hold a
//! property's value.

use rdkafka::error::RDKafkaErrorCode;

use super::broker_certificate::CertificateFault;
use super::security::Security;

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
    /// The port is one for another security protocol.
    OtherProtocol(Port),
}

/// What a port seems to be for, or not to be for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    Tls,
    Sasl,
    WithoutSasl,
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

/// What librdkafka says where a port takes no SASL.
const WITHOUT_SASL: &str = "Request not valid in current SASL state";

/// A connection that lasts longer than this is not closed because of how it began.
const CLOSED_AT_ONCE_MS: u64 = 2_000;

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
        } else if text.contains(WITHOUT_SASL) {
            TroubleKind::OtherProtocol(Port::WithoutSasl)
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

    /// What it means that a broker closes a connection, from a line of librdkafka's log: there it is no error, and where the connection
    /// was closed as soon as something was asked, the client seems to speak by another security protocol than the port.
    pub(crate) fn of_closed(line: &str, security: &Security) -> Option<Self> {
        let (reason, when) = line.split_once(" (after ")?;
        let reason = reason.split_once("]: ").map_or(reason, |(_thread, reason)| reason);
        let (milliseconds, rest) = when.split_once("ms in state ")?;
        let state = rest.split([',', ')']).next()?;
        if !without_broker(reason).starts_with("Disconnected") || milliseconds.parse::<u64>().ok()? > CLOSED_AT_ONCE_MS {
            return None;
        }
        let port = match state {
            "APIVERSION_QUERY" if !security.uses_tls => Port::Tls,
            "UP" if !security.uses_sasl => Port::Sasl,
            _ => return None,
        };
        Some(Self {
            kind: TroubleKind::OtherProtocol(port),
            text: reason.to_owned(),
            fault: None,
        })
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
            (TroubleKind::ClientCertificate, _) => match security.shown_fault() {
                Some((reason, _)) => reason,
                None if security.shows_certificate() => "ClientCertificateRefused",
                None => "ClientCertificateRequired",
            },
            (TroubleKind::Tls, _) => "TlsFailed",
            (TroubleKind::OtherProtocol(_), _) => "OtherSecurityProtocol",
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
            TroubleKind::OtherProtocol(port) => format!("Kafka at `{broker}` {}", port.meaning()),
        }
    }

    fn of_brokers_certificate(&self, broker: &str, security: &Security) -> String {
        let place = match security.shows_certificate() {
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
                let or = match security.shows_certificate() {
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
        if !security.shows_certificate() {
            return format!(
                "Kafka at `{broker}` asks for a client certificate, and none is shown; give the stream `direct_mtls_config` with a keystore, \
                 or use a listener that asks for none"
            );
        }
        // Brokers say it in many ways, and none with the date.
        if let Some((_, problem)) = security.shown_fault() {
            return format!("Kafka at `{broker}` does not let the client in: {problem}; put another one into the keystore");
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

impl Port {
    /// For users: what happens there, and what to do.
    fn meaning(self) -> &'static str {
        match self {
            Self::Tls => {
                "closes the connection before anything is said: its port seems to be one for TLS; set `security_protocol` to SSL or \
                 SASL_SSL, or use a port without TLS"
            }
            Self::Sasl => {
                "closes the connection at the first question: its port seems to be one for SASL; set `security_protocol` to SASL_SSL or \
                 SASL_PLAINTEXT, with user and password, or use a port without SASL"
            }
            Self::WithoutSasl => {
                "takes no user on that port: it is one without SASL; set `security_protocol` to SSL or PLAINTEXT, or use a port for SASL"
            }
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
mod tests;
