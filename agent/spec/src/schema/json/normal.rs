//! The normal form: a JSON Schema with sorted keys that says the type and the required members, and nothing else.

use crate::schema::json::text::quoted;
use crate::schema::{ParsedSchema, SchemaPath, SchemaStep};
use crate::types::DataType;

/// The text that stands for every JSON Schema of this meaning.
pub(in crate::schema) fn normal_form(schema: &ParsedSchema) -> String {
    let mut writer = Writer {
        schema,
        path: SchemaPath::new(),
        text: String::new(),
    };
    writer.write(&schema.data_type);
    writer.text
}

struct Writer<'s> {
    schema: &'s ParsedSchema,
    path: SchemaPath,
    text: String,
}

impl Writer<'_> {
    fn write(&mut self, data_type: &DataType) {
        match data_type {
            DataType::Struct(fields) => {
                let mut sorted: Vec<_> = fields.iter().collect();
                sorted.sort_by(|left, right| left.name.cmp(&right.name));
                let mut required = Vec::new();
                self.text.push_str("{\"properties\":{");
                for (index, field) in sorted.iter().enumerate() {
                    self.text.push_str(if index > 0 { "," } else { "" });
                    self.text.push_str(&quoted(&field.name));
                    self.text.push(':');
                    self.path.push(SchemaStep::Field(field.name.clone()));
                    if self.schema.required.contains(&self.path) {
                        required.push(quoted(&field.name));
                    }
                    self.write(&field.data_type);
                    self.path.pop();
                }
                self.text.push('}');
                if !required.is_empty() {
                    self.text.push_str(&format!(",\"required\":[{}]", required.join(",")));
                }
                self.text.push_str(",\"type\":\"object\"}");
            }
            DataType::Array(element) => self.write_part("{\"items\":", SchemaStep::Element, element, ",\"type\":\"array\"}"),
            DataType::Map(_, values) => {
                self.write_part("{\"additionalProperties\":", SchemaStep::MapValue, values, ",\"type\":\"object\"}");
            }
            scalar => self.text.push_str(scalar_form(scalar)),
        }
    }

    fn write_part(&mut self, before: &str, step: SchemaStep, part: &DataType, after: &str) {
        self.text.push_str(before);
        self.path.push(step);
        self.write(part);
        self.path.pop();
        self.text.push_str(after);
    }
}

fn scalar_form(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Boolean => r#"{"type":"boolean"}"#,
        DataType::Int => r#"{"type":"integer"}"#,
        DataType::BigInt => r#"{"format":"int64","type":"integer"}"#,
        DataType::Double => r#"{"type":"number"}"#,
        DataType::Date => r#"{"format":"date","type":"string"}"#,
        DataType::Timestamp => r#"{"format":"date-time","type":"string"}"#,
        DataType::Binary => r#"{"type":"binary"}"#,
        // JSON Schema spells no other scalar than these and STRING.
        _ => r#"{"type":"string"}"#,
    }
}
