//! From descriptors to the tree: names resolved, presence and defaults decided, message types put where they are used.
//!
//! A message type that multiplies by being used in many places is bounded here, and so is a recursive one.

use protox::prost_reflect::{Cardinality, EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor, Syntax, Value};

use super::editions::Presence;
use super::refuse::{self, Refusal};
use super::text::Source;
use super::tree::{ProtoDefault, ProtoEnum, ProtoField, ProtoKind, ProtoLabel, ProtoMessage};
use super::{Problems, Rules, choice, finish};
use crate::limits::{PROTO_DEFAULT_BYTES_MAX, SCHEMA_ENUM_VALUES_MAX, SCHEMA_PARTS_MAX, TYPE_DEPTH_MAX};
use crate::schema::{MessageChoice, SchemaPath, SchemaStep};

/// The chosen message, which must be one of the text itself.
pub(super) fn root(source: &Source, choice: MessageChoice<'_>, rules: Rules<'_>, problems: &mut Problems) -> Option<ProtoMessage> {
    let message = choice::message(source, choice, problems)?;
    let mut reader = Reader {
        source,
        problems,
        rules,
        wanted: match rules {
            Rules::Writer(reader) => Wanted::Message(reader),
            Rules::Product | Rules::Spark => Wanted::All,
        },
        open: Vec::new(),
        path: SchemaPath::new(),
        parts: 0,
        enum_values: 0,
    };
    let read = reader.message(&message);
    if rules == Rules::Product && problems.0.is_empty() && read.fields.iter().all(|field| finish::data_type(field).is_none()) {
        let place = source.place(&source.file, message.path());
        let name = message.full_name();
        let problem = format!("the message `{name}` has no field that a column could hold");
        let remedy = "declare a field: a message without fields has no column";
        problems.add(place, &SchemaPath::new(), problem, name, remedy);
    }
    Some(read)
}

/// What the reader of a writer's messages has at a place.
#[derive(Clone, Copy)]
enum Wanted<'r> {
    /// Everything is wanted: it is no writer's schema.
    All,
    /// A message of its own.
    Message(&'r ProtoMessage),
    /// A value without fields.
    Value,
    /// Nothing.
    Nothing,
}

impl<'r> Wanted<'r> {
    /// What it has at the field of that number.
    fn field(self, number: u32) -> Self {
        match self {
            Self::All => Self::All,
            Self::Message(message) => message
                .fields
                .iter()
                .find(|field| field.number == number)
                .map_or(Self::Nothing, |field| Self::of(&field.kind)),
            Self::Value | Self::Nothing => Self::Nothing,
        }
    }

    fn of(kind: &'r ProtoKind) -> Self {
        match kind {
            ProtoKind::Message(message) | ProtoKind::Group(message) => Self::Message(message),
            // The writer's map is read through to its values at once.
            ProtoKind::Map { value, .. } => Self::of(value),
            _ => Self::Value,
        }
    }
}

struct Reader<'s, 'p, 'r> {
    source: &'s Source,
    problems: &'p mut Problems,
    rules: Rules<'r>,
    /// What is wanted of the message or field that is being read.
    wanted: Wanted<'r>,
    /// Full names of the message types that are being read, outermost first.
    open: Vec<String>,
    path: SchemaPath,
    parts: usize,
    enum_values: usize,
}

impl Reader<'_, '_, '_> {
    fn message(&mut self, message: &MessageDescriptor) -> ProtoMessage {
        self.open.push(message.full_name().to_owned());
        // Descriptors are sorted by number; columns are in the order of the text.
        let numbers = message
            .descriptor_proto()
            .field
            .iter()
            .filter_map(|field| u32::try_from(field.number()).ok());
        let descriptors: Vec<FieldDescriptor> = numbers.filter_map(|number| message.get_field(number)).collect();
        let mut fields = Vec::with_capacity(descriptors.len());
        let wanted = self.wanted;
        for field in &descriptors {
            self.path.push(SchemaStep::Field(field.name().to_owned()));
            self.wanted = wanted.field(field.number());
            fields.extend(self.field(field));
            self.path.pop();
        }
        self.wanted = wanted;
        self.open.pop();
        let read = ProtoMessage {
            full_name: message.full_name().to_owned(),
            fields,
        };
        if self.rules == Rules::Product {
            for (name, refusal) in refuse::twins(&read) {
                let Some(field) = message.get_field_by_name(&name) else { continue };
                self.path.push(SchemaStep::Field(name));
                self.add(&field, refusal);
                self.path.pop();
            }
        }
        read
    }

    /// A field, or nothing where a problem was found with it.
    fn field(&mut self, field: &FieldDescriptor) -> Option<ProtoField> {
        self.parts += 1;
        if self.parts > SCHEMA_PARTS_MAX {
            if !matches!(self.wanted, Wanted::Nothing) {
                let remedy = "use fewer fields: a message type counts once for each place that uses it";
                let problem = format!("the schema has more than {SCHEMA_PARTS_MAX} fields");
                self.problems.add("", &SchemaPath::new(), problem, field.full_name(), remedy);
            }
            return None;
        }
        let default_length = field.field_descriptor_proto().default_value.as_ref().map_or(0, String::len);
        if default_length > PROTO_DEFAULT_BYTES_MAX {
            let problem = format!("the default value is longer than {PROTO_DEFAULT_BYTES_MAX} bytes");
            return self.refuse(field, problem, "shorten it, or leave it out");
        }
        let label = self.label(field);
        let kind = if field.is_map() {
            self.map(field)?
        } else if label == ProtoLabel::Repeated {
            self.below(SchemaStep::Element, field, field)?
        } else {
            self.kind(field, field)?
        };
        Some(ProtoField {
            name: field.name().to_owned(),
            number: field.number(),
            label,
            kind,
            oneof: field
                .containing_oneof()
                .filter(|oneof| !oneof.is_synthetic())
                .map(|oneof| oneof.name().to_owned()),
        })
    }

    fn label(&self, field: &FieldDescriptor) -> ProtoLabel {
        let presence = self
            .source
            .features(&field.parent_file(), field.full_name())
            .map(|features| features.presence);
        let has_presence_anyway = field.containing_oneof().is_some() || matches!(field.kind(), Kind::Message(_));
        match (field.cardinality(), presence) {
            (Cardinality::Repeated, _) => ProtoLabel::Repeated,
            (Cardinality::Required, _) => ProtoLabel::Required,
            (Cardinality::Optional, Some(Presence::Required)) if field.containing_oneof().is_none() => ProtoLabel::Required,
            (Cardinality::Optional, Some(Presence::Implicit)) if !has_presence_anyway => ProtoLabel::Implicit,
            (Cardinality::Optional, _) if field.supports_presence() => ProtoLabel::Explicit {
                default: default_of(field),
            },
            (Cardinality::Optional, _) => ProtoLabel::Implicit,
        }
    }

    fn map(&mut self, field: &FieldDescriptor) -> Option<ProtoKind> {
        let Kind::Message(entry) = field.kind() else { return None };
        let (key, value) = (entry.map_entry_key_field(), entry.map_entry_value_field());
        self.judge(field, refuse::map_key(&key.kind()))?;
        let key = self.kind(&key, field)?;
        let value = self.below(SchemaStep::MapValue, &value, field)?;
        Some(ProtoKind::Map {
            key: Box::new(key),
            value: Box::new(value),
        })
    }

    fn below(&mut self, step: SchemaStep, field: &FieldDescriptor, declared: &FieldDescriptor) -> Option<ProtoKind> {
        self.path.push(step);
        let kind = self.kind(field, declared);
        self.path.pop();
        kind
    }

    /// What a field's values are. `declared` is the field as the text has it: the map that an entry's field belongs to.
    fn kind(&mut self, field: &FieldDescriptor, declared: &FieldDescriptor) -> Option<ProtoKind> {
        if self.path.len() >= TYPE_DEPTH_MAX {
            let problem = format!("the type is nested more than {TYPE_DEPTH_MAX} levels deep");
            return self.refuse(declared, problem, "flatten it");
        }
        self.judge(declared, refuse::scalar(&field.kind()))?;
        Some(match field.kind() {
            Kind::Double => ProtoKind::Double,
            Kind::Float => ProtoKind::Float,
            Kind::Int32 => ProtoKind::Int32,
            Kind::Int64 => ProtoKind::Int64,
            Kind::Uint32 => ProtoKind::Uint32,
            Kind::Uint64 => ProtoKind::Uint64,
            Kind::Sint32 => ProtoKind::Sint32,
            Kind::Sint64 => ProtoKind::Sint64,
            Kind::Fixed32 => ProtoKind::Fixed32,
            Kind::Fixed64 => ProtoKind::Fixed64,
            Kind::Sfixed32 => ProtoKind::Sfixed32,
            Kind::Sfixed64 => ProtoKind::Sfixed64,
            Kind::Bool => ProtoKind::Bool,
            Kind::String => ProtoKind::String {
                verified: self.verified(field),
            },
            Kind::Bytes => ProtoKind::Bytes,
            Kind::Enum(descriptor) => ProtoKind::Enum(self.enum_type(declared, &descriptor)?),
            Kind::Message(message) => self.message_kind(field, declared, &message)?,
        })
    }

    fn message_kind(&mut self, field: &FieldDescriptor, declared: &FieldDescriptor, message: &MessageDescriptor) -> Option<ProtoKind> {
        let imported = refuse::imported(self.source, &message.parent_file(), message.full_name());
        self.judge(declared, imported)?;
        // A writer's recursion is followed as far as the reader's message, which is finite, goes with it.
        let followed = matches!((self.rules, self.wanted), (Rules::Writer(_), Wanted::Message(_)));
        if !followed && self.open.iter().any(|open| open == message.full_name()) {
            let remedy = "a column's type is finite: unroll it to the depth you need";
            return self.refuse(declared, format!("the message type `{}` is recursive", message.full_name()), remedy);
        }
        let read = self.message(message);
        let features = self.source.features(&field.parent_file(), field.full_name());
        let delimited = features.is_some_and(|features| features.delimited) && !field.parent_message().is_map_entry();
        let kind = match well_known(&read, message.name()) {
            _ if field.is_group() || delimited => ProtoKind::Group(read),
            Some(known) => known,
            None => ProtoKind::Message(read),
        };
        self.judge(declared, refuse::looks_well_known(message, &kind))?;
        Some(kind)
    }

    fn enum_type(&mut self, field: &FieldDescriptor, descriptor: &EnumDescriptor) -> Option<ProtoEnum> {
        let imported = refuse::imported(self.source, &descriptor.parent_file(), descriptor.full_name());
        self.judge(field, imported)?;
        let declared = &descriptor.enum_descriptor_proto().value;
        self.enum_values += declared.len();
        if self.enum_values > SCHEMA_ENUM_VALUES_MAX {
            let remedy = "use fewer: an enum's values count once for each field that uses it";
            return self.refuse(
                field,
                format!("the schema has more than {SCHEMA_ENUM_VALUES_MAX} enum values"),
                remedy,
            );
        }
        let features = self.source.features(&descriptor.parent_file(), descriptor.full_name());
        Some(ProtoEnum {
            full_name: descriptor.full_name().to_owned(),
            values: declared.iter().map(|value| (value.name().to_owned(), value.number())).collect(),
            closed: features.map_or(descriptor.parent_file().syntax() == Syntax::Proto2, |features| features.closed),
        })
    }

    /// Whether malformed UTF-8 in a string makes the message unreadable, as protobuf-java has it: in proto3, in every map, in a
    /// proto2 file that asks for it, and in an edition where it is not switched off.
    fn verified(&self, field: &FieldDescriptor) -> bool {
        let file = field.parent_file();
        let asked_for = file
            .file_descriptor_proto()
            .options
            .as_ref()
            .is_some_and(|options| options.java_string_check_utf8());
        let features = self.source.features(&file, field.full_name());
        let by_language = features.map_or(file.syntax() == Syntax::Proto3, |features| features.verified);
        by_language || asked_for || field.parent_message().is_map_entry()
    }

    /// Nothing where this product refuses what Spark takes.
    fn judge(&mut self, field: &FieldDescriptor, refusal: Option<Refusal>) -> Option<()> {
        match (refusal, self.rules, self.wanted) {
            (Some(refusal), Rules::Product, _) => {
                self.add(field, refusal);
                None
            }
            // Decoding steps over it as over an unknown field.
            (Some(_), Rules::Writer(_), Wanted::Nothing) => None,
            _ => Some(()),
        }
    }

    fn add(&mut self, field: &FieldDescriptor, refusal: Refusal) {
        let place = self.source.place(&field.parent_file(), field.path());
        self.problems
            .add(place, &self.path, refusal.problem, field.full_name(), refusal.remedy);
    }

    fn refuse<T>(&mut self, field: &FieldDescriptor, problem: String, remedy: &str) -> Option<T> {
        if matches!(self.wanted, Wanted::Nothing) {
            return None;
        }
        let place = self.source.place(&field.parent_file(), field.path());
        self.problems.add(place, &self.path, problem, field.full_name(), remedy);
        None
    }
}

/// The default that the text gives a field.
fn default_of(field: &FieldDescriptor) -> Option<ProtoDefault> {
    let text = field.field_descriptor_proto().default_value.as_deref()?;
    Some(match field.default_value() {
        Value::Bool(value) => ProtoDefault::Bool(value),
        Value::I32(value) => ProtoDefault::Integer(value.into()),
        Value::I64(value) => ProtoDefault::Integer(value.into()),
        Value::U32(value) => ProtoDefault::Integer(value.into()),
        Value::U64(value) => ProtoDefault::Integer(value.into()),
        Value::F32(value) => ProtoDefault::Double(value.into()),
        Value::F64(value) => ProtoDefault::Double(value),
        Value::String(value) => ProtoDefault::Text(value),
        Value::Bytes(value) => ProtoDefault::Bytes(value.to_vec()),
        Value::EnumNumber(_) => ProtoDefault::Text(text.to_owned()),
        // No other kind of field has a default in a text.
        Value::Message(_) | Value::List(_) | Value::Map(_) => return None,
    })
}

/// What a message type is where Spark has a type of its own for it.
fn well_known(message: &ProtoMessage, name: &str) -> Option<ProtoKind> {
    if let Some(wrapped) = wrapped(message) {
        return Some(ProtoKind::Wrapper(Box::new(wrapped)));
    }
    let [seconds, nanos] = message.fields.as_slice() else { return None };
    let is = |field: &ProtoField, name: &str, number: u32, kind: ProtoKind| {
        let plain = matches!(field.label, ProtoLabel::Implicit | ProtoLabel::Explicit { default: None });
        field.name == name && field.number == number && field.kind == kind && plain && field.oneof.is_none()
    };
    if !is(seconds, "seconds", 1, ProtoKind::Int64) || !is(nanos, "nanos", 2, ProtoKind::Int32) {
        return None;
    }
    match name {
        "Timestamp" => Some(ProtoKind::Timestamp),
        "Duration" => Some(ProtoKind::Duration),
        _ => None,
    }
}

/// What one of the wrappers of `google.protobuf` wraps.
fn wrapped(message: &ProtoMessage) -> Option<ProtoKind> {
    let kind = finish::wrapped_kind(&message.full_name)?;
    match message.fields.as_slice() {
        [value] if value.number == 1 && value.label == ProtoLabel::Implicit && value.kind == kind => Some(kind),
        _ => None,
    }
}
