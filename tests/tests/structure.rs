//! The rules of the architecture that a machine can keep: which package may depend on which, what pure packages must not
//! contain, who may know a broker or the Delta log, and the form of sources and manifests.
//! What the packages do is tested elsewhere. Invariant: every check walks all members, so a new one is covered at once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the panic is the test's failure"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};

/// Longest source file that passes. Past it a file holds more than one concept.
const FILE_LINES_MAX: usize = 600;
/// From here on the test names the file in its output.
const FILE_LINES_WARN: usize = 400;

/// Files that are tables of data with a few lines around them.
const DATA_FILES: &[&str] = &["agent/decode/src/text/unicode.rs"];

/// Who may use whom among the workspace's packages. The package of the end-to-end tests may use everything.
const ALLOWED_EDGES: &[(&str, &[&str])] = &[
    ("stream-spec", &[]),
    ("stream-decode", &["stream-spec"]),
    ("stream-keystore", &[]),
    ("stream-pipeline", &["stream-decode", "stream-keystore", "stream-spec"]),
    (
        "agent-control",
        &[
            "stream-pipeline",
            "stream-decode",
            "stream-keystore",
            "stream-spec",
            "featurestore-proto",
        ],
    ),
    (
        "featurestore-agent",
        &[
            "agent-control",
            "stream-pipeline",
            "stream-decode",
            "stream-spec",
            "featurestore-proto",
        ],
    ),
    ("featurestore-proto", &["stream-spec"]),
    ("tfplugin", &["featurestore-proto"]),
    (
        "terraform-provider-featurestore",
        &["tfplugin", "featurestore-proto", "stream-spec"],
    ),
];

/// Packages that do no I/O, with the only others that may be anywhere below them.
const PURE: &[&str] = &["stream-spec", "stream-decode", "stream-keystore"];

/// None of these may be below a pure package: each brings I/O, a runtime or a store.
const IMPURE_DEPENDENCIES: &[&str] = &[
    "tokio",
    "mio",
    "socket2",
    "hyper",
    "reqwest",
    "tonic",
    "async-std",
    "futures-util",
    "object_store",
    "deltalake",
    "deltalake-core",
    "rdkafka",
    "rdkafka-sys",
    "rusqlite",
    "rustix",
    "tempfile",
];

/// None of these may be said in a pure package's own sources, tests aside. Clocks and randomness are passed in.
const IMPURE_WORDS: &[&str] = &[
    "std::fs",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "ToSocketAddrs",
    "std::process",
    "std::env",
    "std::thread",
    "std::io::stdin",
    "SystemTime::now",
    "Instant::now",
    "getrandom",
];

/// Files that may lift the ban on `unsafe`.
const UNSAFE_ALLOWED: &[&str] = &[
    "agent/decode/src/builders/bytes.rs",
    "agent/decode/src/json/fast/scan.rs",
    "agent/pipeline/src/kafka/ffi/mod.rs",
    "tests/src/spawn.rs",
];

fn metadata() -> Metadata {
    MetadataCommand::new()
        .manifest_path(repository().join("Cargo.toml"))
        // The platform of servers: what other platforms would add is never built.
        .other_options(["--locked", "--filter-platform", "x86_64-unknown-linux-gnu"].map(str::to_owned))
        .exec()
        .expect("cargo metadata")
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn fail_if_any(rule: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{rule}:\n  {}", findings.join("\n  "));
}

/// All Rust sources of the workspace, by their path relative to the repository.
fn sources() -> BTreeMap<String, String> {
    let root = repository();
    let mut found = BTreeMap::new();
    let mut folders: Vec<PathBuf> = metadata()
        .workspace_packages()
        .iter()
        .map(|package| package.manifest_path.parent().unwrap().as_std_path().to_owned())
        .collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if !path.ends_with("target") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    assert!(found.len() > 10, "the walk finds the sources");
    found
}

/// The part of a source file that is compiled into the product.
fn product_part(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap()
}

fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/") || path.contains("/benches/") || path.contains("/examples/")
}

#[test]
fn packages_depend_downward_only() {
    let metadata = metadata();
    let members: BTreeSet<&str> = metadata.workspace_packages().iter().map(|p| p.name.as_str()).collect();
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED_EDGES.iter().copied().collect();
    let mut findings = Vec::new();
    for package in metadata.workspace_packages() {
        if package.name.as_str() == "e2e" {
            continue;
        }
        let Some(may) = allowed.get(package.name.as_str()) else {
            findings.push(format!("`{}` has no row in ALLOWED_EDGES", package.name));
            continue;
        };
        for dependency in &package.dependencies {
            let name = dependency.name.as_str();
            if members.contains(name) && name != package.name.as_str() && !may.contains(&name) {
                findings.push(format!("`{}` must not depend on `{name}`", package.name));
            }
        }
    }
    fail_if_any("packages depend downward only", &findings);
}

#[test]
fn the_plugin_plumbing_knows_no_stream() {
    let metadata = metadata();
    let tfplugin = package_named(&metadata, "tfplugin");
    let contract = tfplugin.dependencies.iter().find(|d| d.name == "featurestore-proto").unwrap();
    assert!(
        !contract.uses_default_features && contract.features.iter().all(|feature| feature == "plugin"),
        "`tfplugin` takes the plugin protocol alone from featurestore-proto, not {:?}",
        contract.features
    );
    let mut findings = Vec::new();
    for (path, text) in sources() {
        if path.starts_with("provider/tfplugin/") {
            for word in ["stream_spec", "featurestore_proto::v1", "featurestore_stream", "StreamSpec"] {
                if text.contains(word) {
                    findings.push(format!("{path} says `{word}`"));
                }
            }
        }
        if path.starts_with("provider/src/") {
            for word in ["tfplugin6", "rmp::", "go_plugin"] {
                if product_part(&text).contains(word) {
                    findings.push(format!("{path} says `{word}`: resources see no wire format of Terraform"));
                }
            }
        }
    }
    fail_if_any("the plumbing and the resources are apart", &findings);
}

#[test]
fn pure_packages_have_no_impure_dependency() {
    let metadata = metadata();
    let mut findings = Vec::new();
    for name in PURE {
        let below = everything_below(&metadata, &package_named(&metadata, name).id);
        for impure in IMPURE_DEPENDENCIES {
            if below.contains(*impure) {
                findings.push(format!("`{impure}` is below `{name}`"));
            }
        }
    }
    fail_if_any("spec, decode and keystore do no I/O", &findings);
}

#[test]
fn pure_packages_say_no_impure_word() {
    let mut findings = Vec::new();
    for (path, text) in sources() {
        let pure = ["agent/spec/src/", "agent/decode/src/", "agent/keystore/src/"]
            .iter()
            .any(|room| path.starts_with(room));
        if pure && !is_test_file(&path) {
            for word in IMPURE_WORDS.iter().filter(|word| product_part(&text).contains(**word)) {
                findings.push(format!("{path} says `{word}`"));
            }
        }
    }
    fail_if_any("spec and decode do no I/O; clocks and randomness are passed in", &findings);
}

#[test]
fn only_the_source_rooms_know_a_broker_and_only_the_table_room_knows_the_delta_log() {
    let mut findings = Vec::new();
    for (path, text) in sources() {
        if path.starts_with("tests/") || is_test_file(&path) {
            continue;
        }
        let product = product_part(&text);
        let source_room = path.starts_with("agent/pipeline/src/kafka/") || path.starts_with("agent/pipeline/src/kinesis/");
        if !source_room && (product.contains("rdkafka::") || product.contains("rdkafka_sys")) {
            findings.push(format!("{path} uses a broker's client"));
        }
        let table_room = path.starts_with("agent/pipeline/src/table/");
        if !table_room && (product.contains("deltalake::") || product.contains("\"_delta_log")) {
            findings.push(format!("{path} knows the Delta log"));
        }
    }
    fail_if_any("brokers stay in kafka/ and kinesis/, the Delta log stays in table/", &findings);
}

#[test]
fn every_reason_why_a_message_does_not_fit_is_explained_to_users() {
    let sources = sources();
    let reasons: Vec<&str> = sources["agent/decode/src/report.rs"]
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Self::")?.split_once(" => \"")?.1.strip_suffix("\","))
        .collect();
    assert!(!reasons.is_empty(), "the reasons' names stand somewhere else now");
    let api = fs::read_to_string(repository().join("proto/featurestore/v1/streams.proto")).unwrap();
    let data_source = &sources["provider/src/data_sources/stream_status.rs"];
    let unknown = reasons.into_iter().filter_map(|reason| {
        let is_known = api.contains(&format!("`{reason}`: ")) && data_source.contains(&format!("\"{reason}\","));
        (!is_known).then(|| format!("`{reason}` is not explained in the API or in the data source"))
    });
    fail_if_any("reasons of misfits are explained", &unknown.collect::<Vec<_>>());
}

#[test]
fn unsafe_code_is_allowed_in_named_files_only() {
    let findings: Vec<String> = sources()
        .into_iter()
        .filter(|(path, text)| {
            !UNSAFE_ALLOWED.contains(&path.as_str())
                && path != "tests/tests/structure.rs"
                && (text.contains("allow(unsafe_code") || text.contains("unsafe_code,"))
        })
        .map(|(path, _)| path)
        .collect();
    fail_if_any("`unsafe` is denied outside the named files", &findings);
}

#[test]
fn every_source_file_says_what_lives_there_and_stays_short() {
    let mut findings = Vec::new();
    for (path, text) in sources() {
        if !text.starts_with("//!") {
            findings.push(format!("{path} does not open with `//!`"));
        }
        let lines = text.lines().count();
        if lines > FILE_LINES_MAX && !DATA_FILES.contains(&path.as_str()) {
            findings.push(format!("{path} has {lines} lines, more than {FILE_LINES_MAX}: split it by concept"));
        } else if lines > FILE_LINES_WARN {
            println!("warning: {path} has {lines} lines");
        }
    }
    fail_if_any("a source file opens with its purpose and holds one concept", &findings);
}

#[test]
fn every_invariant_names_a_test_that_exists() {
    let text = fs::read_to_string(repository().join("ARCHITECTURE.md")).unwrap();
    let chapter = text.split("## Invariants").nth(1).expect("a chapter `## Invariants`");
    let rows = chapter.split("\n## ").next().unwrap().lines();
    let numbered = rows.filter(|line| line.starts_with("| ") && line.as_bytes()[2].is_ascii_digit());
    let sources = sources();
    let mut findings = Vec::new();
    let mut invariants = 0;
    for row in numbered {
        invariants += 1;
        let tests: Vec<&str> = row.rsplit('|').nth(1).unwrap().split('`').skip(1).step_by(2).collect();
        if tests.is_empty() {
            findings.push(format!("no test: {row}"));
        }
        for test in tests {
            if !has_function(&sources, test) {
                findings.push(format!("no function `{test}` for: {row}"));
            }
        }
    }
    assert!(invariants >= 10, "the chapter has its table");
    fail_if_any("each invariant is kept by a test", &findings);
}

#[test]
fn every_lesson_names_tests_that_exist() {
    let text = fs::read_to_string(repository().join("docs/internals/lessons.md")).unwrap();
    let is_test_name = |code: &&str| {
        let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
        code.chars().all(plain) && code.matches('_').count() >= 2
    };
    let tests: BTreeSet<&str> = text.split('`').skip(1).step_by(2).filter(is_test_name).collect();
    assert!(tests.len() >= 50, "the page has its tables");
    let sources = sources();
    let missing = tests.into_iter().filter(|test| !has_function(&sources, test));
    fail_if_any("each lesson's tests exist", &missing.map(str::to_owned).collect::<Vec<_>>());
}

fn has_function(sources: &BTreeMap<String, String>, name: &str) -> bool {
    let definition = format!("fn {name}(");
    sources.values().any(|source| source.contains(&definition))
}

#[test]
fn no_test_is_switched_off_and_nothing_is_left_for_later() {
    let banned = [
        concat!("#[ig", "nore"),
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("PLACE", "HOLDER"),
    ];
    let mut findings = Vec::new();
    for (path, text) in sources() {
        for word in banned.iter().filter(|word| text.contains(**word)) {
            findings.push(format!("{path} says `{word}`"));
        }
        let waits = path.starts_with("tests/") && path != "tests/src/wait.rs" && path != "tests/tests/structure.rs";
        if waits && (text.contains("thread::sleep") || text.contains("time::sleep")) {
            findings.push(format!("{path} sleeps: wait on state with `wait_until`"));
        }
    }
    fail_if_any("every test runs, and nothing is left for later", &findings);
}

#[test]
fn versions_lints_and_profiles_are_in_the_root_manifest_only() {
    let metadata = metadata();
    let mut findings = Vec::new();
    for package in metadata.workspace_packages() {
        let text = fs::read_to_string(&package.manifest_path).unwrap();
        let manifest: toml::Table = text.parse().unwrap();
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let Some(table) = manifest.get(section).and_then(toml::Value::as_table) else {
                continue;
            };
            for (name, value) in table {
                if value.get("workspace").and_then(toml::Value::as_bool) != Some(true) {
                    findings.push(format!("`{}`: {section}.{name} does not inherit its version", package.name));
                }
            }
        }
        let inherits = |path: &[&str]| {
            let mut value = manifest.get(path[0]);
            for key in &path[1..] {
                value = value.and_then(|inner| inner.get(key));
            }
            value.and_then(toml::Value::as_bool) == Some(true)
        };
        if !inherits(&["lints", "workspace"]) {
            findings.push(format!("`{}` does not inherit the lints", package.name));
        }
        for key in ["version", "edition", "rust-version", "license", "publish"] {
            if !inherits(&["package", key, "workspace"]) {
                findings.push(format!("`{}`: package.{key} is not inherited", package.name));
            }
        }
        if manifest.contains_key("profile") {
            findings.push(format!("`{}` has profiles of its own", package.name));
        }
        if package
            .description
            .as_deref()
            .is_none_or(|text| text.contains(concat!("PLACE", "HOLDER")))
        {
            findings.push(format!("`{}` does not say what it is", package.name));
        }
    }
    fail_if_any("the root manifest is the only place", &findings);
}

fn package_named<'a>(metadata: &'a Metadata, name: &str) -> &'a Package {
    metadata
        .workspace_packages()
        .into_iter()
        .find(|package| package.name.as_str() == name)
        .unwrap_or_else(|| panic!("no member is called `{name}`"))
}

/// Names of all packages that the one with this id is built from, build scripts and tests aside.
fn everything_below(metadata: &Metadata, id: &PackageId) -> BTreeSet<String> {
    let resolve = metadata.resolve.as_ref().expect("metadata with a resolved graph");
    let nodes: BTreeMap<&PackageId, _> = resolve.nodes.iter().map(|node| (&node.id, node)).collect();
    let names: BTreeMap<&PackageId, &str> = metadata.packages.iter().map(|p| (&p.id, p.name.as_str())).collect();
    let mut seen = BTreeSet::new();
    let mut open = vec![id];
    while let Some(next) = open.pop() {
        for dependency in &nodes[next].deps {
            let linked = dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal);
            if linked && seen.insert(names[&dependency.pkg].to_owned()) {
                open.push(&dependency.pkg);
            }
        }
    }
    seen
}
