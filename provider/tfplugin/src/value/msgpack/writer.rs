//! Writing MessagePack under a type. Invariant: an object has every attribute of its type, null or not.

use std::convert::Infallible;

use rmp::encode::buffer::ByteBuf;
use rmp::encode::{self, RmpWrite, ValueWriteError};

use crate::path::AttributePath;
use crate::value::Value;
use crate::value::codec_error::{CodecError, CodecProblem};
use crate::value::msgpack::refined;
use crate::value::number::{Form, Number};
use crate::value::types::Type;

/// The bytes written so far.
pub(super) struct Writer {
    buffer: ByteBuf,
}

impl Writer {
    pub(super) fn new() -> Self {
        Self { buffer: ByteBuf::new() }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.buffer.into_vec()
    }

    pub(super) fn value(&mut self, value_type: &Type, value: &Value, path: &AttributePath) -> Result<(), CodecError> {
        match (value_type, value) {
            (_, Value::Null) => written(encode::write_nil(&mut self.buffer).map_err(ValueWriteError::InvalidMarkerWrite)),
            (_, Value::Unknown(refinement)) => refined::write(self, refinement.as_deref()),
            (Type::Bool, Value::Bool(truth)) => self.bool(*truth),
            (Type::Number, Value::Number(number)) => self.number(number),
            (Type::String, Value::String(text)) => self.text(text),
            (Type::List(element_type), Value::List(elements)) | (Type::Set(element_type), Value::Set(elements)) => {
                self.array(elements.len());
                for (index, element) in elements.iter().enumerate() {
                    self.value(element_type, element, &path.clone().index(index))?;
                }
            }
            (Type::Map(element_type), Value::Map(entries)) => {
                self.map(entries.len());
                for (key, element) in entries {
                    self.text(key);
                    self.value(element_type, element, &path.clone().key(key))?;
                }
            }
            (Type::Object(attributes), Value::Object(entries)) => {
                if let Some(stranger) = entries.keys().find(|name| !attributes.contains_key(*name)) {
                    return Err(CodecProblem::UnknownAttribute.at(&path.clone().attribute(stranger)));
                }
                self.map(attributes.len());
                for (name, attribute_type) in attributes {
                    self.text(name);
                    self.value(attribute_type, value.get(name), &path.clone().attribute(name))?;
                }
            }
            (value_type, value) => {
                return Err(CodecProblem::Kind {
                    wanted: value_type.kind(),
                    found: value.kind(),
                }
                .at(path));
            }
        }
        Ok(())
    }

    pub(super) fn bool(&mut self, truth: bool) {
        written(encode::write_bool(&mut self.buffer, truth).map_err(ValueWriteError::InvalidMarkerWrite));
    }

    pub(super) fn text(&mut self, text: &str) {
        written(encode::write_str(&mut self.buffer, text));
    }

    pub(super) fn number(&mut self, number: &Number) {
        match number.form() {
            Form::Signed(number) => written(encode::write_sint(&mut self.buffer, *number)),
            Form::Unsigned(number) => written(encode::write_uint(&mut self.buffer, *number)),
            Form::Float(number) => written(encode::write_f64(&mut self.buffer, *number)),
            Form::Decimal(text) => self.text(text),
        }
    }

    pub(super) fn array(&mut self, length: usize) {
        written(encode::write_array_len(&mut self.buffer, count(length)));
    }

    pub(super) fn map(&mut self, length: usize) {
        written(encode::write_map_len(&mut self.buffer, count(length)));
    }

    pub(super) fn extension(&mut self, kind: i8, payload: &[u8]) {
        written(encode::write_ext_meta(&mut self.buffer, count(payload.len()), kind));
        self.raw(payload);
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) {
        written(self.buffer.write_bytes(bytes).map_err(ValueWriteError::InvalidDataWrite));
    }
}

/// Writing into memory cannot fail, as the type of the error says.
fn written<Marker>(result: Result<Marker, ValueWriteError<Infallible>>) {
    debug_assert!(result.is_ok(), "memory took no bytes");
}

/// Lengths on the wire have 32 bits; a message of ours is at most 256 MiB, so none is longer.
fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
