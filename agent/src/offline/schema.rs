//! `featurestore-agent schema`: what a schema makes of a table, and whether one can follow another in place.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};
use stream_spec::schema::{self, SchemaProblem};
use stream_spec::stream::{DirectSchemas, KafkaSource, KinesisSource, KinesisStreams, SchemaText, Side, SourceConfig, SubscriptionMode};
use stream_spec::table;
use stream_spec::types::{DataType, Field};
use stream_spec::verdict::{Finding, UpdateQuestion, Verdict, verdict};

use super::{Answer, OutputFormat, SchemaOptions, print, problem_json};

/// Questions about schemas.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum SchemaCommand {
    /// Say whether a stream with the schema OLD can take NEW in place; ends with exit code 4 if it cannot.
    Check(CheckArguments),
    /// Show the columns of a table whose messages have that schema.
    Columns(ColumnsArguments),
}

/// Two schemas, and what else an update depends on.
#[derive(Args, Clone, Debug)]
pub(crate) struct CheckArguments {
    /// File with the schema in force.
    #[arg(value_name = "OLD")]
    old: PathBuf,

    /// File with the schema that is to follow it.
    #[arg(value_name = "NEW")]
    new: PathBuf,

    /// Files with the schemas before OLD, oldest first: an update must fit all of them.
    #[arg(long, value_name = "FILE")]
    earlier: Vec<PathBuf>,

    #[command(flatten)]
    options: SchemaOptions,

    /// The schemas are of the messages' key, and not of their value.
    #[arg(long)]
    key: bool,

    /// A path of the stream's `deduplication_columns`; may be given more than once.
    #[arg(long, value_name = "PATH")]
    deduplication_column: Vec<String>,

    /// A path of the stream's `excluded_columns`; may be given more than once.
    #[arg(long, value_name = "PATH")]
    exclude: Vec<String>,

    /// The stream's `record_type_filter`.
    #[arg(long, value_name = "SQL")]
    filter: Option<String>,

    /// How the answer is written.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "table")]
    output: OutputFormat,
}

/// A schema.
#[derive(Args, Clone, Debug)]
pub(crate) struct ColumnsArguments {
    /// File with the schema.
    #[arg(value_name = "FILE")]
    schema: PathBuf,

    #[command(flatten)]
    options: SchemaOptions,

    /// The schema is of the messages' key, and not of their value.
    #[arg(long)]
    key: bool,

    /// A path that is excluded from the start; may be given more than once.
    #[arg(long, value_name = "PATH")]
    exclude: Vec<String>,

    /// What the messages come from: it adds columns of its own.
    #[arg(long, value_enum, value_name = "SOURCE", default_value = "kafka")]
    source: Source,

    /// How the answer is written.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "table")]
    output: OutputFormat,
}

/// A kind of source.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Source {
    /// Apache Kafka.
    Kafka,
    /// Amazon Kinesis.
    Kinesis,
}

pub(super) fn run(command: &SchemaCommand) -> anyhow::Result<Answer> {
    match command {
        SchemaCommand::Check(arguments) => check(arguments),
        SchemaCommand::Columns(arguments) => columns(arguments),
    }
}

fn side(key: bool) -> Side {
    if key { Side::Key } else { Side::Payload }
}

fn on_side(key: bool, text: SchemaText) -> DirectSchemas {
    match side(key) {
        Side::Key => DirectSchemas {
            key: Some(text),
            payload: None,
        },
        Side::Payload => DirectSchemas {
            key: None,
            payload: Some(text),
        },
    }
}

fn check(arguments: &CheckArguments) -> anyhow::Result<Answer> {
    let read = |path: &PathBuf| arguments.options.read(path);
    let mut history = Vec::new();
    for path in arguments.earlier.iter().chain([&arguments.old]) {
        let text = read(path)?;
        schema::parse(&text).map_err(|problems| unusable(path, &problems))?;
        history.push(on_side(arguments.key, text));
    }
    let new = on_side(arguments.key, read(&arguments.new)?);
    let deduplication_columns: BTreeSet<String> = arguments.deduplication_column.iter().cloned().collect();
    let excluded: BTreeSet<String> = arguments.exclude.iter().cloned().collect();
    let answer = verdict(&UpdateQuestion {
        history: &history,
        table_columns: None,
        deduplication_columns: &deduplication_columns,
        record_type_filter: arguments.filter.as_deref(),
        excluded: &excluded,
        new_schemas: &new,
        new_excluded: &excluded,
    });
    let (word, findings) = match &answer {
        Verdict::Unchanged => ("unchanged", &[] as &[Finding]),
        Verdict::InPlace { changes } => ("in place", changes.as_slice()),
        Verdict::Refused { reasons } => ("refused", reasons.as_slice()),
    };
    match arguments.output {
        OutputFormat::Json => {
            let findings: Vec<Value> = findings
                .iter()
                .map(|finding| problem_json(&finding.path, &finding.text, &finding.remedy))
                .collect();
            print(&format!("{}\n", json!({ "verdict": word, "findings": findings })))?;
        }
        OutputFormat::Table => {
            let mut text = format!("{word}\n");
            for finding in findings {
                text.push_str(&format!("  {}: {}\n", finding.path, finding.text));
                if !finding.remedy.is_empty() {
                    text.push_str(&format!("    {}\n", finding.remedy));
                }
            }
            print(&text)?;
        }
    }
    Ok(if matches!(answer, Verdict::Refused { .. }) {
        Answer::No
    } else {
        Answer::Yes
    })
}

fn columns(arguments: &ColumnsArguments) -> anyhow::Result<Answer> {
    let text = arguments.options.read(&arguments.schema)?;
    schema::parse(&text).map_err(|problems| unusable(&arguments.schema, &problems))?;
    let excluded: BTreeSet<String> = arguments.exclude.iter().cloned().collect();
    let source = match arguments.source {
        Source::Kafka => SourceConfig::Kafka(KafkaSource {
            subscription: SubscriptionMode::Subscribe(String::new()),
            extra_options: BTreeMap::new(),
        }),
        Source::Kinesis => SourceConfig::Kinesis(KinesisSource {
            streams: KinesisStreams::Names(BTreeSet::new()),
            extra_options: BTreeMap::new(),
        }),
    };
    let columns = table::columns(&source, &on_side(arguments.key, text), &excluded).map_err(|violations| {
        let lines: Vec<String> = violations.iter().map(|violation| format!("\n  {violation}")).collect();
        anyhow!("these columns cannot be:{}", lines.concat())
    })?;
    let rows = expand(&columns);
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    let lines = rows.iter().map(|(name, data_type)| match arguments.output {
        OutputFormat::Json => format!("{}\n", json!({ "name": name, "type": data_type })),
        OutputFormat::Table => format!("{name:<width$}  {data_type}\n"),
    });
    print(&lines.collect::<String>())?;
    Ok(Answer::Yes)
}

/// Columns and their types; a struct's fields each have a line of their own below it.
fn expand(columns: &[Field]) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    for column in columns {
        match &column.data_type {
            DataType::Struct(fields) => {
                rows.push((column.name.clone(), "STRUCT".to_owned()));
                let below = expand(fields).into_iter();
                rows.extend(below.map(|(name, data_type)| (format!("{}.{name}", column.name), data_type)));
            }
            other => rows.push((column.name.clone(), other.to_string())),
        }
    }
    rows
}

fn unusable(path: &Path, problems: &[SchemaProblem]) -> anyhow::Error {
    let lines: Vec<String> = problems.iter().map(|problem| format!("\n  {problem}")).collect();
    anyhow!("{} cannot be used:{}", path.display(), lines.concat())
}
