//! Decoding speed on Protobuf messages, beside `ptars` and `prost-reflect` in the same run:
//! `cargo run --release -p stream-decode --example bench_protobuf [ROUNDS [SUBJECT]]`.
//!
//! `ptars` makes Arrow columns too; it takes messages in an Arrow array only, and what making that array costs is taken off its
//! time. It gives up a batch with a bad message, so damaged ones are for ours alone. `prost-reflect` makes messages in memory, no
//! columns.

mod measure;

use std::hint::black_box;

use arrow_array::builder::BinaryBuilder;
use prost_reflect::{DescriptorPool, DynamicMessage};
use protox::Compiler;
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};
use ptars::{EnumRepr, Handler, PtarsConfig};
use stream_decode::decoder::Decoder;
use stream_decode::plan::compile;
use stream_spec::schema::parse;
use stream_spec::stream::SchemaText;

use measure::{BATCH_MESSAGES, Contender, Failure, Random, Wish, timed};

fn main() -> Result<(), Failure> {
    let wish = Wish::read()?;
    for subject in [transactions(), flat(), deep()] {
        if wish.is_for(subject.name) {
            measure(&subject, &wish)?;
        }
    }
    Ok(())
}

struct Subject {
    name: &'static str,
    proto: &'static str,
    messages: Vec<Vec<u8>>,
}

fn measure(subject: &Subject, wish: &Wish) -> Result<(), Failure> {
    let messages = &subject.messages;
    let payloads: Vec<Option<&[u8]>> = messages.iter().map(|message| Some(message.as_slice())).collect();
    let pool = pool(subject.proto)?;
    let config = PtarsConfig::default().with_enum_repr(EnumRepr::String);
    let handler = Handler::try_new(&pool.encode_to_vec(), "bench.M", config)?;
    let message = pool.get_message_by_name("bench.M").ok_or("no message M")?;
    // The last byte is one of the innermost text, which is read last.
    let mut contenders = measure::ours(
        messages,
        || decoder(subject.proto),
        |message| {
            message.pop();
            message.push(0xff);
        },
    )?;
    contenders.push(Contender::new("ptars", || {
        let whole = timed(|| {
            for batch in payloads.chunks(BATCH_MESSAGES) {
                black_box(handler.decode_bytes(batch)?);
            }
            Ok(())
        })?;
        let copies = timed(|| {
            for batch in payloads.chunks(BATCH_MESSAGES) {
                let mut builder = BinaryBuilder::new();
                batch.iter().for_each(|payload| builder.append_option(*payload));
                black_box(builder.finish());
            }
            Ok(())
        })?;
        Ok(whole.saturating_sub(copies))
    }));
    contenders.push(Contender::new("prost-reflect", || {
        timed(|| {
            for payload in messages {
                black_box(DynamicMessage::decode(message.clone(), payload.as_slice())?);
            }
            Ok(())
        })
    }));
    measure::compare(subject.name, messages, wish, contenders)
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
