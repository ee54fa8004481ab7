//! Decides whether a schema or exclusion update happens in place (product parts U2, U3, X1 to X3). The provider's plan
//! and the agent call this one function.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::stream::DirectSchemas;
use crate::types::Field;

/// All that an update's verdict depends on.
#[derive(Clone, Copy, Debug)]
pub struct UpdateQuestion<'a> {
    /// Every accepted schema of the stream, oldest first; the last is the one in force. Never empty.
    pub history: &'a [DirectSchemas],
    /// The ingestion table's columns, where they are known.
    pub table_columns: Option<&'a [Field]>,
    /// Deduplication paths of the stream.
    pub deduplication_columns: &'a BTreeSet<String>,
    /// Record filter of the stream.
    pub record_type_filter: Option<&'a str>,
    /// Exclusions in force.
    pub excluded: &'a BTreeSet<String>,
    /// Schemas asked for.
    pub new_schemas: &'a DirectSchemas,
    /// Exclusions asked for.
    pub new_excluded: &'a BTreeSet<String>,
}

/// What an update amounts to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The same in meaning; nothing to do.
    Unchanged,
    /// Compatible; happens in place.
    InPlace {
        /// What changes, one entry per path.
        changes: Vec<Finding>,
    },
    /// Not compatible; needs a new stream.
    Refused {
        /// Why, one entry per path.
        reasons: Vec<Finding>,
    },
}

/// One path of a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Path in the decoded record: `value.amount`, `key`, `value.items[].sku`.
    pub path: String,
    /// What happens there: `BIGINT → INT narrows`.
    pub text: String,
    /// What to do about it; empty in a change.
    pub remedy: String,
}
