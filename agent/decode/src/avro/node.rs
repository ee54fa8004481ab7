//! The program: what to do with each value of a message, in the order of the writer's bytes.
//!
//! A node says what lies in the bytes; the column that it is run on says what becomes of it, so that `int` into BIGINT needs no node of
//! its own. The one invariant: a node that ends well has appended exactly one element to its column.

use crate::builders::Literal;

/// What to do with one value.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// No bytes: a null.
    Null,
    /// The schemas do not resolve here: a message that comes here is given up.
    Never,
    Boolean,
    /// Into INT, DATE, BIGINT, TIMESTAMP, TIMESTAMP_NTZ or DOUBLE.
    Int,
    /// Into BIGINT, TIMESTAMP, TIMESTAMP_NTZ or DOUBLE.
    Long,
    /// An int of milliseconds, into TIMESTAMP or TIMESTAMP_NTZ.
    IntMillis,
    /// A long of milliseconds, into TIMESTAMP or TIMESTAMP_NTZ.
    LongMillis,
    /// An int made a float, into FLOAT or DOUBLE.
    IntAsFloat,
    /// A long made a float, into FLOAT or DOUBLE.
    LongAsFloat,
    /// Into FLOAT or DOUBLE.
    Float,
    Double,
    /// A length and bytes, into STRING or BINARY.
    Bytes,
    /// Into BINARY.
    Fixed(usize),
    /// A length and bytes, into DECIMAL.
    DecimalOfBytes,
    /// Into DECIMAL.
    DecimalOfFixed(usize),
    /// The reader's text for each of the writer's symbols, into STRING; none where the reader has neither it nor a default.
    Enum(Box<[Option<Literal>]>),
    Record(Box<RecordNode>),
    Array(Box<ItemsNode>),
    Map(Box<ItemsNode>),
    /// A union of null, at that index, and a value.
    Nullable {
        null_index: i32,
        value: Box<Node>,
    },
    /// The branches of a union.
    Union(Box<[Node]>),
    /// Into a field of the struct that the reader's union is.
    Member {
        field: usize,
        value: Box<Node>,
    },
}

/// A record into a STRUCT.
#[derive(Clone, Debug)]
pub(super) struct RecordNode {
    pub(super) steps: Box<[Step]>,
    /// Steps that fill a column.
    pub(super) filled: usize,
}

/// What to do with one field.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Read it into that column of the struct.
    Column(usize, Node),
    /// No column has it.
    Skip(Skip),
    /// The writer has no such field: the default, in the encoding of the reader's schema.
    Default(usize, Box<DefaultNode>),
}

/// A default that is read like a value of a message.
#[derive(Clone, Debug)]
pub(super) struct DefaultNode {
    pub(super) bytes: Box<[u8]>,
    pub(super) node: Node,
}

/// What is in an array or a map.
#[derive(Clone, Debug)]
pub(super) struct ItemsNode {
    pub(super) value: Node,
    /// Bytes that an item takes at least, a map's key included.
    pub(super) bytes_min: usize,
    /// Cells that an item fills in the columns below, where that is more than the item itself.
    pub(super) cells: usize,
}

/// How to step over a value.
#[derive(Clone, Debug)]
pub(super) enum Skip {
    Bytes(usize),
    Int,
    Long,
    /// A length and bytes.
    Sized,
    Sequence(Box<[Skip]>),
    /// An array's items.
    Array(Box<Skip>),
    /// A map's values.
    Map(Box<Skip>),
    Union(Box<[Skip]>),
    /// A record that contains itself, by its place in the program's list.
    Recursion(usize),
}
