//! Where a new stream starts: a position for every partition that exists (product part K3).
//!
//! Invariant: a start position is a number when it leaves this file; "latest" is asked for once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use stream_spec::stream::KafkaSource;
use stream_spec::subscription::{Read, StartingOffset, StartingOffsets};

use super::client::AvailableRange;
use super::lookout::Lookout;
use super::options::{KafkaOptions, starting_offset};
use super::pool::ClientPool;
use super::subscription::Subscription;
use super::topics::{self, TopicState};
use crate::connection::ClientProperties;
use crate::error::PipelineError;
use crate::limits;
use crate::position::{PartitionId, Position, Positions};
use crate::table::SourceIdentity;

/// Resolves where a new stream starts, and whose positions they are.
///
/// A topic that `subscribe` names and that is not there is waited for: the stream was made to read it from now on. A pattern may mean
/// no topic yet, and partitions that are assigned may be added later; both start at their first record then.
pub(crate) async fn positions(
    clients: &ClientPool,
    properties: &ClientProperties,
    source: &KafkaSource,
) -> Result<(Positions, SourceIdentity), PipelineError> {
    let options = KafkaOptions::parse(source)?;
    let subscription = Arc::new(Subscription::of(source)?);
    let client = clients.visit(properties, &options.client).await?;
    let mut identity = SourceIdentity {
        cluster_id: Some(client.cluster_id().await?),
        ..SourceIdentity::default()
    };
    let now = Instant::now();
    let lookout = Lookout::choose(subscription.clone(), clients, (properties, &options.client), BTreeSet::new(), now).await?;
    let states = subscription.narrow(topics::look_up(&client, lookout.names(), now).await?);
    let mut partitions = Vec::new();
    for (topic, state) in states {
        match state {
            TopicState::Found(found) => {
                partitions.extend(found.partitions.iter().map(|partition| PartitionId {
                    topic: topic.clone(),
                    partition: *partition,
                }));
                match found.id {
                    Some(id) => drop(identity.topic_ids.insert(topic, id)),
                    None => topics::note_no_id(&topic),
                }
            }
            TopicState::Missing if matches!(subscription.read(), Read::Topics(_)) => {
                return Err(topics::missing(&client, &topic, subscription.attribute()));
            }
            TopicState::Missing => {}
            TopicState::Refused(why) => return Err(topics::refused(&client, &topic, &why)),
        }
    }
    expect_named(&options.starting_offsets, &partitions.iter().collect())?;
    let ranges = client.available_ranges(&partitions, limits::SOURCE_ANSWER_WAIT).await?;
    let mut positions = Positions::new();
    for partition in partitions {
        let range = *ranges
            .known
            .get(&partition)
            .ok_or_else(|| topics::untold(&client, &partition, ranges.untold.get(&partition)))?;
        let next_offset = start_offset(starting_offset(&options.starting_offsets, &partition), &partition, range)?;
        positions.insert(partition, Position::new(next_offset, 0));
    }
    Ok((positions, identity))
}

/// Refuses start positions of partitions that are not there: whoever names one thinks that it is.
fn expect_named(starts: &StartingOffsets, partitions: &BTreeSet<&PartitionId>) -> Result<(), PipelineError> {
    let StartingOffsets::PerPartition(named) = starts else {
        return Ok(());
    };
    let named = named.iter().flat_map(|(topic, offsets)| {
        offsets.keys().map(|partition| PartitionId {
            topic: topic.clone(),
            partition: *partition,
        })
    });
    let absent: Vec<String> = named
        .filter(|partition| !partitions.contains(partition))
        .map(|partition| format!("topic `{}` partition {}", partition.topic, partition.partition))
        .collect();
    if absent.is_empty() {
        return Ok(());
    }
    Err(PipelineError::Definition {
        message: format!(
            "`source_config.kafka_stream_config.extra_options.startingOffsets` names what the cluster does not have: {}; leave it out: \
             a partition that appears later starts at its first record",
            absent.join(", ")
        ),
    })
}

fn start_offset(start: StartingOffset, partition: &PartitionId, range: AvailableRange) -> Result<i64, PipelineError> {
    match start {
        StartingOffset::Earliest => Ok(range.earliest),
        StartingOffset::Latest => Ok(range.end),
        StartingOffset::At(offset) if (range.earliest..=range.end).contains(&offset) => Ok(offset),
        StartingOffset::At(offset) => Err(PipelineError::Definition {
            message: format!(
                "`source_config.kafka_stream_config.extra_options.startingOffsets`: topic `{}` partition {} has offsets {} to {}, not {offset}; \
                 choose one of them, -2 (earliest) or -1 (latest)",
                partition.topic, partition.partition, range.earliest, range.end,
            ),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_positions_of_partitions_that_are_not_there_are_all_named() {
        let starts = stream_spec::subscription::starting_offsets(r#"{"a": {"0": 3, "4": -2}, "b": {"0": -1}}"#).expect("legal");
        let partition = |topic: &str, partition| PartitionId {
            topic: topic.to_owned(),
            partition,
        };
        let there = [partition("a", 0), partition("a", 1)];
        let error = expect_named(&starts, &there.iter().collect()).expect_err("two are not there");
        let expected = "topic `a` partition 4, topic `b` partition 0;";
        assert!(error.to_string().contains(expected), "{error}");
        let more = [partition("a", 0), partition("a", 4), partition("b", 0), partition("b", 1)];
        assert!(expect_named(&starts, &more.iter().collect()).is_ok());
        assert!(expect_named(&StartingOffsets::Earliest, &BTreeSet::new()).is_ok());
    }
}
