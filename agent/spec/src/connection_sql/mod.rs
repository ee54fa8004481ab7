//! SQL about connections (product part C2): from one statement's text to what is asked for.
//!
//! ```sql
//! CREATE CONNECTION [IF NOT EXISTS] name TYPE KAFKA|KINESIS [OPTIONS (option value, …)] [COMMENT 'text']
//! ALTER CONNECTION name [OPTIONS (option value, …)] [UNSET OPTIONS (option, …)]
//! DROP CONNECTION [IF EXISTS] name
//! SHOW CONNECTIONS
//! DESCRIBE CONNECTION name
//! COMMENT ON CONNECTION name IS 'text'|NULL
//! ```
//!
//! Names are bare or in backticks; option names in quotes too. A value is a text in quotes, with Spark's escapes, a number, TRUE or
//! FALSE, or `secret('scope', 'key')`; `=` may stand before it. The invariant: no error repeats anything that may be a value,
//! and whatever may be one is wiped.

mod parse;
#[cfg(test)]
mod tests;
mod tokens;

use std::collections::BTreeSet;

use zeroize::Zeroizing;

use crate::connection::ConnectionKind;
use crate::name::ConnectionName;
use crate::options::connection::{self as registry, ConnectionOption};
use crate::stream::SecretRef;

pub use parse::parse;

/// A place in a statement: line and column from 1, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Line.
    pub line: usize,
    /// Column.
    pub column: usize,
}

/// What is wrong with a statement, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {}, column {}: {problem}; {remedy}", place.line, place.column)]
pub struct SqlError {
    /// Where.
    pub place: Place,
    /// What is wrong, lower case.
    pub problem: String,
    /// What to write instead, lower case.
    pub remedy: String,
}

impl SqlError {
    fn new(place: Place, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            place,
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }
}

/// A text that may be a secret: it is wiped when it is dropped, and printing shows none of it.
#[derive(Clone, PartialEq, Eq)]
pub struct SqlText(Zeroizing<String>);

impl SqlText {
    /// Takes the text over. Copies that were made of it before are the caller's to wipe.
    fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// The text, for whoever looks at it where it is.
    fn expose(&self) -> &str {
        &self.0
    }

    /// The text itself, for whoever keeps it or wipes it.
    pub fn into_string(mut self) -> String {
        std::mem::take(&mut *self.0)
    }
}

impl std::fmt::Debug for SqlText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[redacted]")
    }
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SqlValue {
    /// As it is written.
    Literal(SqlText),
    /// `secret('scope', 'key')`.
    Secret(SecretRef),
}

/// The name of an option, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionName {
    text: SqlText,
    /// In single or double quotes: then it may be a value whose quotes were lost, and is not repeated.
    in_quotes: bool,
    place: Place,
}

/// One option and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlOption {
    /// Which.
    pub name: OptionName,
    /// What it is set to.
    pub value: SqlValue,
}

/// What a statement asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// Make a connection.
    Create {
        /// Its name.
        name: ConnectionName,
        /// Do nothing if the name is taken.
        if_not_exists: bool,
        /// What it leads to.
        kind: ConnectionKind,
        /// How.
        options: Vec<SqlOption>,
        /// Free text.
        comment: Option<String>,
    },
    /// Change options.
    Alter {
        /// Of which connection.
        name: ConnectionName,
        /// To be set.
        set: Vec<SqlOption>,
        /// To be taken away.
        unset: Vec<OptionName>,
    },
    /// Delete a connection.
    Drop {
        /// Which.
        name: ConnectionName,
        /// Do nothing if it is not there.
        if_exists: bool,
    },
    /// List connections.
    Show,
    /// Show one connection.
    Describe {
        /// Which.
        name: ConnectionName,
    },
    /// Change the comment.
    Comment {
        /// Of which connection.
        name: ConnectionName,
        /// The new one; `None` takes it away.
        comment: Option<String>,
    },
}

/// An option of a kind of connection, and what a statement sets it to; `None` takes it away.
pub type Setting = (&'static ConnectionOption, Option<SqlValue>);

/// The options that a statement names, as those of a kind. Errors: one that is not there, or is named twice, or refers to a secret
/// though it is none.
pub fn settings(kind: ConnectionKind, set: Vec<SqlOption>, unset: Vec<OptionName>) -> Result<Vec<Setting>, SqlError> {
    let set = set.into_iter().map(|option| (option.name, Some(option.value)));
    let unset = unset.into_iter().map(|name| (name, None));
    let mut seen = BTreeSet::new();
    let mut settings = Vec::new();
    for (name, value) in set.chain(unset) {
        let option = name.of_kind(kind)?;
        if !seen.insert(option.name) {
            let problem = format!("the option `{}` is named twice", option.name);
            return Err(SqlError::new(name.place, problem, "name it once"));
        }
        if matches!(value, Some(SqlValue::Secret(_))) && !option.is_secret() {
            let secrets: Vec<&str> = registry::all(kind)
                .iter()
                .filter(|option| option.is_secret())
                .map(|option| option.name)
                .collect();
            let problem = format!("the option `{}` is no secret", option.name);
            let remedy = match secrets.is_empty() {
                true => "write the value in quotes".to_owned(),
                false => format!("write the value in quotes: secret() is for {}", secrets.join(" and ")),
            };
            return Err(SqlError::new(name.place, problem, remedy));
        }
        settings.push((option, value));
    }
    Ok(settings)
}

impl OptionName {
    fn of_kind(&self, kind: ConnectionKind) -> Result<&'static ConnectionOption, SqlError> {
        registry::find(kind, self.text.expose()).map_err(|(problem, remedy)| {
            if self.in_quotes {
                let names: Vec<&str> = registry::all(kind).iter().map(|option| option.name).collect();
                let remedy = format!("use {}, and double each quote inside a text", names.join(", "));
                return SqlError::new(self.place, format!("this is not an option of a {kind} connection"), remedy);
            }
            SqlError::new(self.place, problem, remedy)
        })
    }
}
