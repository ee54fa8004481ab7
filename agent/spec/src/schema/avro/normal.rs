//! The normal form: an Avro schema that says how bytes lie, what they stand for and how columns are named, and nothing else.
//!
//! Dropped are doc, aliases, defaults, order, unknown attributes, logical types that change nothing (uuid, duration, big-decimal; any
//! on the numbers of a union that is read as one BIGINT or DOUBLE), and names of types that name no column. Named types
//! stand in full at each place, under numbers that make their names unique.

use super::tree::{AvroType, Encoding, Logical, UnionShape};
use crate::schema::json::text::quoted;

/// The text that stands for every Avro schema of this meaning.
pub(crate) fn normal_form(schema: &AvroType) -> String {
    let mut writer = Writer::default();
    writer.write(schema, None);
    writer.text
}

/// A name for a type that names no column.
const NAMELESS: &str = "T";

#[derive(Default)]
struct Writer {
    text: String,
    named: usize,
}

impl Writer {
    /// `name` is the name of a union's branch that a column is named by.
    fn write(&mut self, schema: &AvroType, name: Option<&str>) {
        match &schema.encoding {
            Encoding::Array(items) => {
                self.text.push_str("{\"items\":");
                self.write(items, None);
                self.text.push_str(",\"type\":\"array\"}");
            }
            Encoding::Map(values) => {
                self.text.push_str("{\"type\":\"map\",\"values\":");
                self.write(values, None);
                self.text.push('}');
            }
            Encoding::Union(branches) => self.union(branches),
            Encoding::Record { fields, .. } => {
                let name = self.unique(name);
                self.text.push_str("{\"fields\":[");
                for (index, field) in fields.iter().enumerate() {
                    let comma = if index > 0 { "," } else { "" };
                    self.text.push_str(&format!("{comma}{{\"name\":{},\"type\":", quoted(&field.name)));
                    self.write(&field.schema, None);
                    self.text.push('}');
                }
                self.text.push_str(&format!("],\"name\":{name},\"type\":\"record\"}}"));
            }
            Encoding::Enum { symbols, .. } => {
                let name = self.unique(name);
                let symbols: Vec<String> = symbols.iter().map(|symbol| quoted(symbol)).collect();
                let symbols = symbols.join(",");
                self.text
                    .push_str(&format!("{{\"name\":{name},\"symbols\":[{symbols}],\"type\":\"enum\"}}"));
            }
            Encoding::Fixed { size, .. } => {
                let name = self.unique(name);
                let logical = logical_form(schema.logical);
                self.text
                    .push_str(&format!("{{{logical}\"name\":{name},\"size\":{size},\"type\":\"fixed\"}}"));
            }
            Encoding::Recursion(name) => self.text.push_str(&quoted(&name.full)),
            scalar => {
                let logical = logical_form(schema.logical);
                if logical.is_empty() {
                    self.text.push_str(&quoted(scalar.word()));
                } else {
                    self.text.push_str(&format!("{{{logical}\"type\":\"{}\"}}", scalar.word()));
                }
            }
        }
    }

    fn union(&mut self, branches: &[AvroType]) {
        let shape = UnionShape::of(branches);
        self.text.push('[');
        for (index, branch) in branches.iter().enumerate() {
            self.text.push_str(if index > 0 { "," } else { "" });
            match shape {
                UnionShape::One => self.write(branch, None),
                UnionShape::Struct => self.write(branch, Some(branch.encoding.short_name())),
                UnionShape::Long | UnionShape::Double => self.text.push_str(&quoted(branch.encoding.word())),
            }
        }
        self.text.push(']');
    }

    /// A full name that no other type of this text has.
    fn unique(&mut self, name: Option<&str>) -> String {
        self.named += 1;
        quoted(&format!("n{}.{}", self.named, name.unwrap_or(NAMELESS)))
    }
}

/// The members that say a logical type, each with a comma behind it.
pub(super) fn logical_form(logical: Option<Logical>) -> String {
    let Some((logical, name)) = logical.and_then(|logical| Some((logical, logical_name(logical)?))) else {
        return String::new();
    };
    let digits = match logical {
        Logical::Decimal { precision, scale } => format!("\"precision\":{precision},\"scale\":{scale},"),
        _ => String::new(),
    };
    format!("\"logicalType\":\"{name}\",{digits}")
}

/// The name of a logical type that says what a value is; none of one that changes nothing.
pub(crate) fn logical_name(logical: Logical) -> Option<&'static str> {
    Some(match logical {
        Logical::Uuid | Logical::Duration | Logical::BigDecimal => return None,
        Logical::Decimal { .. } => "decimal",
        Logical::Date => "date",
        Logical::TimeMillis => "time-millis",
        Logical::TimeMicros => "time-micros",
        Logical::TimestampMillis => "timestamp-millis",
        Logical::TimestampMicros => "timestamp-micros",
        Logical::TimestampNanos => "timestamp-nanos",
        Logical::LocalTimestampMillis => "local-timestamp-millis",
        Logical::LocalTimestampMicros => "local-timestamp-micros",
        Logical::LocalTimestampNanos => "local-timestamp-nanos",
    })
}
