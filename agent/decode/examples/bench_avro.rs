//! Decoding speed of Avro messages, beside `arrow-avro` in the same run:
//! `cargo run --release -p stream-decode --example bench_avro [ROUNDS [alone]]`; `alone` leaves `arrow-avro` out, for a profiler.
//!
//! Both read the same records into the same columns, in turns; each prints the processor's time of its best round, so that other
//! work on the machine disturbs the comparison least. `arrow-avro` gets each record behind a Confluent header, which it needs. It gives
//! up a batch at the first bad message, so those are measured for ours alone. On Linux only: the kernel's count of processor time
//! is a file there.

use std::hint::black_box;
use std::time::Duration;

use arrow_avro::reader::ReaderBuilder;
use arrow_avro::schema::{AvroSchema, Fingerprint, FingerprintAlgorithm, SchemaStore};
use stream_decode::decoder::Decoder;
use stream_decode::plan::compile;
use stream_spec::schema;
use stream_spec::stream::SchemaText;

const BATCH_RECORDS: usize = 5_000;
const ROUNDS: usize = 30;
const SCHEMA_ID: u32 = 1;

type Failure = Box<dyn std::error::Error>;

/// Records of one schema.
struct Subject {
    name: &'static str,
    schema: String,
    records: Vec<Vec<u8>>,
}

fn main() -> Result<(), Failure> {
    let rounds = std::env::args().nth(1).map_or(Ok(ROUNDS), |rounds| rounds.parse())?;
    let alone = std::env::args().nth(2).is_some();
    for subject in [transactions(20_000), flat(100_000), nested(40_000)] {
        let bytes: usize = subject.records.iter().map(Vec::len).sum();
        println!(
            "{}: {} records, {} bytes each on average",
            subject.name,
            subject.records.len(),
            bytes / subject.records.len()
        );
        let sound: Vec<Option<&[u8]>> = subject.records.iter().map(|record| Some(record.as_slice())).collect();
        let mut ours = Ours::new(&subject)?;
        let mut theirs = Theirs::new(&subject)?;
        let (mut our_time, mut their_time) = (Duration::MAX, Duration::MAX);
        for _ in 0..rounds {
            our_time = our_time.min(ours.round(&sound, 0)?);
            if !alone {
                their_time = their_time.min(theirs.round()?);
            }
        }
        print_speed("stream-decode", bytes, sound.len(), our_time);
        if !alone {
            print_speed("arrow-avro", bytes, sound.len(), their_time);
            println!("{:>16} {:.2}", "ratio", their_time.as_secs_f64() / our_time.as_secs_f64());
        }
        for one_bad_in in [100, 2] {
            let payloads: Vec<Option<&[u8]>> = sound
                .iter()
                .enumerate()
                .map(|(index, payload)| damaged(index, one_bad_in, *payload))
                .collect();
            let bad = sound.len() / one_bad_in;
            let mut time = Duration::MAX;
            for _ in 0..rounds {
                time = time.min(ours.round(&payloads, bad)?);
            }
            print_speed(&format!("{} % bad", 100 / one_bad_in), bytes, sound.len(), time);
        }
    }
    Ok(())
}

/// Each so many-th record without its last byte: the whole of it is read before that is found.
fn damaged(index: usize, one_bad_in: usize, payload: Option<&[u8]>) -> Option<&[u8]> {
    match payload {
        Some([record @ .., _]) if index.is_multiple_of(one_bad_in) => Some(record),
        payload => payload,
    }
}

struct Ours {
    decoder: Decoder,
}

impl Ours {
    fn new(subject: &Subject) -> Result<Self, Failure> {
        let parsed = schema::parse(&SchemaText::Avro(subject.schema.clone())).map_err(|problems| format!("{problems:?}"))?;
        let decoder = Decoder::new(vec![compile(&parsed, &parsed)?])?;
        Ok(Self { decoder })
    }

    fn round(&mut self, payloads: &[Option<&[u8]>], bad: usize) -> Result<Duration, Failure> {
        let start = processor_time()?;
        let mut misfits = 0;
        for batch in payloads.chunks(BATCH_RECORDS) {
            let decoded = self.decoder.decode(batch, &[])?;
            misfits += decoded.report.misfit_messages();
            assert_eq!(decoded.array.len(), batch.len(), "a batch is taken whole");
            black_box(decoded.array);
        }
        let time = processor_time()? - start;
        assert_eq!(misfits, bad, "every other record fits");
        Ok(time)
    }
}

struct Theirs {
    decoder: arrow_avro::reader::Decoder,
    batches: Vec<Vec<u8>>,
}

impl Theirs {
    fn new(subject: &Subject) -> Result<Self, Failure> {
        let mut store = SchemaStore::new_with_type(FingerprintAlgorithm::Id);
        store.set(Fingerprint::Id(SCHEMA_ID), AvroSchema::new(subject.schema.clone()))?;
        let decoder = ReaderBuilder::new()
            .with_writer_schema_store(store)
            .with_active_fingerprint(Fingerprint::Id(SCHEMA_ID))
            .with_batch_size(BATCH_RECORDS)
            .build_decoder()?;
        let batch = |records: &[Vec<u8>]| -> Vec<u8> {
            let framed = |record: &Vec<u8>| [&[0], SCHEMA_ID.to_be_bytes().as_slice(), record].concat();
            records.iter().flat_map(framed).collect()
        };
        let batches = subject.records.chunks(BATCH_RECORDS).map(batch).collect();
        Ok(Self { decoder, batches })
    }

    fn round(&mut self) -> Result<Duration, Failure> {
        let start = processor_time()?;
        for batch in &self.batches {
            let read = self.decoder.decode(batch)?;
            assert_eq!(read, batch.len(), "one batch is one call");
            black_box(self.decoder.flush()?);
        }
        Ok(processor_time()? - start)
    }
}

/// What this thread has run so far.
fn processor_time() -> Result<Duration, Failure> {
    // The kernel counts when it looks at a thread.
    std::thread::yield_now();
    let counts = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = counts.split_whitespace().next().ok_or("no count of processor time")?;
    Ok(Duration::from_nanos(nanoseconds.parse()?))
}

fn print_speed(name: &str, bytes: usize, records: usize, time: Duration) {
    let seconds = time.as_secs_f64();
    println!(
        "{name:>16}: {:7.0} MB per CPU-second, {:6.2} million rows, {:.0} ns per record",
        bytes as f64 / 1e6 / seconds,
        records as f64 / 1e6 / seconds,
        seconds * 1e9 / records as f64
    );
}

/// Payments with a merchant, items and a memo, about 1 KB each.
fn transactions(count: usize) -> Subject {
    let schema = r#"{"type":"record","name":"Transaction","fields":[
        {"name":"event_id","type":"string"},{"name":"event_type","type":{"type":"enum","name":"Kind","symbols":["AUTHORIZED","CAPTURED","DECLINED"]}},
        {"name":"created_at","type":{"type":"long","logicalType":"timestamp-micros"}},{"name":"occurred_ms","type":"long"},
        {"name":"account_id","type":"long"},{"name":"sequence","type":"long"},{"name":"amount","type":"double"},{"name":"fee","type":["null","double"]},
        {"name":"merchant","type":{"type":"record","name":"Merchant","fields":[{"name":"id","type":"long"},{"name":"name","type":"string"},
            {"name":"category","type":"string"},{"name":"country","type":"string"},{"name":"lat","type":"double"},{"name":"lon","type":"double"}]}},
        {"name":"items","type":{"type":"array","items":{"type":"record","name":"Item","fields":[
            {"name":"sku","type":"string"},{"name":"qty","type":"int"},{"name":"price","type":"double"}]}}},
        {"name":"labels","type":{"type":"map","values":"string"}},{"name":"user_agent","type":["null","string"]},{"name":"memo","type":"string"}]}"#;
    let mut random = Random(7);
    let record = |sequence: usize| {
        let mut record = Record::default();
        record.text(&format!("{:016x}{:016x}", random.next(), random.next()));
        record.long(random.below(3).cast_signed());
        record.long(1_709_210_096_789_000 + random.below(1_000_000_000).cast_signed());
        record.long(1_709_210_096_789 + sequence as i64);
        record.long(1_000_000 + random.below(250_000).cast_signed());
        record.long(sequence as i64);
        record.double(random.fraction() * 10_000.0);
        record.long(1).double(random.fraction());
        record.long(10_000_000 + random.below(5000).cast_signed());
        record.text(&format!("Merchant {:05} GmbH", random.below(5000)));
        record
            .text("electronics")
            .text("DE")
            .double(random.fraction() * 90.0)
            .double(random.fraction() * 180.0);
        let items = 2 + random.below(4);
        record.long(items.cast_signed());
        for item in 0..items {
            record.text(&format!("SKU-{:06}-{item}", random.below(999_983)));
            record.long(1 + random.below(5).cast_signed()).double(random.fraction() * 500.0);
        }
        record.long(0).long(3);
        record
            .text("channel")
            .text("web")
            .text("tier")
            .text("gold")
            .text("region")
            .text("eu-central-1");
        record.long(0).long(1);
        record.text("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36");
        record.text(&words(70, &mut random));
        record.0
    };
    Subject {
        name: "transactions",
        schema: schema.into(),
        records: (0..count).map(record).collect(),
    }
}

/// Ten fields without structure, some of them null.
fn flat(count: usize) -> Subject {
    let schema = r#"{"type":"record","name":"Flat","fields":[
        {"name":"id","type":"long"},{"name":"device","type":"string"},{"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}},
        {"name":"day","type":{"type":"int","logicalType":"date"}},{"name":"ok","type":"boolean"},{"name":"count","type":"int"},
        {"name":"value","type":["null","double"]},{"name":"note","type":["null","string"]},{"name":"ratio","type":"float"},
        {"name":"price","type":{"type":"bytes","logicalType":"decimal","precision":12,"scale":2}}]}"#;
    let mut random = Random(11);
    let record = |sequence: usize| {
        let mut record = Record::default();
        record.long(sequence as i64).text(&format!("device-{:05}", random.below(20_000)));
        record.long(1_709_210_096_789 + random.below(1_000_000).cast_signed());
        record.long(19_000 + random.below(1000).cast_signed());
        record.0.push((random.below(2)) as u8);
        record.long(random.below(1000).cast_signed());
        match random.below(4) {
            0 => record.long(0),
            _ => record.long(1).double(random.fraction()),
        };
        match random.below(2) {
            0 => record.long(0),
            _ => record.long(1).text(&words(3, &mut random)),
        };
        record.0.extend((random.fraction() as f32).to_le_bytes());
        record.long(4).0.extend((random.below(1 << 30) as i32).to_be_bytes());
        record.0
    };
    Subject {
        name: "flat",
        schema: schema.into(),
        records: (0..count).map(record).collect(),
    }
}

/// Records in records, arrays of records in arrays of records, eight levels of type.
fn nested(count: usize) -> Subject {
    let schema = r#"{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"customer","type":{"type":"record","name":"Customer","fields":[
        {"name":"name","type":"string"},{"name":"address","type":["null",{"type":"record","name":"Address","fields":[{"name":"city","type":"string"},
            {"name":"position","type":{"type":"record","name":"Position","fields":[{"name":"lat","type":"double"},{"name":"lon","type":"double"}]}}]}]}]}},
        {"name":"parcels","type":{"type":"array","items":{"type":"record","name":"Parcel","fields":[{"name":"weight","type":"int"},
            {"name":"lines","type":{"type":"array","items":{"type":"record","name":"Line","fields":[{"name":"sku","type":"string"},{"name":"qty","type":["null","int"]},
                {"name":"options","type":{"type":"array","items":"int"}}]}}}]}}}]}"#;
    let mut random = Random(13);
    let record = |sequence: usize| {
        let mut record = Record::default();
        record.long(sequence as i64).text(&words(2, &mut random));
        match random.below(5) {
            0 => record.long(0),
            _ => record.long(1).text("Zürich").double(random.fraction()).double(random.fraction()),
        };
        let parcels = 1 + random.below(3);
        record.long(parcels.cast_signed());
        for _ in 0..parcels {
            let lines = 1 + random.below(4);
            record.long(random.below(10_000).cast_signed()).long(lines.cast_signed());
            for _ in 0..lines {
                record
                    .text(&format!("SKU-{:04}", random.below(9999)))
                    .long(1)
                    .long(random.below(9).cast_signed());
                record.long(3).long(1).long(200).long(-5).long(0);
            }
            record.long(0);
        }
        record.long(0);
        record.0
    };
    Subject {
        name: "nested",
        schema: schema.into(),
        records: (0..count).map(record).collect(),
    }
}

/// A datum that is being written.
#[derive(Default)]
struct Record(Vec<u8>);

impl Record {
    fn long(&mut self, value: i64) -> &mut Self {
        let mut zigzag = ((value << 1) ^ (value >> 63)).cast_unsigned();
        while zigzag > 0x7f {
            self.0.push((zigzag & 0x7f) as u8 | 0x80);
            zigzag >>= 7;
        }
        self.0.push(zigzag as u8);
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.long(text.len() as i64).0.extend(text.as_bytes());
        self
    }

    fn double(&mut self, value: f64) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }
}

const WORDS: [&str; 8] = [
    "order",
    "customer",
    "délivrance",
    "express",
    "reference",
    "approved",
    "voucher",
    "Zürich",
];

fn words(count: usize, random: &mut Random) -> String {
    let words: Vec<&str> = (0..count).map(|_| random.pick(&WORDS)).collect();
    words.join(" ")
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

    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
