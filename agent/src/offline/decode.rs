//! `featurestore-agent decode`: messages in, rows out, with a reason for each message that did not fit.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write, stdin, stdout};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use stream_pipeline::preview::{Preview, Previewed};
use stream_spec::stream::Side;

use super::messages::{Encoding, Messages};
use super::{Answer, OutputFormat, SchemaOptions, is_standard_input, reader_left, render};
use crate::limits::TABLE_CELL_CHARS_MAX;

/// What to decode, and how.
#[derive(Args, Clone, Debug)]
pub(crate) struct DecodeArguments {
    /// File with the schema.
    #[arg(value_name = "SCHEMA")]
    schema: PathBuf,

    /// File with the messages; `-` is standard input.
    #[arg(value_name = "MESSAGES", default_value = "-")]
    messages: PathBuf,

    #[command(flatten)]
    options: SchemaOptions,

    /// How messages follow one another.
    #[arg(long, value_enum, value_name = "ENCODING", default_value = "lines")]
    encoding: Encoding,

    /// How rows are written.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "json")]
    output: OutputFormat,

    /// Decode as the side `key` of a message, and not as its `value`.
    #[arg(long)]
    key: bool,

    /// A record type filter: says of each row whether it is kept.
    #[arg(long, value_name = "SQL")]
    filter: Option<String>,

    /// A path that is excluded, as in `value.customer.email`; may be given more than once.
    #[arg(long, value_name = "PATH")]
    exclude: Vec<String>,
}

/// What became of the messages.
#[derive(Default)]
struct Counts {
    messages: u64,
    misfits: u64,
    dropped: u64,
}

pub(super) fn run(arguments: &DecodeArguments) -> anyhow::Result<Answer> {
    let schema = arguments.options.read(&arguments.schema)?;
    let side = if arguments.key { Side::Key } else { Side::Payload };
    let excluded: BTreeSet<String> = arguments.exclude.iter().cloned().collect();
    let preview = Preview::compile(&schema, side, arguments.filter.as_deref(), &excluded)?;
    let input: Box<dyn BufRead> = if is_standard_input(&arguments.messages) {
        Box::new(stdin().lock())
    } else {
        let file = File::open(&arguments.messages).with_context(|| format!("{}", arguments.messages.display()))?;
        Box::new(BufReader::new(file))
    };
    let mut output = BufWriter::new(stdout().lock());
    let decoded = decode(preview, Messages::new(input, arguments.encoding), arguments.output, &mut output);
    let counts = match decoded.and_then(|counts| output.flush().map(|()| counts).map_err(Into::into)) {
        Ok(counts) => counts,
        Err(error) if reader_left(&error) => return Ok(Answer::Yes),
        Err(error) => return Err(error),
    };
    eprintln!(
        "{} messages: {} did not fit, {} dropped by the filter",
        counts.messages, counts.misfits, counts.dropped
    );
    Ok(Answer::Yes)
}

fn decode<R: BufRead>(
    mut preview: Preview,
    mut messages: Messages<R>,
    format: OutputFormat,
    output: &mut dyn Write,
) -> anyhow::Result<Counts> {
    let mut counts = Counts::default();
    while let Some(message) = messages.next()? {
        counts.messages += 1;
        let row = preview.decode(&message)?;
        counts.misfits += u64::from(row.misfit.is_some());
        counts.dropped += u64::from(!row.kept);
        match format {
            OutputFormat::Json => write_json(counts.messages, preview.column(), &row, output)?,
            OutputFormat::Table => write_row(counts.messages, preview.column(), &row, output)?,
        }
    }
    Ok(counts)
}

fn write_json(number: u64, column: &str, row: &Previewed, output: &mut dyn Write) -> anyhow::Result<()> {
    write!(
        output,
        "{{\"message\":{number},{}:{}",
        render::quoted(column),
        render::value(&row.value, 0)?
    )?;
    if let Some(reason) = row.misfit {
        write!(output, ",\"misfit\":{}", render::quoted(reason.name()))?;
    }
    if !row.kept {
        write!(output, ",\"kept\":false")?;
    }
    writeln!(output, "}}")?;
    Ok(())
}

/// A row under a head that is written with the first one. Columns are as wide as their names and what people can read beside one
/// another: the rows of a pipe are not known before they come.
fn write_row(number: u64, column: &str, row: &Previewed, output: &mut dyn Write) -> anyhow::Result<()> {
    let cells = render::cells(column, &row.value, 0)?;
    let names: Vec<&str> = cells.iter().map(|(name, _)| name.as_str()).collect();
    if number == 1 {
        write_line(output, names.iter().copied().chain(["kept", "misfit"]), &names)?;
    }
    let values: Vec<String> = cells.iter().map(|(_, value)| short(value)).collect();
    let kept = if row.kept { "yes" } else { "no" };
    let misfit = row.misfit.map_or("", |reason| reason.name());
    write_line(output, values.iter().map(String::as_str).chain([kept, misfit]), &names)?;
    Ok(())
}

fn write_line<'a>(output: &mut dyn Write, cells: impl Iterator<Item = &'a str>, names: &[&str]) -> io::Result<()> {
    let widths = names
        .iter()
        .map(|name| name.chars().count().max(TABLE_CELL_CHARS_MAX / 2))
        .chain([4, 6]);
    let line: Vec<String> = cells.zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
    writeln!(output, "{}", line.join("  ").trim_end())
}

fn short(text: &str) -> String {
    if text.chars().count() <= TABLE_CELL_CHARS_MAX {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(TABLE_CELL_CHARS_MAX - 1).collect();
    short.push('…');
    short
}
