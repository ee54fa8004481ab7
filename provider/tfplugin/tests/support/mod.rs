//! The example provider as a program, for tests that start it or have Terraform start it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

/// The built example provider. Cargo builds examples for a whole test run, but not for a single test file; then it is built
/// here.
pub(crate) fn provider_program() -> PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(built).clone()
}

fn built() -> PathBuf {
    // This test is at <target>/<profile>/deps/<name>.
    let test = std::env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).unwrap();
    let program = profile.join("examples").join(format!("corner{}", std::env::consts::EXE_SUFFIX));
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let newest_source = newest_in(&package.join("src")).max(newest_in(&package.join("examples")));
    if !program.exists() || changed(&program) < newest_source {
        let mut build = Command::new(env!("CARGO"));
        build
            .args(["build", "--quiet", "--locked", "--example", "corner", "--manifest-path"])
            .arg(package.join("Cargo.toml"));
        if profile.ends_with("release") {
            build.arg("--release");
        }
        assert!(build.status().unwrap().success(), "the example provider does not build");
    }
    assert!(program.exists(), "no program at {}", program.display());
    program
}

fn changed(path: &Path) -> SystemTime {
    path.metadata().unwrap().modified().unwrap()
}

fn newest_in(folder: &Path) -> SystemTime {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| if path.is_dir() { newest_in(&path) } else { changed(&path) })
        .max()
        .unwrap_or(SystemTime::UNIX_EPOCH)
}
