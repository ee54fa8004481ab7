//! How figures are printed: Markdown, so that a run can be put into `docs/benchmarks.md` as it is. Invariant: a figure is
//! printed as it was measured; nothing here rounds towards an aim.

use std::fs;
use std::process::Command;

use e2e::paths::repository;

/// The machine, the commit, and how busy the machine is: figures without them cannot be compared.
pub(crate) fn print_circumstances() {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap();
    let models: Vec<&str> = cpus
        .lines()
        .filter(|line| line.starts_with("model name"))
        .filter_map(|line| line.split_once(": ").map(|(_, model)| model))
        .collect();
    let memory = fs::read_to_string("/proc/meminfo").unwrap();
    let kib: u64 = memory.split_whitespace().nth(1).unwrap().parse().unwrap();
    println!(
        "{} cores of {}, {} GiB of memory, Linux {}; load {}; commit {}",
        models.len(),
        models.first().unwrap_or(&"an unknown processor"),
        kib / 1024 / 1024,
        fs::read_to_string("/proc/sys/kernel/osrelease").unwrap().trim(),
        fs::read_to_string("/proc/loadavg")
            .unwrap()
            .split(' ')
            .take(3)
            .collect::<Vec<&str>>()
            .join(" "),
        commit()
    );
}

fn commit() -> String {
    let git = |arguments: &[&str]| Command::new("git").arg("-C").arg(repository()).args(arguments).output().ok();
    let head = git(&["rev-parse", "--short", "HEAD"]).filter(|output| output.status.success());
    let head = head.map_or_else(
        || "unknown".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    );
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|output| !output.stdout.is_empty());
    if changed { format!("{head} with changes") } else { head }
}

/// A heading and the head of a table.
pub(crate) fn print_head(title: &str, columns: &[&str]) {
    println!("\n### {title}\n");
    print_row(columns);
    println!("|{}", " --- |".repeat(columns.len()));
}

/// One row.
pub(crate) fn print_row<T: AsRef<str>>(cells: &[T]) {
    let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
    println!("| {} |", cells.join(" | "));
}

/// The value below which this share of the sorted values lies (nearest rank).
pub(crate) fn percentile(sorted: &[u64], share: f64) -> u64 {
    assert!(!sorted.is_empty(), "nothing was measured");
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a length is between zero and that length"
    )]
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

/// Microseconds as milliseconds.
pub(crate) fn milliseconds(microseconds: u64) -> String {
    format!("{:.1} ms", microseconds as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::percentile;

    #[test]
    fn a_percentile_is_one_of_the_values_at_its_rank() {
        let values: Vec<u64> = (1..=100).collect();
        assert_eq!(
            (percentile(&values, 0.5), percentile(&values, 0.99), percentile(&values, 1.0)),
            (50, 99, 100)
        );
        assert_eq!((percentile(&[7], 0.5), percentile(&[7], 0.99)), (7, 7));
        assert_eq!(percentile(&[1, 9], 0.99), 9);
    }
}
