//! How a message says by which schema of a Confluent registry it was written, and where its bytes begin.
//!
//! A framed payload is a zero byte, the schema's id as four bytes, most significant first, and the message's own bytes. Between the two
//! a Protobuf message says which message of the schema it is: the number of indexes, then each of them, as zig-zag varints; a lone
//! zero is short for the first message. The older spelling without zig-zag, which some producers can still be set to, looks like a
//! negative count here and is not read, except for the first message, which is a lone zero in both.
//!
//! Newer producers may carry a schema's GUID instead: in a header of the record ([`PAYLOAD_GUID_HEADER`]), where the payload then has no
//! frame, or as a prefix of the payload that begins with a byte of one. No id follows from a GUID; such messages are told apart so that
//! they can be explained.
//!
//! The one invariant: what a payload says is believed as far as it is there; no bytes make this fail or grow beyond its limits.

use std::collections::HashMap;

use stream_spec::schema::SchemaFormat;

use crate::limits::{FRAME_KEYS_MAX, MESSAGE_INDEXES_MAX};

/// The header that carries the GUID of a key's schema.
pub const KEY_GUID_HEADER: &str = "__key_schema_id";

/// The header that carries the GUID of a payload's schema.
pub const PAYLOAD_GUID_HEADER: &str = "__value_schema_id";

const ID_MAGIC: u8 = 0;
const GUID_MAGIC: u8 = 1;

/// The magic byte and a GUID.
const GUID_BYTES: usize = 17;

/// Which schema, and which of its messages.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchemaKey {
    /// The schema's id in its registry.
    pub id: u32,
    /// The way to the message from the top of a Protobuf schema; empty in Avro.
    pub indexes: Box<[u32]>,
}

/// Why a payload has no frame that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unframed {
    /// It ends before the frame does.
    TooShort,
    /// It begins with another byte than the one that announces an id.
    NoMagic,
    /// It begins with a GUID.
    Guid,
    /// What should be the indexes of a message is not: too many, negative, or no varint.
    Indexes,
}

impl std::fmt::Display for Unframed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::TooShort => "the payload is shorter than the frame that names its schema",
            Self::NoMagic => "the payload does not begin with the zero byte that announces a schema's id",
            Self::Guid => "the payload names its schema by a GUID, not by an id",
            Self::Indexes => "the payload does not say which message of its schema it is",
        })
    }
}

/// What a payload's beginning is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split<'p> {
    /// A frame.
    Framed {
        /// Which of [`Framing::keys`] it names.
        key: u16,
        /// The message's own bytes.
        body: &'p [u8],
    },
    /// No frame.
    Unframed(Unframed),
    /// It names a schema that no other one did, and there is no room for it before [`Framing::retain`].
    Full,
}

/// Takes frames off payloads and numbers what they name, so that a batch is sorted by small numbers and not by what messages say.
///
/// Nothing is allocated, and mostly nothing hashed, for a payload that names what the one before did.
#[derive(Debug)]
pub struct Framing {
    with_indexes: bool,
    keys: Vec<SchemaKey>,
    by_key: HashMap<SchemaKey, u16>,
    /// By the bytes of frames: one key may be spelled in several ways.
    by_bytes: HashMap<Box<[u8]>, u16>,
    last: Vec<u8>,
    last_key: u16,
}

impl Framing {
    /// For messages of a language: only Protobuf's have indexes.
    pub fn new(format: SchemaFormat) -> Self {
        Self {
            with_indexes: format == SchemaFormat::Protobuf,
            keys: Vec::new(),
            by_key: HashMap::new(),
            by_bytes: HashMap::new(),
            last: Vec::new(),
            last_key: 0,
        }
    }

    /// What was named so far; its place is the number that [`Split::Framed`] says.
    pub fn keys(&self) -> &[SchemaKey] {
        &self.keys
    }

    /// Forgets what was named but for the numbers that stay; these become smaller by as many as were forgotten before them.
    pub fn retain(&mut self, stays: impl Fn(u16) -> bool) {
        let mut numbers = 0_u16..;
        self.keys.retain(|_| numbers.next().is_some_and(&stays));
        self.by_key = self.keys.iter().cloned().zip(0..).collect();
        self.by_bytes.clear();
        self.last.clear();
    }

    /// Takes the frame off a payload.
    #[inline]
    pub fn split<'p>(&mut self, payload: &'p [u8]) -> Split<'p> {
        // A frame says its own length: a payload that begins with the same bytes has the same frame.
        if !self.last.is_empty()
            && let Some(body) = payload.strip_prefix(self.last.as_slice())
        {
            return Split::Framed { key: self.last_key, body };
        }
        self.split_other(payload)
    }

    fn split_other<'p>(&mut self, payload: &'p [u8]) -> Split<'p> {
        let (frame, body) = match frame(payload, self.with_indexes) {
            Ok(parts) => parts,
            Err(unframed) => return Split::Unframed(unframed),
        };
        let key = match self.by_bytes.get(frame) {
            Some(key) => *key,
            None => match self.number(frame) {
                Some(key) => key,
                None => return Split::Full,
            },
        };
        self.last.clear();
        self.last.extend_from_slice(frame);
        self.last_key = key;
        Split::Framed { key, body }
    }

    /// The number of what a frame names, which is new if need be; none without room for it.
    fn number(&mut self, frame: &[u8]) -> Option<u16> {
        let key = key(frame, self.with_indexes);
        let number = match self.by_key.get(&key) {
            Some(number) => *number,
            None => {
                let number = u16::try_from(self.keys.len()).ok().filter(|_| self.keys.len() < FRAME_KEYS_MAX)?;
                self.keys.push(key.clone());
                self.by_key.insert(key, number);
                number
            }
        };
        if self.by_bytes.len() >= 2 * FRAME_KEYS_MAX {
            self.by_bytes.clear();
        }
        self.by_bytes.insert(frame.into(), number);
        Some(number)
    }
}

/// True for the value of one of the headers that carry a schema's GUID. Indexes of a Protobuf message may follow it.
pub fn is_guid(header: &[u8]) -> bool {
    header.len() >= GUID_BYTES && header.first() == Some(&GUID_MAGIC)
}

/// A payload's frame and what comes behind it.
fn frame(payload: &[u8], with_indexes: bool) -> Result<(&[u8], &[u8]), Unframed> {
    match payload {
        [ID_MAGIC, _, _, _, _, rest @ ..] => {
            let rest = if with_indexes { behind_indexes(rest)? } else { rest };
            let length = payload.len() - rest.len();
            payload.split_at_checked(length).ok_or(Unframed::TooShort)
        }
        [] | [ID_MAGIC, ..] => Err(Unframed::TooShort),
        _ if is_guid(payload) => Err(Unframed::Guid),
        _ => Err(Unframed::NoMagic),
    }
}

fn behind_indexes(bytes: &[u8]) -> Result<&[u8], Unframed> {
    let (count, mut rest) = varint(bytes)?;
    if usize::try_from(count).unwrap_or(usize::MAX) > MESSAGE_INDEXES_MAX {
        return Err(Unframed::Indexes);
    }
    for _ in 0..count {
        (_, rest) = varint(rest)?;
    }
    Ok(rest)
}

/// What a whole frame names.
fn key(frame: &[u8], with_indexes: bool) -> SchemaKey {
    let (id, mut rest) = match frame {
        [_, a, b, c, d, rest @ ..] => (u32::from_be_bytes([*a, *b, *c, *d]), rest),
        _ => (0, [].as_slice()),
    };
    let mut indexes = Vec::new();
    if let (true, Ok((count, behind))) = (with_indexes, varint(rest)) {
        rest = behind;
        for _ in 0..count {
            let Ok((index, behind)) = varint(rest) else { break };
            indexes.push(index);
            rest = behind;
        }
        if count == 0 {
            indexes.push(0);
        }
    }
    SchemaKey {
        id,
        indexes: indexes.into(),
    }
}

/// Most bytes of a varint of 32 bits.
const VARINT_BYTES_MAX: usize = 5;

/// A zig-zag varint that is not negative, and what is behind it.
fn varint(bytes: &[u8]) -> Result<(u32, &[u8]), Unframed> {
    let mut bits = 0_u64;
    for (place, byte) in bytes.iter().enumerate().take(VARINT_BYTES_MAX) {
        bits |= u64::from(byte & 0x7f) << (7 * place);
        if *byte < 0x80 {
            let number = u32::try_from(bits).ok().filter(|bits| bits & 1 == 0).ok_or(Unframed::Indexes)?;
            return Ok((number >> 1, bytes.get(place + 1..).unwrap_or_default()));
        }
    }
    if bytes.len() < VARINT_BYTES_MAX {
        Err(Unframed::TooShort)
    } else {
        Err(Unframed::Indexes)
    }
}

#[cfg(test)]
mod tests {
    use stream_spec::schema::SchemaFormat::{Avro, Protobuf};

    use super::{Framing, SchemaKey, Split, Unframed, is_guid};
    use crate::limits::FRAME_KEYS_MAX;

    fn key(id: u32, indexes: &[u32]) -> SchemaKey {
        SchemaKey {
            id,
            indexes: indexes.into(),
        }
    }

    /// Splits one payload by itself.
    fn split(format: stream_spec::schema::SchemaFormat, payload: &[u8]) -> Result<(SchemaKey, Vec<u8>), Unframed> {
        let mut framing = Framing::new(format);
        match framing.split(payload) {
            Split::Framed { key, body } => Ok((framing.keys()[usize::from(key)].clone(), body.to_vec())),
            Split::Unframed(unframed) => Err(unframed),
            Split::Full => panic!("one is not too many"),
        }
    }

    #[test]
    fn an_id_is_four_bytes_with_the_greatest_first() {
        assert_eq!(split(Avro, &[0, 0, 1, 2, 3, 7, 8]), Ok((key(0x0001_0203, &[]), vec![7, 8])));
        assert_eq!(split(Avro, &[0, 0xff, 0xff, 0xff, 0xff]), Ok((key(u32::MAX, &[]), vec![])));
    }

    /// gklijs/schema_registry_converter#176: a frame without a message is an error, and no more than that.
    #[test]
    fn what_is_no_frame_is_told_apart() {
        let guid = [&[1_u8][..], &[7; 16]].concat();
        for format in [Avro, Protobuf] {
            for (payload, expected) in [
                (&[][..], Unframed::TooShort),
                (&[0], Unframed::TooShort),
                (&[0, 0, 0, 0], Unframed::TooShort),
                (b"{\"a\":1}", Unframed::NoMagic),
                (&guid[..16], Unframed::NoMagic),
                (&guid, Unframed::Guid),
            ] {
                assert_eq!(split(format, payload), Err(expected), "{payload:?}");
            }
        }
        assert!(is_guid(&guid) && is_guid(&[&guid[..], &[0]].concat()));
        assert!(!is_guid(&guid[..16]) && !is_guid(&[0; 17]) && !is_guid(&[]));
    }

    /// kafkajs/confluent-schema-registry#152, redpanda-data/console#2065, ArroyoSystems/arroyo#763: every spelling of the indexes.
    #[test]
    fn the_message_of_a_protobuf_schema_is_named_in_every_spelling() {
        let framed = |indexes: &[u8]| split(Protobuf, &[&[0, 0, 0, 0, 5], indexes].concat());
        for (bytes, indexes, body) in [
            (&[0, 9][..], &[0][..], &[9][..]),
            (&[2, 0, 9], &[0], &[9]),
            (&[2, 4], &[2], &[]),
            (&[4, 2, 0, 9, 9], &[1, 0], &[9, 9]),
            (&[6, 0, 0, 4], &[0, 0, 2], &[]),
            (&[2, 0x80, 0x01, 9], &[64], &[9]),
            (&[2, 0xfe, 0xff, 0xff, 0xff, 0x0f], &[0x7fff_ffff], &[]),
            (&[0x82, 0x80, 0x00, 0x84, 0x00], &[2], &[]),
        ] {
            assert_eq!(framed(bytes), Ok((key(5, indexes), body.to_vec())), "{bytes:?}");
        }
        for (bytes, expected) in [
            (&[][..], Unframed::TooShort),
            (&[2], Unframed::TooShort),
            (&[4, 0], Unframed::TooShort),
            (&[2, 0x80], Unframed::TooShort),
            // Without zig-zag: one index.
            (&[1, 1, 9], Unframed::Indexes),
            (&[2, 1], Unframed::Indexes),
            (&[66], Unframed::Indexes),
            (&[0xfe, 0xff, 0xff, 0xff, 0x0f], Unframed::Indexes),
            (&[2, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00], Unframed::Indexes),
            (&[2, 0xfe, 0xff, 0xff, 0xff, 0x1f], Unframed::Indexes),
        ] {
            assert_eq!(framed(bytes), Err(expected), "{bytes:?}");
        }
    }

    #[test]
    fn what_is_named_is_numbered_once_whatever_its_spelling() {
        let mut framing = Framing::new(Protobuf);
        let mut number = |indexes: &[u8]| match framing.split(&[&[0, 0, 0, 0, 5], indexes].concat()) {
            Split::Framed { key, .. } => key,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            [&[0][..], &[2, 0], &[2, 2], &[0], &[2, 0x80, 0x00], &[2, 2]].map(&mut number),
            [0, 0, 1, 0, 0, 1]
        );
        assert_eq!(framing.keys(), [key(5, &[0]), key(5, &[1])]);
        framing.retain(|number| number == 1);
        assert_eq!(framing.keys(), [key(5, &[1])]);
        assert_eq!(framing.split(&[0, 0, 0, 0, 5, 2, 2]), Split::Framed { key: 0, body: &[] });
        assert_eq!(framing.split(&[0, 0, 0, 0, 5, 0]), Split::Framed { key: 1, body: &[] });
    }

    #[test]
    fn there_is_room_for_so_many_names_and_no_more() {
        let mut framing = Framing::new(Avro);
        let payload = |id: usize| [&[0], u32::try_from(id).unwrap().to_be_bytes().as_slice()].concat();
        for id in 0..FRAME_KEYS_MAX {
            assert!(matches!(framing.split(&payload(id)), Split::Framed { key, .. } if usize::from(key) == id));
        }
        assert_eq!(framing.split(&payload(FRAME_KEYS_MAX)), Split::Full);
        assert!(
            matches!(framing.split(&payload(3)), Split::Framed { key: 3, .. }),
            "known ones go on"
        );
    }
}
