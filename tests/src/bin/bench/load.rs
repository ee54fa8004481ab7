//! A producer at a steady rate, which notes when each record was sent and where the broker put it. Invariant: the rate is kept
//! by the clock: after a pause of the machine the records that are due are sent at once, with the time of their sending.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use e2e::kafka::{client_config, kafka};
use e2e::limits::PRODUCER_FLUSH;
use e2e::transactions::Transactions;
use rdkafka::ClientContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{DeliveryResult, Message};
use rdkafka::producer::{BaseRecord, Producer, ProducerContext, ThreadedProducer};

/// Time between two looks at what is due.
const TICK: Duration = Duration::from_millis(2);

/// A record that the broker has.
pub(crate) struct Stamp {
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    /// Microseconds since the load's start at which it was handed to the client.
    pub(crate) sent_us: u64,
}

/// What was sent.
#[derive(Default)]
pub(crate) struct Sent {
    pub(crate) records: u64,
    /// Of every record, if they were asked for.
    pub(crate) stamps: Vec<Stamp>,
}

/// Whether every record's time is kept: some 24 bytes each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stamps {
    Kept,
    Dropped,
}

/// A load that runs.
pub(crate) struct Load {
    started: Instant,
    sent: Arc<Mutex<Sent>>,
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Load {
    /// Starts to send `per_second` records a second to a topic, gathered into requests for `linger_ms`.
    pub(crate) fn start(topic: &str, per_second: u64, linger_ms: u64, stamps: Stamps) -> Self {
        let sent = Arc::new(Mutex::new(Sent::default()));
        let context = Context {
            sent: Arc::clone(&sent),
            stamps,
        };
        let mut config = client_config(kafka().bootstrap());
        config.set("enable.idempotence", "true").set("linger.ms", linger_ms.to_string());
        // A thread of its own takes the acknowledgements: with one of them per tick the client's queue filled up, and the pace
        // was that of the ticks.
        let producer: ThreadedProducer<Context> = config.create_with_context(context).unwrap();
        let (stop, stopped) = channel();
        let started = Instant::now();
        let topic = topic.to_owned();
        let thread = thread::spawn(move || {
            let mut events = Transactions::new(11);
            let mut count = 0;
            while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                let due = u64::try_from(started.elapsed().as_micros()).unwrap() * per_second / 1_000_000;
                while count < due {
                    let event = events.next_record();
                    let sent_us = usize::try_from(started.elapsed().as_micros()).unwrap();
                    // Without the event's own time, which is years ago: retention by time would take the record at once.
                    let record = BaseRecord::with_opaque_to(&topic, sent_us)
                        .key(event.key.as_deref().unwrap())
                        .payload(event.value.as_deref().unwrap());
                    match producer.send(record) {
                        Ok(()) => count += 1,
                        // The broker stands still: what is due stays due.
                        Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), _)) => break,
                        Err((error, _)) => panic!("send: {error}"),
                    }
                }
            }
            producer.flush(PRODUCER_FLUSH).unwrap();
        });
        Self {
            started,
            sent,
            stop,
            thread,
        }
    }

    /// What the stamps count from.
    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    /// Records that the broker has so far.
    pub(crate) fn records(&self) -> u64 {
        self.sent.lock().unwrap().records
    }

    /// Ends, waits for the last acknowledgement, and tells what was sent.
    pub(crate) fn stop(self) -> Sent {
        self.stop.send(()).unwrap();
        self.thread.join().unwrap();
        std::mem::take(&mut self.sent.lock().unwrap())
    }
}

struct Context {
    sent: Arc<Mutex<Sent>>,
    stamps: Stamps,
}

impl ClientContext for Context {}

impl ProducerContext for Context {
    type DeliveryOpaque = usize;

    fn delivery(&self, result: &DeliveryResult<'_>, sent_us: usize) {
        let message = result.as_ref().unwrap_or_else(|(error, _)| panic!("a record was refused: {error}"));
        let mut sent = self.sent.lock().unwrap();
        sent.records += 1;
        if self.stamps == Stamps::Kept {
            sent.stamps.push(Stamp {
                partition: message.partition(),
                offset: message.offset(),
                sent_us: u64::try_from(sent_us).unwrap(),
            });
        }
    }
}
