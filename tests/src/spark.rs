//! Spark with Delta, as a reader and a writer of tables that is not ours. One session serves all tests of a run: a start takes
//! as long as many requests. Invariant: nothing here uses the product's own code.

use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use serde_json::{Value, json};

use crate::paths::test_parts;
use crate::tables::Script;

/// All rows of a version of a table.
///
/// # Errors
/// Spark's own words.
pub fn rows_of_version(table: &Path, version: i64) -> Result<Vec<Value>, String> {
    let answer = ask(&json!({"action": "rows_of_version", "path": table, "version": version}))?;
    Ok(answer.as_array().expect("a list of rows").clone())
}

/// Runs a statement; `{table}` stands for the table.
///
/// # Errors
/// Spark's own words.
pub fn statement(table: &Path, text: &str) -> Result<Value, String> {
    let text = text.replace("{table}", &format!("delta.`{}`", table.display()));
    ask(&json!({"action": "statement", "text": text}))
}

/// How many files Spark reads for a predicate, and how many there are.
///
/// # Errors
/// Spark's own words.
pub fn files_read(table: &Path, predicate: &str) -> Result<Value, String> {
    ask(&json!({"action": "files_read", "path": table, "predicate": predicate}))
}

fn ask(request: &Value) -> Result<Value, String> {
    static SPARK: OnceLock<Mutex<Script>> = OnceLock::new();
    let spark = SPARK.get_or_init(|| Mutex::new(Script::start_with(&test_parts().spark, "spark_tables.py")));
    // As for the other readers: a test that failed left no half request behind.
    spark.lock().unwrap_or_else(PoisonError::into_inner).ask(request)
}
