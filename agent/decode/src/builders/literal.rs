//! Values that are known before a message is read: names, symbols.
//!
//! The one invariant: the chunk, where there is one, begins with the whole text.

use super::SHORT_BYTES;

#[derive(Clone, Debug, Default)]
pub(crate) struct Literal {
    text: Box<[u8]>,
    /// A short text and something behind it, to be copied whole.
    chunk: Option<[u8; SHORT_BYTES]>,
}

impl Literal {
    pub(crate) fn new(text: &str) -> Self {
        let mut chunk = [0; SHORT_BYTES];
        let room = chunk.get_mut(..text.len()).map(|room| room.copy_from_slice(text.as_bytes()));
        Self {
            text: text.as_bytes().into(),
            chunk: room.map(|()| chunk),
        }
    }

    #[inline]
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    #[inline]
    pub(super) fn chunk(&self) -> Option<&[u8; SHORT_BYTES]> {
        self.chunk.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::Literal;
    use crate::builders::{BytesColumn, ColumnBuilder};
    use arrow_array::cast::AsArray;

    #[test]
    fn a_literal_of_any_length_and_the_beginning_of_any_bytes_are_appended() {
        let text = "abcdefghijklmnopqrstuvwxyz0123456789";
        let (mut literals, mut beginnings) = (BytesColumn::text(), BytesColumn::text());
        for len in 0..20 {
            literals.append_literal(&Literal::new(&text[..len]));
            beginnings.append_ahead(text.as_bytes(), len);
            beginnings.append_ahead(&text.as_bytes()[..len], len);
        }
        let (literals, beginnings) = (literals.finish().unwrap(), beginnings.finish().unwrap());
        for len in 0..20 {
            assert_eq!(literals.as_string::<i32>().value(len), &text[..len]);
            assert_eq!(beginnings.as_string::<i32>().value(2 * len), &text[..len]);
            assert_eq!(beginnings.as_string::<i32>().value(2 * len + 1), &text[..len]);
        }
    }
}
