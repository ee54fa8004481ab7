//! The record filter (product part D6): a SQL predicate over a decoded record, with the types and the coercions of Spark.
//!
//! `expr` is what the parser makes and what evaluation takes; `datetime_pattern` reads the patterns of dates and times in it.

pub mod datetime_pattern;
pub mod expr;
