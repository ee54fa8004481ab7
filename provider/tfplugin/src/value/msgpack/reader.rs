//! Reading MessagePack under a type. Invariant: no allocation is larger than the bytes that are there.

use std::collections::BTreeMap;

use rmp::Marker;

use crate::limits::NESTING_DEPTH_MAX;
use crate::path::AttributePath;
use crate::value::Value;
use crate::value::codec_error::{CodecError, CodecProblem};
use crate::value::msgpack::refined;
use crate::value::number::Number;
use crate::value::types::Type;

/// The bytes not read yet.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

/// A step of reading that does not know where in the value it is.
pub(super) type Step<Read> = Result<Read, CodecProblem>;

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Nothing may follow.
    pub(super) fn finish(&self) -> Step<()> {
        match self.rest.len() {
            0 => Ok(()),
            count => Err(CodecProblem::TrailingBytes { count }),
        }
    }

    pub(super) fn value(&mut self, value_type: &Type, path: &AttributePath) -> Result<Value, CodecError> {
        let fail = |problem: CodecProblem| problem.at(path);
        let marker = self.marker().map_err(fail)?;
        if marker == Marker::Null {
            return Ok(Value::Null);
        }
        if let Some((kind, payload)) = self.extension(marker).map_err(fail)? {
            return Ok(Value::Unknown(refined::read(kind, payload).map_err(fail)?));
        }
        match value_type {
            Type::Bool => match marker {
                Marker::True => Ok(Value::Bool(true)),
                Marker::False => Ok(Value::Bool(false)),
                other => Err(fail(mismatch(value_type, other))),
            },
            Type::Number => self
                .number(marker)
                .map_err(fail)?
                .map(Value::Number)
                .ok_or_else(|| fail(mismatch(value_type, marker))),
            Type::String => match self.text(marker).map_err(fail)? {
                Some(text) => Ok(Value::String(text.to_owned())),
                None => Err(fail(mismatch(value_type, marker))),
            },
            Type::List(element_type) => Ok(Value::List(self.elements(marker, value_type, element_type, path)?)),
            Type::Set(element_type) => Ok(Value::Set(self.elements(marker, value_type, element_type, path)?)),
            Type::Map(element_type) => {
                let mut entries = BTreeMap::new();
                for _ in 0..self.map_length(marker, value_type).map_err(fail)? {
                    let key = self.key().map_err(fail)?;
                    let value = self.value(element_type, &path.clone().key(key))?;
                    entries.insert(key.to_owned(), value);
                }
                Ok(Value::Map(entries))
            }
            Type::Object(attributes) => {
                let mut entries: BTreeMap<String, Value> = attributes.keys().map(|name| (name.clone(), Value::Null)).collect();
                for _ in 0..self.map_length(marker, value_type).map_err(fail)? {
                    let name = self.key().map_err(fail)?;
                    let below = path.clone().attribute(name);
                    let attribute_type = attributes.get(name).ok_or_else(|| CodecProblem::UnknownAttribute.at(&below))?;
                    let value = self.value(attribute_type, &below)?;
                    entries.insert(name.to_owned(), value);
                }
                Ok(Value::Object(entries))
            }
        }
    }

    fn elements(&mut self, marker: Marker, value_type: &Type, element_type: &Type, path: &AttributePath) -> Result<Vec<Value>, CodecError> {
        let length = self.array_length(marker).map_err(|problem| problem.at(path))?;
        let Some(length) = length else {
            return Err(mismatch(value_type, marker).at(path));
        };
        (0..length)
            .map(|index| self.value(element_type, &path.clone().index(index)))
            .collect()
    }

    pub(super) fn marker(&mut self) -> Step<Marker> {
        Ok(Marker::from_u8(self.array::<1>()?[0]))
    }

    fn take(&mut self, length: usize) -> Step<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(CodecProblem::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const LENGTH: usize>(&mut self) -> Step<[u8; LENGTH]> {
        let (taken, rest) = self.rest.split_first_chunk::<LENGTH>().ok_or(CodecProblem::Truncated)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// A length of so many bytes, most significant first.
    fn length<const BYTES: usize>(&mut self) -> Step<usize> {
        Ok(self
            .array::<BYTES>()?
            .iter()
            .fold(0, |length, byte| length << 8 | usize::from(*byte)))
    }

    pub(super) fn number(&mut self, marker: Marker) -> Step<Option<Number>> {
        let number = match marker {
            Marker::FixPos(number) => Number::from(i64::from(number)),
            Marker::FixNeg(number) => Number::from(i64::from(number)),
            Marker::U8 => Number::from(i64::from(u8::from_be_bytes(self.array()?))),
            Marker::U16 => Number::from(i64::from(u16::from_be_bytes(self.array()?))),
            Marker::U32 => Number::from(i64::from(u32::from_be_bytes(self.array()?))),
            Marker::U64 => Number::from(u64::from_be_bytes(self.array()?)),
            Marker::I8 => Number::from(i64::from(i8::from_be_bytes(self.array()?))),
            Marker::I16 => Number::from(i64::from(i16::from_be_bytes(self.array()?))),
            Marker::I32 => Number::from(i64::from(i32::from_be_bytes(self.array()?))),
            Marker::I64 => Number::from(i64::from_be_bytes(self.array()?)),
            Marker::F32 => float(f64::from(f32::from_be_bytes(self.array()?)))?,
            Marker::F64 => float(f64::from_be_bytes(self.array()?))?,
            other => match self.text(other)? {
                Some(text) => Number::parse(text).map_err(|_| CodecProblem::NotANumber)?,
                None => return Ok(None),
            },
        };
        Ok(Some(number))
    }

    fn text(&mut self, marker: Marker) -> Step<Option<&'a str>> {
        let length = match marker {
            Marker::FixStr(length) => usize::from(length),
            Marker::Str8 => self.length::<1>()?,
            Marker::Str16 => self.length::<2>()?,
            Marker::Str32 => self.length::<4>()?,
            _ => return Ok(None),
        };
        std::str::from_utf8(self.take(length)?).map(Some).map_err(|_| CodecProblem::NotUtf8)
    }

    pub(super) fn key(&mut self) -> Step<&'a str> {
        let marker = self.marker()?;
        self.text(marker)?.ok_or(CodecProblem::Kind {
            wanted: "a string as key",
            found: marker_kind(marker),
        })
    }

    pub(super) fn array_length(&mut self, marker: Marker) -> Step<Option<usize>> {
        Ok(Some(match marker {
            Marker::FixArray(length) => usize::from(length),
            Marker::Array16 => self.length::<2>()?,
            Marker::Array32 => self.length::<4>()?,
            _ => return Ok(None),
        }))
    }

    pub(super) fn map_length(&mut self, marker: Marker, value_type: &Type) -> Step<usize> {
        match marker {
            Marker::FixMap(length) => Ok(usize::from(length)),
            Marker::Map16 => self.length::<2>(),
            Marker::Map32 => self.length::<4>(),
            other => Err(mismatch(value_type, other)),
        }
    }

    fn extension(&mut self, marker: Marker) -> Step<Option<(i8, &'a [u8])>> {
        let length = match marker {
            Marker::FixExt1 => 1,
            Marker::FixExt2 => 2,
            Marker::FixExt4 => 4,
            Marker::FixExt8 => 8,
            Marker::FixExt16 => 16,
            Marker::Ext8 => self.length::<1>()?,
            Marker::Ext16 => self.length::<2>()?,
            Marker::Ext32 => self.length::<4>()?,
            _ => return Ok(None),
        };
        let kind = i8::from_be_bytes(self.array()?);
        Ok(Some((kind, self.take(length)?)))
    }

    /// Passes over one value of any kind.
    pub(super) fn skip(&mut self, depth: usize) -> Step<()> {
        if depth > NESTING_DEPTH_MAX {
            return Err(CodecProblem::TooDeep {
                depth_max: NESTING_DEPTH_MAX,
            });
        }
        let marker = self.marker()?;
        let values = match marker {
            Marker::Null | Marker::True | Marker::False => 0,
            Marker::FixMap(_) | Marker::Map16 | Marker::Map32 => self.map_length(marker, &Type::Bool)?.saturating_mul(2),
            Marker::Bin8 | Marker::Bin16 | Marker::Bin32 => {
                let length = match marker {
                    Marker::Bin8 => self.length::<1>()?,
                    Marker::Bin16 => self.length::<2>()?,
                    _ => self.length::<4>()?,
                };
                self.take(length)?;
                0
            }
            Marker::Reserved => return Err(CodecProblem::ReservedMarker),
            other => match self.array_length(other)? {
                Some(length) => length,
                None => {
                    if self.extension(other)?.is_none() {
                        self.number(other)?;
                    }
                    0
                }
            },
        };
        (0..values).try_for_each(|_| self.skip(depth + 1))
    }
}

fn float(float: f64) -> Step<Number> {
    Number::from_float(float).map_err(|_| CodecProblem::NotANumber)
}

pub(super) fn mismatch(wanted: &Type, found: Marker) -> CodecProblem {
    CodecProblem::Kind {
        wanted: wanted.kind(),
        found: marker_kind(found),
    }
}

pub(super) fn marker_kind(marker: Marker) -> &'static str {
    match marker {
        Marker::Null => "null",
        Marker::True | Marker::False => "a bool",
        Marker::FixStr(_) | Marker::Str8 | Marker::Str16 | Marker::Str32 => "a string",
        Marker::FixArray(_) | Marker::Array16 | Marker::Array32 => "a list",
        Marker::FixMap(_) | Marker::Map16 | Marker::Map32 => "a map",
        Marker::Bin8 | Marker::Bin16 | Marker::Bin32 => "bytes",
        Marker::Reserved => "a reserved marker",
        _ => "a number",
    }
}
