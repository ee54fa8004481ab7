//! What Java 17 knows of characters: Unicode 13, by its `Character` class. The rest of this program may be built with a later
//! Unicode; a pattern's classes are these, so that they hold what Spark's hold.
//!
//! `unicode.txt` is written by `tests/java/UnicodeTables.java`. A line is `kind <tab> names <tab> set`, names parted by `|`. A set is a
//! list of ranges `gap+more`, hexadecimal: so many code points after the end of the last range, and so many more than one. A line
//! `map` holds runs `first:count:step:distance`.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::set::CharSet;

/// The tables, read once.
pub(super) struct Tables {
    sets: HashMap<&'static str, HashMap<&'static str, CharSet>>,
    upper: Vec<Run>,
    lower: Vec<Run>,
}

/// Code points that a mapping moves by one distance.
struct Run {
    first: u32,
    last: u32,
    step: u32,
    distance: i32,
}

/// The tables.
pub(super) fn tables() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES.get_or_init(|| read(include_str!("unicode.txt")))
}

impl Tables {
    /// The set of that kind (`category`, `property`, `script`, `block`) and name.
    pub(super) fn set(&self, kind: &str, name: &str) -> Option<&CharSet> {
        self.sets.get(kind)?.get(name)
    }

    /// The union of general categories.
    pub(super) fn categories(&self, names: &[&str]) -> CharSet {
        let sets = names.iter().filter_map(|name| self.set("category", name));
        CharSet::new(false, sets.flat_map(|set| set.ranges().iter().copied()))
    }

    /// `Character.toUpperCase`.
    pub(super) fn to_upper(&self, code: u32) -> u32 {
        mapped(&self.upper, code)
    }

    /// `Character.toLowerCase`.
    pub(super) fn to_lower(&self, code: u32) -> u32 {
        mapped(&self.lower, code)
    }

    /// What Java compares where case does not matter in all of Unicode.
    pub(super) fn folded(&self, code: u32) -> u32 {
        self.to_lower(self.to_upper(code))
    }

    /// Every code point that a case mapping moves, with its folded form: what `folded` may give besides the code point itself.
    pub(super) fn cased(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let runs = self.upper.iter().chain(&self.lower);
        runs.flat_map(|run| (run.first..=run.last).step_by(run.step as usize))
            .map(|code| (code, self.folded(code)))
    }
}

fn mapped(runs: &[Run], code: u32) -> u32 {
    let after = runs.partition_point(|run| run.first <= code);
    match after.checked_sub(1).and_then(|index| runs.get(index)) {
        Some(run) if code <= run.last && (code - run.first).is_multiple_of(run.step) => code.saturating_add_signed(run.distance),
        _ => code,
    }
}

fn read(text: &'static str) -> Tables {
    let mut tables = Tables {
        sets: HashMap::new(),
        upper: Vec::new(),
        lower: Vec::new(),
    };
    for line in text.lines() {
        let mut parts = line.split('\t');
        let (Some(kind), Some(names), Some(content)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        match (kind, names) {
            ("map", "upper") => tables.upper = content.split(' ').filter_map(read_run).collect(),
            ("map", _) => tables.lower = content.split(' ').filter_map(read_run).collect(),
            _ => {
                let set = read_set(content);
                for name in names.split('|') {
                    tables.sets.entry(kind).or_default().insert(name, set.clone());
                }
            }
        }
    }
    tables
}

fn read_run(text: &str) -> Option<Run> {
    let mut parts = text.split(':');
    let first = hexadecimal(parts.next()?)?;
    let count = hexadecimal(parts.next()?)?;
    let step: u32 = parts.next()?.parse().ok()?;
    let distance = parts.next()?.parse().ok()?;
    Some(Run {
        first,
        last: first + count.checked_sub(1)? * step,
        step,
        distance,
    })
}

fn read_set(text: &str) -> CharSet {
    let mut next = 0;
    let mut ranges = Vec::new();
    for part in text.split(' ') {
        let (gap, more) = part.split_once('+').unwrap_or((part, "0"));
        let (Some(gap), Some(more)) = (hexadecimal(gap), hexadecimal(more)) else {
            continue;
        };
        let first = next + gap;
        ranges.push((first, first + more));
        next = first + more + 1;
    }
    CharSet::new(false, ranges)
}

fn hexadecimal(text: &str) -> Option<u32> {
    u32::from_str_radix(text, 16).ok()
}
