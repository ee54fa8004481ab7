//! Rows on their way into the table: sent, followed by the stream's status, and looked at in the table's files.

use std::path::{Path, PathBuf};
use std::time::Duration;

use e2e::api::Api;
use e2e::producer::{Outgoing, RecordingProducer};
use e2e::wait::wait_until;
use featurestore_proto::v1::StreamStatus;

use crate::folder::Folder;
use crate::table::Table;

pub(crate) const TOPIC: &str = "card-transactions";
/// The table's folder below the warehouse.
pub(crate) const TABLE: &str = "main/payments/card_transactions_raw";
/// Sent at each look at the status, of which there are about twenty a second.
const RECORDS_A_LOOK: usize = 25;
/// A row is visible about a second after it was sent; this is for a machine under heavy load.
const ROWS_VISIBLE: Duration = Duration::from_secs(60);
/// Rows that are shown in full.
const SAMPLES: usize = 3;

/// One stream and its table.
pub(crate) struct Watch {
    api: Api,
    stream: String,
    table: PathBuf,
}

impl Watch {
    pub(crate) fn new(endpoint: &str, stream: &str, folder: &Folder) -> Self {
        Self {
            api: Api::new(endpoint),
            stream: stream.to_owned(),
            table: folder.data().join("warehouse").join(TABLE),
        }
    }

    pub(crate) fn table_folder(&self) -> &Path {
        &self.table
    }

    /// Rows in the table, as the agent tells.
    pub(crate) fn rows(&self) -> i64 {
        self.status().table.unwrap().rows
    }

    pub(crate) fn delete_stream(&self) {
        assert!(self.api.delete_stream(&self.stream).unwrap(), "the stream goes on being deleted");
    }

    /// Sends the records little by little, prints a line whenever rows or lag changed, and returns when all have.
    pub(crate) fn send_and_show(&self, producer: &RecordingProducer, records: Vec<Outgoing>) {
        let before = self.rows();
        let total = records.len();
        let mut records = records.into_iter();
        let mut acknowledged = 0;
        let mut shown = (before, 0);
        wait_until("all rows are in the table", ROWS_VISIBLE, || {
            let portion: Vec<Outgoing> = records.by_ref().take(RECORDS_A_LOOK).collect();
            if !portion.is_empty() {
                acknowledged += producer.send_all(TOPIC, &portion).len();
            }
            let status = self.status();
            let rows = status.table.as_ref().unwrap().rows;
            let complete = rows - before == i64::try_from(total).unwrap() && lag(&status) == Some(0);
            let seen = (rows, lag(&status).unwrap_or_default());
            if seen != shown {
                shown = seen;
                println!("  {}", progress(acknowledged, &status));
            }
            if complete { Ok(()) } else { Err(progress(acknowledged, &status)) }
        });
    }

    /// What is in the table's files.
    pub(crate) fn show_table(&self) {
        show_table(&self.table);
    }

    fn status(&self) -> StreamStatus {
        self.api.stream(&self.stream).unwrap().status.unwrap()
    }
}

/// Prints what is in a table's files.
pub(crate) fn show_table(folder: &Path) {
    let table = Table::read(folder);
    println!(
        "  {} holds {} rows:",
        folder.display(),
        counted(i64::try_from(table.rows()).unwrap())
    );
    for (partition, extent) in table.extents() {
        println!(
            "    partition {partition}: {} rows, offsets {} to {}",
            extent.rows, extent.first, extent.last
        );
    }
    for (index, row) in table.last_rows(SAMPLES).iter().enumerate() {
        if index == 0 {
            println!("  Some of them:");
        }
        println!("    {row}");
    }
}

fn progress(sent: usize, status: &StreamStatus) -> String {
    let table = status.table.as_ref().unwrap();
    let shown = |figure: Option<i64>| figure.map_or("?".to_owned(), |figure| figure.to_string());
    let positions: Vec<String> = status
        .partitions
        .iter()
        .map(|partition| format!("{} of {}", shown(partition.position), shown(partition.end)))
        .collect();
    format!(
        "{sent} sent; table version {}, {} rows; positions {}; lag {}",
        table.version.unwrap_or_default(),
        counted(table.rows),
        positions.join(", "),
        shown(lag(status))
    )
}

/// Messages that are in the topic and not in the table, as the agent last saw.
fn lag(status: &StreamStatus) -> Option<i64> {
    status.partitions.iter().map(|partition| partition.lag).sum()
}

/// A number as people read it: 2,500.
pub(crate) fn counted(number: i64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
