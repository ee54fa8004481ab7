//! Whether a Protobuf schema may follow another (decoding notes, section 6): what the types of columns do not say.
//!
//! Fields are the same by number, at every level. The one invariant: what is not refused here reads the bytes of old messages as the
//! values that they were written as. What else is read otherwise from now on is said as a change.

use std::collections::{BTreeSet, HashMap};

use super::{FindingKind, Findings};
use crate::filter::footprint::ReadPlace;
pub(super) use crate::schema::protobuf::normal_form;
use crate::schema::protobuf::tree::{ProtoEnum, ProtoField, ProtoKind, ProtoLabel, ProtoMessage};
use crate::schema::protobuf::{enum_name, words};
use crate::schema::{SchemaPath, SchemaStep, show_path};

const REMEDY_NUMBER: &str = "keep the number; a new field takes one that no version has used";
const REMEDY_TYPE: &str = "keep the type, and give the new field a name and number that no version has used";
const REMEDY_REQUIRED: &str = "leave it optional: messages that are already in the source may lack it";
const REMEDY_ENUM: &str = "keep the values there are and add others";
const REMEDY_ONEOF: &str = "keep them apart: of the fields there are only one may move into a oneof";

/// Refuses what of `new` cannot follow `old`, one of the earlier schemas.
pub(super) fn judge(column: &'static str, old: &ProtoMessage, new: &ProtoMessage, findings: &mut Findings) {
    Judge {
        column,
        findings,
        path: SchemaPath::new(),
    }
    .messages(old, new);
}

/// Says what of `new` is read otherwise than by `last`, the schema in force, though no column's type shows it.
pub(super) fn changes(column: &'static str, last: &ProtoMessage, new: &ProtoMessage, findings: &mut Findings) {
    Changes {
        column,
        findings,
        path: SchemaPath::new(),
    }
    .messages(last, new);
}

/// The fields of a message by number and by name.
struct Fields<'m> {
    by_number: HashMap<u32, &'m ProtoField>,
    by_name: HashMap<&'m str, &'m ProtoField>,
}

impl<'m> Fields<'m> {
    fn of(message: &'m ProtoMessage) -> Self {
        Self {
            by_number: message.fields.iter().map(|field| (field.number, field)).collect(),
            by_name: message.fields.iter().map(|field| (field.name.as_str(), field)).collect(),
        }
    }
}

/// The steps from a field to its values, and what these are.
fn inside(field: &ProtoField) -> (Option<SchemaStep>, &ProtoKind) {
    match (&field.kind, &field.label) {
        (ProtoKind::Map { value, .. }, _) => (Some(SchemaStep::MapValue), value),
        (kind, ProtoLabel::Repeated) => (Some(SchemaStep::Element), kind),
        (kind, _) => (None, kind),
    }
}

/// The oneofs of a message: the name of each field's, and the members of each, held once however many there are.
struct Oneofs<'m> {
    by_number: HashMap<u32, &'m str>,
    members: HashMap<&'m str, BTreeSet<u32>>,
}

impl<'m> Oneofs<'m> {
    fn of(message: &'m ProtoMessage) -> Self {
        let mut oneofs = Self {
            by_number: HashMap::new(),
            members: HashMap::new(),
        };
        for field in &message.fields {
            if let Some(oneof) = &field.oneof {
                oneofs.by_number.insert(field.number, oneof);
                oneofs.members.entry(oneof).or_default().insert(field.number);
            }
        }
        oneofs
    }

    /// The oneof that a field is in together with others.
    fn shared(&self, number: u32) -> Option<(&'m str, &BTreeSet<u32>)> {
        let name = *self.by_number.get(&number)?;
        let members = self.members.get(name)?;
        (members.len() > 1).then_some((name, members))
    }
}

/// The first fields of a oneof that an earlier schema has too: one of them, if any, is the first that a later member was apart from.
struct Firsts<'m> {
    number: u32,
    /// The earlier oneof of it.
    before: Option<&'m str>,
    /// The first member that was apart from that.
    apart: Option<u32>,
}

impl Firsts<'_> {
    /// The first member that was apart from a later one, of which this is the earlier oneof.
    fn apart_from(&self, before: Option<&str>) -> Option<u32> {
        if before.is_some() && before == self.before {
            self.apart
        } else {
            Some(self.number)
        }
    }
}

struct Judge<'f> {
    column: &'static str,
    findings: &'f mut Findings,
    path: SchemaPath,
}

impl Judge<'_> {
    fn refuse(&mut self, text: String, remedy: &str) {
        self.findings.refuse(show_path(self.column, &self.path), text, remedy);
    }

    fn messages(&mut self, old: &ProtoMessage, new: &ProtoMessage) {
        let known = Fields::of(old);
        for field in &new.fields {
            self.path.push(SchemaStep::Field(field.name.clone()));
            match (known.by_number.get(&field.number), known.by_name.get(field.name.as_str())) {
                (_, Some(named)) if named.number != field.number => {
                    let text = format!(
                        "the number changes from {} to {}: messages hold the values under the old one",
                        named.number, field.number
                    );
                    self.refuse(text, REMEDY_NUMBER);
                }
                (Some(before), _) => self.field(before, field),
                (None, _) if field.label == ProtoLabel::Required => self.refuse("added as required".into(), REMEDY_REQUIRED),
                (None, _) => {}
            }
            self.path.pop();
        }
        self.oneofs(old, new);
    }

    fn field(&mut self, old: &ProtoField, new: &ProtoField) {
        if new.label == ProtoLabel::Required && old.label != ProtoLabel::Required {
            return self.refuse("optional → required tightens".into(), REMEDY_REQUIRED);
        }
        let repeated = |field: &ProtoField| field.label == ProtoLabel::Repeated;
        if repeated(old) != repeated(new) || !same_shape(&old.kind, &new.kind) {
            let (before, after) = (words::of_field(old), words::of_field(new));
            let text = if old.name != new.name {
                format!(
                    "number {} was `{}`, {before}: messages that hold it would be misread as {after}",
                    old.number, old.name
                )
            } else if narrows(&old.kind, &new.kind) {
                format!("{before} → {after} narrows")
            } else {
                format!("{before} → {after} changes what the bytes mean")
            };
            return self.refuse(text, REMEDY_TYPE);
        }
        let ((step, old), (_, new)) = (inside(old), inside(new));
        let depth = self.path.len();
        self.path.extend(step);
        match (old, new) {
            (ProtoKind::Message(old), ProtoKind::Message(new)) | (ProtoKind::Group(old), ProtoKind::Group(new)) => self.messages(old, new),
            (ProtoKind::Enum(old), ProtoKind::Enum(new)) => self.enums(old, new),
            _ => {}
        }
        self.path.truncate(depth);
    }

    fn enums(&mut self, old: &ProtoEnum, new: &ProtoEnum) {
        let mut numbers: HashMap<&str, i32> = HashMap::new();
        let mut shown: HashMap<i32, &str> = HashMap::new();
        for (name, number) in &new.values {
            numbers.insert(name, *number);
            shown.entry(*number).or_insert(name);
        }
        let mut seen = BTreeSet::new();
        for (name, number) in &old.values {
            let first = seen.insert(*number);
            let text = match (numbers.get(name.as_str()), shown.get(number)) {
                (Some(found), _) if found != number => format!("the enum value `{name}` changes its number from {number} to {found}"),
                (Some(_), Some(other)) if first && other != name => {
                    format!("the enum number {number} shows as `{other}` instead of `{name}`")
                }
                (Some(_), _) => continue,
                (None, Some(other)) => {
                    format!("the enum value `{name}` is renamed to `{other}`: rows that are in the table keep the old name")
                }
                (None, None) => format!("the enum value `{name}` is removed, and messages may hold it"),
            };
            return self.refuse(text, REMEDY_ENUM);
        }
    }

    fn oneofs(&mut self, old: &ProtoMessage, new: &ProtoMessage) {
        let (before, known, now) = (Oneofs::of(old), Fields::of(old), Fields::of(new));
        let earlier = |number: u32| before.by_number.get(&number).copied();
        let mut members: Vec<&ProtoField> = new
            .fields
            .iter()
            .filter(|field| field.oneof.is_some() && known.by_number.contains_key(&field.number))
            .collect();
        members.sort_by_key(|field| field.number);
        let mut firsts: HashMap<&str, Firsts<'_>> = HashMap::new();
        let mut joined: HashMap<u32, u32> = HashMap::new();
        for field in members {
            let oneof = field.oneof.as_deref().unwrap_or_default();
            let Some(first) = firsts.get_mut(oneof) else {
                let (number, before) = (field.number, earlier(field.number));
                firsts.insert(
                    oneof,
                    Firsts {
                        number,
                        before,
                        apart: None,
                    },
                );
                continue;
            };
            let before = earlier(field.number);
            joined.extend(first.apart_from(before).map(|other| (field.number, other)));
            if before.is_none() || before != first.before {
                first.apart.get_or_insert(field.number);
            }
        }
        for field in &new.fields {
            let Some(other) = joined.get(&field.number).and_then(|number| now.by_number.get(number)) else {
                continue;
            };
            self.path.push(SchemaStep::Field(field.name.clone()));
            let text = format!("moves into one oneof with `{}`: messages that hold both would lose one", other.name);
            self.refuse(text, REMEDY_ONEOF);
            self.path.pop();
        }
    }
}

/// True when the bytes of `old` are read as the same values by `new`, what is inside messages and enums aside.
fn same_shape(old: &ProtoKind, new: &ProtoKind) -> bool {
    match (old, new) {
        (ProtoKind::Int32 | ProtoKind::Uint32, ProtoKind::Int64) | (ProtoKind::Sint32, ProtoKind::Sint64) => true,
        (ProtoKind::Wrapper(old), ProtoKind::Wrapper(new)) => same_shape(old, new),
        (ProtoKind::Map { key: old_key, value: old }, ProtoKind::Map { key: new_key, value: new }) => {
            same_shape(old_key, new_key) && same_shape(old, new)
        }
        (old, new) => std::mem::discriminant(old) == std::mem::discriminant(new),
    }
}

fn narrows(old: &ProtoKind, new: &ProtoKind) -> bool {
    match (old, new) {
        (ProtoKind::Int64, ProtoKind::Int32) | (ProtoKind::Sint64, ProtoKind::Sint32) => true,
        (ProtoKind::Map { value: old, .. }, ProtoKind::Map { value: new, .. }) => narrows(old, new),
        (ProtoKind::Wrapper(old), ProtoKind::Wrapper(new)) => narrows(old, new),
        _ => false,
    }
}

struct Changes<'f> {
    column: &'static str,
    findings: &'f mut Findings,
    path: SchemaPath,
}

impl Changes<'_> {
    /// Says what is read otherwise, also to whoever must not read it.
    fn change(&mut self, text: impl Into<String>) {
        let text = text.into();
        let place = ReadPlace {
            column: self.column.to_owned(),
            path: self.path.clone(),
        };
        self.findings.read_otherwise.push((place, text.clone()));
        self.harmless(text);
    }

    /// Says what is read otherwise, though the values that were read so far stay what they were.
    fn harmless(&mut self, text: String) {
        self.findings
            .change(show_path(self.column, &self.path), FindingKind::ReadOtherwise, text);
    }

    fn messages(&mut self, old: &ProtoMessage, new: &ProtoMessage) {
        let known = Fields::of(old);
        let (before, after) = (Oneofs::of(old), Oneofs::of(new));
        // Answers by the names of two oneofs: all members of one ask the same.
        let mut same: HashMap<(&str, &str), bool> = HashMap::new();
        for field in &new.fields {
            // A field of another name is another column: what it was does not matter.
            let Some(last) = known.by_name.get(field.name.as_str()) else {
                continue;
            };
            self.path.push(SchemaStep::Field(field.name.clone()));
            let stays = match (before.shared(field.number), after.shared(field.number)) {
                (None, None) => true,
                (Some((old, old_members)), Some((new, new_members))) => {
                    *same.entry((old, new)).or_insert_with(|| old_members == new_members)
                }
                _ => false,
            };
            if !stays {
                self.change("the oneof around it changes: of its members only the last in a message has a value");
            }
            self.field(last, field);
            self.path.pop();
        }
    }

    fn field(&mut self, old: &ProtoField, new: &ProtoField) {
        match (&old.label, &new.label) {
            (ProtoLabel::Implicit, ProtoLabel::Explicit { .. }) => self.change("gets presence: zeros are no longer null"),
            (ProtoLabel::Explicit { .. } | ProtoLabel::Required, ProtoLabel::Implicit) => {
                self.change("loses its presence: zeros become null")
            }
            (ProtoLabel::Explicit { default: before }, ProtoLabel::Explicit { default: after }) if before != after => {
                self.change("the default changes: it is what a message without the field shows");
            }
            (ProtoLabel::Required, ProtoLabel::Explicit { default: Some(_) }) => {
                self.change("gets a default: it is what a message without the field shows");
            }
            _ => {}
        }
        let ((step, old), (_, new)) = (inside(old), inside(new));
        let depth = self.path.len();
        self.path.extend(step);
        self.kind(old, new);
        self.path.truncate(depth);
    }

    fn kind(&mut self, old: &ProtoKind, new: &ProtoKind) {
        match (old, new) {
            (ProtoKind::Uint32, ProtoKind::Int64) => self.change("uint32 → int64: the same column, and negative numbers too"),
            (ProtoKind::Wrapper(old), ProtoKind::Wrapper(new)) => self.kind(old, new),
            (ProtoKind::Message(old), ProtoKind::Message(new)) | (ProtoKind::Group(old), ProtoKind::Group(new)) => self.messages(old, new),
            (ProtoKind::String { verified: false }, ProtoKind::String { verified: true }) => {
                self.change("a text that is no UTF-8 makes the whole message null instead of being mended");
            }
            (ProtoKind::String { verified: true }, ProtoKind::String { verified: false }) => {
                self.change("a text that is no UTF-8 is mended instead of making the whole message null");
            }
            (ProtoKind::Enum(old), ProtoKind::Enum(new)) => self.enums(old, new),
            _ => {}
        }
    }

    fn enums(&mut self, old: &ProtoEnum, new: &ProtoEnum) {
        let known: BTreeSet<&str> = old.values.iter().map(|(name, _)| name.as_str()).collect();
        let added: Vec<&str> = new
            .values
            .iter()
            .map(|(name, _)| name.as_str())
            .filter(|name| !known.contains(name))
            .collect();
        if !added.is_empty() {
            self.harmless(format!("the enum gets the values {}", added.join(", ")));
        }
        if old.closed != new.closed {
            let (open, closed) = (
                "shows numbers that it does not name",
                "takes numbers that it does not name for unknown fields",
            );
            self.change(format!("the enum {}", if new.closed { closed } else { open }));
        } else if enum_name(old) != enum_name(new) {
            self.change(format!(
                "numbers that the enum does not name show its new name, `{}`",
                enum_name(new)
            ));
        }
        if old.values.first() != new.values.first() {
            let text = "the enum's first value changes: a map's entry without a value shows it";
            if self.path.last() == Some(&SchemaStep::MapValue) {
                self.change(text);
            } else {
                self.harmless(text.to_owned());
            }
        }
    }
}
