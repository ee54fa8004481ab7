//! What conversion knows about a type beyond its columns: field names.

use std::collections::HashMap;

use stream_spec::types::DataType;

use crate::limits::{LINEAR_NAME_SEARCH_FIELDS_MAX, NAME_UNITS_MAX};

/// The nesting of a type; parallel to the columns made from the same type.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// Neither struct, list nor map: the column alone says what it takes.
    Leaf,
    Struct(StructShape),
    List(Box<Shape>),
    /// Keys are strings; the shape is the values'.
    Map(Box<Shape>),
}

impl Shape {
    pub(crate) fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::Struct(fields) => {
                let names = fields.iter().map(|field| field.name.as_str());
                let shapes = fields.iter().map(|field| Self::of(&field.data_type)).collect();
                Self::Struct(StructShape::new(names, shapes))
            }
            DataType::Array(element) => Self::List(Box::new(Self::of(element))),
            DataType::Map(_, value) => Self::Map(Box::new(Self::of(value))),
            _ => Self::Leaf,
        }
    }

    fn cells(&self) -> usize {
        match self {
            Self::Struct(shape) => shape.cells,
            Self::Leaf | Self::List(_) | Self::Map(_) => 1,
        }
    }
}

/// Names of a struct's fields and the shapes behind them.
#[derive(Clone, Debug)]
pub(crate) struct StructShape {
    fields: Vec<StructField>,
    /// Only for structs of many fields.
    by_name: Option<HashMap<Box<[u8]>, usize>>,
    /// Cells that one more struct takes in the columns below it.
    cells: usize,
    /// The field that came first the last time.
    first: usize,
}

#[derive(Clone, Debug)]
struct StructField {
    name: Box<[u8]>,
    expected: ExpectedName,
    shape: Shape,
    /// The field that came behind this one the last time.
    next: usize,
}

impl StructShape {
    fn new<'a>(names: impl Iterator<Item = &'a str>, shapes: Vec<Shape>) -> Self {
        let field = |(index, (name, shape)): (usize, (&str, Shape))| StructField {
            name: name.as_bytes().into(),
            expected: ExpectedName::of(name),
            shape,
            next: index + 1,
        };
        let fields: Vec<StructField> = names.zip(shapes).enumerate().map(field).collect();
        let by_name = (fields.len() > LINEAR_NAME_SEARCH_FIELDS_MAX).then(|| {
            let named = fields.iter().enumerate();
            named.map(|(index, field)| (field.name.clone(), index)).collect()
        });
        let cells = fields.iter().map(|field| field.shape.cells()).sum();
        Self {
            fields,
            by_name,
            cells,
            first: 0,
        }
    }

    pub(super) fn cells(&self) -> usize {
        self.cells
    }

    pub(super) fn field(&self, index: usize) -> Option<&Shape> {
        self.fields.get(index).map(|field| &field.shape)
    }

    #[inline]
    pub(super) fn field_mut(&mut self, index: usize) -> Option<&mut Shape> {
        self.fields.get_mut(index).map(|field| &mut field.shape)
    }

    /// The field of that exact name. `predicted` is tried first: messages of one producer have one field order.
    #[inline]
    pub(super) fn find(&self, name: &[u8], predicted: usize) -> Option<usize> {
        match self.fields.get(predicted) {
            Some(field) if *field.name == *name => Some(predicted),
            _ => self.search(name),
        }
    }

    pub(super) fn search(&self, name: &[u8]) -> Option<usize> {
        match &self.by_name {
            Some(by_name) => by_name.get(name).copied(),
            None => self.fields.iter().position(|field| *field.name == *name),
        }
    }

    /// The field that came behind that one, or at the beginning, the last time.
    #[inline]
    pub(super) fn successor(&self, previous: Option<usize>) -> usize {
        match previous {
            Some(previous) => self.fields.get(previous).map_or(0, |field| field.next),
            None => self.first,
        }
    }

    /// Remembers what came behind a field.
    pub(super) fn learn(&mut self, previous: Option<usize>, index: usize) {
        match previous {
            None => self.first = index,
            Some(previous) => {
                if let Some(field) = self.fields.get_mut(previous) {
                    field.next = index;
                }
            }
        }
    }

    /// If that field's name begins `rest`, quoted and with a colon: the length of all that.
    #[inline]
    pub(super) fn expected_len(&self, index: usize, rest: &[u8]) -> Option<usize> {
        self.fields.get(index)?.expected.len_at(rest)
    }
}

/// A field's name as it stands in most messages: quoted, without escapes, a colon right behind.
#[derive(Clone, Debug)]
struct ExpectedName {
    /// Empty if the name cannot be written that way.
    text: Box<[u8]>,
    /// The first bytes of the text, and which bits of them count.
    beginning: u128,
    mask: u128,
}

impl ExpectedName {
    const BEGINNING_BYTES: usize = 16;

    fn of(name: &str) -> Self {
        let plain = name.bytes().all(|byte| byte >= 0x20 && !matches!(byte, b'"' | b'\\')) && name.len() <= NAME_UNITS_MAX;
        let text = if plain { format!("\"{name}\":") } else { String::new() };
        let (mut beginning, mut mask) = ([0; Self::BEGINNING_BYTES], [0; Self::BEGINNING_BYTES]);
        for ((byte, begin), bits) in text.bytes().zip(&mut beginning).zip(&mut mask) {
            (*begin, *bits) = (byte, u8::MAX);
        }
        Self {
            text: text.into_bytes().into(),
            beginning: u128::from_le_bytes(beginning),
            mask: u128::from_le_bytes(mask),
        }
    }

    #[inline]
    fn len_at(&self, rest: &[u8]) -> Option<usize> {
        let beginning = u128::from_le_bytes(*rest.first_chunk()?);
        let len = self.text.len();
        let begins = (beginning ^ self.beginning) & self.mask == 0 && len > 0;
        (begins && (len <= Self::BEGINNING_BYTES || rest.starts_with(&self.text))).then_some(len)
    }
}
