//! Decoding speed on Protobuf messages, beside `ptars` and `prost-reflect` in the same run:
//! `cargo run --release -p stream-decode --example bench_protobuf [ROUNDS [alone]]`; `alone` leaves the others out, for a profiler.
//!
//! All read the same messages, in turns; each prints the processor's time of its best round, so that other work on the machine
//! disturbs the comparison least. `ptars` makes Arrow columns too; it takes messages in an Arrow array only, and what making that array
//! costs is taken off its time. It gives up a batch with a bad message, so it is asked only where none is bad. `prost-reflect` makes
//! messages in memory, no columns. On Linux only: the kernel's count of the processor's time is a file there.

use std::hint::black_box;
use std::time::Duration;

use arrow_array::builder::BinaryBuilder;
use prost_reflect::{DescriptorPool, DynamicMessage};
use protox::Compiler;
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};
use ptars::{EnumRepr, Handler, PtarsConfig};
use stream_decode::decoder::Decoder;
use stream_decode::plan::compile;
use stream_spec::schema::parse;
use stream_spec::stream::SchemaText;

type Failure = Box<dyn std::error::Error>;

const BATCH_MESSAGES: usize = 5_000;
const ROUNDS: usize = 30;

fn main() -> Result<(), Failure> {
    let rounds = std::env::args().nth(1).map_or(Ok(ROUNDS), |rounds| rounds.parse())?;
    let alone = std::env::args().nth(2).is_some();
    for subject in [transactions(), flat(), deep()] {
        for bad_percent in [0, 1, 50] {
            measure(&subject, bad_percent, rounds, alone)?;
        }
    }
    Ok(())
}

struct Subject {
    name: &'static str,
    proto: &'static str,
    messages: Vec<Vec<u8>>,
}

fn measure(subject: &Subject, bad_percent: usize, rounds: usize, alone: bool) -> Result<(), Failure> {
    let mut messages = subject.messages.clone();
    let bad = messages.iter_mut().enumerate().filter(|(index, _)| index * 37 % 100 < bad_percent);
    let bad: usize = bad.map(|(_, message)| message.truncate(message.len() / 2 + 1)).count();
    let bytes: usize = messages.iter().map(Vec::len).sum();
    let count = messages.len();
    println!(
        "{}, {bad_percent} % cut in half: {count} messages, {} bytes each on average",
        subject.name,
        bytes / count
    );
    let payloads: Vec<Option<&[u8]>> = messages.iter().map(|message| Some(message.as_slice())).collect();
    let pool = pool(subject.proto)?;
    let handler = Handler::try_new(
        &pool.encode_to_vec(),
        "bench.M",
        PtarsConfig::default().with_enum_repr(EnumRepr::String),
    )?;
    let message = pool.get_message_by_name("bench.M").ok_or("no message M")?;
    let mut decoder = decoder(subject.proto)?;
    let (mut ours, mut theirs, mut copies, mut dynamic) = (Duration::MAX, Duration::MAX, Duration::MAX, Duration::MAX);
    for _ in 0..rounds {
        let mut misfits = 0;
        ours = ours.min(timed(|| {
            for batch in payloads.chunks(BATCH_MESSAGES) {
                let decoded = decoder.decode(batch, &[])?;
                misfits += decoded.report.misfit_messages();
                assert_eq!(decoded.array.len(), batch.len(), "a batch is taken whole");
                black_box(decoded.array);
            }
            Ok(())
        })?);
        // A message that is cut between two fields is a shorter one.
        assert!(misfits <= bad && misfits * 2 >= bad, "{misfits} of {bad}");
        if alone {
            continue;
        }
        dynamic = dynamic.min(timed(|| {
            for payload in payloads.iter().flatten() {
                let _ = black_box(DynamicMessage::decode(message.clone(), *payload));
            }
            Ok(())
        })?);
        if bad > 0 {
            continue;
        }
        theirs = theirs.min(timed(|| {
            for batch in payloads.chunks(BATCH_MESSAGES) {
                black_box(handler.decode_bytes(batch)?);
            }
            Ok(())
        })?);
        copies = copies.min(timed(|| {
            for batch in payloads.chunks(BATCH_MESSAGES) {
                let mut builder = BinaryBuilder::new();
                batch.iter().for_each(|payload| builder.append_option(*payload));
                black_box(builder.finish());
            }
            Ok(())
        })?);
    }
    print_speed("stream-decode", bytes, count, ours, ours);
    if !alone {
        if bad == 0 {
            print_speed("ptars", bytes, count, theirs.saturating_sub(copies), ours);
        }
        print_speed("prost-reflect", bytes, count, dynamic, ours);
    }
    Ok(())
}

fn print_speed(name: &str, bytes: usize, count: usize, time: Duration, ours: Duration) {
    let per_message = time.as_nanos() / count as u128;
    let speed = bytes as f64 / 1e6 / time.as_secs_f64();
    let ratio = time.as_secs_f64() / ours.as_secs_f64();
    println!("{name:>14}: {speed:6.0} MB per CPU-second, {per_message:5} ns per message, {ratio:.2} of our time");
}

fn timed(run: impl FnOnce() -> Result<(), Failure>) -> Result<Duration, Failure> {
    let start = processor_time()?;
    run()?;
    Ok(processor_time()? - start)
}

/// What this thread has run so far.
fn processor_time() -> Result<Duration, Failure> {
    // The kernel counts when it looks at a thread.
    std::thread::yield_now();
    let counts = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = counts.split_whitespace().next().ok_or("no count of processor time")?;
    Ok(Duration::from_nanos(nanoseconds.parse()?))
}

fn decoder(proto: &str) -> Result<Decoder, Failure> {
    let text = SchemaText::Proto {
        schema_text: proto.to_owned(),
        message_name: "bench.M".to_owned(),
    };
    let schema = parse(&text).map_err(|problems| problems.first().map(ToString::to_string).unwrap_or_default())?;
    Ok(Decoder::new(vec![compile(&schema, &schema)?])?)
}

/// The text as the others take it.
fn pool(proto: &str) -> Result<DescriptorPool, Failure> {
    let mut files = ChainFileResolver::new();
    files.add(GoogleFileResolver::new());
    files.add(OneFile(proto.to_owned()));
    let mut compiler = Compiler::with_file_resolver(files);
    compiler.include_imports(true).open_file("bench.proto")?;
    Ok(DescriptorPool::decode(compiler.encode_file_descriptor_set().as_slice())?)
}

struct OneFile(String);

impl FileResolver for OneFile {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        if name == "bench.proto" {
            File::from_source(name, &self.0)
        } else {
            Err(protox::Error::file_not_found(name))
        }
    }
}

fn transactions() -> Subject {
    let mut random = Random(7);
    Subject {
        name: "transactions",
        proto: r#"
            syntax = "proto3";
            package bench;
            import "google/protobuf/timestamp.proto";
            message Merchant { int64 id = 1; string name = 2; string category = 3; string country = 4; double lat = 5; double lon = 6; }
            message Item { string sku = 1; int64 qty = 2; double price = 3; }
            message M {
                string event_id = 1; string event_type = 2; google.protobuf.Timestamp created_at = 3; int64 occurred_ms = 4;
                int64 account_id = 5; int64 sequence = 6; double amount = 7; double fee = 8; Merchant merchant = 9;
                repeated Item items = 10; string user_agent = 11; string memo = 12;
            }"#,
        messages: (0..20_000).map(|sequence| transaction(sequence, &mut random)).collect(),
    }
}

fn transaction(sequence: u64, random: &mut Random) -> Vec<u8> {
    let merchant = Message::default()
        .varint(1, 10_000_000 + random.below(5000))
        .text(2, &format!("Merchant {:05} GmbH", random.below(5000)))
        .text(3, random.pick(&CATEGORIES))
        .text(4, "DE")
        .double(5, random.fraction() * 90.0)
        .double(6, random.fraction() * 180.0);
    let seconds = 1_709_210_096 + sequence;
    let mut message = Message::default()
        .text(1, &format!("{:016x}{:016x}", random.next(), random.next()))
        .text(2, random.pick(&EVENT_TYPES))
        .message(3, &Message::default().varint(1, seconds).varint(2, random.below(1000) * 1_000_000))
        .varint(4, seconds * 1000)
        .varint(5, 1_000_000 + random.below(250_000))
        .varint(6, sequence)
        .double(7, random.below(1_000_000) as f64 / 100.0)
        .double(8, random.fraction())
        .message(9, &merchant);
    for item in 0..2 + random.below(4) {
        let item = Message::default()
            .text(1, &format!("SKU-{:06}-{item}", random.below(999_983)))
            .varint(2, 1 + random.below(5))
            .double(3, random.below(50_000) as f64 / 100.0);
        message = message.message(10, &item);
    }
    let memo: Vec<&str> = (0..80).map(|_| random.pick(&WORDS)).collect();
    message.text(11, random.pick(&AGENTS)).text(12, &memo.join(" ")).bytes
}

fn flat() -> Subject {
    let mut random = Random(11);
    let message = |random: &mut Random| {
        Message::default()
            .varint(1, random.below(100_000))
            .varint(2, 1_709_210_096_789 + random.below(1000))
            .varint(3, 1 + random.below(200))
            .varint(4, random.below(1 << 20))
            .double(5, random.fraction())
            .float(6, random.fraction() as f32)
            .varint(7, random.below(2))
            .text(8, random.pick(&CATEGORIES))
            .varint(9, random.below(4))
            .text(10, random.pick(&EVENT_TYPES))
            .bytes
    };
    Subject {
        name: "flat",
        proto: r#"
            syntax = "proto3";
            package bench;
            enum State { UNSET = 0; NEW = 1; DONE = 2; FAILED = 3; }
            message M {
                int32 a = 1; int64 b = 2; uint32 c = 3; sint64 d = 4; double e = 5; float f = 6; bool g = 7; string h = 8; State i = 9;
                string j = 10;
            }"#,
        messages: (0..100_000).map(|_| message(&mut random)).collect(),
    }
}

fn deep() -> Subject {
    let mut random = Random(13);
    let message = |random: &mut Random| {
        let level = |random: &mut Random| Message::default().varint(1, random.below(1000)).text(2, random.pick(&WORDS));
        let innermost = level(random);
        (0..11).fold(innermost, |inner, _| level(random).message(3, &inner)).bytes
    };
    Subject {
        name: "deep",
        proto: r#"
            syntax = "proto3";
            package bench;
            message L11 { int32 a = 1; string b = 2; }
            message L10 { int32 a = 1; string b = 2; L11 c = 3; }
            message L9 { int32 a = 1; string b = 2; L10 c = 3; }
            message L8 { int32 a = 1; string b = 2; L9 c = 3; }
            message L7 { int32 a = 1; string b = 2; L8 c = 3; }
            message L6 { int32 a = 1; string b = 2; L7 c = 3; }
            message L5 { int32 a = 1; string b = 2; L6 c = 3; }
            message L4 { int32 a = 1; string b = 2; L5 c = 3; }
            message L3 { int32 a = 1; string b = 2; L4 c = 3; }
            message L2 { int32 a = 1; string b = 2; L3 c = 3; }
            message L1 { int32 a = 1; string b = 2; L2 c = 3; }
            message M { int32 a = 1; string b = 2; L1 c = 3; }"#,
        messages: (0..50_000).map(|_| message(&mut random)).collect(),
    }
}

const EVENT_TYPES: [&str; 4] = ["payment.authorized", "payment.captured", "transfer.sent", "payment.declined"];
const CATEGORIES: [&str; 4] = ["grocery", "electronics", "travel", "pharmacy"];
const AGENTS: [&str; 2] = [
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
    "okhttp/4.12.0",
];
const WORDS: [&str; 8] = [
    "order",
    "invoice",
    "customer",
    "delivery",
    "café",
    "Zürich",
    "reference",
    "approved",
];

/// Bytes of a message under construction.
#[derive(Default)]
struct Message {
    bytes: Vec<u8>,
}

impl Message {
    fn raw_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn varint(mut self, number: u64, value: u64) -> Self {
        self.raw_varint(number << 3);
        self.raw_varint(value);
        self
    }

    fn double(mut self, number: u64, value: f64) -> Self {
        self.raw_varint(number << 3 | 1);
        self.bytes.extend(value.to_le_bytes());
        self
    }

    fn float(mut self, number: u64, value: f32) -> Self {
        self.raw_varint(number << 3 | 5);
        self.bytes.extend(value.to_le_bytes());
        self
    }

    fn text(self, number: u64, value: &str) -> Self {
        self.delimited(number, value.as_bytes())
    }

    fn message(self, number: u64, value: &Message) -> Self {
        self.delimited(number, &value.bytes)
    }

    fn delimited(mut self, number: u64, value: &[u8]) -> Self {
        self.raw_varint(number << 3 | 2);
        self.raw_varint(value.len() as u64);
        self.bytes.extend(value);
        self
    }
}

/// A small xorshift generator: the same messages in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words.get(self.below(words.len() as u64) as usize).copied().unwrap_or_default()
    }

    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
