//! From the wire into open rows: every value goes straight into its column as it comes.
//!
//! A message's row stays open until its parent's is completed, because its fields may come in any order and it may come in several
//! pieces, which are merged. A value that is superseded is taken back from its column; in most messages none is. The one invariant:
//! a column holds at most one element more than its struct has complete rows.

use super::node::{Content, FieldNode, MapNode, MessageNode, Place, Single, Time, Value};
use super::run::Run;
use super::scalar::{Put, Scalar, Slot, Zero, put, put_text};
use super::wire::{DELIMITED, GROUP_END, GROUP_START, Tag, VARINT, Wire, WireKind};
use crate::builders::{Column, ColumnBuilder, ListColumn, MapColumn, StructColumn};
use crate::report::MisfitReason;

type Outcome = Result<(), MisfitReason>;

impl MessageNode {
    /// Reads one piece of a message up to its end: that of the bytes, or the end tag of that group.
    pub(super) fn read(&mut self, wire: &mut Wire<'_>, group: Option<u32>, column: &mut StructColumn, run: &mut Run) -> Outcome {
        if !self.open {
            self.open = true;
            run.take_cells(self.cells)?;
        }
        let row = column.len();
        while let Some(tag) = wire.tag()? {
            if tag.kind == GROUP_END {
                return if group == Some(tag.number) {
                    Ok(())
                } else {
                    Err(MisfitReason::Malformed)
                };
            }
            let Some(index) = self.lookup.find(tag.number) else {
                wire.skip(tag, run.level)?;
                continue;
            };
            if !self.oneofs.is_empty() {
                self.choose(index, tag, wire, column, row);
            }
            let Some(field) = self.fields.get_mut(index) else { continue };
            let put = match field.place.column(column, row) {
                Some((column, row)) => read_content(&mut field.content, field.wire_kind, field.packable, tag, wire, (column, row), run)?,
                None => Put::Unknown,
            };
            if put == Put::Unknown && run.is_top() {
                return Err(field.reason_unknown(tag));
            }
            // Of an element that was completed just now. It counts as long as this message does.
            if run.flaw.is_some() {
                self.flaw = run.flaw.take();
            }
        }
        if group.is_some() { Err(MisfitReason::Malformed) } else { Ok(()) }
    }

    /// Makes a field the one of its oneof that is set, if it is in one; what another member left is taken back.
    fn choose(&mut self, index: usize, tag: Tag, wire: &Wire<'_>, column: &mut StructColumn, row: usize) {
        let member = self.fields.get(index).filter(|field| field.oneof.is_some());
        let oneof = member.filter(|field| !field.is_unknown(tag, wire)).and_then(|field| field.oneof);
        let Some(set) = oneof.and_then(|oneof| self.oneofs.get_mut(oneof)) else {
            return;
        };
        let before = set.replace(index);
        let other = before
            .filter(|before| *before != index)
            .and_then(|before| self.fields.get_mut(before));
        let Some(FieldNode {
            place,
            content: Content::Single(single),
            ..
        }) = other
        else {
            return;
        };
        single.abandon();
        if let Some((column, row)) = place.column(column, row) {
            column.truncate(row);
        }
    }
}

impl FieldNode {
    /// Why a value became an unknown field: a number that its enum does not have, or another kind of value.
    #[cold]
    fn reason_unknown(&self, tag: Tag) -> MisfitReason {
        if tag.kind == self.wire_kind || (self.packable && tag.kind == DELIMITED) {
            MisfitReason::UnknownSymbol
        } else {
            MisfitReason::WrongKind
        }
    }

    /// Whether the value that comes next will count as an unknown field.
    fn is_unknown(&self, tag: Tag, wire: &Wire<'_>) -> bool {
        if tag.kind != self.wire_kind {
            return true;
        }
        let Content::Single(Single {
            value: Value::Scalar(Scalar::Enum(names)),
            ..
        }) = &self.content
        else {
            return false;
        };
        let mut ahead = *wire;
        ahead
            .varint32()
            .is_ok_and(|number| names.made_up().is_none() && names.of(number.cast_signed()).is_none())
    }
}

impl Place {
    /// The column, and the row in it that belongs to the struct's row.
    #[inline]
    pub(super) fn column<'a>(&'a mut self, parent: &'a mut StructColumn, row: usize) -> Option<(&'a mut Column, usize)> {
        match self {
            Self::Child(index) => parent.child(*index).map(|column| (column, row)),
            Self::Hidden(hidden) => Some((&mut hidden.column, 0)),
        }
    }
}

#[inline]
fn read_content(
    content: &mut Content,
    wire_kind: WireKind,
    packable: bool,
    tag: Tag,
    wire: &mut Wire<'_>,
    (column, row): (&mut Column, usize),
    run: &mut Run,
) -> Result<Put, MisfitReason> {
    if tag.kind != wire_kind {
        return match (content, column) {
            (Content::List(Value::Scalar(scalar)), Column::List(list)) if packable && tag.kind == DELIMITED => {
                read_packed(scalar, wire, list, run)
            }
            _ => {
                wire.skip(tag, run.level)?;
                Ok(Put::Unknown)
            }
        };
    }
    match (content, column) {
        (Content::Single(single), column) => single.read(tag, wire, column, row, run),
        (Content::List(value), Column::List(list)) => read_element(value, tag, wire, list.elements(), run),
        (Content::Map(map), Column::Map(column)) => map.read_entry(wire, column, run).map(|()| Put::Stored),
        (Content::List(_) | Content::Map(_), _) => Err(defect()),
    }
}

impl Single {
    #[inline]
    fn read(&mut self, tag: Tag, wire: &mut Wire<'_>, column: &mut Column, row: usize, run: &mut Run) -> Result<Put, MisfitReason> {
        let replace = if self.stored { Some(row) } else { None };
        match &mut self.value {
            Value::Scalar(scalar) => {
                let slot = Slot { replace, zero: self.zero };
                let put = put(scalar, wire, column, slot, run)?;
                if put != Put::Unknown {
                    self.present = true;
                    self.stored = put == Put::Stored;
                }
                return Ok(put);
            }
            Value::Wrapper(scalar) => self.stored = read_wrapper(scalar, wire, column, replace, row, run)?,
            Value::Time(time) => read_time(time, wire, run)?,
            Value::Message(node) => {
                self.stored = true;
                read_message(node, tag, wire, column, run)?;
            }
        }
        self.present = true;
        Ok(Put::Stored)
    }
}

/// One piece of a message or group that is a value.
fn read_message(node: &mut MessageNode, tag: Tag, wire: &mut Wire<'_>, column: &mut Column, run: &mut Run) -> Outcome {
    let Column::Struct(column) = column else { return Err(defect()) };
    run.enter()?;
    if tag.kind == GROUP_START {
        node.read(wire, Some(tag.number), column, run)?;
    } else {
        let around = wire.enter()?;
        node.read(wire, None, column, run)?;
        wire.leave(around);
    }
    run.leave();
    Ok(())
}

/// One piece of a wrapper. Answers whether the column holds a value now.
pub(super) fn read_wrapper(
    scalar: &Scalar,
    wire: &mut Wire<'_>,
    column: &mut Column,
    mut replace: Option<usize>,
    row: usize,
    run: &mut Run,
) -> Result<bool, MisfitReason> {
    let around = wire.enter()?;
    run.enter()?;
    while let Some(tag) = wire.tag()? {
        if (tag.number, tag.kind) != (1, scalar.wire_kind()) {
            wire.skip(tag, run.level)?;
            continue;
        }
        let slot = Slot {
            replace,
            zero: Zero::Absent,
        };
        let put = put(scalar, wire, column, slot, run)?;
        replace = (put == Put::Stored).then_some(row);
    }
    wire.leave(around);
    run.leave();
    Ok(replace.is_some())
}

/// One piece of a timestamp or duration.
pub(super) fn read_time(time: &mut Time, wire: &mut Wire<'_>, run: &mut Run) -> Outcome {
    let around = wire.enter()?;
    run.enter()?;
    while let Some(tag) = wire.tag()? {
        match (tag.number, tag.kind) {
            (1, VARINT) => time.seconds = wire.varint()?.cast_signed(),
            (2, VARINT) => time.nanos = wire.varint32()?.cast_signed(),
            _ => wire.skip(tag, run.level)?,
        }
    }
    wire.leave(around);
    run.leave();
    Ok(())
}

/// One element of a list, complete.
fn read_element(value: &mut Value, tag: Tag, wire: &mut Wire<'_>, column: &mut Column, run: &mut Run) -> Result<Put, MisfitReason> {
    match value {
        Value::Scalar(scalar) => return put(scalar, wire, column, Slot::ELEMENT, run),
        Value::Wrapper(scalar) => {
            let row = column.len();
            if !read_wrapper(scalar, wire, column, None, row, run)? {
                column.append_null();
            }
        }
        Value::Time(time) => {
            *time = Time::default();
            read_time(time, wire, run)?;
            std::mem::take(time).append(column, run)?;
        }
        Value::Message(node) => {
            read_message(node, tag, wire, column, run)?;
            node.complete(column, run)?;
        }
    }
    Ok(Put::Stored)
}

/// Many elements at once. An unknown number among them makes all of it unknown at the top, but the others stay.
pub(super) fn read_packed(scalar: &Scalar, wire: &mut Wire<'_>, list: &mut ListColumn, run: &mut Run) -> Result<Put, MisfitReason> {
    let around = wire.enter()?;
    let mut all = Put::Stored;
    while !wire.is_over()? {
        if put(scalar, wire, list.elements(), Slot::ELEMENT, run)? == Put::Unknown {
            all = Put::Unknown;
        }
    }
    wire.leave(around);
    Ok(all)
}

impl MapNode {
    /// One entry, complete. Entries with one key all stay, as in Spark.
    pub(super) fn read_entry(&mut self, wire: &mut Wire<'_>, map: &mut MapColumn, run: &mut Run) -> Outcome {
        let around = wire.enter()?;
        run.enter()?;
        let row = map.values().len();
        let mut key = None;
        while let Some(tag) = wire.tag()? {
            match (tag.number, tag.kind) {
                (1, DELIMITED) => {
                    let slot = Slot {
                        replace: key,
                        zero: Zero::Value,
                    };
                    put_text(wire.delimited_ahead()?, self.key_verified, map.keys(), slot)?;
                    key = Some(row);
                }
                (2, kind) if kind == self.value_wire_kind => {
                    self.value.read(tag, wire, map.values(), row, run)?;
                }
                _ => wire.skip(tag, run.level)?,
            }
        }
        wire.leave(around);
        run.leave();
        if key.is_none() {
            map.keys().append(b"");
        }
        self.value.complete(map.values(), run)
    }
}

/// The program and the columns do not fit together, which compiling excludes.
pub(super) fn defect() -> MisfitReason {
    debug_assert!(false, "a column of another kind than its field");
    MisfitReason::WrongKind
}
