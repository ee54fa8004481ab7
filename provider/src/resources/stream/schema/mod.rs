//! The stream resource's attributes: what each one is, who sets it, what a change of it costs, and when two values of it
//! mean the same. The plan follows from these declarations and from `plan`; nothing else decides an action.

mod decoding;
mod source;

use tfplugin::schema::Schema;
use tfplugin::schema::attribute::{Attribute, AttributeType};
use tfplugin::value::Value;
use tfplugin::value::types::Type;

pub(crate) use self::decoding::direct_schemas;
use self::decoding::schema_config;
use self::source::{connection_config, source_config};
use super::equality;
use crate::duration;
use crate::resources::say;

const REPLACES: &str = "Changing it replaces the stream: its table is deleted and a new one starts as a first one does.";
const UPDATES: &str = "Changes in place when the new schema is backward compatible; otherwise the plan fails with the offending \
    paths, or replaces the stream with `schema_update_policy = \"replace\"`.";
const RUNS: &str = "Changes in place; it replaces nothing and touches no data.";
const OWN: &str = "A setting of the provider's own: it changes in place, without a call to the agent.";
const SET_BY_AGENT: &str = "Set by the agent.";

/// The resource's schema.
pub(crate) fn schema() -> Schema {
    let mut attributes = definition();
    attributes.extend(own_settings());
    attributes.extend(set_by_agent());
    Schema::new(
        "A governed stream: a Kafka or Kinesis source whose messages a managed pipeline appends to one Delta table, each \
         record exactly once. Creating it starts the pipeline at the source's current end, or where a Kafka source's `startingOffsets` says; destroying it deletes pipeline \
         and table, unless `on_destroy = \"retain\"`.",
        attributes,
    )
    .keeping(equality::keep_filter_form)
}

/// What the user declares about the stream itself, and how it runs.
pub(crate) fn definition() -> Vec<(&'static str, Attribute)> {
    vec![
        (
            "name",
            Attribute::required(
                Type::String,
                say(
                    "Name in three parts, `catalog.schema.stream`, each of lower-case letters, digits and `_`.",
                    REPLACES,
                ),
            )
            .replaces(),
        ),
        (
            "description",
            Attribute::optional(Type::String, say("What the stream is for. Null is not `\"\"`.", REPLACES)).replaces(),
        ),
        ("source_config", source_config()),
        ("connection_config", connection_config()),
        ("schema_config", schema_config()),
        ("ingestion_config", ingestion_config()),
        (
            "record_type_filter",
            Attribute::optional(
                Type::String,
                say(
                    "SQL predicate over the decoded record and the source's metadata columns, such as `value.event_type = \
                     'transaction'`. A record is kept only where it is true.",
                    REPLACES,
                ),
            )
            .equal_text_by(equality::same_predicate)
            .replaces(),
        ),
        (
            "excluded_columns",
            Attribute::optional(
                Type::set(Type::String),
                say(
                    "Paths `key.…` or `value.…` that are not ingested; the path of a struct leaves out all of it.",
                    "Changes in place and forward only: rows already in the table keep what they have, new rows have null there.",
                ),
            )
            .null_is_empty(),
        ),
        ("operations", operations()),
    ]
}

fn ingestion_config() -> Attribute {
    let table = |what: &'static str| AttributeType::single([("delta_table_name", required_text(what, REPLACES).replaces())]);
    let config = AttributeType::single([
        (
            "ingestion_destination",
            Attribute::required(
                table("Table in three parts, `catalog.schema.table`, that must not exist yet."),
                say("The table that rows go to; it lives and dies with the stream.", REPLACES),
            ),
        ),
        (
            "backfill_source",
            Attribute::optional(
                table("Table in three parts, `catalog.schema.table`."),
                say(
                    "Table whose rows are copied in once, marked `record_source = 'backfill'`.",
                    REPLACES,
                ),
            )
            .replaces(),
        ),
        (
            "deduplication_columns",
            Attribute::optional(
                Type::set(Type::String),
                say(
                    "Paths that identify a record, so that a backfill row whose twin the stream delivered is left out: best a \
                     unique id, else partition and offset.",
                    REPLACES,
                ),
            )
            .null_is_empty()
            .replaces(),
        ),
        (
            "tags",
            Attribute::optional(Type::map(Type::String), say("Cost labels, at most 25.", REPLACES))
                .null_is_empty()
                .replaces(),
        ),
        ("budget_policy_id", optional_text("Cost label.", REPLACES).replaces()),
        ("ingestion_pipeline_id", by_agent(Type::String, "Id of the pipeline.")),
        ("ingestion_job_id", by_agent(Type::Number, "Id of the ingestion job.")),
        (
            "backfill_job_id",
            by_agent(Type::Number, "Id of the backfill job, where there is a backfill."),
        ),
    ]);
    Attribute::required(config, say("Where rows go, and what goes with them.", REPLACES))
}

fn operations() -> Attribute {
    let settings = AttributeType::single([
        (
            "paused",
            Attribute::optional_computed(Type::Bool, say("True reads no records. Default `false`.", RUNS)).default(false),
        ),
        (
            "flush_interval",
            Attribute::optional_computed(
                Type::String,
                say(
                    "Rows become visible at most this long after they were fetched, `100ms` to `1h`. Default `1s`.",
                    RUNS,
                ),
            )
            .equal_text_by(duration::same)
            .default("1s"),
        ),
        (
            "on_data_loss",
            Attribute::optional_computed(
                Type::String,
                say(
                    "What to do when records are gone before they were read, when a partition's log was cut before the \
                     position, and when the topic was deleted and created again: `fail` (default) holds the partition, or \
                     the topic, and a condition says what is wanted and what is there; `earliest` goes on at the first \
                     record that is not in the table, as far as that can be told; `latest` goes on at the end. Neither \
                     reads a record again whose row is in the table. What was passed over is in the commit that moved the \
                     position and in the data source's `status`.",
                    RUNS,
                ),
            )
            .default("fail"),
        ),
    ]);
    let default = Value::object([
        ("paused", Value::Bool(false)),
        ("flush_interval", Value::string("1s")),
        ("on_data_loss", Value::string("fail")),
    ]);
    Attribute::optional_computed(settings, say("How the stream runs; no part of what it is.", RUNS)).default(default)
}

/// Settings that the provider keeps for itself.
fn own_settings() -> Vec<(&'static str, Attribute)> {
    let own = |what: &str| Attribute::optional_computed(Type::String, say(what, OWN)).stands_alone();
    let timeout = |what: &'static str| optional_text(what, OWN).equal_text_by(duration::same).stands_alone();
    let timeouts = AttributeType::single([
        (
            "create",
            timeout("How long a create waits until records flow. Default `60s`; the stream goes on starting after that."),
        ),
        (
            "update",
            timeout("How long an update waits until the new definition is in force. Default `2m`."),
        ),
        (
            "delete",
            timeout("How long a destroy waits until pipeline and table are gone. Default `5m`."),
        ),
    ]);
    vec![
        (
            "schema_update_policy",
            own(
                "What a schema change that is not backward compatible does: `reject` (default) fails the plan, `replace` plans \
                 a new stream.",
            )
            .default("reject"),
        ),
        (
            "on_destroy",
            own("What becomes of the table when the stream is destroyed or replaced: `delete` (default) or `retain`.").default("delete"),
        ),
        (
            "deletion_protection",
            Attribute::optional_computed(
                Type::Bool,
                say("True refuses to destroy or replace the stream. Default `false`.", OWN),
            )
            .default(false)
            .stands_alone(),
        ),
        (
            "timeouts",
            Attribute::optional(timeouts, say("How long to wait.", OWN)).stands_alone(),
        ),
    ]
}

/// What only the agent sets.
pub(crate) fn set_by_agent() -> Vec<(&'static str, Attribute)> {
    vec![
        (
            "id",
            by_agent(
                Type::String,
                "The stream's uid: another one after it was deleted and created again.",
            ),
        ),
        ("create_time", by_agent(Type::String, "When the stream was created, RFC 3339.")),
        ("created_by", by_agent(Type::String, "Who created it.")),
        (
            "update_time",
            Attribute::computed(Type::String, say("When it was last changed, RFC 3339.", SET_BY_AGENT)),
        ),
        (
            "updated_by",
            Attribute::computed(Type::String, say("Who last changed it.", SET_BY_AGENT)),
        ),
        (
            "state",
            Attribute::computed(
                Type::String,
                say(
                    "`PROVISIONING`, `ACTIVE`, `DEGRADED`, `FAILED`, `TABLE_ALTERED`, `TABLE_GONE`, `PAUSED` or `DELETING`.",
                    "Planned as unknown where an apply repairs it: when it is `FAILED` or `TABLE_ALTERED`. `TABLE_GONE` replaces \
                     the stream.",
                ),
            ),
        ),
    ]
}

/// `{ scope, key }`.
pub(crate) fn secret_ref(cost: &'static str) -> AttributeType {
    AttributeType::single([
        ("scope", required_text("Secret scope.", cost)),
        ("key", required_text("Key in the scope.", cost)),
    ])
}

fn required_text(what: &str, cost: &str) -> Attribute {
    Attribute::required(Type::String, say(what, cost))
}

fn optional_text(what: &str, cost: &str) -> Attribute {
    Attribute::optional(Type::String, say(what, cost))
}

fn by_agent(value_type: Type, what: &str) -> Attribute {
    Attribute::computed(value_type, say(what, SET_BY_AGENT)).computed_keeps_prior()
}
