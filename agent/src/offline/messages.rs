//! Messages out of a file or a pipe, one at a time. Invariant: no message longer than the bound is ever held.

use std::io::{BufRead, Read};

use anyhow::{Context, bail};
use base64::Engine;
use clap::ValueEnum;

use crate::limits::MESSAGE_BYTES_MAX;

/// How messages follow one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Encoding {
    /// Each line is a message: JSON, or a text.
    #[default]
    Lines,
    /// Each line is a message in hexadecimal digits.
    Hex,
    /// Each line is a message in base64.
    Base64,
    /// Each message is its length (4 bytes, big-endian), then its bytes.
    LengthPrefixed,
}

/// The messages of an input.
pub(crate) struct Messages<R> {
    input: R,
    encoding: Encoding,
    /// Messages read so far.
    count: u64,
}

impl<R: BufRead> Messages<R> {
    pub(crate) fn new(input: R, encoding: Encoding) -> Self {
        Self { input, encoding, count: 0 }
    }

    /// The next message, if there is one more. An error names the message that cannot be read.
    pub(crate) fn next(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        let number = self.count + 1;
        let message = match self.encoding {
            Encoding::LengthPrefixed => self.length_prefixed(),
            encoding => match self.line()? {
                None => Ok(None),
                Some(line) => decode_line(line, encoding).map(Some),
            },
        }
        .with_context(|| format!("message {number}"))?;
        self.count += u64::from(message.is_some());
        Ok(message)
    }

    fn line(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        // Two characters a byte in hexadecimal, and the end of the line.
        let longest = 2 * MESSAGE_BYTES_MAX as u64 + 2;
        let mut line = Vec::new();
        let read = (&mut self.input).take(longest).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(None);
        }
        if line.last() == Some(&b'\n') {
            line.pop();
            if line.last() == Some(&b'\r') {
                line.pop();
            }
        } else if read as u64 == longest {
            bail!("a line is longer than a message of {MESSAGE_BYTES_MAX} bytes can be: messages end with a line feed");
        }
        Ok(Some(line))
    }

    fn length_prefixed(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        if self.input.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let mut prefix = [0; 4];
        self.input
            .read_exact(&mut prefix)
            .context("the input ends inside a length, which has 4 bytes")?;
        let length = usize::try_from(u32::from_be_bytes(prefix))?;
        if length > MESSAGE_BYTES_MAX {
            bail!("a length of {length} bytes is above {MESSAGE_BYTES_MAX}: are lengths 4 bytes, big-endian?");
        }
        let mut message = Vec::new();
        let read = (&mut self.input).take(length as u64).read_to_end(&mut message)?;
        if read < length {
            bail!("the input ends after {read} of {length} bytes");
        }
        Ok(Some(message))
    }
}

fn decode_line(line: Vec<u8>, encoding: Encoding) -> anyhow::Result<Vec<u8>> {
    let text = || -> anyhow::Result<&str> { Ok(std::str::from_utf8(&line).context("the line is no text")?.trim()) };
    let message = match encoding {
        Encoding::Hex => from_hex(text()?)?,
        Encoding::Base64 => base64::engine::general_purpose::STANDARD
            .decode(text()?)
            .context("the line is not base64")?,
        Encoding::Lines | Encoding::LengthPrefixed => line,
    };
    if message.len() > MESSAGE_BYTES_MAX {
        bail!("{} bytes are above {MESSAGE_BYTES_MAX}", message.len());
    }
    Ok(message)
}

fn from_hex(text: &str) -> anyhow::Result<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        bail!("{} hexadecimal digits are no whole number of bytes", digits.len());
    }
    digits
        .chunks_exact(2)
        .map(|pair| {
            let pair = String::from_utf8_lossy(pair);
            // The standard library takes a sign for a part of a number.
            if !pair.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                bail!("`{pair}` are no hexadecimal digits");
            }
            Ok(u8::from_str_radix(&pair, 16)?)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(encoding: Encoding, input: &[u8], expected: &[&[u8]]) {
        let mut messages = Messages::new(input, encoding);
        let mut found = Vec::new();
        while let Some(message) = messages.next().unwrap() {
            found.push(message);
        }
        assert_eq!(found, expected, "{encoding:?}");
    }

    fn fails(encoding: Encoding, input: &[u8], expected: &str) {
        let mut messages = Messages::new(input, encoding);
        let error = loop {
            match messages.next() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("`{expected}` was expected"),
                Err(error) => break format!("{error:#}"),
            }
        };
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn every_encoding_gives_the_messages_it_holds() {
        check(Encoding::Lines, b"{\"a\":1}\r\n\nx", &[b"{\"a\":1}", b"", b"x"]);
        check(Encoding::Hex, b"00fF\n\n0a", &[&[0, 255], &[], &[10]]);
        check(Encoding::Base64, b"AAE=\n", &[&[0, 1]]);
        check(
            Encoding::LengthPrefixed,
            &[0, 0, 0, 2, 7, 8, 0, 0, 0, 0, 0, 0, 0, 1, 10],
            &[&[7, 8], &[], b"\n"],
        );
        check(Encoding::LengthPrefixed, b"", &[]);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        fails(Encoding::Hex, b"00\nabc\n", "message 2: 3 hexadecimal digits");
        fails(Encoding::Hex, b"+1\n", "`+1` are no hexadecimal digits");
        fails(Encoding::Base64, b"AAE\n", "message 1: the line is not base64");
        fails(Encoding::LengthPrefixed, &[0, 0, 0, 2, 7], "the input ends after 1 of 2 bytes");
        fails(Encoding::LengthPrefixed, &[0, 0], "inside a length");
        fails(Encoding::LengthPrefixed, b"{\"a\":1}", "are lengths 4 bytes, big-endian?");
    }
}
