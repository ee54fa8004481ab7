//! What a decoder knows about one schema before the first message: [`compile`] turns a type into a [`Plan`].
//!
//! The reader's type decides which columns come out. The one invariant: a compiled plan can be decoded with; every type
//! that cannot be is refused here.

use stream_spec::schema::{ParsedSchema, Wire};
use stream_spec::types::DataType;

use crate::avro;
use crate::error::CompileError;
use crate::json::Shape;
use crate::limits::TYPE_DEPTH_MAX;
use crate::protobuf;
use crate::report::MisfitReason;

/// How messages of one schema become a column of the reader's type.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) reader: DataType,
    pub(crate) format: PlanFormat,
}

#[derive(Clone, Debug)]
pub(crate) enum PlanFormat {
    /// The payload is the value.
    Text,
    /// One JSON value per message.
    Json(Shape),
    /// One Avro datum per message.
    Avro(avro::Program),
    /// One Protobuf message per message.
    Protobuf(protobuf::Program),
    /// Whatever the message is, it does not fit.
    Misfit(MisfitReason),
}

impl Plan {
    /// A side without a schema, or with the schema `{"type": "string"}`: the payload's text as it is, malformed UTF-8
    /// replaced by U+FFFD as Java does.
    pub fn text() -> Self {
        Self {
            reader: DataType::String,
            format: PlanFormat::Text,
        }
    }

    /// JSON messages read as that type: a struct, array or map by Spark's `from_json`; a lone STRING is the payload's
    /// text; any other scalar is one JSON value.
    pub fn json(reader: &DataType) -> Result<Self, CompileError> {
        check(reader, 1)?;
        if *reader == DataType::String {
            return Ok(Self::text());
        }
        Ok(Self {
            reader: reader.clone(),
            format: PlanFormat::Json(Shape::of(reader)),
        })
    }

    /// Messages that cannot be read as that type at all: each one is null, and counted under the reason.
    pub fn misfit(reader: &DataType, reason: MisfitReason) -> Result<Self, CompileError> {
        check(reader, 1)?;
        Ok(Self {
            reader: reader.clone(),
            format: PlanFormat::Misfit(reason),
        })
    }

    /// Whether its writer's schema does not resolve to its reader's at all: no message is read, whatever it holds.
    pub fn reads_nothing(&self) -> bool {
        match &self.format {
            PlanFormat::Avro(program) => program.reads_nothing(),
            PlanFormat::Misfit(_) => true,
            PlanFormat::Text | PlanFormat::Json(_) | PlanFormat::Protobuf(_) => false,
        }
    }

    /// The type of the column that this plan fills.
    pub fn reader(&self) -> &DataType {
        &self.reader
    }
}

/// A plan for messages written by `writer`, read as `reader`.
///
/// JSON carries its field names in every message, so there the reader's type alone decides. Avro resolves the two by its own rules;
/// Protobuf by field numbers.
pub fn compile(writer: &ParsedSchema, reader: &ParsedSchema) -> Result<Plan, CompileError> {
    compile_writer(&writer.wire, reader)
}

/// The same for a writer of which only its bytes are known, because it may have what no column can hold.
pub fn compile_writer(writer: &Wire, reader: &ParsedSchema) -> Result<Plan, CompileError> {
    let format = match (writer, &reader.wire) {
        (Wire::Json, Wire::Json) => return Plan::json(&reader.data_type),
        (Wire::Avro(writer), Wire::Avro(reader_wire)) => PlanFormat::Avro(avro::Program::compile(writer, reader_wire)?),
        (Wire::Protobuf(writer), Wire::Protobuf(reader_wire)) => PlanFormat::Protobuf(protobuf::Program::compile(writer, reader_wire)?),
        _ => {
            return Err(CompileError::Formats {
                writer: writer.format(),
                reader: reader.format,
            });
        }
    };
    check(&reader.data_type, 1)?;
    Ok(Plan {
        reader: reader.data_type.clone(),
        format,
    })
}

fn check(data_type: &DataType, depth: usize) -> Result<(), CompileError> {
    if depth > TYPE_DEPTH_MAX {
        return Err(CompileError::TooDeep { max: TYPE_DEPTH_MAX });
    }
    match data_type {
        DataType::Struct(fields) => fields.iter().try_for_each(|field| check(&field.data_type, depth + 1)),
        DataType::Array(element) => check(element, depth + 1),
        DataType::Map(key, value) if **key == DataType::String => check(value, depth + 1),
        DataType::Map(key, _) => Err(CompileError::MapKey { key: (**key).clone() }),
        DataType::Decimal { precision, scale } if !(1..=38).contains(precision) || scale > precision => Err(CompileError::Decimal {
            precision: *precision,
            scale: *scale,
        }),
        _ => Ok(()),
    }
}
