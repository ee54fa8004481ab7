//! Paths of data files as the log spells them: relative to the table, percent-encoded; other writers may also use URLs.
//!
//! Invariant: what comes out lies inside the table's folder.

/// The path inside the table; nothing if the file is elsewhere.
pub(super) fn inside_table(logged: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(logged.len());
    let mut rest = logged.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    let path = String::from_utf8(bytes).ok()?;
    let plain = !path.contains(':') && path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    plain.then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_inside_the_table_come_out() {
        let cases = [
            ("part-1.parquet", Some("part-1.parquet")),
            ("a%20b/c.parquet", Some("a b/c.parquet")),
            ("/etc/passwd", None),
            ("../other/x.parquet", None),
            ("%2E%2E/x", None),
            ("file:///a/x.parquet", None),
            ("s3://bucket/x.parquet", None),
            ("a%2", None),
            ("", None),
        ];
        for (logged, expected) in cases {
            assert_eq!(inside_table(logged).as_deref(), expected, "{logged}");
        }
    }
}
