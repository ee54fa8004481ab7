//! From the tree to the column's type, and what a table refuses of what Spark could read.
//!
//! The one invariant: the type has exactly the fields, in the order, that the decoder fills for the same tree.

use std::collections::BTreeMap;

use super::tree::{AvroField, AvroType, Encoding, Logical, UnionShape};
use super::{Place, Problems, UnionNames};
use crate::schema::json::text::quoted;
use crate::schema::{ParsedSchema, Root, SchemaFormat, SchemaStep, Wire};
use crate::types::{DataType, Field};

/// What a type is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// A column of a table.
    Table,
    /// A comparison with Spark: whatever it has a type for.
    AsSpark,
}

const ROOTS: &str = "supported roots: a record, or one value (boolean, int, long, float, double, bytes, string, enum, fixed), which may be \
                     null in a union";

/// The schema of a whole document.
pub(super) fn root(tree: AvroType, union_names: &UnionNames, target: Target, problems: &mut Problems) -> Option<ParsedSchema> {
    let mut finisher = Finisher {
        union_names,
        target,
        problems,
        place: Place::default(),
    };
    if target == Target::Table {
        finisher.check_root(&tree)?;
    }
    let data_type = finisher.data_type(&tree)?;
    let root = match data_type {
        DataType::Struct(_) => Root::Struct,
        _ => Root::Scalar,
    };
    Some(ParsedSchema {
        format: SchemaFormat::Avro,
        root,
        data_type,
        required: Default::default(),
        wire: Wire::Avro(tree),
    })
}

struct Finisher<'a, 'p> {
    union_names: &'a UnionNames,
    target: Target,
    problems: &'p mut Problems,
    place: Place,
}

impl Finisher<'_, '_> {
    fn refuse(&mut self, problem: impl Into<String>, found: String, remedy: &str) {
        self.problems.add(&self.place, problem, found, remedy);
    }

    /// Refuses what only Spark's expression, or nothing, makes of a whole message.
    fn check_root(&mut self, tree: &AvroType) -> Option<()> {
        let problem = match &tree.encoding {
            Encoding::Union(branches) => return self.check_root_union(tree, branches),
            Encoding::Array(_) => "the root is an array",
            Encoding::Map(_) => "the root is a map",
            Encoding::Null => "the root is only null",
            _ => return Some(()),
        };
        self.refuse(problem, quoted(tree.encoding.word()), ROOTS);
        None
    }

    /// A union at the root may be one value. Spark gives a struct of nulls for every message of any other, even of null and one record.
    fn check_root_union(&mut self, tree: &AvroType, branches: &[AvroType]) -> Option<()> {
        let shape = UnionShape::of(branches);
        let with_parts = |branch: &AvroType| matches!(branch.encoding, Encoding::Record { .. } | Encoding::Array(_) | Encoding::Map(_));
        if shape == UnionShape::Struct || branches.iter().any(with_parts) {
            self.refuse(
                "the root is a union of anything but null and one value",
                quoted(tree.encoding.word()),
                ROOTS,
            );
            return None;
        }
        Some(())
    }

    fn below(&mut self, step: &str, field: Option<SchemaStep>, schema: &AvroType) -> Option<DataType> {
        let here = self.place.enter(step, field);
        let data_type = self.data_type(schema);
        self.place.leave(here);
        data_type
    }

    /// The type of a schema; none for a record that recursion ends at, and for what holds nothing else.
    fn data_type(&mut self, schema: &AvroType) -> Option<DataType> {
        Some(match &schema.encoding {
            Encoding::Null => {
                self.refuse_in_table(
                    "`null` alone is no type",
                    "null",
                    "put the type that the value can have beside it in a union",
                );
                DataType::String
            }
            Encoding::Fixed { size: 0, .. } if schema.logical.is_none() => {
                self.refuse_in_table("a fixed of no bytes", "fixed", "leave the field out: it never has a value");
                DataType::Binary
            }
            Encoding::Record { fields, .. } => return self.record(fields),
            Encoding::Array(items) => DataType::Array(Box::new(self.below("items", Some(SchemaStep::Element), items)?)),
            Encoding::Map(values) => {
                let values = self.below("values", Some(SchemaStep::MapValue), values)?;
                DataType::Map(Box::new(DataType::String), Box::new(values))
            }
            Encoding::Union(branches) => return self.union(branches),
            Encoding::Recursion(_) => return None,
            encoding => scalar(encoding, schema.logical),
        })
    }

    fn refuse_in_table(&mut self, problem: &str, found: &str, remedy: &str) {
        if self.target == Target::Table {
            self.refuse(problem, quoted(found), remedy);
        }
    }

    fn record(&mut self, fields: &[AvroField]) -> Option<DataType> {
        if fields.is_empty() {
            self.refuse_in_table("a record without fields", "record", "leave it out: a table stores no empty struct");
        }
        let mut types = Vec::with_capacity(fields.len());
        let mut folded: BTreeMap<String, &str> = BTreeMap::new();
        for (index, field) in fields.iter().enumerate() {
            let step = format!("fields[{index}].type");
            let data_type = self.below(&step, Some(SchemaStep::Field(field.name.clone())), &field.schema);
            types.extend(data_type.map(|data_type| Field::new(field.name.clone(), data_type)));
            if let Some(twin) = folded.insert(field.name.to_lowercase(), &field.name) {
                let here = self.place.enter(&format!("fields[{index}]"), None);
                let problem = format!("the names `{twin}` and `{}` differ only in case", field.name);
                self.refuse_in_table(&problem, &field.name, "rename one: a table has one column for both");
                self.place.leave(here);
            }
        }
        Some(DataType::Struct(types))
    }

    fn union(&mut self, branches: &[AvroType]) -> Option<DataType> {
        let values = || branches.iter().enumerate().filter(|(_, branch)| branch.encoding != Encoding::Null);
        match UnionShape::of(branches) {
            UnionShape::Long => return Some(DataType::BigInt),
            UnionShape::Double => return Some(DataType::Double),
            UnionShape::One => {
                let (index, branch) = values().next()?;
                return self.below(&format!("[{index}]"), None, branch);
            }
            UnionShape::Struct => {}
        }
        if values().next().is_none() {
            let found = if branches.is_empty() { "[]" } else { "[\"null\"]" };
            self.refuse_in_table("a union without a type", found, "put the type that the value can have into it");
        }
        let mut fields = Vec::with_capacity(branches.len());
        let mut folded: BTreeMap<String, String> = BTreeMap::new();
        for (member, (index, branch)) in values().enumerate() {
            let name = match self.union_names {
                UnionNames::Numbered => format!("member{member}"),
                UnionNames::OfBranches { prefix } => format!("{prefix}{}", branch.encoding.short_name()),
            };
            let step = format!("[{index}]");
            let data_type = self.below(&step, Some(SchemaStep::Field(name.clone())), branch);
            if let Some(twin) = folded.insert(name.to_lowercase(), name.clone()) {
                let here = self.place.enter(&step, None);
                let problem = format!("two branches of the union are named `{twin}` and `{name}`");
                let remedy = "rename one: each branch is a column of that name without its namespace, and case does not tell columns apart";
                self.refuse(problem, quoted(&name), remedy);
                self.place.leave(here);
            }
            fields.extend(data_type.map(|data_type| Field::new(name, data_type)));
        }
        Some(DataType::Struct(fields))
    }
}

/// The type of a value without parts.
fn scalar(encoding: &Encoding, logical: Option<Logical>) -> DataType {
    match (encoding, logical) {
        (_, Some(Logical::Decimal { precision, scale })) => DataType::Decimal { precision, scale },
        (_, Some(Logical::Date)) => DataType::Date,
        (_, Some(Logical::TimestampMillis | Logical::TimestampMicros)) => DataType::Timestamp,
        (_, Some(Logical::LocalTimestampMillis | Logical::LocalTimestampMicros)) => DataType::TimestampNtz,
        (Encoding::Boolean, _) => DataType::Boolean,
        (Encoding::Int, _) => DataType::Int,
        (Encoding::Long, _) => DataType::BigInt,
        (Encoding::Float, _) => DataType::Float,
        (Encoding::Double, _) => DataType::Double,
        (Encoding::Bytes | Encoding::Fixed { .. }, _) => DataType::Binary,
        _ => DataType::String,
    }
}
