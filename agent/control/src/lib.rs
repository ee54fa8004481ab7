//! The control plane: what streams and connections are declared, who may do what, and the reconciler that makes it so.
//!
//! `store/` keeps what is declared and observed, `reconcile/` drives pipelines towards it, `services/` holds what each
//! call means, `governance/` says who may make it, `grpc/` and `http/` put the services on a port. It knows no broker and
//! no Delta log: those are behind `reconcile::engine::PipelineEngine`.

pub mod audit;
mod clock;
pub mod connections;
pub mod governance;
mod grpc;
pub mod http;
mod limits;
pub mod reconcile;
pub mod services;
pub mod state;
pub mod store;
#[cfg(test)]
mod testing;
