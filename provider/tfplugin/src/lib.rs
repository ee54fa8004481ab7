//! Everything that a Terraform provider needs and that is the same for every provider: the handshake with Terraform, its
//! values and their encodings, schemas, the planning rules, and the plugin protocol.
//!
//! Three walls: `wire` speaks the protocol and knows no rule; `engine` knows Terraform's rules and no protocol; the modules
//! named here are what a provider is written with. Invariant: nothing here knows what any provider manages.

pub mod call;
pub mod data_source;
pub mod diagnostic;
mod engine;
mod handshake;
pub mod limits;
mod logging;
mod panic_hook;
pub mod path;
pub mod private;
pub mod provider;
pub mod resource;
pub mod schema;
pub mod serve;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod value;
mod wire;
