//! The table properties that we write and read: whose table it is, what is in force, how long history is.
//!
//! Invariant: a property that other writers added stays; one of ours is changed by us alone.

use std::collections::BTreeMap;
use std::time::Duration;

use super::SourceIdentity;
use super::limits::DELETED_FILE_RETENTION;
use super::schema::Places;

const STREAM_UID: &str = "featurestore.stream_uid";
const GENERATION: &str = "featurestore.generation";
const CLUSTER_ID: &str = "featurestore.cluster_id";
const TOPIC_IDS: &str = "featurestore.topic_ids";
/// Topics of a pattern that were deleted and of which nothing is waited for; not there when there are none.
const DEPARTED_TOPICS: &str = "featurestore.departed_topics";
/// How many of them there are no more ids of; not there when there are none.
const FORGOTTEN_TOPICS: &str = "featurestore.forgotten_topics";
/// Ids of topics that were created again, before that; not there when there are none.
const FORMER_TOPIC_IDS: &str = "featurestore.former_topic_ids";
/// INT columns whose values are decoded as BIGINT and whose files are being rewritten; not there when there are none.
const WIDENING: &str = "featurestore.widening";

/// How long a VACUUM leaves files alone that are not in the table.
const DELETED_FILE_RETENTION_PROPERTY: &str = "delta.deletedFileRetentionDuration";
/// Drops transactions, and with them positions, at a checkpoint.
const TXN_RETENTION: &str = "delta.setTransactionRetentionDuration";
const COLUMN_MAPPING: &str = "delta.columnMapping.mode";
const CONSTRAINT_PREFIX: &str = "delta.constraints.";

/// The properties of a new table.
pub(super) fn of_new_table(uid: &str, generation: u64, source: &SourceIdentity, history: Duration) -> BTreeMap<String, String> {
    let interval = format!("interval {} seconds", history.as_secs());
    let mut properties = BTreeMap::from([
        (STREAM_UID.to_owned(), uid.to_owned()),
        ("delta.logRetentionDuration".to_owned(), interval.clone()),
        (DELETED_FILE_RETENTION_PROPERTY.to_owned(), interval),
        // The log is cleaned by our care alone: other writers would list the whole folder after each of their commits.
        ("delta.enableExpiredLogCleanup".to_owned(), "false".to_owned()),
    ]);
    set(&mut properties, generation, source);
    properties
}

/// Puts a generation and an identity into force.
pub(super) fn set(properties: &mut BTreeMap<String, String>, generation: u64, source: &SourceIdentity) {
    properties.insert(GENERATION.to_owned(), generation.to_string());
    match &source.cluster_id {
        Some(cluster) => properties.insert(CLUSTER_ID.to_owned(), cluster.clone()),
        None => properties.remove(CLUSTER_ID),
    };
    // A map of texts always has a JSON form.
    let topic_ids = serde_json::to_string(&source.topic_ids).unwrap_or_default();
    properties.insert(TOPIC_IDS.to_owned(), topic_ids);
    if source.departed.is_empty() {
        properties.remove(DEPARTED_TOPICS);
    } else {
        // A list of texts always has a JSON form.
        let departed = serde_json::to_string(&source.departed).unwrap_or_default();
        properties.insert(DEPARTED_TOPICS.to_owned(), departed);
    }
    if source.former_topic_ids.is_empty() {
        properties.remove(FORMER_TOPIC_IDS);
    } else {
        // A map of lists of texts always has a JSON form.
        let former = serde_json::to_string(&source.former_topic_ids).unwrap_or_default();
        properties.insert(FORMER_TOPIC_IDS.to_owned(), former);
    }
    match source.forgotten {
        0 => properties.remove(FORGOTTEN_TOPICS),
        count => properties.insert(FORGOTTEN_TOPICS.to_owned(), count.to_string()),
    };
}

/// Names the INT columns that are to become BIGINT.
pub(super) fn set_widening(properties: &mut BTreeMap<String, String>, places: &Places) {
    if places.is_empty() {
        properties.remove(WIDENING);
    } else {
        // Lists of texts always have a JSON form.
        properties.insert(WIDENING.to_owned(), serde_json::to_string(places).unwrap_or_default());
    }
}

/// The INT columns that are to become BIGINT; the error says what is wrong.
pub(super) fn widening(properties: &BTreeMap<String, String>) -> Result<Places, String> {
    match properties.get(WIDENING) {
        None => Ok(Places::new()),
        Some(text) => serde_json::from_str(text).map_err(|_| format!("its property `{WIDENING}` is `{text}`")),
    }
}

/// How long a VACUUM leaves files alone that are not in the table; Delta's default where that is not said, or in words that are not
/// known here.
pub(super) fn deleted_file_retention(properties: &BTreeMap<String, String>) -> Duration {
    let text = properties.get(DELETED_FILE_RETENTION_PROPERTY);
    text.and_then(|text| interval(text)).unwrap_or(DELETED_FILE_RETENTION)
}

/// A length of time as `interval 1 day 12 hours`; months and years have none.
fn interval(text: &str) -> Option<Duration> {
    let text = text.to_ascii_lowercase();
    let words: Vec<&str> = text.split_whitespace().skip_while(|word| *word == "interval").collect();
    let mut sum = Duration::ZERO;
    for pair in words.chunks(2) {
        let [count, unit] = pair else { return None };
        let seconds: u64 = match unit.trim_end_matches('s') {
            "second" => 1,
            "minute" => 60,
            "hour" => 60 * 60,
            "day" => 24 * 60 * 60,
            "week" => 7 * 24 * 60 * 60,
            _ => return None,
        };
        let count: u64 = count.parse().ok()?;
        sum = sum.checked_add(Duration::from_secs(count.checked_mul(seconds)?))?;
    }
    (!words.is_empty()).then_some(sum)
}

/// The uid of the stream that created the table, if a stream did.
pub(super) fn stream_uid(properties: &BTreeMap<String, String>) -> Option<&str> {
    properties.get(STREAM_UID).map(String::as_str)
}

/// Generation and identity in force; the error says what is wrong.
pub(super) fn read(properties: &BTreeMap<String, String>) -> Result<(u64, SourceIdentity), String> {
    let property = |name: &str| properties.get(name).ok_or_else(|| format!("its property `{name}` is missing"));
    let wrong = |name: &str, value: &str| format!("its property `{name}` is `{value}`");
    let generation = property(GENERATION)?;
    let generation = generation.parse().map_err(|_| wrong(GENERATION, generation))?;
    let topic_ids = property(TOPIC_IDS)?;
    let topic_ids = serde_json::from_str(topic_ids).map_err(|_| wrong(TOPIC_IDS, topic_ids))?;
    let departed = match properties.get(DEPARTED_TOPICS) {
        Some(departed) => serde_json::from_str(departed).map_err(|_| wrong(DEPARTED_TOPICS, departed))?,
        None => Default::default(),
    };
    let former_topic_ids = match properties.get(FORMER_TOPIC_IDS) {
        Some(former) => serde_json::from_str(former).map_err(|_| wrong(FORMER_TOPIC_IDS, former))?,
        None => Default::default(),
    };
    let forgotten = match properties.get(FORGOTTEN_TOPICS) {
        Some(count) => count.parse().map_err(|_| wrong(FORGOTTEN_TOPICS, count))?,
        None => 0,
    };
    Ok((
        generation,
        SourceIdentity {
            cluster_id: properties.get(CLUSTER_ID).cloned(),
            topic_ids,
            departed,
            former_topic_ids,
            forgotten,
        },
    ))
}

/// Refuses properties under which appends would be wrong.
pub(super) fn expect_writable(properties: &BTreeMap<String, String>) -> Result<(), String> {
    if let Some(value) = properties.get(TXN_RETENTION) {
        return Err(format!(
            "its property `{TXN_RETENTION}` is `{value}`, which drops the stream's positions; unset it"
        ));
    }
    if let Some(mode) = properties.get(COLUMN_MAPPING).filter(|mode| *mode != "none") {
        return Err(format!(
            "its property `{COLUMN_MAPPING}` is `{mode}`, which this agent cannot write"
        ));
    }
    match properties.keys().find(|name| name.starts_with(CONSTRAINT_PREFIX)) {
        Some(name) => Err(format!("it has the constraint `{name}`, which this agent cannot enforce; drop it")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_come_back_and_foreign_ones_stay() {
        let source = SourceIdentity {
            cluster_id: Some("c1".into()),
            topic_ids: BTreeMap::from([("t\"x".into(), "id==".into())]),
            former_topic_ids: BTreeMap::from([("t\"x".into(), vec!["before==".into()])]),
            departed: vec!["t\"x".into()].into(),
            forgotten: 3,
        };
        let mut properties = of_new_table("u", 1, &source, Duration::from_secs(60));
        properties.insert("owner".into(), "someone".into());
        assert_eq!(read(&properties), Ok((1, source)));
        set(&mut properties, 2, &SourceIdentity::default());
        assert_eq!(read(&properties), Ok((2, SourceIdentity::default())));
        assert_eq!(stream_uid(&properties), Some("u"));
        assert_eq!(properties.get("owner").map(String::as_str), Some("someone"));
        assert_eq!(
            properties.get("delta.logRetentionDuration").map(String::as_str),
            Some("interval 60 seconds")
        );
    }

    #[test]
    fn the_retention_of_deleted_files_is_read_as_spark_writes_it() {
        for (text, seconds) in [
            ("interval 60 seconds", 60),
            ("INTERVAL 1 WEEK", 604_800),
            ("interval 1 day 12 hours", 129_600),
            ("2 minutes", 120),
            ("interval 1 month", 604_800),
            ("interval", 604_800),
            ("interval 99999999999999999 weeks", 604_800),
        ] {
            let properties = BTreeMap::from([(DELETED_FILE_RETENTION_PROPERTY.to_owned(), text.to_owned())]);
            assert_eq!(deleted_file_retention(&properties), Duration::from_secs(seconds), "{text}");
        }
        assert_eq!(deleted_file_retention(&BTreeMap::new()), DELETED_FILE_RETENTION);
    }

    #[test]
    fn columns_that_are_being_widened_come_back_and_go() {
        let places = Places::from([
            vec!["value".to_owned(), "a.b".to_owned()],
            vec!["value".to_owned(), "l".to_owned(), "element".to_owned()],
        ]);
        let mut properties = BTreeMap::new();
        set_widening(&mut properties, &places);
        assert_eq!(
            properties.get(WIDENING).map(String::as_str),
            Some(r#"[["value","a.b"],["value","l","element"]]"#)
        );
        assert_eq!(widening(&properties), Ok(places));
        set_widening(&mut properties, &Places::new());
        assert_eq!((widening(&properties), properties.len()), (Ok(Places::new()), 0));
        let error = widening(&BTreeMap::from([(WIDENING.to_owned(), "value.id".to_owned())])).unwrap_err();
        assert!(error.contains("`value.id`"), "{error}");
    }

    #[test]
    fn properties_that_make_appends_wrong_are_refused_by_name() {
        for (name, value) in [
            (TXN_RETENTION, "interval 1 day"),
            (COLUMN_MAPPING, "name"),
            ("delta.constraints.positive", "a > 0"),
        ] {
            let error = expect_writable(&BTreeMap::from([(name.to_owned(), value.to_owned())])).unwrap_err();
            assert!(error.contains(name), "{error}");
        }
        assert_eq!(
            expect_writable(&BTreeMap::from([(COLUMN_MAPPING.to_owned(), "none".to_owned())])),
            Ok(())
        );
    }
}
