//! The agent with a Kafka broker inside, for trying the product out on one machine. What the broker is lives in
//! `stream_pipeline::demo`. Invariant: it never touches the data of an agent that is meant to last.

use std::fs::DirBuilder;
use std::hash::{BuildHasher, RandomState};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use stream_pipeline::demo;

use crate::cli::{DemoArguments, ServeArguments};
use crate::config::Config;
use crate::limits::DEMO_DISCOVERY_INTERVAL;
use crate::master_key::MasterKeyArguments;
use crate::serve::{self, Ended, announce};

/// Runs broker and agent until SIGTERM or SIGINT.
pub(crate) fn run(arguments: DemoArguments) -> anyhow::Result<Ended> {
    let folder = match &arguments.data_dir {
        Some(folder) => folder.clone(),
        None => own_folder(&std::env::temp_dir())?,
    };
    let config = Config::load(&settings(arguments, folder))?;
    check_is_new(&config.data_dir)?;
    let broker = demo::start()?;
    announce(&format!(
        "demo: Kafka broker at {} with the topic {} of {} partitions; data in {}",
        broker.bootstrap_servers(),
        demo::TOPIC,
        demo::PARTITIONS,
        config.data_dir.display()
    ))?;
    let data_dir = config.data_dir.clone();
    // Ends before the broker does, which is dropped after it: no pipeline sees its source go away.
    let ended = serve::run(config)?;
    announce(&format!("demo: the data stays in {} until you remove it", data_dir.display()))?;
    Ok(ended)
}

/// A folder that nobody else has made, reads or can guess: the one for temporary files is everybody's.
fn own_folder(parent: &Path) -> anyhow::Result<PathBuf> {
    // The keys of a hasher are what the standard library has of chance.
    let folder = parent.join(format!("featurestore-demo-{:016x}", RandomState::new().hash_one("folder")));
    let made = DirBuilder::new().mode(0o700).create(&folder);
    made.with_context(|| format!("cannot make the data folder {}; name one with --data-dir", folder.display()))?;
    Ok(folder)
}

/// Serves this machine only, out of that folder.
fn settings(arguments: DemoArguments, folder: PathBuf) -> ServeArguments {
    ServeArguments {
        // Beside the data that it is for, which nobody keeps: an agent that is meant to last has its key elsewhere.
        master_key: MasterKeyArguments {
            master_key_file: Some(folder.join("master.key")),
            ..MasterKeyArguments::default()
        },
        data_dir: Some(folder),
        listen: arguments.listen,
        log_level: arguments.log_level,
        insecure_local: Some(true),
        // Whoever tries things out wants to see the lag of this moment.
        discovery_interval: Some(DEMO_DISCOVERY_INTERVAL),
        ..ServeArguments::default()
    }
}

/// Streams of an earlier demo would wait for records of a broker that has forgotten them.
fn check_is_new(folder: &Path) -> anyhow::Result<()> {
    match std::fs::read_dir(folder).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => bail!(
            "the data folder {} is not empty, and the broker of a demo starts empty each time; name a new folder with --data-dir",
            folder.display()
        ),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot look into the data folder {}", folder.display())),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_demo_takes_a_new_folder_only() {
        let folder = tempfile::tempdir().unwrap();
        assert!(check_is_new(&folder.path().join("absent")).is_ok());
        assert!(check_is_new(folder.path()).is_ok());
        std::fs::write(folder.path().join("agent.db"), "").unwrap();
        let error = check_is_new(folder.path()).unwrap_err().to_string();
        assert!(
            error.contains("--data-dir") && error.contains(folder.path().to_str().unwrap()),
            "{error}"
        );
        let error = check_is_new(&folder.path().join("agent.db")).unwrap_err();
        assert!(format!("{error:#}").contains("cannot look into"), "{error:#}");
    }

    #[test]
    fn a_demo_is_local_and_keeps_everything_in_its_own_folder() {
        let config = Config::load(&settings(DemoArguments::default(), "/d".into())).unwrap();
        assert!(config.access.insecure_local && config.listen.ip().is_loopback());
        assert_eq!(config.data_dir, Path::new("/d"));
        assert!(Path::new(&config.warehouse).starts_with(&config.data_dir));
    }

    #[test]
    fn a_folder_of_a_demo_is_new_and_its_users_alone() {
        let parent = tempfile::tempdir().unwrap();
        let folders = [own_folder(parent.path()).unwrap(), own_folder(parent.path()).unwrap()];
        assert_ne!(folders[0], folders[1]);
        for folder in folders {
            assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        }
        let error = own_folder(&parent.path().join("absent")).unwrap_err();
        assert!(format!("{error:#}").contains("--data-dir"), "{error:#}");
    }
}
