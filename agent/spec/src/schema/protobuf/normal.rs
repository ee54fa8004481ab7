//! The normal form: a text of edition 2023, whose features can say everything that proto2 and proto3 say by their headers.
//!
//! Fields are in the order of their numbers, message types are named by the order of their use and written once per content, oneofs
//! of one member are none. What decoding does not see (names of messages, options, comments, JSON names) is not in it.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::tree::{ProtoDefault, ProtoEnum, ProtoField, ProtoKind, ProtoLabel, ProtoMessage};
use super::words;

/// The name of the message in its normal form.
pub(crate) const MESSAGE_NAME: &str = "M";

/// The text that stands for every Protobuf schema of this meaning; its message is [`MESSAGE_NAME`].
pub(crate) fn normal_form(message: &ProtoMessage) -> String {
    Writer::default().text(message, "", MESSAGE_NAME)
}

/// Writes a message and what it uses as a text.
#[derive(Default)]
pub(super) struct Writer {
    /// Fields stay in the order of their declaration, for the order of columns.
    as_declared: bool,
    /// What stands before the name of a declaration where it is used: nothing, or what makes the name absolute.
    scope: String,
    /// A name that no declaration may have.
    taken: String,
    imports: BTreeSet<&'static str>,
    /// Names of what was declared, by content.
    names: HashMap<String, String>,
    declarations: Vec<String>,
}

impl Writer {
    /// One that keeps the order of fields, and uses declarations by `scope` and their names, none of which is `taken`.
    pub(super) fn as_declared(scope: String, taken: &str) -> Self {
        Self {
            as_declared: true,
            scope,
            taken: taken.to_owned(),
            ..Self::default()
        }
    }

    /// The whole text, in which the message has that name.
    pub(super) fn text(mut self, message: &ProtoMessage, package: &str, name: &str) -> String {
        let body = self.body(message);
        let imports: String = self
            .imports
            .iter()
            .map(|file| format!("import \"google/protobuf/{file}.proto\";\n"))
            .collect();
        let declarations = self.declarations.concat();
        format!("edition = \"2023\";\n{package}{imports}message {name} {{\n{body}}}\n{declarations}")
    }

    fn body(&mut self, message: &ProtoMessage) -> String {
        let mut fields: Vec<&ProtoField> = message.fields.iter().collect();
        if !self.as_declared {
            fields.sort_by_key(|field| field.number);
        }
        let mut body = String::new();
        let mut oneofs: HashMap<&str, Vec<&ProtoField>> = HashMap::new();
        for field in &fields {
            if let Some(oneof) = &field.oneof {
                oneofs.entry(oneof).or_default().push(field);
            }
        }
        let names: HashSet<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        let mut written = 0;
        for field in &fields {
            let oneof = field.oneof.as_deref().unwrap_or_default();
            match oneofs.get(oneof) {
                Some(members) if members.len() > 1 => {
                    // Its other members stand with the first.
                    if members.first().is_some_and(|first| first.number != field.number) {
                        continue;
                    }
                    written += 1;
                    body.push_str(&format!("oneof {} {{\n", free_name(&format!("oneof_{written}"), &names)));
                    for member in members {
                        body.push_str(&self.field(member));
                    }
                    body.push_str("}\n");
                }
                _ => body.push_str(&self.field(field)),
            }
        }
        body
    }

    fn field(&mut self, field: &ProtoField) -> String {
        let mut options = Vec::new();
        let mut label = "";
        match &field.label {
            ProtoLabel::Implicit => options.push("features.field_presence = IMPLICIT".to_owned()),
            ProtoLabel::Required => options.push("features.field_presence = LEGACY_REQUIRED".to_owned()),
            ProtoLabel::Explicit { default: None } => {}
            ProtoLabel::Explicit { default: Some(default) } => options.push(format!("default = {}", shown_default(default, &field.kind))),
            ProtoLabel::Repeated if matches!(field.kind, ProtoKind::Map { .. }) => {}
            ProtoLabel::Repeated => label = "repeated ",
        }
        if field.kind == (ProtoKind::String { verified: false }) {
            options.push("features.utf8_validation = NONE".to_owned());
        }
        if matches!(field.kind, ProtoKind::Group(_)) {
            options.push("features.message_encoding = DELIMITED".to_owned());
        }
        let options = if options.is_empty() {
            String::new()
        } else {
            format!(" [{}]", options.join(", "))
        };
        format!("{label}{} {} = {}{options};\n", self.kind(&field.kind), field.name, field.number)
    }

    fn kind(&mut self, kind: &ProtoKind) -> String {
        match kind {
            ProtoKind::Enum(declared) => self.enum_type(declared),
            ProtoKind::Message(message) | ProtoKind::Group(message) => {
                let body = self.body(message);
                self.declared(&body)
            }
            ProtoKind::Map { key, value } => format!("map<{}, {}>", self.kind(key), self.kind(value)),
            ProtoKind::Wrapper(value) => {
                self.imports.insert("wrappers");
                self.imported(words::wrapper(value))
            }
            ProtoKind::Timestamp => {
                self.imports.insert("timestamp");
                self.imported("Timestamp")
            }
            ProtoKind::Duration => {
                self.imports.insert("duration");
                self.imported("Duration")
            }
            scalar => words::scalar(scalar).unwrap_or_default().into(),
        }
    }

    /// An enum, inside a message of its own: names of values may meet otherwise. An open one keeps its short name, which rows with
    /// unknown numbers show; the first value stays the first, because a map's missing value is it.
    fn enum_type(&mut self, declared: &ProtoEnum) -> String {
        let mut values: Vec<&(String, i32)> = declared.values.iter().collect();
        if let Some((_, others)) = values.split_first_mut() {
            others.sort_by_key(|(_, number)| *number);
        }
        let numbers: BTreeSet<i32> = values.iter().map(|(_, number)| *number).collect();
        let aliases = if numbers.len() < values.len() {
            "option allow_alias = true;\n"
        } else {
            ""
        };
        let closed = if declared.closed {
            "option features.enum_type = CLOSED;\n"
        } else {
            ""
        };
        let values: String = values.iter().map(|(name, number)| format!("{name} = {number};\n")).collect();
        let name = if declared.closed {
            free_name(CLOSED_NAME, &declared.values.iter().map(|(name, _)| name.as_str()).collect())
        } else {
            shown_name(declared).to_owned()
        };
        let outer = self.declared(&format!("enum {name} {{\n{closed}{aliases}{values}}}\n"));
        format!("{outer}.{name}")
    }

    fn imported(&self, name: &str) -> String {
        let absolute = if self.scope.is_empty() { "" } else { "." };
        format!("{absolute}google.protobuf.{name}")
    }

    fn declared(&mut self, body: &str) -> String {
        if let Some(name) = self.names.get(body) {
            return format!("{}{name}", self.scope);
        }
        let name = format!("T{}", self.names.len() + 1);
        let name = free_name(&name, &HashSet::from([self.taken.as_str()]));
        self.declarations.push(format!("message {name} {{\n{body}}}\n"));
        let used = format!("{}{name}", self.scope);
        self.names.insert(body.to_owned(), name);
        used
    }
}

/// The name of closed enums, which show none.
const CLOSED_NAME: &str = "E";

/// The part of an enum's name that decoding shows.
pub(crate) fn shown_name(declared: &ProtoEnum) -> &str {
    if declared.closed {
        return CLOSED_NAME;
    }
    declared.full_name.rsplit('.').next().unwrap_or_default()
}

/// A name that none of those beside it has.
fn free_name(wanted: &str, taken: &HashSet<&str>) -> String {
    let mut name = wanted.to_owned();
    while taken.contains(name.as_str()) {
        name.push('_');
    }
    name
}

fn shown_default(default: &ProtoDefault, kind: &ProtoKind) -> String {
    match default {
        ProtoDefault::Integer(value) => value.to_string(),
        ProtoDefault::Double(value) if value.is_nan() => "nan".into(),
        ProtoDefault::Double(value) if value.is_infinite() => if *value > 0.0 { "inf" } else { "-inf" }.into(),
        ProtoDefault::Double(value) => format!("{value:e}"),
        ProtoDefault::Bool(value) => value.to_string(),
        ProtoDefault::Text(name) if matches!(kind, ProtoKind::Enum(_)) => name.clone(),
        ProtoDefault::Text(text) => format!("\"{}\"", text.as_bytes().escape_ascii()),
        ProtoDefault::Bytes(bytes) => format!("\"{}\"", bytes.escape_ascii()),
    }
}
