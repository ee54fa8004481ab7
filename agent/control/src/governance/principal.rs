//! Who acts: users, service principals and groups share one space of names. A group never makes a call; it is what its
//! members are granted through. The invariant: a principal is made by authentication (or, for a stream's run-as identity,
//! from what was seen of it last), never from a request's contents.

use std::collections::BTreeSet;

/// The one who may do everything on an agent without authentication.
pub const LOCAL_ADMIN: &str = "local-admin";

/// The group whose members may do everything.
pub const ADMIN_GROUP: &str = "admins";

/// Someone who may act, with the groups that they are in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    name: String,
    groups: BTreeSet<String>,
}

impl Principal {
    /// A principal as authentication found it.
    pub fn new(name: impl Into<String>, groups: BTreeSet<String>) -> Self {
        Self { name: name.into(), groups }
    }

    /// The one who may do everything on an agent without authentication.
    pub fn local_admin() -> Self {
        Self::new(LOCAL_ADMIN, BTreeSet::from([ADMIN_GROUP.to_owned()]))
    }

    /// As it is stored and shown.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The groups that it is in.
    pub fn groups(&self) -> &BTreeSet<String> {
        &self.groups
    }

    /// True for members of the admin group.
    pub fn is_admin(&self) -> bool {
        self.groups.contains(ADMIN_GROUP)
    }

    /// True if what is granted to `grantee` is granted to this principal: by its own name, or as a member of a group.
    pub fn is_or_is_in(&self, grantee: &str) -> bool {
        self.name == grantee || self.groups.contains(grantee)
    }
}
