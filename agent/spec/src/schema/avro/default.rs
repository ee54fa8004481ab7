//! A field's default in the encoding of its schema, to be read as if the writer had written it.
//!
//! The JSON that the specification gives defaults: bytes are a text of the code points 0 to 255, a union's default is of the first branch
//! that it fits.

use super::tree::{AvroField, AvroType, Encoding};
use serde_json::Value;

/// The default's bytes; none if it does not fit its schema.
pub fn encode(value: &Value, schema: &AvroType) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    write(value, schema, &mut bytes)?;
    Some(bytes)
}

fn write(value: &Value, schema: &AvroType, bytes: &mut Vec<u8>) -> Option<()> {
    match &schema.encoding {
        Encoding::Null => value.as_null()?,
        Encoding::Boolean => bytes.push(value.as_bool()?.into()),
        Encoding::Int => write_long(i64::from(i32::try_from(value.as_i64()?).ok()?), bytes),
        Encoding::Long => write_long(value.as_i64()?, bytes),
        // A float is what its double is nearest to.
        Encoding::Float => bytes.extend((number(value)? as f32).to_le_bytes()),
        Encoding::Double => bytes.extend(number(value)?.to_le_bytes()),
        Encoding::String => write_sized(value.as_str()?.as_bytes(), bytes)?,
        Encoding::Bytes => write_sized(&latin(value.as_str()?)?, bytes)?,
        Encoding::Fixed { size, .. } => {
            let content = latin(value.as_str()?)?;
            bytes.extend((content.len() == *size).then_some(content)?);
        }
        Encoding::Enum { symbols, .. } => {
            let symbol = value.as_str()?;
            write_len(symbols.iter().position(|known| known == symbol)?, bytes)?;
        }
        Encoding::Record { fields, .. } => fields.iter().try_for_each(|field| write_field(value, field, bytes))?,
        Encoding::Array(items) => {
            let list = value.as_array()?;
            write_len(list.len(), bytes)?;
            list.iter().try_for_each(|item| write(item, items, bytes))?;
            if !list.is_empty() {
                bytes.push(0);
            }
        }
        Encoding::Map(values) => {
            let members = value.as_object()?;
            write_len(members.len(), bytes)?;
            for (key, member) in members {
                write_sized(key.as_bytes(), bytes)?;
                write(member, values, bytes)?;
            }
            if !members.is_empty() {
                bytes.push(0);
            }
        }
        Encoding::Union(branches) => {
            let encoded = |branch| encode(value, branch);
            let (index, encoded) = branches
                .iter()
                .enumerate()
                .find_map(|(index, branch)| Some((index, encoded(branch)?)))?;
            write_len(index, bytes)?;
            bytes.extend(encoded);
        }
        Encoding::Recursion(_) => return None,
    }
    Some(())
}

fn write_field(record: &Value, field: &AvroField, bytes: &mut Vec<u8>) -> Option<()> {
    let given = record.as_object()?.get(&field.name);
    write(given.or(field.default.as_ref())?, &field.schema, bytes)
}

/// Java takes a number in a text too.
fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

fn latin(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|character| u8::try_from(u32::from(character)).ok()).collect()
}

fn write_sized(content: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    write_len(content.len(), bytes)?;
    bytes.extend(content);
    Some(())
}

fn write_len(len: usize, bytes: &mut Vec<u8>) -> Option<()> {
    write_long(i64::try_from(len).ok()?, bytes);
    Some(())
}

fn write_long(value: i64, bytes: &mut Vec<u8>) {
    let mut zigzag = ((value << 1) ^ (value >> 63)).cast_unsigned();
    while zigzag > 0x7f {
        bytes.push((zigzag & 0x7f) as u8 | 0x80);
        zigzag >>= 7;
    }
    bytes.push(zigzag as u8);
}
