//! Which topics and partitions a Kafka stream reads (product part K1), and where it starts (K3).
//!
//! Texts are parsed to what they mean, so that two texts of one meaning are equal; patterns are equal when their texts are.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::limits::TOPIC_NAME_BYTES_MAX;
use crate::regex::JavaPattern;
use crate::stream::SubscriptionMode;

/// Why a subscription text cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {remedy}")]
pub struct SubscriptionError {
    /// What is wrong, lower case.
    pub problem: String,
    /// What to do, lower case.
    pub remedy: String,
}

/// Where a stream starts to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StartingOffsets {
    /// At the first record there is.
    Earliest,
    /// At the end.
    #[default]
    Latest,
    /// Topic → partition → offset. A partition that exists at creation and is not listed starts at the end.
    PerPartition(BTreeMap<String, BTreeMap<i32, StartingOffset>>),
}

/// Where one partition starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartingOffset {
    /// At the first record there is.
    Earliest,
    /// At the end.
    Latest,
    /// At that offset.
    At(i64),
}

/// Topics that Kafka keeps for itself, whatever else a cluster marks as its own: a pattern never means them.
pub const INTERNAL_TOPICS: [&str; 2] = ["__consumer_offsets", "__transaction_state"];

/// What a stream reads, before a cluster is asked what there is of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Read {
    /// Topics by name, with all their partitions.
    Topics(BTreeSet<String>),
    /// Every topic whose whole name matches, with all their partitions.
    Matching(JavaPattern),
    /// Some partitions of some topics, and no others.
    Partitions(BTreeMap<String, BTreeSet<i32>>),
}

impl Read {
    /// What a subscription means, or its attribute and what is wrong with it.
    pub fn of(mode: &SubscriptionMode) -> Result<Self, (&'static str, SubscriptionError)> {
        match mode {
            SubscriptionMode::Subscribe(text) => topics(text).map(Self::Topics).map_err(|error| ("subscribe", error)),
            SubscriptionMode::SubscribePattern(text) => pattern(text).map(Self::Matching).map_err(|error| ("subscribe_pattern", error)),
            SubscriptionMode::Assign(text) => assigned(text).map(Self::Partitions).map_err(|error| ("assign", error)),
        }
    }

    /// Whether a topic of this name can be one of them. Where that takes too much work to tell, it can.
    pub fn may_have(&self, topic: &str) -> bool {
        match self {
            Self::Topics(topics) => topics.contains(topic),
            Self::Matching(pattern) => !INTERNAL_TOPICS.contains(&topic) && pattern.matches_whole(topic).unwrap_or(true),
            Self::Partitions(partitions) => partitions.contains_key(topic),
        }
    }
}

/// The pattern of a `subscribe_pattern` text: a Java regular expression over the whole topic name.
pub fn pattern(text: &str) -> Result<JavaPattern, SubscriptionError> {
    if text.is_empty() {
        return Err(SubscriptionError {
            problem: "the pattern is empty".into(),
            remedy: "write a Java regular expression over the whole topic name, as in `orders-.*`".into(),
        });
    }
    JavaPattern::parse(text).map_err(|problem| SubscriptionError {
        problem: format!(
            "the pattern has {} at character {}, found `{}`",
            problem.construct, problem.place, problem.found
        ),
        remedy: problem.remedy,
    })
}

/// The topics of a `subscribe` text: comma-separated, white space around names tolerated, order without meaning.
pub fn topics(text: &str) -> Result<BTreeSet<String>, SubscriptionError> {
    let remedy = || "list topic names with commas between them, as in `orders,payments`".to_owned();
    let mut topics = BTreeSet::new();
    for name in text.split(',').map(str::trim) {
        if name.is_empty() {
            let problem = if text.trim().is_empty() {
                "no topic is named"
            } else {
                "a topic name is empty"
            };
            return Err(SubscriptionError {
                problem: problem.into(),
                remedy: remedy(),
            });
        }
        check_topic(name)?;
        if !topics.insert(name.to_owned()) {
            return Err(SubscriptionError {
                problem: format!("the topic `{name}` is listed twice"),
                remedy: "list it once".into(),
            });
        }
    }
    Ok(topics)
}

/// The partitions of an `assign` text: `{"topic": [0, 1]}`.
pub fn assigned(text: &str) -> Result<BTreeMap<String, BTreeSet<i32>>, SubscriptionError> {
    let remedy = "write a JSON object of topics to lists of partitions, as in {\"orders\": [0, 1]}";
    let fail = |problem: String| {
        Err(SubscriptionError {
            problem,
            remedy: remedy.into(),
        })
    };
    let parsed: UniqueMap<Vec<i32>> = match serde_json::from_str(text) {
        Ok(parsed) => parsed,
        Err(error) => return fail(format!("the text is not topics and partitions: {error}")),
    };
    if parsed.0.is_empty() {
        return fail("no topic is named".into());
    }
    let mut topics = BTreeMap::new();
    for (topic, partitions) in parsed.0 {
        check_topic(&topic)?;
        if partitions.is_empty() {
            return fail(format!("the topic `{topic}` has no partitions"));
        }
        let mut unique = BTreeSet::new();
        for partition in partitions {
            if partition < 0 {
                return fail(format!("the topic `{topic}` has the partition {partition}"));
            }
            if !unique.insert(partition) {
                return fail(format!("the topic `{topic}` lists the partition {partition} twice"));
            }
        }
        topics.insert(topic, unique);
    }
    Ok(topics)
}

/// The meaning of a `startingOffsets` option: `earliest`, `latest`, or `{"topic": {"0": 23, "1": -2}}`, where −1 is the
/// end and −2 the beginning.
pub fn starting_offsets(text: &str) -> Result<StartingOffsets, SubscriptionError> {
    let remedy = "write `earliest`, `latest`, or offsets by partition as in {\"orders\": {\"0\": 23, \"1\": -2}} (-1 latest, -2 earliest)";
    let fail = |problem: String| {
        Err(SubscriptionError {
            problem,
            remedy: remedy.into(),
        })
    };
    match text.trim() {
        word if word.eq_ignore_ascii_case("earliest") => return Ok(StartingOffsets::Earliest),
        word if word.eq_ignore_ascii_case("latest") => return Ok(StartingOffsets::Latest),
        word if !word.starts_with('{') => return fail("the text is neither a known word nor JSON".into()),
        _ => {}
    }
    let parsed: UniqueMap<UniqueMap<i64>> = match serde_json::from_str(text) {
        Ok(parsed) => parsed,
        Err(error) => return fail(format!("the text is not offsets by partition: {error}")),
    };
    if parsed.0.is_empty() {
        return fail("no topic is named".into());
    }
    let mut topics = BTreeMap::new();
    for (topic, partitions) in parsed.0 {
        check_topic(&topic)?;
        let mut offsets = BTreeMap::new();
        for (partition, offset) in partitions.0 {
            let number = match partition.parse::<i32>() {
                Ok(number) if number >= 0 && number.to_string() == partition => number,
                _ => return fail(format!("`{partition}` of the topic `{topic}` is not a partition")),
            };
            let offset = match offset {
                -2 => StartingOffset::Earliest,
                -1 => StartingOffset::Latest,
                offset if offset >= 0 => StartingOffset::At(offset),
                offset => return fail(format!("the partition {number} of the topic `{topic}` has the offset {offset}")),
            };
            offsets.insert(number, offset);
        }
        topics.insert(topic, offsets);
    }
    Ok(StartingOffsets::PerPartition(topics))
}

/// True when two modes choose the same partitions: the same set of names, the same assignment, the same pattern text.
pub fn same_meaning(left: &SubscriptionMode, right: &SubscriptionMode) -> bool {
    match (left, right) {
        (SubscriptionMode::Subscribe(one), SubscriptionMode::Subscribe(other)) => {
            one == other || matches!((topics(one), topics(other)), (Ok(one), Ok(other)) if one == other)
        }
        (SubscriptionMode::Assign(one), SubscriptionMode::Assign(other)) => {
            one == other || matches!((assigned(one), assigned(other)), (Ok(one), Ok(other)) if one == other)
        }
        _ => left == right,
    }
}

/// Checks a topic's name by the broker's rule.
fn check_topic(name: &str) -> Result<(), SubscriptionError> {
    let problem = if name.is_empty() {
        "a topic name is empty".to_owned()
    } else if name == "." || name == ".." {
        format!("the topic name `{name}` is not legal")
    } else if name.len() > TOPIC_NAME_BYTES_MAX {
        format!("a topic name is {} bytes long, more than {TOPIC_NAME_BYTES_MAX}", name.len())
    } else if let Some(bad) = name.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))) {
        format!("the topic name `{name}` holds {bad:?}")
    } else {
        return Ok(());
    };
    Err(SubscriptionError {
        problem,
        remedy: "use letters, digits, `.`, `_` and `-`; for a pattern use `subscribe_pattern`".into(),
    })
}

/// A JSON object whose keys must be unique: which of two would win is nobody's wish.
struct UniqueMap<V>(BTreeMap<String, V>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for UniqueMap<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<V>(std::marker::PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for Entries<V> {
            type Value = UniqueMap<V>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a JSON object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
                let mut map = BTreeMap::new();
                while let Some((key, value)) = entries.next_entry::<String, V>()? {
                    if map.contains_key(&key) {
                        return Err(A::Error::custom(format!("`{key}` appears twice")));
                    }
                    map.insert(key, value);
                }
                Ok(UniqueMap(map))
            }
        }
        deserializer.deserialize_map(Entries(std::marker::PhantomData))
    }
}
