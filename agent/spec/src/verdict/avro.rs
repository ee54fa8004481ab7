//! Whether an Avro schema may follow another without a writer's schema in the messages (decoding notes, section 6).
//!
//! Avro's bytes say neither names nor types, so old messages decode by the new schema only where it says the same at every
//! byte. The one invariant: no refusal here means that the two differ in `int → long`, which are one encoding, and in fields
//! missing at the end of the top record, whose bytes are the ignored end of a message.

use std::collections::HashMap;

use super::Findings;
use crate::schema::avro::tree::{AvroField, AvroType, Encoding, Logical, UnionShape};
use crate::schema::avro::{logical_name, normal_form};
use crate::schema::{SchemaPath, SchemaStep, show_path};

const REMEDY: &str = "keep it as it is, or make a new stream: one that is backed by a schema registry evolves more freely";

/// Refuses what of `new` cannot follow `old`.
pub(super) fn judge(column: &'static str, old: &AvroType, new: &AvroType, findings: &mut Findings) {
    let mut judge = Judge {
        column,
        findings,
        path: SchemaPath::new(),
    };
    match (&old.encoding, &new.encoding) {
        (Encoding::Record { fields: old, .. }, Encoding::Record { fields: new, .. }) => judge.fields(old, new, Ends::Message),
        _ => judge.compare(old, new),
    }
}

/// What stands behind a record's last field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// Nothing: it ends with the message.
    Message,
    /// Other values.
    Inside,
}

struct Judge<'f> {
    column: &'static str,
    findings: &'f mut Findings,
    path: SchemaPath,
}

impl Judge<'_> {
    fn refuse(&mut self, text: impl Into<String>) {
        self.findings.refuse(show_path(self.column, &self.path), text.into(), REMEDY);
    }

    fn refuse_below(&mut self, name: &str, text: impl Into<String>) {
        self.path.push(SchemaStep::Field(name.to_owned()));
        self.refuse(text);
        self.path.pop();
    }

    fn below(&mut self, step: SchemaStep, old: &AvroType, new: &AvroType) {
        self.path.push(step);
        self.compare(old, new);
        self.path.pop();
    }

    fn compare(&mut self, old: &AvroType, new: &AvroType) {
        match (&old.encoding, &new.encoding) {
            (Encoding::Record { fields: old, .. }, Encoding::Record { fields: new, .. }) => self.fields(old, new, Ends::Inside),
            (Encoding::Array(old), Encoding::Array(new)) => self.below(SchemaStep::Element, old, new),
            (Encoding::Map(old), Encoding::Map(new)) => self.below(SchemaStep::MapValue, old, new),
            (Encoding::Union(old), Encoding::Union(new)) => self.branches(old, new),
            (Encoding::Enum { symbols: old, .. }, Encoding::Enum { symbols: new, .. }) => {
                if let Some(difference) = symbols_differ(old, new) {
                    self.refuse(format!("{difference}: values are stored by their place among the symbols"));
                }
            }
            _ => self.scalars(old, new),
        }
    }

    fn scalars(&mut self, old: &AvroType, new: &AvroType) {
        let (before, after) = (normal_form(old), normal_form(new));
        match (before.as_str(), after.as_str()) {
            (before, after) if before == after => {}
            ("\"int\"", "\"long\"") => {}
            ("\"long\"", "\"int\"") => self.refuse("long → int narrows"),
            _ => self.refuse(format!("{} → {} changes what the bytes mean", shown(old), shown(new))),
        }
    }

    fn fields(&mut self, old: &[AvroField], new: &[AvroField], ends: Ends) {
        let places: HashMap<&str, usize> = old.iter().enumerate().map(|(index, field)| (field.name.as_str(), index)).collect();
        let stays: HashMap<&str, usize> = new.iter().enumerate().map(|(index, field)| (field.name.as_str(), index)).collect();
        let last_that_stays = old.iter().rposition(|field| stays.contains_key(field.name.as_str()));
        for (index, field) in old.iter().enumerate() {
            let behind = last_that_stays.is_some_and(|last| index < last);
            if stays.contains_key(field.name.as_str()) || (ends == Ends::Message && !behind) {
                continue;
            }
            let why = if behind {
                "of what is behind it in"
            } else {
                "that follow this record in"
            };
            let text = format!("removed, and the bytes {why} messages would be misread: only the last fields of the whole can go");
            self.refuse_below(&field.name, text);
        }
        let folded: HashMap<String, &str> = old.iter().map(|field| (field.name.to_lowercase(), field.name.as_str())).collect();
        let mut expected = 0;
        for field in new {
            let Some(place) = places.get(field.name.as_str()) else {
                self.added(field, folded.get(&field.name.to_lowercase()).copied());
                continue;
            };
            if *place < expected {
                self.refuse_below(&field.name, "moved: values are stored by their place");
            }
            expected = expected.max(*place);
            if let Some(known) = old.get(*place) {
                self.below(SchemaStep::Field(field.name.clone()), &known.schema, &field.schema);
            }
        }
    }

    fn added(&mut self, field: &AvroField, twin: Option<&str>) {
        let text = match twin {
            Some(twin) => format!("differs only in case from `{twin}`, and a table has one column for both"),
            None => "added: messages without it, like all that are in the source now, would be misread".to_owned(),
        };
        self.refuse_below(&field.name, text);
    }

    fn branches(&mut self, old: &[AvroType], new: &[AvroType]) {
        let words = |branches: &[AvroType]| -> Vec<String> { branches.iter().map(|branch| branch.encoding.word().to_owned()).collect() };
        let shape = UnionShape::of(new);
        let as_columns = shape == UnionShape::Struct;
        let same_kind = |(old, new): (&AvroType, &AvroType)| {
            // Inside a union with one other branch int may become long; names tell apart what becomes fields.
            let widens = shape == UnionShape::One && old.encoding == Encoding::Int && new.encoding == Encoding::Long;
            let renamed = as_columns && old.encoding.short_name() != new.encoding.short_name();
            (old.encoding.word() == new.encoding.word() && !renamed) || widens
        };
        if old.len() != new.len() || shape != UnionShape::of(old) || !old.iter().zip(new).all(same_kind) {
            let names =
                |branches: &[AvroType]| -> Vec<String> { branches.iter().map(|branch| branch.encoding.short_name().to_owned()).collect() };
            let (before, after) = if as_columns {
                (names(old), names(new))
            } else {
                (words(old), words(new))
            };
            let text = format!(
                "the union's branches change from {} to {}: values are stored with their place",
                list(&before),
                list(&after)
            );
            return self.refuse(text);
        }
        for (old, new) in old.iter().zip(new) {
            match shape {
                UnionShape::One => self.compare(old, new),
                UnionShape::Struct => self.below(SchemaStep::Field(new.encoding.short_name().to_owned()), old, new),
                // The same words, and logical types say nothing there.
                UnionShape::Long | UnionShape::Double => {}
            }
        }
    }
}

/// A type in few words: `int`, `long timestamp-millis`, `fixed(4)`.
fn shown(schema: &AvroType) -> String {
    let word = schema.encoding.word();
    match (schema.logical.and_then(logical_name), schema.logical, &schema.encoding) {
        (Some(name), Some(Logical::Decimal { precision, scale }), _) => format!("{word} {name}({precision},{scale})"),
        (Some(name), ..) => format!("{word} {name}"),
        (None, _, Encoding::Fixed { size, .. }) => format!("{word}({size})"),
        _ => word.to_owned(),
    }
}

/// The first difference between the symbols of two enums.
fn symbols_differ(old: &[String], new: &[String]) -> Option<String> {
    let index = (0..old.len().max(new.len())).find(|index| old.get(*index) != new.get(*index))?;
    Some(match (old.get(index), new.get(index)) {
        (Some(before), Some(after)) => format!("the symbol at index {index} changes from `{before}` to `{after}`"),
        (None, Some(added)) => format!("the symbol `{added}` is added at index {index}"),
        (Some(removed), None) => format!("the symbol `{removed}` at index {index} is removed"),
        (None, None) => return None,
    })
}

fn list(names: &[String]) -> String {
    format!("[{}]", names.join(", "))
}
