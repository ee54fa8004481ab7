//! Finds secrets in whatever was written, in each form that a careless line could give them. Invariant: a form is looked for by
//! letters and digits alone, which no quoting or escaping changes, and in both cases of letters.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use aho_corasick::AhoCorasick;
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE};

/// Bytes of a secret that are looked for at least: fewer might be there by chance.
const BYTES_MIN: usize = 16;

/// What every secret made here begins and ends with: letters that texts quote and escape.
const AROUND: (&str, &str) = ("c/+\"", "%'&=");

/// A secret under the name that a failing test shows instead of it.
#[derive(Clone)]
pub(crate) struct Canary {
    pub(crate) name: String,
    /// What the product gets.
    pub(crate) text: String,
    /// What is looked for.
    core: Vec<u8>,
}

impl Canary {
    /// A new one.
    pub(crate) fn new(name: &str) -> Self {
        let mut random = [0; 12];
        File::open("/dev/urandom").unwrap().read_exact(&mut random).unwrap();
        let core = numbers(&random, "", |byte| format!("{byte:02x}"));
        Self {
            text: format!("{}{core}{}", AROUND.0, AROUND.1),
            ..Self::of(name, core.as_bytes())
        }
    }

    /// A secret that somebody else made, or a part of one.
    pub(crate) fn of(name: &str, secret: &[u8]) -> Self {
        assert!(secret.len() >= BYTES_MIN, "{name} is too short to be looked for");
        Self {
            name: name.to_owned(),
            text: String::from_utf8_lossy(secret).into_owned(),
            core: secret.to_vec(),
        }
    }
}

/// The forms of some bytes, by name.
fn forms(bytes: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let text = |text: String| text.into_bytes();
    let mut forms = vec![
        ("plain", bytes.to_vec()),
        ("hexadecimal", text(numbers(bytes, "", |byte| format!("{byte:02x}")))),
        ("percent-encoded", text(numbers(bytes, "", |byte| format!("%{byte:02x}")))),
        ("a list of numbers", text(numbers(bytes, ", ", |byte| byte.to_string()))),
        ("UTF-16", bytes.iter().flat_map(|byte| [*byte, 0]).collect()),
    ];
    for before in 0..3 {
        let mut shifted = vec![0; before];
        shifted.extend(bytes);
        // Digits that belong to these bytes alone, and not to what stands before and after them.
        let whole = (before * 8).div_ceil(6)..shifted.len() * 8 / 6;
        for engine in [&BASE64_STANDARD, &BASE64_URL_SAFE] {
            forms.push(("Base64", text(engine.encode(&shifted)[whole.clone()].to_owned())));
        }
    }
    forms
}

fn numbers(bytes: &[u8], between: &str, number: impl Fn(u8) -> String) -> String {
    bytes.iter().map(|byte| number(*byte)).collect::<Vec<_>>().join(between)
}

/// Files with the secrets that they hold.
pub(crate) type Findings = Vec<(PathBuf, BTreeSet<String>)>;

/// Looks for all of some secrets at once.
pub(crate) struct Search {
    patterns: Vec<String>,
    automaton: AhoCorasick,
}

impl Search {
    pub(crate) fn new(canaries: &[Canary]) -> Self {
        let forms = canaries.iter().flat_map(|canary| {
            forms(&canary.core)
                .into_iter()
                .map(|(form, bytes)| (format!("{}, {form}", canary.name), bytes))
        });
        let (patterns, bytes): (Vec<_>, Vec<_>) = forms.unzip();
        let automaton = AhoCorasick::builder().ascii_case_insensitive(true).build(bytes).unwrap();
        Self { patterns, automaton }
    }

    /// Which secrets are in these bytes, and how they are written.
    pub(crate) fn in_bytes(&self, bytes: &[u8]) -> BTreeSet<String> {
        let found = self.automaton.find_overlapping_iter(bytes);
        found.map(|found| self.patterns[found.pattern().as_usize()].clone()).collect()
    }

    /// The files of a folder and below that hold one, with what they hold.
    pub(crate) fn in_folder(&self, folder: &Path) -> Findings {
        let mut found = Vec::new();
        // A log and a table are written while we look: what is gone now is found in the look after the end.
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                found.extend(self.in_folder(&path));
            } else if path.is_file() {
                let held = self.in_bytes(&fs::read(&path).unwrap_or_default());
                found.extend((!held.is_empty()).then_some((path, held)));
            }
        }
        found.sort();
        found
    }
}

#[test]
fn a_leak_is_found_in_every_form() {
    let canary = Canary::new("planted");
    let search = Search::new(&[Canary::new("other"), canary.clone()]);
    let bytes = canary.text.as_bytes();
    let hex = numbers(bytes, "", |byte| format!("{byte:02x}"));
    let percent = |bytes: &[u8]| numbers(bytes, "", |byte| format!("%{byte:02X}"));
    let wide = |order: fn(u16) -> [u8; 2]| canary.text.encode_utf16().flat_map(order).collect::<Vec<u8>>();
    let mut leaks = vec![
        ("plain", canary.text.clone().into_bytes()),
        ("plain", format!("{:?}", canary.text).into_bytes()),
        ("plain", serde_json::to_vec(&canary.text).unwrap()),
        (
            "plain",
            percent(&bytes[..4])
                .into_bytes()
                .into_iter()
                .chain(bytes[4..].iter().copied())
                .collect(),
        ),
        ("percent-encoded", percent(bytes).into_bytes()),
        ("percent-encoded", percent(bytes).to_lowercase().into_bytes()),
        ("hexadecimal", hex.clone().into_bytes()),
        ("hexadecimal", hex.to_uppercase().into_bytes()),
        ("a list of numbers", format!("{bytes:?}").into_bytes()),
        ("UTF-16", wide(u16::to_le_bytes)),
        ("UTF-16", wide(u16::to_be_bytes)),
    ];
    for before in ["", "x", "xy"] {
        for after in ["", "z"] {
            let text = format!("{before}{}{after}", canary.text);
            leaks.extend([&BASE64_STANDARD, &BASE64_URL_SAFE].map(|engine| ("Base64", engine.encode(&text).into_bytes())));
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("deep/log");
    fs::create_dir(folder.path().join("deep")).unwrap();
    for (form, leak) in leaks {
        let line = [b"2026 INFO refused password=", leak.as_slice(), b" of ada\n"].concat();
        fs::write(&log, &line).unwrap();
        let shown = String::from_utf8_lossy(&line).into_owned();
        let found = search.in_folder(folder.path());
        let expected = (log.clone(), BTreeSet::from([format!("planted, {form}")]));
        assert_eq!(found, [expected], "{shown}");
    }
    fs::write(&log, "2026 INFO nothing to see").unwrap();
    assert_eq!(search.in_folder(folder.path()), []);
}
