//! A writer's and a reader's schema into a program.
//!
//! The reader's schema says the columns, in the order of `stream-spec`'s type for it; the writer's says the bytes. Where both are one, each
//! part meets itself. The one invariant: a node is run on the column of the reader's schema that it was made for.

use std::collections::{HashMap, HashSet};

use stream_spec::schema::avro::default;
use stream_spec::schema::avro::tree::{AvroField, AvroType, Encoding, Logical, UnionShape};

use super::node::{DefaultNode, ItemsNode, Node, RecordNode, Skip, Step};
use super::resolve::{self, Aliases};
use crate::builders::Literal;

/// The program of a pair, and its records that contain themselves.
pub(super) fn program(writer: &AvroType, reader: &AvroType) -> (Node, Box<[Skip]>) {
    let mut compiler = Compiler {
        aliases: Aliases::of(reader),
        open: Vec::new(),
        recursive: Vec::new(),
        recursive_by_name: HashMap::new(),
    };
    let node = if is_never_decoded(reader) {
        Node::Never
    } else {
        compiler.node(writer, reader)
    };
    (node, compiler.recursive.into())
}

/// What Spark has a type for, but no decoder: a union at the root that is a struct, and names that differ only in case.
fn is_never_decoded(reader: &AvroType) -> bool {
    let is_struct = |branches: &[AvroType]| match UnionShape::of(branches) {
        UnionShape::Struct => true,
        UnionShape::One => branches.iter().any(|branch| matches!(branch.encoding, Encoding::Record { .. })),
        UnionShape::Long | UnionShape::Double => false,
    };
    matches!(&reader.encoding, Encoding::Union(branches) if is_struct(branches)) || has_twins(reader)
}

fn has_twins(schema: &AvroType) -> bool {
    match &schema.encoding {
        Encoding::Record { fields, .. } => {
            let mut names: Vec<String> = fields.iter().map(|field| field.name.to_lowercase()).collect();
            names.sort_unstable();
            names.dedup();
            names.len() < fields.len() || fields.iter().any(|field| has_twins(&field.schema))
        }
        Encoding::Array(inner) | Encoding::Map(inner) => has_twins(inner),
        Encoding::Union(branches) => branches.iter().any(has_twins),
        _ => false,
    }
}

/// True where the type of a column has no place for the schema: a record that recursion ends at, and what holds nothing else.
fn is_left_out(schema: &AvroType) -> bool {
    match &schema.encoding {
        Encoding::Recursion(_) => true,
        Encoding::Array(inner) | Encoding::Map(inner) => is_left_out(inner),
        Encoding::Union(branches) if UnionShape::of(branches) == UnionShape::One => branches.iter().any(is_left_out),
        _ => false,
    }
}

struct Compiler<'s> {
    aliases: Aliases<'s>,
    /// The writer's records around the place.
    open: Vec<&'s AvroType>,
    recursive: Vec<Skip>,
    recursive_by_name: HashMap<&'s str, usize>,
}

impl<'s> Compiler<'s> {
    fn node(&mut self, writer: &'s AvroType, reader: &'s AvroType) -> Node {
        let millis = matches!(reader.logical, Some(Logical::TimestampMillis | Logical::LocalTimestampMillis));
        let decimal = matches!(reader.logical, Some(Logical::Decimal { .. }));
        match (&writer.encoding, &reader.encoding) {
            (Encoding::Union(branches), _) => self.union(branches, reader),
            (_, Encoding::Union(branches)) => self.value_of_union(writer, branches),
            (Encoding::Null, Encoding::Null) => Node::Null,
            (Encoding::Boolean, Encoding::Boolean) => Node::Boolean,
            (Encoding::Int, Encoding::Long) if millis => Node::IntMillis,
            (Encoding::Int, Encoding::Int | Encoding::Long | Encoding::Double) => Node::Int,
            (Encoding::Long, Encoding::Long) if millis => Node::LongMillis,
            (Encoding::Long, Encoding::Long | Encoding::Double) => Node::Long,
            (Encoding::Int, Encoding::Float) => Node::IntAsFloat,
            (Encoding::Long, Encoding::Float) => Node::LongAsFloat,
            (Encoding::Float, Encoding::Float | Encoding::Double) => Node::Float,
            (Encoding::Double, Encoding::Double) => Node::Double,
            (Encoding::Bytes | Encoding::String, Encoding::Bytes) if decimal => Node::DecimalOfBytes,
            (Encoding::Bytes | Encoding::String, Encoding::Bytes | Encoding::String) => Node::Bytes,
            (
                Encoding::Fixed { name, size },
                Encoding::Fixed {
                    name: known,
                    size: expected,
                },
            ) => match self.aliases.name(name) == known.full && size == expected {
                true if decimal => Node::DecimalOfFixed(*size),
                true => Node::Fixed(*size),
                false => Node::Never,
            },
            (
                Encoding::Enum { name, symbols, .. },
                Encoding::Enum {
                    name: known,
                    symbols: expected,
                    default,
                },
            ) if self.aliases.name(name) == known.full => {
                let texts: HashSet<&String> = expected.iter().collect();
                let read = |symbol| if texts.contains(symbol) { Some(symbol) } else { default.as_ref() };
                let text = |symbol: &String| Some(Literal::new(symbol));
                Node::Enum(symbols.iter().map(|symbol| read(symbol).and_then(text)).collect())
            }
            (Encoding::Record { .. }, Encoding::Record { .. }) => {
                self.open.push(writer);
                let node = self.record(writer, reader);
                self.open.pop();
                node
            }
            (Encoding::Array(items), Encoding::Array(expected)) => Node::Array(Box::new(self.items(items, expected, 0))),
            (Encoding::Map(values), Encoding::Map(expected)) => Node::Map(Box::new(self.items(values, expected, 1))),
            _ => Node::Never,
        }
    }

    fn record(&mut self, writer: &'s AvroType, reader: &'s AvroType) -> Node {
        let (
            Encoding::Record { name, fields: written },
            Encoding::Record {
                name: known,
                fields: expected,
            },
        ) = (&writer.encoding, &reader.encoding)
        else {
            return Node::Never;
        };
        let columns = columns(expected);
        let same_record = self.aliases.name(name) == known.full;
        let found = resolve::fields(written, expected, same_record);
        let mut steps = Vec::with_capacity(expected.len());
        let mut given = vec![false; expected.len()];
        for (field, index) in written.iter().zip(found) {
            let known = index.and_then(|index| Some((expected.get(index)?, columns.get(index).copied().flatten(), given.get_mut(index)?)));
            match known {
                Some((known, column, given)) => {
                    *given = true;
                    steps.push(match column {
                        Some(column) => Step::Column(column, self.node(&field.schema, &known.schema)),
                        None => Step::Skip(self.skip(&field.schema)),
                    });
                }
                None => steps.push(Step::Skip(self.skip(&field.schema))),
            }
        }
        let missing = expected.iter().zip(columns).zip(given).filter(|(_, given)| !given);
        for ((field, column), _) in missing {
            let Some(bytes) = field.default.as_ref().and_then(|value| default::encode(value, &field.schema)) else {
                return Node::Never;
            };
            if let Some(column) = column {
                let node = self.node(&field.schema, &field.schema);
                let bytes = bytes.into();
                steps.push(Step::Default(column, Box::new(DefaultNode { bytes, node })));
            }
        }
        let filled = steps.iter().filter(|step| !matches!(step, Step::Skip(_))).count();
        Node::Record(Box::new(RecordNode {
            steps: steps.into(),
            filled,
        }))
    }

    fn items(&mut self, writer: &'s AvroType, reader: &'s AvroType, key_bytes: usize) -> ItemsNode {
        ItemsNode {
            value: self.node(writer, reader),
            bytes_min: bytes_min(writer).saturating_add(key_bytes),
            cells: match &reader.encoding {
                Encoding::Record { .. } | Encoding::Union(_) => cells(reader),
                _ => 0,
            },
        }
    }

    fn union(&mut self, branches: &'s [AvroType], reader: &'s AvroType) -> Node {
        let mut nodes: Vec<Node> = branches.iter().map(|branch| self.node(branch, reader)).collect();
        match nodes.as_slice() {
            [Node::Null, _] | [_, Node::Null] => {
                let null_index = if matches!(nodes.first(), Some(Node::Null)) { 0 } else { 1 };
                let value = Box::new(nodes.swap_remove(1 - null_index));
                Node::Nullable {
                    null_index: i32::from(null_index == 1),
                    value,
                }
            }
            _ => Node::Union(nodes.into()),
        }
    }

    /// A value that is no union, into a column that is one.
    fn value_of_union(&mut self, writer: &'s AvroType, branches: &'s [AvroType]) -> Node {
        let Some((index, branch)) = resolve::branch(writer, branches, &self.aliases).and_then(|index| Some((index, branches.get(index)?)))
        else {
            return Node::Never;
        };
        if branch.encoding == Encoding::Null {
            return Node::Null;
        }
        match UnionShape::of(branches) {
            UnionShape::One => self.node(writer, branch),
            // Logical types say nothing there.
            UnionShape::Long if branch.encoding == Encoding::Long && writer.encoding == Encoding::Long => Node::Long,
            UnionShape::Long => Node::Int,
            UnionShape::Double => self.node(writer, branch),
            UnionShape::Struct => {
                let before = branches.get(..index).unwrap_or_default();
                let field = before
                    .iter()
                    .filter(|branch| branch.encoding != Encoding::Null && !is_left_out(branch))
                    .count();
                let value = Box::new(self.node(writer, branch));
                Node::Member { field, value }
            }
        }
    }

    /// How to step over a value.
    fn skip(&mut self, writer: &'s AvroType) -> Skip {
        match &writer.encoding {
            Encoding::Null => Skip::Bytes(0),
            Encoding::Boolean => Skip::Bytes(1),
            Encoding::Float => Skip::Bytes(4),
            Encoding::Double => Skip::Bytes(8),
            Encoding::Fixed { size, .. } => Skip::Bytes(*size),
            Encoding::Int | Encoding::Enum { .. } => Skip::Int,
            Encoding::Long => Skip::Long,
            Encoding::Bytes | Encoding::String => Skip::Sized,
            Encoding::Array(items) => Skip::Array(Box::new(self.skip(items))),
            Encoding::Map(values) => Skip::Map(Box::new(self.skip(values))),
            Encoding::Union(branches) => Skip::Union(branches.iter().map(|branch| self.skip(branch)).collect()),
            Encoding::Record { fields, .. } => {
                self.open.push(writer);
                let parts = fields.iter().map(|field| self.skip(&field.schema)).collect();
                self.open.pop();
                Skip::Sequence(parts)
            }
            Encoding::Recursion(name) => Skip::Recursion(self.recursion(&name.full)),
        }
    }

    /// The place of a record around this one in the list of those that contain themselves.
    fn recursion(&mut self, name: &'s str) -> usize {
        if let Some(known) = self.recursive_by_name.get(name) {
            return *known;
        }
        let index = self.recursive.len();
        self.recursive_by_name.insert(name, index);
        self.recursive.push(Skip::Bytes(0));
        let named = |record: &&AvroType| record.encoding.name().is_some_and(|known| known.full == name);
        if let Some(record) = self.open.iter().copied().find(named) {
            let skip = self.skip(record);
            if let Some(place) = self.recursive.get_mut(index) {
                *place = skip;
            }
        }
        index
    }
}

/// The column of each field in the struct of a record; none for what its type leaves out.
fn columns(fields: &[AvroField]) -> Vec<Option<usize>> {
    let mut next = 0;
    let column = |field: &AvroField| {
        let column = (!is_left_out(&field.schema)).then_some(next);
        next += usize::from(column.is_some());
        column
    };
    fields.iter().map(column).collect()
}

/// Bytes that a value takes at least.
fn bytes_min(schema: &AvroType) -> usize {
    match &schema.encoding {
        Encoding::Null | Encoding::Recursion(_) => 0,
        Encoding::Float => 4,
        Encoding::Double => 8,
        Encoding::Fixed { size, .. } => *size,
        Encoding::Record { fields, .. } => fields
            .iter()
            .fold(0, |bytes: usize, field| bytes.saturating_add(bytes_min(&field.schema))),
        _ => 1,
    }
}

/// Cells that a value fills in its column and the columns below.
fn cells(schema: &AvroType) -> usize {
    match &schema.encoding {
        Encoding::Record { fields, .. } => fields
            .iter()
            .fold(1, |count: usize, field| count.saturating_add(cells(&field.schema))),
        Encoding::Union(branches) => branches.iter().fold(0, |count: usize, branch| count.saturating_add(cells(branch))),
        _ => 1,
    }
}
