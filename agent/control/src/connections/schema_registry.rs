//! What a client of a stream's schema registry is opened with. The invariant: its secret goes to the registry of the connection that
//! names it, and a stream may only repeat that name.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};
use stream_pipeline::error::PipelineError;
use stream_pipeline::registry::RegistryProperties;
use stream_spec::capability;
use stream_spec::connection::{ConnectionOptions, ConnectionSpec, KafkaConnectionOptions};
use stream_spec::options::connection::{ConnectionOption, find};
use stream_spec::stream::{SchemaConfig, SecretRef, StreamSpec};
use stream_spec::violation::Violation;

use super::{SecretValues, StoreResolver, no_secret, secret_revision, unavailable};
use crate::governance::secrets::SecretValue;
use crate::services::CAPABILITIES;
use crate::store::records::ConnectionRecord;

const SECRET: &str = "schema_registry_api_secret";

/// What is wrong with a stream's registry, as its connection has it.
pub(crate) fn violations(stream: &StreamSpec, record: &ConnectionRecord) -> Vec<Violation> {
    let name = &record.spec.name;
    let (field, config) = match &stream.schemas {
        SchemaConfig::Registry(config) => ("schema_config.schema_registry_config", config),
        SchemaConfig::Direct(_) => return Vec::new(),
    };
    let at = format!("{field}.uc_connection");
    let ConnectionOptions::Kafka(kafka) = &record.spec.options else {
        let remedy = "name a connection of type KAFKA that has `schema_registry_url`";
        return vec![Violation::new(at, name.as_str(), "the connection is of type KINESIS", remedy)];
    };
    if kafka.schema_registry_url.is_none() {
        let problem = format!("connection `{name}` does not say where the registry is");
        return vec![Violation::new(
            at,
            name.as_str(),
            problem,
            "set its `schema_registry_url`, or name another connection",
        )];
    }
    let Some(wanted) = &config.api_secret_ref else {
        return Vec::new();
    };
    if kafka.schema_registry_api_secret.as_ref() == Some(wanted) {
        return Vec::new();
    }
    let other = match &kafka.schema_registry_api_secret {
        Some(other) => format!("connection `{name}` uses the secret `{}`", shown(other)),
        None if record.literal_secrets.contains_key(SECRET) => format!("connection `{name}` keeps an API secret of its own"),
        None => format!("connection `{name}` has no `{SECRET}`"),
    };
    vec![Violation::new(
        format!("{field}.api_secret_ref"),
        &shown(wanted),
        other,
        format!("name the same secret in both, as the connection's `{SECRET}`, or leave it out of the stream"),
    )]
}

fn shown(secret: &SecretRef) -> String {
    format!("{}/{}", secret.scope, secret.key)
}

impl StoreResolver {
    /// What a client of the stream's registry is opened with.
    pub(super) async fn registry_of(&self, stream: &StreamSpec) -> Result<RegistryProperties, PipelineError> {
        let name = stream.registry_connection().ok_or_else(|| PipelineError::Definition {
            message: "nothing says where the schema registry is; name a connection in `schema_registry_config.uc_connection`".into(),
        })?;
        let record = self.record(name).await?;
        if let Some(violation) = violations(stream, &record).first() {
            return Err(unavailable("RegistryRefused", violation.to_string()));
        }
        self.registry_of_record(&record).await
    }

    /// What a client of a stored connection's registry is opened with.
    pub(crate) async fn registry_of_record(&self, record: &ConnectionRecord) -> Result<RegistryProperties, PipelineError> {
        let option = secret_option(&record.spec);
        // Before the value: if one is written in between, the next opening has another identity.
        let revision = match option {
            Some(option) => secret_revision(&self.store, record, option)
                .await
                .map_err(|error| no_secret(record, &error))?
                .unwrap_or_default(),
            None => String::new(),
        };
        let secret = match option {
            Some(option) => self.secret(record, option).await?,
            None => None,
        };
        self.expect_unchanged(record).await?;
        let identity = format!("{}/{}/{revision}", record.uid, digest_of_options(&record.spec));
        of(&record.spec, secret.as_ref(), identity)
    }

    /// What a client of the registry of a connection is opened with that is not stored; `literals` are the secrets that came with it.
    pub(crate) async fn registry_of_declared(
        &self,
        spec: &ConnectionSpec,
        literals: &SecretValues,
    ) -> Result<RegistryProperties, PipelineError> {
        let reference = secret_option(spec).and_then(|option| option.reference(&spec.options));
        let referenced = match reference {
            Some(reference) => Some(self.referenced(reference).await.map_err(|error| {
                let message = format!("connection `{}`: {error}", spec.name);
                unavailable("SecretUnavailable", message)
            })?),
            None => None,
        };
        let secret = referenced.as_ref().or(literals.get(SECRET));
        of(spec, secret, format!("declared/{}", uuid::Uuid::new_v4()))
    }
}

/// Whether a connection says where a registry is.
pub(crate) fn has_registry(spec: &ConnectionSpec) -> bool {
    kafka(spec).is_some_and(|kafka| kafka.schema_registry_url.is_some())
}

fn of(spec: &ConnectionSpec, secret: Option<&SecretValue>, identity: String) -> Result<RegistryProperties, PipelineError> {
    let has: BTreeSet<_> = CAPABILITIES.iter().copied().collect();
    let missing = capability::missing(&capability::needed_by_connection(spec), &has);
    if let Some(violation) = missing.iter().find(|violation| violation.field.contains("schema_registry")) {
        return Err(unavailable(
            "ConnectionUnsupported",
            format!("connection `{}`: {violation}", spec.name),
        ));
    }
    let registry = kafka(spec).and_then(|kafka| Some((kafka, kafka.schema_registry_url.as_ref()?)));
    let Some((kafka, urls)) = registry else {
        let message = format!(
            "connection `{}` does not say where the registry is; set its `schema_registry_url`",
            spec.name
        );
        return Err(unavailable("RegistryMissing", message));
    };
    let text = secret.map(|secret| secret.expose_text().ok_or(()));
    let text = text.transpose().map_err(|()| {
        let message = format!("connection `{}`: its `{SECRET}` is no text in UTF-8; put another one", spec.name);
        unavailable("SecretUnavailable", message)
    })?;
    Ok(RegistryProperties {
        urls: RegistryProperties::urls_of(urls),
        api_key: kafka.schema_registry_api_key.clone(),
        api_secret: text.map(Into::into),
        ca_pem: kafka.ca_pem.clone(),
        identity,
    })
}

fn kafka(spec: &ConnectionSpec) -> Option<&KafkaConnectionOptions> {
    match &spec.options {
        ConnectionOptions::Kafka(kafka) => Some(kafka),
        ConnectionOptions::Kinesis(_) => None,
    }
}

fn secret_option(spec: &ConnectionSpec) -> Option<&'static ConnectionOption> {
    find(spec.options.kind(), SECRET).ok()
}

/// Equal for equal options of a registry: what only Kafka uses makes no other client.
fn digest_of_options(spec: &ConnectionSpec) -> String {
    let options = kafka(spec).map(|kafka| {
        (
            &kafka.schema_registry_url,
            &kafka.schema_registry_api_key,
            &kafka.schema_registry_api_secret,
            &kafka.ca_pem,
        )
    });
    let digest = Sha256::digest(format!("{options:?}"));
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use stream_spec::name::ConnectionName;
    use stream_spec::stream::{SchemaLocator, SchemaRegistryConfig};

    use super::*;
    use crate::testing::definitions::{connection, stream};

    fn secret(key: &str) -> SecretRef {
        SecretRef {
            scope: "registry".to_owned(),
            key: key.to_owned(),
        }
    }

    fn of_stream(api_secret_ref: Option<SecretRef>) -> StreamSpec {
        let mut spec = stream("main.pay.orders");
        spec.schemas = SchemaConfig::Registry(SchemaRegistryConfig {
            uc_connection: Some(ConnectionName::parse("kafka").unwrap()),
            api_secret_ref,
            payload: Some(SchemaLocator {
                subject: "orders-value".to_owned(),
                format: "FORMAT_AVRO".to_owned(),
            }),
            key: None,
        });
        spec
    }

    fn with_registry(api_secret: Option<SecretRef>) -> ConnectionRecord {
        let mut record = connection("kafka");
        if let ConnectionOptions::Kafka(kafka) = &mut record.spec.options {
            kafka.schema_registry_url = Some("https://one.example.com, https://two.example.com/apis".to_owned());
            kafka.schema_registry_api_key = Some("ada".to_owned());
            kafka.schema_registry_api_secret = api_secret;
        }
        record
    }

    #[test]
    fn two_secrets_that_differ_are_refused_with_both_names() {
        let said = |spec: &StreamSpec, record: &ConnectionRecord| {
            let violations = violations(spec, record);
            violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(said(&of_stream(None), &with_registry(None)), "");
        assert_eq!(said(&of_stream(Some(secret("a"))), &with_registry(Some(secret("a")))), "");
        let differ = said(&of_stream(Some(secret("a"))), &with_registry(Some(secret("b"))));
        assert!(
            differ.contains("registry/a") && differ.contains("registry/b") && differ.contains("api_secret_ref"),
            "{differ}"
        );
        let mut literal = with_registry(None);
        literal.literal_secrets = BTreeMap::from([(SECRET.to_owned(), "revision".to_owned())]);
        let differ = said(&of_stream(Some(secret("a"))), &literal);
        assert!(differ.contains("keeps an API secret of its own"), "{differ}");
        let none = said(&of_stream(Some(secret("a"))), &with_registry(None));
        assert!(none.contains("has no `schema_registry_api_secret`"), "{none}");
        let nowhere = said(&of_stream(None), &connection("kafka"));
        assert!(nowhere.contains("does not say where the registry is"), "{nowhere}");
    }

    #[test]
    fn a_registry_has_its_addresses_its_key_and_its_own_identity() {
        let secret = SecretValue::from("hunter2".to_owned());
        let mut record = with_registry(None);
        let found = of(&record.spec, Some(&secret), "i".to_owned()).unwrap();
        assert_eq!(found.urls, ["https://one.example.com", "https://two.example.com/apis"]);
        assert_eq!((found.api_key.as_deref(), found.identity.as_str()), (Some("ada"), "i"));
        assert_eq!(
            found.api_secret.map(|secret| secret.expose().to_owned()).as_deref(),
            Some("hunter2")
        );
        let before = digest_of_options(&record.spec);
        if let ConnectionOptions::Kafka(kafka) = &mut record.spec.options {
            kafka.user = Some("somebody".to_owned());
        }
        assert_eq!(digest_of_options(&record.spec), before);
        if let ConnectionOptions::Kafka(kafka) = &mut record.spec.options {
            kafka.schema_registry_url = None;
        }
        assert_ne!(digest_of_options(&record.spec), before);
        let error = of(&record.spec, Some(&secret), "i".to_owned()).err().unwrap().to_string();
        assert!(
            error.contains("set its `schema_registry_url`") && !error.contains("hunter2"),
            "{error}"
        );
    }
}
