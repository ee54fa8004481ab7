//! Topics of a pattern that departed: deleted, with nothing waited for. Each keeps its id, so that one that is there again is told from
//! another one of its name.
//!
//! Invariant: so many are kept at most, however many come and go. The one that departed first is forgotten first: its positions stay in
//! the log, and without its id nobody can tell whether a topic of its name is the one that they belong to. So such a topic is neither
//! read on nor read anew until the user decides.

use std::collections::BTreeMap;

use super::SourceIdentity;
use super::limits::DEPARTED_KEPT;

/// Names in the order in which they departed. As JSON it is a list.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(from = "Vec<String>", into = "Vec<String>")]
pub struct Departed {
    numbers: BTreeMap<String, u64>,
    next: u64,
}

impl Departed {
    /// Whether a topic is among them.
    pub fn contains(&self, topic: &str) -> bool {
        self.numbers.contains_key(topic)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Takes out one that is there again.
    pub(crate) fn remove(&mut self, topic: &str) {
        self.numbers.remove(topic);
    }

    fn add(&mut self, topic: String) {
        self.next += 1;
        self.numbers.entry(topic).or_insert(self.next);
    }

    fn in_order(&self) -> Vec<&str> {
        let mut topics: Vec<(u64, &str)> = self.numbers.iter().map(|(topic, number)| (*number, topic.as_str())).collect();
        topics.sort_unstable();
        topics.into_iter().map(|(_, topic)| topic).collect()
    }
}

impl PartialEq for Departed {
    fn eq(&self, other: &Self) -> bool {
        self.in_order() == other.in_order()
    }
}

impl Eq for Departed {}

impl From<Vec<String>> for Departed {
    fn from(topics: Vec<String>) -> Self {
        let mut departed = Self::default();
        topics.into_iter().for_each(|topic| departed.add(topic));
        departed
    }
}

impl From<Departed> for Vec<String> {
    fn from(departed: Departed) -> Self {
        departed.in_order().into_iter().map(str::to_owned).collect()
    }
}

impl SourceIdentity {
    /// Whether nothing is waited for of a topic that has positions.
    pub fn has_departed(&self, topic: &str) -> bool {
        self.departed.contains(topic) || self.has_forgotten(topic)
    }

    /// Whether the id of a topic that has positions was forgotten.
    pub fn has_forgotten(&self, topic: &str) -> bool {
        self.forgotten > 0 && !self.topic_ids.contains_key(topic)
    }

    /// Lets go of a topic, and of the id of another one where there are too many.
    pub(crate) fn depart(&mut self, topic: &str) {
        self.departed.add(topic.to_owned());
        if self.departed.numbers.len() <= DEPARTED_KEPT {
            return;
        }
        // One without an id is not told from another by it, and so there is nothing to forget.
        let with_id = self
            .departed
            .in_order()
            .into_iter()
            .find(|topic| self.topic_ids.contains_key(*topic));
        if let Some(first) = with_id.map(str::to_owned) {
            self.departed.remove(&first);
            self.topic_ids.remove(&first);
            self.former_topic_ids.remove(&first);
            self.forgotten += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(identity: &SourceIdentity) -> usize {
        let mut properties = BTreeMap::new();
        super::super::properties::set(&mut properties, 1, identity);
        properties.values().map(String::len).sum()
    }

    /// What a pattern's stream records of a topic that comes, is read and goes.
    fn comes_and_goes(identity: &mut SourceIdentity, topic: &str) {
        identity.departed.remove(topic);
        identity.recreate(topic, &format!("first-id-of-{topic}"));
        identity.recreate(topic, &format!("id-of-{topic}"));
        identity.depart(topic);
    }

    #[test]
    fn what_is_recorded_of_topics_that_come_and_go_has_a_bound() {
        let mut identity = SourceIdentity::default();
        identity.topic_ids.insert("stays".to_owned(), "id".to_owned());
        let mut largest = 0;
        for number in 0..5 * DEPARTED_KEPT {
            comes_and_goes(&mut identity, &format!("run-{number:06}"));
            match (number + 1) % DEPARTED_KEPT {
                0 if largest == 0 => largest = bytes(&identity),
                0 => assert!(bytes(&identity) <= largest + 64, "{number}"),
                _ => {}
            }
        }
        assert_eq!(identity.topic_ids.len(), DEPARTED_KEPT + 1);
        assert_eq!(identity.forgotten, 4 * DEPARTED_KEPT as u64);
        // The first ones are forgotten, and nothing is waited for of them either; what is still read is neither.
        let (first, last) = ("run-000000", "run-004999");
        assert!(identity.has_forgotten(first) && identity.has_departed(first) && !identity.departed.contains(first));
        assert!(!identity.has_forgotten(last) && identity.has_departed(last) && identity.topic_ids.contains_key(last));
        assert!(!identity.has_forgotten("stays") && !identity.has_departed("stays"));

        // Names that come again and again are as many as they are.
        let mut identity = SourceIdentity::default();
        for number in 0..5 * DEPARTED_KEPT {
            comes_and_goes(&mut identity, &format!("job-{}", number % 7));
        }
        assert_eq!((identity.topic_ids.len(), identity.forgotten), (7, 0));
    }

    #[test]
    fn the_order_of_departures_is_kept_in_the_table() {
        let mut departed = Departed::default();
        for topic in ["c", "a", "b", "a"] {
            departed.add(topic.to_owned());
        }
        let text = serde_json::to_string(&departed).expect("JSON");
        assert_eq!(text, r#"["c","a","b"]"#);
        let again: Departed = serde_json::from_str(&text).expect("a list");
        assert_eq!(again, departed);
        assert_ne!(again, Departed::from(vec!["a".to_owned(), "b".to_owned(), "c".to_owned()]));
    }

    #[test]
    fn a_topic_that_has_no_id_is_not_forgotten_by_it() {
        let mut identity = SourceIdentity::default();
        for number in 0..=DEPARTED_KEPT {
            identity.depart(&format!("old-{number}"));
        }
        assert_eq!(identity.forgotten, 0);
        assert!(identity.departed.contains("old-0"));
    }
}
