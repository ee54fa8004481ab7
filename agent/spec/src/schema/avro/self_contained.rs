//! A schema as one text that any writer's schema resolves to as to the original: names, aliases, defaults, order and logical types are
//! in it, only what decoding never sees (`doc`, `order`, unknown attributes) is not.
//!
//! Each type is defined where it is first used; after that stands its full name.

use std::collections::HashSet;

use super::names::namespace_of;
use super::normal::logical_form;
use super::tree::{AvroField, AvroName, AvroType, Encoding, Logical};
use crate::schema::json::text::quoted;

/// The text of a schema that does not contain itself.
pub(crate) fn self_contained(schema: &AvroType) -> String {
    let mut writer = Writer::default();
    writer.write(schema, "");
    writer.text
}

#[derive(Default)]
struct Writer<'s> {
    text: String,
    defined: HashSet<&'s str>,
}

impl<'s> Writer<'s> {
    /// `namespace` is the one that names without a dot would be taken to have.
    fn write(&mut self, schema: &'s AvroType, namespace: &str) {
        if let Some(name) = schema.encoding.name() {
            return self.named(schema, name, namespace);
        }
        match &schema.encoding {
            Encoding::Array(items) => {
                self.text.push_str("{\"type\":\"array\",\"items\":");
                self.write(items, namespace);
                self.text.push('}');
            }
            Encoding::Map(values) => {
                self.text.push_str("{\"type\":\"map\",\"values\":");
                self.write(values, namespace);
                self.text.push('}');
            }
            Encoding::Union(branches) => {
                self.text.push('[');
                for (index, branch) in branches.iter().enumerate() {
                    self.text.push_str(if index > 0 { "," } else { "" });
                    self.write(branch, namespace);
                }
                self.text.push(']');
            }
            scalar => match spelled(schema.logical) {
                logical if logical.is_empty() => self.text.push_str(&quoted(scalar.word())),
                logical => self.text.push_str(&format!("{{{logical}\"type\":\"{}\"}}", scalar.word())),
            },
        }
    }

    fn named(&mut self, schema: &'s AvroType, name: &'s AvroName, namespace: &str) {
        let known = !self.defined.insert(&name.full);
        if known || matches!(schema.encoding, Encoding::Recursion(_)) {
            return self.text.push_str(&quoted(&absolute(&name.full, namespace)));
        }
        let own = namespace_of(&name.full);
        let short = name.full.rsplit('.').next().unwrap_or_default();
        self.text
            .push_str(&format!("{{\"name\":{},\"namespace\":{}", quoted(short), quoted(own)));
        if !name.aliases.is_empty() {
            let aliases: Vec<String> = name.aliases.iter().map(|alias| quoted(&absolute(alias, own))).collect();
            self.text.push_str(&format!(",\"aliases\":[{}]", aliases.join(",")));
        }
        match &schema.encoding {
            Encoding::Record { fields, .. } => {
                self.text.push_str(",\"type\":\"record\",\"fields\":[");
                for (index, field) in fields.iter().enumerate() {
                    self.text.push_str(if index > 0 { "," } else { "" });
                    self.field(field, own);
                }
                self.text.push(']');
            }
            Encoding::Enum { symbols, default, .. } => {
                let symbols: Vec<String> = symbols.iter().map(|symbol| quoted(symbol)).collect();
                self.text
                    .push_str(&format!(",\"type\":\"enum\",\"symbols\":[{}]", symbols.join(",")));
                if let Some(default) = default {
                    self.text.push_str(&format!(",\"default\":{}", quoted(default)));
                }
            }
            Encoding::Fixed { size, .. } => {
                let logical = spelled(schema.logical);
                self.text.push_str(&format!(",{logical}\"type\":\"fixed\",\"size\":{size}"));
            }
            _ => {}
        }
        self.text.push('}');
    }

    fn field(&mut self, field: &'s AvroField, namespace: &str) {
        self.text.push_str(&format!("{{\"name\":{}", quoted(&field.name)));
        if !field.aliases.is_empty() {
            let aliases: Vec<String> = field.aliases.iter().map(|alias| quoted(alias)).collect();
            self.text.push_str(&format!(",\"aliases\":[{}]", aliases.join(",")));
        }
        self.text.push_str(",\"type\":");
        self.write(&field.schema, namespace);
        if let Some(default) = &field.default {
            self.text.push_str(&format!(",\"default\":{default}"));
        }
        self.text.push('}');
    }
}

/// A full name as it is read inside a namespace.
fn absolute(full: &str, namespace: &str) -> String {
    if full.contains('.') || namespace.is_empty() {
        full.to_owned()
    } else {
        format!(".{full}")
    }
}

/// The members that say a logical type, each with a comma behind it; also of those that change nothing.
fn spelled(logical: Option<Logical>) -> String {
    match logical {
        Some(Logical::Uuid) => "\"logicalType\":\"uuid\",".into(),
        Some(Logical::Duration) => "\"logicalType\":\"duration\",".into(),
        Some(Logical::BigDecimal) => "\"logicalType\":\"big-decimal\",".into(),
        logical => logical_form(logical),
    }
}
