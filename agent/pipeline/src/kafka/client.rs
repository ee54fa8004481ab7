//! A client of one cluster, shared by streams: what it may be asked, and which topics of it are taken.
//!
//! Calls that block go to blocking threads and end within a bound. Invariant: a topic is read by at most one stream of a
//! client, because a client has one position per partition.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::{Offset, TopicPartitionList};
use stream_spec::subscription::INTERNAL_TOPICS;
use tokio::sync::watch;

use super::client_count::ClientCount;
use super::consumer::OpenConsumer;
use super::ends::SharedEnds;
use super::ffi::{self, NativeError, TopicDescription};
use super::options::ClientOptions;
use super::security::Security;
use super::trouble::{Trouble, TroubleKind};
use crate::connection::ClientProperties;
use crate::error::{PipelineError, Retry};
use crate::limits;
use crate::position::PartitionId;

/// The last answer about topics, or the error of a question that was asked then.
type LastAnswer = Result<Arc<Described>, (Instant, NativeError)>;

/// Topics as the cluster describes them, as of a moment.
#[derive(Debug)]
pub(crate) struct Described {
    /// The question left at this time: the answer is at least as new.
    asked_at: Instant,
    topics: BTreeMap<String, Result<TopicDescription, NativeError>>,
}

impl Described {
    /// The topic's description; `None` if it was not asked for.
    pub(crate) fn topic(&self, name: &str) -> Option<&Result<TopicDescription, NativeError>> {
        self.topics.get(name)
    }
}

/// First offset and end of a partition, as a read-committed reader sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AvailableRange {
    pub(crate) earliest: i64,
    pub(crate) end: i64,
}

/// Ranges of partitions, as far as their leaders told.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    pub(crate) known: BTreeMap<PartitionId, AvailableRange>,
    /// Why the range of a partition is not known.
    pub(crate) untold: BTreeMap<PartitionId, NativeError>,
}

/// Offsets of partitions, as far as their leaders told.
#[derive(Default)]
struct Offsets {
    told: BTreeMap<PartitionId, i64>,
    untold: BTreeMap<PartitionId, NativeError>,
}

/// A client of one cluster.
pub(crate) struct ClusterClient {
    pub(crate) consumer: Arc<OpenConsumer>,
    bootstrap_servers: String,
    security: Security,
    count: Arc<ClientCount>,
    /// Topics that a stream reads through this client.
    claimed: Mutex<BTreeSet<String>>,
    /// Set when this client must not be given to anyone any more.
    retired: AtomicBool,
    /// The last answer about topics. The lock is held while the cluster is asked, so that streams that want to know at
    /// the same time share one question.
    described: tokio::sync::Mutex<Option<LastAnswer>>,
    /// Whom to ask about topics, once that is known; forgotten when nobody answers.
    describer: Mutex<Option<Describer>>,
    /// Where partitions end, for all streams of this client.
    pub(crate) shared_ends: SharedEnds,
}

/// Who is asked about topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Describer {
    /// The broker that the cluster calls its controller.
    Controller,
    /// A certain broker. A cluster may call one its controller that it does not have, as librdkafka's mock does, and a question
    /// to that one would never leave.
    Broker(i32),
}

impl ClusterClient {
    /// Opens a client. Contacts no broker yet.
    pub(crate) async fn open(
        properties: &ClientProperties,
        options: &ClientOptions,
        count: &Arc<ClientCount>,
    ) -> Result<Arc<Self>, PipelineError> {
        let place = count.take_place()?;
        let (bootstrap_servers, security) = (properties.bootstrap_servers.clone(), Security::of(properties));
        let (properties, options) = (properties.clone(), options.clone());
        let consumer = blocking(move || OpenConsumer::open(&properties, &options, place)).await??;
        Ok(Arc::new(Self {
            consumer,
            bootstrap_servers,
            security,
            count: count.clone(),
            claimed: Mutex::default(),
            retired: AtomicBool::new(false),
            described: tokio::sync::Mutex::default(),
            describer: Mutex::default(),
            shared_ends: SharedEnds::default(),
        }))
    }

    /// Takes the topics for one stream, or none of them if another stream of this client has one, or the client is retired.
    pub(crate) fn claim(&self, topics: &BTreeSet<String>) -> bool {
        let mut claimed = self.claimed.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_retired() || !claimed.is_disjoint(topics) {
            return false;
        }
        claimed.extend(topics.iter().cloned());
        true
    }

    /// Gives topics back.
    pub(crate) fn release(&self, topics: &BTreeSet<String>) {
        self.claimed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|topic| !topics.contains(topic));
    }

    /// From now on, no stream gets this client; those that have it are not touched.
    pub(crate) fn retire(&self) {
        self.retired.store(true, Ordering::Release);
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Acquire)
    }

    /// What is wrong with the connection, for a condition; `None` while all is well.
    pub(crate) fn trouble(&self) -> watch::Receiver<Option<Trouble>> {
        self.consumer.trouble()
    }

    /// What is wrong with the connection at the moment.
    pub(crate) fn trouble_now(&self) -> Option<Trouble> {
        self.consumer.trouble().borrow().clone()
    }

    /// How it connects, for messages.
    pub(crate) fn security(&self) -> &Security {
        &self.security
    }

    /// What will keep this client from its cluster although it reads now: brokers look at a certificate when a connection is made,
    /// and at no other time.
    pub(crate) fn lasts_no_longer(&self) -> Option<PipelineError> {
        let (reason, problem) = self.security.shown_fault()?;
        Some(PipelineError::Source {
            reason,
            message: format!(
                "{problem}; records are read as long as the connections to Kafka at `{}` last, and no other comes about; put another one \
                 into the keystore",
                self.bootstrap_servers
            ),
            retry: Retry::Later,
        })
    }

    /// The address, for messages.
    pub(crate) fn bootstrap_servers(&self) -> &str {
        &self.bootstrap_servers
    }

    /// The cluster's id. The first question to a new client: it ends early when the client reports that it cannot connect.
    pub(crate) async fn cluster_id(&self) -> Result<String, PipelineError> {
        let id = tokio::select! {
            id = self.ask_cluster_id() => id?,
            () = self.in_trouble_for(limits::TROUBLE_PATIENCE) => None,
        };
        match id {
            Some(id) => {
                self.consumer.note_answer();
                Ok(id)
            }
            None => Err(self.unreachable("no broker answered in time")),
        }
    }

    /// Asks again and again, so that no thread is blocked for long on a cluster that is away.
    async fn ask_cluster_id(&self) -> Result<Option<String>, PipelineError> {
        let give_up_at = Instant::now() + limits::SOURCE_ANSWER_WAIT;
        while Instant::now() < give_up_at {
            let consumer = self.consumer.clone();
            let id = blocking(move || ffi::cluster_id(&consumer, limits::BLOCKING_SLICE)).await?;
            if id.is_some() {
                return Ok(id);
            }
        }
        Ok(None)
    }

    /// Returns when the connection has been in trouble for that long.
    async fn in_trouble_for(&self, patience: Duration) {
        let mut trouble = self.consumer.trouble();
        loop {
            if trouble.wait_for(Option::is_some).await.is_err() {
                return std::future::pending().await;
            }
            if tokio::time::timeout(patience, trouble.wait_for(Option::is_none)).await.is_err() {
                return;
            }
        }
    }

    /// Ids and partitions of topics, as of `not_before` or later. Asks at most once for all streams that wait.
    pub(crate) async fn describe(&self, topics: &BTreeSet<String>, not_before: Instant) -> Result<Arc<Described>, PipelineError> {
        let mut last = self.described.lock().await;
        match &*last {
            Some(Ok(known)) if known.asked_at >= not_before && topics.iter().all(|topic| known.topics.contains_key(topic)) => {
                return Ok(known.clone());
            }
            Some(Err((asked_at, error))) if *asked_at >= not_before => return Err(self.unreachable(&error.to_string())),
            _ => {}
        }
        let mut wanted = topics.clone();
        {
            let claimed = self.claimed.lock().unwrap_or_else(PoisonError::into_inner);
            if claimed.len() <= limits::DESCRIBED_TOGETHER_MAX {
                wanted.extend(claimed.iter().cloned());
            }
        }
        let wanted: Vec<String> = wanted.into_iter().collect();
        let asked_at = Instant::now();
        self.count.note_metadata_request();
        let answer = match self.await_broker(&wanted).await? {
            Ok(()) => ffi::describe_topics(&self.consumer, &wanted, self.describer(&wanted).await?, limits::DESCRIPTION_WAIT).await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(topics) => {
                self.consumer.note_answer();
                let described = Arc::new(Described {
                    asked_at,
                    topics: topics.into_iter().collect(),
                });
                *last = Some(Ok(described.clone()));
                Ok(described)
            }
            Err(error) => {
                *self.describer.lock().unwrap_or_else(PoisonError::into_inner) = None;
                let refusal = self.unreachable(&error.to_string());
                *last = Some(Err((asked_at, error)));
                Err(refusal)
            }
        }
    }

    /// Partitions of the topics that are claimed, as far as the last answer about topics has them, sorted.
    pub(crate) async fn claimed_partitions(&self) -> Vec<PartitionId> {
        let last = self.described.lock().await;
        let Some(Ok(known)) = &*last else { return Vec::new() };
        let claimed = self.claimed.lock().unwrap_or_else(PoisonError::into_inner);
        let described = claimed.iter().filter_map(|topic| Some((topic, known.topic(topic)?.as_ref().ok()?)));
        let partitions = described.flat_map(|(topic, description)| {
            description.partitions.iter().map(|partition| PartitionId {
                topic: topic.clone(),
                partition: *partition,
            })
        });
        partitions.collect()
    }

    /// The names of all topics that the cluster shows to this client.
    pub(crate) async fn list_topics(&self) -> Result<BTreeSet<String>, PipelineError> {
        // A new client that cannot connect says so early; one that is known to has the id.
        self.cluster_id().await?;
        if let Err(error) = self.await_broker(&INTERNAL_TOPICS.map(str::to_owned)).await? {
            return Err(self.unreachable(&error.to_string()));
        }
        self.count.note_metadata_request();
        let consumer = self.consumer.clone();
        let listed = blocking(move || {
            let metadata = consumer.client().fetch_metadata(None, limits::LISTING_WAIT)?;
            Ok::<BTreeSet<String>, KafkaError>(metadata.topics().iter().map(|topic| topic.name().to_owned()).collect())
        });
        match listed.await? {
            Ok(names) => {
                self.consumer.note_answer();
                Ok(names)
            }
            Err(error) => Err(self.unreachable(&error.to_string())),
        }
    }

    /// Waits, while the connection is in trouble, until a broker answers: librdkafka turns in circles, and keeps two threads
    /// busy, for as long as a question about topics has no broker to go to.
    async fn await_broker(&self, topics: &[String]) -> Result<Result<(), NativeError>, PipelineError> {
        let Some(topic) = topics.first().filter(|_| self.consumer.trouble().borrow().is_some()) else {
            return Ok(Ok(()));
        };
        let give_up_at = Instant::now() + limits::SOURCE_ANSWER_WAIT;
        loop {
            let (consumer, topic) = (self.consumer.clone(), topic.clone());
            let answer = blocking(move || consumer.client().fetch_metadata(Some(&topic), limits::BLOCKING_SLICE).map(drop)).await?;
            match answer {
                Ok(()) => return Ok(Ok(())),
                Err(error) if Instant::now() >= give_up_at => {
                    let code = error.rdkafka_error_code().unwrap_or(RDKafkaErrorCode::OperationTimedOut);
                    return Ok(Err(NativeError { code, text: String::new() }));
                }
                Err(_) => {}
            }
        }
    }

    /// Whom to ask about topics: looked up once for a client, because the cluster's metadata must be asked for.
    async fn describer(&self, topics: &[String]) -> Result<Describer, PipelineError> {
        let known = *self.describer.lock().unwrap_or_else(PoisonError::into_inner);
        let (None, Some(topic)) = (known, topics.first().cloned()) else {
            return Ok(known.unwrap_or(Describer::Controller));
        };
        let consumer = self.consumer.clone();
        let found = blocking(move || {
            let metadata = consumer.client().fetch_metadata(Some(&topic), limits::BLOCKING_SLICE).ok()?;
            let controller = ffi::controller(&consumer);
            let brokers = || metadata.brokers().iter().map(rdkafka::metadata::MetadataBroker::id);
            Some(match brokers().min() {
                Some(first) if !brokers().any(|broker| Some(broker) == controller) => Describer::Broker(first),
                _ => Describer::Controller,
            })
        });
        let found = found.await?;
        *self.describer.lock().unwrap_or_else(PoisonError::into_inner) = found;
        Ok(found.unwrap_or(Describer::Controller))
    }

    /// First offsets and read-committed ends, as far as the partitions' leaders tell within `wait`.
    pub(crate) async fn available_ranges(&self, partitions: &[PartitionId], wait: Duration) -> Result<Ranges, PipelineError> {
        let (earliest, ends) = tokio::try_join!(
            self.list_offsets(partitions, Offset::Beginning, wait),
            self.list_offsets(partitions, Offset::End, wait)
        )?;
        let mut ranges = Ranges {
            untold: earliest.untold.into_iter().chain(ends.untold).collect(),
            ..Ranges::default()
        };
        for (partition, earliest) in earliest.told {
            if let Some(end) = ends.told.get(&partition).copied() {
                ranges.known.insert(partition, AvailableRange { earliest, end });
            }
        }
        Ok(ranges)
    }

    /// Read-committed ends of partitions whose leader tells within `wait`.
    pub(crate) async fn ends(&self, partitions: &[PartitionId], wait: Duration) -> Result<BTreeMap<PartitionId, i64>, PipelineError> {
        Ok(self.list_offsets(partitions, Offset::End, wait).await?.told)
    }

    async fn list_offsets(&self, partitions: &[PartitionId], which: Offset, wait: Duration) -> Result<Offsets, PipelineError> {
        let mut offsets = Offsets::default();
        if partitions.is_empty() {
            return Ok(offsets);
        }
        let mut list = TopicPartitionList::with_capacity(partitions.len());
        for partition in partitions {
            list.add_partition_offset(&partition.topic, partition.partition, which)
                .map_err(|error| self.unreachable(&error.to_string()))?;
        }
        self.count.note_offset_request();
        match ffi::list_offsets(&self.consumer, &list, wait).await {
            Ok(answers) => {
                for (partition, answer) in answers {
                    match answer {
                        Ok(offset) => drop(offsets.told.insert(partition, offset)),
                        Err(error) => drop(offsets.untold.insert(partition, error)),
                    }
                }
            }
            // No partition has a leader, or none was found in time.
            Err(error) => {
                tracing::debug!(%error, "the offsets of partitions are not known now");
                offsets
                    .untold
                    .extend(partitions.iter().map(|partition| (partition.clone(), error.clone())));
            }
        }
        if !offsets.told.is_empty() {
            self.consumer.note_answer();
        }
        Ok(offsets)
    }

    /// The source cannot be reached; says where, and why: by what the client has met, else by `fallback`.
    pub(crate) fn unreachable(&self, fallback: &str) -> PipelineError {
        let trouble = self.trouble_now().unwrap_or_else(|| Trouble {
            kind: TroubleKind::Unreachable,
            text: fallback.to_owned(),
            fault: None,
        });
        PipelineError::Source {
            reason: trouble.reason(&self.security),
            message: trouble.message(&self.bootstrap_servers, &self.security),
            retry: Retry::Later,
        }
    }
}

/// Runs a call that blocks in a thread for such calls.
pub(crate) async fn blocking<Answer: Send + 'static>(call: impl FnOnce() -> Answer + Send + 'static) -> Result<Answer, PipelineError> {
    tokio::task::spawn_blocking(call).await.map_err(|error| PipelineError::Internal {
        message: format!("a blocking call ended early: {error}"),
    })
}
