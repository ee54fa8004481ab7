//! A stream's public state and its conditions. How they follow from what was seen is in `reconcile/observe.rs`.

use serde::{Deserialize, Serialize};

/// Public state of a stream; the same words as in the API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamState {
    /// The table's version 0 is not there yet.
    #[default]
    Provisioning,
    /// Records flow, or wait to arrive.
    Active,
    /// Runs, but a condition names something that is not as it should be.
    Degraded,
    /// Stopped by an error that retrying does not cure.
    Failed,
    /// Stopped: the table was altered so that appends must not go on.
    TableAltered,
    /// Stopped: the table is not there any more.
    TableGone,
    /// Not running because it was told so.
    Paused,
    /// On the way out.
    Deleting,
}

impl StreamState {
    /// Whether nothing moves until someone acts.
    pub fn is_stopped_by_error(self) -> bool {
        matches!(self, Self::Failed | Self::TableAltered | Self::TableGone)
    }
}

/// One aspect of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// CamelCase: `StartPositions`, `TableHealthy`, …
    #[serde(rename = "type")]
    pub condition_type: String,
    /// Whether it is as it should be.
    pub status: bool,
    /// CamelCase word for machines.
    pub reason: String,
    /// For people: what is wrong, with the values seen, and what to do.
    pub message: String,
    /// Milliseconds since 1970 of the last change of `status`.
    pub since_ms: i64,
}

/// Version 0 of the table, with the start positions, is written.
pub const START_POSITIONS: &str = "StartPositions";
/// The table is there and is the one that was made.
pub const TABLE_HEALTHY: &str = "TableHealthy";
/// The pipeline runs.
pub const PROGRESSING: &str = "Progressing";
/// The deletion goes on.
pub const DELETION: &str = "Deletion";

/// A set of conditions in which a status keeps the time of its last change.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    list: Vec<Condition>,
    now_ms: i64,
}

impl Conditions {
    /// Continues from what was last written.
    pub fn continue_from(list: Vec<Condition>, now_ms: i64) -> Self {
        Self { list, now_ms }
    }

    /// Sets one condition; `since` moves only if its status changes.
    pub fn set(&mut self, condition_type: &str, status: bool, reason: &str, message: &str) {
        let fresh = Condition {
            condition_type: condition_type.to_owned(),
            status,
            reason: reason.to_owned(),
            message: message.to_owned(),
            since_ms: self.now_ms,
        };
        match self.list.iter_mut().find(|known| known.condition_type == condition_type) {
            Some(known) => {
                let since_ms = if known.status == status { known.since_ms } else { fresh.since_ms };
                *known = Condition { since_ms, ..fresh };
            }
            None => self.list.push(fresh),
        }
    }

    /// Turns every condition true that is false and not among `still_false`.
    pub fn recover_all_but(&mut self, still_false: &[&str]) {
        for condition in &mut self.list {
            if !condition.status && !still_false.contains(&condition.condition_type.as_str()) {
                condition.status = true;
                condition.reason = "Recovered".to_owned();
                condition.message = String::new();
                condition.since_ms = self.now_ms;
            }
        }
    }

    /// The list, to be written.
    pub fn into_list(self) -> Vec<Condition> {
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_moves_only_when_the_status_changes() {
        let mut conditions = Conditions::continue_from(Vec::new(), 10);
        conditions.set("SourceReachable", false, "Down", "b1:9092 refused");
        let mut conditions = Conditions::continue_from(conditions.into_list(), 20);
        conditions.set("SourceReachable", false, "Down", "b2:9092 refused");
        let list = conditions.clone().into_list();
        assert_eq!((list[0].since_ms, list[0].message.as_str()), (10, "b2:9092 refused"));
        conditions.recover_all_but(&[]);
        let list = conditions.into_list();
        assert_eq!((list[0].since_ms, list[0].status), (20, true));
    }
}
