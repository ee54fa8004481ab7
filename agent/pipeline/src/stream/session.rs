//! One attachment to a source: gathers, hands batches to the stages, looks around from time to time, and ends cleanly.
//!
//! Invariant: a session that ends without an error has committed every record that it took, unless values wait for a wider column:
//! then what it had in hand is read again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::board::Board;
use super::record_filter;
use super::signals::ConnectionSignals;
use super::stages::{Appended, Landed, Stages};
use super::stalls::Stalls;
use super::survey::{Survey, Surveying};
use super::unread::Unread;
use super::waiting::Waiting;
use super::waits::{at, joined, told, widened};
use super::{Desired, looks};
use crate::connection::SharedResolver;
use crate::engine::StreamDefinition;
use crate::error::PipelineError;
use crate::kafka::lookout::Lookout;
use crate::kafka::loss::Refusal;
use crate::kafka::problems::PartitionProblem;
use crate::kafka::source::KafkaSource;
use crate::kafka::topics::TopicState;
use crate::kafka::trouble::Trouble;
use crate::limits;
use crate::position::PartitionId;
use crate::status::condition;
use crate::table::{TableHandle, TableState};

/// Why a session ended well.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SessionEnd {
    /// Another definition, other operations, or a stop.
    Told,
    /// Topics, partitions, the connection or the client must be looked at anew.
    SourceChanged,
    /// The broker does not let these partitions be read at their positions.
    Refused(BTreeMap<PartitionId, Refusal>),
    /// These partitions have values for which a column must be widened first; why, in words.
    TooLarge(BTreeSet<PartitionId>, String),
    /// The next records of these partitions name schemas that are not known.
    Unread(Unread),
    /// The registry tells something of a schema that is waited for.
    SchemasTold,
}

/// One attachment.
pub(crate) struct Session<'a> {
    pub(crate) definition: Arc<StreamDefinition>,
    pub(crate) discovery_interval: Duration,
    pub(crate) board: &'a Board,
    pub(crate) desired: &'a mut watch::Receiver<Desired>,
    pub(crate) connection_changes: ConnectionSignals,
    pub(crate) resolver: &'a SharedResolver,
    /// What the client's connection was when it was opened.
    pub(crate) identity: String,
    /// What the registry's connection was when it was opened.
    pub(crate) registry_identity: Option<String>,
    /// When the registry's subjects are to be looked at again.
    pub(crate) schemas_due: Option<Instant>,
    /// Ends when a schema that is waited for is told.
    pub(crate) schemas_told: Option<AbortOnDropHandle<()>>,
    pub(crate) table: Arc<TableHandle>,
    /// Which topics are looked up, and how others are heard of.
    pub(crate) lookout: Lookout,
    /// Topics as they were when the session was opened.
    pub(crate) topics: BTreeMap<String, TopicState>,
    /// True when something is missing that may come: looked for more often.
    pub(crate) waits_for_source: bool,
    /// Partitions that could not be decided about at opening: they wait for their ends to be told.
    pub(crate) undecided: BTreeSet<PartitionId>,
    /// Partitions that wait for a column to be widened.
    pub(crate) waiting: &'a Waiting,
    /// The table's state, as long as a partition waits for it to change.
    pub(crate) widening: Option<watch::Receiver<TableState>>,
    pub(crate) source: KafkaSource,
    pub(crate) stages: Stages,
    /// From a batch's last record to its commit, as last seen.
    pub(crate) commit_took: Duration,
    pub(crate) stalls: &'a mut Stalls,
    pub(crate) retry_wait: &'a mut Duration,
    /// A batch could not be written, and none was since: the table's condition stays until one is, or there is none left.
    pub(crate) write_failed: &'a mut bool,
}

/// What the loop waits for.
enum Event {
    Told,
    ConnectionChanged,
    Widened,
    SchemasTold,
    SchemasDue,
    Advanced(Result<Option<Appended>, PipelineError>),
    Surveyed(Result<Survey, PipelineError>),
    Trouble,
    TopicsListed,
    SurveyDue,
    FlushDue,
    Filled,
}

/// What the loop remembers between two events.
pub(super) struct LoopState {
    /// When the oldest gathered record must be on its way.
    flush_at: Option<Instant>,
    flush_due: bool,
    /// Records may be waiting in the queue.
    more: bool,
    pub(super) survey_at: Instant,
    /// What was told of topics before does not count any more.
    doubted_at: std::time::Instant,
    surveying: Option<Surveying>,
    trouble: watch::Receiver<Option<Trouble>>,
}

impl LoopState {
    /// Something seems wrong: it is looked at soon, and by answers from now on.
    fn doubt(&mut self) {
        self.doubted_at = std::time::Instant::now();
        self.survey_at = self.survey_at.min(Instant::now() + limits::SURVEY_SOON);
    }
}

impl Session<'_> {
    /// Reads until there is a reason to end. Everything taken is committed, or the error, or the values that wait, say why not.
    pub(crate) async fn run(mut self) -> Result<SessionEnd, PipelineError> {
        let mut state = LoopState {
            flush_at: None,
            flush_due: false,
            more: true,
            survey_at: Instant::now() + self.survey_wait(),
            doubted_at: std::time::Instant::now(),
            surveying: None,
            trouble: self.source.client().trouble(),
        };
        self.stalls.clear();
        self.show_complaints();
        let ended = match self.read(&mut state).await {
            Ok(end @ (SessionEnd::TooLarge(..) | SessionEnd::Unread(_))) => Ok(end),
            Ok(end) => self.drain().await.map(|waits| waits.unwrap_or(end)),
            Err(error) => Err(error),
        };
        // Whatever holds the table's handle ends here: a table is opened again only when nobody has it open.
        if let Some(surveying) = state.surveying.take() {
            surveying.abort();
            drop(surveying.await);
        }
        self.stages.settle().await;
        self.keep_seen_ends();
        self.source.close().await;
        ended
    }

    async fn read(&mut self, state: &mut LoopState) -> Result<SessionEnd, PipelineError> {
        loop {
            if let Some(end) = self.gather(state) {
                return Ok(end);
            }
            if (state.flush_due || self.source.is_full()) && self.source.gathered_rows() > 0 && self.stages.has_room() {
                self.stages.start(self.source.cut())?;
                state.flush_at = None;
                state.flush_due = false;
                continue;
            }
            match self.next_event(state).await {
                Event::Told => {
                    if self.is_told_otherwise() {
                        return Ok(SessionEnd::Told);
                    }
                }
                Event::ConnectionChanged => {
                    if !self.is_as_it_was().await {
                        return Ok(SessionEnd::SourceChanged);
                    }
                }
                Event::Widened | Event::SchemasDue => return Ok(SessionEnd::SourceChanged),
                Event::SchemasTold => return Ok(SessionEnd::SchemasTold),
                Event::Advanced(advanced) => {
                    if let Some(end) = self.take_advanced(advanced)? {
                        return Ok(end);
                    }
                }
                Event::Trouble => self.show_trouble(state),
                Event::TopicsListed => {
                    if self.lookout.has_others().await? {
                        return Ok(SessionEnd::SourceChanged);
                    }
                }
                Event::SurveyDue => state.surveying = Some(self.start_survey(state.doubted_at)),
                Event::Surveyed(survey) => {
                    state.surveying = None;
                    if let Some(end) = self.take_survey(survey, state)? {
                        return Ok(end);
                    }
                }
                Event::FlushDue => state.flush_due = true,
                Event::Filled => state.more = true,
            }
        }
    }

    /// Takes one portion of what has arrived, so that other events get their turn between two.
    fn gather(&mut self, state: &mut LoopState) -> Option<SessionEnd> {
        if !state.more || self.source.is_full() {
            return None;
        }
        state.more = !self.source.take();
        if state.flush_at.is_none() && self.source.gathered_rows() > 0 {
            state.flush_at = Some(Instant::now() + self.gathering_time());
        }
        let mut refused = BTreeMap::new();
        for (partition, problem) in self.source.take_problems() {
            match problem {
                PartitionProblem::Refused(refusal) => drop(refused.insert(partition, refusal)),
                PartitionProblem::Unknown => state.doubt(),
                PartitionProblem::Other(message) => self.show_partition_error(&partition, &message),
            }
        }
        (!refused.is_empty()).then_some(SessionEnd::Refused(refused))
    }

    async fn next_event(&mut self, state: &mut LoopState) -> Event {
        let can_gather = !self.source.is_full();
        tokio::select! {
            biased;
            _ = self.desired.changed() => Event::Told,
            () = self.connection_changes.changed() => Event::ConnectionChanged,
            advanced = self.stages.advance(), if self.stages.is_busy() => Event::Advanced(advanced),
            () = widened(&mut self.widening) => Event::Widened,
            () = told(&mut self.schemas_told) => Event::SchemasTold,
            () = at(self.schemas_due) => Event::SchemasDue,
            survey = joined(&mut state.surveying) => Event::Surveyed(survey),
            Ok(()) = state.trouble.changed() => Event::Trouble,
            () = self.lookout.listed() => Event::TopicsListed,
            () = tokio::time::sleep_until(state.survey_at), if state.surveying.is_none() => Event::SurveyDue,
            () = at(state.flush_at), if !state.flush_due => Event::FlushDue,
            () = tokio::task::yield_now(), if state.more && can_gather => Event::Filled,
            () = self.source.filled(), if !state.more => Event::Filled,
        }
    }

    /// Whether the client that is open is still what would be opened. Where that cannot be told, opening anew tells why.
    async fn is_as_it_was(&mut self) -> bool {
        let (stream, run_as) = (&self.definition.spec, &self.definition.run_as);
        let answer = self.resolver.open(stream, run_as).await;
        if !answer.is_ok_and(|properties| properties.identity == self.identity) {
            return false;
        }
        match &self.registry_identity {
            None => stream.registry_connection().is_none(),
            Some(identity) => {
                let answer = self.resolver.open_registry(stream, run_as).await;
                answer.is_ok_and(|properties| properties.identity == *identity)
            }
        }
    }

    fn is_told_otherwise(&mut self) -> bool {
        let desired = self.desired.borrow_and_update();
        desired.stop || *desired.definition != *self.definition
    }

    /// Commits what was gathered, unless values have to wait.
    async fn drain(&mut self) -> Result<Option<SessionEnd>, PipelineError> {
        loop {
            if self.stages.has_room() && self.source.gathered_rows() > 0 {
                self.stages.start(self.source.cut())?;
            }
            if !self.stages.is_busy() {
                return Ok(None);
            }
            let advanced = self.stages.advance().await;
            if let Some(end) = self.take_advanced(advanced)? {
                return Ok(Some(end));
            }
        }
    }

    fn take_advanced(&mut self, advanced: Result<Option<Appended>, PipelineError>) -> Result<Option<SessionEnd>, PipelineError> {
        if matches!(advanced, Err(PipelineError::Table(_))) {
            *self.write_failed = true;
        }
        match advanced? {
            Some(Appended::Landed(landed)) => {
                self.show_landed(&landed);
                self.show_written();
                // What is on its way behind those is read again.
                Ok(self.stages.take_unread().map(SessionEnd::Unread))
            }
            // What is on its way behind it is read again.
            Some(Appended::TooLarge(partitions, why)) => Ok(Some(SessionEnd::TooLarge(partitions, why))),
            None => Ok(None),
        }
    }

    /// The table can be written again, or nothing is to be written.
    pub(super) fn show_written(&mut self) {
        if std::mem::take(self.write_failed) {
            self.board.set_condition(condition::TABLE_REACHABLE, None);
        }
    }

    fn show_landed(&mut self, landed: &Landed) {
        let table = self.table.state();
        let table = table.borrow();
        tracing::debug!(stream = %self.definition.spec.name, version = table.version, rows = landed.rows, "rows are committed");
        self.board.show_commit(&table, landed);
        self.board.set_condition(condition::COLUMNS_WIDENED, self.waiting.condition(&table));
        *self.retry_wait = limits::RETRY_WAIT_MIN;
        // Records that the filter does not keep are progress too.
        if landed.rows > 0 || landed.filtered > 0 {
            self.commit_took = landed.took;
            self.stalls.note_progress(&landed.positions);
            self.show_complaints();
            self.board
                .set_condition(condition::FILTER_ANSWERED, record_filter::condition(landed.unanswered));
        }
    }

    pub(super) fn show_complaints(&self) {
        self.board.set_condition(condition::PROGRESSING, self.stalls.complaint());
    }

    fn show_partition_error(&mut self, partition: &PartitionId, message: &str) {
        let (topic, number) = (&partition.topic, partition.partition);
        tracing::warn!(stream = %self.definition.spec.name, topic, partition = number, message, "a partition reports an error");
        self.stalls.note_error(partition, message);
        self.show_complaints();
    }

    fn show_trouble(&self, state: &mut LoopState) {
        let trouble = state.trouble.borrow_and_update().clone();
        let client = self.source.client();
        let unreachable = trouble.map(|trouble| looks::not_reached(&client.unreachable(&trouble.text)));
        if unreachable.is_some() {
            // One broker of several may be enough, or it is back already: asking tells.
            state.doubt();
        }
        self.board.set_condition(condition::SOURCE_REACHABLE, unreachable);
    }

    /// How long records are gathered: what is left of the flush interval when a commit takes as long as the last one.
    fn gathering_time(&self) -> Duration {
        let interval = self.definition.operations.flush_interval;
        interval - self.commit_took.min(interval / 2)
    }
}
