//! The decoder from outside: Spark's recorded answers, messages of our own, and properties of any bytes.

mod from_json;
mod messages;
mod oracle;
mod properties;
