//! Keeps one stream going: opens its table, puts its definition in force, runs sessions, and waits out what fails.
//!
//! Nothing is carried over from a failed session but what the table records. Invariant: after any error the stream goes on
//! from the positions in the table's log, or stands still and says why.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use stream_spec::stream::KafkaSource;
use tokio::sync::watch;

use super::board::Board;
use super::failure::{Failure, failure_of};
use super::in_force::InForce;
use super::pin::{self, Pinned};
use super::provision::kafka_source;
use super::rows::RowMaker;
use super::session::{Session, SessionEnd};
use super::signals::ConnectionSignals;
use super::stages::Stages;
use super::stalls::Stalls;
use super::unread::AwaitedSchemas;
use super::waiting::Waiting;
use super::{Desired, jittered};
use crate::engine::{EngineShared, StreamDefinition};
use crate::error::{PipelineError, Retry};
use crate::kafka::open::{OpenRequest, Opening};
use crate::kafka::refusals::Refusals;
use crate::kafka::subscription::Subscription;
use crate::limits;
use crate::position::{PartitionId, Positions};
use crate::registry::RegistryClient;
use crate::status::{Phase, condition};
use crate::table::{Switch, TableHandle, TableState};

/// The task of one stream.
pub(crate) struct Runner {
    shared: Arc<EngineShared>,
    desired: watch::Receiver<Desired>,
    board: Board,
    table: Option<Arc<TableHandle>>,
    /// What the definition says that is read, with what a pattern was found to mean.
    subscription: Option<Arc<Subscription>>,
    /// Partitions whose recorded position the broker refused, until that is decided about.
    refused: Refusals,
    /// Partitions that wait for a column to be widened.
    waiting: Waiting,
    /// Partitions that wait for a schema to be told.
    awaited: AwaitedSchemas,
    stalls: Stalls,
    /// Kept between two sessions, with all that it was asked.
    registry: Option<Arc<RegistryClient>>,
    /// Tells when a connection is another one than it was when it was last asked for; `None` before that.
    connection_changes: Option<ConnectionSignals>,
    /// The wait after the next failure.
    retry_wait: Duration,
    /// A batch could not be written, and none was since.
    write_failed: bool,
    /// It was told to stop, and what it had in hand then could not be committed.
    cut_short: bool,
}

impl Runner {
    pub(crate) fn new(shared: Arc<EngineShared>, desired: watch::Receiver<Desired>, board: Board) -> Self {
        Self {
            shared,
            desired,
            board,
            table: None,
            subscription: None,
            refused: Refusals::default(),
            waiting: Waiting::default(),
            awaited: AwaitedSchemas::default(),
            stalls: Stalls::default(),
            registry: None,
            connection_changes: None,
            retry_wait: limits::RETRY_WAIT_MIN,
            write_failed: false,
            cut_short: false,
        }
    }

    /// Runs until told to stop; whether all that it had in hand then is committed.
    pub(crate) async fn run(mut self) -> bool {
        loop {
            let desired = self.desired.borrow_and_update().clone();
            if desired.stop {
                break;
            }
            match self.pass(&desired.definition).await {
                Ok(()) => {}
                Err(error) => self.wait_out(&desired.definition, error).await,
            }
        }
        self.close_table().await;
        self.board.clear_conditions();
        self.board.set_phase(Phase::Stopped);
        // A batch that still waits to be written again is in hand too.
        !self.cut_short && !self.write_failed
    }

    /// One pass from an open table to the end of a session.
    async fn pass(&mut self, definition: &Arc<StreamDefinition>) -> Result<(), PipelineError> {
        let table = self.open_table(definition).await?;
        let Some(pinned) = self.pin(definition, &table).await? else {
            return Ok(());
        };
        let rows = RowMaker::compile(definition, &pinned.in_force)?;
        self.put_in_force(definition, &pinned.in_force, &table).await?;
        self.board.show_subjects(&pinned.subjects);
        if let Some(registry) = &pinned.registry {
            self.registry = Some(registry.client.clone());
        }
        if !self.write_failed {
            self.board.set_condition(condition::TABLE_REACHABLE, None);
        }
        if definition.operations.paused {
            self.write_failed = false;
            self.board.clear_conditions();
            self.board.set_phase(Phase::Paused);
            return self.rest(&table).await;
        }
        self.board.set_phase(Phase::Running);
        self.read(definition, table, rows, pinned).await
    }

    /// What the stream is to decode by; nothing where it was told otherwise while its registry was asked.
    async fn pin(&mut self, definition: &StreamDefinition, table: &TableHandle) -> Result<Option<Pinned>, PipelineError> {
        if let Some(pinned) = pin::direct(definition)? {
            return Ok(Some(pinned));
        }
        let state = current(table);
        if definition.operations.paused
            && let Some(pinned) = pin::recorded(definition, &state)?
        {
            return Ok(Some(pinned));
        }
        self.connection_changes = Some(ConnectionSignals::follow(&self.shared.resolver, &definition.spec));
        tokio::select! {
            pinned = pin::find(&self.shared, definition, &state) => pinned.map(Some),
            _ = self.desired.changed() => Ok(None),
            () = changed(&mut self.connection_changes) => Ok(None),
        }
    }

    async fn open_table(&mut self, definition: &StreamDefinition) -> Result<Arc<TableHandle>, PipelineError> {
        if let Some(table) = &self.table {
            return Ok(table.clone());
        }
        let name = &definition.spec.ingestion.destination;
        let care = self.shared.settings.table_care.clone();
        let table = Arc::new(self.shared.warehouse.open_table(name, &definition.uid, care).await?);
        self.table = Some(table.clone());
        Ok(table)
    }

    /// Commits the definition if the table has an older one, and checks that the table is what the definition needs.
    async fn put_in_force(&self, definition: &StreamDefinition, in_force: &InForce, table: &TableHandle) -> Result<(), PipelineError> {
        let columns = &in_force.columns;
        let state = current(table);
        let has_other_versions = in_force.versions.is_some() && in_force.versions.as_ref() != state.registry.as_deref();
        if state.generation < definition.generation || has_other_versions {
            let switch = Switch {
                generation: definition.generation,
                columns: columns.clone(),
                positions: Default::default(),
                source: state.source,
                losses: Vec::new(),
                schemas: definition.schemas_in_force(),
                registry: in_force.versions.clone(),
            };
            let version = table.switch(switch).await?;
            tracing::info!(stream = %definition.spec.name, version, generation = definition.generation, "a definition is in force");
        }
        let state = current(table);
        state.expect_columns(&definition.spec.ingestion.destination, columns)?;
        self.board.show_table(&state);
        self.board.show_positions(&shown_positions(&state), &state.losses);
        Ok(())
    }

    /// Waits for another word, looking after the table meanwhile.
    async fn rest(&mut self, table: &TableHandle) -> Result<(), PipelineError> {
        loop {
            tokio::select! {
                _ = self.desired.changed() => return Ok(()),
                () = tokio::time::sleep(self.shared.settings.discovery_interval) => {
                    table.probe().await?;
                    self.board.show_table(&current(table));
                }
            }
        }
    }

    /// Reads until something else is wanted or found.
    async fn read(
        &mut self,
        definition: &Arc<StreamDefinition>,
        table: Arc<TableHandle>,
        rows: RowMaker,
        pinned: Pinned,
    ) -> Result<(), PipelineError> {
        let connection_changes = ConnectionSignals::follow(&self.shared.resolver, &definition.spec);
        self.connection_changes = Some(connection_changes.clone());
        let properties = self.shared.resolver.open(&definition.spec, &definition.run_as).await?;
        let state = current(&table);
        self.waiting.look_at(&state);
        self.board.set_condition(condition::COLUMNS_WIDENED, self.waiting.condition(&state));
        let source = kafka_source(definition)?;
        let subscription = self.subscription(source)?;
        let last_ends = self.board.ends();
        let request = OpenRequest {
            source,
            subscription: &subscription,
            discovery_interval: self.shared.settings.discovery_interval,
            last_ends: &last_ends,
            on_data_loss: definition.operations.on_data_loss,
            table: &state,
            refused: &self.refused,
            batch_bytes_max: self.shared.settings.batch_bytes_max,
        };
        let mut opening = tokio::select! {
            opening = Opening::prepare(&self.shared.clients, &properties, request) => opening?,
            // A cluster that is away must not keep a stream from hearing another word.
            _ = self.desired.changed() => return Ok(()),
            // Nor must one that is away, or that refuses the password, keep it from an address or a password that is right.
            () = changed(&mut self.connection_changes) => return Ok(()),
        };
        let identity = properties.identity.clone();
        drop(properties);
        if let Some(record) = opening.record.take() {
            let switch = Switch {
                generation: state.generation,
                columns: Vec::new(),
                positions: record.positions,
                source: record.identity,
                losses: record.losses,
                schemas: definition.schemas_in_force(),
                registry: None,
            };
            table.switch(switch).await?;
        }
        let state = current(&table);
        self.refused.decided(&state.positions, &opening.attach);
        self.waiting.hold(&mut opening.attach, &mut opening.held);
        self.awaited.hold(&mut opening.attach, &mut opening.held);
        let lookup = pinned.lookup(definition);
        self.show_schemas(&pinned);
        self.board.show_table(&state);
        self.board
            .show_partitions(&shown_positions(&state), &state.losses, &opening.ends, &opening.held);
        for condition_type in [condition::SOURCE_REACHABLE, condition::TOPICS_EXIST, condition::DATA_AVAILABLE] {
            let found = opening
                .conditions
                .iter()
                .find(|condition| condition.condition_type == condition_type);
            self.board.set_condition(condition_type, found.cloned());
        }
        let waits_for_source = opening.waits_for_source();
        let found_topics = std::mem::take(&mut opening.topics);
        let undecided = std::mem::take(&mut opening.undecided);
        let (source, lookout) = opening.attach().await?;
        let topic_ids = state.source.topic_ids.clone();
        let stages = Stages::new(source.client().clone(), table.clone(), topic_ids, rows, lookup.clone());
        let session = Session {
            definition: definition.clone(),
            discovery_interval: self.shared.settings.discovery_interval,
            board: &self.board,
            desired: &mut self.desired,
            connection_changes,
            resolver: &self.shared.resolver,
            identity,
            registry_identity: pinned.registry.as_ref().map(|registry| registry.identity.clone()),
            schemas_due: pinned.look_again(self.shared.settings.registry_restart_interval),
            schemas_told: self.awaited.told(lookup.as_ref()),
            table: table.clone(),
            lookout,
            topics: found_topics,
            waits_for_source,
            undecided,
            waiting: &self.waiting,
            widening: self.waiting.is_any().then(|| table.state()),
            source,
            stages,
            commit_took: limits::COMMIT_TIME_GUESS,
            stalls: &mut self.stalls,
            retry_wait: &mut self.retry_wait,
            write_failed: &mut self.write_failed,
        };
        let ended = session.run().await;
        self.cut_short = self.desired.borrow().stop && leaves_some(&ended);
        let end = ended?;
        if end == SessionEnd::Told {
            return Ok(());
        }
        self.take_end(definition, &table, end);
        // Changes of a source come in swarms, and none may make the stream spin.
        self.pause(limits::REOPEN_WAIT).await;
        Ok(())
    }

    /// Says what is not as it should be with the schemas of its registry.
    fn show_schemas(&self, pinned: &Pinned) {
        let available = self.awaited.condition(pinned.unavailable.as_ref());
        self.board.set_condition(condition::SCHEMAS_AVAILABLE, available);
        self.board.set_condition(condition::SCHEMAS_CURRENT, pinned.refused.clone());
    }

    /// Remembers what a session ended by, for the next one.
    fn take_end(&mut self, definition: &StreamDefinition, table: &TableHandle, end: SessionEnd) {
        match end {
            SessionEnd::Told | SessionEnd::SourceChanged => {}
            SessionEnd::TooLarge(partitions, why) => {
                tracing::info!(stream = %definition.spec.name, ?partitions, why, "partitions wait for a column to be widened");
                self.waiting.note(partitions, &why, &current(table));
            }
            SessionEnd::Unread(unread) => {
                tracing::info!(stream = %definition.spec.name, ?unread, "partitions wait for a schema");
                self.awaited.note(unread);
            }
            SessionEnd::SchemasTold => self.awaited.clear(),
            SessionEnd::Refused(partitions) => {
                // What was read before the refusal is committed, so the recorded position is the one that is refused.
                let positions = current(table).positions;
                for (partition, refusal) in partitions {
                    if let Some(position) = positions.get(&partition) {
                        self.refused.note(partition, *position, refusal);
                    }
                }
            }
        }
    }

    /// What the source's definition says that is read. What a pattern means is found out once, not with each session.
    fn subscription(&mut self, source: &KafkaSource) -> Result<Arc<Subscription>, PipelineError> {
        let said = Subscription::of(source)?;
        match &self.subscription {
            Some(known) if known.read() == said.read() => Ok(known.clone()),
            _ => Ok(self.subscription.insert(Arc::new(said)).clone()),
        }
    }

    /// Waits, but no longer than until another word is heard.
    async fn pause(&mut self, wait: Duration) {
        drop(tokio::time::timeout(jittered(wait), self.desired.changed()).await);
    }

    /// Shows an error, and waits until trying again makes sense.
    async fn wait_out(&mut self, definition: &Arc<StreamDefinition>, error: PipelineError) {
        let will_retry = error.retry() == Retry::Later;
        tracing::warn!(stream = %definition.spec.name, %error, will_retry, "a stream was interrupted; what it had not committed is read again");
        // Whatever the table's handle knows may be wrong now; the next pass reads the log.
        if matches!(error, PipelineError::Table(_)) {
            self.close_table().await;
        }
        let told_otherwise = {
            let desired = self.desired.borrow();
            desired.stop || !Arc::ptr_eq(&desired.definition, definition)
        };
        if told_otherwise {
            return;
        }
        match failure_of(&error) {
            Failure::Passing(condition) => {
                self.board.set_condition(condition.condition_type, Some(condition));
                let wait = self.retry_wait;
                self.retry_wait = (wait * 2).min(limits::RETRY_WAIT_MAX);
                tokio::select! {
                    _ = self.desired.changed() => {}
                    () = changed(&mut self.connection_changes) => self.retry_wait = limits::RETRY_WAIT_MIN,
                    () = tokio::time::sleep(jittered(wait)) => {}
                }
            }
            Failure::Lasting(phase) => {
                self.close_table().await;
                self.write_failed = false;
                self.board.clear_conditions();
                self.board.set_phase(phase);
                tokio::select! {
                    _ = self.desired.changed() => {}
                    () = changed(&mut self.connection_changes) => {}
                }
                self.retry_wait = limits::RETRY_WAIT_MIN;
                self.board.set_phase(Phase::Starting);
            }
        }
    }

    async fn close_table(&mut self) {
        if let Some(table) = self.table.take().and_then(Arc::into_inner) {
            table.close().await;
        }
    }
}

/// Returns once the connection is another one than it was when it was last asked for, and only then. A stream that never came to
/// ask for its connection does not wait for it.
async fn changed(connection_changes: &mut Option<ConnectionSignals>) {
    match connection_changes {
        Some(changes) => changes.changed().await,
        None => std::future::pending().await,
    }
}

/// Whether a session that ended so may have had rows in hand that are not committed.
fn leaves_some(ended: &Result<SessionEnd, PipelineError>) -> bool {
    matches!(ended, Err(_) | Ok(SessionEnd::TooLarge(..) | SessionEnd::Unread(_)))
}

/// The positions that say something: not those of topics that have departed, of which there may be ever more, unless something of
/// theirs was lost.
fn shown_positions(state: &TableState) -> Positions {
    let mut shown = state.positions.clone();
    let lost: BTreeSet<&PartitionId> = state.losses.iter().map(|loss| &loss.partition).collect();
    shown.retain(|partition, _| lost.contains(partition) || !state.source.has_departed(&partition.topic));
    shown
}

fn current(table: &TableHandle) -> TableState {
    table.state().borrow().clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_ends_with_values_that_wait_has_not_committed_all() {
        let waits = SessionEnd::TooLarge(Default::default(), "narrow".to_owned());
        assert!(leaves_some(&Ok(waits)));
        assert!(leaves_some(&Err(PipelineError::Internal { message: "m".to_owned() })));
        assert!(!leaves_some(&Ok(SessionEnd::Told)) && !leaves_some(&Ok(SessionEnd::SourceChanged)));
    }
}
