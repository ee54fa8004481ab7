//! Decoding speed on transaction records of about 1 KB, beside `arrow-json` in the same run:
//! `cargo run --release -p stream-decode --example bench_json [ROUNDS [alone]]`; `alone` leaves `arrow-json` out, for a
//! profiler.
//!
//! Both read the same records into the same columns, in turns; each prints the processor's time of its best round, so that
//! other work on the machine disturbs the comparison least. On Linux only: the kernel's count of that time is a file there.

use std::fmt::Write;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use arrow_json::ReaderBuilder;
use arrow_schema::{DataType as ArrowType, Field as ArrowField, Schema, TimeUnit};
use stream_decode::arrow_types::arrow_field;
use stream_decode::decoder::Decoder;
use stream_decode::plan::Plan;
use stream_spec::types::{DataType, Field};

const RECORDS: usize = 20_000;
const BATCH_RECORDS: usize = 5_000;
const ROUNDS: usize = 40;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let fields = transaction_fields();
    let records = transactions(RECORDS);
    let bytes: usize = records.iter().map(String::len).sum();
    println!("{RECORDS} records, {} bytes each on average", bytes / RECORDS);

    let payloads: Vec<Option<&[u8]>> = records.iter().map(|record| Some(record.as_bytes())).collect();
    let lines: Vec<String> = records.chunks(BATCH_RECORDS).map(|batch| batch.join("\n")).collect();
    let mut decoder = Decoder::new(vec![Plan::json(&DataType::Struct(fields.clone()))?])?;
    let schema = Arc::new(Schema::new(fields.iter().map(their_field).collect::<Vec<_>>()));
    let rounds = std::env::args().nth(1).map_or(Ok(ROUNDS), |rounds| rounds.parse())?;
    let alone = std::env::args().nth(2).is_some();
    let (mut ours, mut theirs) = (Duration::MAX, Duration::MAX);
    for _ in 0..rounds {
        let start = processor_time()?;
        for batch in payloads.chunks(BATCH_RECORDS) {
            let decoded = decoder.decode(batch, &[])?;
            assert_eq!(decoded.report.misfit_messages(), 0, "every record fits");
            assert_eq!(decoded.array.len(), batch.len(), "a batch is taken whole");
            black_box(decoded.array);
        }
        ours = ours.min(processor_time()? - start);
        if alone {
            continue;
        }

        let start = processor_time()?;
        for batch in &lines {
            let mut decoder = ReaderBuilder::new(Arc::clone(&schema))
                .with_batch_size(BATCH_RECORDS)
                .build_decoder()?;
            decoder.decode(batch.as_bytes())?;
            black_box(decoder.flush()?);
        }
        theirs = theirs.min(processor_time()? - start);
    }
    print_speed("stream-decode", bytes, ours);
    if !alone {
        print_speed("arrow-json", bytes, theirs);
    }
    Ok(())
}

/// What this thread has run so far.
fn processor_time() -> Result<Duration, Box<dyn std::error::Error>> {
    // The kernel counts when it looks at a thread.
    std::thread::yield_now();
    let counts = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = counts.split_whitespace().next().ok_or("no count of processor time")?;
    Ok(Duration::from_nanos(nanoseconds.parse()?))
}

/// The field as `arrow-json` takes it: it knows no time zone by name.
fn their_field(field: &Field) -> ArrowField {
    match arrow_field(field) {
        ours if field.data_type == DataType::Timestamp => {
            ours.with_data_type(ArrowType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into())))
        }
        ours => ours,
    }
}

fn print_speed(name: &str, bytes: usize, time: Duration) {
    let per_record = time.as_nanos() / RECORDS as u128;
    let speed = bytes as f64 / 1e6 / time.as_secs_f64();
    println!("{name:>14}: {speed:7.0} MB per CPU-second, {per_record} ns per record");
}

fn transaction_fields() -> Vec<Field> {
    use DataType::{BigInt, Double, String, Timestamp};
    let merchant = [
        ("id", BigInt),
        ("name", String),
        ("category", String),
        ("country", String),
        ("lat", Double),
        ("lon", Double),
    ];
    let item = [("sku", String), ("qty", BigInt), ("price", Double)];
    let structure = |fields: &[(&str, DataType)]| DataType::Struct(fields.iter().map(|(name, t)| Field::new(*name, t.clone())).collect());
    vec![
        Field::new("event_id", String),
        Field::new("event_type", String),
        Field::new("created_at", Timestamp),
        Field::new("occurred_ms", BigInt),
        Field::new("account_id", BigInt),
        Field::new("sequence", BigInt),
        Field::new("amount", Double),
        Field::new("fee", Double),
        Field::new("merchant", structure(&merchant)),
        Field::new("items", DataType::Array(Box::new(structure(&item)))),
        Field::new("user_agent", String),
        Field::new("memo", String),
    ]
}

const EVENT_TYPES: [&str; 4] = ["payment.authorized", "payment.captured", "transfer.sent", "payment.declined"];
const CATEGORIES: [&str; 4] = ["grocery", "electronics", "travel", "pharmacy"];
const AGENTS: [&str; 2] = [
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
    "okhttp/4.12.0",
];
const WORDS: [&str; 16] = [
    "order",
    "invoice",
    "customer",
    "delivery",
    "express",
    "standard",
    "voucher",
    "café",
    "Zürich",
    "reference",
    "approved",
    "renewal",
    "\\\"quoted\\\"",
    "line\\nbreak",
    "tab\\tstop",
    "back\\\\slash",
];

/// Records that depend on their number alone.
fn transactions(count: usize) -> Vec<String> {
    let mut random = Random(7);
    (0..count).map(|sequence| transaction(sequence, &mut random)).collect()
}

fn transaction(sequence: usize, random: &mut Random) -> String {
    let mut record = String::new();
    let mut add = |text: std::fmt::Arguments<'_>| {
        let _ = record.write_fmt(text);
    };
    add(format_args!(
        r#"{{"event_id":"{:016x}{:016x}","event_type":"{}","#,
        random.next(),
        random.next(),
        random.pick(&EVENT_TYPES)
    ));
    add(format_args!(
        r#""created_at":"2024-02-29T12:{:02}:{:02}.{:03}Z","#,
        random.below(60),
        random.below(60),
        random.below(1000)
    ));
    add(format_args!(
        r#""occurred_ms":{},"account_id":{},"#,
        1_709_210_096_789 + sequence,
        1_000_000 + random.below(250_000)
    ));
    add(format_args!(
        r#""sequence":{sequence},"amount":{},"fee":{},"#,
        random.cents(1_000_000),
        random.fraction()
    ));
    add(format_args!(
        r#""merchant":{{"id":{},"name":"Merchant {:05} GmbH","#,
        10_000_000 + random.below(5000),
        random.below(5000)
    ));
    add(format_args!(r#""category":"{}","country":"DE","#, random.pick(&CATEGORIES)));
    add(format_args!(
        r#""lat":{:.6},"lon":{:.6}}},"items":["#,
        random.fraction() * 90.0,
        random.fraction() * 180.0
    ));
    for item in 0..2 + random.below(4) {
        let comma = if item > 0 { "," } else { "" };
        add(format_args!(
            r#"{comma}{{"sku":"SKU-{:06}-{item}","qty":{},"price":{}}}"#,
            random.below(999_983),
            1 + random.below(5),
            random.cents(50_000)
        ));
    }
    add(format_args!(r#"],"user_agent":"{}","memo":""#, random.pick(&AGENTS)));
    for word in 0..45 {
        add(format_args!("{}{}", if word > 0 { " " } else { "" }, random.pick(&WORDS)));
    }
    add(format_args!("\"}}"));
    record
}

/// A small xorshift generator: the same records in every run.
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

    fn cents(&mut self, bound: u64) -> f64 {
        self.below(bound) as f64 / 100.0
    }

    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
