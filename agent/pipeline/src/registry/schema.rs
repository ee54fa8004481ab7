//! A schema as its registry has it, with the texts that it refers to.

use stream_spec::schema::{
    MessageChoice, ParsedSchema, ReferencedText, RegisteredText, SchemaFormat, SchemaProblem, Wire, parse_with, parse_writer,
};

use super::error::RegistryError;
use super::limits::PROBLEMS_TOLD_MAX;

/// A schema of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredSchema {
    /// Its id.
    pub id: u32,
    /// The subject that it was asked for by, if it was.
    pub subject: Option<String>,
    /// Its version in that subject.
    pub version: Option<i32>,
    /// Its language.
    pub format: SchemaFormat,
    /// Its text.
    pub text: String,
    /// The texts that it refers to, directly or by way of others, each name once.
    pub references: Vec<ReferencedText>,
}

impl RegisteredSchema {
    /// The schema as one that a table has columns of; an error says what is wrong with it.
    pub fn parse(&self, message: MessageChoice<'_>) -> Result<ParsedSchema, RegistryError> {
        parse_with(&self.registered(message)).map_err(|problems| self.unusable(&problems))
    }

    /// How messages lie in bytes that say they were written by it, for reading them as `reader`. `indexes` name the message of a
    /// Protobuf schema.
    pub fn parse_writer(&self, indexes: &[u32], reader: &ParsedSchema) -> Result<Wire, RegistryError> {
        parse_writer(&self.registered(MessageChoice::At(indexes)), reader).map_err(|problems| self.unusable(&problems))
    }

    /// The schema in words: by its subject and version, or by its id.
    pub fn shown(&self) -> String {
        match (&self.subject, self.version) {
            (Some(subject), Some(version)) => shown_version(subject, version),
            _ => shown_id(self.id),
        }
    }

    /// About how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        let references = self.references.iter();
        let referenced: usize = references.map(|reference| reference.name.len() + reference.text.len()).sum();
        size_of::<Self>() + self.text.len() + referenced
    }

    fn registered<'s>(&'s self, message: MessageChoice<'s>) -> RegisteredText<'s> {
        RegisteredText {
            format: self.format,
            text: &self.text,
            references: &self.references,
            message,
        }
    }

    fn unusable(&self, problems: &[SchemaProblem]) -> RegistryError {
        let told: Vec<String> = problems.iter().take(PROBLEMS_TOLD_MAX).map(SchemaProblem::to_string).collect();
        RegistryError::Unusable {
            what: self.shown(),
            reason: told.join("; "),
        }
    }
}

/// A version of a subject in words.
pub(super) fn shown_version(subject: &str, version: i32) -> String {
    format!("version {version} of the subject `{subject}`")
}

/// A schema's id in words.
pub(super) fn shown_id(id: u32) -> String {
    format!("schema with the id {id}")
}
