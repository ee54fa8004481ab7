//! A file that was registered as its compiled descriptor, in base64: what Confluent's serializers register. Confluent's own registry
//! answers with the text that it is made of; others answer with what they were given.
//!
//! It is spelled as a text again, so that everything is checked as in any other text. Left out is what decoding does not see: options,
//! extensions, services, reserved names and numbers.

use std::collections::HashMap;

use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto};
use protox::prost_reflect::prost::Message;

use crate::limits::PROTO_BRACKETS_MAX;

/// The text of a descriptor in base64; nothing where it is no such thing.
pub(crate) fn as_text(registered: &str) -> Option<String> {
    let bytes = from_base64(registered.trim())?;
    let file = FileDescriptorProto::decode(bytes.as_slice()).ok()?;
    // Any short text is bytes in base64, and most bytes are some descriptor: one that declares something names its file.
    file.name.as_ref()?;
    let syntax = match file.syntax.as_deref() {
        None | Some("proto2") => "proto2",
        Some("proto3") => "proto3",
        // What its features say is not in the descriptors that are known here.
        Some(_) => return None,
    };
    let mut speller = Speller {
        text: format!("syntax = \"{syntax}\";\n"),
        is_proto3: syntax == "proto3",
    };
    if let Some(package) = &file.package {
        speller.line(&format!("package {package};"));
    }
    for (index, import) in file.dependency.iter().enumerate() {
        let is_public = file.public_dependency.iter().any(|public| usize::try_from(*public) == Ok(index));
        let word = if is_public { "import public" } else { "import" };
        speller.line(&format!("{word} {};", quoted(import.as_bytes())));
    }
    if file.options.as_ref().is_some_and(|options| options.java_string_check_utf8()) {
        speller.line("option java_string_check_utf8 = true;");
    }
    file.enum_type.iter().for_each(|declared| speller.enum_type(declared));
    for message in &file.message_type {
        speller.message(message, 0)?;
    }
    Some(speller.text)
}

struct Speller {
    text: String,
    is_proto3: bool,
}

impl Speller {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Nothing where messages are inside one another without end.
    fn message(&mut self, message: &DescriptorProto, depth: usize) -> Option<()> {
        self.line(&format!("message {} {{", message.name()));
        self.body(message, depth)?;
        self.line("}");
        Some(())
    }

    fn body(&mut self, message: &DescriptorProto, depth: usize) -> Option<()> {
        if depth > PROTO_BRACKETS_MAX {
            return None;
        }
        message.enum_type.iter().for_each(|declared| self.enum_type(declared));
        let is_map = |nested: &DescriptorProto| nested.options.as_ref().is_some_and(|options| options.map_entry());
        // Map entries and groups are declared by the fields that they are of.
        let by_name: HashMap<&str, &DescriptorProto> = message.nested_type.iter().map(|nested| (nested.name(), nested)).collect();
        let of_field = |field: &FieldDescriptorProto| {
            let nested = field.type_name().rsplit('.').next().and_then(|name| by_name.get(name)).copied()?;
            (field.r#type() == Type::Group || is_map(nested)).then_some(nested)
        };
        let groups: Vec<&str> = message
            .field
            .iter()
            .filter(|field| field.r#type() == Type::Group)
            .filter_map(|field| of_field(field).map(DescriptorProto::name))
            .collect();
        for nested in &message.nested_type {
            if !is_map(nested) && !groups.contains(&nested.name()) {
                self.message(nested, depth + 1)?;
            }
        }
        let mut open: Option<i32> = None;
        for field in &message.field {
            let oneof = field.oneof_index.filter(|_| !field.proto3_optional());
            if open != oneof {
                if open.is_some() {
                    self.line("}");
                }
                if let Some(index) = oneof {
                    let declared = usize::try_from(index).ok().and_then(|index| message.oneof_decl.get(index))?;
                    self.line(&format!("oneof {} {{", declared.name()));
                }
                open = oneof;
            }
            self.field(field, of_field(field), oneof.is_some(), depth)?;
        }
        if open.is_some() {
            self.line("}");
        }
        Some(())
    }

    fn field(&mut self, field: &FieldDescriptorProto, nested: Option<&DescriptorProto>, in_oneof: bool, depth: usize) -> Option<()> {
        let label = match field.label() {
            _ if in_oneof => "",
            Label::Repeated => "repeated ",
            Label::Required => "required ",
            Label::Optional if self.is_proto3 && !field.proto3_optional() => "",
            Label::Optional => "optional ",
        };
        let number = field.number();
        match (field.r#type(), nested) {
            (Type::Group, Some(group)) => {
                self.line(&format!("{label}group {} = {number} {{", group.name()));
                self.body(group, depth + 1)?;
                self.line("}");
            }
            (Type::Message, Some(entry)) => {
                let [key, value] = entry.field.as_slice() else { return None };
                let (key, value) = (type_word(key)?, type_word(value)?);
                self.line(&format!("map<{key}, {value}> {} = {number};", field.name()));
            }
            _ => {
                let default = field
                    .default_value
                    .as_deref()
                    .map(|default| spelled_default(field.r#type(), default));
                let options = default.map(|default| format!(" [default = {default}]")).unwrap_or_default();
                self.line(&format!("{label}{} {} = {number}{options};", type_word(field)?, field.name()));
            }
        }
        Some(())
    }

    fn enum_type(&mut self, declared: &EnumDescriptorProto) {
        self.line(&format!("enum {} {{", declared.name()));
        if declared.options.as_ref().is_some_and(|options| options.allow_alias()) {
            self.line("option allow_alias = true;");
        }
        for value in &declared.value {
            self.line(&format!("{} = {};", value.name(), value.number()));
        }
        self.line("}");
    }
}

/// The type of a field in a text. Names of descriptors are absolute, with a dot before them.
fn type_word(field: &FieldDescriptorProto) -> Option<&str> {
    Some(match field.r#type() {
        Type::Double => "double",
        Type::Float => "float",
        Type::Int64 => "int64",
        Type::Uint64 => "uint64",
        Type::Int32 => "int32",
        Type::Fixed64 => "fixed64",
        Type::Fixed32 => "fixed32",
        Type::Bool => "bool",
        Type::String => "string",
        Type::Bytes => "bytes",
        Type::Uint32 => "uint32",
        Type::Sfixed32 => "sfixed32",
        Type::Sfixed64 => "sfixed64",
        Type::Sint32 => "sint32",
        Type::Sint64 => "sint64",
        Type::Message | Type::Enum => field.type_name.as_deref()?,
        Type::Group => return None,
    })
}

/// A default as texts have it. Those of bytes are escaped in descriptors already.
fn spelled_default(kind: Type, default: &str) -> String {
    match kind {
        Type::String => quoted(default.as_bytes()),
        Type::Bytes => format!("\"{default}\""),
        _ => default.to_owned(),
    }
}

fn quoted(text: &[u8]) -> String {
    format!("\"{}\"", text.escape_ascii())
}

/// Bytes in base64 with its padding.
fn from_base64(text: &str) -> Option<Vec<u8>> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD
        .decode(text)
        .ok()
        .filter(|bytes| !bytes.is_empty())
}
