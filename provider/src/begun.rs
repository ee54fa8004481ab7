//! Names under which the plan that is being made begins something. A name that is given anew has another life after the apply:
//! what was granted on the one before goes with it, and so do the secrets of a scope. Terraform shows that to nobody: to whatever
//! refers to the name, the name is the same.
//!
//! Invariant: a hint, never a truth. Whoever refers to what a resource declares is planned and applied after it, in the same
//! process, and finds it here; for everybody else the next plan shows what was lost.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use stream_spec::privilege::SecurableType;

/// What the plan begins, by type and name.
#[derive(Debug, Default)]
pub(crate) struct Begun(Mutex<HashSet<(&'static str, String)>>);

impl Begun {
    /// Notes that the plan makes something of that name.
    pub(crate) fn note(&self, securable_type: SecurableType, name: &str) {
        self.names().insert((securable_type.name(), name.to_owned()));
    }

    /// True if the plan makes something of that name.
    pub(crate) fn has(&self, securable_type: SecurableType, name: &str) -> bool {
        self.names().contains(&(securable_type.name(), name.to_owned()))
    }

    /// Another plan begins.
    pub(crate) fn forget_all(&self) {
        self.names().clear();
    }

    fn names(&self) -> MutexGuard<'_, HashSet<(&'static str, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
