//! What it costs that each message names its schema in a registry: messages of one writer's schema, and of twenty side by side, beside
//! the same messages without frames, in one run: `cargo run --release -p stream-decode --example bench_registry [ROUNDS [SUBJECT]]`.
//!
//! Beside it `arrow-avro`, which reads the same frames, and ends a batch wherever the next message has another writer.

mod measure;

use std::hint::black_box;

use arrow_avro::reader::ReaderBuilder;
use arrow_avro::schema::{AvroSchema, Fingerprint, FingerprintAlgorithm, SchemaStore};
use stream_decode::decoder::Decoder;
use stream_decode::framing::{Framing, Split};
use stream_decode::plan::compile;
use stream_spec::schema::{self, ParsedSchema, SchemaFormat};
use stream_spec::stream::SchemaText;

use measure::{BATCH_MESSAGES, Contender, Failure, Random, Wish, timed};

const MESSAGES: usize = 100_000;

/// The id of the first writer's schema.
const FIRST_ID: u32 = 1_000;

/// Messages of a language, and the schemas that wrote them.
struct Subject {
    name: &'static str,
    format: SchemaFormat,
    /// The schema of a writer; that of number 0 is the reader's, too.
    schema: fn(usize) -> SchemaText,
    /// A message by a writer's schema.
    message: fn(usize, &mut Random) -> Vec<u8>,
}

fn main() -> Result<(), Failure> {
    let wish = Wish::read()?;
    let avro = Subject {
        name: "avro",
        format: SchemaFormat::Avro,
        schema: avro_schema,
        message: avro_message,
    };
    let protobuf = Subject {
        name: "protobuf",
        format: SchemaFormat::Protobuf,
        schema: protobuf_schema,
        message: protobuf_message,
    };
    for subject in [avro, protobuf] {
        if wish.is_for(subject.name) {
            let bare = messages(&subject, 1);
            let mut contenders = measure::ours(&bare, || direct(&subject), |message| message.truncate(message.len() - 1))?;
            contenders.extend([framed(&subject, 1)?, framed(&subject, 20)?]);
            if subject.format == SchemaFormat::Avro {
                contenders.extend([theirs(&subject, 1)?, theirs(&subject, 20)?]);
            }
            measure::compare(subject.name, &bare, &wish, contenders)?;
        }
    }
    Ok(())
}

fn parsed(subject: &Subject, writer: usize) -> Result<ParsedSchema, Failure> {
    schema::parse(&(subject.schema)(writer)).map_err(|problems| format!("{problems:?}").into())
}

/// Messages of so many writers in turn.
fn messages(subject: &Subject, writers: usize) -> Vec<Vec<u8>> {
    let mut random = Random(7);
    (0..MESSAGES).map(|index| (subject.message)(index % writers, &mut random)).collect()
}

fn direct(subject: &Subject) -> Result<Decoder, Failure> {
    let reader = parsed(subject, 0)?;
    Ok(Decoder::new(vec![compile(&reader, &reader)?])?)
}

fn framed(subject: &Subject, writers: usize) -> Result<Contender<'static>, Failure> {
    let reader = parsed(subject, 0)?;
    let plans: Result<Vec<_>, Failure> = (0..writers)
        .map(|writer| Ok(compile(&parsed(subject, writer)?, &reader)?))
        .collect();
    let mut decoder = Decoder::new(plans?)?;
    // Writers come in turn, so that their numbers are those of their plans.
    let mut framing = Framing::new(subject.format);
    let messages = framed_messages(subject, writers);
    Ok(Contender::new(format!("{writers} writers"), move || {
        let payloads: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
        timed(|| {
            for batch in payloads.chunks(BATCH_MESSAGES) {
                let (mut bodies, mut plan_index) = (Vec::with_capacity(batch.len()), Vec::with_capacity(batch.len()));
                for payload in batch {
                    let Split::Framed { key, body } = framing.split(payload) else {
                        return Err("a message without its frame".into());
                    };
                    bodies.push(Some(body));
                    plan_index.push(key);
                }
                let decoded = decoder.decode(&bodies, &plan_index)?;
                assert_eq!(decoded.report.misfit_messages(), 0, "every message fits");
                black_box(decoded.array);
            }
            Ok(())
        })
    }))
}

/// Messages of so many writers in turn, each behind its frame.
fn framed_messages(subject: &Subject, writers: usize) -> Vec<Vec<u8>> {
    let indexes: &[u8] = if subject.format == SchemaFormat::Protobuf { &[0] } else { &[] };
    let messages = messages(subject, writers).into_iter().enumerate();
    messages
        .map(|(index, message)| [&[0], id(index % writers).to_be_bytes().as_slice(), indexes, &message].concat())
        .collect()
}

fn id(writer: usize) -> u32 {
    FIRST_ID + u32::try_from(writer).unwrap_or_default()
}

fn theirs(subject: &Subject, writers: usize) -> Result<Contender<'static>, Failure> {
    let schema = |writer: usize| match (subject.schema)(writer) {
        SchemaText::Avro(text) => Ok(AvroSchema::new(text)),
        other => Err(Failure::from(format!("no Avro: {other:?}"))),
    };
    let mut store = SchemaStore::new_with_type(FingerprintAlgorithm::Id);
    for writer in 0..writers {
        store.set(Fingerprint::Id(id(writer)), schema(writer)?)?;
    }
    let mut decoder = ReaderBuilder::new()
        .with_reader_schema(schema(0)?)
        .with_writer_schema_store(store)
        .with_active_fingerprint(Fingerprint::Id(FIRST_ID))
        .with_batch_size(BATCH_MESSAGES)
        .build_decoder()?;
    let messages = framed_messages(subject, writers);
    let batches: Vec<Vec<u8>> = messages.chunks(BATCH_MESSAGES).map(<[Vec<u8>]>::concat).collect();
    Ok(Contender::new(format!("arrow-avro, {writers}"), move || {
        timed(|| {
            let mut rows = 0;
            for batch in &batches {
                let mut rest = batch.as_slice();
                while !rest.is_empty() || !decoder.batch_is_empty() {
                    let read = decoder.decode(rest)?;
                    rest = rest.get(read..).unwrap_or_default();
                    if let Some(decoded) = decoder.flush()? {
                        rows += decoded.num_rows();
                        black_box(decoded);
                    }
                }
            }
            assert_eq!(rows, MESSAGES, "every message is a row");
            Ok(())
        })
    }))
}

fn avro_schema(writer: usize) -> SchemaText {
    let more = match writer {
        0 => String::new(),
        number => format!(r#",{{"name":"more_{number}","type":["null","string"],"default":null}}"#),
    };
    SchemaText::Avro(format!(
        r#"{{"type":"record","name":"Order","fields":[{{"name":"id","type":"long"}},{{"name":"amount","type":"double"}},
        {{"name":"name","type":"string"}},{{"name":"note","type":["null","string"]}}{more}]}}"#
    ))
}

fn avro_message(writer: usize, random: &mut Random) -> Vec<u8> {
    // A long of two bytes, a double, two texts of 24 bytes, and null for what only this writer has.
    let mut message = vec![0x80 | (2 * random.below(64)) as u8, 1];
    message.extend(random.fraction().to_le_bytes());
    message.push(48);
    message.extend(text(random));
    message.extend([2, 48]);
    message.extend(text(random));
    if writer > 0 {
        message.push(0);
    }
    message
}

fn protobuf_schema(writer: usize) -> SchemaText {
    let more = match writer {
        0 => String::new(),
        number => format!("string more_{number} = {};", 100 + number),
    };
    SchemaText::Proto {
        schema_text: format!(
            "syntax = \"proto3\"; package bench; message Order {{ int64 id = 1; double amount = 2; string name = 3; string note = 4; {more} }}"
        ),
        message_name: "bench.Order".to_owned(),
    }
}

fn protobuf_message(_writer: usize, random: &mut Random) -> Vec<u8> {
    let mut message = vec![0x08, 0x80 | random.below(128) as u8, 1, 0x11];
    message.extend(random.fraction().to_le_bytes());
    for tag in [0x1a, 0x22] {
        message.extend([tag, 24]);
        message.extend(text(random));
    }
    message
}

/// Texts of 24 bytes.
fn text(random: &mut Random) -> impl Iterator<Item = u8> {
    let (first, second) = (
        random.pick(&["electronics ", "stationery  ", "groceries   "]),
        random.pick(&["paid by card", "paid in cash"]),
    );
    first.bytes().chain(second.bytes())
}
