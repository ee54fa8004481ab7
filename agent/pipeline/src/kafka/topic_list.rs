//! The names of all topics of a cluster, asked for once for all streams that choose by pattern.
//!
//! Invariant: however many streams there are, the cluster is asked for a whole list no more often than one of them finds the last
//! one too old; readers are woken only by a list with other names.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tokio::sync::{Mutex, watch};

use super::client::ClusterClient;
use crate::error::PipelineError;

/// Names of topics.
pub(crate) type TopicNames = BTreeSet<String>;

/// When a list was asked for, and why it did not come.
type Asked = Result<Instant, (Instant, String)>;

/// The topics that one identity sees in one cluster.
#[derive(Default)]
pub(crate) struct TopicList {
    /// The lock is held while the cluster is asked, so that streams which want to know at the same time share one question.
    last: Mutex<Option<Asked>>,
    names: watch::Sender<Arc<TopicNames>>,
    /// Whole lists that were asked for.
    questions: AtomicU64,
}

impl TopicList {
    /// The list, as it changes; empty before the first question.
    pub(crate) fn names(&self) -> watch::Receiver<Arc<TopicNames>> {
        self.names.subscribe()
    }

    /// Sees to it that the list is as of `not_before` or later, and says as of when it is. Asks through this client if need be.
    pub(crate) async fn refresh(&self, client: &ClusterClient, not_before: Instant) -> Result<Instant, PipelineError> {
        let called_at = Instant::now();
        let mut last = self.last.lock().await;
        match &*last {
            Some(Ok(asked_at)) if *asked_at >= not_before => return Ok(*asked_at),
            // Whoever waited for an answer that did not come asks no second time.
            Some(Err((asked_at, error))) if *asked_at >= called_at => return Err(client.unreachable(error)),
            _ => {}
        }
        let asked_at = Instant::now();
        let questions = self.questions.fetch_add(1, Ordering::Relaxed) + 1;
        let listed = client.list_topics().await;
        match listed {
            Ok(names) => {
                tracing::debug!(
                    bootstrap_servers = client.bootstrap_servers(),
                    topics = names.len(),
                    questions,
                    "topics were listed"
                );
                self.names.send_if_modified(|known| {
                    let changed = **known != names;
                    if changed {
                        *known = Arc::new(names);
                    }
                    changed
                });
                *last = Some(Ok(asked_at));
                Ok(asked_at)
            }
            Err(error) => {
                *last = Some(Err((asked_at, error.to_string())));
                Err(error)
            }
        }
    }

    /// Whole lists that were asked for so far.
    #[cfg(test)]
    pub(crate) fn questions(&self) -> u64 {
        self.questions.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::JoinSet;

    use super::*;
    use crate::kafka::testing::Cluster;

    #[tokio::test]
    async fn streams_that_want_a_list_at_the_same_time_share_one_question_whichever_client_they_have() {
        let cluster = Cluster::new(1);
        let leases = [cluster.lease().await, cluster.lease().await];
        assert!(!Arc::ptr_eq(leases[0].client(), leases[1].client()), "both read one topic");
        let list = cluster.topic_list();
        assert!(Arc::ptr_eq(&list, &cluster.topic_list()));
        let mut names = list.names();
        let now = Instant::now();
        let mut looks = JoinSet::new();
        for number in 0..50 {
            let (list, client) = (list.clone(), leases[number % 2].client().clone());
            looks.spawn(async move { list.refresh(&client, now).await.expect("an answer") });
        }
        let answers: BTreeSet<Instant> = looks.join_all().await.into_iter().collect();
        assert_eq!((answers.len(), list.questions()), (1, 1));
        assert!(names.has_changed().expect("open"));
        assert_eq!(**names.borrow_and_update(), BTreeSet::from(["orders".to_owned()]));

        // A list that says the same wakes nobody.
        list.refresh(leases[0].client(), Instant::now()).await.expect("an answer");
        assert!(list.questions() == 2 && !names.has_changed().expect("open"));
        cluster.create_topic("more", 1);
        list.refresh(leases[1].client(), Instant::now()).await.expect("an answer");
        assert!(names.has_changed().expect("open"));
    }
}
