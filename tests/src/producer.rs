//! A producer that remembers what the broker acknowledged: those records, and no others, are what a table must hold.
//! Invariant: a record counts once its delivery report came, in a transaction once the commit returned.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rdkafka::ClientContext;
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::{DeliveryResult, Header, Message, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer, ProducerContext};

use crate::kafka::{client_config, kafka};
use crate::limits::{BROKER_REQUEST, PRODUCER_FLUSH};

/// Enough for a commit to be sent, and not for its answer.
const UNHEARD: Duration = Duration::from_millis(1);

/// A record that the broker acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Acknowledged {
    /// Topic it is in.
    pub topic: String,
    /// Partition it is in.
    pub partition: i32,
    /// Offset that the broker gave it.
    pub offset: i64,
    /// Milliseconds since 1970, as the broker keeps them.
    pub timestamp_ms: Option<i64>,
    /// Key as sent.
    pub key: Option<Vec<u8>>,
    /// Value as sent; none is a tombstone.
    pub value: Option<Vec<u8>>,
}

/// A record to be sent.
#[derive(Clone, Debug, Default)]
pub struct Outgoing {
    /// Chosen by the producer when absent.
    pub partition: Option<i32>,
    /// Absent is a null key, not an empty one.
    pub key: Option<Vec<u8>>,
    /// Absent is a tombstone.
    pub value: Option<Vec<u8>>,
    /// The broker's clock when absent.
    pub timestamp_ms: Option<i64>,
    /// Names and values, in order; a value may be null.
    pub headers: Vec<(String, Option<Vec<u8>>)>,
}

impl Outgoing {
    /// A record with a key and a value.
    #[must_use]
    pub fn new(key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> Self {
        Self {
            key: Some(key.into()),
            value: Some(value.into()),
            ..Self::default()
        }
    }
}

#[derive(Default)]
struct Reports {
    delivered: Vec<Acknowledged>,
    failed: Vec<String>,
}

/// How a transaction is to end.
#[derive(Clone, Copy, Debug)]
pub enum Ending {
    /// By a commit.
    Commit,
    /// By an abort.
    Abort,
    /// By a commit whose answer nobody waits for.
    Unheard,
    /// Not at all.
    Open,
}

/// How a transaction ended.
pub enum Ended {
    /// With these records.
    Committed(Vec<Acknowledged>),
    /// No reader may see any of its records, now or when the next producer with its id comes.
    Aborted,
    /// Nobody was told: readers see all of these records, or none. The producer is of no further use.
    Unknown(Vec<Acknowledged>, KafkaError),
}

struct Context {
    reports: Arc<Mutex<Reports>>,
}

impl ClientContext for Context {}

impl ProducerContext for Context {
    type DeliveryOpaque = Box<Outgoing>;

    fn delivery(&self, result: &DeliveryResult<'_>, sent: Box<Outgoing>) {
        let mut reports = self.reports.lock().unwrap();
        match result {
            Ok(message) => reports.delivered.push(Acknowledged {
                topic: message.topic().to_owned(),
                partition: message.partition(),
                offset: message.offset(),
                timestamp_ms: message.timestamp().to_millis(),
                // What was sent, not what the report repeats: the client reports an empty value like an absent one.
                key: sent.key,
                value: sent.value,
            }),
            Err((error, _)) => reports.failed.push(error.to_string()),
        }
    }
}

/// A producer, for the shared broker unless another one is named.
pub struct RecordingProducer {
    producer: BaseProducer<Context>,
    reports: Arc<Mutex<Reports>>,
}

impl RecordingProducer {
    /// An idempotent producer without transactions.
    #[must_use]
    pub fn new() -> Self {
        Self::with(&[])
    }

    /// A transactional producer. A second one with the same id fences the first.
    #[must_use]
    pub fn transactional(id: &str) -> Self {
        let this = Self::with(&[("transactional.id", id)]);
        this.init_transactions();
        this
    }

    /// Makes a producer with a transactional id ready.
    pub fn init_transactions(&self) {
        until_done("init transactions", || self.producer.init_transactions(BROKER_REQUEST));
    }

    /// A producer with further librdkafka properties, `compression.type` for one.
    #[must_use]
    pub fn with(properties: &[(&str, &str)]) -> Self {
        Self::to(kafka().bootstrap(), properties)
    }

    /// The same for the broker at that address.
    #[must_use]
    pub fn to(bootstrap: &str, properties: &[(&str, &str)]) -> Self {
        let reports = Arc::new(Mutex::new(Reports::default()));
        let mut config = client_config(bootstrap);
        config
            .set("enable.idempotence", "true")
            .set("linger.ms", "5")
            .set("message.max.bytes", "33554432")
            .set("queue.buffering.max.messages", "200000")
            .set("queue.buffering.max.kbytes", "400000");
        for (name, value) in properties {
            config.set(*name, *value);
        }
        let context = Context {
            reports: Arc::clone(&reports),
        };
        Self {
            producer: config.create_with_context(context).expect("a producer"),
            reports,
        }
    }

    /// Hands one record to the client; [`Self::flush`] or [`Self::commit`] says what became of it.
    pub fn send(&self, topic: &str, record: &Outgoing) {
        self.try_send(topic, record)
            .unwrap_or_else(|error| panic!("produce to `{topic}`: {error}"));
    }

    /// The same for a transaction that may have failed already.
    ///
    /// # Errors
    /// The client's own words.
    pub fn try_send(&self, topic: &str, record: &Outgoing) -> KafkaResult<()> {
        let mut message = BaseRecord::<[u8], [u8], _>::with_opaque_to(topic, Box::new(record.clone()));
        message.partition = record.partition;
        message.key = record.key.as_deref();
        message.payload = record.value.as_deref();
        message.timestamp = record.timestamp_ms;
        if !record.headers.is_empty() {
            let headers = record.headers.iter().fold(OwnedHeaders::new(), |headers, (key, value)| {
                headers.insert(Header {
                    key,
                    value: value.as_ref(),
                })
            });
            message.headers = Some(headers);
        }
        loop {
            match self.producer.send(message) {
                Ok(()) => break,
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), returned)) => {
                    message = returned;
                    self.producer.poll(BROKER_REQUEST / 100);
                }
                Err((error, _)) => return Err(error),
            }
        }
        self.producer.poll(Duration::ZERO);
        Ok(())
    }

    /// Waits for all acknowledgements and returns those that came since the last call.
    #[must_use]
    pub fn flush(&self) -> Vec<Acknowledged> {
        self.producer.flush(PRODUCER_FLUSH).expect("flush");
        let mut reports = self.reports.lock().unwrap();
        assert!(reports.failed.is_empty(), "records were refused: {:?}", reports.failed);
        std::mem::take(&mut reports.delivered)
    }

    /// Sends records to one topic and waits for their acknowledgements.
    pub fn send_all(&self, topic: &str, records: &[Outgoing]) -> Vec<Acknowledged> {
        for record in records {
            self.send(topic, record);
        }
        self.flush()
    }

    /// Opens a transaction.
    pub fn begin(&self) {
        self.try_begin().expect("begin a transaction");
    }

    /// The same for a producer that may be of no use any more.
    ///
    /// # Errors
    /// The client's own words.
    pub fn try_begin(&self) -> KafkaResult<()> {
        self.producer.begin_transaction()
    }

    /// Ends the open transaction as wanted, or aborts it where that is not possible, while brokers come and go.
    pub fn end(&self, wanted: Ending) -> Ended {
        let sent = self.producer.flush(PRODUCER_FLUSH);
        let reports = std::mem::take(&mut *self.reports.lock().unwrap());
        let is_whole = sent.is_ok() && reports.failed.is_empty();
        match wanted {
            Ending::Commit if is_whole => match retried(|| self.producer.commit_transaction(BROKER_REQUEST)) {
                Ok(()) => return Ended::Committed(reports.delivered),
                Err(KafkaError::Transaction(error)) if error.txn_requires_abort() => {}
                Err(error) => return Ended::Unknown(reports.delivered, error),
            },
            Ending::Unheard if is_whole => {
                return match self.producer.commit_transaction(UNHEARD) {
                    Ok(()) => Ended::Committed(reports.delivered),
                    Err(error) => Ended::Unknown(reports.delivered, error),
                };
            }
            Ending::Open => return Ended::Aborted,
            Ending::Commit | Ending::Abort | Ending::Unheard => {}
        }
        // One that fails leaves it open, which is no other end: its commit was never asked for, or was refused.
        let _may_fail = retried(|| self.producer.abort_transaction(BROKER_REQUEST));
        Ended::Aborted
    }

    /// Commits the open transaction and returns its records.
    #[must_use]
    pub fn commit(&self) -> Vec<Acknowledged> {
        let records = self.flush();
        until_done("commit the transaction", || self.producer.commit_transaction(BROKER_REQUEST));
        records
    }

    /// Aborts the open transaction after its records reached the broker: they take offsets, and no reader may see them.
    pub fn abort(&self) {
        let _written_for_nothing = self.flush();
        until_done("abort the transaction", || self.producer.abort_transaction(BROKER_REQUEST));
    }
}

fn until_done(what: &str, step: impl Fn() -> KafkaResult<()>) {
    retried(step).unwrap_or_else(|error| panic!("{what}: {error}"));
}

/// Repeats a step of a transaction for as long as the client says that it may be repeated: it then goes on where it was.
fn retried(step: impl Fn() -> KafkaResult<()>) -> KafkaResult<()> {
    let deadline = Instant::now() + PRODUCER_FLUSH;
    loop {
        match step() {
            Err(KafkaError::Transaction(error)) if error.is_retriable() && Instant::now() < deadline => {}
            outcome => return outcome,
        }
    }
}

impl Default for RecordingProducer {
    fn default() -> Self {
        Self::new()
    }
}
