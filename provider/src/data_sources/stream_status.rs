//! A stream's volatile status as attributes: conditions, table, partitions, schema versions, misfits, backfill. Only data sources show
//! it; in a resource it would make every plan differ.

use featurestore_proto::v1;
use tfplugin::schema::attribute::{Attribute, AttributeType};
use tfplugin::value::Value;
use tfplugin::value::types::Type;

use crate::resources::stream::answer::{direct_schemas, duration_text, text_or_null, time};

fn text(what: &str) -> Attribute {
    Attribute::computed(Type::String, what)
}

fn number(what: &str) -> Attribute {
    Attribute::computed(Type::Number, what)
}

/// The attribute `status`.
pub(super) fn attribute() -> Attribute {
    let schema_side = || {
        let proto = AttributeType::single([
            ("schema_text", text("Text of a `.proto` file.")),
            ("message_name", text("Name of the message in it.")),
        ]);
        let forms = AttributeType::single([
            ("json_schema", text("JSON Schema.")),
            ("avro_schema", text("Avro schema.")),
            ("proto_schema", Attribute::computed(proto, "Protocol Buffers schema.")),
        ]);
        Attribute::computed(forms, "Schema of one side.")
    };
    let schemas = AttributeType::single([("key_schema", schema_side()), ("payload_schema", schema_side())]);
    let status = AttributeType::single([
        ("generation", number("Counts changes of the definition, from 1.")),
        ("observed_generation", number("The definition that the running pipeline follows.")),
        ("operations_generation", number("Counts changes of the operations, from 1.")),
        (
            "conditions",
            Attribute::computed(conditions(), "What is as it should be, and what is not."),
        ),
        ("table", Attribute::computed(table(), "The ingestion table.")),
        (
            "partitions",
            Attribute::computed(partitions(), "Position, end and lag of each partition or shard."),
        ),
        (
            "schema_versions",
            Attribute::computed(
                AttributeType::list([
                    ("number", number("From 1.")),
                    (
                        "schemas",
                        Attribute::computed(
                            schemas,
                            "The schemas; null for old versions whose texts would make the answer too large.",
                        ),
                    ),
                    ("accept_time", text("When it was accepted, RFC 3339.")),
                    ("accepted_by", text("Who sent it.")),
                    ("digest", text("SHA-256 of the normal form.")),
                    (
                        "first_positions",
                        Attribute::computed(
                            source_positions(),
                            "The first record of each partition that was read by it, of the first 200 partitions; the version before it \
                             ended there. Empty while it is not in force, for one that never was, because a later one came \
                             first, and where an older agent did not write it down.",
                        ),
                    ),
                ]),
                "Every schema that was ever accepted, oldest first.",
            ),
        ),
        (
            "misfits",
            Attribute::computed(
                misfits(),
                "Messages that did not fit their schemas since the pipeline started, by side and reason; only what was met. The count \
                 begins anew when the agent starts.",
            ),
        ),
        (
            "records_filtered",
            number("Records that `record_type_filter` did not keep since the pipeline started."),
        ),
        (
            "registry_subjects",
            Attribute::computed(
                AttributeType::list([
                    ("side", text("Column of the table: `key` or `value`.")),
                    ("subject", text("Subject in the schema registry.")),
                    ("version", number("Version in force; null before there is one.")),
                    ("schema_id", number("Id of its schema.")),
                    (
                        "latest_version",
                        number("Latest version, as the registry told it when the stream started last; null where it did not."),
                    ),
                    ("latest_schema_id", number("Id of its schema.")),
                ]),
                "Subjects of the stream's schema registry with their versions; empty without one. A later version comes into force when the \
                 stream starts again, every few hours, if the table can take it.",
            ),
        ),
        (
            "backfill",
            Attribute::computed(
                AttributeType::single([
                    ("state", text("What the backfill does.")),
                    ("rows_copied", number("Rows copied so far.")),
                    ("rows_skipped", number("Rows left out as duplicates.")),
                ]),
                "Progress of the backfill; null without one.",
            ),
        ),
    ]);
    Attribute::computed(status, "What the stream does at the moment.")
}

/// Why messages do not fit, as the agent names it, and what that means.
const MISFIT_REASONS: [(&str, &str); 13] = [
    ("empty", "there was nothing where a value was wanted"),
    ("malformed", "the message is not well-formed"),
    (
        "beyond_limit",
        "it is beyond a limit of the format's reader, such as its depth or a length",
    ),
    ("wrong_kind", "a value is of another kind than its field"),
    ("out_of_range", "a number does not fit its column"),
    ("unreadable_text", "a text is no value of its column's type"),
    ("missing_field", "a field that its schema requires is not there"),
    ("unknown_symbol", "a value is none of its closed enum"),
    (
        "not_framed",
        "nothing in the message says by which schema of the registry it was written",
    ),
    (
        "named_by_guid",
        "a GUID, in a header or before the message, and no id says by which schema it was written",
    ),
    ("unknown_schema", "the registry does not have the schema that the message names"),
    ("other_subject", "the schema that the message names is none of the stream's subject"),
    (
        "unresolved_schema",
        "the schema that the message names does not resolve to the one that is in force",
    ),
];

fn misfits() -> AttributeType {
    let reasons: Vec<String> = MISFIT_REASONS
        .iter()
        .map(|(name, meaning)| format!("`{name}`: {meaning}."))
        .collect();
    let reason = format!("Why something of the messages is null. {}", reasons.join(" "));
    AttributeType::list([
        ("side", text("Column of the table: `key` or `value`.")),
        ("reason", text(&reason)),
        ("count", number("Messages, each under the first reason that was met in it.")),
        (
            "positions",
            Attribute::computed(
                source_positions(),
                "Where the latest three of them are in the source, oldest first.",
            ),
        ),
    ])
}

fn source_positions() -> AttributeType {
    AttributeType::list([
        ("topic", text("Kafka topic.")),
        ("partition", number("Kafka partition.")),
        ("offset", number("Kafka offset.")),
        (
            "epoch",
            number("Which of the partition's histories the offset belongs to, from 0; see `partitions` and `last_loss`."),
        ),
    ])
}

fn conditions() -> AttributeType {
    AttributeType::list([
        ("type", text("What it is about, such as `SourceReachable`.")),
        ("status", text("`TRUE`, `FALSE` or `UNKNOWN`.")),
        ("reason", text("One word for machines.")),
        ("message", text("What is wrong and what to do.")),
        ("since", text("When the status last changed, RFC 3339.")),
    ])
}

fn table() -> AttributeType {
    AttributeType::single([
        ("delta_table_name", text("Name in three parts.")),
        ("location", text("Folder or URL.")),
        ("version", number("Delta version last seen; null before the first commit.")),
        ("rows", number("Rows in the table.")),
        ("bytes", number("Bytes of its data files.")),
        ("files", number("Its data files.")),
        ("create_time", text("Time of version 0, RFC 3339.")),
        ("trash_retention", text("How long it can be restored after it was deleted.")),
        (
            "columns",
            Attribute::computed(
                AttributeType::list([("name", text("Column name.")), ("type", text("Type in Spark SQL's spelling."))]),
                "Its columns, in order.",
            ),
        ),
    ])
}

fn partitions() -> AttributeType {
    AttributeType::list([
        ("topic", text("Kafka topic or Kinesis stream.")),
        ("partition", number("Kafka partition.")),
        ("shard_id", text("Kinesis shard.")),
        (
            "position",
            number("Next offset that will be read; everything before it is in the table."),
        ),
        ("end", number("End of the partition as last seen.")),
        ("lag", number("End minus position.")),
        ("held", text("Why the partition does not move, where it does not.")),
        (
            "last_loss",
            Attribute::computed(
                AttributeType::single([
                    (
                        "cause",
                        text(
                            "`expired`: the records were deleted before they were read. `truncated`: the log was cut before the position. \
                             `recreated`: the topic was deleted and created again. `deleted`: a topic of a pattern was deleted, and what it \
                             had last may not have been read.",
                        ),
                    ),
                    ("from", number("The offset that was to be read next.")),
                    (
                        "to",
                        number("The offset that was read next instead; below `from` where another history begins there."),
                    ),
                    (
                        "epoch",
                        number("Counts the histories that the partition's rows are from, from 0; from then on this one."),
                    ),
                ]),
                "What `operations.on_data_loss` passed over last; null if nothing. The table's history has all of it.",
            ),
        ),
    ])
}

/// The value of `status`.
pub(super) fn value(status: &v1::StreamStatus) -> Value {
    Value::object([
        ("generation", Value::from(status.generation)),
        ("observed_generation", Value::from(status.observed_generation)),
        ("operations_generation", Value::from(status.operations_generation)),
        ("conditions", Value::List(status.conditions.iter().map(condition).collect())),
        ("table", status.table.as_ref().map_or(Value::Null, table_value)),
        ("partitions", Value::List(status.partitions.iter().map(partition).collect())),
        (
            "schema_versions",
            Value::List(status.schema_versions.iter().map(schema_version).collect()),
        ),
        ("misfits", Value::List(status.misfits.iter().map(misfit).collect())),
        ("records_filtered", Value::from(status.records_filtered)),
        (
            "registry_subjects",
            Value::List(status.registry_subjects.iter().map(registry_subject).collect()),
        ),
        ("backfill", status.backfill.as_ref().map_or(Value::Null, backfill)),
    ])
}

fn condition(condition: &v1::Condition) -> Value {
    Value::object([
        ("type", Value::string(&condition.r#type)),
        (
            "status",
            Value::string(condition.status().as_str_name().trim_start_matches("CONDITION_STATUS_")),
        ),
        ("reason", Value::string(&condition.reason)),
        ("message", Value::string(&condition.message)),
        ("since", time(condition.since.as_ref())),
    ])
}

fn table_value(table: &v1::TableStatus) -> Value {
    let column = |column: &v1::TableColumn| Value::object([("name", Value::string(&column.name)), ("type", Value::string(&column.r#type))]);
    Value::object([
        ("delta_table_name", Value::string(&table.delta_table_name)),
        ("location", Value::string(&table.location)),
        ("version", Value::from(table.version)),
        ("rows", Value::from(table.rows)),
        ("bytes", Value::from(table.bytes)),
        ("files", Value::from(table.files)),
        ("create_time", time(table.create_time.as_ref())),
        ("trash_retention", duration_text(table.trash_retention.as_ref())),
        ("columns", Value::List(table.columns.iter().map(column).collect())),
    ])
}

fn partition(partition: &v1::PartitionStatus) -> Value {
    Value::object([
        ("topic", Value::string(&partition.topic)),
        ("partition", Value::from(i64::from(partition.partition))),
        ("shard_id", text_or_null(&partition.shard_id)),
        ("position", Value::from(partition.position)),
        ("end", Value::from(partition.end)),
        ("lag", Value::from(partition.lag)),
        ("held", text_or_null(&partition.held)),
        ("last_loss", partition.last_loss.as_ref().map_or(Value::Null, loss)),
    ])
}

fn loss(loss: &v1::PartitionLoss) -> Value {
    Value::object([
        ("cause", Value::string(&loss.cause)),
        ("from", Value::from(loss.from)),
        ("to", Value::from(loss.to)),
        ("epoch", Value::from(i64::from(loss.epoch))),
    ])
}

fn schema_version(version: &v1::SchemaVersion) -> Value {
    Value::object([
        ("number", Value::from(version.number)),
        ("schemas", version.schemas.as_ref().map_or(Value::Null, direct_schemas)),
        ("accept_time", time(version.accept_time.as_ref())),
        ("accepted_by", text_or_null(&version.accepted_by)),
        ("digest", text_or_null(&version.digest)),
        (
            "first_positions",
            Value::List(version.first_positions.iter().map(source_position).collect()),
        ),
    ])
}

fn misfit(misfits: &v1::Misfits) -> Value {
    Value::object([
        ("side", Value::string(&misfits.side)),
        ("reason", Value::string(&misfits.reason)),
        ("count", Value::from(misfits.count)),
        ("positions", Value::List(misfits.positions.iter().map(source_position).collect())),
    ])
}

fn registry_subject(subject: &v1::RegistrySubject) -> Value {
    let number = |number: Option<i64>| Value::from(number);
    Value::object([
        ("side", Value::string(&subject.side)),
        ("subject", Value::string(&subject.subject)),
        ("version", number(subject.version.map(Into::into))),
        ("schema_id", number(subject.schema_id.map(Into::into))),
        ("latest_version", number(subject.latest_version.map(Into::into))),
        ("latest_schema_id", number(subject.latest_schema_id.map(Into::into))),
    ])
}

fn source_position(position: &v1::SourcePosition) -> Value {
    Value::object([
        ("topic", Value::string(&position.topic)),
        ("partition", Value::from(i64::from(position.partition))),
        ("offset", Value::from(position.offset)),
        ("epoch", Value::from(i64::from(position.epoch))),
    ])
}

fn backfill(backfill: &v1::BackfillStatus) -> Value {
    Value::object([
        ("state", Value::string(&backfill.state)),
        ("rows_copied", Value::from(backfill.rows_copied)),
        ("rows_skipped", Value::from(backfill.rows_skipped)),
    ])
}
