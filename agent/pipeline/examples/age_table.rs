//! Makes a table of ours old at once: many log entries and many live files, as years of commits would leave them.
//!
//! ```sh
//! cargo run --release -p stream-pipeline --example age_table -- --warehouse warehouse --entries 100000 --live 50000
//! ```
//!
//! An existing young table of a stream goes on from where it is: its positions stay, so the stream does too. Without one, a
//! table with the columns of `columns()` is made. Log entries are written as the agent's commits are, checkpoints by the
//! table's own care. Invariant: any reader can read the table; each live file is a real Parquet file as long as the log says,
//! too long to be compacted, of which the disk holds some kilobytes, because most of it is a hole and many names share it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail, ensure};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use serde_json::{Value, json};
use stream_pipeline::position::{PartitionId, Position, Positions};
use stream_pipeline::table::{Append, NewTable, SchemaVersion, SourceIdentity, TableCareSettings, TableState, Warehouse};
use stream_spec::name::TableName;
use stream_spec::types::{DataType, Field};

/// A table that this program makes has this owner.
const UID: &str = "00000000-0000-7000-8000-000000000001";
/// Longer than what the default care calls small: such a file stays as it is.
const FULL_FILE_BYTES: u64 = 65 * 1024 * 1024;
/// Names of one file; file systems allow some 65,000.
const LINKS_MAX: u64 = 1_000;
/// Small files that are put together by one commit.
const COMPACTED_FILES: usize = 64;
/// Entries between two checkpoints: the most that the table's care leaves.
const CHECKPOINT_ENTRIES: i64 = 2_000;
/// The entries are spread over so much of the past: less than the history, so that all of them stay.
const AGE: Duration = Duration::from_secs(6 * 24 * 60 * 60);
/// For one checkpoint.
const CHECKPOINT_WAIT: Duration = Duration::from_secs(300);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let flags = Flags::read()?;
    let name = TableName::parse(&flags.text("table", Some("main.bench.aged"))?)?;
    let entries = i64::try_from(flags.number("entries")?.context("`--entries` is missing")?)?;
    let live = i64::try_from(flags.number("live")?.context("`--live` is missing")?)?;
    ensure!(live <= entries, "a commit adds one file: `--live` is at most `--entries`");
    let warehouse = Warehouse::open(&flags.text("warehouse", None)?, None)?;
    let folder = PathBuf::from(warehouse.location(&name));
    if !folder.join("_delta_log").exists() {
        warehouse.create(new_table(&name)).await?;
    }
    let started = Instant::now();
    let young = YoungTable::read(&folder)?;
    let state = warehouse.read_state(&name, &young.uid).await?;
    let mut ager = Ager::begin(folder, &young, &state, (entries, live)).await?;
    while ager.version < entries {
        let next_checkpoint = (ager.version / CHECKPOINT_ENTRIES + 1) * CHECKPOINT_ENTRIES;
        ager.write_entries(next_checkpoint.min(entries))?;
        if ager.version == next_checkpoint {
            write_checkpoint(&warehouse, &name, &young.uid, ager.version).await?;
        }
    }
    let state = warehouse.read_state(&name, &young.uid).await?;
    println!(
        "{}: version {}, {} live files, {} rows, positions {:?}, after {:.1} s",
        ager.folder.display(),
        state.version,
        state.totals.files,
        state.totals.rows,
        state.positions,
        started.elapsed().as_secs_f64()
    );
    Ok(())
}

/// What only the log's texts say of a table that has all its entries.
struct YoungTable {
    uid: String,
    /// The newest transaction of each application, as commits repeat it.
    txns: Vec<Value>,
}

impl YoungTable {
    fn read(folder: &Path) -> anyhow::Result<Self> {
        let (mut uid, mut txns) = (None, BTreeMap::new());
        for version in 0.. {
            let path = entry_path(folder, version);
            if !path.exists() {
                break;
            }
            for line in fs::read_to_string(&path)?.lines() {
                let action: Value = serde_json::from_str(line).with_context(|| path.display().to_string())?;
                let text = |pointer| action.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
                uid = uid.or_else(|| text("/metaData/configuration/featurestore.stream_uid"));
                if let Some(app_id) = text("/txn/appId") {
                    txns.insert(app_id, action);
                }
            }
        }
        let uid = uid.with_context(|| format!("{} is no table of a stream, or not a young one", folder.display()))?;
        Ok(Self {
            uid,
            txns: txns.into_values().collect(),
        })
    }
}

/// A data file that gets many names.
struct SharedFile {
    bytes: Vec<u8>,
    /// Length with the hole.
    length: u64,
    stats: Value,
    links: u64,
    current: Option<PathBuf>,
}

impl SharedFile {
    /// A new name for it in that folder.
    fn link(&mut self, folder: &Path) -> anyhow::Result<String> {
        let name = format!("fs-{}.parquet", uuid::Uuid::new_v4());
        let path = folder.join(&name);
        match &self.current {
            Some(current) if self.links < LINKS_MAX => {
                fs::hard_link(current, &path)?;
                self.links += 1;
            }
            _ => {
                self.write(&path)?;
                self.current = Some(path);
                self.links = 1;
            }
        }
        Ok(name)
    }

    /// Parquet names what it holds by offsets from the start, and is read from its end: between the data and the footer
    /// there may be anything.
    fn write(&self, path: &Path) -> anyhow::Result<()> {
        let tail_of = |length: usize| self.bytes.len().checked_sub(length).context("no Parquet file");
        let (_, ending) = self.bytes.split_at(tail_of(8)?);
        let footer = ending.first_chunk::<4>().map_or(0, |length| u32::from_le_bytes(*length));
        let (data, footer) = self.bytes.split_at(tail_of(8 + usize::try_from(footer)?)?);
        let mut file = File::create_new(path)?;
        file.write_all(data)?;
        file.seek(SeekFrom::Start(self.length - u64::try_from(footer.len())?))?;
        file.write_all(footer)?;
        Ok(())
    }
}

/// Writes entries.
struct Ager {
    folder: PathBuf,
    txns: Vec<Value>,
    full: SharedFile,
    small: SharedFile,
    /// Live files that wait to be put together.
    pending: Vec<String>,
    version: i64,
    live: i64,
    entries_wanted: i64,
    live_wanted: i64,
    first_ms: i64,
}

impl Ager {
    async fn begin(folder: PathBuf, young: &YoungTable, state: &TableState, wanted: (i64, i64)) -> anyhow::Result<Self> {
        let (bytes, stats) = file_of_rows(state).await?;
        let shared = |length: u64| SharedFile {
            bytes: bytes.clone(),
            length,
            stats: stats.clone(),
            links: 0,
            current: None,
        };
        Ok(Self {
            folder,
            txns: young.txns.clone(),
            full: shared(FULL_FILE_BYTES),
            small: shared(u64::try_from(bytes.len())?),
            pending: Vec::new(),
            version: state.version,
            live: state.totals.files,
            entries_wanted: wanted.0,
            live_wanted: wanted.1,
            first_ms: now_ms()? - i64::try_from(AGE.as_millis())?,
        })
    }

    fn write_entries(&mut self, last: i64) -> anyhow::Result<()> {
        while self.version < last {
            self.write_entry()?;
        }
        Ok(())
    }

    /// The next commit: a full file or a small one, in such a mixture that the wanted number of files is live at the end; or
    /// small ones put together.
    fn write_entry(&mut self) -> anyhow::Result<()> {
        let version = self.version + 1;
        let span = i64::try_from(AGE.as_millis())?;
        let time_ms = self.first_ms + span * version / self.entries_wanted.max(1);
        let behind = self.live * self.entries_wanted < self.live_wanted * version;
        let actions = if self.pending.len() >= COMPACTED_FILES {
            let removals: Vec<Value> = self
                .pending
                .drain(..)
                .map(|path| removal(&path, self.small.length, time_ms))
                .collect();
            self.live -= i64::try_from(removals.len())? - 1;
            let mut actions = removals;
            actions.push(addition(&mut self.full, &self.folder, time_ms, false)?);
            actions
        } else {
            let file = if behind { &mut self.full } else { &mut self.small };
            let add = addition(file, &self.folder, time_ms, true)?;
            self.live += 1;
            if !behind {
                let path = add.pointer("/add/path").and_then(Value::as_str).unwrap_or_default();
                self.pending.push(path.to_owned());
            }
            self.txns.iter().cloned().chain([add]).collect()
        };
        let appends = actions.iter().all(|action| action.get("remove").is_none());
        let info = json!({"commitInfo": {
            "timestamp": time_ms, "operation": if appends { "WRITE" } else { "OPTIMIZE" }, "operationParameters": {},
            "isBlindAppend": appends, "engineInfo": "age_table", "featurestore.commitId": uuid::Uuid::new_v4().to_string(),
        }});
        let text: String = std::iter::once(info).chain(actions).map(|action| format!("{action}\n")).collect();
        let mut file = File::create_new(entry_path(&self.folder, version))?;
        file.write_all(text.as_bytes())?;
        file.set_modified(UNIX_EPOCH + Duration::from_millis(time_ms.unsigned_abs()))?;
        self.version = version;
        Ok(())
    }
}

fn addition(file: &mut SharedFile, folder: &Path, time_ms: i64, data_change: bool) -> anyhow::Result<Value> {
    Ok(json!({"add": {
        "path": file.link(folder)?, "partitionValues": {}, "size": file.length, "modificationTime": time_ms,
        "dataChange": data_change, "stats": file.stats,
    }}))
}

fn removal(path: &str, bytes: u64, time_ms: i64) -> Value {
    json!({"remove": {
        "path": path, "deletionTimestamp": time_ms, "dataChange": false, "extendedFileMetadata": true, "partitionValues": {},
        "size": bytes,
    }})
}

/// A data file of some rows in the table's columns with the statistics of its log entry, by the table room's own writer.
async fn file_of_rows(state: &TableState) -> anyhow::Result<(Vec<u8>, Value)> {
    const ROWS: i64 = 10;
    let scratch = tempfile::tempdir()?;
    let warehouse = Warehouse::open(&scratch.path().to_string_lossy(), None)?;
    let name = TableName::parse("main.bench.scratch")?;
    let table = NewTable {
        columns: state.columns.clone(),
        ..new_table(&name)
    };
    warehouse.create(table).await?;
    let has = |name: &str, data_type: &DataType| {
        state
            .columns
            .iter()
            .any(|field| field.name == name && field.data_type == *data_type)
    };
    let mut columns: Vec<(&str, ArrayRef)> = Vec::new();
    if has("record_source", &DataType::String) {
        columns.push((
            "record_source",
            Arc::new(StringArray::from_iter_values((0..ROWS).map(|_| "stream"))),
        ));
    }
    if has("kafka_offset", &DataType::BigInt) {
        columns.push(("kafka_offset", Arc::new(Int64Array::from_iter_values(0..ROWS))));
    }
    ensure!(
        !columns.is_empty(),
        "the table has none of the columns that every Kafka stream's table has"
    );
    let handle = warehouse.open_table(&name, UID, TableCareSettings::default()).await?;
    let version = handle
        .append(Append {
            batches: vec![RecordBatch::try_from_iter(columns)?],
            positions: at(ROWS),
        })
        .await?;
    handle.close().await;
    let folder = PathBuf::from(warehouse.location(&name));
    let entry = fs::read_to_string(entry_path(&folder, version))?;
    let actions = entry.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
    let add = actions
        .iter()
        .find_map(|action| action.get("add"))
        .context("the scratch table's commit adds no file")?;
    let path = add.get("path").and_then(Value::as_str).context("a file without a path")?;
    Ok((fs::read(folder.join(path))?, add.get("stats").cloned().unwrap_or_default()))
}

/// Opens the table and lets its care write the checkpoint that is due.
async fn write_checkpoint(warehouse: &Warehouse, name: &TableName, uid: &str, version: i64) -> anyhow::Result<()> {
    // Nothing but checkpoints and sweeps is to become due.
    let care = TableCareSettings {
        compact_at_files: usize::MAX,
        ..TableCareSettings::default()
    };
    let handle = warehouse.open_table(name, uid, care).await?;
    let hint = PathBuf::from(warehouse.location(name)).join("_delta_log/_last_checkpoint");
    let deadline = Instant::now() + CHECKPOINT_WAIT;
    loop {
        handle.probe().await?;
        let text = fs::read(&hint).unwrap_or_default();
        let last = serde_json::from_slice::<Value>(&text)
            .ok()
            .and_then(|hint| hint.get("version")?.as_i64());
        if last.is_some_and(|last| last >= version) {
            break;
        }
        if Instant::now() >= deadline {
            bail!("no checkpoint of version {version} after {CHECKPOINT_WAIT:?}; the last is {last:?}");
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    handle.close().await;
    Ok(())
}

fn new_table(name: &TableName) -> NewTable {
    NewTable {
        name: name.clone(),
        stream_uid: UID.to_owned(),
        generation: 1,
        columns: columns(),
        positions: at(0),
        source: SourceIdentity::default(),
        schemas: SchemaVersion::default(),
        registry: None,
        history: TableCareSettings::default().history,
    }
}

fn columns() -> Vec<Field> {
    let value = vec![
        Field::new("order_id", DataType::BigInt),
        Field::new("amount", DataType::Double),
        Field::new("note", DataType::String),
    ];
    vec![
        Field::new("key", DataType::String),
        Field::new("value", DataType::Struct(value)),
        Field::new("stream_record_timestamp", DataType::Timestamp),
        Field::new("record_source", DataType::String),
        Field::new("kafka_topic", DataType::String),
        Field::new("kafka_partition", DataType::Int),
        Field::new("kafka_offset", DataType::BigInt),
    ]
}

/// A position of the one partition that the table of this program has.
fn at(next_offset: i64) -> Positions {
    let id = PartitionId {
        topic: "orders".to_owned(),
        partition: 0,
    };
    Positions::from([(id, Position::new(next_offset, 0))])
}

fn entry_path(folder: &Path, version: i64) -> PathBuf {
    folder.join(format!("_delta_log/{version:020}.json"))
}

fn now_ms() -> anyhow::Result<i64> {
    Ok(i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?)
}

/// `--name value` pairs.
struct Flags(BTreeMap<String, String>);

impl Flags {
    fn read() -> anyhow::Result<Self> {
        let mut flags = BTreeMap::new();
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            let name = name
                .strip_prefix("--")
                .with_context(|| format!("`{name}` is not a flag; write `--name value`"))?;
            flags.insert(
                name.to_owned(),
                arguments.next().with_context(|| format!("`--{name}` needs a value"))?,
            );
        }
        Ok(Self(flags))
    }

    fn text(&self, name: &str, default: Option<&str>) -> anyhow::Result<String> {
        let value = self.0.get(name).map(String::as_str).or(default);
        Ok(value.with_context(|| format!("`--{name}` is missing"))?.to_owned())
    }

    fn number(&self, name: &str) -> anyhow::Result<Option<u64>> {
        self.0
            .get(name)
            .map(|value| value.parse().with_context(|| format!("`--{name}` is {value:?}, not a number")))
            .transpose()
    }
}
