//! Runs one stream from a Kafka topic into a Delta table, without the agent: for measurements and for looking closely.
//!
//! ```sh
//! cargo run -p stream-pipeline --example run_stream -- --bootstrap localhost:9092 --topic orders --warehouse warehouse \
//!     --schema schema.json --start earliest --until-records 1000000
//! ```
//!
//! Ends after `--until-records` rows, after `--seconds`, or with the stream's failure, and prints what it cost. Runs again
//! with the same `--uid` go on where the table says. Invariant: everything goes through the engine's public door.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use async_trait::async_trait;
use stream_pipeline::connection::{ClientProperties, ConnectionResolver};
use stream_pipeline::engine::{Engine, EngineSettings, StreamDefinition};
use stream_pipeline::error::PipelineError;
use stream_pipeline::registry::RegistryProperties;
use stream_pipeline::status::{Phase, PipelineStatus};
use stream_spec::name::{ConnectionName, StreamName, TableName};
use stream_spec::stream::{
    ConnectionConfig, DirectSchemas, IngestionConfig, KafkaSource, OnDataLoss, SchemaConfig, SchemaText, SourceConfig, StreamOperations,
    StreamSpec, SubscriptionMode,
};
use tokio::sync::watch;

/// A connection to one address, without security.
struct Plaintext {
    bootstrap_servers: String,
    /// Never moves; held so that receivers stay open.
    changes: watch::Sender<u64>,
}

#[async_trait]
impl ConnectionResolver for Plaintext {
    async fn open(&self, _stream: &StreamSpec, _run_as: &str) -> Result<ClientProperties, PipelineError> {
        let bootstrap_servers = self.bootstrap_servers.clone();
        Ok(ClientProperties {
            bootstrap_servers,
            properties: BTreeMap::new(),
            tokens: None,
            identity: "plaintext".to_owned(),
        })
    }

    async fn open_registry(&self, _stream: &StreamSpec, _run_as: &str) -> Result<RegistryProperties, PipelineError> {
        Err(PipelineError::Definition {
            message: "this example knows no registry".to_owned(),
        })
    }

    fn changes(&self, _connection: &ConnectionConfig) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
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

fn definition(flags: &Flags) -> anyhow::Result<StreamDefinition> {
    let payload = match flags.0.get("schema") {
        Some(path) => Some(SchemaText::Json(
            std::fs::read_to_string(path).with_context(|| format!("cannot read `{path}`"))?,
        )),
        None => None,
    };
    let schemas = DirectSchemas {
        key: Some(SchemaText::Json(r#"{"type": "string"}"#.to_owned())),
        payload,
    };
    let excluded: BTreeSet<String> = flags
        .0
        .get("exclude")
        .map(|paths| paths.split(',').map(str::to_owned).collect())
        .unwrap_or_default();
    let mut extra_options = BTreeMap::from([("startingOffsets".to_owned(), flags.text("start", Some("latest"))?)]);
    if let Some(headers) = flags.0.get("headers") {
        extra_options.insert("includeHeaders".to_owned(), headers.clone());
    }
    let on_data_loss = match flags.text("on-data-loss", Some("fail"))?.as_str() {
        "fail" => OnDataLoss::Fail,
        "earliest" => OnDataLoss::Earliest,
        "latest" => OnDataLoss::Latest,
        other => bail!("`--on-data-loss` is {other:?}; write `fail`, `earliest` or `latest`"),
    };
    Ok(StreamDefinition {
        uid: flags.text("uid", Some("00000000-0000-7000-8000-000000000001"))?,
        generation: flags.number("generation")?.unwrap_or(1),
        spec: StreamSpec {
            name: StreamName::parse("main.bench.stream")?,
            description: None,
            source: SourceConfig::Kafka(KafkaSource {
                subscription: SubscriptionMode::Subscribe(flags.text("topic", None)?),
                extra_options,
            }),
            connection: ConnectionConfig::UcConnectionName(ConnectionName::parse("bench")?),
            schemas: SchemaConfig::Direct(schemas.clone()),
            ingestion: IngestionConfig {
                destination: TableName::parse(&flags.text("table", Some("main.bench.stream"))?)?,
                backfill_source: None,
                deduplication_columns: BTreeSet::new(),
                tags: BTreeMap::new(),
                budget_policy_id: None,
            },
            record_type_filter: None,
            excluded_columns: excluded.clone(),
        },
        run_as: "bench".to_owned(),
        operations: StreamOperations {
            paused: false,
            flush_interval: Duration::from_millis(flags.number("flush-ms")?.unwrap_or(1_000)),
            on_data_loss,
        },
        schemas_generation: 1,
        schema_history: vec![schemas],
        excluded_at_creation: excluded,
    })
}

/// Seconds of processor time that this process has used, all threads.
fn cpu_seconds() -> anyhow::Result<f64> {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let after_name = stat.rsplit_once(") ").context("unexpected /proc/self/stat")?.1;
    let ticks: Vec<f64> = after_name.split(' ').skip(11).take(2).map(str::parse).collect::<Result<_, _>>()?;
    Ok(ticks.iter().sum::<f64>() / TICKS_PER_SECOND)
}

fn describe(status: &PipelineStatus) -> String {
    let rows = status.table.as_ref().map_or(0, |table| table.rows);
    let version = status.table.as_ref().map_or(-1, |table| table.version);
    let behind: i64 = status
        .partitions
        .values()
        .filter_map(|p| p.end_offset.map(|end| end - p.position.next_offset))
        .sum();
    format!(
        "{:?} version {version} rows {rows} behind {behind} misfits {} conditions {:?}",
        status.phase,
        status.misfits.messages(),
        status.conditions
    )
}

fn main() -> anyhow::Result<()> {
    // As the agent does it, before any thread is there.
    stream_pipeline::share_arenas();
    tokio::runtime::Runtime::new()?.block_on(run())
}

async fn run() -> anyhow::Result<()> {
    let flags = Flags::read()?;
    let definition = definition(&flags)?;
    let mut settings = EngineSettings::new(flags.text("warehouse", None)?);
    if let Some(milliseconds) = flags.number("discovery-ms")? {
        settings.discovery_interval = Duration::from_millis(milliseconds);
    }
    if let Some(bytes) = flags.number("batch-bytes")? {
        settings.batch_bytes_max = usize::try_from(bytes)?;
    }
    let resolver = Plaintext {
        bootstrap_servers: flags.text("bootstrap", None)?,
        changes: watch::Sender::new(0),
    };
    let engine = Engine::new(settings, Arc::new(resolver))?;
    let state = engine.provision(&definition).await?;
    println!(
        "table at {} starts at {:?}",
        engine.location(&definition.spec.ingestion.destination),
        state.positions
    );

    let (started, cpu_before) = (Instant::now(), cpu_seconds()?);
    let rows_before = state.totals.rows;
    let deadline = flags.number("seconds")?.map(|seconds| started + Duration::from_secs(seconds));
    let until_records = flags.number("until-records")?.map(|records| records as i64);
    let running = engine.start(definition);
    let mut status = running.status();
    let mut shown = Instant::now();
    loop {
        let snapshot = status.borrow_and_update().clone();
        if shown.elapsed() >= Duration::from_secs(1) || !snapshot.conditions.is_empty() {
            println!("{:7.1} s {}", started.elapsed().as_secs_f64(), describe(&snapshot));
            shown = Instant::now();
        }
        if !matches!(snapshot.phase, Phase::Starting | Phase::Running | Phase::Paused) {
            bail!("the stream ended: {:?}", snapshot.phase);
        }
        let rows = snapshot.table.as_ref().map_or(0, |table| table.rows) - rows_before;
        if until_records.is_some_and(|wanted| rows >= wanted) || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            break;
        }
        drop(tokio::time::timeout(Duration::from_millis(200), status.changed()).await);
    }
    running.stop().await;
    let snapshot = status.borrow().clone();
    let rows = snapshot.table.as_ref().map_or(0, |table| table.rows) - rows_before;
    let (seconds, cpu) = (started.elapsed().as_secs_f64(), cpu_seconds()? - cpu_before);
    println!("{}", describe(&snapshot));
    println!(
        "{rows} rows in {seconds:.1} s, {cpu:.1} CPU-seconds: {:.2} CPU-seconds per million",
        cpu * 1e6 / rows.max(1) as f64
    );
    Ok(())
}
