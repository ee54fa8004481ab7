//! One look around while a stream reads: its table, the cluster's topics, and how far partitions reach.
//!
//! Invariant: a look changes nothing, and what streams of one client can share of it is asked for once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use crate::error::PipelineError;
use crate::kafka::client::ClusterClient;
use crate::kafka::lookout::list_not_before;
use crate::kafka::subscription::Subscription;
use crate::kafka::topic_list::TopicList;
use crate::kafka::topics::{self, TopicState};
use crate::limits;
use crate::position::PartitionId;
use crate::table::{TableError, TableHandle};

/// What is looked at.
pub(super) struct Scope {
    pub(super) client: Arc<ClusterClient>,
    pub(super) table: Arc<TableHandle>,
    pub(super) subscription: Arc<Subscription>,
    /// The list in which a pattern chooses.
    pub(super) list: Option<Arc<TopicList>>,
    pub(super) topics: BTreeSet<String>,
    pub(super) partitions: Vec<PartitionId>,
    /// How often the stream looks around.
    pub(super) interval: Duration,
    /// Answers from before do not count.
    pub(super) doubted_at: Instant,
}

/// What a look around found.
pub(super) struct Survey {
    /// As of when the list of topics is in which a pattern chooses.
    pub(super) listed_at: Option<Instant>,
    pub(super) topics: BTreeMap<String, TopicState>,
    pub(super) ends: BTreeMap<PartitionId, i64>,
    pub(super) table: Result<(), TableError>,
}

/// A look around that is under way.
pub(super) type Surveying = JoinHandle<Result<Survey, PipelineError>>;

impl Scope {
    /// Looks.
    pub(super) async fn look(self) -> Result<Survey, PipelineError> {
        let table = self.table.probe().await;
        let listed_at = match &self.list {
            Some(list) => Some(list.refresh(&self.client, list_not_before(self.interval)).await?),
            None => None,
        };
        // An answer that another stream got a moment ago does.
        let now = Instant::now();
        let lately = now.checked_sub(self.interval / limits::SHARED_ANSWER_PART).unwrap_or(now);
        let not_before = lately.max(self.doubted_at);
        let topics = topics::look_up(&self.client, &self.topics, not_before).await?;
        let topics = self.subscription.narrow(topics);
        // Of partitions whose topics are there, as far as their leaders tell.
        let is_there = |partition: &&PartitionId| matches!(topics.get(&partition.topic), Some(TopicState::Found(_)));
        let there: Vec<PartitionId> = self.partitions.iter().filter(is_there).cloned().collect();
        let ends = self.client.shared_ends.look_up(&self.client, &there, not_before).await?;
        Ok(Survey {
            listed_at,
            topics,
            ends,
            table,
        })
    }
}
