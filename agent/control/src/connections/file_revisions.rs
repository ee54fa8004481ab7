//! Random revisions of files, as secrets have them: another one whenever the bytes are others.
//!
//! Invariant: a revision says nothing of the bytes. Whether they are the same is told by a digest under a key that dies with the
//! process, and that leaves this file never.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use aws_lc_rs::hmac;
use uuid::Uuid;

use crate::governance::secrets::SecretValue;

/// What is known of files, by their paths.
pub(super) struct FileRevisions {
    key: hmac::Key,
    known: Mutex<HashMap<String, Known>>,
}

struct Known {
    digest: Vec<u8>,
    revision: String,
}

impl FileRevisions {
    /// Nothing known yet.
    pub(super) fn new() -> Self {
        // Four random numbers: as many bits as the digest has.
        let mut key = [[0; 16]; 2];
        key.iter_mut().for_each(|half| *half = *Uuid::new_v4().as_bytes());
        Self {
            key: hmac::Key::new(hmac::HMAC_SHA256, key.as_flattened()),
            known: Mutex::default(),
        }
    }

    /// The revision of a file with these bytes.
    pub(super) fn of(&self, path: &str, bytes: &SecretValue) -> String {
        let digest = self.digest_of(bytes);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(path) {
            Some(known) if known.digest == digest => known.revision.clone(),
            _ => {
                let revision = Uuid::new_v4().to_string();
                known.insert(
                    path.to_owned(),
                    Known {
                        digest,
                        revision: revision.clone(),
                    },
                );
                revision
            }
        }
    }

    /// Whether the file had other bytes when its revision was last asked for. Of a file that nobody asked for there is no news.
    pub(super) fn is_news(&self, path: &str, bytes: &SecretValue) -> bool {
        let digest = self.digest_of(bytes);
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(path).is_some_and(|known| known.digest != digest)
    }

    fn digest_of(&self, bytes: &SecretValue) -> Vec<u8> {
        hmac::sign(&self.key, bytes.expose()).as_ref().to_vec()
    }

    /// Forgets all files but these.
    pub(super) fn keep(&self, paths: &HashSet<&str>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|path, _| paths.contains(path.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_another_revision_whenever_its_bytes_are_others_and_none_says_anything_of_them() {
        let files = FileRevisions::new();
        let value = |text: &str| SecretValue::from(text.to_owned());
        assert!(!files.is_news("a", &value("one")), "nobody asked for it yet");
        let one = files.of("a", &value("one"));
        assert_eq!(files.of("a", &value("one")), one);
        assert!(files.is_news("a", &value("two")) && !files.is_news("a", &value("one")));
        let two = files.of("a", &value("two"));
        let again = files.of("a", &value("one"));
        assert!(
            one != two && two != again && one != again,
            "a revision does not come back with the bytes"
        );
        assert_ne!(files.of("b", &value("one")), again);
        files.keep(&HashSet::from(["b"]));
        assert!(!files.is_news("a", &value("two")) && files.is_news("b", &value("two")));
    }
}
