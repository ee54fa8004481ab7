//! Schemas: which sides have one, and whether its text can be used (product parts D1, D5, N3).

use crate::schema;
use crate::stream::{
    ConnectionConfig, DirectSchemas, SchemaConfig, SchemaLocator, SchemaRegistryConfig, SchemaText, Side, SourceConfig, StreamSpec,
};
use crate::violation::Violation;

use super::connection::check_secret;

const DIRECT: &str = "schema_config.direct_schemas";
const REGISTRY: &str = "schema_config.schema_registry_config";

pub(super) fn check(stream: &StreamSpec, violations: &mut Vec<Violation>) {
    let kinesis = matches!(stream.source, SourceConfig::Kinesis(_));
    match &stream.schemas {
        SchemaConfig::Direct(schemas) => {
            check_direct(schemas, violations);
            if kinesis {
                check_kinesis_sides(schemas, violations);
            }
        }
        SchemaConfig::Registry(registry) => {
            if kinesis {
                let remedy = "declare the payload schema in `direct_schemas`";
                violations.push(Violation::new(
                    REGISTRY,
                    "a schema registry",
                    "a Kinesis stream has no schema registry",
                    remedy,
                ));
            }
            check_registry(registry, &stream.connection, violations);
        }
    }
}

fn check_direct(schemas: &DirectSchemas, violations: &mut Vec<Violation>) {
    if schemas.key.is_none() && schemas.payload.is_none() {
        violations.push(Violation::missing(
            DIRECT,
            "neither side has a schema",
            "set `payload_schema`, `key_schema` or both",
        ));
    }
    for side in Side::BOTH {
        let Some(text) = schemas.side(side) else { continue };
        let field = format!("{}.{}", side.attribute(), text.attribute());
        match text {
            SchemaText::Proto { schema_text, message_name } if schema_text.trim().is_empty() || message_name.trim().is_empty() => {
                check_there(&format!("{field}.schema_text"), schema_text, violations);
                check_there(&format!("{field}.message_name"), message_name, violations);
            }
            text => {
                let problems = schema::parse(text).err().unwrap_or_default();
                violations.extend(problems.iter().map(|problem| problem.violation(field.clone())));
            }
        }
    }
}

fn check_kinesis_sides(schemas: &DirectSchemas, violations: &mut Vec<Violation>) {
    if schemas.payload.is_none() {
        violations.push(Violation::missing(
            Side::Payload.attribute(),
            "a Kinesis stream needs a payload schema",
            "set it",
        ));
    }
    if schemas.key.is_some() {
        let remedy = "leave it out: the key is the partition key, a string";
        violations.push(Violation::new(
            Side::Key.attribute(),
            "a schema",
            "a Kinesis stream has no key schema",
            remedy,
        ));
    }
}

fn check_registry(registry: &SchemaRegistryConfig, connection: &ConnectionConfig, violations: &mut Vec<Violation>) {
    if registry.payload.is_none() && registry.key.is_none() {
        let remedy = "set `payload_schema_locator`, `key_schema_locator` or both";
        violations.push(Violation::missing(REGISTRY, "neither side has a subject", remedy));
    }
    if registry.uc_connection.is_none() && matches!(connection, ConnectionConfig::DirectMtls(_)) {
        violations.push(Violation::missing(
            format!("{REGISTRY}.uc_connection"),
            "with direct mTLS nothing says where the registry is",
            "name a connection that has `schema_registry_url`",
        ));
    }
    if let Some(secret) = &registry.api_secret_ref {
        check_secret(&format!("{REGISTRY}.api_secret_ref"), secret, violations);
    }
    for (side, locator) in [("payload_schema_locator", &registry.payload), ("key_schema_locator", &registry.key)] {
        if let Some(locator) = locator {
            check_locator(&format!("{REGISTRY}.{side}.confluent_schema"), locator, violations);
        }
    }
}

fn check_locator(field: &str, locator: &SchemaLocator, violations: &mut Vec<Violation>) {
    check_there(&format!("{field}.subject"), &locator.subject, violations);
    let remedy = match locator.format.as_str() {
        "FORMAT_AVRO" | "FORMAT_PROTOBUF" => return,
        "FORMAT_JSON" => "declare the JSON schema inline, as `json_schema` in `direct_schemas`",
        _ => "write `FORMAT_AVRO` or `FORMAT_PROTOBUF`",
    };
    violations.push(Violation::new(
        format!("{field}.format"),
        &locator.format,
        "the format is not supported",
        remedy,
    ));
}

fn check_there(field: &str, text: &str, violations: &mut Vec<Violation>) {
    if text.trim().is_empty() {
        violations.push(Violation::new(
            field,
            text,
            "the text is empty",
            "write it, or leave the whole attribute out",
        ));
    }
}
