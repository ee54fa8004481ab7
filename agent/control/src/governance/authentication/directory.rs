//! Who is in which group: what the configuration says, and what was last seen of a principal. Invariant: the built-in admins are
//! in the admin group whatever is configured, and nobody else's identity provider can take their names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::AuthenticationError;
use crate::governance::principal::{ADMIN, ADMIN_GROUP, LOCAL_ADMIN, Principal, check_name};
use crate::store::documents::{self, PrincipalRecord};
use crate::store::{Store, StoreError};

/// The groups of principals.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    groups: BTreeMap<String, BTreeSet<String>>,
}

impl Directory {
    /// Groups with their members, as the configuration has them.
    pub fn new(groups: BTreeMap<String, BTreeSet<String>>) -> Self {
        Self { groups }
    }

    /// A principal that was authenticated just now; `seen` are the groups that its identity provider names.
    pub fn principal(&self, name: &str, seen: BTreeSet<String>) -> Principal {
        let mut groups = seen;
        let configured = self.groups.iter().filter(|(_, members)| members.contains(name));
        groups.extend(configured.map(|(group, _)| group.clone()));
        if is_built_in(name) {
            groups.insert(ADMIN_GROUP.to_owned());
        }
        Principal::new(name, groups)
    }

    /// A principal that makes no call at the moment: with the groups that its identity provider named last. It is what a token of
    /// ours speaks for, and what a stream runs as.
    pub async fn absent_principal(&self, store: &Arc<dyn Store>, name: &str) -> Result<Principal, StoreError> {
        let record = documents::get::<PrincipalRecord>(store, name).await?;
        Ok(self.principal(name, record.map(|record| record.groups).unwrap_or_default()))
    }

    /// A principal by a name that comes from outside: a claim or a certificate.
    pub(super) fn foreign_principal(&self, name: &str, seen: BTreeSet<String>) -> Result<Principal, AuthenticationError> {
        // Whoever had a group's name would hold what is granted to the group.
        if is_built_in(name) || name == ADMIN_GROUP || self.groups.contains_key(name) {
            return Err(AuthenticationError::ReservedName { name: name.to_owned() });
        }
        check_name(name).map_err(|problem| AuthenticationError::UnusableName { problem })?;
        Ok(self.principal(name, seen))
    }

    /// Remembers the groups that an identity provider named, if they are others than before.
    pub(super) async fn remember(
        &self,
        store: &Arc<dyn Store>,
        name: &str,
        groups: &BTreeSet<String>,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let found = documents::get::<PrincipalRecord>(store, name).await?;
        let generation = found.as_ref().map(|found| found.generation);
        if found.is_some_and(|found| found.groups == *groups) || (generation.is_none() && groups.is_empty()) {
            return Ok(());
        }
        let record = PrincipalRecord {
            name: name.to_owned(),
            generation: generation.unwrap_or(0) + 1,
            groups: groups.clone(),
            update_time_ms: now_ms,
        };
        // Whoever wrote in between saw the principal as recently as this call did.
        match generation {
            None => documents::insert(store, &record).await.map(drop),
            Some(generation) => documents::replace(store, generation, &record).await.map(drop),
        }
    }
}

pub(super) fn is_built_in(name: &str) -> bool {
    name == ADMIN || name == LOCAL_ADMIN
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn groups_are_those_of_the_configuration_and_those_that_were_seen() {
        let directory = Directory::new(BTreeMap::from([
            ("admins".to_owned(), set(&["ada"])),
            ("payments".to_owned(), set(&["ada", "bob"])),
        ]));
        let cases = [
            ("ada", set(&[]), set(&["admins", "payments"])),
            ("bob", set(&["sre"]), set(&["payments", "sre"])),
            ("eve", set(&[]), set(&[])),
            ("admin", set(&[]), set(&["admins"])),
            ("local-admin", set(&[]), set(&["admins"])),
        ];
        for (name, seen, expected) in cases {
            assert_eq!(directory.principal(name, seen).groups(), &expected, "{name}");
        }
    }

    #[test]
    fn nobody_comes_from_outside_under_a_name_of_the_agent_itself() {
        let directory = Directory::new(BTreeMap::from([("payments".to_owned(), set(&["ada"]))]));
        for (name, is_taken) in [
            ("admin", false),
            ("admins", false),
            ("payments", false),
            ("local-admin", false),
            ("", false),
            ("a\nb", false),
            ("ada@example.com", true),
        ] {
            assert_eq!(directory.foreign_principal(name, set(&[])).is_ok(), is_taken, "{name:?}");
        }
    }
}
