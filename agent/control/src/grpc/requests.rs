//! Parts of requests that several calls read: names, waits, parents, masks. What is wrong with one names its field.

use std::time::Duration;

use featurestore_proto::convert::direct_schemas_to_spec;
use featurestore_proto::v1;
use stream_spec::name::{ConnectionName, NameError, StreamName};
use stream_spec::stream::DirectSchemas;

use crate::services::PageRequest;
use crate::services::error::ServiceError;
use crate::services::streams::SideChange;
use crate::store::Parent;

pub(super) fn stream_name(text: &str) -> Result<StreamName, ServiceError> {
    StreamName::parse(text).map_err(|error| ServiceError::invalid("name", text, error.problem, error.remedy))
}

pub(super) fn connection_name(text: &str) -> Result<ConnectionName, ServiceError> {
    ConnectionName::parse(text).map_err(|error| ServiceError::invalid("name", text, error.problem, error.remedy))
}

/// A name of any kind, by its parser; `field` holds it.
pub(super) fn name<T>(field: &'static str, text: &str, parse: impl Fn(&str) -> Result<T, NameError>) -> Result<T, ServiceError> {
    parse(text).map_err(|error| ServiceError::invalid(field, text, error.problem, error.remedy))
}

/// A message that must be there.
pub(super) fn required<T>(field: &'static str, message: Option<T>) -> Result<T, ServiceError> {
    message.ok_or_else(|| {
        ServiceError::Invalid(vec![stream_spec::violation::Violation::missing(
            field,
            "the field is required",
            "set it",
        )])
    })
}

/// A wait; `None` where the caller leaves it to the agent.
pub(super) fn wait(duration: Option<prost_types::Duration>) -> Result<Option<Duration>, ServiceError> {
    duration.map(Duration::try_from).transpose().map_err(|_| {
        ServiceError::invalid(
            "wait",
            "a negative duration",
            "the duration is negative",
            "use a duration from 0s to 30s",
        )
    })
}

/// A lifetime; `None` where the caller leaves it to the agent.
pub(super) fn lifetime(duration: Option<prost_types::Duration>) -> Result<Option<Duration>, ServiceError> {
    let negative = |_| {
        ServiceError::invalid(
            "lifetime",
            "a negative duration",
            "the duration is negative",
            "use a duration such as 90 days",
        )
    };
    duration.map(Duration::try_from).transpose().map_err(negative)
}

pub(super) fn page(size: i32, token: String) -> PageRequest {
    PageRequest { size, token }
}

/// `catalog` or `catalog.schema`.
pub(super) fn parent(text: &str) -> Result<Parent, ServiceError> {
    let (catalog, schema) = match text.split_once('.') {
        None => (text, None),
        Some((catalog, schema)) => (catalog, Some(schema)),
    };
    // The rules for parts are those of a stream's name: a name with these parts must be one.
    match StreamName::parse(&format!("{catalog}.{}.stream", schema.unwrap_or("schema"))) {
        Ok(_) => Ok(Parent {
            catalog: catalog.to_owned(),
            schema: schema.map(str::to_owned),
        }),
        Err(error) => Err(ServiceError::invalid(
            "parent",
            text,
            error.problem,
            "use a catalog, or a catalog and a schema, as in `main.payments`",
        )),
    }
}

/// What an update's mask picks out of its message.
#[derive(Debug, Default, PartialEq)]
pub(super) struct MaskedStream {
    pub(super) key: SideChange,
    pub(super) payload: SideChange,
    pub(super) excluded_columns: Option<std::collections::BTreeSet<String>>,
}

/// Reads the fields that the mask names, and refuses every other path in it.
pub(super) fn masked_stream(stream: &v1::Stream, mask: Option<&prost_types::FieldMask>) -> Result<MaskedStream, ServiceError> {
    const BOTH: &str = "schema_config.direct_schemas";
    const KEY: &str = "schema_config.direct_schemas.key_schema";
    const PAYLOAD: &str = "schema_config.direct_schemas.payload_schema";
    let paths = mask.map(|mask| mask.paths.as_slice()).unwrap_or_default();
    let mut masked = MaskedStream::default();
    if paths.is_empty() {
        return Err(refused_mask("", "the mask is empty"));
    }
    for path in paths {
        match path.as_str() {
            "excluded_columns" => masked.excluded_columns = Some(stream.excluded_columns.iter().cloned().collect()),
            KEY => masked.key = SideChange::Set(direct(stream)?.key),
            PAYLOAD => masked.payload = SideChange::Set(direct(stream)?.payload),
            BOTH => {
                let schemas = direct(stream)?;
                // A side that was not sent stays.
                masked.key = schemas.key.map_or(SideChange::Keep, |text| SideChange::Set(Some(text)));
                masked.payload = schemas.payload.map_or(SideChange::Keep, |text| SideChange::Set(Some(text)));
            }
            other => return Err(refused_mask(other, "the field cannot be updated")),
        }
    }
    Ok(masked)
}

fn direct(stream: &v1::Stream) -> Result<DirectSchemas, ServiceError> {
    match stream.schema_config.as_ref().and_then(|config| config.config.as_ref()) {
        Some(v1::schema_config::Config::DirectSchemas(direct)) => {
            direct_schemas_to_spec(direct, "schema_config.direct_schemas").map_err(ServiceError::Invalid)
        }
        Some(v1::schema_config::Config::SchemaRegistryConfig(_)) | None => required("schema_config.direct_schemas", None),
    }
}

fn refused_mask(path: &str, problem: &str) -> ServiceError {
    let remedy = "use schema_config.direct_schemas, schema_config.direct_schemas.key_schema, schema_config.direct_schemas.payload_schema \
                  or excluded_columns; for anything else make a new stream";
    ServiceError::invalid("update_mask", path, problem, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stream_spec::stream::SchemaText;

    fn stream(key: Option<&str>, payload: Option<&str>) -> v1::Stream {
        let schema = |text: &str| v1::DirectSchema {
            schema: Some(v1::direct_schema::Schema::JsonSchema(text.to_owned())),
        };
        let direct = v1::DirectSchemas {
            key_schema: key.map(schema),
            payload_schema: payload.map(schema),
        };
        v1::Stream {
            schema_config: Some(v1::SchemaConfig {
                config: Some(v1::schema_config::Config::DirectSchemas(direct)),
            }),
            excluded_columns: vec!["value.b".into(), "value.a".into()],
            ..Default::default()
        }
    }

    fn masked(stream: &v1::Stream, paths: &[&str]) -> Result<MaskedStream, ServiceError> {
        masked_stream(
            stream,
            Some(&prost_types::FieldMask {
                paths: paths.iter().map(|path| (*path).to_owned()).collect(),
            }),
        )
    }

    #[test]
    fn a_side_that_was_not_sent_stays_unless_the_mask_names_it() {
        let set = |text: &str| SideChange::Set(Some(SchemaText::Json(text.into())));
        let only_payload = stream(None, Some("{}"));
        let both = masked(&only_payload, &["schema_config.direct_schemas"]).unwrap();
        assert_eq!((both.key, both.payload, both.excluded_columns), (SideChange::Keep, set("{}"), None));
        let named = masked(&only_payload, &["schema_config.direct_schemas.key_schema"]).unwrap();
        assert_eq!((named.key, named.payload), (SideChange::Set(None), SideChange::Keep));
        let excluded = masked(&only_payload, &["excluded_columns"]).unwrap();
        assert_eq!(excluded.excluded_columns.map(|set| set.len()), Some(2));
    }

    #[test]
    fn any_other_path_is_refused_by_name() {
        for paths in [&[][..], &["name"], &["excluded_columns", "ingestion_config"], &["*"]] {
            let error = masked(&stream(None, Some("{}")), paths).unwrap_err().to_string();
            assert!(
                error.contains("update_mask") && error.contains(paths.last().copied().unwrap_or("empty")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_parent_is_a_catalog_or_a_catalog_and_a_schema() {
        assert_eq!(
            parent("main").unwrap(),
            Parent {
                catalog: "main".into(),
                schema: None
            }
        );
        assert_eq!(
            parent("main.pay").unwrap(),
            Parent {
                catalog: "main".into(),
                schema: Some("pay".into())
            }
        );
        for bad in ["", "Main", "main.", ".pay", "main.pay.orders", "system"] {
            assert!(parent(bad).is_err(), "{bad}");
        }
    }
}
