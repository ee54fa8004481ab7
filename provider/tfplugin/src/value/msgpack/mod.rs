//! Values as MessagePack, as Terraform sends and expects them. Reading is in `reader.rs`, writing in `writer.rs`.
//!
//! The type at hand decides how bytes are read, so a value cannot nest deeper than its type. Invariant: what is decoded and
//! encoded again under the same type means the same to Terraform, refinements and long decimals included.

mod reader;
mod refined;
mod writer;

use crate::path::AttributePath;
use crate::value::Value;
use crate::value::codec_error::CodecError;
use crate::value::types::Type;

/// Reads a value of that type.
///
/// # Errors
/// When the bytes are not one MessagePack value of that type.
pub fn decode(value_type: &Type, bytes: &[u8]) -> Result<Value, CodecError> {
    let mut reader = reader::Reader::new(bytes);
    let value = reader.value(value_type, &AttributePath::root())?;
    reader.finish().map_err(|problem| problem.at(&AttributePath::root()))?;
    Ok(value)
}

/// Writes a value that has the form of its type; see [`crate::value::conform`].
///
/// # Errors
/// When it has another form.
pub fn encode(value_type: &Type, value: &Value) -> Result<Vec<u8>, CodecError> {
    let mut writer = writer::Writer::new();
    writer.value(value_type, value, &AttributePath::root())?;
    Ok(writer.into_bytes())
}

#[cfg(test)]
mod tests;
