//! Who is in which group: what the configuration says, and what was last seen of a principal. Invariant: the built-in admins are
//! in the admin group whatever is configured, and nobody else's identity provider can take their names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::AuthenticationError;
use super::oidc::{IssuerSettings, Named};
use crate::clock;
use crate::governance::principal::{ADMIN, ADMIN_GROUP, LOCAL_ADMIN, Principal, check_name};
use crate::limits::GROUPS_SEEN_AGE_MAX;
use crate::store::documents::{self, PrincipalRecord};
use crate::store::{Replaced, Store, StoreError};

/// The groups of principals.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    groups: BTreeMap<String, BTreeSet<String>>,
    issuers: Vec<IssuerSettings>,
}

impl Directory {
    /// Groups with their members, as the configuration has them.
    pub fn new(groups: BTreeMap<String, BTreeSet<String>>) -> Self {
        Self {
            groups,
            issuers: Vec::new(),
        }
    }

    /// The same, and what these issuers named is believed while they are configured so.
    #[must_use]
    pub fn with_issuers(self, issuers: Vec<IssuerSettings>) -> Self {
        Self { issuers, ..self }
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
        let seen = record.map(|record| self.still_believed(record, clock::now_ms()));
        Ok(self.principal(name, seen.unwrap_or_default()))
    }

    /// What its issuer may say as it is configured now, unless that is long ago.
    fn still_believed(&self, record: PrincipalRecord, now_ms: i64) -> BTreeSet<String> {
        let age = now_ms.saturating_sub(record.issue_time_ms);
        let is_old = i64::try_from(GROUPS_SEEN_AGE_MAX.as_millis()).is_ok_and(|longest| age > longest);
        let issuer = self.issuers.iter().find(|issuer| issuer.issuer == record.issuer);
        let Some(issuer) = issuer.filter(|_| !is_old) else {
            return BTreeSet::new();
        };
        record.groups.into_iter().filter(|group| issuer.may_name(group)).collect()
    }

    /// Whether a name is a group's: no principal may have it, who would hold what is granted to the group.
    pub fn is_group(&self, name: &str) -> bool {
        name == ADMIN_GROUP || self.groups.contains_key(name)
    }

    /// A principal by a name that comes from outside: a claim or a certificate.
    pub(super) fn foreign_principal(&self, name: &str, seen: BTreeSet<String>) -> Result<Principal, AuthenticationError> {
        if is_built_in(name) || self.is_group(name) {
            return Err(AuthenticationError::ReservedName { name: name.to_owned() });
        }
        check_name(name).map_err(|problem| AuthenticationError::UnusableName { problem })?;
        Ok(self.principal(name, seen))
    }

    /// Remembers the groups that an identity provider named, if nothing newer was seen: whoever keeps an old token must not get back
    /// into groups with it. A token that does not say when it was issued counts for its own calls alone. True if they are others than
    /// before.
    pub(super) async fn remember(&self, store: &Arc<dyn Store>, named: &Named, now_ms: i64) -> Result<bool, StoreError> {
        let (Some(groups), Some(issue_time_ms)) = (&named.groups, named.issue_time_ms) else {
            return Ok(false);
        };
        let issue_time_ms = issue_time_ms.min(now_ms);
        let found = documents::get::<PrincipalRecord>(store, &named.name).await?;
        if found.as_ref().is_some_and(|found| found.issue_time_ms >= issue_time_ms) {
            return Ok(false);
        }
        let are_others = found
            .as_ref()
            .map_or(!groups.is_empty(), |found| found.groups != *groups || found.issuer != named.issuer);
        let generation = found.map(|found| found.generation);
        let record = PrincipalRecord {
            name: named.name.clone(),
            generation: generation.unwrap_or(0) + 1,
            groups: groups.clone(),
            issuer: named.issuer.clone(),
            issue_time_ms,
            update_time_ms: now_ms,
        };
        // Whoever wrote in between saw the principal, too; the token's next call looks again which is newer.
        let is_written = match generation {
            None => documents::insert(store, &record).await?,
            Some(generation) => documents::replace(store, generation, &record).await? == Replaced::Done,
        };
        Ok(is_written && are_others)
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
