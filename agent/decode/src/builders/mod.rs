//! Columns under construction. One [`Column`] per column of the reader's type, written row by row by a format's
//! converter and turned into an Arrow array at the end of a batch.
//!
//! Knows no message format. The one invariant: an append adds exactly one element, and everything a converter wrote
//! since a known length can be taken back with [`ColumnBuilder::truncate`].

mod boolean;
mod bytes;
mod literal;
mod nested;
mod primitive;
mod validity;

use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_schema::ArrowError;
use stream_spec::types::DataType;

pub(crate) use self::boolean::BooleanColumn;
pub(crate) use self::bytes::{BytesColumn, SHORT_BYTES};
pub(crate) use self::literal::Literal;
pub(crate) use self::nested::{ListColumn, MapColumn, StructColumn};
pub(crate) use self::primitive::PrimitiveColumn;
use crate::arrow_types::arrow_type;

/// What every column can do, whatever it holds.
pub(crate) trait ColumnBuilder {
    /// Complete elements.
    fn len(&self) -> usize;
    /// Adds a null.
    fn append_null(&mut self);
    /// Takes back every element from `len` on, and whatever was begun after the last complete one.
    fn truncate(&mut self, len: usize);
    /// Takes elements out of the middle. Costs as much as what lies behind them.
    fn remove(&mut self, range: Range<usize>);
    /// The elements as an Arrow array; the column is empty again afterwards and expects as many more.
    fn finish(&mut self) -> Result<ArrayRef, ArrowError>;
}

/// A column of any type.
pub(crate) enum Column {
    Boolean(BooleanColumn),
    TinyInt(PrimitiveColumn<Int8Type>),
    SmallInt(PrimitiveColumn<Int16Type>),
    Int(PrimitiveColumn<Int32Type>),
    BigInt(PrimitiveColumn<Int64Type>),
    Float(PrimitiveColumn<Float32Type>),
    Double(PrimitiveColumn<Float64Type>),
    Decimal {
        column: PrimitiveColumn<Decimal128Type>,
        precision: u8,
        scale: u8,
    },
    String(BytesColumn),
    Binary(BytesColumn),
    Date(PrimitiveColumn<Date32Type>),
    Timestamp(PrimitiveColumn<TimestampMicrosecondType>),
    TimestampNtz(PrimitiveColumn<TimestampMicrosecondType>),
    Struct(StructColumn),
    List(Box<ListColumn>),
    Map(Box<MapColumn>),
}

impl Column {
    /// An empty column of that type.
    pub(crate) fn new(data_type: &DataType) -> Self {
        let arrow = || arrow_type(data_type);
        match data_type {
            DataType::Boolean => Self::Boolean(BooleanColumn::default()),
            DataType::TinyInt => Self::TinyInt(PrimitiveColumn::new(arrow())),
            DataType::SmallInt => Self::SmallInt(PrimitiveColumn::new(arrow())),
            DataType::Int => Self::Int(PrimitiveColumn::new(arrow())),
            DataType::BigInt => Self::BigInt(PrimitiveColumn::new(arrow())),
            DataType::Float => Self::Float(PrimitiveColumn::new(arrow())),
            DataType::Double => Self::Double(PrimitiveColumn::new(arrow())),
            DataType::Decimal { precision, scale } => Self::Decimal {
                column: PrimitiveColumn::new(arrow()),
                precision: *precision,
                scale: *scale,
            },
            DataType::String => Self::String(BytesColumn::text()),
            DataType::Binary => Self::Binary(BytesColumn::binary()),
            DataType::Date => Self::Date(PrimitiveColumn::new(arrow())),
            DataType::Timestamp => Self::Timestamp(PrimitiveColumn::new(arrow())),
            DataType::TimestampNtz => Self::TimestampNtz(PrimitiveColumn::new(arrow())),
            DataType::Struct(fields) => Self::Struct(StructColumn::new(fields)),
            DataType::Array(element) => Self::List(Box::new(ListColumn::new(element))),
            DataType::Map(key, value) => Self::Map(Box::new(MapColumn::new(key, value))),
        }
    }
}

/// Runs one expression on the concrete column inside, whichever it is.
macro_rules! on_concrete {
    ($column:expr, $concrete:ident => $run:expr) => {
        match $column {
            Column::Boolean($concrete) => $run,
            Column::TinyInt($concrete) => $run,
            Column::SmallInt($concrete) => $run,
            Column::Int($concrete) => $run,
            Column::BigInt($concrete) => $run,
            Column::Float($concrete) => $run,
            Column::Double($concrete) => $run,
            Column::Decimal { column: $concrete, .. } => $run,
            Column::String($concrete) | Column::Binary($concrete) => $run,
            Column::Date($concrete) => $run,
            Column::Timestamp($concrete) | Column::TimestampNtz($concrete) => $run,
            Column::Struct($concrete) => $run,
            Column::List($concrete) => $run,
            Column::Map($concrete) => $run,
        }
    };
}

impl ColumnBuilder for Column {
    #[inline]
    fn len(&self) -> usize {
        on_concrete!(self, column => column.len())
    }

    #[inline]
    fn append_null(&mut self) {
        on_concrete!(self, column => column.append_null());
    }

    fn truncate(&mut self, len: usize) {
        on_concrete!(self, column => column.truncate(len));
    }

    fn remove(&mut self, range: Range<usize>) {
        on_concrete!(self, column => column.remove(range));
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        on_concrete!(self, column => column.finish())
    }
}

/// Room for the next batch when this one took `len`: batches of one stream are alike, and a little more is cheaper than
/// growing.
fn next_capacity(len: usize) -> usize {
    len + len / 8
}
