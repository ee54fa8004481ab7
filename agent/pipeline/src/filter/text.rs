//! Functions of texts and bytes. Positions and lengths of texts count characters.
//!
//! The one invariant: a null argument makes a null. So does a result beyond the bound of `limits`.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType as ArrowType;

use super::error::FilterError;
use super::limits::RESULT_BYTES_MAX;
use super::logic::exactly;
use super::node::Kernel;
use super::values::{Numbers, Texts, Values, binaries, ints, strings};

/// Makes a text of each row's text: `write` appends it.
fn map_texts(operand: &Values, mut write: impl FnMut(&str, &mut StringBuilder)) -> Result<ArrayRef, FilterError> {
    let texts = strings(operand.array())?;
    let mut out = StringBuilder::with_capacity(texts.len(), texts.value_data().len());
    for text in texts {
        match text {
            Some(text) => write(text, &mut out),
            None => out.append_null(),
        }
    }
    Ok(Arc::new(out.finish()))
}

/// Adds a text of a row; null beyond so many bytes of all.
pub(super) fn append(out: &mut StringBuilder, text: Option<&str>, bytes_max: usize) {
    let text = text.filter(|text| out.values_slice().len() + text.len() <= bytes_max);
    out.append_option(text);
}

/// Writing into memory does not fail.
fn push(out: &mut StringBuilder, text: &str) {
    let written = out.write_str(text);
    debug_assert!(written.is_ok(), "a builder takes every text");
}

pub(super) fn lower_case(operand: &Values) -> Result<ArrayRef, FilterError> {
    change_case(operand, str::make_ascii_lowercase, str::to_lowercase)
}

pub(super) fn upper_case(operand: &Values) -> Result<ArrayRef, FilterError> {
    change_case(operand, str::make_ascii_uppercase, str::to_uppercase)
}

fn change_case(operand: &Values, ascii: fn(&mut str), any: fn(&str) -> String) -> Result<ArrayRef, FilterError> {
    let mut changed = String::new();
    map_texts(operand, |text, out| {
        if text.is_ascii() {
            changed.clear();
            changed.push_str(text);
            ascii(&mut changed);
            append(out, Some(&changed), RESULT_BYTES_MAX);
        } else {
            append(out, Some(&any(text)), RESULT_BYTES_MAX);
        }
    })
}

/// Which ends of a text are trimmed.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) left: bool,
    pub(super) right: bool,
}

/// The text, and the characters to take away if they are not spaces.
pub(super) fn trim(ends: Ends) -> Kernel {
    Box::new(move |operands, rows| match operands {
        [text] => map_texts(text, |text, out| {
            append(out, Some(trimmed(text, ends, |character| character == ' ')), RESULT_BYTES_MAX)
        }),
        _ => {
            let [text, unwanted] = exactly(operands)?;
            let (texts, unwanted) = (Texts::of(text)?, Texts::of(unwanted)?);
            let mut out = StringBuilder::new();
            for row in 0..rows {
                let both = texts.get(row).zip(unwanted.get(row));
                let text = both.map(|(text, unwanted)| trimmed(text, ends, |character| unwanted.contains(character)));
                append(&mut out, text, RESULT_BYTES_MAX);
            }
            Ok(Arc::new(out.finish()))
        }
    })
}

fn trimmed(text: &str, ends: Ends, unwanted: impl Fn(char) -> bool) -> &str {
    let text = if ends.left { text.trim_start_matches(&unwanted) } else { text };
    if ends.right { text.trim_end_matches(&unwanted) } else { text }
}

pub(super) fn length() -> Kernel {
    Box::new(|operands, rows| {
        let [operand] = exactly(operands)?;
        if *operand.array().data_type() == ArrowType::Binary {
            let bytes = binaries(operand.array())?;
            return Ok(ints(rows, |row| {
                let place = operand.place(row);
                bytes.is_valid(place).then(|| i32::try_from(bytes.value(place).len()).ok())?
            }));
        }
        let texts = Texts::of(operand)?;
        Ok(ints(rows, |row| i32::try_from(texts.get(row)?.chars().count()).ok()))
    })
}

/// The text or bytes, the position from 1 or negative from the end, and the length if it is not all that follows.
pub(super) fn substring() -> Kernel {
    Box::new(|operands, rows| {
        let (Some(text), Some(position)) = (operands.first(), operands.get(1)) else {
            return Err(FilterError::mismatch("a text and a position", operands.len()));
        };
        let positions = Numbers::<Int32Type>::of(position)?;
        let lengths = operands.get(2).map(Numbers::<Int32Type>::of).transpose()?;
        let part = |row: usize| {
            let length = match &lengths {
                Some(lengths) => lengths.get(row)?,
                None => i32::MAX,
            };
            Some((positions.get(row)?, length))
        };
        if *text.array().data_type() == ArrowType::Binary {
            let bytes = binaries(text.array())?;
            let mut out = BinaryBuilder::new();
            for row in 0..rows {
                let place = text.place(row);
                let (value, part) = (bytes.is_valid(place).then(|| bytes.value(place)), part(row));
                let part = value.zip(part).map(|(value, (position, length))| {
                    let (start, end) = bounds(position, length, value.len());
                    value.get(start..end).unwrap_or_default()
                });
                out.append_option(part.filter(|part| out.values_slice().len() + part.len() <= RESULT_BYTES_MAX));
            }
            return Ok(Arc::new(out.finish()));
        }
        let texts = Texts::of(text)?;
        let mut out = StringBuilder::new();
        for row in 0..rows {
            let text = texts.get(row).zip(part(row));
            let part = text.map(|(text, (position, length))| characters(text, position, length));
            append(&mut out, part, RESULT_BYTES_MAX);
        }
        Ok(Arc::new(out.finish()))
    })
}

fn characters(text: &str, position: i32, length: i32) -> &str {
    if text.is_ascii() {
        let (start, end) = bounds(position, length, text.len());
        return text.get(start..end).unwrap_or_default();
    }
    let (start, end) = bounds(position, length, text.chars().count());
    let place = |index: usize| text.char_indices().nth(index).map_or(text.len(), |(place, _)| place);
    text.get(place(start)..place(end)).unwrap_or_default()
}

/// Start and end in a value of so many characters or bytes. What a negative position reaches beyond the beginning counts to the length.
fn bounds(position: i32, length: i32, total: usize) -> (usize, usize) {
    let total = i64::try_from(total).unwrap_or(i64::MAX);
    let start = match position {
        1.. => i64::from(position) - 1,
        0 => 0,
        _ => total + i64::from(position),
    };
    let end = if length == i32::MAX { total } else { start + i64::from(length) };
    let inside = |place: i64| usize::try_from(place.clamp(0, total)).unwrap_or(0);
    let (start, end) = (inside(start), inside(end));
    (start, end.max(start))
}

pub(super) fn concat() -> Kernel {
    Box::new(|operands, rows| {
        let parts = operands.iter().map(Texts::of).collect::<Result<Vec<_>, _>>()?;
        Ok(concatenated(&parts, rows, RESULT_BYTES_MAX))
    })
}

fn concatenated(parts: &[Texts<'_>], rows: usize, bytes_max: usize) -> ArrayRef {
    let mut out = StringBuilder::new();
    for row in 0..rows {
        let length = parts
            .iter()
            .try_fold(out.values_slice().len(), |length, part| Some(length + part.get(row)?.len()));
        if length.is_none_or(|length| length > bytes_max) {
            out.append_null();
            continue;
        }
        for part in parts {
            push(&mut out, part.get(row).unwrap_or_default());
        }
        out.append_value("");
    }
    Arc::new(out.finish())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Array, StringArray};

    use super::{Texts, Values, characters, concatenated};

    #[test]
    fn what_goes_beyond_the_bound_is_null() {
        let long = Values::constant(Arc::new(StringArray::from_iter_values(["0123456789"])));
        let parts = [Texts::of(&long).expect("texts"), Texts::of(&long).expect("texts")];
        let joined = concatenated(&parts, 4, 40);
        assert!(joined.is_valid(1) && joined.is_null(2) && joined.len() == 4);
    }

    #[test]
    fn positions_count_from_either_end() {
        for (position, length, expected) in [
            (1, 2, "ab"),
            (0, 2, "ab"),
            (2, i32::MAX, "bc"),
            (-2, i32::MAX, "bc"),
            (-5, 3, "a"),
            (-5, i32::MAX, "abc"),
            (2, -1, ""),
            (4, 1, ""),
            (i32::MIN, i32::MIN, ""),
        ] {
            assert_eq!(characters("abc", position, length), expected, "{position} {length}");
        }
        assert_eq!(characters("😀éx", 2, 1), "é");
        assert_eq!(characters("😀éx", -2, 5), "éx");
    }
}
