//! The agent with a Kafka broker inside, for trying the product out on one machine. What the broker is lives in
//! `stream_pipeline::demo`. Invariant: it never touches the data of an agent that is meant to last.

use std::path::Path;

use anyhow::{Context, bail};
use stream_pipeline::demo;

use crate::cli::{DemoArguments, ServeArguments};
use crate::config::Config;
use crate::limits::DEMO_DISCOVERY_INTERVAL;
use crate::serve::{self, Ended, announce};

/// Runs broker and agent until SIGTERM or SIGINT.
pub(crate) fn run(arguments: DemoArguments) -> anyhow::Result<Ended> {
    let config = Config::load(&settings(arguments))?;
    check_is_new(&config.data_dir)?;
    let broker = demo::start()?;
    announce(&format!(
        "demo: Kafka broker at {} with the topic {} of {} partitions; data in {}",
        broker.bootstrap_servers(),
        demo::TOPIC,
        demo::PARTITIONS,
        config.data_dir.display()
    ))?;
    // Ends before the broker does, which is dropped after it: no pipeline sees its source go away.
    serve::run(config)
}

/// Serves this machine only, out of a folder of its own.
fn settings(arguments: DemoArguments) -> ServeArguments {
    let own_folder = || std::env::temp_dir().join(format!("featurestore-demo-{}", std::process::id()));
    ServeArguments {
        data_dir: Some(arguments.data_dir.unwrap_or_else(own_folder)),
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
        let config = Config::load(&settings(DemoArguments::default())).unwrap();
        assert!(config.insecure_local && config.listen.ip().is_loopback());
        assert!(config.data_dir.starts_with(std::env::temp_dir()));
        assert!(Path::new(&config.warehouse).starts_with(&config.data_dir));
        let named = settings(DemoArguments {
            data_dir: Some("/d".into()),
            ..DemoArguments::default()
        });
        assert_eq!(named.data_dir, Some("/d".into()));
    }
}
