//! UTF-8 as Java's decoder repairs it: malformed bytes never fail, they become U+FFFD.
//!
//! The same as `String::from_utf8_lossy` but for an encoded surrogate (ED A0..BF xx), which is one U+FFFD in Java and
//! three in Rust.

const REPLACEMENT: &[u8] = "\u{FFFD}".as_bytes();

/// Appends `bytes` as valid UTF-8.
pub(crate) fn append_repaired(bytes: &[u8], out: &mut Vec<u8>) {
    let mut rest = bytes;
    loop {
        let error = match std::str::from_utf8(rest) {
            Ok(valid) => return out.extend_from_slice(valid.as_bytes()),
            Err(error) => error,
        };
        let (valid, broken) = rest.split_at(error.valid_up_to());
        out.extend_from_slice(valid);
        out.extend_from_slice(REPLACEMENT);
        let replaced = match broken {
            [0xED, 0xA0..=0xBF, 0x80..=0xBF, ..] => 3,
            [0xED, 0xA0..=0xBF, ..] => 2,
            _ => error.error_len().unwrap_or(broken.len()),
        };
        rest = broken.get(replaced..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::append_repaired;

    fn check(bytes: &[u8], expected: &str) {
        let mut out = Vec::new();
        append_repaired(bytes, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), expected, "{bytes:x?}");
    }

    #[test]
    fn malformed_bytes_become_as_many_replacement_characters_as_in_java() {
        check(b"plain", "plain");
        check("é€😀".as_bytes(), "é€😀");
        check(b"<\xff>", "<\u{FFFD}>");
        check(b"<\xc3>", "<\u{FFFD}>");
        check(b"<\xe0\x80\xaf>", "<\u{FFFD}\u{FFFD}\u{FFFD}>");
        check(b"<\xed\xa0\x80>", "<\u{FFFD}>");
        check(b"<\xed\xa0", "<\u{FFFD}");
        check(b"<\xed\xa0>", "<\u{FFFD}>");
        check(b"<\xf0\x9f\x98>", "<\u{FFFD}>");
        check(b"<\xf0\x9fA>", "<\u{FFFD}A>");
        check(b"<\xf0\x80\x80\x80>", "<\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}>");
    }
}
