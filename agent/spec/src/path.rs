//! Dotted paths into a record: `value.customer.id`, `key`, `kafka_partition`.
//!
//! A path steps through structs only: an array or a map has no single value behind a name. Names hold no dot (schemas
//! with such names are refused), so a path's text and its parts say the same.

use crate::suggest;
use crate::types::{DataType, Field};

/// The column of the message key.
pub const KEY: &str = "key";

/// The column of the message payload.
pub const VALUE: &str = "value";

/// A parsed path: a column of the ingestion table, and fields inside it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColumnPath {
    column: String,
    fields: Vec<String>,
}

/// Why a text is not a path, or not one that exists.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {remedy}")]
pub struct PathError {
    /// What is wrong, lower case.
    pub problem: String,
    /// What to do, lower case.
    pub remedy: String,
}

impl ColumnPath {
    /// Parses a path to any column or field: parts between dots, none of them empty.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let mut parts = text.split('.').map(str::to_owned);
        let column = parts.next().unwrap_or_default();
        let fields: Vec<String> = parts.collect();
        if column.is_empty() || fields.iter().any(String::is_empty) {
            return Err(PathError {
                problem: "the path has an empty part".into(),
                remedy: "write names with single dots between them, as in `value.customer.email`".into(),
            });
        }
        Ok(Self { column, fields })
    }

    /// Parses a path that can be excluded: a field of the key or the value, never a whole side (product part X1).
    pub fn parse_excluded(text: &str) -> Result<Self, PathError> {
        let path = Self::parse(text)?;
        if path.column != KEY && path.column != VALUE {
            return Err(PathError {
                problem: format!("the path starts with `{}`", path.column),
                remedy: "start it with `key.` or `value.`; other columns of the table cannot be excluded".into(),
            });
        }
        if path.fields.is_empty() {
            return Err(PathError {
                problem: format!("the path names the whole {}", path.column),
                remedy: format!("name fields inside it, as in `{}.email`", path.column),
            });
        }
        Ok(path)
    }

    /// The column of the ingestion table.
    pub fn column(&self) -> &str {
        &self.column
    }

    /// Names of nested fields, outermost first; empty when the path is the column itself.
    pub fn fields(&self) -> &[String] {
        &self.fields
    }

    /// True when `other` is this path or lies inside it.
    pub fn contains(&self, other: &Self) -> bool {
        self.column == other.column && other.fields.starts_with(&self.fields)
    }

    /// True when one of two paths contains the other.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.contains(other) || other.contains(self)
    }
}

impl std::fmt::Display for ColumnPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.column)?;
        self.fields.iter().try_for_each(|field| write!(f, ".{field}"))
    }
}

/// The type at `path` in a table's columns, or what stands in the way.
pub fn resolve<'a>(path: &ColumnPath, columns: &'a [Field]) -> Result<&'a DataType, PathError> {
    let mut here = find(path.column(), columns, "the table")?;
    let mut walked = path.column().to_owned();
    for name in path.fields() {
        let DataType::Struct(fields) = here else {
            return Err(PathError {
                problem: format!("`{walked}` is {}, which has no field `{name}`", kind(here)),
                remedy: "name a field of a struct, or take the path out".into(),
            });
        };
        here = find(name, fields, &format!("`{walked}`"))?;
        walked = format!("{walked}.{name}");
    }
    Ok(here)
}

/// A type's kind without what is inside it, for messages: `STRUCT`, `ARRAY`, `INT`.
pub fn kind(data_type: &DataType) -> String {
    match data_type {
        DataType::Struct(_) => "STRUCT".into(),
        DataType::Array(_) => "ARRAY".into(),
        DataType::Map(..) => "MAP".into(),
        scalar => scalar.to_string(),
    }
}

fn find<'a>(name: &str, fields: &'a [Field], parent: &str) -> Result<&'a DataType, PathError> {
    if let Some(field) = fields.iter().find(|field| field.name == name) {
        return Ok(&field.data_type);
    }
    let known = || fields.iter().map(|field| field.name.as_str());
    let remedy = match suggest::nearest(name, known()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("{parent} has {}", listed(known())),
    };
    Err(PathError {
        problem: format!("{parent} has no field `{name}`"),
        remedy,
    })
}

/// Up to ten names, quoted, for a message.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const NAMES_SHOWN_MAX: usize = 10;
    let mut shown: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if shown.len() > NAMES_SHOWN_MAX {
        shown.truncate(NAMES_SHOWN_MAX);
        shown.push("…".into());
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> ColumnPath {
        ColumnPath::parse(text).expect("legal path")
    }

    fn value_type() -> DataType {
        let customer = DataType::Struct(vec![Field::new("id", DataType::Int), Field::new("email", DataType::String)]);
        DataType::Struct(vec![
            Field::new("customer", customer.clone()),
            Field::new("items", DataType::Array(Box::new(customer))),
        ])
    }

    #[test]
    fn a_path_leads_somewhere_when_structs_do() {
        let columns = [Field::new(KEY, DataType::String), Field::new(VALUE, value_type())];
        for (text, expected) in [
            ("value", Some("STRUCT")),
            ("key", Some("STRING")),
            ("value.customer", Some("STRUCT")),
            ("value.customer.email", Some("STRING")),
            ("value.customer.Email", None),
            ("value.items", Some("ARRAY")),
            ("value.items.email", None),
            ("value.nobody", None),
            ("key.id", None),
            ("kafka_offset", None),
        ] {
            assert_eq!(resolve(&path(text), &columns).ok().map(kind).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_path_that_cannot_be_excluded_says_why() {
        for (text, expected) in [
            ("", "the path has an empty part"),
            ("value..a", "the path has an empty part"),
            ("value.", "the path has an empty part"),
            ("kafka_offset", "the path starts with `kafka_offset`"),
            ("value", "the path names the whole value"),
        ] {
            assert_eq!(ColumnPath::parse_excluded(text).expect_err(text).problem, expected, "{text}");
        }
        assert_eq!(ColumnPath::parse_excluded("value.a.b").expect("legal").to_string(), "value.a.b");
    }

    #[test]
    fn a_missing_field_names_its_neighbours() {
        let columns = [Field::new("value", value_type())];
        let error = resolve(&path("value.customer.emial"), &columns).expect_err("misspelt");
        assert_eq!(error.to_string(), "`value.customer` has no field `emial`; did you mean `email`?");
        let error = resolve(&path("value.items.id"), &columns).expect_err("through an array");
        assert_eq!(error.problem, "`value.items` is ARRAY, which has no field `id`");
    }

    #[test]
    fn overlap_needs_whole_names() {
        for (left, right, expected) in [
            ("value.a", "value.a", true),
            ("value.a", "value.a.b", true),
            ("value.a.b", "value.a", true),
            ("value.a", "value.ab", false),
            ("key.a", "value.a", false),
        ] {
            assert_eq!(path(left).overlaps(&path(right)), expected, "{left} {right}");
        }
    }
}
