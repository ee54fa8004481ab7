//! `sql`: runs one statement about connections on an agent that runs, and shows its answer. The agent decides; a statement's text
//! goes nowhere else.

use std::io::Read;

use anyhow::{Context, bail};
use clap::Args;
use featurestore_proto::v1;
use featurestore_proto::v1::connection_service_client::ConnectionServiceClient;
use stream_spec::limits::SQL_TEXT_BYTES_MAX;

use crate::client::{self, ClientArguments};
use crate::serve::announce;

/// A statement to run.
#[derive(Args, Clone, Debug)]
pub(crate) struct SqlArguments {
    #[command(flatten)]
    client: ClientArguments,

    /// One CREATE, ALTER, DROP, SHOW, DESCRIBE or COMMENT ON CONNECTION statement. Without it, the statement is read from standard
    /// input: every process of this machine can see arguments, so a statement with a password in it is better not one.
    #[arg(short = 'e', long = "execute", value_name = "SQL")]
    execute: Option<String>,
}

/// Runs it.
pub(crate) fn run(arguments: SqlArguments) -> anyhow::Result<()> {
    let statement = match arguments.execute {
        Some(statement) => statement,
        None => from(std::io::stdin().lock())?,
    };
    let answer = client::run(&arguments.client, |channel| async move {
        let answer = ConnectionServiceClient::new(channel)
            .execute_sql(v1::ExecuteSqlRequest { statement })
            .await;
        Ok(answer.map_err(|status| client::refused(&status))?.into_inner())
    })?;
    for line in lines(&answer) {
        announce(&line)?;
    }
    Ok(())
}

fn from(input: impl Read) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let most = u64::try_from(SQL_TEXT_BYTES_MAX).unwrap_or(u64::MAX);
    input
        .take(most + 1)
        .read_to_end(&mut bytes)
        .context("cannot read the statement from standard input")?;
    if bytes.len() > SQL_TEXT_BYTES_MAX {
        bail!("the statement has more than {SQL_TEXT_BYTES_MAX} bytes");
    }
    String::from_utf8(bytes)
        .ok()
        .context("the statement on standard input is no text in UTF-8")
}

/// The answer as lines of aligned columns, under their names; a single column, which is an outcome, without its name.
fn lines(answer: &v1::ExecuteSqlResponse) -> Vec<String> {
    let shown = |values: &[String]| values.iter().map(|value| one_line(value)).collect::<Vec<_>>();
    let mut table: Vec<Vec<String>> = answer.rows.iter().map(|row| shown(&row.values)).collect();
    if answer.columns.len() > 1 {
        table.insert(0, shown(&answer.columns));
    }
    let mut widths = vec![0; answer.columns.len()];
    for row in &table {
        for (width, value) in widths.iter_mut().zip(row) {
            *width = value.chars().count().max(*width);
        }
    }
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(value, width)| format!("{value:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    table.iter().map(line).collect()
}

/// Control characters are shown as escapes: a comment must not move a terminal's cursor, nor certificates break the columns.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() {
            line.extend(letter.escape_default());
        } else {
            line.push(letter);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(columns: &[&str], rows: &[&[&str]], expected: &[&str]) {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let answer = v1::ExecuteSqlResponse {
            columns: texts(columns),
            rows: rows.iter().map(|row| v1::SqlRow { values: texts(row) }).collect(),
        };
        assert_eq!(lines(&answer), expected);
    }

    #[test]
    fn answers_are_lines_of_aligned_columns() {
        check(&["result"], &[&["created connection `p`"]], &["created connection `p`"]);
        check(
            &["name", "type", "comment"],
            &[&["p", "KAFKA", ""], &["payments", "KINESIS", "a\n\u{1b}[2Jb"]],
            &[
                "name      type     comment",
                "p         KAFKA",
                "payments  KINESIS  a\\n\\u{1b}[2Jb",
            ],
        );
        check(&["name", "type"], &[], &["name  type"]);
    }

    #[test]
    fn a_statement_from_standard_input_is_a_text_and_bounded() {
        assert_eq!(from("SHOW CONNECTIONS".as_bytes()).unwrap(), "SHOW CONNECTIONS");
        assert!(from(&[0xff, 0xfe][..]).is_err());
        assert!(from(std::io::repeat(b'a')).unwrap_err().to_string().contains("more than"));
    }
}
