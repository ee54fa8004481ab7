//! The one table of who may do what: for each action on each kind of securable, what the caller must hold (product parts
//! A1 to A3). The documentation and the tests are made from it. The invariant: it names privileges and where they must be
//! held, and nothing about how they are looked up.

use super::privilege::Privilege::{
    self, Access, CreateTable, Manage, Read, ReadVolume, Select, UseCatalog, UseConnection, UseSchema, Write,
};
use super::{Action, SecurableKind};

/// What a caller must be or hold. Members of the admin group may do everything that has a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Every authenticated caller.
    Anyone,
    /// Every authenticated caller, who is told of what it may read and of nothing else.
    Filtered,
    /// Members of the admin group.
    Admins,
    /// The principal that it is about, and members of the admin group.
    Themselves,
    /// All of these.
    Needs(&'static [Need]),
    /// What `Create` needs where nothing of that name is there for the caller, what `Update` needs where something is; both for
    /// a replacement.
    AsCreateOrUpdate,
    /// No call asks for it.
    Never,
}

/// One thing that a caller must hold: one of the privileges, or the ownership, of what it is held on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// One of these is enough.
    pub any: &'static [Privilege],
    /// Where it is held: there, or on the schema or catalog that it is in.
    pub on: On,
}

/// Where a privilege must be held, as seen from the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// What the request names; for a stream, its ingestion table.
    Itself,
    /// The catalogs of the destination and of the stream's name.
    Catalog,
    /// The schemas of the destination and of the stream's name.
    Schema,
    /// The connections that are named.
    Connections,
    /// The service credentials of these connections, or the one that a connection names.
    Credentials,
    /// The secret scopes that are named.
    Scopes,
    /// The volumes that are named.
    Volumes,
    /// The backfill source.
    BackfillSource,
}

/// MANAGE on what is named.
const MANAGE: Rule = Rule::Needs(&[Need {
    any: &[Manage],
    on: On::Itself,
}]);

/// What it takes to create a stream, and to go on running one.
pub const CREATE_STREAM: &[Need] = &[
    Need {
        any: &[UseCatalog],
        on: On::Catalog,
    },
    Need {
        any: &[UseSchema],
        on: On::Schema,
    },
    Need {
        any: &[CreateTable],
        on: On::Schema,
    },
    Need {
        any: &[UseConnection],
        on: On::Connections,
    },
    Need {
        any: &[Access],
        on: On::Credentials,
    },
    Need {
        any: &[Read],
        on: On::Scopes,
    },
    Need {
        any: &[ReadVolume],
        on: On::Volumes,
    },
    Need {
        any: &[Select],
        on: On::BackfillSource,
    },
];

/// What it takes to change what a connection is.
const CHANGE_CONNECTION: Rule = Rule::Needs(&[
    Need {
        any: &[Manage],
        on: On::Itself,
    },
    Need {
        any: &[Access],
        on: On::Credentials,
    },
    Need {
        any: &[Read],
        on: On::Scopes,
    },
]);

/// The rule of an action on a kind of securable.
pub const fn rule(action: Action, kind: SecurableKind) -> Rule {
    use SecurableKind as Kind;
    match (kind, action) {
        (Kind::Agent, Action::Read) | (Kind::Unreadable, Action::Check) => Rule::Anyone,
        (Kind::Stream, Action::Read) => Rule::Needs(&[Need {
            any: &[Select, Manage],
            on: On::Itself,
        }]),
        (Kind::Stream, Action::Update | Action::Operate | Action::Delete) => MANAGE,
        (Kind::NewStream, Action::Create) => Rule::Needs(CREATE_STREAM),
        (Kind::NewStream | Kind::DeclaredConnection, Action::Check) => Rule::AsCreateOrUpdate,
        (Kind::NewStream, Action::Update) => MANAGE,
        (Kind::DeclaredConnection, Action::Test) => Rule::AsCreateOrUpdate,
        (Kind::Connection, Action::Read | Action::Test) => Rule::Needs(&[Need {
            any: &[UseConnection, Manage],
            on: On::Itself,
        }]),
        (Kind::DeclaredConnection, Action::Update) => CHANGE_CONNECTION,
        (Kind::Credential, Action::Read) => Rule::Needs(&[Need {
            any: &[Access, Manage],
            on: On::Itself,
        }]),
        (Kind::SecretScope, Action::Read) => Rule::Needs(&[Need {
            any: &[Read, Write, Manage],
            on: On::Itself,
        }]),
        (Kind::SecretScope, Action::Update) => Rule::Needs(&[Need {
            any: &[Write],
            on: On::Itself,
        }]),
        (Kind::Volume, Action::Read) => Rule::Needs(&[Need {
            any: &[ReadVolume, Manage],
            on: On::Itself,
        }]),
        (Kind::Connection, Action::Update) => MANAGE,
        // All that can be changed is where in the agent's world they lead: as much as to create them.
        (Kind::Credential | Kind::Volume, Action::Update) => Rule::Admins,
        (Kind::Connection | Kind::Credential | Kind::SecretScope | Kind::Volume, Action::Delete) => MANAGE,
        (Kind::DeclaredConnection | Kind::Credential | Kind::SecretScope | Kind::Volume, Action::Create) => Rule::Admins,
        (Kind::Grants, Action::Read | Action::Grant) => MANAGE,
        (Kind::Streams | Kind::Connections | Kind::Credentials | Kind::SecretScopes | Kind::Volumes | Kind::AllGrants, Action::List) => {
            Rule::Filtered
        }
        (Kind::Tokens, Action::Create | Action::List | Action::Delete) => Rule::Themselves,
        // Spelled out, so that a new kind has to be given its rules.
        (
            Kind::Agent
            | Kind::Stream
            | Kind::NewStream
            | Kind::Streams
            | Kind::Connection
            | Kind::DeclaredConnection
            | Kind::Connections
            | Kind::Credential
            | Kind::Credentials
            | Kind::SecretScope
            | Kind::SecretScopes
            | Kind::Volume
            | Kind::Volumes
            | Kind::Grants
            | Kind::AllGrants
            | Kind::Tokens
            | Kind::Unreadable,
            _,
        ) => Rule::Never,
    }
}
