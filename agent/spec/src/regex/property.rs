//! The names of `\p{…}`, as Java spells them, and the sets they stand for. What a name means under `(?i)` and `(?U)` is here too.

use super::set::{CharSet, LAST};
use super::unicode::{Tables, tables};

/// The flags that change what a name means.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    /// `(?i)`: a case's name means every case.
    pub(super) any_case: bool,
    /// `(?U)`: POSIX names mean all of Unicode.
    pub(super) unicode: bool,
}

/// The set of `\p{text}`.
pub(super) fn named(text: &str, reading: Reading) -> Option<CharSet> {
    // Java changes case by all of Unicode; a name that needs more than ASCII's is nobody's.
    if !text.is_ascii() {
        return None;
    }
    if let Some((name, value)) = text.split_once('=') {
        return match name.to_ascii_lowercase().as_str() {
            "sc" | "script" => known("script", value),
            "blk" | "block" => known("block", value),
            "gc" | "general_category" => property(value, reading),
            _ => None,
        };
    }
    if let Some(block) = text.strip_prefix("In") {
        return known("block", block);
    }
    if let Some(name) = text.strip_prefix("Is") {
        let upper = name.to_ascii_uppercase();
        return binary(&upper, reading)
            .or_else(|| posix(&upper, reading))
            .or_else(|| property(name, reading))
            .or_else(|| known("script", name));
    }
    let wide = if reading.unicode {
        posix(&text.to_ascii_uppercase(), reading)
    } else {
        None
    };
    wide.or_else(|| property(text, reading))
}

/// `\w` under `(?U)`.
pub(super) fn unicode_word() -> CharSet {
    let tables = tables();
    let categories = tables.categories(&["Mn", "Me", "Mc", "Nd", "Pc"]);
    own(tables, "Alphabetic").union(&categories).union(&ranges(&[(0x200C, 0x200D)]))
}

/// `\s` under `(?U)`.
pub(super) fn unicode_space() -> CharSet {
    tables()
        .categories(&["Zs", "Zl", "Zp"])
        .union(&ranges(&[(0x09, 0x0D), (0x85, 0x85)]))
}

/// `\d` under `(?U)`.
pub(super) fn unicode_digit() -> CharSet {
    tables().categories(&["Nd"])
}

/// What Java's `isLetterOrDigit` holds: a word's characters for `\b`, beside `_`.
pub(super) fn letter_or_digit() -> CharSet {
    tables().categories(&["Lu", "Ll", "Lt", "Lm", "Lo", "Nd"])
}

fn known(kind: &str, name: &str) -> Option<CharSet> {
    tables().set(kind, &name.to_ascii_uppercase()).cloned()
}

fn own(tables: &Tables, name: &str) -> CharSet {
    tables.set("property", name).cloned().unwrap_or_default()
}

fn ranges(list: &[(u32, u32)]) -> CharSet {
    CharSet::new(false, list.iter().copied())
}

fn ascii(list: &[(char, char)]) -> CharSet {
    CharSet::new(true, list.iter().map(|(first, last)| (u32::from(*first), u32::from(*last))))
}

/// All three cases, or only the one that was asked for.
fn case(one: CharSet, reading: Reading) -> CharSet {
    if !reading.any_case {
        return one;
    }
    let tables = tables();
    own(tables, "Lowercase")
        .union(&own(tables, "Uppercase"))
        .union(&tables.categories(&["Lt"]))
}

fn binary(upper: &str, reading: Reading) -> Option<CharSet> {
    let tables = tables();
    Some(match upper {
        "ALPHABETIC" => own(tables, "Alphabetic"),
        "ASSIGNED" => tables.categories(&["Cn"]).complement(),
        "CONTROL" => tables.categories(&["Cc"]),
        "HEXDIGIT" | "HEX_DIGIT" => hex_digit(),
        "IDEOGRAPHIC" => own(tables, "Ideographic"),
        "JOINCONTROL" | "JOIN_CONTROL" => ranges(&[(0x200C, 0x200D)]),
        "LETTER" => letter(),
        "LOWERCASE" => case(own(tables, "Lowercase"), reading),
        "NONCHARACTERCODEPOINT" | "NONCHARACTER_CODE_POINT" => noncharacter(),
        "TITLECASE" => case(tables.categories(&["Lt"]), reading),
        "PUNCTUATION" => punctuation(),
        "UPPERCASE" => case(own(tables, "Uppercase"), reading),
        "WHITESPACE" | "WHITE_SPACE" => unicode_space(),
        "WORD" => unicode_word(),
        _ => return None,
    })
}

/// POSIX names in all of Unicode.
fn posix(upper: &str, reading: Reading) -> Option<CharSet> {
    let tables = tables();
    Some(match upper {
        "ALPHA" => own(tables, "Alphabetic"),
        "LOWER" => case(own(tables, "Lowercase"), reading),
        "UPPER" => case(own(tables, "Uppercase"), reading),
        "SPACE" => unicode_space(),
        "PUNCT" => punctuation(),
        "XDIGIT" => hex_digit(),
        "ALNUM" => own(tables, "Alphabetic").union(&unicode_digit()),
        "CNTRL" => tables.categories(&["Cc"]),
        "DIGIT" => unicode_digit(),
        "BLANK" => blank(),
        "GRAPH" => graph(),
        "PRINT" => graph().union(&blank()).intersection(&tables.categories(&["Cc"]).complement()),
        _ => return None,
    })
}

fn letter() -> CharSet {
    tables().categories(&["Lu", "Ll", "Lt", "Lm", "Lo"])
}

fn punctuation() -> CharSet {
    tables().categories(&["Pc", "Pd", "Ps", "Pe", "Po", "Pi", "Pf"])
}

fn hex_digit() -> CharSet {
    unicode_digit().union(&ranges(&[
        (0x30, 0x39),
        (0x41, 0x46),
        (0x61, 0x66),
        (0xFF10, 0xFF19),
        (0xFF21, 0xFF26),
        (0xFF41, 0xFF46),
    ]))
}

fn blank() -> CharSet {
    tables().categories(&["Zs"]).union(&ranges(&[(0x09, 0x09)]))
}

fn graph() -> CharSet {
    tables().categories(&["Zs", "Zl", "Zp", "Cc", "Cs", "Cn"]).complement()
}

fn noncharacter() -> CharSet {
    let ends = (0..=0x10).map(|plane| (plane << 16 | 0xFFFE, plane << 16 | 0xFFFF));
    CharSet::new(false, ends.chain([(0xFDD0, 0xFDEF)]))
}

/// General categories, POSIX names in ASCII, and the methods of Java's `Character`.
fn property(name: &str, reading: Reading) -> Option<CharSet> {
    if matches!(name, "Lu" | "Ll" | "Lt") && reading.any_case {
        return Some(tables().categories(&["Lu", "Ll", "Lt"]));
    }
    if let Some(category) = tables().set("category", name) {
        return Some(category.clone());
    }
    let tables = tables();
    let groups: &[&str] = match name {
        "L" => &["Lu", "Ll", "Lt", "Lm", "Lo"],
        "M" => &["Mn", "Me", "Mc"],
        "N" => &["Nd", "Nl", "No"],
        "Z" => &["Zs", "Zl", "Zp"],
        "C" => &["Cc", "Cf", "Co", "Cs", "Cn"],
        "P" => &["Pc", "Pd", "Ps", "Pe", "Po", "Pi", "Pf"],
        "S" => &["Sm", "Sc", "Sk", "So"],
        "LC" => &["Lu", "Ll", "Lt"],
        "LD" => &["Lu", "Ll", "Lt", "Lm", "Lo", "Nd"],
        _ => return latin(name, reading).or_else(|| method(name, reading)),
    };
    Some(tables.categories(groups))
}

fn latin(name: &str, reading: Reading) -> Option<CharSet> {
    Some(match name {
        "L1" => CharSet::new(true, [(0, 0xFF)]),
        "all" => ranges(&[(0, LAST)]),
        "ASCII" => ascii(&[('\0', '\x7F')]),
        "Alnum" => ascii(&[('0', '9'), ('A', 'Z'), ('a', 'z')]),
        "Alpha" => ascii(&[('A', 'Z'), ('a', 'z')]),
        "Lower" | "Upper" if reading.any_case => ascii(&[('A', 'Z'), ('a', 'z')]),
        "Lower" => ascii(&[('a', 'z')]),
        "Upper" => ascii(&[('A', 'Z')]),
        "Blank" => ascii(&[('\t', '\t'), (' ', ' ')]),
        "Cntrl" => ascii(&[('\0', '\x1F'), ('\x7F', '\x7F')]),
        "Digit" => ascii(&[('0', '9')]),
        "Graph" => ascii(&[('!', '~')]),
        "Print" => ascii(&[(' ', '~')]),
        "Punct" => ascii(&[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')]),
        "Space" => ascii(&[('\t', '\r'), (' ', ' ')]),
        "XDigit" => ascii(&[('0', '9'), ('A', 'F'), ('a', 'f')]),
        _ => return None,
    })
}

fn method(name: &str, reading: Reading) -> Option<CharSet> {
    let tables = tables();
    Some(match name.strip_prefix("java")? {
        "LowerCase" => case(own(tables, "Lowercase"), reading),
        "UpperCase" => case(own(tables, "Uppercase"), reading),
        "TitleCase" => case(tables.categories(&["Lt"]), reading),
        "Alphabetic" => own(tables, "Alphabetic"),
        "Ideographic" => own(tables, "Ideographic"),
        "Digit" => unicode_digit(),
        "Defined" => tables.categories(&["Cn"]).complement(),
        "Letter" => letter(),
        "LetterOrDigit" => letter_or_digit(),
        "JavaIdentifierStart" => own(tables, "JavaIdentifierStart"),
        "JavaIdentifierPart" => own(tables, "JavaIdentifierPart"),
        "UnicodeIdentifierStart" => own(tables, "UnicodeIdentifierStart"),
        "UnicodeIdentifierPart" => own(tables, "UnicodeIdentifierPart"),
        "IdentifierIgnorable" => own(tables, "IdentifierIgnorable"),
        "SpaceChar" => tables.categories(&["Zs", "Zl", "Zp"]),
        "Whitespace" => own(tables, "JavaWhitespace"),
        "ISOControl" => ranges(&[(0x00, 0x1F), (0x7F, 0x9F)]),
        "Mirrored" => own(tables, "Mirrored"),
        _ => return None,
    })
}
