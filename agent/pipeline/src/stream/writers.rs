//! The schemas that the messages of one side were written by, each a plan of the side's decoder.
//!
//! What a message names is learned once, from the registry, and kept while the stream reads. Invariant: a message is decoded by the
//! schema that it names, or it is null and counted, or it waits.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use stream_decode::decoder::Decoder;
use stream_decode::error::CompileError;
use stream_decode::framing::{Framing, SchemaKey, Split, Unframed};
use stream_decode::plan::{self, Plan, compile_writer};
use stream_decode::report::MisfitReason;
use stream_spec::schema::{ParsedSchema, Wire};

use crate::limits::{WRITER_MISSING_KEPT, WRITERS_KEPT_MAX};
use crate::registry::RegisteredSchema;

/// Why a message is null before a byte of it is read; the first plans of each decoder, in this order. The reader's own follows.
const MISFITS: [MisfitReason; 5] = [
    MisfitReason::NotFramed,
    MisfitReason::NamedByGuid,
    MisfitReason::UnknownSchema,
    MisfitReason::OtherSubject,
    MisfitReason::UnresolvedSchema,
];

/// What is known of a schema that messages name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// Nothing yet.
    Nothing,
    /// The plan of its messages.
    Plan(u16),
    /// The same, until it is asked for again.
    PlanUntil(u16, Instant),
    /// The registry does not say.
    Later,
}

impl Known {
    /// Whether messages have to wait.
    fn waits(&self) -> bool {
        matches!(self, Self::Nothing | Self::Later)
    }

    /// The place of the plan that was made for it alone.
    fn learned_plan(&mut self) -> Option<&mut u16> {
        match self {
            Self::Plan(plan) if *plan >= first_plan() => Some(plan),
            _ => None,
        }
    }
}

/// What was learned of a schema.
#[derive(Clone, Debug)]
pub(crate) enum Learned {
    /// It is this.
    Schema(Arc<RegisteredSchema>),
    /// Its messages are null.
    Misfit(MisfitReason),
    /// Nothing, for this reason; its messages wait.
    Later(String),
}

/// One of the writers.
struct Writer {
    known: Known,
    /// The last batch with a message of it.
    used: u64,
}

/// The writers of one side.
pub(crate) struct Writers {
    framing: Framing,
    reader: ParsedSchema,
    /// The id of the reader's own schema, which nobody has to tell.
    own_id: u32,
    /// By the numbers of `framing`.
    writers: Vec<Writer>,
    /// Plans in the decoder.
    plans: u16,
    /// Counts batches, for telling which writer was used last.
    batch: u64,
    /// The batch that was looked at last names more than `framing` numbers.
    is_full: bool,
}

/// Messages without their frames.
pub(crate) struct Bodies<'p> {
    pub(crate) payloads: Vec<Option<&'p [u8]>>,
    pub(crate) plan_index: Vec<u16>,
}

impl Writers {
    /// The writers of messages that are read as `reader`, whose own id that is, with a decoder for them.
    pub(crate) fn new(reader: ParsedSchema, own_id: u32) -> Result<(Self, Decoder), CompileError> {
        let misfits = MISFITS.iter().map(|reason| Plan::misfit(&reader.data_type, *reason));
        let mut plans: Vec<Plan> = misfits.collect::<Result<_, _>>()?;
        plans.push(plan::compile(&reader, &reader)?);
        let writers = Self {
            framing: Framing::new(reader.format),
            reader,
            own_id,
            writers: Vec::new(),
            plans: first_plan(),
            batch: 0,
            is_full: false,
        };
        Ok((writers, Decoder::new(plans)?))
    }

    /// What messages name and is not known, in the order of first appearance.
    pub(crate) fn missing<'p>(&mut self, payloads: impl Iterator<Item = Option<&'p [u8]>>, now: Instant) -> Vec<SchemaKey> {
        self.is_full = false;
        for payload in payloads.flatten() {
            match self.framing.split(payload) {
                Split::Framed { key, .. } => self.use_writer(key),
                Split::Unframed(_) => {}
                Split::Full => self.is_full = true,
            }
        }
        for writer in &mut self.writers {
            if matches!(writer.known, Known::PlanUntil(_, until) if until <= now) {
                writer.known = Known::Nothing;
            }
        }
        let named = self.framing.keys().iter().zip(&self.writers);
        let unknown = named.filter(|(_, writer)| writer.known == Known::Nothing);
        unknown.map(|(key, _)| key.clone()).collect()
    }

    /// Notes that a message names it; nothing is known yet of one that is new.
    fn use_writer(&mut self, number: u16) {
        if let Some(writer) = self.writers.get_mut(usize::from(number)) {
            writer.used = self.batch;
            return;
        }
        for key in self.framing.keys().get(self.writers.len()..).unwrap_or_default() {
            let is_own = key.id == self.own_id && matches!(*key.indexes, [] | [0]);
            self.writers.push(Writer {
                known: if is_own { Known::Plan(own_plan()) } else { Known::Nothing },
                used: self.batch,
            });
        }
    }

    /// Takes in what was learned.
    pub(crate) fn learn(&mut self, key: &SchemaKey, learned: &Learned, decoder: &mut Decoder, now: Instant) {
        let Some(place) = self.framing.keys().iter().position(|known| known == key) else {
            return;
        };
        let known = match learned {
            Learned::Later(_) => Known::Later,
            Learned::Misfit(reason @ MisfitReason::UnknownSchema) => Known::PlanUntil(misfit_plan(*reason), now + WRITER_MISSING_KEPT),
            Learned::Misfit(reason) => Known::Plan(misfit_plan(*reason)),
            Learned::Schema(schema) => Known::Plan(self.add(key, schema, decoder)),
        };
        if let Some(writer) = self.writers.get_mut(place) {
            writer.known = known;
        }
    }

    /// The plan of a schema's messages, a new one unless they cannot be read.
    fn add(&mut self, key: &SchemaKey, schema: &RegisteredSchema, decoder: &mut Decoder) -> u16 {
        let unresolved = misfit_plan(MisfitReason::UnresolvedSchema);
        let plan = match schema.parse_writer(&key.indexes, &self.reader) {
            Ok(writer) if is_same_message(&writer, &self.reader.wire) => {
                compile_writer(&writer, &self.reader).map_err(|error| error.to_string())
            }
            Ok(_) => Err("it is another message".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        let place = self.plans;
        let plan = plan.and_then(|plan| match plan.reads_nothing() {
            false => Ok(plan),
            true => Err("it does not resolve to the schema in force; give new fields defaults".to_owned()),
        });
        let put = plan.and_then(|plan| decoder.put(place, plan).map_err(|error| error.to_string()));
        match put {
            Ok(()) => {
                self.plans += 1;
                place
            }
            Err(why) => {
                tracing::warn!(schema = key.id, indexes = ?key.indexes, why, "messages of a schema become null");
                unresolved
            }
        }
    }

    /// Whether any message of the batch that was looked at last may have to wait.
    pub(crate) fn may_wait(&self) -> bool {
        self.is_full || self.writers.iter().any(|writer| writer.known.waits())
    }

    /// Whether a message has to wait.
    pub(crate) fn waits(&mut self, payload: &[u8]) -> bool {
        match self.framing.split(payload) {
            Split::Framed { key, .. } => self.writers.get(usize::from(key)).is_none_or(|writer| writer.known.waits()),
            Split::Unframed(_) => false,
            Split::Full => true,
        }
    }

    /// Takes the frames off; `has_guid` tells whether a header of that message names its schema. Messages that wait are not among
    /// them.
    pub(crate) fn unframe<'p>(&mut self, payloads: &[Option<&'p [u8]>], has_guid: impl Fn(usize) -> bool) -> Bodies<'p> {
        let mut bodies = Bodies {
            payloads: Vec::with_capacity(payloads.len()),
            plan_index: Vec::with_capacity(payloads.len()),
        };
        for (row, payload) in payloads.iter().enumerate() {
            let (body, plan) = match payload {
                None => (None, 0),
                Some(payload) => self.body(payload, || has_guid(row)),
            };
            bodies.payloads.push(body);
            bodies.plan_index.push(plan);
        }
        bodies
    }

    fn body<'p>(&mut self, payload: &'p [u8], has_guid: impl FnOnce() -> bool) -> (Option<&'p [u8]>, u16) {
        match self.framing.split(payload) {
            Split::Framed { key, body } => match self.writers.get(usize::from(key)).map(|writer| &writer.known) {
                Some(Known::Plan(plan) | Known::PlanUntil(plan, _)) => (Some(body), *plan),
                _ => (Some(body), misfit_plan(MisfitReason::UnknownSchema)),
            },
            Split::Unframed(Unframed::Guid) => (Some(payload), misfit_plan(MisfitReason::NamedByGuid)),
            Split::Unframed(_) if has_guid() => (Some(payload), misfit_plan(MisfitReason::NamedByGuid)),
            Split::Unframed(_) => (Some(payload), misfit_plan(MisfitReason::NotFramed)),
            Split::Full => (Some(payload), misfit_plan(MisfitReason::UnknownSchema)),
        }
    }

    /// Begins another batch, and forgets the writers beyond [`WRITERS_KEPT_MAX`] that were not used for the longest time: they are learned
    /// again.
    pub(crate) fn tidy(&mut self, decoder: &mut Decoder) {
        self.batch += 1;
        let too_many = self.writers.len().saturating_sub(WRITERS_KEPT_MAX);
        if too_many == 0 {
            return;
        }
        let mut by_age: Vec<(u64, u16)> = self.writers.iter().map(|writer| writer.used).zip(0..).collect();
        by_age.sort_unstable();
        let gone: BTreeSet<u16> = by_age.iter().take(too_many).map(|(_, number)| *number).collect();
        self.framing.retain(|number| !gone.contains(&number));
        let mut numbers = 0..;
        self.writers
            .retain(|_| numbers.next().is_some_and(|number| !gone.contains(&number)));
        self.close_ranks(decoder);
    }

    /// Takes the plans of writers that are gone out of the decoder.
    fn close_ranks(&mut self, decoder: &mut Decoder) {
        let mut plans: Vec<&mut u16> = self.writers.iter_mut().filter_map(|writer| writer.known.learned_plan()).collect();
        plans.sort_unstable();
        decoder.retain(|place| place < first_plan() || plans.binary_search_by(|plan| (**plan).cmp(&place)).is_ok());
        self.plans = first_plan();
        for plan in plans {
            *plan = self.plans;
            self.plans += 1;
        }
    }
}

/// Whether both are messages of one name; Avro's names are looked at where it is resolved.
fn is_same_message(writer: &Wire, reader: &Wire) -> bool {
    match (writer, reader) {
        (Wire::Protobuf(writer), Wire::Protobuf(reader)) => writer.full_name == reader.full_name,
        _ => true,
    }
}

/// The plan of messages that are null for that reason.
fn misfit_plan(reason: MisfitReason) -> u16 {
    let place = MISFITS.iter().position(|known| *known == reason).unwrap_or_default();
    u16::try_from(place).unwrap_or_default()
}

/// The plan of messages that were written by the reader's own schema.
fn own_plan() -> u16 {
    u16::try_from(MISFITS.len()).unwrap_or_default()
}

/// The first plan that is learned.
fn first_plan() -> u16 {
    own_plan() + 1
}
