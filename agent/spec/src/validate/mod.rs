//! What makes a definition sound, as far as it can be said without a broker, a table or another definition.
//!
//! Names and exclusive choices are settled by the types; texts that need a language of their own (schemas,
//! record filters) are read by the modules that know it. Every violation names field, value and remedy.

mod columns;
mod connection;
mod governance;
mod schemas;
mod source;

#[cfg(test)]
mod tests;

pub use connection::connection;
pub use governance::{aws_iam_role, grants, secret_value_bytes, storage_location};

use crate::limits::{FLUSH_INTERVAL_MILLIS_MAX, FLUSH_INTERVAL_MILLIS_MIN, TAGS_MAX};
use crate::stream::{IngestionConfig, StreamOperations, StreamSpec};
use crate::violation::Violation;

/// Everything that is wrong with a stream's definition; empty when it is sound.
pub fn stream(stream: &StreamSpec) -> Vec<Violation> {
    let mut violations = Vec::new();
    source::check(&stream.source, &mut violations);
    connection::check_of_stream(stream, &mut violations);
    schemas::check(stream, &mut violations);
    check_ingestion(&stream.ingestion, &mut violations);
    columns::check(stream, &mut violations);
    columns::check_filter(stream, &mut violations);
    violations
}

/// Everything that is wrong with how a stream is to run.
pub fn operations(operations: &StreamOperations) -> Vec<Violation> {
    let range = u128::from(FLUSH_INTERVAL_MILLIS_MIN)..=u128::from(FLUSH_INTERVAL_MILLIS_MAX);
    let interval = operations.flush_interval;
    if range.contains(&interval.as_millis()) && interval.as_millis() * 1_000_000 == interval.as_nanos() {
        return Vec::new();
    }
    let remedy = "write whole milliseconds from `100ms` to `1h`";
    vec![Violation::new(
        "operations.flush_interval",
        &format!("{interval:?}"),
        "the interval is out of range",
        remedy,
    )]
}

fn check_ingestion(ingestion: &IngestionConfig, violations: &mut Vec<Violation>) {
    if ingestion.backfill_source.as_ref() == Some(&ingestion.destination) {
        violations.push(Violation::new(
            "ingestion_config.backfill_source.delta_table_name",
            ingestion.destination.as_str(),
            "the backfill source is the ingestion table itself",
            "name the table that holds the older rows",
        ));
    }
    if ingestion.tags.len() > TAGS_MAX {
        let found = format!("{} tags", ingestion.tags.len());
        let remedy = format!("keep at most {TAGS_MAX}");
        violations.push(Violation::new("ingestion_config.tags", &found, "there are too many tags", remedy));
    }
    if let Some(value) = ingestion.tags.get("") {
        violations.push(Violation::new(
            "ingestion_config.tags",
            value,
            "a tag has an empty key",
            "name the tag",
        ));
    }
    if ingestion.budget_policy_id.as_deref() == Some("") {
        violations.push(Violation::new(
            "ingestion_config.budget_policy_id",
            "",
            "the id is empty",
            "leave it out, or name a policy",
        ));
    }
}
