//! A message through the program into columns.
//!
//! Recursion follows the schema, and never the data, but for stepping over records that contain themselves, which is counted. The
//! one invariant: an error leaves columns that `truncate` of the root to its former length makes whole again.

use super::keys::Keys;
use super::node::{DefaultNode, ItemsNode, Node, RecordNode, Skip, Step};
use super::scalar;
use super::wire::Wire;
use crate::builders::{BytesColumn, Column, ColumnBuilder, ListColumn, Literal, MapColumn, StructColumn};
use crate::limits::{
    AVRO_ITEMS_WITHOUT_BYTES_PER_BYTE_MAX, AVRO_MADE_UP_BYTES_PER_MESSAGE_MAX, AVRO_REREAD_PER_BYTE_MAX, AVRO_SKIPPED_RECURSION_MAX,
    COLUMN_MADE_UP_BYTES_MAX, MADE_UP_BYTES_PER_CELL, STRUCT_CELLS_PER_MESSAGE_MAX,
};
use crate::report::MisfitReason::{self, BeyondLimit, Malformed, UnknownSymbol, WrongKind};

pub(super) type Reading = Result<(), MisfitReason>;

/// The reading of one message.
pub(super) struct Reader<'m> {
    /// What is read: the message, or a default.
    source: &'m [u8],
    wire: Wire<'m>,
    /// The records that contain themselves.
    recursive: &'m [Skip],
    keys: &'m mut Keys,
    cells_left: usize,
    items_without_bytes_left: usize,
    made_up_bytes_left: usize,
    reread_bytes_left: usize,
    is_default: bool,
    superseding: Superseding,
}

/// Whether a value that cannot be converted may yet be superseded by a later one of its key. Spark converts only what is left of a map.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Superseding {
    /// Outside of maps: it counts.
    Never,
    /// In the first reading of a map: it is put off.
    Possible,
    /// So, and there was one: the map is read again.
    Doubtful,
}

impl<'m> Reader<'m> {
    pub(super) fn new(message: &'m [u8], recursive: &'m [Skip], keys: &'m mut Keys) -> Self {
        Self {
            source: message,
            wire: Wire::new(message),
            recursive,
            keys,
            cells_left: STRUCT_CELLS_PER_MESSAGE_MAX,
            items_without_bytes_left: message.len() * AVRO_ITEMS_WITHOUT_BYTES_PER_BYTE_MAX,
            made_up_bytes_left: AVRO_MADE_UP_BYTES_PER_MESSAGE_MAX,
            reread_bytes_left: message.len().saturating_mul(AVRO_REREAD_PER_BYTE_MAX),
            is_default: false,
            superseding: Superseding::Never,
        }
    }

    /// Column cells that the items of arrays and maps have filled so far, and what was made up as cells.
    pub(super) fn cells(&self) -> usize {
        let made_up = AVRO_MADE_UP_BYTES_PER_MESSAGE_MAX - self.made_up_bytes_left;
        STRUCT_CELLS_PER_MESSAGE_MAX - self.cells_left + made_up / MADE_UP_BYTES_PER_CELL
    }

    /// Appends the next value.
    #[inline(never)]
    pub(super) fn value(&mut self, node: &'m Node, column: &mut Column) -> Reading {
        self.value_here(node, column)
    }

    /// The same without a call, for values of which there are many.
    #[inline(always)]
    fn value_here(&mut self, node: &'m Node, column: &mut Column) -> Reading {
        let node = match node {
            Node::Nullable { null_index, value } => match self.wire.int()? {
                index if index == *null_index => {
                    column.append_null();
                    return Ok(());
                }
                0 | 1 => value,
                _ => return Err(Malformed),
            },
            node => node,
        };
        match (node, column) {
            (Node::Nullable { .. } | Node::Union(_) | Node::Member { .. }, column) => return self.branch(node, column),
            (Node::Bytes, Column::String(column) | Column::Binary(column)) => return self.bytes(column),
            (Node::Int, column) => return self.int(column),
            (Node::Long, column) => return self.long(column),
            (Node::LongMillis, Column::Timestamp(column) | Column::TimestampNtz(column)) => {
                let micros = scalar::micros(self.wire.long()?);
                column.append(self.converted(micros)?);
            }
            (Node::IntMillis, Column::Timestamp(column) | Column::TimestampNtz(column)) => {
                let micros = scalar::micros(self.wire.int()?.into());
                column.append(self.converted(micros)?);
            }
            (Node::Double, Column::Double(column)) => column.append(f64::from_le_bytes(self.wire.array()?)),
            (Node::Float, column) => {
                let value = f32::from_le_bytes(self.wire.array()?);
                return float(value, column);
            }
            // Rounded to the nearest, as Java's conversion does.
            (Node::IntAsFloat, column) => return float(self.wire.int()? as f32, column),
            (Node::LongAsFloat, column) => return float(self.wire.long()? as f32, column),
            // Any other byte than one is false.
            (Node::Boolean, Column::Boolean(column)) => column.append(self.wire.array()? == [1]),
            (Node::Record(record), Column::Struct(column)) => return self.record(record, column),
            (Node::Array(items), Column::List(column)) => return self.array(items, column),
            (Node::Map(items), Column::Map(column)) => return self.map(items, column),
            (Node::Enum(symbols), Column::String(column)) => return self.symbol(symbols, column),
            (Node::Fixed(size), Column::Binary(column)) => column.append(self.wire.take(*size)?),
            (Node::DecimalOfBytes, Column::Decimal { column, precision, .. }) => {
                let unscaled = scalar::decimal(self.wire.sized()?, *precision);
                column.append(self.converted(unscaled)?);
            }
            (Node::DecimalOfFixed(size), Column::Decimal { column, precision, .. }) => {
                let unscaled = scalar::decimal(self.wire.take(*size)?, *precision);
                column.append(self.converted(unscaled)?);
            }
            (Node::Null, column) => column.append_null(),
            _ => return Err(WrongKind),
        }
        Ok(())
    }

    /// What another node stands behind.
    #[inline(never)]
    fn branch(&mut self, node: &'m Node, column: &mut Column) -> Reading {
        match (node, column) {
            (Node::Union(branches), column) => {
                let index = usize::try_from(self.wire.int()?).map_err(|_| Malformed)?;
                self.value(branches.get(index).ok_or(Malformed)?, column)
            }
            (Node::Member { field, value }, Column::Struct(column)) => {
                self.value(value, column.child(*field).ok_or(WrongKind)?)?;
                column.complete_row();
                Ok(())
            }
            (node @ Node::Nullable { .. }, column) => self.value(node, column),
            _ => Err(WrongKind),
        }
    }

    /// A value that was converted from what the bytes say, or the reason why it cannot be, which counts unless it may be superseded.
    #[inline]
    fn converted<T: Default>(&mut self, value: Result<T, MisfitReason>) -> Result<T, MisfitReason> {
        match value {
            Err(_) if self.superseding != Superseding::Never => {
                self.superseding = Superseding::Doubtful;
                Ok(T::default())
            }
            value => value,
        }
    }

    #[inline]
    fn int(&mut self, column: &mut Column) -> Reading {
        let value = self.wire.int()?;
        match column {
            Column::Int(column) => column.append(value),
            Column::Date(column) => column.append(value),
            Column::BigInt(column) => column.append(value.into()),
            Column::Timestamp(column) | Column::TimestampNtz(column) => column.append(value.into()),
            Column::Double(column) => column.append(value.into()),
            _ => return Err(WrongKind),
        }
        Ok(())
    }

    #[inline]
    fn long(&mut self, column: &mut Column) -> Reading {
        let value = self.wire.long()?;
        match column {
            Column::BigInt(column) => column.append(value),
            Column::Timestamp(column) | Column::TimestampNtz(column) => column.append(value),
            // Rounded to the nearest, as Java's conversion does.
            Column::Double(column) => column.append(value as f64),
            _ => return Err(WrongKind),
        }
        Ok(())
    }

    #[inline(always)]
    fn bytes(&mut self, column: &mut BytesColumn) -> Reading {
        let (ahead, len) = self.wire.sized_ahead()?;
        if self.is_default && column.tail().len() > COLUMN_MADE_UP_BYTES_MAX {
            return Err(BeyondLimit);
        }
        column.append_ahead(ahead, len);
        Ok(())
    }

    fn symbol(&mut self, symbols: &'m [Option<Literal>], column: &mut BytesColumn) -> Reading {
        let index = usize::try_from(self.wire.int()?).map_err(|_| Malformed)?;
        let symbol = symbols.get(index).ok_or(Malformed)?.as_ref().ok_or(UnknownSymbol)?;
        self.make_up(symbol.text().len())?;
        if column.tail().len() > COLUMN_MADE_UP_BYTES_MAX {
            return Err(BeyondLimit);
        }
        column.append_literal(symbol);
        Ok(())
    }

    /// Takes room for values that are not in the message.
    #[inline]
    fn make_up(&mut self, bytes: usize) -> Reading {
        self.made_up_bytes_left = self.made_up_bytes_left.checked_sub(bytes).ok_or(BeyondLimit)?;
        Ok(())
    }

    #[inline(never)]
    fn record(&mut self, record: &'m RecordNode, column: &mut StructColumn) -> Reading {
        for step in &record.steps {
            match step {
                Step::Column(index, node) => self.value_here(node, column.child(*index).ok_or(WrongKind)?)?,
                Step::Skip(skip) => self.skip(skip, 0)?,
                Step::Default(index, default) => self.default(default, column.child(*index).ok_or(WrongKind)?)?,
            }
        }
        column.complete_row_of(record.filled);
        Ok(())
    }

    fn default(&mut self, default: &'m DefaultNode, column: &mut Column) -> Reading {
        self.make_up(default.bytes.len())?;
        let reread_bytes = default.bytes.len().saturating_mul(AVRO_REREAD_PER_BYTE_MAX);
        self.reread_bytes_left = self.reread_bytes_left.saturating_add(reread_bytes);
        let outer = (self.source, self.wire, self.is_default);
        (self.source, self.wire, self.is_default) = (&default.bytes, Wire::new(&default.bytes), true);
        let read = self.value(&default.node, column);
        (self.source, self.wire, self.is_default) = outer;
        read
    }

    #[inline(never)]
    fn array(&mut self, items: &'m ItemsNode, column: &mut ListColumn) -> Reading {
        let mut before = 0;
        loop {
            let count = self.block(before, items)?;
            if count == 0 {
                break;
            }
            before += count;
            if self.is_default && column.elements().len() + count > i32::MAX as usize {
                return Err(BeyondLimit);
            }
            for _ in 0..count {
                self.value_here(&items.value, column.elements())?;
            }
        }
        column.commit();
        Ok(())
    }

    /// Items of the next block behind `before` ones; none at the end. More than there are bytes for are refused before the first.
    fn block(&mut self, before: usize, items: &ItemsNode) -> Result<usize, MisfitReason> {
        let mut count = self.wire.long()?;
        if count < 0 {
            // How many bytes the block has, for those who step over it. As in Avro nobody else looks.
            self.wire.long()?;
            count = match count.checked_neg() {
                Some(count) => count,
                // Avro's Java library misses this one number, and only in the first block: it finds no items there.
                None if before == 0 => 0,
                None => return Err(Malformed),
            };
        }
        let count = usize::try_from(count).map_err(|_| Malformed)?;
        let bytes = count.checked_mul(items.bytes_min).ok_or(Malformed)?;
        if bytes > self.wire.remaining() {
            return Err(Malformed);
        }
        if items.bytes_min == 0 {
            self.items_without_bytes_left = self.items_without_bytes_left.checked_sub(count).ok_or(BeyondLimit)?;
        }
        self.take_cells(count, items.cells)?;
        Ok(count)
    }

    fn take_cells(&mut self, count: usize, cells: usize) -> Reading {
        let cells = count.checked_mul(cells).ok_or(BeyondLimit)?;
        self.cells_left = self.cells_left.checked_sub(cells).ok_or(BeyondLimit)?;
        Ok(())
    }

    #[inline(never)]
    fn map(&mut self, items: &'m ItemsNode, column: &mut MapColumn) -> Reading {
        let begin = self.wire;
        let first = self.keys.open();
        let around = std::mem::replace(&mut self.superseding, Superseding::Possible);
        loop {
            let count = self.block(self.keys.open() - first, items)?;
            if count == 0 {
                break;
            }
            for _ in 0..count {
                let key = self.key(column)?;
                self.keys.add(key);
                self.value(&items.value, column.values())?;
            }
        }
        let doubtful = std::mem::replace(&mut self.superseding, around) == Superseding::Doubtful;
        if self.keys.supersede(first, self.source) || doubtful {
            column.discard();
            let bytes = begin.remaining() - self.wire.remaining();
            self.reread_bytes_left = self.reread_bytes_left.checked_sub(bytes).ok_or(BeyondLimit)?;
            self.wire = begin;
            self.map_of_last_values(first, items, column)?;
        }
        self.keys.close(first);
        column.commit();
        Ok(())
    }

    /// A key into the column of keys, and where it lies in the source.
    fn key(&mut self, column: &mut MapColumn) -> Result<std::ops::Range<usize>, MisfitReason> {
        let key = self.wire.sized()?;
        let end = self.source.len() - self.wire.remaining();
        column.keys().append(key);
        Ok(end - key.len()..end)
    }

    /// Reads a map once more and keeps the last value of each key. What was read before counts as cells, so that maps in maps end.
    fn map_of_last_values(&mut self, first: usize, items: &'m ItemsNode, column: &mut MapColumn) -> Reading {
        let mut entry = first;
        loop {
            let count = self.block(entry - first, items)?;
            if count == 0 {
                return Ok(());
            }
            self.take_cells(count, 1)?;
            for _ in 0..count {
                if self.keys.is_superseded(entry) {
                    self.superseded_value(items, column)?;
                } else {
                    self.key(column)?;
                    self.value(&items.value, column.values())?;
                }
                entry += 1;
            }
        }
    }

    /// Steps over an entry as it was read before, which is not by the bytes that its blocks say they have.
    fn superseded_value(&mut self, items: &'m ItemsNode, column: &mut MapColumn) -> Reading {
        self.wire.sized()?;
        let around = std::mem::replace(&mut self.superseding, Superseding::Possible);
        let values = column.values().len();
        self.value(&items.value, column.values())?;
        column.values().truncate(values);
        self.superseding = around;
        Ok(())
    }

    /// Steps over a value; `level` counts the records inside themselves.
    fn skip(&mut self, skip: &'m Skip, level: usize) -> Reading {
        match skip {
            Skip::Bytes(count) => self.wire.take(*count).map(drop),
            Skip::Int => self.wire.int().map(drop),
            Skip::Long => self.wire.long().map(drop),
            Skip::Sized => self.wire.sized().map(drop),
            Skip::Sequence(parts) => parts.iter().try_for_each(|part| self.skip(part, level)),
            Skip::Array(item) => self.skip_blocks(|reader| reader.skip(item, level)),
            Skip::Map(value) => self.skip_blocks(|reader| {
                reader.wire.sized()?;
                reader.skip(value, level)
            }),
            Skip::Union(branches) => {
                let index = usize::try_from(self.wire.int()?).map_err(|_| Malformed)?;
                self.skip(branches.get(index).ok_or(Malformed)?, level)
            }
            Skip::Recursion(_) if level >= AVRO_SKIPPED_RECURSION_MAX => Err(BeyondLimit),
            Skip::Recursion(index) => self.skip(self.recursive.get(*index).ok_or(WrongKind)?, level + 1),
        }
    }

    fn skip_blocks(&mut self, mut item: impl FnMut(&mut Self) -> Reading) -> Reading {
        loop {
            let count = self.wire.long()?;
            if count == 0 {
                return Ok(());
            }
            if count < 0 {
                // The block says its bytes.
                self.wire.sized()?;
                continue;
            }
            for _ in 0..count {
                let before = self.wire.remaining();
                item(self)?;
                if self.wire.remaining() == before {
                    self.items_without_bytes_left = self.items_without_bytes_left.checked_sub(1).ok_or(BeyondLimit)?;
                }
            }
        }
    }
}

fn float(value: f32, column: &mut Column) -> Reading {
    match column {
        Column::Float(column) => column.append(value),
        Column::Double(column) => column.append(value.into()),
        _ => return Err(WrongKind),
    }
    Ok(())
}
