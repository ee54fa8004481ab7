//! Arms the named points in a running agent at which it dies, hangs or fails (`stream_pipeline::failpoint`).
//! Invariant: a line is in force from the moment `arm` returns until `disarm`; it outlives the agent's process.

use std::fs;
use std::path::PathBuf;

/// The points of one agent.
#[derive(Clone, Debug)]
pub struct Failpoints {
    file: PathBuf,
}

impl Failpoints {
    /// Points that are armed by that file, which need not exist.
    #[must_use]
    pub fn new(file: PathBuf) -> Self {
        Self { file }
    }

    /// The file, for the agent's environment.
    #[must_use]
    pub fn file(&self) -> &PathBuf {
        &self.file
    }

    /// Puts these lines in force instead of the ones before: `point action [passes to let through]`.
    pub fn arm(&self, lines: &str) {
        // Renamed into place: an agent reads all lines or the former ones.
        let new = self.file.with_extension("new");
        fs::write(&new, lines).unwrap();
        fs::rename(new, &self.file).unwrap();
    }

    /// Takes all lines back.
    pub fn disarm(&self) {
        self.arm("");
    }

    /// Names of the points that acted, oldest first, over all lives of the agent.
    #[must_use]
    pub fn hits(&self) -> Vec<String> {
        let mut name = self.file.clone().into_os_string();
        name.push(".hits");
        let text = fs::read_to_string(name).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}
