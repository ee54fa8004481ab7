//! Delta tables as other software sees them: DuckDB and Polars read them, delta-rs changes them behind the agent's back.
//! Invariant: nothing here uses the product's own code.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

use serde_json::{Value, json};

use crate::limits::SCRIPT_ANSWER;
use crate::paths::{fresh_folder, repository, test_parts};
use crate::spawn::spawn;

/// The two readers that every claim about rows is checked with.
pub const READERS: [&str; 2] = ["duckdb", "polars"];

/// A script of `tests/python` that answers one request a line.
pub struct Script {
    process: Child,
    requests: ChildStdin,
    answers: Receiver<String>,
}

impl Script {
    /// Starts the script of that name.
    #[must_use]
    pub fn start(name: &str) -> Self {
        Self::start_with(&test_parts().python, name)
    }

    /// The same with that Python.
    #[must_use]
    pub fn start_with(python: &Path, name: &str) -> Self {
        // What it leaves lying about is of this run.
        let folder = fresh_folder(name.trim_end_matches(".py"));
        let mut command = Command::new(python);
        command
            .current_dir(&folder)
            .env("TMPDIR", &folder)
            .arg(repository().join("tests/python").join(name))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut process = spawn(command).unwrap_or_else(|error| panic!("start {name}: {error}"));
        let requests = process.stdin.take().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let (lines, answers) = channel();
        thread::spawn(move || output.lines().map_while(Result::ok).for_each(|line| drop(lines.send(line))));
        Self {
            process,
            requests,
            answers,
        }
    }

    /// Asks, and waits for the answer. A script that gives none is killed: whoever asks it after that fails at once.
    ///
    /// # Errors
    /// What the script met, in its own words.
    pub fn ask(&mut self, request: &Value) -> Result<Value, String> {
        writeln!(self.requests, "{request}").expect("write to the script");
        let line = self.answers.recv_timeout(SCRIPT_ANSWER).unwrap_or_else(|error| {
            let _ = self.process.kill();
            panic!("no answer to {request} within {SCRIPT_ANSWER:?}: {error}")
        });
        let answer: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("`{line}`: {error}"));
        match answer.get("error") {
            Some(error) => Err(error.as_str().unwrap_or_default().to_owned()),
            None => Ok(answer["ok"].clone()),
        }
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
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

/// Someone changes values: column to SQL expression.
///
/// # Errors
/// The writer's own words.
pub fn update_rows(table: &Path, predicate: &str, updates: &Value) -> Result<Value, String> {
    ask(&json!({"action": "update_rows", "path": table, "predicate": predicate, "updates": updates}))
}

/// As [`delete_rows`], where it may lose against another writer.
///
/// # Errors
/// The writer's own words.
pub fn try_delete_rows(table: &Path, predicate: &str) -> Result<Value, String> {
    ask(&json!({"action": "delete_rows", "path": table, "predicate": predicate}))
}

/// Someone puts small files together, in the order of some columns if there are any.
///
/// # Errors
/// The writer's own words.
pub fn optimize(table: &Path, z_order: &[&str]) -> Result<Value, String> {
    ask(&json!({"action": "optimize", "path": table, "z_order": z_order}))
}

/// Someone deletes the files that no version within so many hours needs.
///
/// # Errors
/// The writer's own words.
pub fn vacuum(table: &Path, hours: Option<u32>) -> Result<Value, String> {
    ask(&json!({"action": "vacuum", "path": table, "hours": hours}))
}

/// All rows of a version of a table, by DuckDB.
///
/// # Errors
/// The reader's own words.
pub fn rows_of_version(table: &Path, version: i64) -> Result<Vec<Value>, String> {
    let answer = ask(&json!({"action": "rows_of_version", "path": table, "version": version}))?;
    Ok(answer.as_array().expect("a list of rows").clone())
}

/// All rows of a version of a table as one reader sees them.
///
/// # Errors
/// The reader's own words.
pub fn rows_of_version_by(reader: &str, table: &Path, version: i64) -> Result<Vec<Value>, String> {
    let answer = ask(&json!({"action": "rows_of_version", "reader": reader, "path": table, "version": version}))?;
    Ok(answer.as_array().expect("a list of rows").clone())
}

/// How many files DuckDB reads for a predicate, and how many there are.
///
/// # Errors
/// The reader's own words.
pub fn files_read(table: &Path, predicate: &str) -> Result<Value, String> {
    ask(&json!({"action": "files_read", "path": table, "predicate": predicate}))
}

/// Offsets of the rows with exactly that timestamp, as one reader finds them.
///
/// # Errors
/// The reader's own words.
pub fn offsets_at(reader: &str, table: &Path, micros: i64) -> Result<Value, String> {
    ask(&json!({"action": "offsets_at", "reader": reader, "path": table, "micros": micros}))
}

/// What delta-rs takes for the statistics of each file.
#[must_use]
pub fn statistics(table: &Path) -> Vec<Value> {
    let answer = ask(&json!({"action": "statistics", "path": table})).unwrap();
    answer.as_array().unwrap().clone()
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
    static PYTHON: OnceLock<Mutex<Script>> = OnceLock::new();
    let python = PYTHON.get_or_init(|| Mutex::new(Script::start("tables.py")));
    // A test that failed while it held the lock left no half request behind: one line is one request.
    python.lock().unwrap_or_else(PoisonError::into_inner).ask(request)
}
