//! An Avro schema with every name resolved: what decoding and the update verdict work on.
//!
//! A named type stands in full wherever it is used, so that this is a tree. A schema that contains itself does not get this far,
//! unless it was read with some levels of itself; there the tree ends in [`Encoding::Recursion`]. A logical type that does not
//! fit what it annotates is dropped, as the Avro specification ("Logical Types") asks.

/// One schema.
#[derive(Clone, Debug, PartialEq)]
pub struct AvroType {
    /// How the value's bytes lie.
    pub encoding: Encoding,
    /// What they stand for, if anything else.
    pub logical: Option<Logical>,
}

/// How a value's bytes lie (Avro specification, "Binary Encoding").
#[derive(Clone, Debug, PartialEq)]
pub enum Encoding {
    /// No bytes.
    Null,
    /// One byte.
    Boolean,
    /// Zig-zag varint of 32 bits.
    Int,
    /// Zig-zag varint of 64 bits.
    Long,
    /// Four bytes, little-endian.
    Float,
    /// Eight bytes, little-endian.
    Double,
    /// A long, then as many bytes.
    Bytes,
    /// A long, then as many bytes of UTF-8.
    String,
    /// Exactly `size` bytes.
    Fixed {
        /// Its name.
        name: AvroName,
        /// Bytes of each value.
        size: usize,
    },
    /// An int: the index of a symbol.
    Enum {
        /// Its name.
        name: AvroName,
        /// The symbols in the order of their indexes.
        symbols: Vec<String>,
        /// What a reader takes for a symbol that it does not know.
        default: Option<String>,
    },
    /// The fields one after another.
    Record {
        /// Its name.
        name: AvroName,
        /// The fields in order.
        fields: Vec<AvroField>,
    },
    /// Blocks of items.
    Array(Box<AvroType>),
    /// Blocks of pairs of a string and a value.
    Map(Box<AvroType>),
    /// An int, the index of a branch, then that branch's value.
    Union(Vec<AvroType>),
    /// The record of that name, which is around this place: no column has it, its bytes are stepped over.
    Recursion(AvroName),
}

impl Encoding {
    /// The word for it in schemas.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Int => "int",
            Self::Long => "long",
            Self::Float => "float",
            Self::Double => "double",
            Self::Bytes => "bytes",
            Self::String => "string",
            Self::Fixed { .. } => "fixed",
            Self::Enum { .. } => "enum",
            Self::Record { .. } | Self::Recursion(_) => "record",
            Self::Array(_) => "array",
            Self::Map(_) => "map",
            Self::Union(_) => "union",
        }
    }

    /// The name of a named type.
    pub fn name(&self) -> Option<&AvroName> {
        match self {
            Self::Fixed { name, .. } | Self::Enum { name, .. } | Self::Record { name, .. } | Self::Recursion(name) => Some(name),
            _ => None,
        }
    }

    /// What a union's branch of it is called in a column: a named type's short name, the word otherwise.
    pub fn short_name(&self) -> &str {
        self.name().map_or(self.word(), AvroName::short)
    }
}

/// How a union becomes a column (decoding notes, Avro: unions). `null` only makes it nullable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnionShape {
    /// One branch beside null: a column of its type.
    One,
    /// `int` and `long`, with whatever logical types: a BIGINT.
    Long,
    /// `float` and `double`: a DOUBLE.
    Double,
    /// Anything else: a STRUCT with a field for each branch but null.
    Struct,
}

impl UnionShape {
    /// The shape of a union with those branches.
    pub fn of(branches: &[AvroType]) -> Self {
        let mut values = branches
            .iter()
            .map(|branch| &branch.encoding)
            .filter(|encoding| **encoding != Encoding::Null);
        match (values.next(), values.next(), values.next()) {
            (Some(_), None, _) => Self::One,
            (Some(Encoding::Int), Some(Encoding::Long), None) | (Some(Encoding::Long), Some(Encoding::Int), None) => Self::Long,
            (Some(Encoding::Float), Some(Encoding::Double), None) | (Some(Encoding::Double), Some(Encoding::Float), None) => Self::Double,
            _ => Self::Struct,
        }
    }
}

/// A full name with the aliases that a reader's schema may give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AvroName {
    /// Namespace and name, dotted.
    pub full: String,
    /// Full names of the aliases.
    pub aliases: Vec<String>,
}

impl AvroName {
    /// The name without its namespace.
    pub fn short(&self) -> &str {
        self.full.rsplit('.').next().unwrap_or(&self.full)
    }
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct AvroField {
    /// Exact name.
    pub name: String,
    /// Names it had, for a reader.
    pub aliases: Vec<String>,
    /// What a reader takes when the writer has no such field: JSON as the specification encodes defaults.
    pub default: Option<serde_json::Value>,
    /// The field's schema.
    pub schema: AvroType,
}

/// What a value stands for beside its encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logical {
    /// int: days since 1970-01-01.
    Date,
    /// int: milliseconds of the day.
    TimeMillis,
    /// long: microseconds of the day.
    TimeMicros,
    /// long: since 1970-01-01T00:00:00Z.
    TimestampMillis,
    /// long: since 1970-01-01T00:00:00Z.
    TimestampMicros,
    /// long: since 1970-01-01T00:00:00Z.
    TimestampNanos,
    /// long: since 1970-01-01T00:00:00 without a zone.
    LocalTimestampMillis,
    /// long: since 1970-01-01T00:00:00 without a zone.
    LocalTimestampMicros,
    /// long: since 1970-01-01T00:00:00 without a zone.
    LocalTimestampNanos,
    /// bytes or fixed: a two's complement big-endian unscaled number.
    Decimal {
        /// Total digits, 1 to 38.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// string or fixed(16).
    Uuid,
    /// fixed(12): months, days, milliseconds.
    Duration,
    /// bytes.
    BigDecimal,
}
