//! The compiled form of a message type: what each field number means, and what has been met of it in the open row.
//!
//! A node stands for one place in the tree of types and so for one column; of each there is one open row at most, because elements
//! of a list are completed one after the other. That is why the marks of an open row are in the nodes. The one invariant: between
//! messages no mark is set.

use stream_spec::types::DataType;

use super::scalar::{Scalar, Zero};
use super::wire::{GROUP_START, WireKind};
use crate::builders::{Column, ColumnBuilder};
use crate::limits::{DENSE_FIELD_NUMBER_MIN, DENSE_FIELD_NUMBERS_PER_FIELD};
use crate::report::MisfitReason;

#[derive(Clone, Debug)]
pub(super) struct MessageNode {
    pub(super) fields: Vec<FieldNode>,
    pub(super) lookup: Lookup,
    /// For each oneof, its member that is set.
    pub(super) oneofs: Vec<Option<usize>>,
    /// Columns of the reader that the writer has no field for.
    pub(super) missing: Vec<MissingNode>,
    /// Children of the struct column.
    pub(super) columns: usize,
    /// Cells that one more row takes in the columns below it.
    pub(super) cells: usize,
    /// True from the first byte of a row on until it is completed.
    pub(super) open: bool,
    /// What is wrong with elements of the open row.
    pub(super) flaw: Option<MisfitReason>,
    /// None where the fast way cannot tell what came twice.
    pub(super) fast: Option<FastNode>,
}

/// What the fast way knows of a message type: sets of the first fields, a bit each.
#[derive(Clone, Copy, Debug)]
pub(super) struct FastNode {
    pub(super) all: u64,
    pub(super) required: u64,
    /// Fields that something is left to do for at the end of a message even if they came.
    pub(super) to_end: u64,
}

#[derive(Clone, Debug)]
pub(super) struct FieldNode {
    pub(super) number: u32,
    /// The tag that values have on the wire, as a number.
    pub(super) tag: u32,
    /// In the fast way: the field's bit, none where bits do not suffice, and those of which none may have come before it.
    pub(super) bit: u64,
    pub(super) excludes: u64,
    pub(super) wire_kind: WireKind,
    /// True where values may also come many at once in delimited bytes.
    pub(super) packable: bool,
    pub(super) required: bool,
    pub(super) oneof: Option<usize>,
    pub(super) place: Place,
    pub(super) content: Content,
}

/// Where values go.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// A child of the message's struct.
    Child(usize),
    /// A column that nobody sees: the reader has no such field, but what is wrong with its values counts.
    Hidden(Box<HiddenColumn>),
}

pub(super) struct HiddenColumn {
    data_type: DataType,
    pub(super) column: Column,
}

impl HiddenColumn {
    pub(super) fn new(data_type: DataType) -> Self {
        let column = Column::new(&data_type);
        Self { data_type, column }
    }
}

impl Clone for HiddenColumn {
    fn clone(&self) -> Self {
        Self::new(self.data_type.clone())
    }
}

impl std::fmt::Debug for HiddenColumn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("HiddenColumn").field(&self.data_type).finish()
    }
}

#[derive(Clone, Debug)]
pub(super) enum Content {
    Single(Single),
    /// Any number of values. Its marks are unused.
    List(Value),
    Map(Box<MapNode>),
}

/// A field that has one value at most.
#[derive(Clone, Debug)]
pub(super) struct Single {
    pub(super) value: Value,
    pub(super) absent: Absent,
    pub(super) zero: Zero,
    /// The same where the field cannot come again in its message.
    pub(super) zero_once: Zero,
    /// True once it came in the open row.
    pub(super) present: bool,
    /// True while its column holds an element for the open row, complete or not.
    pub(super) stored: bool,
}

impl Single {
    pub(super) fn new(value: Value, absent: Absent, zero: Zero) -> Self {
        let is_null = zero == Zero::Absent && matches!(absent, Absent::Null);
        Self {
            value,
            absent,
            zero,
            zero_once: if is_null { Zero::Null } else { zero },
            present: false,
            stored: false,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Scalar(Scalar),
    /// A message that is nothing but its field 1, which has no presence.
    Wrapper(Scalar),
    /// A message, or a group.
    Message(Box<MessageNode>),
    /// Seconds and nanoseconds, in one column of microseconds.
    Time(Time),
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Time {
    pub(super) seconds: i64,
    pub(super) nanos: i32,
}

#[derive(Clone, Debug)]
pub(super) struct MapNode {
    pub(super) key_verified: bool,
    pub(super) value_wire_kind: WireKind,
    pub(super) value: Single,
}

/// What is read for a value that did not come.
#[derive(Clone, Debug)]
pub(super) enum Absent {
    Null,
    Preset(Box<Preset>),
    /// A message without any field.
    EmptyMessage,
    EmptyList,
    EmptyMap,
}

/// A value that stands in the schema.
#[derive(Clone, Debug)]
pub(super) enum Preset {
    Integer(i128),
    Double(f64),
    Bool(bool),
    Bytes(Box<[u8]>),
}

#[derive(Clone, Debug)]
pub(super) struct MissingNode {
    pub(super) child: usize,
    pub(super) absent: Absent,
}

/// Where in the list of fields a number is.
#[derive(Clone, Debug)]
pub(super) struct Lookup {
    /// By number; `NONE` where there is no field.
    dense: Box<[u32]>,
    /// The larger numbers, ascending.
    sparse: Box<[(u32, u32)]>,
}

const NONE: u32 = u32::MAX;

impl Lookup {
    pub(super) fn new(fields: &[FieldNode]) -> Self {
        let dense_max = DENSE_FIELD_NUMBER_MIN.max(fields.len() * DENSE_FIELD_NUMBERS_PER_FIELD);
        let (mut dense, mut sparse) = (Vec::new(), Vec::new());
        for (index, field) in (0..).zip(fields) {
            let position = field.number as usize;
            if position > dense_max {
                sparse.push((field.number, index));
                continue;
            }
            if dense.len() <= position {
                dense.resize(position + 1, NONE);
            }
            if let Some(place) = dense.get_mut(position) {
                *place = index;
            }
        }
        sparse.sort_unstable();
        Self {
            dense: dense.into(),
            sparse: sparse.into(),
        }
    }

    #[inline]
    pub(super) fn find(&self, number: u32) -> Option<usize> {
        match self.dense.get(number as usize) {
            Some(index) => (*index != NONE).then_some(*index as usize),
            None => self.search(number),
        }
    }

    fn search(&self, number: u32) -> Option<usize> {
        let found = self.sparse.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        self.sparse.get(found).map(|(_, index)| *index as usize)
    }
}

impl MessageNode {
    /// Forgets every mark here and below, and what columns that nobody sees hold. The columns of the row that is given up are the
    /// caller's to take back.
    pub(super) fn abandon(&mut self) {
        self.open = false;
        self.flaw = None;
        self.oneofs.fill(None);
        for field in &mut self.fields {
            match &mut field.content {
                Content::Single(single) => single.abandon(),
                Content::List(value) => value.abandon(),
                Content::Map(map) => map.value.abandon(),
            }
            if let Place::Hidden(hidden) = &mut field.place {
                hidden.column.truncate(0);
            }
        }
    }
}

impl Single {
    pub(super) fn abandon(&mut self) {
        self.present = false;
        self.stored = false;
        self.value.abandon();
    }
}

impl Value {
    fn abandon(&mut self) {
        match self {
            Self::Scalar(_) | Self::Wrapper(_) => {}
            Self::Message(node) => node.abandon(),
            Self::Time(time) => *time = Time::default(),
        }
    }

    /// How it lies on the wire, for a kind that is no group.
    pub(super) fn wire_kind(&self, is_group: bool) -> WireKind {
        match self {
            Self::Scalar(scalar) => scalar.wire_kind(),
            Self::Message(_) if is_group => GROUP_START,
            Self::Wrapper(_) | Self::Message(_) | Self::Time(_) => super::wire::DELIMITED,
        }
    }
}
