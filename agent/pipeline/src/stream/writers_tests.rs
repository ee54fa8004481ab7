//! Writers of one side, read batch by batch as a stream does: which of them are forgotten, how often one is compiled, and what waits.

use std::sync::Arc;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use stream_decode::decoder::Decoder;
use stream_decode::limits::FRAME_KEYS_MAX;
use stream_spec::schema::{SchemaFormat, parse};
use stream_spec::stream::SchemaText;

use super::writers::{Learned, Writers};
use crate::limits::WRITERS_KEPT_MAX;
use crate::registry::RegisteredSchema;

const OWN: u32 = 1;

/// A writer's schema has a field of its own before the reader's.
fn schema(id: u32) -> RegisteredSchema {
    let own = if id == OWN {
        String::new()
    } else {
        format!(r#"{{"name":"own{id}","type":"string"}},"#)
    };
    RegisteredSchema {
        id,
        subject: None,
        version: None,
        format: SchemaFormat::Avro,
        text: format!(r#"{{"type":"record","name":"Order","fields":[{own}{{"name":"id","type":"long"}}]}}"#),
        references: Vec::new(),
    }
}

/// A framed message with a small number.
fn message(id: u32, number: u8) -> Vec<u8> {
    let own: &[u8] = if id == OWN { &[] } else { &[2, b'x'] };
    [&[0], id.to_be_bytes().as_slice(), own, &[number * 2]].concat()
}

struct Side {
    writers: Writers,
    decoder: Decoder,
    compiled: usize,
}

impl Side {
    fn new() -> Self {
        let reader = parse(&SchemaText::Avro(schema(OWN).text)).expect("a schema");
        let (writers, decoder) = Writers::new(reader, OWN).expect("a reader");
        Self {
            writers,
            decoder,
            compiled: 0,
        }
    }

    /// Reads a batch as a stream does; the numbers in it.
    fn read(&mut self, messages: &[Vec<u8>]) -> Vec<i64> {
        let now = Instant::now();
        self.writers.tidy(&mut self.decoder);
        let payloads: Vec<Option<&[u8]>> = messages.iter().map(|message| Some(message.as_slice())).collect();
        for key in self.writers.missing(payloads.iter().copied(), now) {
            self.compiled += 1;
            let learned = Learned::Schema(Arc::new(schema(key.id)));
            self.writers.learn(&key, &learned, &mut self.decoder, now);
        }
        let read = payloads.iter().take_while(|payload| !self.writers.waits(payload.expect("one")));
        let read: Vec<Option<&[u8]>> = read.copied().collect();
        let bodies = self.writers.unframe(&read, |_| false);
        let decoded = self.decoder.decode(&bodies.payloads, &bodies.plan_index).expect("decodes");
        assert_eq!(decoded.report.misfit_messages(), 0, "{:?}", decoded.report);
        decoded.array.as_struct().column(0).as_primitive::<Int64Type>().values().to_vec()
    }
}

#[test]
fn one_writer_more_than_are_kept_costs_one_compilation_a_batch() {
    let mut side = Side::new();
    let ids = 0..u32::try_from(WRITERS_KEPT_MAX).expect("few") + 1;
    let numbers = ids.clone().map(|id| u8::try_from(id % 60).expect("small"));
    let expected: Vec<i64> = numbers.clone().map(i64::from).collect();
    let messages: Vec<Vec<u8>> = ids
        .map(|id| id + 100)
        .zip(numbers)
        .map(|(id, number)| message(id, number))
        .collect();
    for batch in 0..6 {
        assert_eq!(side.read(&messages), expected, "batch {batch}");
        assert!(
            side.compiled <= messages.len() + batch,
            "batch {batch}: {} compilations",
            side.compiled
        );
    }
}

#[test]
fn those_that_were_not_used_for_the_longest_time_are_forgotten_and_the_others_keep_their_plans() {
    let mut side = Side::new();
    let old: Vec<Vec<u8>> = (100..110).map(|id| message(id, 1)).collect();
    side.read(&old);
    let busy: Vec<Vec<u8>> = [vec![message(OWN, 7)], (1_000..1_995).map(|id| message(id, 2)).collect()].concat();
    side.read(&busy);
    side.compiled = 0;
    // Six of the old ones go.
    assert_eq!(side.read(&[message(109, 3), message(OWN, 4)]), [3, 4]);
    assert_eq!(side.read(&busy)[..3], [7, 2, 2]);
    assert_eq!(side.compiled, 0);
    assert_eq!(side.read(&[message(109, 3)]), [3]);
    assert_eq!(side.compiled, 0);
    side.read(&old);
    assert_eq!(side.compiled, 6);
}

#[test]
fn more_than_a_batch_may_name_wait_for_the_next_one_and_none_is_null() {
    let mut side = Side::new();
    let count = FRAME_KEYS_MAX + 500;
    let messages: Vec<Vec<u8>> = (100..).take(count).map(|id| message(id, 5)).collect();
    let first = side.read(&messages).len();
    assert_eq!(first, FRAME_KEYS_MAX);
    assert_eq!(side.read(&messages[first..]).len(), 500);
}
