//! Reads DER, the encoding of certificates, keys and PKCS#12 stores. Nothing is copied. The invariant: an element lies within the
//! one that it was read from.

use crate::error::{CUT, KeystoreError, damaged};

pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const OCTET_STRING: u8 = 0x04;
pub(crate) const OBJECT: u8 = 0x06;
pub(crate) const BMP_STRING: u8 = 0x1e;
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const SET: u8 = 0x31;
/// An element of its own inside a tag `[0]`.
pub(crate) const CONTEXT_0: u8 = 0xa0;
/// Bytes in the place of an octet string, with the tag `[0]`.
pub(crate) const CONTEXT_0_BYTES: u8 = 0x80;

/// One element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element<'a> {
    pub(crate) tag: u8,
    /// What is in it.
    pub(crate) content: &'a [u8],
    /// The element with its tag and length.
    pub(crate) whole: &'a [u8],
}

/// Reads elements one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next element.
    pub(crate) fn any(&mut self) -> Result<Element<'a>, KeystoreError> {
        let (tag, length, rest) = match self.0 {
            // Long tags stand in none of the formats.
            [tag, ..] if tag & 0x1f == 0x1f => return Err(damaged("it holds a tag that no store has")),
            [_, 0x80, ..] => return Err(damaged("it is written with lengths that are not known at first")),
            [tag, length @ 0..=0x7f, rest @ ..] => (*tag, usize::from(*length), rest),
            [tag, many, rest @ ..] => {
                let count = usize::from(many & 0x7f);
                if count > size_of::<u32>() {
                    return Err(CUT);
                }
                let (digits, rest) = rest.split_at_checked(count).ok_or(CUT)?;
                let length = digits.iter().fold(0usize, |length, digit| (length << 8) | usize::from(*digit));
                (*tag, length, rest)
            }
            _ => return Err(CUT),
        };
        let (content, rest) = rest.split_at_checked(length).ok_or(CUT)?;
        let (whole, _) = self.0.split_at_checked(self.0.len() - rest.len()).ok_or(CUT)?;
        self.0 = rest;
        Ok(Element { tag, content, whole })
    }

    /// The content of the next element, which must have that tag.
    pub(crate) fn tagged(&mut self, tag: u8) -> Result<&'a [u8], KeystoreError> {
        let element = self.any()?;
        match element.tag == tag {
            true => Ok(element.content),
            false => Err(damaged("something stands where something else should")),
        }
    }

    /// The content of the next element if it has that tag; nothing is read otherwise.
    pub(crate) fn optional(&mut self, tag: u8) -> Result<Option<&'a [u8]>, KeystoreError> {
        match self.0.first() {
            Some(next) if *next == tag => self.tagged(tag).map(Some),
            _ => Ok(None),
        }
    }

    /// The elements of the next sequence.
    pub(crate) fn sequence(&mut self) -> Result<Self, KeystoreError> {
        self.tagged(SEQUENCE).map(Self)
    }

    /// The next number, which must not be negative and fit.
    pub(crate) fn number(&mut self) -> Result<u32, KeystoreError> {
        let mut digits = self.tagged(INTEGER)?;
        while let [0, rest @ ..] = digits {
            digits = rest;
        }
        if digits.len() > size_of::<u32>() {
            return Err(damaged("a number in it is too large"));
        }
        Ok(digits.iter().fold(0, |number, digit| (number << 8) | u32::from(*digit)))
    }
}

/// An object identifier as people write it, for a message.
pub(crate) fn dotted(object: &[u8]) -> String {
    let mut arcs: Vec<u64> = Vec::new();
    let mut arc = 0u64;
    for byte in object {
        arc = (arc << 7) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            match arcs.is_empty() {
                true => arcs.extend([(arc / 40).min(2), arc - (arc / 40).min(2) * 40]),
                false => arcs.push(arc),
            }
            arc = 0;
        }
    }
    arcs.iter().map(u64::to_string).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_lies_within_its_bytes() {
        for (bytes, expected) in [
            (vec![0x04, 0x02, 7, 8], Some(vec![7, 8])),
            (vec![0x04, 0x81, 0x01, 7], Some(vec![7])),
            (vec![0x04, 0x84, 0, 0, 0, 1, 7], Some(vec![7])),
            (vec![0x04, 0x02, 7], None),
            (vec![0x04, 0x84, 0xff, 0xff, 0xff, 0xff, 7], None),
            (vec![0x04, 0x85, 0, 0, 0, 0, 1, 7], None),
            (vec![0x04, 0x80, 7, 0, 0], None),
            (vec![0x1f, 0x01, 7], None),
            (vec![0x04], None),
            (vec![0x04, 0x82, 1], None),
        ] {
            let found = Reader::new(&bytes).tagged(OCTET_STRING);
            assert_eq!(found.ok(), expected.as_deref(), "{bytes:?}");
        }
    }

    #[test]
    fn objects_are_shown_as_people_write_them() {
        assert_eq!(
            dotted(&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x01, 0x06]),
            "1.2.840.113549.1.12.1.6"
        );
        assert_eq!(dotted(&[0x60, 0x86, 0x48]), "2.16.840");
    }
}
