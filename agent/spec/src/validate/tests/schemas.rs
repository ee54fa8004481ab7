//! Direct schemas, registry subjects, and paths into what they describe.

use super::*;

#[test]
fn schemas_are_parsed_or_at_least_there() {
    let field = "schema_config.direct_schemas";
    let json = |text: &str| Some(SchemaText::Json(text.into()));
    let proto = |schema_text: &str, message_name: &str| {
        Some(SchemaText::Proto {
            schema_text: schema_text.into(),
            message_name: message_name.into(),
        })
    };
    check(direct(None, None), &[&format!("{field}: neither side has a schema")]);
    check(
        direct(json("{"), None),
        &[&format!("{field}.key_schema.json_schema: the schema is not JSON")],
    );
    check(
        direct(None, json(r#"{"type":"array"}"#)),
        &[&format!(
            "{field}.payload_schema.json_schema: the root is an array at the root (found ARRAY)"
        )],
    );
    let avro = |text: &str| Some(SchemaText::Avro(text.into()));
    check(direct(None, avro(r#"{"type":"enum","name":"E","symbols":["A"]}"#)), &[]);
    check(direct(avro(r#"["null","string"]"#), None), &[]);
    check(
        direct(None, avro(r#"["string","int"]"#)),
        &[&format!(
            "{field}.payload_schema.avro_schema: the root is a union of anything but null and one value at the root (found \"union\")"
        )],
    );
    check(direct(proto("message A { optional int32 x = 1; }", "A"), None), &[]);
    check(
        direct(proto("package p;\nmessage A { optional fixed32 x = 1; }", "p.A"), None),
        &[&format!(
            "{field}.key_schema.proto_schema: the type fixed32 is not supported at `2:13` (found p.A.x); declare it sfixed32"
        )],
    );
    check(
        direct(proto("package p; message A {}", "A"), None),
        &[&format!(
            "{field}.key_schema.proto_schema: the message name `A` is not fully qualified"
        )],
    );
    let empty = format!("{field}.key_schema.proto_schema");
    check(
        direct(proto("", ""), None),
        &[
            &format!("{empty}.schema_text: the text is empty"),
            &format!("{empty}.message_name: the text is empty"),
        ],
    );
}

#[test]
fn a_registry_is_for_avro_and_protobuf() {
    let field = "schema_config.schema_registry_config";
    let with = |registry: SchemaRegistryConfig| move |stream: &mut StreamSpec| stream.schemas = SchemaConfig::Registry(registry);
    let format = format!("{field}.payload_schema_locator.confluent_schema.format: the format is not supported");
    check(
        with(registry("FORMAT_JSON")),
        &[&format!("{format} (found \"FORMAT_JSON\"); declare the JSON schema inline")],
    );
    check(
        with(registry("avro")),
        &[&format!("{format} (found \"avro\"); write `FORMAT_AVRO` or `FORMAT_PROTOBUF`")],
    );
    check(
        with(SchemaRegistryConfig {
            payload: None,
            ..registry("")
        }),
        &[&format!("{field}: neither side has a subject")],
    );
    let subject = SchemaLocator {
        subject: "".into(),
        format: "FORMAT_AVRO".into(),
    };
    check(
        with(SchemaRegistryConfig {
            payload: None,
            key: Some(subject),
            ..registry("")
        }),
        &[&format!("{field}.key_schema_locator.confluent_schema.subject: the text is empty")],
    );
    check(
        |stream| {
            stream.connection = ConnectionConfig::DirectMtls(mtls());
            stream.schemas = SchemaConfig::Registry(registry("FORMAT_AVRO"));
        },
        &[&format!(
            "{field}.uc_connection: with direct mTLS nothing says where the registry is"
        )],
    );
    // Its fields are not known before it is asked; a path may come before its field.
    check(
        |stream| {
            stream.schemas = SchemaConfig::Registry(registry("FORMAT_AVRO"));
            stream.excluded_columns = set(&["value.secret"]);
            stream.ingestion.deduplication_columns = set(&["value.id"]);
        },
        &[],
    );
}

#[test]
fn paths_exist_and_do_not_collide() {
    let with = |excluded: &[&str], deduplication: &[&str]| {
        let (excluded, deduplication) = (set(excluded), set(deduplication));
        move |stream: &mut StreamSpec| {
            stream.excluded_columns = excluded;
            stream.ingestion.deduplication_columns = deduplication;
        }
    };
    let field = "ingestion_config.deduplication_columns";
    check(
        with(&["value.idd"], &[]),
        &["excluded_columns: `value` has no field `idd` (found \"value.idd\"); did you mean `id`?"],
    );
    check(
        with(&["key.id"], &[]),
        &["excluded_columns: `key` is STRING, which has no field `id`"],
    );
    check(with(&["value"], &[]), &["excluded_columns: the path names the whole value"]);
    check(with(&["offset"], &[]), &["excluded_columns: the path starts with `offset`"]);
    check(
        with(&["value.n.x", "value.n.y"], &[]),
        &["excluded_columns: nothing is left of `value.n`"],
    );
    check(with(&[], &["value.m"]), &[&format!("{field}: `value` has no field `m`")]);
    check(
        with(&[], &["kinesis_shard_id"]),
        &[&format!("{field}: the table has no field `kinesis_shard_id`")],
    );
    check(with(&[], &["value..id"]), &[&format!("{field}: the path has an empty part")]);
    for (excluded, deduplication) in [
        ("value.n", "value.n"),
        ("value.n", "value.n.x"),
        ("value.n.x", "value.n"),
        ("value.n.x", "value"),
    ] {
        check(
            with(&[excluded], &[deduplication]),
            &[&format!(
                "excluded_columns: the path overlaps the deduplication column `{deduplication}`"
            )],
        );
    }
}
