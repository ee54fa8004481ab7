//! How a table's schema text takes in wanted columns: new fields are appended, present ones keep their place and metadata.

use serde_json::Value;
use stream_spec::types::{DataType, Field};

use super::delta::{field_value, parse};
use super::widening::{ELEMENT, KEY, Places, VALUE};

/// Why a table cannot take the wanted columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::table) enum GrowthError {
    /// Another type is wanted; the text says which column, and both types.
    Type(String),
    /// The text is not what Delta writes.
    Text(String),
}

/// What becomes of INT columns that are wanted as BIGINT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::table) enum Ints {
    /// They stay INT and are named: the files must be rewritten first.
    Named,
    /// They become BIGINT: no file has them as INT.
    Widened,
}

/// What growth comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::table) struct Growth {
    /// The schema text with the wanted columns in it; nothing if it stays as it is.
    pub text: Option<String>,
    /// The INT columns that stay INT although BIGINT is wanted.
    pub narrow: Places,
}

/// Grows a schema text.
pub(in crate::table) fn grow(text: &str, wanted: &[Field], ints: Ints) -> Result<Growth, GrowthError> {
    let present = parse(text).map_err(GrowthError::Text)?;
    let mut value: Value = serde_json::from_str(text).map_err(|error| GrowthError::Text(error.to_string()))?;
    let mut walk = Walk {
        ints,
        at: Vec::new(),
        narrow: Places::new(),
    };
    let grown = walk.fields(&mut value, &present, wanted)?;
    Ok(Growth {
        text: grown.then(|| value.to_string()),
        narrow: walk.narrow,
    })
}

struct Walk {
    ints: Ints,
    /// The way to where the walk is.
    at: Vec<String>,
    narrow: Places,
}

impl Walk {
    fn fields(&mut self, value: &mut Value, present: &[Field], wanted: &[Field]) -> Result<bool, GrowthError> {
        let Some(fields) = value.get_mut("fields").and_then(Value::as_array_mut) else {
            return Err(self.without("fields"));
        };
        let mut grown = false;
        for field in wanted {
            let found = present
                .iter()
                .zip(fields.iter_mut())
                .find(|(candidate, _)| candidate.name == field.name);
            match found {
                Some((candidate, in_text)) => grown |= self.inside(&field.name, in_text, "type", &candidate.data_type, &field.data_type)?,
                None => {
                    fields.push(field_value(field));
                    grown = true;
                }
            }
        }
        Ok(grown)
    }

    /// Grows the type that stands under `key` in the text of a field, an array or a map.
    fn inside(&mut self, name: &str, value: &mut Value, key: &str, present: &DataType, wanted: &DataType) -> Result<bool, GrowthError> {
        self.at.push(name.to_owned());
        let Some(inner) = value.get_mut(key) else {
            return Err(self.without(key));
        };
        let grown = self.data_type(inner, present, wanted)?;
        self.at.pop();
        Ok(grown)
    }

    fn data_type(&mut self, value: &mut Value, present: &DataType, wanted: &DataType) -> Result<bool, GrowthError> {
        match (present, wanted) {
            (DataType::Struct(present), DataType::Struct(wanted)) => self.fields(value, present, wanted),
            (DataType::Array(present), DataType::Array(wanted)) => self.inside(ELEMENT, value, "elementType", present, wanted),
            (DataType::Map(present_key, present_value), DataType::Map(wanted_key, wanted_value)) => {
                let key = self.inside(KEY, value, "keyType", present_key, wanted_key)?;
                Ok(self.inside(VALUE, value, "valueType", present_value, wanted_value)? || key)
            }
            (present, wanted) if present == wanted => Ok(false),
            // Columns are the union of all versions: one that was widened stays so.
            (DataType::BigInt, DataType::Int) => Ok(false),
            (DataType::Int, DataType::BigInt) => Ok(match self.ints {
                Ints::Named => {
                    self.narrow.insert(self.at.clone());
                    false
                }
                Ints::Widened => {
                    *value = "long".into();
                    true
                }
            }),
            (present, wanted) => Err(GrowthError::Type(format!(
                "column `{}` is {present} and cannot become {wanted}",
                self.at.join(".")
            ))),
        }
    }

    fn without(&self, key: &str) -> GrowthError {
        GrowthError::Text(format!("column `{}` has no `{key}`", self.at.join(".")))
    }
}
