//! Actions of the Delta protocol as the log's JSON spells them, as far as this room reads or writes them.
//!
//! No meaning here. Invariant: what we read of an action and write again keeps every field that the protocol gives it and that
//! our tables can have.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Key of our commit's id in `commitInfo`: how a commit of unknown outcome is found again.
pub(in crate::table) const COMMIT_ID: &str = "featurestore.commitId";

/// One line of an entry, or one row of a checkpoint: exactly one field is set. Actions that are not named here do not matter
/// to us, or come with a table feature that [`crate::table::classify`] refuses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::table) struct Action {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit_info: Option<serde_json::Map<String, serde_json::Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta_data: Option<Metadata>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub txn: Option<Txn>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub add: Option<Add>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remove: Option<Remove>,
}

/// What a reader and a writer must understand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::table) struct Protocol {
    pub min_reader_version: i32,
    pub min_writer_version: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reader_features: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer_features: Option<Vec<String>>,
}

/// What the table is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::table) struct Metadata {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub format: Format,
    pub schema_string: String,
    #[serde(default)]
    pub partition_columns: Vec<String>,
    #[serde(default)]
    pub configuration: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_time: Option<i64>,
}

/// How data files are encoded; always Parquet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::table) struct Format {
    pub provider: String,
    #[serde(default)]
    pub options: BTreeMap<String, String>,
}

impl Default for Format {
    fn default() -> Self {
        Self {
            provider: "parquet".into(),
            options: BTreeMap::new(),
        }
    }
}

/// An application's own version, kept by the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::table) struct Txn {
    pub app_id: String,
    pub version: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<i64>,
}

/// A file of the table from this version on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::table) struct Add {
    pub path: String,
    #[serde(default)]
    pub partition_values: BTreeMap<String, Option<String>>,
    pub size: i64,
    pub modification_time: i64,
    pub data_change: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stats: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<BTreeMap<String, Option<String>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_vector: Option<DeletionVector>,
}

impl Add {
    /// What identifies the file in the log.
    pub(in crate::table) fn key(&self) -> String {
        file_key(&self.path, self.deletion_vector.as_ref())
    }

    /// Rows, as the statistics say; nothing if they do not.
    pub(in crate::table) fn rows(&self) -> Option<i64> {
        rows_of(self.stats.as_deref()?)
    }

    /// Rows that a reader sees, where known: without those that the deletion vector hides.
    pub(in crate::table) fn live_rows(&self) -> Option<i64> {
        Some(self.rows()? - self.deletion_vector.as_ref().map_or(0, |vector| vector.cardinality))
    }
}

/// A file that is no longer in the table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::table) struct Remove {
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<i64>,
    pub data_change: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extended_file_metadata: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition_values: Option<BTreeMap<String, Option<String>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_vector: Option<DeletionVector>,
}

impl Remove {
    /// What identifies the file in the log.
    pub(in crate::table) fn key(&self) -> String {
        file_key(&self.path, self.deletion_vector.as_ref())
    }
}

/// Which rows of a file are deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::table) struct DeletionVector {
    pub storage_type: String,
    pub path_or_inline_dv: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<i32>,
    pub size_in_bytes: i32,
    pub cardinality: i64,
}

/// One file with one deletion vector is one logical file; a change of the vector is a removal and an addition.
pub(in crate::table) fn file_key(path: &str, vector: Option<&DeletionVector>) -> String {
    match vector {
        None => path.to_owned(),
        Some(vector) => format!(
            "{path}\n{}{}@{}",
            vector.storage_type,
            vector.path_or_inline_dv,
            vector.offset.unwrap_or_default()
        ),
    }
}

/// Rows that a file's statistics name.
pub(in crate::table) fn rows_of(stats: &str) -> Option<i64> {
    #[derive(Deserialize)]
    struct Rows {
        #[serde(rename = "numRecords")]
        rows: Option<i64>,
    }
    serde_json::from_str::<Rows>(stats).ok()?.rows
}

/// Reads the lines of an entry.
pub(in crate::table) fn parse_entry(text: &[u8]) -> Result<Vec<Action>, serde_json::Error> {
    text.split(|byte| *byte == b'\n')
        .filter(|line| !line.trim_ascii().is_empty())
        .map(serde_json::from_slice)
        .collect()
}

/// Writes the lines of an entry.
pub(in crate::table) fn entry_text(actions: &[Action]) -> Result<Vec<u8>, serde_json::Error> {
    let mut text = Vec::with_capacity(actions.len() * 256);
    for action in actions {
        serde_json::to_writer(&mut text, action)?;
        text.push(b'\n');
    }
    Ok(text)
}

/// The commit id in an entry, if it is one of ours.
pub(in crate::table) fn commit_id(actions: &[Action]) -> Option<&str> {
    actions
        .iter()
        .find_map(|action| action.commit_info.as_ref())?
        .get(COMMIT_ID)?
        .as_str()
}

macro_rules! action_from {
    ($($field:ident: $type:ty),+) => {$(
        impl From<$type> for Action {
            fn from(value: $type) -> Self {
                Self { $field: Some(value), ..Self::default() }
            }
        }
    )+};
}
action_from!(protocol: Protocol, meta_data: Metadata, txn: Txn, add: Add, remove: Remove);
