//! Whether a table's age makes its commits slower or its process larger: tables of three ages, each open in a process of its
//! own, commit in turns. Invariant: the ages are measured at the same time on the same disk, so that their ratio holds whatever
//! else the machine does.

use std::env::current_exe;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use e2e::paths::{fresh_folder, profile_folder};
use e2e::spawn::{cpu_seconds, memory_mib, peak_memory_mib, spawn};

use crate::latency::wait;
use crate::report::{milliseconds, percentile, print_head, print_row};
use crate::scene::setting;

/// Log entries and live files of each age.
const AGES: [(u64, u64); 3] = [(10, 10), (2_000, 1_000), (100_000, 50_000)];
/// Commits of each table.
const COMMITS_DEFAULT: u64 = 480;
/// Between two commits of one table: care then runs four times as often as after a 1 s flush.
const INTERVAL: Duration = Duration::from_millis(250);

/// A table in a process that has it open.
struct Table {
    entries: u64,
    live: u64,
    process: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    open_us: u64,
    open_mib: u64,
    /// Microseconds of each append.
    times: Vec<u64>,
    /// MiB after each append.
    memory: Vec<u64>,
}

/// Makes the tables, has them commit in turns, prints the figures.
pub(crate) fn measure() {
    let commits = setting("BENCH_COMMITS", COMMITS_DEFAULT);
    let oldest = setting("BENCH_ENTRIES", AGES[2].0);
    let folder = fresh_folder("ages");
    let ages: Vec<(u64, u64)> = AGES.into_iter().filter(|(entries, _)| *entries <= oldest).collect();
    let warehouses: Vec<PathBuf> = ages.iter().map(|age| aged_table(&folder, *age)).collect();
    let mut tables: Vec<Table> = ages
        .iter()
        .zip(&warehouses)
        .map(|(age, warehouse)| Table::open(*age, warehouse))
        .collect();
    let start = Instant::now();
    for turn in 1..=commits {
        for table in &mut tables {
            table.commit();
        }
        // The first commit after a pause is slower, whoever makes it: each table has its share of them.
        tables.rotate_left(1);
        let due = INTERVAL * u32::try_from(turn).unwrap();
        wait(due.saturating_sub(start.elapsed()));
    }
    tables.sort_by_key(|table| table.entries);
    print_figures(&mut tables, commits);
    for table in tables {
        table.close();
    }
    e2e::paths::discard(&folder);
}

fn print_figures(tables: &mut [Table], commits: u64) {
    print_head(
        &format!("Commits by the table's age, {commits} of 1,000 rows each, with its care"),
        &[
            "log entries and live files",
            "p50",
            "p99",
            "p50 to the youngest",
            "p99 to the youngest",
            "memory: opened, median, peak",
            "median to the youngest",
            "time to open",
            "CPU-seconds",
        ],
    );
    let mut youngest = None;
    for table in tables {
        table.times.sort_unstable();
        table.memory.sort_unstable();
        let (p50, p99) = (percentile(&table.times, 0.5), percentile(&table.times, 0.99));
        let memory = percentile(&table.memory, 0.5);
        let (p50_first, p99_first, memory_first) = *youngest.get_or_insert((p50, p99, memory));
        let pid = table.process.id();
        print_row(&[
            format!("{} and {}", table.entries, table.live),
            milliseconds(p50),
            milliseconds(p99),
            format!("{:.2}", p50 as f64 / p50_first as f64),
            format!("{:.2}", p99 as f64 / p99_first as f64),
            format!("{}, {memory}, {} MiB", table.open_mib, peak_memory_mib(pid)),
            format!("{:.2}", memory as f64 / memory_first as f64),
            milliseconds(table.open_us),
            format!("{:.2}", cpu_seconds(pid)),
        ]);
    }
}

/// A warehouse with one table of that age, by the program that makes such tables.
fn aged_table(folder: &Path, (entries, live): (u64, u64)) -> PathBuf {
    let warehouse = folder.join(format!("warehouse-{entries}"));
    let output = Command::new(age_table())
        .arg("--warehouse")
        .arg(&warehouse)
        .args(["--entries", &entries.to_string(), "--live", &live.to_string()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    warehouse
}

/// `make bench` and `cargo test` build it with the tests' profile: its speed is not measured, and the tests' build has its
/// dependencies.
fn age_table() -> PathBuf {
    let program = profile_folder().parent().unwrap().join("debug/examples/age_table");
    let program = std::env::var_os("BENCH_AGE_TABLE").map_or(program, PathBuf::from);
    assert!(
        program.is_file(),
        "{} is not built; `cargo build --workspace --example age_table` builds it",
        program.display()
    );
    program
}

impl Table {
    fn open((entries, live): (u64, u64), warehouse: &Path) -> Self {
        let mut command = Command::new(current_exe().unwrap());
        command.arg("commits").arg(warehouse).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = spawn(command).unwrap();
        let orders = process.stdin.take().unwrap();
        let mut table = Self {
            entries,
            live,
            answers: BufReader::new(process.stdout.take().unwrap()),
            process,
            orders,
            open_us: 0,
            open_mib: 0,
            times: Vec::new(),
            memory: Vec::new(),
        };
        table.open_us = table.answer();
        table.open_mib = memory_mib(table.process.id());
        table
    }

    fn commit(&mut self) {
        self.orders.write_all(b"commit\n").unwrap();
        let time = self.answer();
        self.times.push(time);
        self.memory.push(memory_mib(self.process.id()));
    }

    fn answer(&mut self) -> u64 {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        line.trim()
            .parse()
            .unwrap_or_else(|_| panic!("a process with a table said `{line}`"))
    }

    fn close(mut self) {
        drop(self.orders);
        assert!(self.process.wait().unwrap().success());
    }
}
