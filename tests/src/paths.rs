//! Where things are: the repository, the built binaries, the parts that `make setup` brought, and this run's own folder.
//! Invariant: a run writes nowhere but in its own folder under the target folder, which the next run removes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The root of the clone.
#[must_use]
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// A binary of this workspace, built with the profile of the running test.
#[must_use]
pub fn binary(name: &str) -> PathBuf {
    let path = profile_folder().join(name);
    assert!(
        path.is_file(),
        "{} is not built; `make build` builds it, `make test` does so by itself",
        path.display()
    );
    path
}

/// What `make setup` brought.
pub struct TestParts {
    /// Folder of the prepared Kafka broker.
    pub kafka_home: PathBuf,
    /// Folder of the prepared schema registries.
    pub registry_home: PathBuf,
    /// Python with the foreign Delta readers, and Confluent's serializers.
    pub python: PathBuf,
    /// Python with Spark.
    pub spark: PathBuf,
    /// The real Terraform.
    pub terraform: PathBuf,
}

/// Finds the parts, or fails: a test that misses a real component is a failed test, never a skipped one.
pub fn test_parts() -> &'static TestParts {
    static PARTS: OnceLock<TestParts> = OnceLock::new();
    PARTS.get_or_init(|| {
        let file = cache().join("test-parts");
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}; run `make setup` first", file.display()));
        let values: BTreeMap<&str, &str> = text.lines().filter_map(|line| line.split_once('=')).collect();
        let part = |name: &str| {
            let path = PathBuf::from(values.get(name).unwrap_or_else(|| panic!("{} lacks {name}", file.display())));
            assert!(path.exists(), "{} is gone; run `make setup` again", path.display());
            path
        };
        TestParts {
            kafka_home: part("kafka_home"),
            registry_home: part("registry_home"),
            python: part("python"),
            spark: part("spark"),
            terraform: part("terraform"),
        }
    })
}

/// A new empty folder for one part of one test. Kept when the run ends, removed by the next run.
#[must_use]
pub fn fresh_folder(name: &str) -> PathBuf {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let folder = run_folder().join(format!("{number:03}-{name}"));
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Removes a folder that [`fresh_folder`] made, unless the test is failing: then it is evidence.
pub fn discard(folder: &Path) {
    if !std::thread::panicking() {
        // A process that is just ending may still write here; the next run removes the rest.
        let _ = fs::remove_dir_all(folder);
    }
}

fn cache() -> PathBuf {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    from("FEATURESTORE_CACHE")
        .or_else(|| from("XDG_CACHE_HOME").map(|folder| folder.join("featurestore")))
        .or_else(|| from("HOME").map(|folder| folder.join(".cache/featurestore")))
        .expect("FEATURESTORE_CACHE, XDG_CACHE_HOME or HOME is set")
}

/// `target/<profile>`: tests run from its `deps` folder, binaries from itself.
#[must_use]
pub fn profile_folder() -> PathBuf {
    let executable = std::env::current_exe().unwrap();
    let folder = executable.parent().unwrap();
    if folder.ends_with("deps") {
        folder.parent().unwrap().to_owned()
    } else {
        folder.to_owned()
    }
}

fn run_folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let runs = profile_folder().join("e2e-runs");
        fs::create_dir_all(&runs).unwrap();
        for entry in fs::read_dir(&runs).unwrap().flatten() {
            let alive = Path::new("/proc").join(entry.file_name()).exists();
            if !alive {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let folder = runs.join(process::id().to_string());
        fs::create_dir_all(&folder).unwrap();
        folder
    })
}
