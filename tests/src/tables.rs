//! Delta tables as other software sees them: DuckDB and Polars read them, delta-rs changes them behind the agent's back.
//! Invariant: nothing here uses the product's own code.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use serde_json::{Value, json};

use crate::paths::{repository, test_parts};
use crate::spawn::spawn;

/// The two readers that every claim about rows is checked with.
pub const READERS: [&str; 2] = ["duckdb", "polars"];

struct Python {
    /// Lives as long as the run; the death signal ends it.
    _process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// All rows of a table as one reader sees them, with all columns or with some.
///
/// # Errors
/// The reader's own words.
pub fn rows(reader: &str, table: &Path, columns: &[&str]) -> Result<Vec<Value>, String> {
    let request = json!({"action": "rows", "reader": reader, "path": table, "columns": columns});
    ask(&request).map(|answer| answer.as_array().expect("a list of rows").clone())
}

/// Names and types of a table's columns as one reader sees them.
///
/// # Errors
/// The reader's own words.
pub fn columns(reader: &str, table: &Path) -> Result<Vec<(String, String)>, String> {
    let answer = ask(&json!({"action": "columns", "reader": reader, "path": table}))?;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    Ok(answer
        .as_array()
        .unwrap()
        .iter()
        .map(|column| (text(&column[0]), text(&column[1])))
        .collect())
}

/// Names of a table's columns, by DuckDB.
#[must_use]
pub fn column_names(table: &Path) -> Vec<String> {
    columns("duckdb", table).unwrap().into_iter().map(|(name, _)| name).collect()
}

/// Someone adds a nullable column.
pub fn add_column(table: &Path, name: &str) {
    ask(&json!({"action": "add_column", "path": table, "name": name})).unwrap();
}

/// Someone deletes the rows that fulfil a predicate.
pub fn delete_rows(table: &Path, predicate: &str) {
    ask(&json!({"action": "delete_rows", "path": table, "predicate": predicate})).unwrap();
}

/// Someone writes another schema over the table.
pub fn overwrite(table: &Path) {
    ask(&json!({"action": "overwrite", "path": table})).unwrap();
}

/// Version of a table, by delta-rs.
#[must_use]
pub fn version(table: &Path) -> i64 {
    ask(&json!({"action": "version", "path": table})).unwrap().as_i64().unwrap()
}

/// Someone takes the table back to an earlier version.
pub fn restore(table: &Path, version: i64) {
    ask(&json!({"action": "restore", "path": table, "version": version})).unwrap();
}

/// Number of the newest log entry, counted by file name: cheap enough to be asked in a loop.
#[must_use]
pub fn log_entries(table: &Path) -> usize {
    let names = std::fs::read_dir(table.join("_delta_log")).into_iter().flatten().flatten();
    names
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".json")?.parse::<usize>().ok())
        .max()
        .unwrap_or_default()
}

/// Someone makes a table of their own.
pub fn foreign_table(table: &Path) {
    ask(&json!({"action": "foreign_table", "path": table})).unwrap();
}

fn ask(request: &Value) -> Result<Value, String> {
    static PYTHON: OnceLock<Mutex<Python>> = OnceLock::new();
    let python = PYTHON.get_or_init(|| Mutex::new(start()));
    // A test that failed while it held the lock left no half request behind: one line is one request.
    let mut python = python.lock().unwrap_or_else(PoisonError::into_inner);
    writeln!(python.requests, "{request}").expect("write to the table reader");
    let mut line = String::new();
    python.answers.read_line(&mut line).expect("read from the table reader");
    let answer: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("`{line}`: {error}"));
    match answer.get("error") {
        Some(error) => Err(error.as_str().unwrap_or_default().to_owned()),
        None => Ok(answer["ok"].clone()),
    }
}

fn start() -> Python {
    let mut command = Command::new(&test_parts().python);
    command
        .arg(repository().join("tests/python/tables.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut process = spawn(command).expect("start the table reader");
    let requests = process.stdin.take().unwrap();
    let answers = BufReader::new(process.stdout.take().unwrap());
    Python {
        _process: process,
        requests,
        answers,
    }
}
