//! What can be granted, and on what (product parts A1 to A3). The words are those of the public API, so that a grant reads
//! the same in Terraform, in an error and in the documentation.

use serde::{Deserialize, Serialize};

macro_rules! privileges {
    ($($(#[$doc:meta])* $variant:ident, $name:literal;)*) => {
        /// Something that can be granted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Privilege {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl Privilege {
            /// All there are.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// As it is written in grants.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The privilege of that name.
            pub fn parse(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.name() == name)
            }
        }
    };
}

privileges! {
    /// See what is in a catalog, as far as other privileges go.
    UseCatalog, "USE CATALOG";
    /// See what is in a schema, as far as other privileges go.
    UseSchema, "USE SCHEMA";
    /// Create tables, and with them streams.
    CreateTable, "CREATE TABLE";
    /// Read a table, and the stream that writes it.
    Select, "SELECT";
    /// Change, grant and delete.
    Manage, "MANAGE";
    /// Use a connection in a stream.
    UseConnection, "USE CONNECTION";
    /// Use a service credential.
    Access, "ACCESS";
    /// Use the secrets of a scope.
    Read, "READ";
    /// Write the secrets of a scope.
    Write, "WRITE";
    /// Read the files of a volume.
    ReadVolume, "READ VOLUME";
}

impl std::fmt::Display for Privilege {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

macro_rules! securable_types {
    ($($(#[$doc:meta])* $variant:ident, $name:literal, [$($privilege:ident),*];)*) => {
        /// What privileges are granted on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum SecurableType {
            $($(#[$doc])* $variant,)*
        }

        impl SecurableType {
            /// All there are.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// As it is written in Terraform and in errors.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The type of that name.
            pub fn parse(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.name() == name)
            }

            /// As it is written in sentences.
            pub fn noun(self) -> String {
                self.name().replace('_', " ")
            }

            /// What can be granted on it. What is granted on a catalog or schema holds for everything in it.
            pub fn privileges(self) -> &'static [Privilege] {
                match self { $(Self::$variant => &[$(Privilege::$privilege),*],)* }
            }
        }
    };
}

securable_types! {
    /// A catalog.
    Catalog, "catalog", [UseCatalog, UseSchema, CreateTable, Select, ReadVolume, Manage];
    /// A schema, `catalog.schema`.
    Schema, "schema", [UseSchema, CreateTable, Select, ReadVolume, Manage];
    /// A table, and the stream that writes it.
    Table, "table", [Select, Manage];
    /// A connection.
    Connection, "connection", [UseConnection, Manage];
    /// A service credential.
    ServiceCredential, "service_credential", [Access, Manage];
    /// A secret scope.
    SecretScope, "secret_scope", [Read, Write, Manage];
    /// A volume.
    Volume, "volume", [ReadVolume, Manage];
}

impl std::fmt::Display for SecurableType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
