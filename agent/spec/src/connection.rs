//! A connection's options without secret values (product part C1).

use serde::{Deserialize, Serialize};

use crate::name::ConnectionName;
use crate::stream::SecretRef;

/// A named way to reach a source. Secret values are never here, only where they are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionSpec {
    /// Letters, digits, `_`, `-`.
    pub name: ConnectionName,
    /// Free text.
    pub comment: Option<String>,
    /// Options of one kind. The kind is immutable.
    pub options: ConnectionOptions,
}

/// What a connection leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionKind {
    /// Apache Kafka.
    Kafka,
    /// Amazon Kinesis.
    Kinesis,
}

impl ConnectionKind {
    /// As `TYPE` in SQL, and in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kafka => "KAFKA",
            Self::Kinesis => "KINESIS",
        }
    }

    /// The attribute that holds the options of this kind.
    pub fn attribute(self) -> &'static str {
        match self {
            Self::Kafka => "kafka",
            Self::Kinesis => "kinesis",
        }
    }
}

impl std::fmt::Display for ConnectionKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Options by kind of source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionOptions {
    /// Apache Kafka.
    Kafka(KafkaConnectionOptions),
    /// Amazon Kinesis.
    Kinesis(KinesisConnectionOptions),
}

impl ConnectionOptions {
    /// Which kind they are of.
    pub fn kind(&self) -> ConnectionKind {
        match self {
            Self::Kafka(_) => ConnectionKind::Kafka,
            Self::Kinesis(_) => ConnectionKind::Kinesis,
        }
    }
}

/// Options of a Kafka connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KafkaConnectionOptions {
    /// Comma-separated `host:port`.
    pub bootstrap_servers: String,
    /// Transport security and authentication.
    pub security_protocol: SecurityProtocol,
    /// `PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`.
    pub sasl_mechanism: Option<String>,
    /// SASL user.
    pub user: Option<String>,
    /// Where the password is kept; `None` with a literal one, which governance keeps.
    pub password_secret: Option<SecretRef>,
    /// Service credential for IAM.
    pub credential: Option<String>,
    /// Certificate authorities to trust, PEM.
    pub ca_pem: Option<String>,
    /// Confluent schema registry address.
    pub schema_registry_url: Option<String>,
    /// Registry API key.
    pub schema_registry_api_key: Option<String>,
    /// Where the registry's API secret is kept.
    pub schema_registry_api_secret: Option<SecretRef>,
}

/// Kafka's four listener kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SecurityProtocol {
    /// TLS and SASL.
    #[default]
    #[serde(rename = "SASL_SSL")]
    SaslSsl,
    /// TLS.
    #[serde(rename = "SSL")]
    Ssl,
    /// SASL without TLS, for local brokers.
    #[serde(rename = "SASL_PLAINTEXT")]
    SaslPlaintext,
    /// Neither, for local brokers.
    #[serde(rename = "PLAINTEXT")]
    Plaintext,
}

impl SecurityProtocol {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::SaslSsl, Self::Ssl, Self::SaslPlaintext, Self::Plaintext];

    /// Kafka's own name of it.
    pub fn name(self) -> &'static str {
        match self {
            Self::SaslSsl => "SASL_SSL",
            Self::Ssl => "SSL",
            Self::SaslPlaintext => "SASL_PLAINTEXT",
            Self::Plaintext => "PLAINTEXT",
        }
    }

    /// True when the client authenticates by SASL.
    pub fn uses_sasl(self) -> bool {
        matches!(self, Self::SaslSsl | Self::SaslPlaintext)
    }

    /// True when the connection is encrypted.
    pub fn uses_tls(self) -> bool {
        matches!(self, Self::SaslSsl | Self::Ssl)
    }
}

/// Options of a Kinesis connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KinesisConnectionOptions {
    /// AWS region.
    pub aws_region: String,
    /// Service credential.
    pub credential: String,
    /// Another endpoint than the region's.
    pub endpoint: Option<String>,
}

/// The servers of a comma-separated `host:port` list, hosts in lower case; white space around them is tolerated.
pub fn parse_servers(text: &str) -> Result<Vec<(String, u16)>, String> {
    text.split(',').map(|server| parse_server(server.trim())).collect()
}

/// True when two lists name the same servers, in any order and case.
pub fn same_servers(left: &str, right: &str) -> bool {
    let parsed = |text| parse_servers(text).map(|servers| servers.into_iter().collect::<std::collections::BTreeSet<_>>());
    left == right || matches!((parsed(left), parsed(right)), (Ok(left), Ok(right)) if left == right)
}

fn parse_server(server: &str) -> Result<(String, u16), String> {
    if server.is_empty() {
        return Err("a server is empty".into());
    }
    if server.contains("://") {
        return Err(format!("`{server}` has a scheme, which `security_protocol` says instead"));
    }
    let Some((host, port)) = server.rsplit_once(':') else {
        return Err(format!("`{server}` has no port"));
    };
    let legal = |host: &str| {
        !host.is_empty()
            && host
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
    };
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let legal = match bracketed {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => legal(host),
    };
    if !legal {
        return Err(format!("`{host}` is not a host name or address"));
    }
    match port.parse::<u16>() {
        Ok(port) if port > 0 => Ok((host.to_ascii_lowercase(), port)),
        _ => Err(format!("`{port}` is not a port")),
    }
}
