//! Log lines on stderr, in the form that Terraform takes apart: one JSON object a line, as Go's hclog writes it.
//!
//! Terraform shows them under TF_LOG or TF_LOG_PROVIDER. Invariant: one line is one write, so that lines of several threads
//! never mix; and nothing of a value's content is logged by this package.

use std::fmt;
use std::io::Write as _;

use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// Libraries whose own debug lines would drown a provider's.
const NOISY: [&str; 6] = ["h2", "hyper", "hyper_util", "rustls", "tonic", "tower"];

/// Logs for Terraform.
pub(crate) fn for_terraform(environment: impl Fn(&str) -> Option<String>) {
    let level = level(&environment).unwrap_or(LevelFilter::ERROR);
    // A second provider in one process keeps the first one's logging.
    drop(tracing_subscriber::registry().with(Lines.with_filter(targets(level))).try_init());
}

/// Logs for a person who started us by hand.
pub(crate) fn for_a_person(environment: impl Fn(&str) -> Option<String>) {
    let level = level(&environment).unwrap_or(LevelFilter::INFO);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_filter(targets(level));
    drop(tracing_subscriber::registry().with(lines).try_init());
}

fn targets(level: LevelFilter) -> Targets {
    NOISY.into_iter().fold(Targets::new().with_default(level), |targets, name| {
        targets.with_target(name, level.min(LevelFilter::WARN))
    })
}

/// The level that the user asked Terraform for.
fn level(environment: impl Fn(&str) -> Option<String>) -> Option<LevelFilter> {
    let asked = ["TF_LOG_PROVIDER", "TF_LOG"]
        .into_iter()
        .filter_map(environment)
        .find(|asked| !asked.is_empty())?;
    Some(match asked.to_ascii_uppercase().as_str() {
        "OFF" => LevelFilter::OFF,
        "ERROR" => LevelFilter::ERROR,
        "WARN" => LevelFilter::WARN,
        "INFO" => LevelFilter::INFO,
        "DEBUG" => LevelFilter::DEBUG,
        // TRACE, JSON, and whatever else Terraform takes for "everything".
        _ => LevelFilter::TRACE,
    })
}

/// Writes events as hclog's JSON lines.
struct Lines;

impl<Registry: Subscriber> Layer<Registry> for Lines {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, Registry>) {
        let mut line = line(event).to_string();
        line.push('\n');
        // Terraform may be gone; then nobody is left to tell.
        drop(std::io::stderr().lock().write_all(line.as_bytes()));
    }
}

fn line(event: &Event<'_>) -> Value {
    let metadata = event.metadata();
    let mut fields = Fields::default();
    event.record(&mut fields);
    let mut line = fields.named;
    line.insert("@level".to_owned(), json!(level_name(*metadata.level())));
    line.insert("@message".to_owned(), json!(fields.message));
    line.insert("@module".to_owned(), json!(metadata.target()));
    line.insert("@timestamp".to_owned(), json!(timestamp()));
    Value::Object(line)
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

fn timestamp() -> String {
    let mut text = String::new();
    match SystemTime.format_time(&mut Writer::new(&mut text)) {
        Ok(()) => text,
        Err(_) => String::new(),
    }
}

/// An event's message and fields.
#[derive(Default)]
struct Fields {
    message: String,
    named: Map<String, Value>,
}

impl Fields {
    fn put(&mut self, field: &Field, value: Value) {
        self.named.insert(field.name().to_owned(), value);
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        } else {
            self.put(field, json!(format!("{value:?}")));
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.message = value.to_owned();
        } else {
            self.put(field, json!(value));
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, json!(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, json!(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, json!(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_is_the_providers_own_or_else_terraforms() {
        let cases = [
            (None, None, None),
            (Some(""), Some("warn"), Some(LevelFilter::WARN)),
            (Some("DEBUG"), Some("ERROR"), Some(LevelFilter::DEBUG)),
            (None, Some("JSON"), Some(LevelFilter::TRACE)),
            (None, Some("off"), Some(LevelFilter::OFF)),
        ];
        for (provider, all, expected) in cases {
            let environment = |name: &str| match name {
                "TF_LOG_PROVIDER" => provider.map(str::to_owned),
                _ => all.map(str::to_owned),
            };
            assert_eq!(level(environment), expected, "{provider:?} {all:?}");
        }
    }

    #[test]
    fn a_line_is_one_json_object_with_the_events_fields() {
        use std::sync::{Arc, Mutex};

        struct Keep(Arc<Mutex<Vec<Value>>>);
        impl<Registry: Subscriber> Layer<Registry> for Keep {
            fn on_event(&self, event: &Event<'_>, _context: Context<'_, Registry>) {
                self.0.lock().unwrap().push(line(event));
            }
        }
        let lines = Arc::new(Mutex::new(Vec::new()));
        let subscriber = tracing_subscriber::registry().with(Keep(Arc::clone(&lines)));
        tracing::subscriber::with_default(subscriber, || tracing::warn!(count = 3_u64, name = "x", "something odd"));
        let lines = lines.lock().unwrap();
        assert_eq!(lines[0]["@level"], "warn");
        assert_eq!(lines[0]["@message"], "something odd");
        assert_eq!(lines[0]["count"], 3);
        assert_eq!(lines[0]["name"], "x");
        assert!(lines[0]["@timestamp"].as_str().unwrap().ends_with('Z'));
    }
}
