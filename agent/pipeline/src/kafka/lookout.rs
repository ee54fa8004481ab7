//! Finds the topics of one stream: by name, or in the cluster's list of topics by a pattern.
//!
//! Invariant: a topic of a pattern is looked up from the moment in which a list has it, and one that the table records until it is
//! known to have departed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::client::blocking;
use super::options::ClientOptions;
use super::pool::ClientPool;
use super::subscription::{Matching, Subscription};
use super::topic_list::{TopicList, TopicNames};
use crate::connection::ClientProperties;
use crate::error::PipelineError;

/// Which topics a stream looks up, and how it hears of others.
pub(crate) struct Lookout {
    subscription: Arc<Subscription>,
    /// The topics to look up.
    names: BTreeSet<String>,
    /// Topics for which the pattern took too much work.
    undecided: BTreeSet<String>,
    /// Where a pattern chooses.
    list: Option<(Arc<TopicList>, watch::Receiver<Arc<TopicNames>>)>,
}

impl Lookout {
    /// Chooses topics: those that are named, or those that match in a list which is as of `not_before` or later, and those of which
    /// something is waited for.
    pub(crate) async fn choose(
        subscription: Arc<Subscription>,
        clients: &ClientPool,
        (properties, options): (&ClientProperties, &ClientOptions),
        awaited: BTreeSet<String>,
        not_before: Instant,
    ) -> Result<Self, PipelineError> {
        let mut lookout = Self {
            names: subscription.named(),
            undecided: BTreeSet::new(),
            list: None,
            subscription,
        };
        if lookout.subscription.pattern().is_none() {
            return Ok(lookout);
        }
        let list = clients.topic_list(properties);
        let mut listed = list.names();
        let client = clients.visit(properties, options).await?;
        list.refresh(&client, not_before).await?;
        let names = listed.borrow_and_update().clone();
        lookout.list = Some((list, listed));
        let matching = lookout.matching(names).await?;
        lookout.names = awaited;
        lookout.names.extend(matching.topics);
        lookout.undecided = matching.undecided;
        Ok(lookout)
    }

    /// The topics to look up.
    pub(crate) fn names(&self) -> &BTreeSet<String> {
        &self.names
    }

    /// Topics for which the pattern took too much work.
    pub(crate) fn undecided(&self) -> &BTreeSet<String> {
        &self.undecided
    }

    /// What the stream reads.
    pub(crate) fn subscription(&self) -> &Arc<Subscription> {
        &self.subscription
    }

    /// The list in which a pattern chooses.
    pub(crate) fn list(&self) -> Option<&Arc<TopicList>> {
        self.list.as_ref().map(|(list, _)| list)
    }

    /// Returns when the list has other names than before; never where none is used. Cancel safe.
    pub(crate) async fn listed(&mut self) {
        if let Some((_, listed)) = &mut self.list
            && listed.changed().await.is_ok()
        {
            return;
        }
        std::future::pending().await
    }

    /// Whether the list has a topic for the stream that is not looked up yet.
    pub(crate) async fn has_others(&mut self) -> Result<bool, PipelineError> {
        let Some((_, listed)) = &mut self.list else { return Ok(false) };
        let names = listed.borrow_and_update().clone();
        let matching = self.matching(names).await?;
        Ok(!matching.topics.is_subset(&self.names) || !matching.undecided.is_subset(&self.undecided))
    }

    async fn matching(&self, names: Arc<TopicNames>) -> Result<Matching, PipelineError> {
        let subscription = self.subscription.clone();
        blocking(move || subscription.matching(&names)).await
    }
}

/// The moment from which on a list is new enough, for a stream that looks around once in such an interval: four fifths of it, the
/// shortest time between two looks, so that one stream alone asks at each of them and many together hardly more often.
pub(crate) fn list_not_before(interval: Duration) -> Instant {
    let now = Instant::now();
    now.checked_sub(interval * 4 / 5).unwrap_or(now)
}
