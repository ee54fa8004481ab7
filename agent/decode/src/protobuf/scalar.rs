//! Values that are one element of one column: from the wire into it.
//!
//! The one invariant: a call appends one element or none, and reads the whole value or fails.

use arrow_array::types::ArrowPrimitiveType;

use super::names::EnumNames;
use super::run::Run;
use super::wire::{DELIMITED, EIGHT_BYTES, FOUR_BYTES, VARINT, Wire, WireKind, zigzag32, zigzag64};
use crate::builders::{BytesColumn, Column, ColumnBuilder, PrimitiveColumn, SHORT_BYTES};
use crate::report::MisfitReason;
use crate::text::utf8::append_repaired;

/// What a value is on the wire, as far as reading it goes: what is signed alike and as long is one.
#[derive(Clone, Debug)]
pub(super) enum Scalar {
    Int32,
    Int64,
    Uint32,
    Uint64,
    Sint32,
    Sint64,
    /// Four bytes, taken for a signed number whatever the schema says, as Spark does.
    Fixed32,
    /// Eight bytes, taken for a signed number whatever the schema says, as Spark does.
    Fixed64,
    Float,
    Double,
    Bool,
    Text {
        verified: bool,
    },
    Bytes,
    Enum(Box<EnumNames>),
}

impl Scalar {
    pub(super) fn wire_kind(&self) -> WireKind {
        match self {
            Self::Int32 | Self::Int64 | Self::Uint32 | Self::Uint64 | Self::Sint32 | Self::Sint64 | Self::Bool | Self::Enum(_) => VARINT,
            Self::Fixed32 | Self::Float => FOUR_BYTES,
            Self::Fixed64 | Self::Double => EIGHT_BYTES,
            Self::Text { .. } | Self::Bytes => DELIMITED,
        }
    }
}

/// How a value goes into its column.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    /// The row whose value this one takes the place of.
    pub(super) replace: Option<usize>,
    pub(super) zero: Zero,
}

/// What a zero value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Zero {
    /// A value like the others.
    Value,
    /// An absent one.
    Absent,
    /// A null at once: for one that is absent, is read as null, and cannot come a second time.
    Null,
}

impl Slot {
    /// One more element of a list.
    pub(super) const ELEMENT: Self = Self {
        replace: None,
        zero: Zero::Value,
    };
}

/// What became of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Put {
    /// It is the column's last element.
    Stored,
    /// It is zero and counts as absent; so does a value before it.
    Absent,
    /// It belongs to no value of a closed enum: an unknown field. A value before it stays.
    Unknown,
}

/// Reads a value of that kind and puts it into the column.
#[inline(always)]
pub(super) fn put(scalar: &Scalar, wire: &mut Wire<'_>, column: &mut Column, slot: Slot, run: &mut Run) -> Result<Put, MisfitReason> {
    Ok(match (scalar, column) {
        (Scalar::Int32, Column::Int(column)) => put_number(column, wire.varint32()?.cast_signed(), slot),
        (Scalar::Int32, Column::BigInt(column)) => put_number(column, i64::from(wire.varint32()?.cast_signed()), slot),
        (Scalar::Int64, Column::BigInt(column)) => put_number(column, wire.varint()?.cast_signed(), slot),
        (Scalar::Uint32, Column::BigInt(column)) => put_number(column, i64::from(wire.varint32()?), slot),
        (Scalar::Uint32, Column::Decimal { column, .. }) => put_number(column, i128::from(wire.varint32()?), slot),
        (Scalar::Uint64, Column::Decimal { column, .. }) => put_number(column, i128::from(wire.varint()?), slot),
        (Scalar::Sint32, Column::Int(column)) => put_number(column, zigzag32(wire.varint32()?), slot),
        (Scalar::Sint32, Column::BigInt(column)) => put_number(column, i64::from(zigzag32(wire.varint32()?)), slot),
        (Scalar::Sint64, Column::BigInt(column)) => put_number(column, zigzag64(wire.varint()?), slot),
        (Scalar::Fixed32, Column::Int(column)) => put_number(column, i32::from_le_bytes(wire.four_bytes()?), slot),
        (Scalar::Fixed64, Column::BigInt(column)) => put_number(column, i64::from_le_bytes(wire.eight_bytes()?), slot),
        // A zero with a sign is a value: what counts are the bits.
        (Scalar::Float, Column::Float(column)) => {
            let value = f32::from_le_bytes(wire.four_bytes()?);
            put_value(column, value, value.to_bits() == 0, slot)
        }
        (Scalar::Double, Column::Double(column)) => {
            let value = f64::from_le_bytes(wire.eight_bytes()?);
            put_value(column, value, value.to_bits() == 0, slot)
        }
        (Scalar::Bool, Column::Boolean(column)) => {
            let value = wire.varint()? != 0;
            replace(column, slot);
            if !value && slot.zero != Zero::Value {
                return Ok(put_zero(column, slot));
            }
            column.append(value);
            Put::Stored
        }
        (Scalar::Text { verified }, Column::String(column)) => put_text(wire.delimited_ahead()?, *verified, column, slot)?,
        (Scalar::Bytes, Column::Binary(column)) => {
            let (ahead, len) = wire.delimited_ahead()?;
            replace(column, slot);
            if len == 0 && slot.zero != Zero::Value {
                return Ok(put_zero(column, slot));
            }
            column.append_ahead(ahead, len);
            Put::Stored
        }
        (Scalar::Enum(names), Column::String(column)) => put_name(wire.varint32()?.cast_signed(), names, column, slot, run)?,
        (scalar, _) => {
            debug_assert!(false, "{scalar:?} goes into a column of another kind");
            return Err(MisfitReason::WrongKind);
        }
    })
}

#[inline(always)]
fn put_number<T>(column: &mut PrimitiveColumn<T>, value: T::Native, slot: Slot) -> Put
where
    T: ArrowPrimitiveType,
    T::Native: Default + PartialEq,
{
    put_value(column, value, value == T::Native::default(), slot)
}

#[inline(always)]
fn put_value<T: ArrowPrimitiveType>(column: &mut PrimitiveColumn<T>, value: T::Native, is_zero: bool, slot: Slot) -> Put {
    replace(column, slot);
    if is_zero && slot.zero != Zero::Value {
        return put_zero(column, slot);
    }
    column.append(value);
    Put::Stored
}

/// A zero value that is not one like the others.
#[inline]
fn put_zero(column: &mut impl ColumnBuilder, slot: Slot) -> Put {
    if slot.zero == Zero::Absent {
        return Put::Absent;
    }
    column.append_null();
    Put::Stored
}

#[inline(always)]
fn replace(column: &mut impl ColumnBuilder, slot: Slot) {
    if let Some(row) = slot.replace {
        column.truncate(row);
    }
}

/// Puts a text, the first `len` bytes of what is ahead, into the column; one that is not UTF-8 is an error if it is verified, and
/// repaired if not.
#[inline(always)]
pub(super) fn put_text((ahead, len): (&[u8], usize), verified: bool, column: &mut BytesColumn, slot: Slot) -> Result<Put, MisfitReason> {
    replace(column, slot);
    if len == 0 && slot.zero != Zero::Value {
        return Ok(put_zero(column, slot));
    }
    // Most texts are short and plain.
    match ahead.first_chunk() {
        Some(chunk) if is_short_ascii(chunk, len) => column.append_short(chunk, len),
        _ => put_long_text(ahead.get(..len).unwrap_or(ahead), verified, column)?,
    }
    Ok(Put::Stored)
}

/// Whether the first `len` bytes are all of the text, and ASCII.
#[inline(always)]
fn is_short_ascii(chunk: &[u8; SHORT_BYTES], len: usize) -> bool {
    let bits = u128::from_le_bytes(*chunk) & ASCII_ONLY;
    // Of the bytes behind it nothing counts.
    len <= SHORT_BYTES && bits.checked_shl(u128::BITS - 8 * len as u32).unwrap_or(0) == 0
}

/// The bits that no ASCII byte has.
const ASCII_ONLY: u128 = u128::from_le_bytes([0x80; SHORT_BYTES]);

/// A text that is long, or not plain, or lies at the message's end.
#[inline(never)]
fn put_long_text(bytes: &[u8], verified: bool, column: &mut BytesColumn) -> Result<(), MisfitReason> {
    if is_text(bytes) {
        column.append(bytes);
    } else if verified {
        return Err(MisfitReason::Malformed);
    } else {
        append_repaired(bytes, column.tail());
        column.commit_tail();
    }
    Ok(())
}

#[inline]
fn is_text(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<8>();
    if bytes.len() <= WORDWISE_TEXT_BYTES {
        let bits = words.iter().fold(0, |bits, word| bits | u64::from_le_bytes(*word));
        let rest = rest.iter().fold(0, |bits, byte| bits | byte);
        if (bits & 0x8080_8080_8080_8080) | u64::from(rest & 0x80) == 0 {
            return true;
        }
    }
    simdutf8::basic::from_utf8(bytes).is_ok()
}

/// Texts up to here are looked at word by word before anything more costly begins.
const WORDWISE_TEXT_BYTES: usize = 64;

#[inline]
fn put_name(number: i32, names: &EnumNames, column: &mut BytesColumn, slot: Slot, run: &mut Run) -> Result<Put, MisfitReason> {
    let Some(name) = names.of(number) else {
        return put_made_up_name(number, names, column, slot, run);
    };
    replace(column, slot);
    if number == 0 && slot.zero != Zero::Value {
        return Ok(put_zero(column, slot));
    }
    run.make_up(name.text().len(), column)?;
    column.append_literal(name);
    Ok(Put::Stored)
}

#[cold]
fn put_made_up_name(number: i32, names: &EnumNames, column: &mut BytesColumn, slot: Slot, run: &mut Run) -> Result<Put, MisfitReason> {
    let Some(beginning) = names.made_up() else {
        return Ok(Put::Unknown);
    };
    replace(column, slot);
    if number == 0 && slot.zero != Zero::Value {
        return Ok(put_zero(column, slot));
    }
    run.make_up(beginning.len(), column)?;
    column.tail().extend_from_slice(beginning);
    column.tail().extend_from_slice(number.to_string().as_bytes());
    column.commit_tail();
    Ok(Put::Stored)
}
