//! Who acts: users, service principals and groups share one space of names. A group never makes a call; it is what its
//! members are granted through. The invariant: a principal is made by authentication (or, for a stream's run-as identity,
//! from what was seen of it last), never from a request's contents.

use std::collections::BTreeSet;

/// The one who may do everything on an agent without authentication.
pub const LOCAL_ADMIN: &str = "local-admin";

/// The one whose token is in the agent's data folder.
pub const ADMIN: &str = "admin";

/// Longest name of a principal, in bytes: the longest address of electronic mail has as many.
const NAME_BYTES_MAX: usize = 254;

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

    /// Who may do nothing.
    pub fn nobody() -> Self {
        Self::new("", BTreeSet::new())
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

/// Says what is wrong with a principal's or group's name.
pub(crate) fn check_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        return Err("the name is empty");
    }
    if name.len() > NAME_BYTES_MAX {
        return Err("the name is longer than 254 bytes");
    }
    if name.trim() != name {
        return Err("the name begins or ends with white space");
    }
    if name.chars().any(char::is_control) {
        return Err("the name holds control characters");
    }
    Ok(())
}
