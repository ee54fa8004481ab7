//! A client of Confluent schema registries: what subjects' latest versions are, which schema an id is, and of which subjects.
//!
//! `client` asks and keeps answers, `http` gets a question to one of the registry's addresses, `pool` gives all streams of a connection
//! one client, `attempt` tries a registry step by step. What schemas mean is `stream-spec`'s, what frames of messages say is `stream-decode`'s. Invariant: schemas of an id never
//! change, so they are asked for once; what is not there may come, so that is believed for seconds only.
//!
//! # How registries differ
//!
//! Tested with Apicurio 2.4.2 (its `/apis/ccompat/v7`) and with franz-go's `srfake`; Confluent's own is not to be had for tests, and is
//! followed by its documentation.
//!
//! | | Confluent | Apicurio 2.4.2 | srfake |
//! |---|---|---|---|
//! | Protobuf that was registered compiled, as Confluent's serializers do | answered as text | as it was registered: base64, which `stream-spec` reads | the same |
//! | texts are checked when they are registered | yes | yes, but what looks like nothing is refused whatever its `schemaType` | no |
//! | `references` of a schema without any | left out | `[]` | left out |
//! | an unknown subject's latest version | 40401 | 40402 | 40401 |
//! | a path that is not there | 404 with code 404 | 404 with code 0 | 404 as plain text |
//! | a GUID in answers about versions | in new ones | none | yes, not in those to a registration |
//! | contexts | yes | no | no |
//! | a wrong password | 401 | 401, by the gate that the tests put before it | 403, of which our program makes 401 |
//! | schemas over a kill | kept | kept, in H2's file | lost |
//!
//! Both answer `/schemas/ids/N/versions`; the way without that question is tested against a server made by hand.
//!
//! Not read: an edition's file that was registered compiled (its features are not in the descriptors that are known here). It makes a
//! schema unusable.

mod answers;
mod attempt;
mod cache;
mod client;
mod context;
mod error;
mod http;
mod limits;
mod open;
mod pool;
mod schema;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use attempt::attempt;
pub use client::RegistryClient;
pub use error::RegistryError;
pub use open::RegistryProperties;
pub use pool::RegistryPool;
pub use schema::RegisteredSchema;
