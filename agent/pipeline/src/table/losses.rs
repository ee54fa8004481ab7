//! What `on_data_loss` passed over: in the `commitInfo` of the commit that moved a position, and, the newest ones, in a property.
//!
//! Invariant: a position that is moved without its records having been read says so in the commit that moves it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::limits;
use crate::position::PartitionId;

/// The name in `commitInfo`, and that of the property.
pub(super) const LOSSES: &str = "featurestore.losses";

/// Why records were passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LossCause {
    /// Retention, or someone, deleted them before they were read.
    Expired,
    /// The log was cut before the position: records that are in the table are not in the log any more.
    Truncated,
    /// The topic was deleted, and created again.
    Recreated,
}

impl fmt::Display for LossCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expired => "expired",
            Self::Truncated => "truncated",
            Self::Recreated => "recreated",
        })
    }
}

/// What `on_data_loss` passed over. Kept in the commit that moved the position, the newest ones also in the table's properties.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// Where.
    #[serde(flatten)]
    pub partition: PartitionId,
    /// Why.
    pub cause: LossCause,
    /// The offset that was to be read next.
    pub from: i64,
    /// The offset that is read next instead; below `from` where another history begins there.
    pub to: i64,
    /// The epoch from then on.
    pub epoch: u32,
}

/// Adds losses to the ones that are remembered, and forgets the oldest.
pub(super) fn add(properties: &mut BTreeMap<String, String>, known: &[Loss], new: &[Loss]) {
    if new.is_empty() {
        return;
    }
    let forgotten = (known.len() + new.len()).saturating_sub(limits::LOSSES_KEPT);
    let kept: Vec<&Loss> = known.iter().chain(new).skip(forgotten).collect();
    // Texts and numbers always have a JSON form.
    properties.insert(LOSSES.to_owned(), serde_json::to_string(&kept).unwrap_or_default());
}

/// The losses that are remembered, oldest first; the error says what is wrong.
pub(super) fn read(properties: &BTreeMap<String, String>) -> Result<Vec<Loss>, String> {
    match properties.get(LOSSES) {
        Some(text) => serde_json::from_str(text).map_err(|_| format!("its property `{LOSSES}` is `{text}`")),
        None => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_losses_are_remembered() {
        let loss = |number: i64| Loss {
            partition: PartitionId {
                topic: "t".into(),
                partition: 1,
            },
            cause: LossCause::Expired,
            from: number,
            to: number + 5,
            epoch: 1,
        };
        let mut properties = BTreeMap::new();
        add(&mut properties, &[], &[]);
        assert_eq!((properties.len(), read(&properties)), (0, Ok(vec![])));
        let many: Vec<Loss> = (0..98).map(loss).collect();
        add(&mut properties, &many, &[loss(98), loss(99), loss(100)]);
        let kept = read(&properties).unwrap();
        assert_eq!((kept.len(), kept.first(), kept.last()), (100, Some(&loss(1)), Some(&loss(100))));
        let text = r#"[{"topic":"t","partition":1,"cause":"expired","from":7,"to":12,"epoch":1}]"#;
        let golden = BTreeMap::from([(LOSSES.to_owned(), text.to_owned())]);
        assert_eq!(read(&golden), Ok(vec![loss(7)]));
        assert_eq!(serde_json::to_string(&[loss(7)]).unwrap(), text);
    }
}
