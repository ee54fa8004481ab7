//! Names under which the plan that is being made begins something. A name that is given anew has another life after the apply:
//! what was granted on the one before goes with it, and so do the secrets of a scope. Terraform shows that to nobody: to whatever
//! refers to the name, the name is the same.
//!
//! Invariant: a hint, never a truth. Whoever refers to what a resource declares is planned and applied after it, in the same
//! process, and finds it here; for everybody else the next plan shows what was lost.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use stream_spec::privilege::SecurableType;
use stream_spec::volume::VolumePath;
use tfplugin::value::Value;

/// The kind of a secret in a scope, which privileges are not granted on.
const SECRET: &str = "secret";

/// What the plan begins, by kind and name.
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

    /// Notes that the plan makes a secret, `scope/key`.
    pub(crate) fn note_secret(&self, name: &str) {
        self.names().insert((SECRET, name.to_owned()));
    }

    /// True if the plan makes what an attribute names: a connection, a service credential, the volume of a path, a secret by its scope
    /// and key.
    pub(crate) fn has_named(&self, attribute: &str, named: &Value) -> bool {
        let Some(name) = named.as_str() else {
            let part = |part| named.get(part).as_str().unwrap_or_default();
            let secret = format!("{}/{}", part("scope"), part("key"));
            return self.names().contains(&(SECRET, secret));
        };
        match VolumePath::parse(name) {
            Ok(path) => self.has(SecurableType::Volume, path.volume.as_str()),
            Err(_) if attribute.ends_with(".credential") => self.has(SecurableType::ServiceCredential, name),
            Err(_) => self.has(SecurableType::Connection, name),
        }
    }

    /// Another plan begins.
    pub(crate) fn forget_all(&self) {
        self.names().clear();
    }

    fn names(&self) -> MutexGuard<'_, HashSet<(&'static str, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
