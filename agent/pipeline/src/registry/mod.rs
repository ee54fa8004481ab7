//! A client of Confluent schema registries: what subjects' latest versions are, which schema an id is, and of which subjects.
//!
//! `client` asks and keeps answers, `http` gets a question to one of the registry's addresses, `pool` gives all streams of a connection
//! one client. What schemas mean is `stream-spec`'s, what frames of messages say is `stream-decode`'s. Invariant: schemas of an id never
//! change, so they are asked for once; what is not there may come, so that is believed for seconds only.
//!
//! # How registries differ
//!
//! Tested with Apicurio 2.4.2 (its `/apis/ccompat/v7`) and with franz-go's `srfake`; Confluent's own is not to be had for tests, and is
//! followed by its documentation.
//!
//! | | Confluent | Apicurio 2.4.2 | srfake |
//! |---|---|---|---|
//! | Protobuf registered as a base64 descriptor (Confluent's serializers do) | answered as text | as it was registered | as it was registered |
//! | texts are checked when registered | yes | yes | no |
//! | `schemaType` of Avro | left out | left out | left out |
//! | `references` of a schema without any | left out | `[]` | left out |
//! | `/schemas/ids/N/versions` | yes | yes | yes |
//! | contexts | yes | no | no |
//! | wrong password | 401 | 401 by the gate in front of it | 403, our main makes it 401 |

mod answers;
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
mod tests;

pub use client::RegistryClient;
pub use error::RegistryError;
pub use open::RegistryProperties;
pub use pool::RegistryPool;
pub use schema::RegisteredSchema;
