//! The demonstration's folder: a copy of the example, a mirror with the provider of this build, Terraform's settings, the
//! agent's data. Made new by every run and left behind for going on by hand. Invariant: one run at a time has it, and nothing
//! is removed but what a run before left in a folder of its own.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use e2e::paths::{binary, repository};
use e2e::terraform::copy_example;

/// Where Terraform and `OpenTofu` look for a provider that names no host.
const REGISTRIES: [&str; 2] = ["registry.terraform.io", "registry.opentofu.org"];
const PROVIDER: &str = "terraform-provider-featurestore";
/// Says whose the folder is. It comes first and never goes, so that a run that was killed leaves it too.
const MARKER: &str = ".featurestore-demo";
pub(crate) const SCHEMA_FILE: &str = "transaction.schema.json";

/// A folder, held against other runs.
pub(crate) struct Folder {
    root: PathBuf,
    /// The lock is in the open file: it ends with this process, however that ends.
    _lock: File,
}

impl Folder {
    /// Makes the folder anew.
    pub(crate) fn make(root: &Path) -> Self {
        let lock = claim(root);
        for entry in fs::read_dir(root).unwrap() {
            let path = entry.unwrap().path();
            // A link is removed, never followed.
            if path.symlink_metadata().unwrap().is_dir() {
                fs::remove_dir_all(path).unwrap();
            } else if !path.ends_with(MARKER) {
                fs::remove_file(path).unwrap();
            }
        }
        let folder = Self {
            root: root.canonicalize().unwrap(),
            _lock: lock,
        };
        folder.copy_example();
        folder.install_provider();
        folder
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// What `terraform` runs in.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.root.join("quickstart")
    }

    /// Terraform's own settings: the provider comes from the mirror, and nothing from anywhere else.
    pub(crate) fn cli_configuration(&self) -> PathBuf {
        self.root.join("terraform.rc")
    }

    /// The agent's data, tables included.
    pub(crate) fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    fn schema(&self) -> String {
        fs::read_to_string(self.workspace().join(SCHEMA_FILE)).unwrap()
    }

    /// Replaces a part of the schema that must be there.
    pub(crate) fn edit_schema(&self, from: &str, to: &str) {
        let schema = self.schema();
        assert!(schema.contains(from), "{SCHEMA_FILE} does not hold {from}");
        fs::write(self.workspace().join(SCHEMA_FILE), schema.replace(from, to)).unwrap();
    }

    fn copy_example(&self) {
        fs::create_dir_all(self.workspace()).unwrap();
        copy_example(&repository().join("examples/quickstart"), &self.workspace());
    }

    fn install_provider(&self) {
        let version = env!("CARGO_PKG_VERSION");
        let mirror = self.root.join("mirror");
        for registry in REGISTRIES {
            let package = mirror.join(format!("{registry}/featurestore/featurestore/{version}/{}", platform()));
            fs::create_dir_all(&package).unwrap();
            let installed = package.join(format!("{PROVIDER}_v{version}"));
            // Both names of one file, where the file system can: a build with debug information is large.
            if fs::hard_link(binary(PROVIDER), &installed).is_err() {
                fs::copy(binary(PROVIDER), &installed).unwrap();
            }
        }
        let settings = format!("provider_installation {{\n  filesystem_mirror {{\n    path = {mirror:?}\n  }}\n}}\n");
        fs::write(self.cli_configuration(), settings).unwrap();
    }
}

/// Takes a folder that is empty, or that an earlier run had.
fn claim(root: &Path) -> File {
    fs::create_dir_all(root).unwrap_or_else(|error| panic!("{}: {error}", root.display()));
    let marker = root.join(MARKER);
    assert!(
        marker.is_file() || fs::read_dir(root).unwrap().next().is_none(),
        "{} holds files that are not of a demonstration, which would remove them; name a new folder with --folder",
        root.display()
    );
    let mut lock = File::options().create(true).append(true).open(&marker).unwrap();
    assert!(
        lock.try_lock().is_ok(),
        "another demonstration runs in {}; wait for its end, or name another folder with --folder",
        root.display()
    );
    if lock.metadata().unwrap().len() == 0 {
        writeln!(lock, "The next `demo` in this folder removes everything that is in it.").unwrap();
    }
    lock
}

/// As Terraform names it.
fn platform() -> String {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{}_{architecture}", std::env::consts::OS)
}
