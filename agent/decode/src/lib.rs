//! Message bytes to Arrow columns, with the results that Spark's `from_json`, `from_avro` and `from_protobuf` give in PERMISSIVE mode.
//!
//! The way through: [`plan::compile`] once per schema, [`decoder::Decoder`] once per table writer, then
//! [`decoder::Decoder::decode`] per batch of borrowed payloads, and again with the rest where it took only the first of them. JSON,
//! Avro and Protobuf have a room each and share the columns. Columns come out as `stream-spec` types map to Arrow in
//! [`arrow_types`]. Messages that name their schema in a registry have a frame, which [`framing`] takes off. What did not fit is counted in a [`report::DecodeReport`]; it never fails a batch.
//!
//! Pure: no I/O, no clock, no randomness. The one invariant: rows out equal payloads taken, and what one message holds
//! never changes the row of another.

pub mod arrow_types;
pub mod decoder;
pub mod error;
pub mod framing;
pub mod limits;
pub mod plan;
pub mod report;
pub mod text;

mod avro;
mod builders;
mod json;
mod protobuf;
