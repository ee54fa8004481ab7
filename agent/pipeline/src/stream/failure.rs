//! What an error means for a stream: a condition that may pass, or a phase that lasts until someone acts.
//!
//! Invariant: what can heal by itself is never shown as lasting.

use crate::error::{PipelineError, Retry};
use crate::kafka::topics;
use crate::status::{Phase, PipelineCondition, condition};
use crate::table::TableError;

/// What an error means for the stream.
pub(super) enum Failure {
    /// The world may heal.
    Passing(PipelineCondition),
    /// Someone must act.
    Lasting(Phase),
}

/// Tells them apart.
pub(super) fn failure_of(error: &PipelineError) -> Failure {
    let message = error.to_string();
    match error {
        PipelineError::Table(TableError::Gone { .. }) => Failure::Lasting(Phase::TableGone { message }),
        PipelineError::Table(TableError::Altered { .. }) => Failure::Lasting(Phase::TableAltered { message }),
        PipelineError::Table(TableError::InUse { .. }) => passing(condition::TABLE_REACHABLE, "WarehouseInUse", message),
        PipelineError::Table(_) if error.retry() == Retry::Later => passing(condition::TABLE_REACHABLE, "StorageFailed", message),
        PipelineError::Table(_) => lasting("TableRefused", message),
        PipelineError::Source {
            reason,
            retry: Retry::Later,
            ..
        } => {
            let of_data = *reason == topics::RECREATED;
            passing(
                if of_data {
                    condition::DATA_AVAILABLE
                } else {
                    condition::SOURCE_REACHABLE
                },
                reason,
                message,
            )
        }
        PipelineError::Source {
            reason, retry: Retry::No, ..
        } => lasting(reason, message),
        PipelineError::Definition { .. } => lasting("DefinitionRefused", message),
        PipelineError::Internal { .. } => lasting("InternalError", message),
    }
}

fn passing(condition_type: &'static str, reason: &str, message: String) -> Failure {
    Failure::Passing(PipelineCondition {
        condition_type,
        reason: reason.to_owned(),
        message,
    })
}

fn lasting(reason: &str, message: String) -> Failure {
    Failure::Lasting(Phase::Failed {
        reason: reason.to_owned(),
        message,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the status shows: a condition's type and reason, or the phase that ends the stream.
    fn check(error: PipelineError, expected: &str) {
        let shown = match failure_of(&error) {
            Failure::Passing(condition) => format!("{} {}", condition.condition_type, condition.reason),
            Failure::Lasting(Phase::Failed { reason, .. }) => format!("Failed {reason}"),
            Failure::Lasting(Phase::TableGone { .. }) => "TableGone".to_owned(),
            Failure::Lasting(Phase::TableAltered { .. }) => "TableAltered".to_owned(),
            Failure::Lasting(phase) => panic!("{phase:?} does not end a stream"),
        };
        assert_eq!(shown, expected, "{error}");
    }

    #[test]
    fn an_error_is_shown_by_what_it_concerns_and_whether_it_can_pass() {
        let source = |reason, retry| PipelineError::Source {
            reason,
            message: "m".to_owned(),
            retry,
        };
        let table = || "main.shop.orders_raw".to_owned();
        check(source("SourceUnreachable", Retry::Later), "SourceReachable SourceUnreachable");
        check(source(topics::RECREATED, Retry::Later), "DataAvailable TopicRecreated");
        check(source("ClusterChanged", Retry::No), "Failed ClusterChanged");
        check(PipelineError::Definition { message: "m".to_owned() }, "Failed DefinitionRefused");
        check(PipelineError::Internal { message: "m".to_owned() }, "Failed InternalError");
        check(
            TableError::Gone {
                table: table(),
                location: "l".to_owned(),
            }
            .into(),
            "TableGone",
        );
        check(
            TableError::Altered {
                table: table(),
                what: "w".to_owned(),
            }
            .into(),
            "TableAltered",
        );
        check(TableError::Unsupported { message: "m".to_owned() }.into(), "Failed TableRefused");
        let full = TableError::Storage {
            table: table(),
            location: "/w/orders_raw".to_owned(),
            action: "write",
            source: "disk full".into(),
        };
        check(full.into(), "TableReachable StorageFailed");
        let in_use = TableError::InUse {
            location: "/w".to_owned(),
            holder: "process 7".to_owned(),
        };
        check(in_use.into(), "TableReachable WarehouseInUse");
    }
}
