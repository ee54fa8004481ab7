//! From a recorded table state to partitions that can be read: the steps in order, each decided by `plan`.
//!
//! Invariant: what a commit must record before it is read (new partitions, restarted topics, moved positions) is handed
//! out first; reading starts only with [`Opening::attach`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use stream_spec::stream::{KafkaSource as KafkaSourceSpec, OnDataLoss};

use super::client::{AvailableRange, ClusterClient};
use super::complaints;
use super::deleted::{self, Unread};
use super::lookout::{Lookout, list_not_before};
use super::loss::{self, LossDecision, Refusal};
use super::options::{ClientOptions, KafkaOptions};
use super::plan::{self, AttachPlan, RecreatedTopic};
use super::pool::{ClientLease, ClientPool};
use super::refusals::Refusals;
use super::source::{BatchBounds, KafkaSource};
use super::subscription::Subscription;
use super::topics::{self, TopicState};
use crate::connection::ClientProperties;
use crate::error::{PipelineError, Retry};
use crate::limits;
use crate::position::{PartitionId, Position, Positions};
use crate::status::PipelineCondition;
use crate::table::{Loss, SourceIdentity, TableState};

/// What a stream is opened with.
pub(crate) struct OpenRequest<'a> {
    pub(crate) source: &'a KafkaSourceSpec,
    pub(crate) subscription: &'a Arc<Subscription>,
    pub(crate) discovery_interval: Duration,
    /// Ends of partitions as they were seen last.
    pub(crate) last_ends: &'a BTreeMap<PartitionId, i64>,
    pub(crate) on_data_loss: OnDataLoss,
    pub(crate) table: &'a TableState,
    /// Partitions whose recorded position the broker refused.
    pub(crate) refused: &'a Refusals,
    pub(crate) batch_bytes_max: usize,
}

impl OpenRequest<'_> {
    fn has_departed(&self, topic: &str) -> bool {
        self.table.source.departed.contains(topic)
    }

    /// Where a topic that was created again is read from. Nothing of one that departed is waited for, so nothing is lost, and the new one
    /// begins where it begins.
    fn policy_for(&self, topic: &str) -> OnDataLoss {
        if self.has_departed(topic) {
            OnDataLoss::Earliest
        } else {
            self.on_data_loss
        }
    }
}

/// What the table must have before a source is read.
#[derive(Debug, Default)]
pub(crate) struct SourceRecord {
    /// Positions of partitions that are new or move.
    pub(crate) positions: Positions,
    pub(crate) identity: SourceIdentity,
    /// What the positions that move pass over.
    pub(crate) losses: Vec<Loss>,
}

/// A source that is ready to be read, once `record` is committed.
pub(crate) struct Opening {
    lease: ClientLease,
    options: KafkaOptions,
    batch_bytes_max: usize,
    /// How other topics are heard of.
    lookout: Lookout,
    /// Topics as they were found.
    pub(crate) topics: BTreeMap<String, TopicState>,
    /// To be committed first; `None` when the table has it.
    pub(crate) record: Option<SourceRecord>,
    /// Where each partition is read from.
    pub(crate) attach: Positions,
    /// Partitions that are not read, and why.
    pub(crate) held: BTreeMap<PartitionId, String>,
    /// What is not as it should be.
    pub(crate) conditions: Vec<PipelineCondition>,
    /// Partitions that are not read and that can be decided about once their end is told: then the stream is to be opened again.
    pub(crate) undecided: BTreeSet<PartitionId>,
    /// Ends of partitions, as a read-committed reader sees them.
    pub(crate) ends: BTreeMap<PartitionId, i64>,
}

impl Opening {
    /// Asks the cluster and decides. Reads no record, changes nothing.
    pub(crate) async fn prepare(
        clients: &ClientPool,
        properties: &ClientProperties,
        request: OpenRequest<'_>,
    ) -> Result<Self, PipelineError> {
        let options = KafkaOptions::parse(request.source)?;
        let (lookout, mut lease) = choose(clients, properties, &options.client, &request).await?;
        let mut client = lease.client().clone();
        check_cluster(&client, request.table).await?;
        let found = topics::look_up(&client, lookout.names(), Instant::now()).await?;
        let found = topics::refuse_former(request.subscription.narrow(found), &request.table.source);
        let plan = plan::attach(&found, &request.table.positions, &request.table.source);
        plan.without_id.iter().for_each(|topic| topics::note_no_id(topic));
        if !lease.is_new()
            && plan
                .recreated
                .iter()
                .any(|recreated| request.policy_for(&recreated.topic) != OnDataLoss::Fail)
        {
            // A client that read the old topic takes the new one's leaders for outdated ones, as long as their epochs are lower, and
            // goes on asking those of the old one, which tell nothing and have nothing.
            client.retire();
            lease = clients.lease(properties, &options.client, lookout.names().clone()).await?;
            client = lease.client().clone();
            check_cluster(&client, request.table).await?;
        }
        let wanted = partitions_of(&plan);
        // Nothing is read while this is asked, so a leader that is away is not waited for long: the other partitions are
        // read meanwhile, and so are its own as soon as it is back, where they have a recorded position.
        let ranges = client.available_ranges(&wanted, limits::OFFSETS_WAIT).await?;
        if let Some((partition, error)) = ranges.untold.first_key_value() {
            let (count, topic, partition) = (ranges.untold.len(), &partition.topic, partition.partition);
            tracing::info!(count, topic, partition, %error, "the ranges of partitions are not known now");
        }
        let ranges = ranges.known;
        let mut opening = Self {
            lease,
            options,
            batch_bytes_max: request.batch_bytes_max,
            lookout,
            topics: found,
            record: None,
            attach: Positions::new(),
            held: BTreeMap::new(),
            conditions: Vec::new(),
            undecided: BTreeSet::new(),
            ends: ranges.iter().map(|(partition, range)| (partition.clone(), range.end)).collect(),
        };
        let mut record = SourceRecord {
            identity: request.table.source.clone(),
            ..SourceRecord::default()
        };
        record.identity.topic_ids.extend(plan.new_topic_ids);
        // One that is here again as it was goes on; another one of its name is decided about below.
        for partition in plan.resume.keys().chain(&plan.appeared) {
            record.identity.departed.remove(&partition.topic);
        }
        opening.resume(plan.resume, &ranges, &request, &mut record);
        opening.begin(plan.appeared, &ranges, &mut record);
        for recreated in &plan.recreated {
            opening.restart(recreated, &ranges, &request, &mut record);
        }
        opening.attach.extend(
            record
                .positions
                .iter()
                .filter(|(partition, _)| exists(&opening.topics, partition))
                .map(|(id, at)| (id.clone(), *at)),
        );
        if request.subscription.pattern().is_some() {
            plan.missing.iter().for_each(|topic| opening.depart(topic, &request, &mut record));
        }
        if !record.positions.is_empty() || record.identity != request.table.source {
            opening.record = Some(record);
        }
        opening.conditions = complaints::conditions(&client, &opening.lookout, &opening.topics, &opening.held);
        Ok(opening)
    }

    /// Lets go of a topic of a pattern that is not there any more, unless records of it are waited for.
    fn depart(&mut self, topic: &str, request: &OpenRequest<'_>, record: &mut SourceRecord) {
        let unread = deleted::unread(topic, &request.table.positions, request.last_ends);
        self.ends.extend(
            request
                .last_ends
                .iter()
                .filter(|(partition, _)| partition.topic == topic)
                .map(|(id, end)| (id.clone(), *end)),
        );
        if !unread.is_empty() && request.on_data_loss == OnDataLoss::Fail {
            self.held
                .extend(unread.iter().map(|unread| (unread.partition.clone(), unread.message())));
            return;
        }
        // One that was listed and never read leaves no trace.
        if awaited(request.table).contains(topic) {
            tracing::info!(
                topic,
                unread = unread.len(),
                "a topic of a pattern was deleted, and is waited for no longer"
            );
            record.losses.extend(unread.iter().map(Unread::loss));
            record.identity.depart(topic);
        }
    }

    /// Goes on at recorded positions, as far as the records at them are there.
    fn resume(
        &mut self,
        recorded: Positions,
        ranges: &BTreeMap<PartitionId, AvailableRange>,
        request: &OpenRequest<'_>,
        record: &mut SourceRecord,
    ) {
        for (partition, position) in recorded {
            let refusal = request.refused.of(&partition, position);
            let Some(range) = ranges.get(&partition).copied() else {
                if refusal.is_some() {
                    let message = loss::unknown_range_message(&partition, position);
                    self.held.insert(partition.clone(), message);
                    self.undecided.insert(partition);
                } else {
                    self.attach.insert(partition, position);
                }
                continue;
            };
            match loss::decide_loss(position, range, refusal, request.on_data_loss) {
                LossDecision::Resume => drop(self.attach.insert(partition, position)),
                LossDecision::Hold => {
                    let message = match refusal {
                        Some(Refusal::Truncated { at }) => loss::truncated_message(&partition, position, range, at),
                        Some(_) if position.next_offset >= range.earliest => loss::truncated_message(&partition, position, range, None),
                        _ => loss::lost_message(&partition, position, range),
                    };
                    self.held.insert(partition, message);
                }
                LossDecision::Move(next, cause) => {
                    let (topic, partition_number, wanted) = (&partition.topic, partition.partition, position.next_offset);
                    let (earliest, end, next_offset) = (range.earliest, range.end, next.next_offset);
                    tracing::warn!(
                        topic,
                        partition_number,
                        wanted,
                        earliest,
                        end,
                        next_offset,
                        ?cause,
                        "records are gone before they were read"
                    );
                    record.losses.push(loss::loss(&partition, cause, position, next));
                    record.positions.insert(partition, next);
                }
            }
        }
    }

    /// Begins with new partitions at their first record.
    fn begin(&mut self, appeared: BTreeSet<PartitionId>, ranges: &BTreeMap<PartitionId, AvailableRange>, record: &mut SourceRecord) {
        for partition in appeared {
            match ranges.get(&partition) {
                Some(range) => drop(record.positions.insert(partition, Position::new(range.earliest, 0))),
                None => drop(self.undecided.insert(partition)),
            }
        }
    }

    /// Reads a re-created topic anew, or holds it.
    fn restart(
        &mut self,
        recreated: &RecreatedTopic,
        ranges: &BTreeMap<PartitionId, AvailableRange>,
        request: &OpenRequest<'_>,
        record: &mut SourceRecord,
    ) {
        let recorded = &request.table.positions;
        let has_departed = request.has_departed(&recreated.topic);
        match plan::restart(recreated, recorded, ranges, request.policy_for(&recreated.topic)) {
            Some((positions, losses)) => {
                let losses = if has_departed { Vec::new() } else { losses };
                let (topic, recorded_id, id) = (&recreated.topic, &recreated.recorded_id, &recreated.id);
                tracing::warn!(topic, recorded_id, id, "a topic was created again and is read anew");
                record.identity.recreate(topic, id);
                record.identity.departed.remove(topic);
                record.positions.extend(positions);
                record.losses.extend(losses);
            }
            None => {
                // With all of its ranges the topic is held by the policy, which only another definition changes.
                let untold = recreated.partitions().filter(|partition| !ranges.contains_key(partition));
                self.undecided.extend(untold);
                if has_departed {
                    return;
                }
                let message = plan::recreated_message(recreated, recorded, ranges);
                let partitions = recorded.keys().filter(|partition| partition.topic == recreated.topic);
                // The new topic's ends say nothing about positions in the old one.
                self.ends.retain(|partition, _| partition.topic != recreated.topic);
                self.held.extend(partitions.map(|partition| (partition.clone(), message.clone())));
            }
        }
    }

    /// True when something that is missing may come soon.
    pub(crate) fn waits_for_source(&self) -> bool {
        let is_there = |state: &TopicState| matches!(state, TopicState::Found(_));
        !self.conditions.is_empty() || !self.undecided.is_empty() || !self.topics.values().all(is_there)
    }

    /// Starts reading. Topics that come are heard of by the lookout.
    pub(crate) async fn attach(self) -> Result<(KafkaSource, Lookout), PipelineError> {
        let bounds = BatchBounds {
            bytes_max: self.batch_bytes_max,
            records_max: self.options.batch_records_max.unwrap_or(usize::MAX),
        };
        let source = KafkaSource::attach(self.lease, &self.attach, bounds, self.options.include_headers).await?;
        Ok((source, self.lookout))
    }
}

/// Chooses the topics, and takes a client through which nobody else reads them.
async fn choose(
    clients: &ClientPool,
    properties: &ClientProperties,
    options: &ClientOptions,
    request: &OpenRequest<'_>,
) -> Result<(Lookout, ClientLease), PipelineError> {
    let lookout = Lookout::choose(
        request.subscription.clone(),
        clients,
        (properties, options),
        awaited(request.table),
        list_not_before(request.discovery_interval),
    );
    let lookout = lookout.await?;
    let lease = clients.lease(properties, options, lookout.names().clone()).await?;
    Ok((lookout, lease))
}

/// Refuses another cluster than the one that the positions belong to.
async fn check_cluster(client: &ClusterClient, table: &TableState) -> Result<(), PipelineError> {
    let id = client.cluster_id().await?;
    match &table.source.cluster_id {
        Some(recorded) if *recorded != id => Err(PipelineError::Source {
            reason: "ClusterChanged",
            message: format!(
                "the Kafka cluster at `{}` has the id `{id}`, and the stream's positions belong to the cluster `{recorded}`; point the connection \
                 back at that cluster, or make a new stream",
                client.bootstrap_servers()
            ),
            retry: Retry::No,
        }),
        _ => Ok(()),
    }
}

fn exists(topics: &BTreeMap<String, TopicState>, partition: &PartitionId) -> bool {
    match topics.get(&partition.topic) {
        Some(TopicState::Found(found)) => found.partitions.contains(&partition.partition),
        _ => false,
    }
}

fn partitions_of(plan: &AttachPlan) -> Vec<PartitionId> {
    let recreated = plan.recreated.iter().flat_map(RecreatedTopic::partitions);
    plan.resume
        .keys()
        .cloned()
        .chain(plan.appeared.iter().cloned())
        .chain(recreated)
        .collect()
}

/// Topics of which something is waited for, whether they are there or not.
fn awaited(table: &TableState) -> BTreeSet<String> {
    let recorded = table.positions.keys().map(|partition| &partition.topic);
    let mut awaited: BTreeSet<String> = recorded.chain(table.source.topic_ids.keys()).cloned().collect();
    awaited.retain(|topic| !table.source.has_departed(topic));
    awaited
}

/// True when the ends that were told allow to decide about a partition that could not be decided about at opening.
pub(crate) fn decidable(undecided: &BTreeSet<PartitionId>, ends: &BTreeMap<PartitionId, i64>) -> bool {
    undecided.iter().any(|partition| ends.contains_key(partition))
}

/// True when a cluster's topics differ from what was opened, so that the stream must be opened anew.
pub(crate) fn changed(before: &BTreeMap<String, TopicState>, now: &BTreeMap<String, TopicState>) -> bool {
    now.iter().any(|(topic, now)| match (before.get(topic), now) {
        (Some(TopicState::Found(before)), TopicState::Found(now)) => before != now,
        (_, TopicState::Found(_)) | (Some(TopicState::Found(_)), TopicState::Missing) => true,
        // A topic that the cluster does not tell about just now may be as it was.
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::topics::FoundTopic;

    #[test]
    fn only_an_end_that_a_partition_waits_for_opens_the_stream_again() {
        let partition = |partition| PartitionId {
            topic: "a".to_owned(),
            partition,
        };
        let undecided = BTreeSet::from([partition(1), partition(2)]);
        for (ends, expected) in [
            (vec![], false),
            (vec![(partition(0), 500)], false),
            (vec![(partition(0), 500), (partition(1), 0)], true),
            (vec![(partition(2), 99)], true),
        ] {
            assert_eq!(decidable(&undecided, &ends.iter().cloned().collect()), expected, "{ends:?}");
        }
        assert!(!decidable(&BTreeSet::new(), &BTreeMap::from([(partition(0), 500)])));
    }

    #[test]
    fn a_stream_is_opened_again_when_what_is_there_differs() {
        let found = |id: &str, partitions: &[i32]| {
            TopicState::Found(FoundTopic {
                id: Some(id.to_owned()),
                partitions: partitions.to_vec(),
                absent: Vec::new(),
                is_internal: false,
            })
        };
        let refused = || TopicState::Refused("no leader".to_owned());
        for (before, now, expected) in [
            (found("A", &[0]), found("A", &[0]), false),
            (found("A", &[0]), found("A", &[0, 1]), true),
            (found("A", &[0]), found("B", &[0]), true),
            (found("A", &[0]), TopicState::Missing, true),
            (TopicState::Missing, found("A", &[0]), true),
            (refused(), found("A", &[0]), true),
            (TopicState::Missing, TopicState::Missing, false),
            (found("A", &[0]), refused(), false),
            (TopicState::Missing, refused(), false),
        ] {
            let topics = |state: &TopicState| BTreeMap::from([("a".to_owned(), state.clone())]);
            assert_eq!(changed(&topics(&before), &topics(&now)), expected, "{before:?} {now:?}");
        }
    }
}
