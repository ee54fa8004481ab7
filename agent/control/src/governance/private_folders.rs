//! The agent's own folders: whoever could read a volume's files must not come to the database, the master key or the tables by it.
//! The invariant: no volume lies in one of them, and none around one, by whatever links it is named.

use std::path::{Path, PathBuf};

use stream_spec::violation::Violation;
use url::Url;

use super::volumes::local_folder;

/// The agent's own folders.
#[derive(Clone, Debug, Default)]
pub struct PrivateFolders(Vec<(&'static str, PathBuf)>);

impl PrivateFolders {
    /// These and one more: a folder or a `file://` URL, and what it is. Object stores hold no folder of the agent.
    pub fn with(mut self, what: &'static str, location: impl AsRef<Path>) -> Self {
        let location = location.as_ref();
        let folder = match location.to_str() {
            Some(url) if url.contains("://") => Url::parse(url).ok().and_then(|url| url.to_file_path().ok()),
            // Fails for an empty path, which is nowhere.
            _ => std::path::absolute(location).ok(),
        };
        self.0.extend(folder.map(|folder| (what, folder)));
        self
    }

    /// What is wrong with a volume's location, as far as these folders go.
    pub(crate) async fn violation(&self, storage_location: &str) -> Option<Violation> {
        let volume = local_folder(storage_location)?;
        let (folders, location) = (self.0.clone(), storage_location.to_owned());
        // A folder that does not answer must not hang a worker. If it cannot be told, nothing is allowed.
        let found = tokio::task::spawn_blocking(move || overlap(&folders, &volume)).await;
        let what = found.unwrap_or(Some("a folder that cannot be looked at"))?;
        Some(Violation::new(
            "storage_location",
            &location,
            format!("the location is {what} of the agent, or in it, or around it, and its files are nobody's to read"),
            "choose a folder apart from the agent's own",
        ))
    }
}

fn overlap(folders: &[(&'static str, PathBuf)], volume: &Path) -> Option<&'static str> {
    let volumes = [volume.components().collect(), resolved(volume)];
    let overlaps = |folder: &Path| {
        volumes
            .iter()
            .any(|volume: &PathBuf| volume.starts_with(folder) || folder.starts_with(volume))
    };
    let found = folders.iter().find(|(_, folder)| overlaps(folder) || overlaps(&resolved(folder)));
    found.map(|(what, _)| *what)
}

/// The path without links, as far as it is there.
fn resolved(path: &Path) -> PathBuf {
    let found = path
        .ancestors()
        .find_map(|above| Some((std::fs::canonicalize(above).ok()?, path.strip_prefix(above).ok()?)));
    match found {
        Some((above, rest)) if rest.as_os_str().is_empty() => above,
        Some((above, rest)) => above.join(rest),
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_volume_is_in_or_around_an_own_folder() {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().canonicalize().unwrap();
        for folder in ["agent/data", "tables", "other"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::os::unix::fs::symlink(root.join("agent"), root.join("link")).unwrap();
        std::os::unix::fs::symlink(root.join("tables"), root.join("tables-link")).unwrap();
        let at = |path: &str| root.join(path).to_str().unwrap().to_owned();
        let folders = PrivateFolders::default()
            .with("the data folder", at("agent/data"))
            .with("the warehouse", format!("file://{}", at("tables-link")))
            .with("the warehouse", "s3://bucket/tables");
        for (location, expected) in [
            (at("agent/data"), "the data folder"),
            (at("agent//data/"), "the data folder"),
            (at("agent/data/not/yet/there"), "the data folder"),
            (format!("file://{}", at("agent/data/x")), "the data folder"),
            (at("agent"), "the data folder"),
            ("/".into(), "the data folder"),
            (at("link/data/x"), "the data folder"),
            (at("link"), "the data folder"),
            (at("tables/main"), "the warehouse"),
            (at("tables-link/main"), "the warehouse"),
            (at("other"), ""),
            (at("agent/data2"), ""),
            (at("agent/other"), ""),
            ("s3://bucket/tables".into(), ""),
        ] {
            let found = folders.violation(&location).await;
            let problem = found.map(|violation| violation.problem).unwrap_or_default();
            assert_eq!(!problem.is_empty(), !expected.is_empty(), "{location}: {problem}");
            assert!(problem.contains(expected), "{location}: {problem}");
        }
    }
}
