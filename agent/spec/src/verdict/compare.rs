//! One side's new schema against every earlier one and the table (decoding notes, section 6).
//!
//! The list of what may change is closed: a field is added or removed, INT becomes BIGINT, required becomes optional.

use std::collections::HashMap;

use super::{FindingKind, Findings};
use crate::path::kind;
use crate::schema::{ParsedSchema, SchemaFormat, SchemaPath, SchemaStep, show_path};
use crate::types::{DataType, Field};

/// What is known of one place of a side before the update.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    /// Its type over all earlier schemas, if it was ever in one.
    pub(super) ever: Option<&'a DataType>,
    /// Its type in the schema in force, if it is in it.
    pub(super) last: Option<&'a DataType>,
    /// Its type in the table, if it has a column there.
    pub(super) table: Option<&'a DataType>,
}

/// Compares one side.
pub(super) struct Comparison<'a, 'f> {
    /// `key` or `value`.
    pub(super) column: &'static str,
    /// Earlier schemas, oldest first.
    pub(super) history: &'a [ParsedSchema],
    /// The schema asked for.
    pub(super) new: &'a ParsedSchema,
    /// Where the findings go.
    pub(super) findings: &'f mut Findings,
}

const REMEDY_TYPE: &str = "keep the type and add a field of the new one under another name, or make a new stream";
const REMEDY_REQUIRED: &str = "leave it optional (out of `required`): messages that are already in the source may lack it";

impl<'a> Comparison<'a, '_> {
    /// Compares from the root down.
    pub(super) fn run(&mut self, known: Known<'_>) {
        let new: &'a DataType = &self.new.data_type;
        self.compare(&mut SchemaPath::new(), known, new);
    }

    fn refuse(&mut self, path: &SchemaPath, text: String, remedy: &str) {
        self.findings.refuse(show_path(self.column, path), text, remedy);
    }

    fn change(&mut self, path: &SchemaPath, kind: FindingKind, text: String) {
        self.findings.change(show_path(self.column, path), kind, text);
    }

    /// Compares a place that an earlier schema or the table knows.
    fn compare(&mut self, path: &mut SchemaPath, known: Known<'_>, new: &DataType) {
        match new {
            DataType::Struct(fields) => {
                if self.of_kind(path, known, new) {
                    self.compare_fields(path, known, fields);
                }
            }
            DataType::Array(element) => {
                if self.of_kind(path, known, new) {
                    self.compare_part(path, SchemaStep::Element, known, element);
                }
            }
            DataType::Map(_, values) => {
                if self.of_kind(path, known, new) {
                    self.compare_part(path, SchemaStep::MapValue, known, values);
                }
            }
            scalar => self.compare_scalar(path, known, scalar),
        }
    }

    /// Refuses a change between kinds of types; true when there is none.
    fn of_kind(&mut self, path: &SchemaPath, known: Known<'_>, new: &DataType) -> bool {
        let other = [known.ever, known.table].into_iter().flatten().find(|old| kind(old) != kind(new));
        if let Some(old) = other {
            self.refuse(path, format!("{} → {} changes the type", kind(old), kind(new)), REMEDY_TYPE);
        }
        other.is_none()
    }

    fn compare_part(&mut self, path: &mut SchemaPath, step: SchemaStep, known: Known<'_>, new: &DataType) {
        path.push(step);
        self.compare(
            path,
            Known {
                ever: part_of(known.ever),
                last: part_of(known.last),
                table: part_of(known.table),
            },
            new,
        );
        path.pop();
    }

    fn compare_scalar(&mut self, path: &SchemaPath, known: Known<'_>, new: &DataType) {
        for old in [known.ever, known.table].into_iter().flatten() {
            match (old, new) {
                (old, new) if old == new => {}
                (DataType::Int, DataType::BigInt) => {}
                (DataType::BigInt, DataType::Int) => {
                    let earlier = if known.last.is_some_and(|last| last == old) {
                        ""
                    } else {
                        ", which the column already is"
                    };
                    return self.refuse(path, format!("BIGINT → INT narrows{earlier}"), remedy_narrow(self.new.format));
                }
                (old, new) => return self.refuse(path, format!("{} → {new} changes the type", kind(old)), REMEDY_TYPE),
            }
        }
        if let Some(last) = known.last.filter(|last| *last != new) {
            self.change(path, FindingKind::Widened, format!("{last} → {new} widens"));
        }
    }

    fn compare_fields(&mut self, path: &mut SchemaPath, known: Known<'_>, fields: &[Field]) {
        let (ever, last, table) = (Names::of(known.ever), Names::of(known.last), Names::of(known.table));
        for field in fields {
            path.push(SchemaStep::Field(field.name.clone()));
            if let Some(twin) = ever.twin(&field.name).or(table.twin(&field.name)) {
                let text = format!("differs only in case from `{twin}`, and a table has one column for both");
                self.refuse(path, text, "keep the spelling, or choose another name");
            } else {
                let name = &field.name;
                let below = Known {
                    ever: ever.named(name),
                    last: last.named(name),
                    table: table.named(name),
                };
                self.compare_field(path, below, &field.data_type);
            }
            path.pop();
        }
        let new = Names::of_fields(fields);
        for removed in fields_of(known.last).iter().filter(|old| !new.has_spelling(&old.name)) {
            path.push(SchemaStep::Field(removed.name.clone()));
            self.change(
                path,
                FindingKind::FieldRemoved,
                "removed: its column stays and is null in new rows".into(),
            );
            path.pop();
        }
    }

    fn compare_field(&mut self, path: &mut SchemaPath, known: Known<'_>, new: &DataType) {
        if !self.requirement_holds(path, known) {
            return;
        }
        let added = match (known.ever, known.last, known.table) {
            (None, _, None) => {
                return self.change(
                    path,
                    FindingKind::FieldAdded,
                    format!("added, {}: null in rows that are already in the table", kind(new)),
                );
            }
            (_, Some(_), _) => None,
            (None, None, Some(_)) => Some("added, {}: fills a column that the table has already"),
            (Some(_), None, _) => Some("added again, {}: fills the column it had"),
        };
        let refusals = self.findings.refusal_count();
        self.compare(path, known, new);
        if let (Some(text), true) = (added, self.findings.refusal_count() == refusals) {
            self.change(path, FindingKind::FieldAdded, text.replace("{}", &kind(new)));
        }
    }

    /// Compares "required" with the latest schema that had the struct around the field; true unless it was tightened.
    fn requirement_holds(&mut self, path: &SchemaPath, known: Known<'_>) -> bool {
        let required = self.new.required.contains(path);
        let Some((_, parent)) = path.split_last() else { return true };
        let Some(earlier) = self.history.iter().rev().find(|earlier| has_struct(&earlier.data_type, parent)) else {
            return true;
        };
        match (earlier.required.contains(path), required) {
            (false, true) if known.last.is_some() => self.refuse(path, "optional → required tightens".into(), REMEDY_REQUIRED),
            (false, true) => self.refuse(path, "added as required".into(), REMEDY_REQUIRED),
            (true, false) if known.last.is_some() => {
                self.change(
                    path,
                    FindingKind::RequirednessRelaxed,
                    "required → optional: decodes as before".into(),
                );
                return true;
            }
            _ => return true,
        }
        false
    }
}

fn remedy_narrow(format: SchemaFormat) -> &'static str {
    match format {
        SchemaFormat::Json => "keep \"format\": \"int64\", or make a new stream",
        SchemaFormat::Avro => "keep `long`, or make a new stream",
        SchemaFormat::Protobuf => "keep the 64-bit type, or make a new stream",
    }
}

fn part_of(data_type: Option<&DataType>) -> Option<&DataType> {
    match data_type {
        Some(DataType::Array(part) | DataType::Map(_, part)) => Some(part),
        _ => None,
    }
}

fn fields_of(data_type: Option<&DataType>) -> &[Field] {
    match data_type {
        Some(DataType::Struct(fields)) => fields,
        _ => &[],
    }
}

/// A struct's fields by name. Names in one struct differ in more than case.
struct Names<'t>(HashMap<String, &'t Field>);

impl<'t> Names<'t> {
    fn of(data_type: Option<&'t DataType>) -> Self {
        Self::of_fields(fields_of(data_type))
    }

    fn of_fields(fields: &'t [Field]) -> Self {
        Self(fields.iter().map(|field| (field.name.to_lowercase(), field)).collect())
    }

    fn named(&self, name: &str) -> Option<&'t DataType> {
        self.0
            .get(&name.to_lowercase())
            .filter(|field| field.name == name)
            .map(|field| &field.data_type)
    }

    /// The name that differs from `name` only in case.
    fn twin(&self, name: &str) -> Option<&'t str> {
        self.0
            .get(&name.to_lowercase())
            .filter(|field| field.name != name)
            .map(|field| field.name.as_str())
    }

    fn has_spelling(&self, name: &str) -> bool {
        self.0.contains_key(&name.to_lowercase())
    }
}

/// True when `path` leads to a struct.
fn has_struct(root: &DataType, path: &[SchemaStep]) -> bool {
    let mut here = root;
    for step in path {
        here = match (here, step) {
            (DataType::Struct(fields), SchemaStep::Field(name)) => match fields.iter().find(|field| field.name == *name) {
                Some(field) => &field.data_type,
                None => return false,
            },
            (DataType::Array(part), SchemaStep::Element) | (DataType::Map(_, part), SchemaStep::MapValue) => part,
            _ => return false,
        };
    }
    matches!(here, DataType::Struct(_))
}
