//! The words of a plan and of what came of it: what is lost, what stays, what is not as it should be. Pure.

use std::time::Duration;

use featurestore_proto::v1;
use stream_spec::verdict::Finding;
use tfplugin::value::Value;

use super::answer::state_name;
use crate::client::calls::StreamRecord;
use crate::client::diagnostics::sentence;
use crate::limits::CONDITIONS_SHOWN_MAX;

/// The option that says where a Kafka stream starts.
const STARTING_OFFSETS_PATH: &str = "source_config.kafka_stream_config.extra_options.startingOffsets";

/// What a table holds: `1,234 rows (12 files, 3.4 MB, Delta version 57) since 2026-11-30T20:00:00Z`.
pub(super) fn figures(table: &v1::TableStatus) -> String {
    let mut text = format!("{} row{}", grouped(table.rows), if table.rows == 1 { "" } else { "s" });
    let mut parts = vec![
        format!("{} file{}", grouped(table.files), if table.files == 1 { "" } else { "s" }),
        size(table.bytes),
    ];
    if let Some(version) = table.version {
        parts.push(format!("Delta version {version}"));
    }
    text.push_str(&format!(" ({})", parts.join(", ")));
    if let Some(since) = &table.create_time {
        text.push_str(&format!(" since {since}"));
    }
    text
}

/// What becomes of a deleted table.
pub(super) fn trash(table: &v1::TableStatus) -> String {
    let Some(retention) = table.trash_retention.and_then(|retention| Duration::try_from(retention).ok()) else {
        return "The agent does not say whether a deleted table can be restored.".to_owned();
    };
    match retention.as_secs() {
        0 => "The agent keeps no trash: a deleted table cannot be restored.".to_owned(),
        seconds if seconds % 86_400 == 0 => {
            let days = seconds / 86_400;
            format!(
                "A deleted table can be restored from the agent's trash for {days} day{}.",
                if days == 1 { "" } else { "s" }
            )
        }
        _ => format!(
            "A deleted table can be restored from the agent's trash for {}.",
            crate::duration::format(retention)
        ),
    }
}

/// Where a new stream starts, as in "it starts …".
pub(super) fn start(planned: &Value) -> &'static str {
    match planned.dig(STARTING_OFFSETS_PATH) {
        Value::Null => "at the source's current end",
        _ => "where `startingOffsets` says",
    }
}

/// What Terraform makes of a change that the plan took for one in place and that turns out to replace the stream.
pub(super) fn late_replacement(planned: &Value) -> &'static str {
    match planned.get("schema_update_policy").as_str() {
        Some("replace") => {
            " With `schema_update_policy = \"replace\"` Terraform words that as \"Provider produced inconsistent final plan\" and a bug \
             of the provider. It is none: a plan that was approved as an update must not become a replacement. Nothing is changed \
             then either, and the next plan shows the replacement."
        }
        _ => "",
    }
}

/// A table in a sentence, or that nothing is known of it.
pub(super) fn table(name: &str, status: Option<&v1::TableStatus>) -> String {
    match status {
        Some(table) if table.version.is_none() => format!("`{name}` does not exist yet."),
        Some(table) => format!("`{name}` holds {}.", figures(table)),
        None => format!("How much `{name}` holds is not known."),
    }
}

/// One line per path of a verdict, then the remedies, each once.
pub(super) fn findings(findings: &[&Finding]) -> String {
    let mut text: String = findings
        .iter()
        .map(|finding| format!("  {}: {}\n", finding.path, finding.text))
        .collect();
    let mut remedies: Vec<&str> = Vec::new();
    for finding in findings {
        if !finding.remedy.is_empty() && !remedies.contains(&finding.remedy.as_str()) {
            remedies.push(&finding.remedy);
        }
    }
    for remedy in remedies {
        text.push('\n');
        text.push_str(&sentence(remedy));
    }
    text
}

/// The state of a stream and every condition that is not as it should be, for people.
pub(super) fn condition(record: &StreamRecord) -> String {
    let mut text = format!("The stream is {}.", state_name(record.status.state()));
    let bad = record
        .status
        .conditions
        .iter()
        .filter(|it| it.status() != v1::ConditionStatus::True && !it.message.is_empty());
    let mut bad = bad.take(CONDITIONS_SHOWN_MAX).peekable();
    if bad.peek().is_none() && record.status.state() == v1::StreamState::Provisioning {
        text.push_str(" The agent has not said yet what it waits for.");
    }
    for condition in bad {
        text.push_str(&format!("\n  {} ({}): {}", condition.r#type, condition.reason, condition.message));
    }
    text
}

/// `1,234,567`.
fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::from(if number < 0 { "-" } else { "" });
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `3.4 MB`, in powers of ten.
fn size(bytes: i64) -> String {
    const UNITS: [(&str, i64); 4] = [("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    match UNITS.iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert!(super::table("a.b.c", Some(&v1::TableStatus::default())).contains("does not exist yet"));
        let table = v1::TableStatus {
            rows: 1_234_567,
            files: 1,
            bytes: 3_456_789,
            version: Some(57),
            ..Default::default()
        };
        assert_eq!(figures(&table), "1,234,567 rows (1 file, 3.4 MB, Delta version 57)");
        let empty = v1::TableStatus {
            rows: 1,
            ..Default::default()
        };
        assert_eq!(figures(&empty), "1 row (0 files, 0 bytes)");
        let kept = |seconds| {
            let trash_retention = Some(prost_types::Duration { seconds, nanos: 0 });
            trash(&v1::TableStatus {
                trash_retention,
                ..Default::default()
            })
        };
        assert!(kept(7 * 86_400).contains("7 days"));
        assert!(kept(0).contains("cannot be restored"));
        assert!(kept(90).contains("1m30s"));
        assert!(trash(&v1::TableStatus::default()).contains("does not say"));
        assert!(
            super::table("a.b.c", None).ends_with("is not known."),
            "who was not asked did not fail to answer"
        );
    }
}
