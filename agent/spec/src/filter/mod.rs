//! The record filter (product part D6): a SQL predicate over a decoded record, with the types and the coercions of Spark.
//!
//! `expr` is what the parser makes and what evaluation takes.

pub mod expr;
