//! The short way for messages without a surprise: well-formed ones in which no field comes twice that cannot.
//!
//! Each value goes into its column for good, so that no field needs a mark of what came of it, and a message inside another is
//! complete at its own end. The field behind the last one is tried first. At the first surprise of any kind (an error, a second
//! value, a second member of a oneof, another wire kind, a group) the message is left to the exact way. The one invariant: a
//! message that is taken here has the row that the exact way gives it, and no misfit.

use super::node::{Content, FastNode, FieldNode, MessageNode, Place, Single, Time, Value};
use super::read::{read_packed, read_time, read_wrapper};
use super::run::Run;
use super::scalar::{Put, Scalar, Slot, put};
use super::wire::{DELIMITED, GROUP_START, Tag, Wire};
use crate::builders::{Column, ColumnBuilder, ListColumn, StructColumn};
use crate::limits::{FAST_MISSES_MAX, FAST_REST_MESSAGES};

/// Whether the next message goes this way. It changes the time that messages take, never their rows.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    possible: bool,
    /// Messages left to the exact way since the last one taken.
    misses: u32,
    /// Messages to leave untried.
    rest: u32,
}

impl Turns {
    pub(super) fn new(possible: bool) -> Self {
        Self {
            possible,
            misses: 0,
            rest: 0,
        }
    }

    #[inline]
    pub(super) fn is_fast(&mut self) -> bool {
        if self.rest > 0 {
            self.rest -= 1;
            return false;
        }
        self.possible
    }

    /// Remembers whether a message was taken.
    #[inline]
    pub(super) fn note(&mut self, taken: bool) {
        if taken {
            self.misses = 0;
            return;
        }
        self.misses = self.misses.saturating_add(1);
        if self.misses >= FAST_MISSES_MAX {
            self.rest = FAST_REST_MESSAGES;
        }
    }
}

/// Gives the fields of a message type their bits, in order. None where more fields than there are bits must be told apart.
pub(super) fn prepare(fields: &mut [FieldNode]) -> Option<FastNode> {
    let mut node = FastNode {
        all: 0,
        required: 0,
        to_end: 0,
    };
    let mut oneofs: Vec<u64> = Vec::new();
    for (index, field) in (0..).zip(&mut *fields) {
        field.bit = 1_u64.checked_shl(index).unwrap_or(0);
        if field.bit == 0 && (field.required || field.oneof.is_some()) {
            return None;
        }
        node.all |= field.bit;
        if field.required {
            node.required |= field.bit;
        }
        if !matches!(field.content, Content::Single(_)) || matches!(field.place, Place::Hidden(_)) {
            node.to_end |= field.bit;
        }
        if let Some(oneof) = field.oneof {
            if oneofs.len() <= oneof {
                oneofs.resize(oneof + 1, 0);
            }
            if let Some(members) = oneofs.get_mut(oneof) {
                *members |= field.bit;
            }
        }
    }
    for field in fields {
        field.excludes = match (&field.content, field.oneof) {
            (Content::Single(_), Some(oneof)) => oneofs.get(oneof).copied().unwrap_or(field.bit),
            (Content::Single(_), None) => field.bit,
            (Content::List(_) | Content::Map(_), _) => 0,
        };
    }
    Some(node)
}

/// Whether messages of that type can go this way.
pub(super) fn can_read(node: &MessageNode) -> bool {
    let below = |field: &FieldNode| match &field.content {
        Content::Single(Single {
            value: Value::Message(node),
            ..
        })
        | Content::List(Value::Message(node)) => can_read(node),
        // Entries are read the exact way.
        Content::Single(_) | Content::List(_) | Content::Map(_) => true,
    };
    node.fast.is_some() && node.fields.iter().all(below)
}

/// Appends one message as one row and answers the cells that it filled, or leaves everything as it was.
pub(super) fn append(root: &mut MessageNode, payload: &[u8], column: &mut StructColumn) -> Option<usize> {
    let row = column.len();
    let mut run = Run::new();
    let read = message(root, &mut Wire::new(payload), column, &mut run);
    if read.is_none() || run.flaw.is_some() {
        root.abandon();
        column.truncate(row);
        return None;
    }
    Some(run.cells())
}

/// Reads a message up to the end of its part and completes its row.
fn message(node: &mut MessageNode, wire: &mut Wire<'_>, column: &mut StructColumn, run: &mut Run) -> Option<()> {
    run.take_cells(node.cells).ok()?;
    let (mut came, mut next) = (0_u64, 0);
    while !wire.is_over().ok()? {
        let tag = wire.varint32().ok()?;
        let index = match node.fields.get(next) {
            Some(field) if field.tag == tag => next,
            _ => {
                let tag = Tag::of(tag).ok()?;
                let Some(index) = node.lookup.find(tag.number) else {
                    wire.skip(tag, run.level).ok()?;
                    continue;
                };
                index
            }
        };
        let field = node.fields.get_mut(index)?;
        if came & field.excludes != 0 {
            return None;
        }
        came |= field.bit;
        next = if read_field(field, tag, wire, column, run)? {
            index + 1
        } else {
            index
        };
    }
    complete(node, came, column, run)
}

/// Reads what comes under that tag. Answers whether another field is to be expected behind it.
#[inline(always)]
fn read_field(field: &mut FieldNode, tag: u32, wire: &mut Wire<'_>, parent: &mut StructColumn, run: &mut Run) -> Option<bool> {
    let (column, row) = match &mut field.place {
        Place::Child(index) => {
            let row = parent.len();
            (parent.child(*index)?, row)
        }
        Place::Hidden(hidden) => (&mut hidden.column, 0),
    };
    if tag != field.tag {
        return match (&mut field.content, column) {
            (Content::List(Value::Scalar(scalar)), Column::List(list)) if field.packable && (tag & 7) == u32::from(DELIMITED) => {
                let put = read_packed(scalar, wire, list, run).ok()?;
                (put == Put::Stored).then_some(false)
            }
            _ => None,
        };
    }
    match (&mut field.content, column) {
        (Content::Single(single), column) => {
            if field.bit == 0 && column.len() != row {
                return None;
            }
            if let Value::Scalar(scalar) = &single.value {
                let slot = Slot {
                    replace: None,
                    zero: single.zero_once,
                };
                match put(scalar, wire, column, slot, run).ok()? {
                    Put::Stored => {}
                    Put::Absent => single.absent.append(None, column, run).ok()?,
                    Put::Unknown => return None,
                }
            } else if field.wire_kind == GROUP_START {
                return None;
            } else {
                read_composite(single, wire, column, run)?;
            }
            Some(true)
        }
        (Content::List(value), Column::List(list)) => read_element(value, field.wire_kind, wire, list, run).map(|()| false),
        (Content::Map(map), Column::Map(column)) => {
            map.read_entry(wire, column, run).ok()?;
            Some(false)
        }
        (Content::List(_) | Content::Map(_), _) => None,
    }
}

/// Reads the one value of a field that has parts.
fn read_composite(single: &mut Single, wire: &mut Wire<'_>, column: &mut Column, run: &mut Run) -> Option<()> {
    match &mut single.value {
        Value::Message(node) => nested(node, wire, column, run),
        Value::Time(_) => time(wire, column, run),
        Value::Wrapper(scalar) => {
            let row = column.len();
            if !read_wrapper(scalar, wire, column, None, row, run).ok()? {
                single.absent.append(None, column, run).ok()?;
            }
            Some(())
        }
        Value::Scalar(_) => None,
    }
}

/// Reads one element of a list.
fn read_element(value: &mut Value, wire_kind: u8, wire: &mut Wire<'_>, list: &mut ListColumn, run: &mut Run) -> Option<()> {
    let column = list.elements();
    match value {
        Value::Message(_) if wire_kind == GROUP_START => None,
        Value::Message(node) => nested(node, wire, column, run),
        Value::Time(_) => time(wire, column, run),
        Value::Wrapper(scalar) => {
            let row = column.len();
            if !read_wrapper(scalar, wire, column, None, row, run).ok()? {
                column.append_null();
            }
            Some(())
        }
        Value::Scalar(scalar) => put_element(scalar, wire, column, run),
    }
}

fn put_element(scalar: &Scalar, wire: &mut Wire<'_>, column: &mut Column, run: &mut Run) -> Option<()> {
    let put = put(scalar, wire, column, Slot::ELEMENT, run).ok()?;
    (put == Put::Stored).then_some(())
}

fn nested(node: &mut MessageNode, wire: &mut Wire<'_>, column: &mut Column, run: &mut Run) -> Option<()> {
    let Column::Struct(column) = column else { return None };
    run.enter().ok()?;
    let around = wire.enter().ok()?;
    message(node, wire, column, run)?;
    wire.leave(around);
    run.leave();
    Some(())
}

fn time(wire: &mut Wire<'_>, column: &mut Column, run: &mut Run) -> Option<()> {
    let mut time = Time::default();
    read_time(&mut time, wire, run).ok()?;
    time.append(column, run).ok()
}

/// Completes the row of a message of which those fields came.
#[inline]
fn complete(node: &mut MessageNode, came: u64, column: &mut StructColumn, run: &mut Run) -> Option<()> {
    let fast = node.fast?;
    if fast.required & !came != 0 {
        return None;
    }
    let mut left = (fast.all & !came) | fast.to_end;
    while left != 0 {
        let index = left.trailing_zeros() as usize;
        left &= left - 1;
        let field = node.fields.get_mut(index)?;
        let is_absent = came & field.bit == 0;
        end_field(field, is_absent, column, run)?;
    }
    for field in node.fields.iter_mut().skip(u64::BITS as usize) {
        let row = column.len();
        let is_absent = matches!(field.place.column(column, row), Some((column, row)) if column.len() == row);
        end_field(field, is_absent, column, run)?;
    }
    node.append_missing(column, run).ok()?;
    column.complete_row_of(node.columns);
    Some(())
}

/// Ends what a field has in the open row.
fn end_field(field: &mut FieldNode, is_absent: bool, parent: &mut StructColumn, run: &mut Run) -> Option<()> {
    let row = parent.len();
    let (column, _) = field.place.column(parent, row)?;
    match (&mut field.content, column) {
        (Content::Single(single), column) => {
            if is_absent {
                single.absent.append(Some(&mut single.value), column, run).ok()?;
            }
        }
        (Content::List(_), Column::List(list)) => list.commit(),
        (Content::Map(_), Column::Map(map)) => map.commit(),
        (Content::List(_) | Content::Map(_), _) => return None,
    }
    if let Place::Hidden(hidden) = &mut field.place {
        hidden.column.truncate(0);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use stream_spec::schema::Wire;
    use stream_spec::schema::protobuf::parse_as_spark;

    use super::{Turns, append, can_read};
    use crate::builders::{Column, ColumnBuilder};
    use crate::limits::{FAST_MISSES_MAX, FAST_REST_MESSAGES};
    use crate::protobuf::compile::message;

    const PROTO: &str = r#"syntax = "proto2"; import "google/protobuf/wrappers.proto"; enum E { ONE = 1; }
        message Timestamp { optional int64 seconds = 1; optional int32 nanos = 2; }
        message R { required int32 x = 1; }
        message M { optional int32 a = 1; optional string s = 2; repeated sint32 l = 3; optional M2 m = 4; optional E e = 5;
            oneof o { int32 p = 6; string q = 7; } map<string, M2> k = 8; optional Timestamp t = 9; repeated M2 n = 10;
            optional google.protobuf.Int32Value w = 11; optional group G = 12 { optional int32 x = 1; } optional R r = 13; }
        message M2 { optional int64 b = 1; optional M3 d = 2; }
        message M3 { optional bytes c = 1; }"#;

    fn check(bytes: &[u8], expected: bool) {
        let schema = parse_as_spark(PROTO, "M").unwrap();
        let Wire::Protobuf(parsed) = &schema.wire else {
            panic!("no Protobuf")
        };
        let mut root = message(parsed, parsed).unwrap();
        assert!(can_read(&root));
        let mut column = Column::new(&schema.data_type);
        let Column::Struct(rows) = &mut column else { panic!("no struct") };
        let taken = append(&mut root, bytes, rows).is_some();
        assert_eq!(taken, expected, "{}", bytes.escape_ascii());
        assert_eq!(rows.len(), usize::from(expected));
        column.finish().unwrap().to_data().validate_full().unwrap();
    }

    #[test]
    fn messages_without_a_surprise_are_taken() {
        for bytes in [
            &b""[..],
            b"\x08\x01\x12\x01x\x28\x01",
            b"\x28\x01\x12\x01x\x08\x01",
            b"\x18\x01\x08\x01\x18\x02\x1a\x02\x03\x04\x18\x05",
            b"\x22\x07\x08\x96\x01\x12\x02\x0a\x00\x08\x01",
            b"\x30\x01",
            b"\x42\x05\x0a\x01k\x12\x00\x42\x00\x52\x02\x08\x01\x52\x00",
            b"\x4a\x04\x08\x01\x10\x02\x5a\x02\x08\x07",
            b"\xa0\x06\x01\x08\x01\xa3\x06\x08\x01\xa4\x06",
            b"\x6a\x02\x08\x01",
        ] {
            check(bytes, true);
        }
    }

    #[test]
    fn messages_with_a_surprise_are_left_with_nothing_behind() {
        for bytes in [
            &b"\x08\x01\x08\x01"[..],
            b"\x22\x00\x22\x00",
            b"\x30\x01\x3a\x00",
            b"\x30\x01\x30\x01",
            b"\x0d\x01\x02\x03\x04",
            b"\x0a\x00",
            b"\x28\x02",
            b"\x63\x08\x01\x64",
            b"\x6a\x00",
            b"\x08",
            b"\x00\x01",
            b"\x0c",
            b"\x12\x05x",
            b"\x22\x02\x08\x96\x01",
            b"\x22\x03\x12\x04\x0a\x02xy",
            b"\x22\x04\x12\x02\x0a\x02xy\x08\x01",
            b"\x1a\x01\x96\x01",
            b"\x42\x02\x0a\x02kk",
            b"\x4a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x10\x01",
        ] {
            check(bytes, false);
        }
    }

    #[test]
    fn the_way_is_given_a_rest_where_it_is_taken_in_vain() {
        let mut turns = Turns::new(true);
        for _ in 0..FAST_MISSES_MAX {
            assert!(turns.is_fast());
            turns.note(false);
        }
        for _ in 0..FAST_REST_MESSAGES {
            assert!(!turns.is_fast());
        }
        assert!(turns.is_fast());
        turns.note(false);
        assert!(!turns.is_fast(), "one more miss is enough");
        assert!(!Turns::new(false).is_fast());
    }
}
