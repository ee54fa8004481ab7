//! The type model of decoded values and table columns. Independent of Arrow and Delta; both map from it.
//!
//! Every field is nullable: decoding is permissive, so "required" of a schema language never reaches a column.

use serde::{Deserialize, Serialize};

/// A type that a decoded field or a table column can have, with Spark SQL's names and semantics.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataType {
    /// `BOOLEAN`.
    Boolean,
    /// `TINYINT`, 8 bits signed.
    TinyInt,
    /// `SMALLINT`, 16 bits signed.
    SmallInt,
    /// `INT`, 32 bits signed.
    Int,
    /// `BIGINT`, 64 bits signed.
    BigInt,
    /// `FLOAT`, IEEE single.
    Float,
    /// `DOUBLE`, IEEE double.
    Double,
    /// `DECIMAL(precision, scale)`, 1 ≤ precision ≤ 38, 0 ≤ scale ≤ precision.
    Decimal {
        /// Total digits.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// `STRING`, valid UTF-8.
    String,
    /// `BINARY`.
    Binary,
    /// `DATE`, days since 1970-01-01.
    Date,
    /// `TIMESTAMP`, microseconds since 1970-01-01T00:00:00Z.
    Timestamp,
    /// `TIMESTAMP_NTZ`, microseconds of a local date and time without a zone.
    TimestampNtz,
    /// `STRUCT<…>`, fields in order.
    Struct(Vec<Field>),
    /// `ARRAY<element>`.
    Array(Box<DataType>),
    /// `MAP<key, value>`.
    Map(Box<DataType>, Box<DataType>),
}

/// A named, nullable field of a struct, or a column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Field {
    /// Exact name; case matters.
    pub name: String,
    /// The field's type.
    #[serde(rename = "type")]
    pub data_type: DataType,
}

impl Field {
    /// A field of that name and type.
    pub fn new(name: impl Into<String>, data_type: DataType) -> Self {
        Self {
            name: name.into(),
            data_type,
        }
    }
}

impl std::fmt::Display for DataType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Boolean => f.write_str("BOOLEAN"),
            Self::TinyInt => f.write_str("TINYINT"),
            Self::SmallInt => f.write_str("SMALLINT"),
            Self::Int => f.write_str("INT"),
            Self::BigInt => f.write_str("BIGINT"),
            Self::Float => f.write_str("FLOAT"),
            Self::Double => f.write_str("DOUBLE"),
            Self::Decimal { precision, scale } => write!(f, "DECIMAL({precision},{scale})"),
            Self::String => f.write_str("STRING"),
            Self::Binary => f.write_str("BINARY"),
            Self::Date => f.write_str("DATE"),
            Self::Timestamp => f.write_str("TIMESTAMP"),
            Self::TimestampNtz => f.write_str("TIMESTAMP_NTZ"),
            Self::Struct(fields) => {
                f.write_str("STRUCT<")?;
                for (index, field) in fields.iter().enumerate() {
                    if index > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{}: {}", field.name, field.data_type)?;
                }
                f.write_str(">")
            }
            Self::Array(element) => write!(f, "ARRAY<{element}>"),
            Self::Map(key, value) => write!(f, "MAP<{key}, {value}>"),
        }
    }
}
