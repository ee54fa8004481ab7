//! What conversion knows about a type beyond its columns: field names.

use std::collections::HashMap;

use stream_spec::types::DataType;

use crate::limits::LINEAR_NAME_SEARCH_FIELDS_MAX;

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
    fields: Vec<(Box<[u8]>, Shape)>,
    /// Only for structs of many fields.
    by_name: Option<HashMap<Box<[u8]>, usize>>,
    /// Cells that one more struct takes in the columns below it.
    cells: usize,
}

impl StructShape {
    fn new<'a>(names: impl Iterator<Item = &'a str>, shapes: Vec<Shape>) -> Self {
        let fields: Vec<(Box<[u8]>, Shape)> = names.map(|name| name.as_bytes().into()).zip(shapes).collect();
        let by_name = (fields.len() > LINEAR_NAME_SEARCH_FIELDS_MAX)
            .then(|| fields.iter().enumerate().map(|(index, (name, _))| (name.clone(), index)).collect());
        let cells = fields.iter().map(|(_, shape)| shape.cells()).sum();
        Self { fields, by_name, cells }
    }

    pub(super) fn cells(&self) -> usize {
        self.cells
    }

    pub(super) fn field(&self, index: usize) -> Option<&Shape> {
        self.fields.get(index).map(|(_, shape)| shape)
    }

    /// The field of that exact name. `predicted` is tried first: messages of one producer have one field order.
    #[inline]
    pub(super) fn find(&self, name: &[u8], predicted: usize) -> Option<usize> {
        match self.fields.get(predicted) {
            Some((expected, _)) if **expected == *name => Some(predicted),
            _ => self.search(name),
        }
    }

    fn search(&self, name: &[u8]) -> Option<usize> {
        match &self.by_name {
            Some(by_name) => by_name.get(name).copied(),
            None => self.fields.iter().position(|(field, _)| **field == *name),
        }
    }
}
