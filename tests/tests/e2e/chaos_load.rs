//! What is written while brokers come and go: transactions over every partition that there is, committed, aborted, left open until
//! their producer is fenced, and committed without anybody hearing of it. Invariant: each record has a number of its own, and each
//! transaction is known to be committed, not to be, or to be one of which nobody was told.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use apache_avro::types::Value as AvroValue;
use apache_avro::writer::datum::GenericDatumWriter;
use e2e::limits::STREAM_SETTLES;
use e2e::producer::{Acknowledged, Ended, Ending, Outgoing, RecordingProducer};
use e2e::random::Random;
use e2e::wait::wait_until;
use serde_json::json;

use crate::fire::Stop;
use crate::rows::Origin;

/// Most records of a transaction.
const TRANSACTION_MAX: usize = 30;
/// Between two transactions at least, so that an hour's records can still be compared one by one.
const PACE: Duration = Duration::from_millis(100);
/// For so long the brokers leave a transaction open: longer than they are away.
const TRANSACTION_MILLIS: &str = "240000";
/// A broker that hangs is given up after that, so that its partitions' new leader is asked.
const SOCKET_MILLIS: &str = "10000";
/// New partitions are known after that; a transaction that meets one before is aborted.
const REFRESH_MILLIS: &str = "500";
/// Ids of the producer that goes on, and of those that leave a transaction open.
const STEADY: &str = "chaos";
const FORGETFUL: &str = "chaos-forgetful";

/// A topic as it is now.
#[derive(Clone, Default)]
pub(crate) struct Target {
    pub(crate) partitions: i32,
    /// How often a topic of this name was made.
    pub(crate) life: usize,
    /// Ids of the registered schemas that its payloads are written by, the first version first; JSON without any.
    pub(crate) schemas: Vec<u32>,
}

/// Topics by name.
pub(crate) type Targets = Arc<Mutex<BTreeMap<String, Target>>>;

/// A producer that goes on in a thread of its own.
pub(crate) struct Load {
    stop: Stop,
    ended: Arc<AtomicUsize>,
    thread: JoinHandle<Produced>,
}

/// A record that the brokers acknowledged.
pub(crate) struct Sent {
    pub(crate) number: i64,
    pub(crate) origin: Origin,
    /// Of the topic.
    pub(crate) life: usize,
}

/// What it did.
#[derive(Default)]
pub(crate) struct Produced {
    pub(crate) committed: Vec<Sent>,
    /// Transactions of which nobody was told how they ended.
    pub(crate) unknown: Vec<Vec<Sent>>,
    pub(crate) transactions: usize,
    pub(crate) aborted: usize,
    pub(crate) fenced: usize,
}

impl Load {
    pub(crate) fn start(bootstrap: &str, targets: &Targets, seed: u64) -> Self {
        let (stop, ended) = (Stop::default(), Arc::new(AtomicUsize::new(0)));
        let (bootstrap, targets, stopped, count) = (bootstrap.to_owned(), Arc::clone(targets), stop.clone(), Arc::clone(&ended));
        let thread = thread::spawn(move || {
            let mut writer = Writer::new(bootstrap, targets, seed);
            let mut at = Instant::now();
            while !stopped.is_now() {
                writer.transaction();
                count.fetch_add(1, Ordering::Relaxed);
                at = (at + PACE).max(Instant::now());
                wait_until("the next transaction's time", STREAM_SETTLES, || {
                    if Instant::now() >= at { Ok(()) } else { Err("not yet") }
                });
            }
            // What it left open is passed over once it is aborted.
            writer.fence();
            drop(open(&writer.bootstrap, STEADY));
            writer.produced
        });
        Self { stop, ended, thread }
    }

    /// Transactions that have ended.
    pub(crate) fn ended(&self) -> usize {
        assert!(!self.thread.is_finished(), "the producer ended");
        self.ended.load(Ordering::Relaxed)
    }

    pub(crate) fn end(self) -> Produced {
        self.stop.now();
        self.thread.join().unwrap()
    }
}

struct Writer {
    bootstrap: String,
    targets: Targets,
    random: Random,
    /// `None` where it is of no further use.
    producer: Option<RecordingProducer>,
    /// One that has left a transaction open.
    forgetful: Option<RecordingProducer>,
    /// Topics that were made when the producer was: a client may hold on to what it knew of a topic that was made again.
    made: usize,
    next: i64,
    produced: Produced,
}

impl Writer {
    fn new(bootstrap: String, targets: Targets, seed: u64) -> Self {
        Self {
            bootstrap,
            targets,
            random: Random::new(seed),
            producer: None,
            forgetful: None,
            made: 0,
            next: 0,
            produced: Produced::default(),
        }
    }

    fn transaction(&mut self) {
        let targets = self.targets.lock().unwrap().clone();
        let made = targets.values().map(|target| target.life).sum();
        let (ending, id) = match self.random.below(20) {
            0 if self.forgetful.is_none() => (Ending::Open, FORGETFUL),
            0 | 1 => (Ending::Unheard, STEADY),
            2..=5 => (Ending::Abort, STEADY),
            _ => (Ending::Commit, STEADY),
        };
        if self.forgetful.is_some() && self.random.below(10) == 0 {
            self.fence();
        }
        let kept = self.producer.take().filter(|_| id == STEADY && made == self.made);
        let producer = kept.unwrap_or_else(|| open(&self.bootstrap, id));
        self.made = made;
        if producer.try_begin().is_err() {
            return;
        }
        self.produced.transactions += 1;
        let is_sent = self.fill(&producer, &targets);
        match producer.end(if is_sent { ending } else { Ending::Abort }) {
            Ended::Committed(records) => self.produced.committed.extend(sent(&records, &targets)),
            Ended::Unknown(records, _) => return self.produced.unknown.push(sent(&records, &targets)),
            Ended::Aborted => self.produced.aborted += 1,
        }
        match ending {
            Ending::Open => self.forgetful = Some(producer),
            // The next one with this id ends what this one has left.
            Ending::Unheard => {}
            Ending::Commit | Ending::Abort => self.producer = Some(producer),
        }
    }

    /// Sends the records of one transaction.
    fn fill(&mut self, producer: &RecordingProducer, targets: &BTreeMap<String, Target>) -> bool {
        let targets: Vec<(&String, &Target)> = targets.iter().collect();
        let count = 1 + i64::try_from(self.random.below(TRANSACTION_MAX)).unwrap();
        let first = self.next;
        self.next += count;
        (first..first + count).all(|number| {
            let (topic, target) = targets[self.random.below(targets.len())];
            let partition = self.random.below(usize::try_from(target.partitions).unwrap());
            let record = Outgoing {
                partition: Some(i32::try_from(partition).unwrap()),
                ..Outgoing::new(number.to_string(), payload(number, &target.schemas, &mut self.random))
            };
            producer.try_send(topic, &record).is_ok()
        })
    }

    /// Another producer with its id ends the transaction that the forgetful one has left open; it asks for its commit too late.
    fn fence(&mut self) {
        let Some(fenced) = self.forgetful.take() else { return };
        drop(open(&self.bootstrap, FORGETFUL));
        if let Ended::Committed(_) = fenced.end(Ending::Commit) {
            panic!("a fenced producer has committed");
        }
        self.produced.fenced += 1;
    }
}

/// A producer that ends what one before it with the same id has left open.
fn open(bootstrap: &str, id: &str) -> RecordingProducer {
    let properties = [
        ("transactional.id", id),
        ("transaction.timeout.ms", TRANSACTION_MILLIS),
        ("socket.timeout.ms", SOCKET_MILLIS),
        ("topic.metadata.refresh.interval.ms", REFRESH_MILLIS),
    ];
    let producer = RecordingProducer::to(bootstrap, &properties);
    producer.init_transactions();
    producer
}

/// A number, and an amount that follows from it.
pub(crate) fn amount(number: i64) -> f64 {
    f64::from(i32::try_from(number).unwrap()) / 4.0
}

fn payload(number: i64, schemas: &[u32], random: &mut Random) -> Vec<u8> {
    if schemas.is_empty() {
        return json!({"order_id": number, "amount": amount(number), "note": "of no column"})
            .to_string()
            .into_bytes();
    }
    let place = random.below(schemas.len());
    let schema = apache_avro::Schema::parse_str(&schema_of(place)).unwrap();
    let writer = GenericDatumWriter::builder(&schema).build().unwrap();
    let mut fields = vec![
        ("order_id".to_owned(), AvroValue::Long(number)),
        ("amount".to_owned(), AvroValue::Double(amount(number))),
    ];
    let note = || AvroValue::Union(1, Box::new(AvroValue::String(format!("note of {number}"))));
    fields.extend((0..place).map(|added| (format!("note_{added}"), note())));
    let datum = writer.write_value_to_vec(AvroValue::Record(fields)).unwrap();
    [&[0], schemas[place].to_be_bytes().as_slice(), &datum].concat()
}

/// The schema of a version, counted from zero: each has one more note than the one before.
pub(crate) fn schema_of(version: usize) -> String {
    let mut fields = vec![
        json!({"name": "order_id", "type": "long"}),
        json!({"name": "amount", "type": "double"}),
    ];
    fields.extend((0..version).map(|added| json!({"name": format!("note_{added}"), "type": ["null", "string"], "default": null})));
    json!({"type": "record", "name": "Order", "namespace": "shop", "fields": fields}).to_string()
}

fn sent(records: &[Acknowledged], targets: &BTreeMap<String, Target>) -> Vec<Sent> {
    let sent = |record: &Acknowledged| Sent {
        number: std::str::from_utf8(record.key.as_ref().unwrap()).unwrap().parse().unwrap(),
        origin: (record.topic.clone(), i64::from(record.partition), record.offset),
        life: targets[&record.topic].life,
    };
    records.iter().map(sent).collect()
}
