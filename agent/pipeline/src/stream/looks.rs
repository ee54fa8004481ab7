//! What a session makes of its looks around: when the next one is due, what it is asked, and what follows from what was found.
//!
//! Invariant: a look that fails ends no session that can go on; what it finds changed opens the source anew.

use std::time::Duration;

use tokio::time::Instant;

use super::jittered;
use super::session::{LoopState, Session, SessionEnd};
use super::survey::{Scope, Survey, Surveying};
use crate::error::PipelineError;
use crate::kafka::open;
use crate::limits;
use crate::position::PartitionId;
use crate::status::{PipelineCondition, condition};

impl Session<'_> {
    pub(super) fn survey_wait(&self) -> Duration {
        let wait = if self.waits_for_source {
            limits::MISSING_TOPIC_WAIT.min(self.discovery_interval)
        } else {
            self.discovery_interval
        };
        let wait = jittered(wait);
        wait - wait / limits::SHARED_ANSWER_PART
    }

    /// Remembers how far partitions were seen to reach, in case that they cannot be asked any more.
    pub(super) fn keep_seen_ends(&self) {
        let (mut seen, known) = (self.source.seen_ends(), self.board.ends());
        seen.retain(|partition, end| known.get(partition).is_none_or(|known| known < end));
        self.board.show_ends(&seen);
    }

    pub(super) fn start_survey(&self, doubted_at: std::time::Instant) -> Surveying {
        let scope = Scope {
            client: self.source.client().clone(),
            table: self.table.clone(),
            subscription: self.lookout.subscription().clone(),
            list: self.lookout.list().cloned(),
            topics: self.lookout.names().clone(),
            partitions: self.source.partitions().iter().chain(&self.undecided).cloned().collect(),
            interval: self.discovery_interval,
            doubted_at,
        };
        tokio::spawn(scope.look())
    }

    pub(super) fn take_survey(
        &mut self,
        survey: Result<Survey, PipelineError>,
        state: &mut LoopState,
    ) -> Result<Option<SessionEnd>, PipelineError> {
        let survey = match survey {
            Ok(survey) => survey,
            Err(error @ PipelineError::Source { .. }) => {
                // The client keeps connecting by itself and the session loses nothing by waiting.
                self.board.set_condition(condition::SOURCE_REACHABLE, Some(not_reached(&error)));
                state.survey_at = Instant::now() + jittered(limits::MISSING_TOPIC_WAIT);
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        survey.table?;
        let unreachable_soon = self.source.client().lasts_no_longer();
        self.board
            .set_condition(condition::SOURCE_REACHABLE, unreachable_soon.as_ref().map(not_reached));
        *self.retry_wait = limits::RETRY_WAIT_MIN;
        state.survey_at = Instant::now() + self.survey_wait();
        if let Some(listed_at) = survey.listed_at {
            let list_due = Instant::from_std(listed_at) + self.discovery_interval;
            state.survey_at = state
                .survey_at
                .min(list_due)
                .max(Instant::now() + limits::SURVEY_SOON.min(self.discovery_interval));
        }
        if open::decidable(&self.undecided, &survey.ends) || open::changed(&self.topics, &survey.topics) {
            return Ok(Some(SessionEnd::SourceChanged));
        }
        self.board.show_ends(&survey.ends);
        {
            let table = self.table.state();
            let table = table.borrow();
            self.board.show_table(&table);
            self.board.set_condition(condition::COLUMNS_WIDENED, self.waiting.condition(&table));
        }
        let positions: Vec<(PartitionId, i64)> = self
            .source
            .positions()
            .map(|(partition, position)| (partition.clone(), position.next_offset))
            .collect();
        self.stalls.note_ends(&positions, &survey.ends);
        self.show_complaints();
        if !self.stages.is_busy() && self.source.gathered_rows() == 0 && !self.stalls.are_records_due(&positions, &survey.ends) {
            self.show_written();
        }
        let turned_over = self.source.has_turned_over();
        if self
            .stalls
            .look(&positions, &survey.ends, turned_over, std::time::Instant::now())
            .is_some()
        {
            self.show_complaints();
            self.source.client().retire();
            return Ok(Some(SessionEnd::SourceChanged));
        }
        self.pass_markers()?;
        Ok(None)
    }

    /// Commits positions that moved over transaction markers alone, where no rows are on their way that would take them along.
    pub(super) fn pass_markers(&mut self) -> Result<(), PipelineError> {
        if self.stages.is_busy() || self.source.gathered_rows() > 0 {
            return Ok(());
        }
        let moved = self.source.cut();
        if !moved.positions.is_empty() {
            self.stages.start(moved)?;
        }
        Ok(())
    }
}

/// The condition of a source that cannot be used now.
pub(super) fn not_reached(error: &PipelineError) -> PipelineCondition {
    PipelineCondition {
        condition_type: condition::SOURCE_REACHABLE,
        reason: error.source_reason().unwrap_or("SourceUnreachable").to_owned(),
        message: error.to_string(),
    }
}
