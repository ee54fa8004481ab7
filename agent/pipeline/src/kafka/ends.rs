//! Where partitions end, asked for once for all streams of a client that want to know at about the same time.
//!
//! Invariant: an answer that is used was asked for no earlier than whoever uses it wants.

use std::collections::BTreeMap;
use std::time::Instant;

use tokio::sync::Mutex;

use super::client::ClusterClient;
use crate::error::PipelineError;
use crate::limits;
use crate::position::PartitionId;

/// When a partition's leader was asked for its end, and what it told.
type AskedEnd = (Instant, Option<i64>);

/// The ends of a client's partitions.
#[derive(Default)]
pub(crate) struct SharedEnds {
    /// The lock is held while leaders are asked, so that streams which want to know at the same time share one question.
    last: Mutex<BTreeMap<PartitionId, AskedEnd>>,
}

impl SharedEnds {
    /// Read-committed ends of partitions whose leaders tell, as of `not_before` or later. A question takes partitions of the client's
    /// other streams along.
    pub(crate) async fn look_up(
        &self,
        client: &ClusterClient,
        partitions: &[PartitionId],
        not_before: Instant,
    ) -> Result<BTreeMap<PartitionId, i64>, PipelineError> {
        let mut last = self.last.lock().await;
        let is_known = |partition: &PartitionId| last.get(partition).is_some_and(|(asked_at, _)| *asked_at >= not_before);
        if !partitions.iter().all(is_known) {
            let claimed = client.claimed_partitions().await;
            let wanted = with_others(partitions, &claimed, limits::OFFSETS_TOGETHER_MAX);
            let asked_at = Instant::now();
            let told = client.ends(&wanted, limits::OFFSETS_WAIT).await?;
            last.retain(|partition, _| claimed.binary_search(partition).is_ok());
            last.extend(wanted.into_iter().map(|partition| {
                let end = told.get(&partition).copied();
                (partition, (asked_at, end))
            }));
        }
        let end = |partition: &PartitionId| Some((partition.clone(), last.get(partition)?.1?));
        Ok(partitions.iter().filter_map(end).collect())
    }
}

/// These partitions, and of the others, which are sorted, those that come behind the first of these, round and round, up to so many
/// together.
fn with_others(partitions: &[PartitionId], others: &[PartitionId], max: usize) -> Vec<PartitionId> {
    let begin = partitions.first().map_or(0, |first| others.partition_point(|other| other <= first));
    let (before, behind) = others.split_at(begin);
    let mut wanted: BTreeMap<&PartitionId, ()> = partitions.iter().map(|partition| (partition, ())).collect();
    for other in behind.iter().chain(before) {
        if wanted.len() >= max {
            break;
        }
        wanted.insert(other, ());
    }
    wanted.into_keys().cloned().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tokio::task::JoinSet;

    use super::*;
    use crate::kafka::testing::Cluster;
    use crate::kafka::topics;

    fn at(topic: usize) -> PartitionId {
        PartitionId {
            topic: format!("topic-{topic:02}"),
            partition: 0,
        }
    }

    #[tokio::test]
    async fn streams_that_want_ends_at_the_same_time_share_one_question() {
        let cluster = Cluster::new(1);
        let mut leases = Vec::new();
        for number in 0..30 {
            cluster.create_topic(&at(number).topic, 1);
            leases.push(cluster.lease_of(&at(number).topic).await);
        }
        let (client, now) = (leases[0].client().clone(), Instant::now());
        for number in [3, 3, 7] {
            cluster.send_to(&at(number).topic, 0, None, Some("a"));
        }
        topics::look_up(&client, &BTreeSet::from([at(0).topic]), now).await.expect("topics");
        let ask_all = async |not_before: Instant| {
            let mut looks = JoinSet::new();
            for (number, lease) in leases.iter().enumerate() {
                let client = lease.client().clone();
                looks.spawn(async move { client.shared_ends.look_up(&client, &[at(number)], not_before).await.expect("ends") });
            }
            let ends: BTreeMap<PartitionId, i64> = looks.join_all().await.into_iter().flatten().collect();
            assert_eq!(ends.len(), 30);
            (ends[&at(3)], ends[&at(7)], ends[&at(8)])
        };
        assert_eq!((ask_all(now).await, cluster.count().offset_requests()), ((2, 1, 0), 1));
        cluster.send_to(&at(8).topic, 0, None, Some("a"));
        assert_eq!(
            (ask_all(now).await, cluster.count().offset_requests()),
            ((2, 1, 0), 1),
            "it is new enough"
        );
        let now = Instant::now();
        assert_eq!((ask_all(now).await, cluster.count().offset_requests()), ((2, 1, 1), 2));
    }

    #[test]
    fn a_question_takes_as_many_others_along_as_it_may() {
        let claimed: Vec<PartitionId> = (0..6).map(at).collect();
        let numbers = |own: &[usize], max: usize| {
            let own: Vec<PartitionId> = own.iter().copied().map(at).collect();
            let wanted = with_others(&own, &claimed, max);
            (0..8).filter(|number| wanted.contains(&at(*number))).collect::<Vec<usize>>()
        };
        assert_eq!(numbers(&[1], 100), [0, 1, 2, 3, 4, 5]);
        assert_eq!(
            numbers(&[4], 4),
            [0, 1, 4, 5],
            "beginning behind its own, so that others' questions have other ones"
        );
        assert_eq!(numbers(&[7, 1], 4), [0, 1, 2, 7], "also what nobody has claimed");
        assert_eq!(numbers(&[1, 2, 3], 2), [1, 2, 3], "never fewer than its own");
        assert_eq!(numbers(&[], 2), [0, 1]);
    }
}
