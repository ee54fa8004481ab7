//! Options of connections (product part C1): the registry of what there is for each kind, and the way from an option's text to
//! the model and back.
//!
//! The invariant: an option that is not in the registry is refused by name, and the value of a secret one passes through no
//! function of this file, nor through any message.

use crate::connection::{ConnectionKind, ConnectionOptions, KafkaConnectionOptions, KinesisConnectionOptions, SecurityProtocol};
use crate::stream::SecretRef;
use crate::suggest;
use crate::violation::Violation;

/// What a secret is shown as.
pub const HIDDEN: &str = "*****";

/// What an option's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionValueKind {
    /// Any text.
    Text,
    /// One of the security protocols.
    Protocol,
    /// A secret: a literal one is kept by governance and never shown, a reference is part of the model.
    Secret,
}

/// One option of a kind of connection.
#[derive(Debug, PartialEq, Eq)]
pub struct ConnectionOption {
    /// As it is written.
    pub name: &'static str,
    /// What its value is.
    pub kind: OptionValueKind,
    /// False if a connection of its kind cannot be without it.
    pub is_optional: bool,
}

const fn option(name: &'static str, kind: OptionValueKind, is_optional: bool) -> ConnectionOption {
    ConnectionOption { name, kind, is_optional }
}

const KAFKA: [ConnectionOption; 10] = [
    option("bootstrap_servers", OptionValueKind::Text, false),
    option("security_protocol", OptionValueKind::Protocol, true),
    option("sasl_mechanism", OptionValueKind::Text, true),
    option("user", OptionValueKind::Text, true),
    option("password", OptionValueKind::Secret, true),
    option("credential", OptionValueKind::Text, true),
    option("ca_pem", OptionValueKind::Text, true),
    option("schema_registry_url", OptionValueKind::Text, true),
    option("schema_registry_api_key", OptionValueKind::Text, true),
    option("schema_registry_api_secret", OptionValueKind::Secret, true),
];

const KINESIS: [ConnectionOption; 3] = [
    option("aws_region", OptionValueKind::Text, false),
    option("credential", OptionValueKind::Text, false),
    option("endpoint", OptionValueKind::Text, true),
];

/// The options of a kind of connection, in the order in which they are shown.
pub fn all(kind: ConnectionKind) -> &'static [ConnectionOption] {
    match kind {
        ConnectionKind::Kafka => &KAFKA,
        ConnectionKind::Kinesis => &KINESIS,
    }
}

/// The option of that name, in any case. Errors: a problem and its remedy, with the nearest name that there is.
pub fn find(kind: ConnectionKind, name: &str) -> Result<&'static ConnectionOption, (String, String)> {
    let known = all(kind);
    if let Some(found) = known.iter().find(|option| option.name.eq_ignore_ascii_case(name)) {
        return Ok(found);
    }
    let names = || known.iter().map(|option| option.name);
    let remedy = match suggest::nearest(name, names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("use {}", names().collect::<Vec<_>>().join(", ")),
    };
    let shown = crate::violation::shortened(name);
    Err((format!("`{shown}` is not an option of a {kind} connection"), remedy))
}

/// Options of a kind with nothing said.
pub fn empty(kind: ConnectionKind) -> ConnectionOptions {
    match kind {
        ConnectionKind::Kafka => ConnectionOptions::Kafka(KafkaConnectionOptions {
            bootstrap_servers: String::new(),
            security_protocol: SecurityProtocol::default(),
            sasl_mechanism: None,
            user: None,
            password_secret: None,
            credential: None,
            ca_pem: None,
            schema_registry_url: None,
            schema_registry_api_key: None,
            schema_registry_api_secret: None,
        }),
        ConnectionKind::Kinesis => ConnectionOptions::Kinesis(KinesisConnectionOptions {
            aws_region: String::new(),
            credential: String::new(),
            endpoint: None,
        }),
    }
}

/// The security protocol of that name, in any case.
pub fn security_protocol(field: &str, text: &str) -> Result<SecurityProtocol, Violation> {
    let found = SecurityProtocol::ALL
        .iter()
        .find(|protocol| protocol.name().eq_ignore_ascii_case(text));
    found.copied().ok_or_else(|| {
        Violation::new(
            field,
            text,
            "the value is not known",
            "use SASL_SSL, SSL, SASL_PLAINTEXT or PLAINTEXT",
        )
    })
}

impl ConnectionOption {
    /// True for secrets.
    pub fn is_secret(&self) -> bool {
        self.kind == OptionValueKind::Secret
    }

    /// The field of the model, as violations name it.
    pub fn field(&self, kind: ConnectionKind) -> String {
        format!("{}.{}", kind.attribute(), self.name)
    }

    /// Sets the option, or takes it away. A secret's text is not the model's business: nothing happens.
    pub fn write(&self, options: &mut ConnectionOptions, text: Option<String>) -> Result<(), Violation> {
        match options {
            ConnectionOptions::Kafka(kafka) => match self.name {
                "bootstrap_servers" => kafka.bootstrap_servers = text.unwrap_or_default(),
                "security_protocol" => {
                    kafka.security_protocol = match text {
                        Some(text) => security_protocol("kafka.security_protocol", &text)?,
                        None => SecurityProtocol::default(),
                    }
                }
                "sasl_mechanism" => kafka.sasl_mechanism = text,
                "user" => kafka.user = text,
                "credential" => kafka.credential = text,
                "ca_pem" => kafka.ca_pem = text,
                "schema_registry_url" => kafka.schema_registry_url = text,
                "schema_registry_api_key" => kafka.schema_registry_api_key = text,
                _ => {}
            },
            ConnectionOptions::Kinesis(kinesis) => match self.name {
                "aws_region" => kinesis.aws_region = text.unwrap_or_default(),
                "credential" => kinesis.credential = text.unwrap_or_default(),
                "endpoint" => kinesis.endpoint = text,
                _ => {}
            },
        }
        Ok(())
    }

    /// Has a secret option refer to a secret of a scope, or to none.
    pub fn refer(&self, options: &mut ConnectionOptions, secret: Option<SecretRef>) {
        if let ConnectionOptions::Kafka(kafka) = options {
            match self.name {
                "password" => kafka.password_secret = secret,
                "schema_registry_api_secret" => kafka.schema_registry_api_secret = secret,
                _ => {}
            }
        }
    }

    /// The secret that the option refers to.
    pub fn reference<'a>(&self, options: &'a ConnectionOptions) -> Option<&'a SecretRef> {
        match (options, self.name) {
            (ConnectionOptions::Kafka(kafka), "password") => kafka.password_secret.as_ref(),
            (ConnectionOptions::Kafka(kafka), "schema_registry_api_secret") => kafka.schema_registry_api_secret.as_ref(),
            _ => None,
        }
    }

    /// The option's text in the model; a reference as SQL writes it.
    pub fn read(&self, options: &ConnectionOptions) -> Option<String> {
        if let Some(secret) = self.reference(options) {
            return Some(format!("secret('{}', '{}')", secret.scope, secret.key));
        }
        match options {
            ConnectionOptions::Kafka(kafka) => match self.name {
                "bootstrap_servers" => Some(kafka.bootstrap_servers.clone()),
                "security_protocol" => Some(kafka.security_protocol.name().to_owned()),
                "sasl_mechanism" => kafka.sasl_mechanism.clone(),
                "user" => kafka.user.clone(),
                "credential" => kafka.credential.clone(),
                "ca_pem" => kafka.ca_pem.clone(),
                "schema_registry_url" => kafka.schema_registry_url.clone(),
                "schema_registry_api_key" => kafka.schema_registry_api_key.clone(),
                _ => None,
            },
            ConnectionOptions::Kinesis(kinesis) => match self.name {
                "aws_region" => Some(kinesis.aws_region.clone()),
                "credential" => Some(kinesis.credential.clone()),
                "endpoint" => kinesis.endpoint.clone(),
                _ => None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_written_and_read_back() {
        for kind in [ConnectionKind::Kafka, ConnectionKind::Kinesis] {
            for option in all(kind) {
                let mut options = empty(kind);
                let text = if option.kind == OptionValueKind::Protocol { "SSL" } else { "t" };
                if option.is_secret() {
                    option.write(&mut options, Some("hunter2".to_owned())).expect("nothing happens");
                    assert_eq!(options, empty(kind), "{}: a secret's text is nowhere in the model", option.name);
                    let secret = SecretRef {
                        scope: "s".to_owned(),
                        key: "k".to_owned(),
                    };
                    option.refer(&mut options, Some(secret.clone()));
                    assert_eq!(option.reference(&options), Some(&secret));
                    assert_eq!(option.read(&options).as_deref(), Some("secret('s', 'k')"));
                    option.refer(&mut options, None);
                } else {
                    option.write(&mut options, Some(text.to_owned())).expect("written");
                    assert_eq!(option.read(&options).as_deref(), Some(text), "{}", option.name);
                    option.write(&mut options, None).expect("taken away");
                }
                assert_eq!(options, empty(kind), "{}", option.name);
            }
        }
    }

    #[test]
    fn an_option_that_is_not_there_is_refused_with_the_nearest_one() {
        for (kind, name, expected) in [
            (ConnectionKind::Kafka, "Bootstrap_Servers", "bootstrap_servers"),
            (
                ConnectionKind::Kafka,
                "pasword",
                "`pasword` is not an option of a KAFKA connection; did you mean `password`?",
            ),
            (
                ConnectionKind::Kinesis,
                "bootstrap_servers",
                "`bootstrap_servers` is not an option of a KINESIS connection; use aws_region, credential, endpoint",
            ),
        ] {
            let found = match find(kind, name) {
                Ok(option) => option.name.to_owned(),
                Err((problem, remedy)) => format!("{problem}; {remedy}"),
            };
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_protocol_that_is_not_known_is_refused() {
        let mut options = empty(ConnectionKind::Kafka);
        let option = find(ConnectionKind::Kafka, "security_protocol").expect("there");
        let refused = option.write(&mut options, Some("TLS".to_owned())).expect_err("unknown").to_string();
        assert!(refused.contains("use SASL_SSL, SSL, SASL_PLAINTEXT or PLAINTEXT"), "{refused}");
    }
}
