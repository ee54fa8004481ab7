//! One answer for many readers: a list that many resources of one provider read at the same time is asked for once.
//!
//! An answer is shared for a short time only, and forgotten when this provider changes what it lists. Invariant: absence is never
//! concluded from a shared answer; whoever misses something asks again.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::limits::SHARED_ANSWER_LIFETIME;

/// Lists of one kind, by what they are lists of.
pub(crate) struct SharedLists<T> {
    slots: Mutex<HashMap<String, Slot<T>>>,
}

struct Slot<T> {
    asked_at: Instant,
    answer: Arc<OnceCell<Arc<Vec<T>>>>,
}

impl<T> Default for SharedLists<T> {
    fn default() -> Self {
        Self {
            slots: Mutex::new(HashMap::new()),
        }
    }
}

impl<T> SharedLists<T> {
    /// The list of that name: the one that somebody asked for a moment ago, or what `ask` brings. A failure is its asker's alone.
    pub(crate) async fn get<Failure, Asked>(&self, name: &str, ask: impl FnOnce() -> Asked) -> Result<Arc<Vec<T>>, Failure>
    where
        Asked: Future<Output = Result<Vec<T>, Failure>>,
    {
        let answer = {
            let mut slots = self.slots();
            slots.retain(|_, slot| slot.asked_at.elapsed() < SHARED_ANSWER_LIFETIME);
            let slot = slots.entry(name.to_owned()).or_insert_with(|| Slot {
                asked_at: Instant::now(),
                answer: Arc::default(),
            });
            Arc::clone(&slot.answer)
        };
        let list = answer.get_or_try_init(|| async { ask().await.map(Arc::new) }).await?;
        Ok(Arc::clone(list))
    }

    /// Forgets the list of that name, because it is another one now.
    pub(crate) fn forget(&self, name: &str) {
        self.slots().remove(name);
    }

    /// Forgets all lists, because another agent may be asked from now on.
    pub(crate) fn forget_all(&self) {
        self.slots().clear();
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<String, Slot<T>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> std::fmt::Debug for SharedLists<T> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("SharedLists").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// Asks a counted question and brings its number.
    async fn ask(lists: &SharedLists<u32>, name: &str, asked: &AtomicU32) -> u32 {
        let answer = lists
            .get(name, || async { Ok::<_, ()>(vec![asked.fetch_add(1, Ordering::Relaxed)]) })
            .await;
        answer.expect("an answer")[0]
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_shared_until_it_is_old_or_forgotten() {
        let (lists, asked) = (SharedLists::default(), AtomicU32::new(0));
        assert_eq!(ask(&lists, "a", &asked).await, 0);
        assert_eq!(ask(&lists, "a", &asked).await, 0, "shared");
        assert_eq!(ask(&lists, "b", &asked).await, 1, "another list");
        lists.forget("a");
        assert_eq!(ask(&lists, "a", &asked).await, 2, "forgotten");
        tokio::time::advance(SHARED_ANSWER_LIFETIME).await;
        assert_eq!(ask(&lists, "b", &asked).await, 3, "old");
        lists.forget_all();
        assert_eq!(ask(&lists, "b", &asked).await, 4, "forgotten with all");
    }

    #[tokio::test]
    async fn a_failure_is_not_shared() {
        let (lists, asked) = (SharedLists::default(), AtomicU32::new(7));
        let failed = lists.get("a", || async { Err::<Vec<u32>, _>("no") }).await;
        assert_eq!(failed, Err("no"));
        assert_eq!(ask(&lists, "a", &asked).await, 7);
    }
}
