//! Decoding speed on JSON records, beside `arrow-json` in the same run:
//! `cargo run --release -p stream-decode --example bench_json [ROUNDS [SUBJECT]]`.
//!
//! `arrow-json` gets the records of a batch as lines of one text, which it needs. It gives up a batch with a record that does not fit,
//! so damaged ones are for ours alone.

mod measure;

use std::fmt::Write;
use std::hint::black_box;
use std::sync::Arc;

use arrow_json::ReaderBuilder;
use arrow_schema::{DataType as ArrowType, Field as ArrowField, Schema, TimeUnit};
use stream_decode::arrow_types::arrow_field;
use stream_decode::decoder::Decoder;
use stream_decode::plan::Plan;
use stream_spec::types::{DataType, Field};

use measure::{BATCH_MESSAGES, Contender, Failure, Random, Wish, timed};

struct Subject {
    name: &'static str,
    fields: Vec<Field>,
    records: Vec<Vec<u8>>,
}

fn main() -> Result<(), Failure> {
    let wish = Wish::read()?;
    for subject in [transactions(20_000), flat(100_000), nested(40_000)] {
        if !wish.is_for(subject.name) {
            continue;
        }
        // The whole of a record is read before it is found that its last brace is missing.
        let decoder = || Ok(Decoder::new(vec![Plan::json(&DataType::Struct(subject.fields.clone()))?])?);
        let mut contenders = measure::ours(&subject.records, decoder, |record| record.truncate(record.len() - 1))?;
        contenders.push(theirs(&subject));
        measure::compare(subject.name, &subject.records, &wish, contenders)?;
    }
    Ok(())
}

fn theirs(subject: &Subject) -> Contender<'static> {
    let schema = Arc::new(Schema::new(subject.fields.iter().map(their_field).collect::<Vec<_>>()));
    let batches: Vec<Vec<u8>> = subject.records.chunks(BATCH_MESSAGES).map(|batch| batch.join(&b'\n')).collect();
    Contender::new("arrow-json", move || {
        timed(|| {
            for batch in &batches {
                let mut decoder = ReaderBuilder::new(Arc::clone(&schema))
                    .with_batch_size(BATCH_MESSAGES)
                    .build_decoder()?;
                decoder.decode(batch)?;
                let rows = decoder.flush()?.map_or(0, |rows| rows.num_rows());
                assert!(rows > 0 && rows <= BATCH_MESSAGES, "one batch is one call");
                black_box(rows);
            }
            Ok(())
        })
    })
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

fn structure(fields: &[(&str, DataType)]) -> DataType {
    DataType::Struct(fields_of(fields))
}

fn list(element: DataType) -> DataType {
    DataType::Array(Box::new(element))
}

fn fields_of(fields: &[(&str, DataType)]) -> Vec<Field> {
    fields
        .iter()
        .map(|(name, data_type)| Field::new(*name, data_type.clone()))
        .collect()
}

/// Card transactions of about 1 KB.
fn transactions(count: usize) -> Subject {
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
    let fields = [
        ("event_id", String),
        ("event_type", String),
        ("created_at", Timestamp),
        ("occurred_ms", BigInt),
        ("account_id", BigInt),
        ("sequence", BigInt),
        ("amount", Double),
        ("fee", Double),
        ("merchant", structure(&merchant)),
        ("items", list(structure(&item))),
        ("user_agent", String),
        ("memo", String),
    ];
    let mut random = Random(7);
    Subject {
        name: "transactions",
        fields: fields_of(&fields),
        records: (0..count).map(|sequence| transaction(sequence, &mut random).into_bytes()).collect(),
    }
}

/// Ten fields without structure, some of them null.
fn flat(count: usize) -> Subject {
    use DataType::{BigInt, Boolean, Date, Decimal, Double, Float, Int, String, Timestamp};
    let price = Decimal { precision: 12, scale: 2 };
    let fields = [
        ("id", BigInt),
        ("device", String),
        ("at", Timestamp),
        ("day", Date),
        ("ok", Boolean),
        ("count", Int),
        ("value", Double),
        ("note", String),
        ("ratio", Float),
        ("price", price),
    ];
    let mut random = Random(11);
    let mut record = |sequence: usize| {
        let value = match random.below(4) {
            0 => "null".to_owned(),
            _ => format!("{:.6}", random.fraction()),
        };
        let note = match random.below(2) {
            0 => "null".to_owned(),
            _ => format!("\"{} {}\"", random.pick(&CATEGORIES), random.pick(&WORDS[..12])),
        };
        format!(
            r#"{{"id":{sequence},"device":"device-{:05}","at":"2024-02-29T12:{:02}:{:02}Z","day":"2024-03-{:02}","ok":{},"count":{},"value":{value},"note":{note},"ratio":{:.4},"price":{}}}"#,
            random.below(20_000),
            random.below(60),
            random.below(60),
            1 + random.below(30),
            random.below(2) == 1,
            random.below(1000),
            random.fraction(),
            cents(&mut random, 10_000_000),
        )
    };
    Subject {
        name: "flat",
        fields: fields_of(&fields),
        records: (0..count).map(|sequence| record(sequence).into_bytes()).collect(),
    }
}

/// Records in records, arrays of records in arrays of records, eight levels of type.
fn nested(count: usize) -> Subject {
    use DataType::{BigInt, Double, Int, String};
    let position = structure(&[("lat", Double), ("lon", Double)]);
    let address = structure(&[("city", String), ("position", position)]);
    let line = structure(&[("sku", String), ("qty", Int), ("options", list(Int))]);
    let parcel = structure(&[("weight", Int), ("lines", list(line))]);
    let fields = [
        ("id", BigInt),
        ("customer", structure(&[("name", String), ("address", address)])),
        ("parcels", list(parcel)),
    ];
    let mut random = Random(13);
    let lines = |random: &mut Random| {
        let line = |random: &mut Random| {
            format!(
                r#"{{"sku":"SKU-{:04}","qty":{},"options":[1,200,-5]}}"#,
                random.below(9999),
                random.below(9)
            )
        };
        let lines: Vec<_> = (0..1 + random.below(4)).map(|_| line(random)).collect();
        lines.join(",")
    };
    let mut record = |sequence: usize| {
        let address = match random.below(5) {
            0 => "null".to_owned(),
            _ => format!(
                r#"{{"city":"Zürich","position":{{"lat":{:.6},"lon":{:.6}}}}}"#,
                random.fraction() * 90.0,
                random.fraction() * 180.0
            ),
        };
        let name = random.pick(&CATEGORIES);
        let parcel = |random: &mut Random| format!(r#"{{"weight":{},"lines":[{}]}}"#, random.below(10_000), lines(random));
        let parcels: Vec<_> = (0..1 + random.below(3)).map(|_| parcel(&mut random)).collect();
        format!(
            r#"{{"id":{sequence},"customer":{{"name":"{name}","address":{address}}},"parcels":[{}]}}"#,
            parcels.join(",")
        )
    };
    Subject {
        name: "nested",
        fields: fields_of(&fields),
        records: (0..count).map(|sequence| record(sequence).into_bytes()).collect(),
    }
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
        cents(random, 1_000_000),
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
            cents(random, 50_000)
        ));
    }
    add(format_args!(r#"],"user_agent":"{}","memo":""#, random.pick(&AGENTS)));
    for word in 0..45 {
        add(format_args!("{}{}", if word > 0 { " " } else { "" }, random.pick(&WORDS)));
    }
    add(format_args!("\"}}"));
    record
}

fn cents(random: &mut Random, bound: u64) -> f64 {
    random.below(bound) as f64 / 100.0
}
