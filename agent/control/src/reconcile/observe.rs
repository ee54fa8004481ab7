//! What is said about a stream: its public state and conditions, from what a run of steps has seen. Pure.

use stream_pipeline::error::PipelineError;
use stream_pipeline::status::{Phase, PipelineStatus};
use stream_pipeline::table::TableError;

use super::slots::TableVerdict;
use crate::state::{Conditions, DELETION, PROGRESSING, START_POSITIONS, StreamState, TABLE_HEALTHY};
use crate::store::records::ObservedStream;

/// Where the table of a stream is that is not in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Whereabouts {
    /// In our trash: it can be restored.
    Trash,
    /// Nowhere that we know.
    Lost,
    /// The trash could not be read.
    Unknown(String),
}

/// What a run of steps has seen.
pub(super) enum Sighting<'a> {
    /// The source is being asked where to start; the message says which.
    Asking(&'a str),
    /// Version 0 of the table could not be written.
    NotProvisioned(&'a PipelineError),
    /// A table in the trash could not be restored.
    NotRestored(&'a TableError),
    /// A pipeline was started.
    Started {
        /// What it says.
        status: &'a PipelineStatus,
        /// What was found at the table while the pipeline had not noticed.
        verdict: Option<&'a TableVerdict>,
        /// Asked only where the table is not in its place.
        whereabouts: Option<Whereabouts>,
    },
    /// The pipeline ended without having been told to and without saying why.
    PipelineLost,
    /// A step of the deletion failed.
    NotDeleted(&'a TableError),
}

/// Goes on from what was last observed. `observed` says already what the steps did; this adds state and conditions.
pub(super) fn describe(mut observed: ObservedStream, sighting: &Sighting<'_>, now_ms: i64) -> ObservedStream {
    let mut conditions = Conditions::continue_from(std::mem::take(&mut observed.conditions), now_ms);
    observed.state = match sighting {
        Sighting::Asking(message) => {
            conditions.set(START_POSITIONS, false, "Asking", message);
            StreamState::Provisioning
        }
        Sighting::NotProvisioned(error) => {
            let message = error.to_string();
            conditions.set(START_POSITIONS, false, reason_of(error), &message);
            if error.retry() == stream_pipeline::error::Retry::Later {
                StreamState::Provisioning
            } else {
                StreamState::Failed
            }
        }
        Sighting::NotRestored(error) => {
            conditions.set(TABLE_HEALTHY, false, "RestoreRefused", &error.to_string());
            StreamState::Failed
        }
        Sighting::PipelineLost => {
            conditions.set(
                PROGRESSING,
                false,
                "PipelineLost",
                "the pipeline ended without saying why; it is started again",
            );
            StreamState::Degraded
        }
        Sighting::NotDeleted(error) => {
            conditions.set(DELETION, false, "TableNotRemoved", &error.to_string());
            StreamState::Deleting
        }
        Sighting::Started {
            status,
            verdict,
            whereabouts,
        } => {
            observed.generation = if status.generation > 0 {
                status.generation
            } else {
                observed.generation
            };
            observed.note_schema_starts(&status.schema_starts);
            if let Some(table) = &status.table {
                observed.table = Some(table.into());
            }
            conditions.set(START_POSITIONS, true, "Recorded", "");
            match (verdict, &status.phase) {
                (Some(TableVerdict::Gone { message }), _) | (None, Phase::TableGone { message }) => {
                    table_is_gone(&mut conditions, message, whereabouts.as_ref())
                }
                (Some(TableVerdict::Altered { message }), _) | (None, Phase::TableAltered { message }) => {
                    conditions.set(TABLE_HEALTHY, false, "TableAltered", message);
                    conditions.set(
                        PROGRESSING,
                        false,
                        "TableAltered",
                        "stopped, so that nothing is written to an altered table",
                    );
                    StreamState::TableAltered
                }
                (None, phase) => while_the_table_is_well(&mut conditions, phase, status, observed.state),
            }
        }
    };
    observed.conditions = conditions.into_list();
    observed
}

fn table_is_gone(conditions: &mut Conditions, message: &str, whereabouts: Option<&Whereabouts>) -> StreamState {
    conditions.set(PROGRESSING, false, "TableGone", "stopped: there is no table to write to");
    match whereabouts {
        Some(Whereabouts::Trash) => {
            let message = format!("{message}; it is in the trash, and restarting the stream restores it");
            conditions.set(TABLE_HEALTHY, false, "TableInTrash", &message);
            StreamState::Failed
        }
        Some(Whereabouts::Unknown(problem)) => {
            let message = format!("{message}; whether it is in the trash is not known: {problem}");
            conditions.set(TABLE_HEALTHY, false, "TrashUnreadable", &message);
            StreamState::Failed
        }
        Some(Whereabouts::Lost) | None => {
            conditions.set(TABLE_HEALTHY, false, "TableGone", message);
            StreamState::TableGone
        }
    }
}

fn while_the_table_is_well(conditions: &mut Conditions, phase: &Phase, status: &PipelineStatus, before: StreamState) -> StreamState {
    let mut still_false: Vec<&str> = Vec::new();
    for condition in &status.conditions {
        conditions.set(condition.condition_type, false, &condition.reason, &condition.message);
        still_false.push(condition.condition_type);
    }
    let (state, progressing) = match phase {
        // A stream that ran before the agent was restarted, and has nothing to complain of yet, is not provisioned again.
        Phase::Starting if status.conditions.is_empty() && before == StreamState::Active => (before, None),
        Phase::Starting if status.conditions.is_empty() => (
            StreamState::Provisioning,
            Some(("Starting", "the pipeline opens its table and its clients")),
        ),
        Phase::Starting => (StreamState::Degraded, None),
        Phase::Running if status.conditions.is_empty() => (StreamState::Active, None),
        Phase::Running => (StreamState::Degraded, None),
        Phase::Paused => (
            StreamState::Paused,
            Some(("Paused", "no records are read while the stream is paused")),
        ),
        Phase::Failed { reason, message } => (StreamState::Failed, Some((reason.as_str(), message.as_str()))),
        // Told to stop: the next run starts it again or takes it away.
        Phase::Stopped => (before, None),
        // Both are told apart before this function is asked.
        Phase::TableAltered { message } => (StreamState::TableAltered, Some(("TableAltered", message.as_str()))),
        Phase::TableGone { message } => (StreamState::TableGone, Some(("TableGone", message.as_str()))),
    };
    if matches!(phase, Phase::Running | Phase::Paused) {
        conditions.set(TABLE_HEALTHY, true, "AsCreated", "");
    }
    match progressing {
        Some((reason, message)) => conditions.set(PROGRESSING, false, reason, message),
        None if !still_false.contains(&PROGRESSING) => conditions.set(PROGRESSING, true, "Running", ""),
        None => {}
    }
    still_false.extend([PROGRESSING, TABLE_HEALTHY]);
    conditions.recover_all_but(&still_false);
    state
}

/// The word for machines of an error.
pub(super) fn reason_of(error: &PipelineError) -> &'static str {
    match error {
        PipelineError::Source { reason, .. } => reason,
        PipelineError::Table(error) => match error {
            TableError::Exists { .. } => "TableExists",
            TableError::Gone { .. } => "TableGone",
            TableError::Altered { .. } => "TableAltered",
            TableError::Unsupported { .. } => "TableUnsupported",
            TableError::StillNarrow { .. } => "WideningPending",
            TableError::Storage { .. } => "StorageFailed",
            TableError::InUse { .. } => "WarehouseInUse",
            TableError::Internal { .. } => "InternalError",
        },
        PipelineError::Definition { .. } => "DefinitionUnsupported",
        PipelineError::Internal { .. } => "InternalError",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::SCHEMA_START_POSITIONS_MAX;
    use stream_pipeline::position::{PartitionId, SourcePlace};
    use stream_pipeline::status::PipelineCondition;
    use stream_pipeline::table::SchemaStart;

    fn started(phase: Phase, condition: Option<&'static str>) -> PipelineStatus {
        let conditions = condition
            .map(|condition_type| PipelineCondition {
                condition_type,
                reason: "Down".into(),
                message: "b:9092 refused".into(),
            })
            .into_iter()
            .collect();
        PipelineStatus {
            phase,
            generation: 1,
            conditions,
            ..PipelineStatus::default()
        }
    }

    #[test]
    fn every_phase_has_its_public_state() {
        let message = || "m".to_owned();
        let failed = Phase::Failed {
            reason: "ClusterChanged".into(),
            message: message(),
        };
        let cases = [
            (StreamState::Provisioning, Phase::Starting, None, StreamState::Provisioning),
            (StreamState::Active, Phase::Starting, None, StreamState::Active),
            (StreamState::Failed, Phase::Starting, None, StreamState::Provisioning),
            (StreamState::Active, Phase::Starting, Some("SourceReachable"), StreamState::Degraded),
            (StreamState::Provisioning, Phase::Running, None, StreamState::Active),
            (StreamState::Active, Phase::Running, Some("TopicsExist"), StreamState::Degraded),
            (StreamState::Active, Phase::Paused, Some("TopicsExist"), StreamState::Paused),
            (StreamState::Active, failed, None, StreamState::Failed),
            (
                StreamState::Active,
                Phase::TableAltered { message: message() },
                None,
                StreamState::TableAltered,
            ),
            (
                StreamState::Active,
                Phase::TableGone { message: message() },
                None,
                StreamState::TableGone,
            ),
        ];
        for (before, phase, condition, expected) in cases {
            let status = started(phase, condition);
            let sighting = Sighting::Started {
                status: &status,
                verdict: None,
                whereabouts: None,
            };
            let observed = describe(
                ObservedStream {
                    state: before,
                    ..Default::default()
                },
                &sighting,
                1,
            );
            assert_eq!(observed.state, expected, "{before:?} then {:?}", status.phase);
            assert_eq!(observed.generation, 1);
        }
    }

    #[test]
    fn a_lost_table_is_gone_only_if_it_is_not_in_the_trash() {
        let cases = [
            (Whereabouts::Lost, StreamState::TableGone, "TableGone"),
            (Whereabouts::Trash, StreamState::Failed, "TableInTrash"),
            (Whereabouts::Unknown("no access".into()), StreamState::Failed, "TrashUnreadable"),
        ];
        for (whereabouts, state, reason) in cases {
            let status = started(Phase::Running, None);
            let verdict = TableVerdict::Gone {
                message: "it is not at /w/a/b/c".into(),
            };
            let sighting = Sighting::Started {
                status: &status,
                verdict: Some(&verdict),
                whereabouts: Some(whereabouts),
            };
            let observed = describe(ObservedStream::default(), &sighting, 1);
            let healthy = observed
                .conditions
                .iter()
                .find(|condition| condition.condition_type == TABLE_HEALTHY)
                .unwrap();
            assert_eq!((observed.state, healthy.reason.as_str(), healthy.status), (state, reason, false));
        }
    }

    #[test]
    fn beginnings_of_schemas_stay_when_the_table_tells_of_later_ones_only() {
        let start = |version, offsets: std::ops::Range<i64>| SchemaStart {
            version,
            positions: offsets.map(place).collect(),
        };
        let mut observed = ObservedStream::default();
        for starts in [vec![start(1, 0..1)], vec![start(1, 0..2), start(2, 5..6)], vec![start(3, 9..10)]] {
            let status = PipelineStatus {
                schema_starts: starts.into(),
                ..started(Phase::Running, None)
            };
            let sighting = Sighting::Started {
                status: &status,
                verdict: None,
                whereabouts: None,
            };
            observed = describe(observed, &sighting, 1);
        }
        let expected = [(1, vec![place(0), place(1)]), (2, vec![place(5)]), (3, vec![place(9)])];
        assert_eq!(observed.schema_starts, expected.into());
        let many = i64::try_from(SCHEMA_START_POSITIONS_MAX).unwrap();
        observed.note_schema_starts(&[start(4, 0..many - 2)]);
        assert_eq!(observed.schema_starts.keys().collect::<Vec<_>>(), [&2, &3, &4], "the oldest goes");
    }

    fn place(offset: i64) -> SourcePlace {
        SourcePlace {
            partition: PartitionId {
                topic: "orders".into(),
                partition: 0,
            },
            offset,
            epoch: 0,
        }
    }

    #[test]
    fn a_condition_that_is_reported_no_more_turns_true() {
        let bad = started(Phase::Running, Some("SourceReachable"));
        let observed = describe(
            ObservedStream::default(),
            &Sighting::Started {
                status: &bad,
                verdict: None,
                whereabouts: None,
            },
            1,
        );
        let good = started(Phase::Running, None);
        let observed = describe(
            observed,
            &Sighting::Started {
                status: &good,
                verdict: None,
                whereabouts: None,
            },
            2,
        );
        assert!(
            observed.conditions.iter().all(|condition| condition.status),
            "{:?}",
            observed.conditions
        );
        assert_eq!(observed.state, StreamState::Active);
    }
}
