//! Editions (2023, 2024): the compiler knows proto2 and proto3 only, so a text of an edition is put into proto3's spelling for it, and
//! what its features say is kept beside the descriptors.
//!
//! The rewritten text has every token at its place, so that problems are said where they are.

use std::collections::HashMap;

use prost_types::field_descriptor_proto::Type;
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto, OneofDescriptorProto, UninterpretedOption,
};

use super::scan::{self, Token, TokenKind};

/// Stands for a field option `default`, which proto3 does not have, in a rewritten text.
const DEFAULT_OPTION: &str = "(dflt_)";

/// Stands for the default `-inf`, which no other option may be.
const NEGATIVE_INFINITY: &str = "\"-i\"";

const EDITIONS: &str = "supported: `syntax = \"proto2\"`, `syntax = \"proto3\"`, `edition = \"2023\"` and `edition = \"2024\"`";

/// What the features say about one field or enum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Features {
    /// `field_presence`.
    pub(super) presence: Presence,
    /// `enum_type = CLOSED`.
    pub(super) closed: bool,
    /// `utf8_validation = VERIFY`.
    pub(super) verified: bool,
    /// `message_encoding = DELIMITED`.
    pub(super) delimited: bool,
}

/// Whether a field that is not repeated knows that it is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// It does.
    Explicit,
    /// The zero value is absent.
    Implicit,
    /// It must not be absent.
    Required,
}

impl Features {
    /// What holds in an edition where nothing is said; the same in 2023 and 2024.
    const DEFAULT: Self = Self {
        presence: Presence::Explicit,
        closed: false,
        verified: true,
        delimited: false,
    };
}

/// Features by full name, of every field and enum of the text.
pub(super) type FeatureMap = HashMap<String, Features>;

/// What is wrong with a text's use of editions.
pub(super) struct EditionProblem {
    /// The descriptor it is about; empty for the text as a whole.
    pub(super) path: Vec<i32>,
    /// What is wrong.
    pub(super) problem: String,
    /// What was found.
    pub(super) found: String,
    /// What to do.
    pub(super) remedy: String,
}

/// The text in proto3's spelling; nothing where it is not of an edition.
pub(super) fn rewrite(text: &str, tokens: &[Token]) -> Option<Result<String, EditionProblem>> {
    let [edition, equals, name, ..] = tokens else { return None };
    if edition.of(text) != "edition" || !equals.is('=') || name.kind != TokenKind::Text {
        return None;
    }
    let quoted = name.of(text);
    if !matches!(quoted.trim_matches(['"', '\'']), "2023" | "2024") {
        return Some(Err(EditionProblem {
            path: Vec::new(),
            problem: "the edition is not supported".into(),
            found: quoted.to_owned(),
            remedy: EDITIONS.into(),
        }));
    }
    let mut edits = Edits::default();
    edits.replace(edition.span.start..name.span.end, "syntax=\"proto3\"");
    rewrite_defaults(text, tokens, &mut edits);
    blank_reserved_names(text, tokens, &mut edits);
    Some(Ok(edits.apply(text)))
}

/// `default = …` among the options of a field.
fn rewrite_defaults(text: &str, tokens: &[Token], edits: &mut Edits) {
    for (index, window) in tokens.windows(3).enumerate() {
        let [before, name, equals] = window else { continue };
        if !(before.is('[') || before.is(',')) || name.of(text) != "default" || !equals.is('=') {
            continue;
        }
        edits.replace(name.span.clone(), DEFAULT_OPTION);
        if let Some([minus, word, ..]) = tokens.get(index + 3..)
            && minus.is('-')
        {
            match word.of(text) {
                "inf" => edits.replace(minus.span.start..word.span.end, NEGATIVE_INFINITY),
                "nan" => edits.replace(minus.span.clone(), ""),
                _ => {}
            }
        }
    }
}

/// `reserved name, other;`, which is `reserved "name", "other";` elsewhere: a name that is not used says nothing.
fn blank_reserved_names(text: &str, tokens: &[Token], edits: &mut Edits) {
    for (index, token) in tokens.iter().enumerate() {
        let begins = index.checked_sub(1).and_then(|before| tokens.get(before));
        if token.of(text) != "reserved" || !begins.is_some_and(|before| before.is('{') || before.is('}') || before.is(';')) {
            continue;
        }
        let rest = tokens.get(index + 1..).unwrap_or_default();
        let Some(length) = rest.iter().position(|token| token.is(';')) else {
            continue;
        };
        let (Some(names), Some(end)) = (rest.get(..length), rest.get(length)) else {
            continue;
        };
        let name = |token: &Token| token.kind == TokenKind::Word && !token.of(text).starts_with(|c: char| c.is_ascii_digit());
        if !names.is_empty() && names.iter().all(|token| token.is(',') || name(token)) && !names.iter().any(|token| token.of(text) == "to")
        {
            edits.replace(token.span.start..end.span.start, "");
        }
    }
}

/// Replacements in the order of the text.
#[derive(Default)]
struct Edits(Vec<(std::ops::Range<usize>, &'static str)>);

impl Edits {
    fn replace(&mut self, span: std::ops::Range<usize>, with: &'static str) {
        self.0.push((span, with));
    }

    /// Every replacement as long as what it replaces, line breaks kept. Only the header may be a byte longer.
    fn apply(mut self, text: &str) -> String {
        self.0.sort_by_key(|(span, _)| span.start);
        let mut rewritten = String::with_capacity(text.len() + 1);
        let mut at = 0;
        for (span, with) in self.0 {
            let (Some(between), Some(old)) = (text.get(at..span.start), text.get(span.clone())) else {
                continue;
            };
            rewritten.push_str(between);
            rewritten.push_str(with);
            let rest = old.char_indices().filter(|(index, _)| *index >= with.len());
            rewritten.extend(rest.map(|(_, c)| if c == '\n' { c } else { ' ' }));
            at = span.end;
        }
        rewritten.push_str(text.get(at..).unwrap_or_default());
        rewritten
    }
}

/// Takes the features out of a rewritten text's descriptor and makes it proto2's, where everything has presence and a default is legal.
pub(super) fn take_features(file: &mut FileDescriptorProto) -> Result<FeatureMap, Vec<EditionProblem>> {
    file.syntax = None;
    let mut taker = Taker::default();
    let prefix = file.package.clone().unwrap_or_default();
    let options = file.options.as_mut().map(|options| &mut options.uninterpreted_option);
    let features = taker.take(options, Features::DEFAULT, &[]);
    for (index, message) in file.message_type.iter_mut().enumerate() {
        taker.message(message, &prefix, features, &mut vec![4, index_of(index)]);
    }
    for (index, descriptor) in file.enum_type.iter_mut().enumerate() {
        taker.enum_type(descriptor, &prefix, features, &[5, index_of(index)]);
    }
    for (index, extension) in file.extension.iter_mut().enumerate() {
        taker.field(extension, &prefix, features, &[7, index_of(index)]);
    }
    if taker.problems.is_empty() {
        Ok(taker.features)
    } else {
        Err(taker.problems)
    }
}

#[derive(Default)]
struct Taker {
    features: FeatureMap,
    problems: Vec<EditionProblem>,
}

impl Taker {
    fn message(&mut self, message: &mut DescriptorProto, prefix: &str, around: Features, path: &mut Vec<i32>) {
        let full_name = joined(prefix, message.name());
        let options = message.options.as_mut().map(|options| &mut options.uninterpreted_option);
        let features = self.take(options, around, path);
        let below = |path: &[i32], tag: i32, index: usize| [path, &[tag, index_of(index)]].concat();
        let mut of_oneofs = Vec::new();
        for (index, oneof) in message.oneof_decl.iter_mut().enumerate() {
            of_oneofs.push(self.oneof(oneof, features, &below(path, 8, index)));
        }
        for (index, field) in message.field.iter_mut().enumerate() {
            let oneof = field.oneof_index.and_then(|index| usize::try_from(index).ok());
            let around = oneof.and_then(|index| of_oneofs.get(index)).copied().unwrap_or(features);
            self.field(field, &full_name, around, &below(path, 2, index));
        }
        for (index, extension) in message.extension.iter_mut().enumerate() {
            self.field(extension, &full_name, features, &below(path, 6, index));
        }
        for (index, descriptor) in message.enum_type.iter_mut().enumerate() {
            self.enum_type(descriptor, &full_name, features, &below(path, 4, index));
        }
        for (index, nested) in message.nested_type.iter_mut().enumerate() {
            let depth = path.len();
            path.extend([3, index_of(index)]);
            self.message(nested, &full_name, features, path);
            path.truncate(depth);
        }
    }

    fn oneof(&mut self, oneof: &mut OneofDescriptorProto, around: Features, path: &[i32]) -> Features {
        let options = oneof.options.as_mut().map(|options| &mut options.uninterpreted_option);
        self.take(options, around, path)
    }

    fn enum_type(&mut self, descriptor: &mut EnumDescriptorProto, prefix: &str, around: Features, path: &[i32]) {
        let full_name = joined(prefix, descriptor.name());
        let options = descriptor.options.as_mut().map(|options| &mut options.uninterpreted_option);
        let features = self.take(options, around, path);
        let first = descriptor.value.first().map_or(0, |value| value.number());
        if !features.closed && first != 0 {
            let problem = format!("the first value of the open enum `{full_name}` is not 0");
            self.refuse(
                path,
                problem,
                &first.to_string(),
                "begin with a value 0, or say `option features.enum_type = CLOSED`",
            );
        }
        self.features.insert(full_name, features);
    }

    fn field(&mut self, field: &mut FieldDescriptorProto, prefix: &str, around: Features, path: &[i32]) {
        let full_name = joined(prefix, field.name());
        if field.proto3_optional() {
            let remedy = "leave the label out: a field of an edition has presence unless `features.field_presence` says otherwise";
            self.refuse(
                path,
                format!("`{full_name}` is labelled `optional`, which editions do not have"),
                "optional",
                remedy,
            );
        }
        let kind = field.r#type;
        let mut options = field.options.as_mut().map(|options| &mut options.uninterpreted_option);
        let features = self.take(options.as_deref_mut(), around, path);
        if let Some(default) = options.and_then(|options| take_default(kind, options)) {
            if features.presence == Presence::Implicit {
                let remedy = "take the default or `field_presence = IMPLICIT` out";
                self.refuse(path, format!("`{full_name}` has a default and no presence"), &default, remedy);
            }
            field.default_value = Some(default);
        }
        self.features.insert(full_name, features);
    }

    /// Takes the options called `features` out of a list, and answers what they make of those around.
    fn take(&mut self, options: Option<&mut Vec<UninterpretedOption>>, around: Features, path: &[i32]) -> Features {
        let mut features = around;
        let Some(options) = options else { return features };
        options.retain(|option| {
            let names: Vec<&str> = option.name.iter().map(|part| part.name_part.as_str()).collect();
            match names.as_slice() {
                ["features"] => {
                    let text = option.aggregate_value.as_deref().unwrap_or_default();
                    let words = scan::tokens(text);
                    let words: Vec<&str> = words
                        .iter()
                        .filter(|token| token.kind == TokenKind::Word)
                        .map(|token| token.of(text))
                        .collect();
                    for pair in words.chunks(2) {
                        let [name, value] = pair else { continue };
                        self.set(&mut features, name, value, path);
                    }
                    false
                }
                ["features", name] => {
                    self.set(&mut features, name, option.identifier_value(), path);
                    false
                }
                _ => true,
            }
        });
        features
    }

    fn set(&mut self, features: &mut Features, name: &str, value: &str, path: &[i32]) {
        match (name, value) {
            ("field_presence", "EXPLICIT") => features.presence = Presence::Explicit,
            ("field_presence", "IMPLICIT") => features.presence = Presence::Implicit,
            ("field_presence", "LEGACY_REQUIRED") => features.presence = Presence::Required,
            ("enum_type", "OPEN" | "CLOSED") => features.closed = value == "CLOSED",
            ("utf8_validation", "VERIFY" | "NONE") => features.verified = value == "VERIFY",
            ("message_encoding", "LENGTH_PREFIXED" | "DELIMITED") => features.delimited = value == "DELIMITED",
            // Both encodings of repeated fields are always read; the others concern JSON, names and generated code.
            ("repeated_field_encoding" | "json_format" | "enforce_naming_style" | "default_symbol_visibility", _) => {}
            _ => {
                let remedy =
                    "supported: field_presence, enum_type, repeated_field_encoding, utf8_validation, message_encoding, json_format";
                self.refuse(path, format!("the feature `{name}` cannot be `{value}`"), value, remedy);
            }
        }
    }

    fn refuse(&mut self, path: &[i32], problem: String, found: &str, remedy: &str) {
        self.problems.push(EditionProblem {
            path: path.to_vec(),
            problem,
            found: found.to_owned(),
            remedy: remedy.to_owned(),
        });
    }
}

/// Takes the default of a field out of its options, in the spelling that descriptors have.
fn take_default(kind: Option<i32>, options: &mut Vec<UninterpretedOption>) -> Option<String> {
    let is_default = |option: &UninterpretedOption| {
        let [part] = option.name.as_slice() else { return false };
        part.is_extension && format!("({})", part.name_part) == DEFAULT_OPTION
    };
    let index = options.iter().position(is_default)?;
    let option = options.remove(index);
    let is = |kinds: &[Type]| kind.is_some_and(|kind| kinds.iter().any(|wanted| kind == *wanted as i32));
    if let Some(bytes) = option.string_value {
        return Some(match String::from_utf8(bytes) {
            Ok(text) if is(&[Type::Float, Type::Double]) && text == NEGATIVE_INFINITY.trim_matches('"') => "-inf".into(),
            Ok(text) if !is(&[Type::Bytes]) => text,
            Ok(text) => text.as_bytes().escape_ascii().to_string(),
            Err(error) => error.into_bytes().escape_ascii().to_string(),
        });
    }
    let number = |value: f64| if value.is_infinite() { "inf".into() } else { value.to_string() };
    (option.identifier_value)
        .or_else(|| option.positive_int_value.map(|value| value.to_string()))
        .or_else(|| option.negative_int_value.map(|value| value.to_string()))
        .or_else(|| option.double_value.map(number))
}

fn joined(prefix: &str, name: &str) -> String {
    if prefix.is_empty() {
        name.to_owned()
    } else {
        format!("{prefix}.{name}")
    }
}

fn index_of(index: usize) -> i32 {
    i32::try_from(index).unwrap_or(i32::MAX)
}
