//! What needs no agent and no broker: messages decoded as a stream would, and questions about schemas.
//!
//! `messages` reads, `decode` and `schema` answer, `render` writes. Invariant: they ask the functions that plans and pipelines ask,
//! so that an answer here is the answer there.

mod decode;
mod messages;
mod render;
mod schema;

use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use stream_spec::limits::SCHEMA_TEXT_BYTES_MAX;
use stream_spec::stream::SchemaText;

pub(crate) use self::decode::DecodeArguments;
pub(crate) use self::schema::SchemaCommand;

/// How an offline command ended.
pub(crate) enum Answer {
    /// Everything was as one would wish.
    Yes,
    /// The question has an answer, and it is no: an update that is refused.
    No,
}

/// Decodes messages by a schema.
pub(crate) fn decode(arguments: &DecodeArguments) -> anyhow::Result<Answer> {
    decode::run(arguments)
}

/// Answers a question about schemas.
pub(crate) fn schema(command: &SchemaCommand) -> anyhow::Result<Answer> {
    schema::run(command)
}

/// How a schema's text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaFormat {
    /// IETF JSON Schema.
    Json,
    /// Apache Avro.
    Avro,
    /// Protocol Buffers.
    Protobuf,
}

/// What says how to read a schema file.
#[derive(Args, Clone, Debug)]
pub(crate) struct SchemaOptions {
    /// Schema language [default: by the file's name: .avsc is Avro, .proto Protobuf, anything else JSON Schema].
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<SchemaFormat>,

    /// Message in a Protobuf text, with its package: `shop.Order`.
    #[arg(long, value_name = "NAME")]
    pub(crate) message_name: Option<String>,
}

impl SchemaOptions {
    /// Reads a schema file.
    fn read(&self, path: &Path) -> anyhow::Result<SchemaText> {
        let text = read_bounded(path)?;
        let by_name = match path.extension().and_then(|extension| extension.to_str()) {
            Some("avsc") => SchemaFormat::Avro,
            Some("proto") => SchemaFormat::Protobuf,
            _ => SchemaFormat::Json,
        };
        Ok(match (self.format.unwrap_or(by_name), &self.message_name) {
            (SchemaFormat::Protobuf, Some(name)) => SchemaText::Proto {
                schema_text: text,
                message_name: name.clone(),
            },
            (SchemaFormat::Protobuf, None) => bail!(
                "{}: a Protobuf text may hold several messages: say which one with --message-name, with its package",
                path.display()
            ),
            (_, Some(name)) => bail!(
                "{}: --message-name {name} is for Protobuf texts; if this is one, say --format protobuf",
                path.display()
            ),
            (SchemaFormat::Json, None) => SchemaText::Json(text),
            (SchemaFormat::Avro, None) => SchemaText::Avro(text),
        })
    }
}

fn read_bounded(path: &Path) -> anyhow::Result<String> {
    let size = std::fs::metadata(path).with_context(|| format!("{}", path.display()))?.len();
    if usize::try_from(size).map_or(true, |size| size > SCHEMA_TEXT_BYTES_MAX) {
        bail!(
            "{}: {size} bytes are too long for a schema: at most {SCHEMA_TEXT_BYTES_MAX}",
            path.display()
        );
    }
    std::fs::read_to_string(path).with_context(|| format!("{}", path.display()))
}

/// How answers are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// One JSON object a line.
    #[default]
    Json,
    /// A table for people.
    Table,
}

/// A file, or standard input for `-`.
fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Writes to standard output; a reader that has seen enough is no error.
fn print(text: &str) -> anyhow::Result<()> {
    let mut output = std::io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// True of the error that a reader gives which has seen enough, as `head` has.
fn reader_left(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// The parts of a problem, for machines.
fn problem_json(path: &str, text: &str, remedy: &str) -> Value {
    json!({ "path": path, "text": text, "remedy": remedy })
}
