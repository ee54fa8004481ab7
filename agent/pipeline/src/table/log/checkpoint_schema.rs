//! The columns of the checkpoints that we write, and the one place that names them.
//!
//! Invariant: every action of `actions` fits, field by field, so a checkpoint and the entries it replaces say the same.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};

/// Fields of a checkpoint's row, one per kind of action.
pub(in crate::table) fn checkpoint_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        action("txn", vec![text("appId"), long("version"), long("lastUpdated")]),
        action(
            "add",
            vec![
                text("path"),
                text_map("partitionValues"),
                long("size"),
                long("modificationTime"),
                boolean("dataChange"),
                text("stats"),
                text_map("tags"),
                deletion_vector(),
            ],
        ),
        action(
            "remove",
            vec![
                text("path"),
                long("deletionTimestamp"),
                boolean("dataChange"),
                boolean("extendedFileMetadata"),
                text_map("partitionValues"),
                long("size"),
                deletion_vector(),
            ],
        ),
        action(
            "metaData",
            vec![
                text("id"),
                text("name"),
                text("description"),
                action("format", vec![text("provider"), text_map("options")]),
                text("schemaString"),
                text_list("partitionColumns"),
                text_map("configuration"),
                long("createdTime"),
            ],
        ),
        action(
            "protocol",
            vec![
                int("minReaderVersion"),
                int("minWriterVersion"),
                text_list("readerFeatures"),
                text_list("writerFeatures"),
            ],
        ),
    ]))
}

fn action(name: &str, fields: Vec<Field>) -> Field {
    Field::new(name, DataType::Struct(Fields::from(fields)), true)
}

fn text(name: &str) -> Field {
    Field::new(name, DataType::Utf8, true)
}

fn long(name: &str) -> Field {
    Field::new(name, DataType::Int64, true)
}

fn int(name: &str) -> Field {
    Field::new(name, DataType::Int32, true)
}

fn boolean(name: &str) -> Field {
    Field::new(name, DataType::Boolean, true)
}

fn text_list(name: &str) -> Field {
    Field::new(name, DataType::List(Arc::new(Field::new("element", DataType::Utf8, true))), true)
}

fn text_map(name: &str) -> Field {
    let entries = DataType::Struct(Fields::from(vec![
        Field::new("key", DataType::Utf8, false),
        Field::new("value", DataType::Utf8, true),
    ]));
    Field::new(name, DataType::Map(Arc::new(Field::new("key_value", entries, false)), false), true)
}

fn deletion_vector() -> Field {
    let fields = vec![
        text("storageType"),
        text("pathOrInlineDv"),
        int("offset"),
        int("sizeInBytes"),
        long("cardinality"),
    ];
    action("deletionVector", fields)
}
