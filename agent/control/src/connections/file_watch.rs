//! Looks again and again at the stores of keys that pipelines connect with, and tells these when one has other bytes: a certificate is
//! renewed by putting a new file in the place of the old one, and nobody tells the agent.
//!
//! Invariant: a file that is being written, or that is gone, is no news: pipelines go on with what they have.

use std::collections::HashSet;
use std::time::Duration;

use stream_spec::name::VolumeName;
use stream_spec::stream::DirectMtlsConfig;
use stream_spec::volume::VolumePath;
use tokio_util::sync::CancellationToken;

use super::StoreResolver;
use crate::governance::volumes::VolumeError;
use crate::limits::{FILE_SETTLES_AFTER, VOLUME_FILE_BYTES_MAX};

impl StoreResolver {
    /// Looks every `interval` until it is told to stop.
    pub async fn watch_files(self, interval: Duration, stopping: CancellationToken) {
        let looks = async {
            loop {
                tokio::time::sleep(interval).await;
                self.look_at_files().await;
            }
        };
        tokio::select! {
            () = stopping.cancelled() => {}
            () = looks => {}
        }
    }

    /// One look at all files that pipelines connect with.
    async fn look_at_files(&self) {
        let followed = self.changes.followed_direct();
        let paths: HashSet<&str> = followed.iter().flat_map(locations).collect();
        self.files.keep(&paths);
        let (mut news, mut slow) = (HashSet::new(), HashSet::new());
        for path in paths {
            match self.is_news(path, &mut slow).await {
                Ok(true) => drop(news.insert(path)),
                Ok(false) => {}
                Err(error) => tracing::debug!(%error, "a store of keys cannot be read; pipelines go on with what they have"),
            }
        }
        if !news.is_empty() {
            tracing::info!(files = ?news, "stores of keys were changed; pipelines reconnect");
            self.changes
                .announce_direct(|direct| locations(direct).iter().any(|location| news.contains(location)));
        }
    }

    /// Whether a file has other bytes, and is not being written at the moment. A volume that hangs is asked once.
    async fn is_news(&self, path: &str, slow: &mut HashSet<VolumeName>) -> Result<bool, VolumeError> {
        let volume = VolumePath::parse(path).map(|path| path.volume).ok();
        if volume.as_ref().is_some_and(|volume| slow.contains(volume)) {
            return Ok(false);
        }
        let read = self.volumes.read(path, VOLUME_FILE_BYTES_MAX).await;
        if matches!(read, Err(VolumeError::Slow { .. })) {
            slow.extend(volume);
        }
        let read = read?;
        if !self.files.is_news(path, &read) {
            return Ok(false);
        }
        tokio::time::sleep(FILE_SETTLES_AFTER).await;
        Ok(self.volumes.read(path, VOLUME_FILE_BYTES_MAX).await? == read)
    }
}

fn locations(direct: &DirectMtlsConfig) -> [&str; 2] {
    [&direct.mtls.keystore_location, &direct.mtls.truststore_location]
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use stream_pipeline::connection::ConnectionResolver;
    use stream_spec::name::VolumeName;
    use stream_spec::stream::{ConnectionConfig, MtlsConfig, SecretRef};

    use super::*;
    use crate::connections::ConnectionChanges;
    use crate::governance::secrets::Vault;
    use crate::governance::secrets::master::MasterKeys;
    use crate::store::Store;
    use crate::store::documents::{self, Authorship, VolumeRecord};
    use crate::store::sqlite::SqliteStore;

    async fn resolver(folder: &Path) -> StoreResolver {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&folder.join("agent.db")).await.unwrap());
        let record = VolumeRecord {
            name: VolumeName::parse("main.pay.keys").unwrap(),
            generation: 1,
            authorship: Authorship::new("me", 1, ""),
            storage_location: folder.to_str().unwrap().to_owned(),
        };
        assert!(documents::insert(&store, &record).await.unwrap());
        let vault = Vault::new(store.clone(), MasterKeys::none(""));
        StoreResolver::new(store, vault, Arc::default(), Arc::new(ConnectionChanges::default()))
    }

    fn direct(keystore: &str) -> DirectMtlsConfig {
        let secret = || SecretRef {
            scope: "s".to_owned(),
            key: "k".to_owned(),
        };
        DirectMtlsConfig {
            bootstrap_servers: "b:1".to_owned(),
            mtls: MtlsConfig {
                keystore_location: format!("/Volumes/main/pay/keys/{keystore}"),
                truststore_location: "/Volumes/main/pay/keys/trust".to_owned(),
                keystore_password_ref: secret(),
                key_password_ref: secret(),
                truststore_password_ref: secret(),
                disable_hostname_verification: false,
            },
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_with_other_bytes_is_told_to_whoever_connects_by_it_and_one_that_is_gone_is_no_news() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        for name in ["one", "two", "trust"] {
            write(name, "first");
        }
        let resolver = resolver(folder.path()).await;
        let followed = ["one", "two"].map(direct);
        let mut changes = followed
            .each_ref()
            .map(|direct| resolver.changes(&ConnectionConfig::DirectMtls(direct.clone())));
        let opened = async |resolver: &StoreResolver| {
            for path in followed.iter().flat_map(locations) {
                if let Ok(bytes) = resolver.volumes.read(path, VOLUME_FILE_BYTES_MAX).await {
                    resolver.files.of(path, &bytes);
                }
            }
        };
        let mut told = || {
            changes.each_mut().map(|changes| {
                let told = changes.has_changed().unwrap();
                changes.mark_unchanged();
                told
            })
        };
        resolver.look_at_files().await;
        assert_eq!(told(), [false, false], "nobody has opened them yet");
        opened(&resolver).await;
        for (name, text, expected) in [
            ("one", "first", [false, false]),
            ("one", "second", [true, false]),
            ("trust", "second", [true, true]),
        ] {
            write(name, text);
            resolver.look_at_files().await;
            assert_eq!(told(), expected, "{name} {text}");
            opened(&resolver).await;
        }
        std::fs::remove_file(folder.path().join("two")).unwrap();
        resolver.look_at_files().await;
        assert_eq!(told(), [false, false], "it is gone");
    }
}
