//! Answers that are kept: each is asked for once however many wait for it, and those least used are forgotten first.
//!
//! Invariant: what is kept is bounded in number and bytes, but for the answers under way.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::error::RegistryError;

/// An answer, and how much of it there is to keep.
pub(super) struct Fetched<V> {
    /// The answer.
    pub(super) value: V,
    /// About how many bytes it takes.
    pub(super) bytes: usize,
    /// False for what may be otherwise soon.
    pub(super) lasting: bool,
}

/// How long what may change is kept.
#[derive(Clone, Copy)]
pub(super) struct Kept {
    /// That something is not there.
    pub(super) absence: Duration,
    /// That it could not be asked for.
    pub(super) failure: Duration,
}

/// Answers by what was asked.
pub(super) struct Cache<K, V> {
    count_max: usize,
    bytes_max: usize,
    kept: Kept,
    entries: Mutex<Entries<K, V>>,
}

struct Entries<K, V> {
    by_key: HashMap<K, Entry<V>>,
    bytes: usize,
    /// Counts uses, for telling which is the oldest.
    uses: u64,
}

struct Entry<V> {
    place: Arc<Place<V>>,
    used: u64,
    bytes: usize,
}

/// Where one answer comes to. Whoever asks holds it; the others wait.
type Place<V> = tokio::sync::Mutex<Option<Known<V>>>;

struct Known<V> {
    answer: Result<V, RegistryError>,
    until: Option<Instant>,
}

impl<K: Clone + Eq + Hash, V: Clone> Cache<K, V> {
    /// An empty one with its bounds.
    pub(super) fn new(count_max: usize, bytes_max: usize, kept: Kept) -> Self {
        let entries = Entries {
            by_key: HashMap::new(),
            bytes: 0,
            uses: 0,
        };
        Self {
            count_max,
            bytes_max,
            kept,
            entries: Mutex::new(entries),
        }
    }

    /// What is kept for the key, or what `fetch` gives, which then is kept. Failures are kept for a moment, for those who wait.
    pub(super) async fn get(&self, key: K, fetch: impl Future<Output = Result<Fetched<V>, RegistryError>>) -> Result<V, RegistryError> {
        let place = self.place(&key);
        let mut known = place.lock().await;
        if let Some(known) = known.as_ref()
            && known.until.is_none_or(|until| Instant::now() < until)
        {
            return known.answer.clone();
        }
        let fetched = fetch.await;
        let (answer, bytes, kept) = match fetched {
            Ok(fetched) => (Ok(fetched.value), fetched.bytes, (!fetched.lasting).then_some(self.kept.absence)),
            Err(error) => {
                let kept = match error {
                    RegistryError::NotFound { .. } => self.kept.absence,
                    _ => self.kept.failure,
                };
                (Err(error), 0, Some(kept))
            }
        };
        *known = Some(Known {
            answer: answer.clone(),
            until: kept.map(|kept| Instant::now() + kept),
        });
        drop(known);
        self.weigh(&key, &place, bytes);
        answer
    }

    fn place(&self, key: &K) -> Arc<Place<V>> {
        let mut entries = self.entries();
        entries.uses += 1;
        let used = entries.uses;
        let entry = entries.by_key.entry(key.clone()).or_insert_with(|| Entry {
            place: Arc::new(tokio::sync::Mutex::new(None)),
            used,
            bytes: 0,
        });
        entry.used = used;
        entry.place.clone()
    }

    /// Notes what an answer takes, and forgets others until all of them fit.
    fn weigh(&self, key: &K, place: &Arc<Place<V>>, bytes: usize) {
        let entries = &mut *self.entries();
        // It may have been forgotten while it was under way.
        let Some(entry) = entries.by_key.get_mut(key).filter(|entry| Arc::ptr_eq(&entry.place, place)) else {
            return;
        };
        entries.bytes = entries.bytes - entry.bytes + bytes;
        entry.bytes = bytes;
        if entries.bytes <= self.bytes_max && entries.by_key.len() <= self.count_max {
            return;
        }
        // A tenth more than need be, so that a full cache is not sorted for each new answer.
        let mut by_age: Vec<(u64, K)> = entries.by_key.iter().map(|(key, entry)| (entry.used, key.clone())).collect();
        by_age.sort_unstable_by_key(|(used, _)| *used);
        for (_, key) in by_age {
            if entries.bytes <= self.bytes_max / 10 * 9 && entries.by_key.len() <= self.count_max / 10 * 9 {
                break;
            }
            if let Some(entry) = entries.by_key.remove(&key) {
                entries.bytes -= entry.bytes;
            }
        }
    }

    fn entries(&self) -> MutexGuard<'_, Entries<K, V>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many are kept, and their bytes.
    #[cfg(test)]
    fn size(&self) -> (usize, usize) {
        let entries = self.entries();
        (entries.by_key.len(), entries.bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::{Cache, Fetched, Kept};
    use crate::registry::error::RegistryError;

    const LONG: Kept = Kept {
        absence: Duration::from_secs(3600),
        failure: Duration::from_secs(3600),
    };

    fn fetched(value: u32, bytes: usize) -> Result<Fetched<u32>, RegistryError> {
        Ok(Fetched {
            value,
            bytes,
            lasting: true,
        })
    }

    #[tokio::test]
    async fn what_many_wait_for_is_asked_for_once() {
        let (cache, asked) = (Cache::new(10, 1_000, LONG), AtomicUsize::new(0));
        let ask = || {
            cache.get("k", async {
                asked.fetch_add(1, Ordering::Relaxed);
                for _ in 0..100 {
                    tokio::task::yield_now().await;
                }
                fetched(7, 1)
            })
        };
        let answers = tokio::join!(ask(), ask(), ask());
        assert_eq!(answers, (Ok(7), Ok(7), Ok(7)));
        assert_eq!(ask().await, Ok(7));
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn absence_and_failures_are_kept_for_their_time() {
        let absent = RegistryError::NotFound { what: "k".into() };
        let failed = RegistryError::Unavailable {
            cause: "c".into(),
            retry_after: None,
        };
        for (kept, lasts) in [
            (LONG, true),
            (
                Kept {
                    absence: Duration::ZERO,
                    failure: Duration::ZERO,
                },
                false,
            ),
        ] {
            let cache: Cache<&str, u32> = Cache::new(10, 1_000, kept);
            for (key, error) in [("absent", &absent), ("failed", &failed)] {
                assert_eq!(cache.get(key, async { Err(error.clone()) }).await.as_ref(), Err(error));
                assert_eq!(cache.get(key, async { fetched(1, 1) }).await.is_err(), lasts, "{key}");
            }
            let passing = async || {
                cache
                    .get("passing", async {
                        fetched(1, 1).map(|fetched| Fetched { lasting: false, ..fetched })
                    })
                    .await
            };
            assert_eq!(passing().await, Ok(1));
            let expected = if lasts { 1 } else { 2 };
            assert_eq!(cache.get("passing", async { fetched(2, 1) }).await, Ok(expected));
        }
    }

    #[tokio::test]
    async fn one_that_is_given_up_leaves_the_question_to_the_next() {
        let cache: Cache<&str, u32> = Cache::new(10, 1_000, LONG);
        let never = cache.get("k", std::future::pending());
        assert!(tokio::time::timeout(Duration::from_millis(1), never).await.is_err());
        assert_eq!(cache.get("k", async { fetched(1, 1) }).await, Ok(1));
    }

    #[tokio::test]
    async fn those_least_used_are_forgotten_first_by_number_and_by_bytes() {
        let cache: Cache<usize, u32> = Cache::new(10, 1_000, LONG);
        for key in 0..10 {
            cache.get(key, async { fetched(0, 10) }).await.unwrap();
        }
        cache.get(0, async { fetched(1, 10) }).await.unwrap();
        cache.get(10, async { fetched(0, 10) }).await.unwrap();
        assert_eq!(cache.size(), (9, 90));
        assert_eq!(cache.get(0, async { fetched(1, 10) }).await, Ok(0), "used lately");
        assert_eq!(cache.get(1, async { fetched(1, 950) }).await, Ok(1), "forgotten");
        assert!(cache.size().1 <= 1_000, "{:?}", cache.size());
    }
}
