//! Decoding speed of Avro messages, beside `arrow-avro` in the same run:
//! `cargo run --release -p stream-decode --example bench_avro [ROUNDS [SUBJECT]]`.
//!
//! `arrow-avro` gets each record behind a Confluent header, which it needs. It gives up a batch at the first bad message, so damaged
//! ones are for ours alone.

mod measure;

use std::hint::black_box;

use arrow_avro::reader::ReaderBuilder;
use arrow_avro::schema::{AvroSchema, Fingerprint, FingerprintAlgorithm, SchemaStore};
use stream_decode::decoder::Decoder;
use stream_decode::plan::compile;
use stream_spec::schema;
use stream_spec::stream::SchemaText;

use measure::{BATCH_MESSAGES, Contender, Failure, Random, Wish, timed};

const SCHEMA_ID: u32 = 1;

/// Records of one schema.
struct Subject {
    name: &'static str,
    schema: String,
    records: Vec<Vec<u8>>,
}

fn main() -> Result<(), Failure> {
    let wish = Wish::read()?;
    for subject in [transactions(20_000), flat(100_000), nested(40_000)] {
        if !wish.is_for(subject.name) {
            continue;
        }
        // The whole of a record is read before it is found that its last byte is missing.
        let mut contenders = measure::ours(&subject.records, || decoder(&subject), |record| record.truncate(record.len() - 1))?;
        contenders.push(theirs(&subject)?);
        measure::compare(subject.name, &subject.records, &wish, contenders)?;
    }
    Ok(())
}

fn decoder(subject: &Subject) -> Result<Decoder, Failure> {
    let parsed = schema::parse(&SchemaText::Avro(subject.schema.clone())).map_err(|problems| format!("{problems:?}"))?;
    Ok(Decoder::new(vec![compile(&parsed, &parsed)?])?)
}

fn theirs(subject: &Subject) -> Result<Contender<'static>, Failure> {
    let mut store = SchemaStore::new_with_type(FingerprintAlgorithm::Id);
    store.set(Fingerprint::Id(SCHEMA_ID), AvroSchema::new(subject.schema.clone()))?;
    let mut decoder = ReaderBuilder::new()
        .with_writer_schema_store(store)
        .with_active_fingerprint(Fingerprint::Id(SCHEMA_ID))
        .with_batch_size(BATCH_MESSAGES)
        .build_decoder()?;
    let batch = |records: &[Vec<u8>]| -> Vec<u8> {
        let framed = |record: &Vec<u8>| [&[0], SCHEMA_ID.to_be_bytes().as_slice(), record].concat();
        records.iter().flat_map(framed).collect()
    };
    let batches: Vec<Vec<u8>> = subject.records.chunks(BATCH_MESSAGES).map(batch).collect();
    Ok(Contender::new("arrow-avro", move || {
        timed(|| {
            for batch in &batches {
                let read = decoder.decode(batch)?;
                assert_eq!(read, batch.len(), "one batch is one call");
                black_box(decoder.flush()?);
            }
            Ok(())
        })
    }))
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
