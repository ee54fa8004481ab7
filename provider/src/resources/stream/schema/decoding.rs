//! Attributes that say how messages are decoded.

use tfplugin::schema::attribute::{Attribute, AttributeType};

use super::super::equality;
use super::{REPLACES, UPDATES, optional_text, required_text, say, secret_ref};

/// The value of `direct_schemas`.
pub(crate) fn direct_schemas() -> AttributeType {
    let side = |what: &'static str| {
        let proto = AttributeType::single([
            ("schema_text", required_text("Text of a `.proto` file.", UPDATES)),
            ("message_name", required_text("Fully qualified name of the message in it.", UPDATES)),
        ]);
        let forms = AttributeType::single([
            (
                "json_schema",
                optional_text(
                    "IETF JSON Schema; its formatting and the order of its properties mean nothing.",
                    UPDATES,
                )
                .equal_text_by(equality::same_json_schema),
            ),
            (
                "avro_schema",
                optional_text("Avro schema; its formatting means nothing.", UPDATES).equal_text_by(equality::same_avro_schema),
            ),
            (
                "proto_schema",
                Attribute::optional(proto, say("Protocol Buffers schema, proto2 or proto3.", UPDATES))
                    .equal_by(equality::same_proto_schema),
            ),
        ]);
        Attribute::optional(forms, say(what, UPDATES))
    };
    AttributeType::single([
        (
            "key_schema",
            side("Schema of the message key: exactly one form. Without it the key is a plain string."),
        ),
        (
            "payload_schema",
            side("Schema of the message payload: exactly one form. Without it the payload is a plain string."),
        ),
    ])
}

/// `schema_config`.
pub(super) fn schema_config() -> Attribute {
    let locator = |what: &'static str| {
        let schema = AttributeType::single([
            (
                "subject",
                required_text("Subject in the registry, of any naming strategy.", REPLACES),
            ),
            ("format", required_text("`FORMAT_AVRO` or `FORMAT_PROTOBUF`.", REPLACES)),
        ]);
        let schema = Attribute::required(schema, say("A subject of a Confluent schema registry.", REPLACES));
        Attribute::optional(AttributeType::single([("confluent_schema", schema)]), say(what, REPLACES))
    };
    let registry = AttributeType::single([
        (
            "uc_connection",
            optional_text(
                "Connection that holds the registry's address; by default the stream's own.",
                REPLACES,
            ),
        ),
        (
            "api_secret_ref",
            Attribute::optional(secret_ref(REPLACES), say("Secret of the registry's API key.", REPLACES)),
        ),
        ("payload_schema_locator", locator("Where the payload's schema is.")),
        ("key_schema_locator", locator("Where the key's schema is.")),
    ]);
    let config = AttributeType::single([
        (
            "direct_schemas",
            Attribute::optional(direct_schemas(), say("Schemas in the definition; at least one side.", UPDATES)),
        ),
        (
            "schema_registry_config",
            Attribute::optional(registry, say("Schemas by reference to a registry; at least one locator.", REPLACES)).replaces(),
        ),
    ]);
    let what = "How messages are decoded: exactly one of `direct_schemas`, `schema_registry_config`.";
    Attribute::required(config, say(what, "Changing the kind replaces the stream."))
}
