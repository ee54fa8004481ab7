//! Tokens into columns, with Spark's partial results.
//!
//! A value that does not fit makes its field null and leaves its siblings; a list or map with a scalar that does not fit
//! is null as a whole; an error while a name is fetched ends the object it was fetched for. The one invariant: a
//! conversion appends exactly one element, or fails and leaves the column as it was.

use super::Token;
use super::number::Number;
use super::shape::{Shape, StructShape};
use super::tokenizer::{Tokenizer, TokenizerSpace};
use crate::builders::{BytesColumn, Column, ColumnBuilder, ListColumn, MapColumn, StructColumn};
use crate::limits::STRUCT_CELLS_PER_MESSAGE_MAX;
use crate::report::MisfitReason::{self, BeyondLimit, Empty, Malformed, OutOfRange, UnreadableText, WrongKind};
use crate::text::datetime::{parse_date, parse_timestamp, parse_timestamp_ntz};
use crate::text::decimal::{self, DecimalMisfit};

type Conversion = Result<(), MisfitReason>;

/// A JSON integer read as TIMESTAMP is seconds.
pub(super) const MICROS_PER_SECOND: i64 = 1_000_000;

/// Appends one message as one row. Says why, if something in it did not fit. Adds to `cells` those that it filled.
pub(super) fn message(
    input: &str,
    shape: &Shape,
    column: &mut Column,
    space: &mut TokenizerSpace,
    cells: &mut usize,
) -> Option<MisfitReason> {
    let mut converter = Converter {
        tokens: Tokenizer::new(input, space),
        first_misfit: None,
        cells_left: Some(STRUCT_CELLS_PER_MESSAGE_MAX),
    };
    let read = converter.root(shape, column);
    *cells += STRUCT_CELLS_PER_MESSAGE_MAX - converter.cells_left.unwrap_or(0);
    match read {
        Ok(()) => converter.first_misfit,
        Err(misfit) => {
            append_unreadable(misfit, column);
            converter.first_misfit.or(Some(misfit))
        }
    }
}

/// The row of a message that was given up: a struct of nulls for a struct, but null for one without any value.
fn append_unreadable(misfit: MisfitReason, column: &mut Column) {
    match column {
        Column::Struct(row) if misfit != Empty => row.complete_row(),
        other => other.append_null(),
    }
}

struct Converter<'a> {
    tokens: Tokenizer<'a>,
    first_misfit: Option<MisfitReason>,
    /// What structs may still fill; `None` once that was exceeded, and the message is given up.
    cells_left: Option<usize>,
}

impl Converter<'_> {
    /// Spark's rules for the value that is the whole message. What follows it does not count, but for a lone scalar.
    fn root(&mut self, shape: &Shape, column: &mut Column) -> Conversion {
        match (self.tokens.next()?, shape, column) {
            (Token::End, _, _) => Err(Empty),
            (Token::Null, Shape::Struct(_), _) => Err(WrongKind),
            (Token::ObjectStart, Shape::List(element), Column::List(list)) if matches!(**element, Shape::Struct(_)) => {
                // An object where an array of structs is wanted is its only element.
                self.value(element, list.elements())?;
                list.commit();
                Ok(())
            }
            (_, Shape::Leaf, column) => {
                let row = column.len();
                self.value(shape, column)?;
                if self.tokens.cursor.is_at_end() {
                    return Ok(());
                }
                column.truncate(row);
                Err(Malformed)
            }
            (_, shape, column) => self.value(shape, column),
        }
    }

    /// Appends the value at the current token; a name is stepped over.
    fn value(&mut self, shape: &Shape, column: &mut Column) -> Conversion {
        while self.tokens.token() == Token::Name {
            self.tokens.next()?;
        }
        match (self.tokens.token(), shape, column) {
            (Token::End | Token::Null, shape, column) => {
                if let Shape::Struct(shape) = shape {
                    self.take_cells(shape)?;
                }
                column.append_null();
                Ok(())
            }
            (Token::ObjectStart, Shape::Struct(shape), Column::Struct(column)) => self.object(shape, column),
            (Token::ArrayStart, Shape::List(element), Column::List(column)) => self.list(element, column),
            (Token::ObjectStart, Shape::Map(value), Column::Map(column)) => self.map(value, column),
            (_, Shape::Leaf, column) => self.leaf(column),
            _ => self.wrong_kind(),
        }
    }

    fn object(&mut self, shape: &StructShape, column: &mut StructColumn) -> Conversion {
        self.take_cells(shape)?;
        let row = column.len();
        match self.fields(shape, column, row) {
            Ok(()) => {
                column.complete_row();
                Ok(())
            }
            Err(misfit) => {
                column.truncate(row);
                Err(misfit)
            }
        }
    }

    fn fields(&mut self, shape: &StructShape, column: &mut StructColumn, row: usize) -> Conversion {
        let mut predicted = 0;
        while !matches!(self.tokens.next()?, Token::End | Token::ObjectEnd) {
            let index = self.tokens.name().and_then(|name| shape.find(name, predicted));
            let field = index.and_then(|index| Some((index, shape.field(index)?, column.child(index)?)));
            let Some((index, shape, child)) = field else {
                self.tokens.skip_children()?;
                continue;
            };
            predicted = index + 1;
            match self.value(shape, child) {
                // The name was there before: the last value wins.
                Ok(()) if child.len() > row + 1 => child.remove(row..row + 1),
                Ok(()) => {}
                Err(misfit) => {
                    self.cells_left.ok_or(misfit)?;
                    self.note(misfit);
                    self.tokens.skip_children()?;
                }
            }
        }
        Ok(())
    }

    fn take_cells(&mut self, shape: &StructShape) -> Conversion {
        self.cells_left = self.cells_left.and_then(|left| left.checked_sub(shape.cells()));
        self.cells_left.map(drop).ok_or(BeyondLimit)
    }

    fn list(&mut self, element: &Shape, column: &mut ListColumn) -> Conversion {
        let result = self.elements(element, column.elements());
        match result {
            Ok(()) => column.commit(),
            Err(_) => column.discard(),
        }
        result
    }

    fn elements(&mut self, shape: &Shape, elements: &mut Column) -> Conversion {
        while !matches!(self.tokens.next()?, Token::End | Token::ArrayEnd) {
            self.value(shape, elements)?;
        }
        Ok(())
    }

    fn map(&mut self, value: &Shape, column: &mut MapColumn) -> Conversion {
        let result = self.entries(value, column);
        match result {
            Ok(()) => column.commit(),
            Err(_) => column.discard(),
        }
        result
    }

    /// Reads a map to its end, even if an entry does not fit.
    fn entries(&mut self, shape: &Shape, column: &mut MapColumn) -> Conversion {
        let mut result = Ok(());
        while !matches!(self.tokens.next()?, Token::End | Token::ObjectEnd) {
            let entry = column.keys().len();
            column.keys().append(self.tokens.name().unwrap_or_default());
            if let Err(misfit) = self.value(shape, column.values()) {
                self.cells_left.ok_or(misfit)?;
                column.keys().truncate(entry);
                result = result.and(Err(misfit));
                self.tokens.skip_children()?;
            }
        }
        result
    }

    fn leaf(&mut self, column: &mut Column) -> Conversion {
        let token = self.tokens.token();
        match (column, token) {
            (Column::String(column), _) => return self.string(column),
            (Column::Binary(column), Token::Text) => return self.binary(column),
            (Column::Boolean(column), Token::True | Token::False) => column.append(token == Token::True),
            (Column::TinyInt(column), Token::Integer) => column.append(self.tiny_int()?),
            (Column::SmallInt(column), Token::Integer) => column.append(self.integer()?),
            (Column::Int(column), Token::Integer) => column.append(self.integer()?),
            (Column::BigInt(column), Token::Integer) => column.append(self.integer()?),
            (Column::Float(column), Token::Integer | Token::Float) => column.append(self.float()),
            (Column::Double(column), Token::Integer | Token::Float) => column.append(self.double()),
            (Column::Float(column), Token::Text) => column.append(self.double_word()? as f32),
            (Column::Double(column), Token::Text) => column.append(self.double_word()?),
            (Column::Decimal { column, precision, scale }, Token::Integer | Token::Float) => {
                column.append(parse_decimal(self.tokens.number_text(), *precision, *scale)?);
            }
            (Column::Decimal { column, precision, scale }, Token::Text) => {
                column.append(parse_decimal(self.tokens.text()?, *precision, *scale)?);
            }
            (Column::Timestamp(column), Token::Integer) => column.append(self.integer::<i64>()?.wrapping_mul(MICROS_PER_SECOND)),
            (Column::Timestamp(column), Token::Text) => column.append(parse_timestamp(self.tokens.text()?).ok_or(UnreadableText)?),
            (Column::TimestampNtz(column), Token::Text) => column.append(parse_timestamp_ntz(self.tokens.text()?).ok_or(UnreadableText)?),
            (Column::Date(column), Token::Text) => column.append(parse_date(self.tokens.text()?).ok_or(UnreadableText)?),
            _ => return self.wrong_kind(),
        }
        Ok(())
    }

    fn string(&mut self, column: &mut BytesColumn) -> Conversion {
        let result = match self.tokens.token() {
            Token::Text => self.tokens.copy_text(column.tail()),
            _ => self.tokens.rewrite(column.tail()),
        };
        end_tail(result, column)
    }

    fn binary(&mut self, column: &mut BytesColumn) -> Conversion {
        let result = self.tokens.decode_base64(column.tail());
        end_tail(result, column)
    }

    fn integer<T: TryFrom<i64>>(&self) -> Result<T, MisfitReason> {
        let value: Option<i64> = self.tokens.number_text().parse().ok();
        value.and_then(|value| T::try_from(value).ok()).ok_or(OutOfRange)
    }

    /// Spark takes a TINYINT for an unsigned byte as well, and wraps.
    fn tiny_int(&self) -> Result<i8, MisfitReason> {
        let value: i16 = self.integer()?;
        i8::try_from(value)
            .or_else(|_| u8::try_from(value).map(u8::cast_signed))
            .map_err(|_| OutOfRange)
    }

    fn double(&self) -> f64 {
        let value = self.tokens.double();
        // An integer has no negative zero.
        if value == 0.0 && self.tokens.token() == Token::Integer {
            0.0
        } else {
            value
        }
    }

    /// Rounded once, from the decimal text.
    fn float(&self) -> f32 {
        let value = match self.tokens.number() {
            Number::Digits { .. } => self.tokens.number_text().parse().unwrap_or(f32::NAN),
            _ => self.tokens.double() as f32,
        };
        if value == 0.0 && self.tokens.token() == Token::Integer {
            0.0
        } else {
            value
        }
    }

    /// The words that stand for a double in a string.
    fn double_word(&mut self) -> Result<f64, MisfitReason> {
        match self.tokens.text()? {
            "NaN" => Ok(f64::NAN),
            "Infinity" | "+Infinity" | "+INF" => Ok(f64::INFINITY),
            "-Infinity" | "-INF" => Ok(f64::NEG_INFINITY),
            _ => Err(UnreadableText),
        }
    }

    /// Refuses the current token. A text is read to its end first, as Spark does to tell what it refused.
    fn wrong_kind(&mut self) -> Conversion {
        if self.tokens.token() == Token::Text {
            self.tokens.finish_text()?;
        }
        Err(WrongKind)
    }

    fn note(&mut self, misfit: MisfitReason) {
        self.first_misfit.get_or_insert(misfit);
    }
}

fn end_tail(result: Conversion, column: &mut BytesColumn) -> Conversion {
    match result {
        Ok(()) => column.commit_tail(),
        Err(_) => column.discard_tail(),
    }
    result
}

fn parse_decimal(text: &str, precision: u8, scale: u8) -> Result<i128, MisfitReason> {
    decimal::parse(text, precision, scale).map_err(|misfit| match misfit {
        DecimalMisfit::Syntax => UnreadableText,
        DecimalMisfit::Range => OutOfRange,
    })
}
