//! Grapheme clusters (`\X`) as Java 17 parts a text into them: what people take for one character, such as a letter with its marks.
//! What each code point is in a cluster is in `unicode.txt`; the rules are those of Unicode's annex 29.

use std::sync::OnceLock;

use super::set::CharSet;
use super::text::Text;
use super::unicode::tables;

/// What a code point is in a cluster. `Other` is what no table names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Other,
    CarriageReturn,
    LineFeed,
    Control,
    Extend,
    Joiner,
    RegionalIndicator,
    Prepend,
    SpacingMark,
    Leading,
    Vowel,
    Trailing,
    LeadingVowel,
    LeadingVowelTrailing,
    Pictographic,
}

const NAMES: [(&str, Kind); 14] = [
    ("CR", Kind::CarriageReturn),
    ("LF", Kind::LineFeed),
    ("Control", Kind::Control),
    ("Extend", Kind::Extend),
    ("ZWJ", Kind::Joiner),
    ("Regional_Indicator", Kind::RegionalIndicator),
    ("Prepend", Kind::Prepend),
    ("SpacingMark", Kind::SpacingMark),
    ("L", Kind::Leading),
    ("V", Kind::Vowel),
    ("T", Kind::Trailing),
    ("LV", Kind::LeadingVowel),
    ("LVT", Kind::LeadingVowelTrailing),
    ("Extended_Pictographic", Kind::Pictographic),
];

fn kind(code: u32) -> Kind {
    static SETS: OnceLock<Vec<(&'static CharSet, Kind)>> = OnceLock::new();
    let sets = SETS.get_or_init(|| {
        let named = NAMES
            .iter()
            .filter_map(|(name, kind)| Some((tables().set("grapheme", name)?, *kind)));
        named.collect()
    });
    // Most of what is looked at.
    if (0x20..0x7F).contains(&code) {
        return Kind::Other;
    }
    sets.iter()
        .find(|(set, _)| set.contains(code))
        .map_or(Kind::Other, |(_, kind)| *kind)
}

/// Where the cluster that begins at a place ends; none at the end of the text.
pub(super) fn cluster_end(text: Text<'_>, begin: usize) -> Option<usize> {
    let (first, width) = text.code_at(begin)?;
    let (mut last, mut end) = (kind(first), begin + width);
    // A flag is two of them; further ones are another's.
    let mut indicators = usize::from(last == Kind::RegionalIndicator);
    let pictographic = last == Kind::Pictographic;
    while let Some((code, width)) = text.code_at(end) {
        let next = kind(code);
        let joined = pictographic && last == Kind::Joiner && next == Kind::Pictographic;
        let flag = indicators % 2 == 1 && last == Kind::RegionalIndicator && next == Kind::RegionalIndicator;
        if !joined && !flag && is_boundary(last, next) {
            break;
        }
        indicators += usize::from(next == Kind::RegionalIndicator);
        last = next;
        end += width;
    }
    Some(end)
}

/// Whether a cluster ends between two code points, whatever is before them.
fn is_boundary(left: Kind, right: Kind) -> bool {
    use Kind::{
        CarriageReturn, Control, Extend, Joiner, Leading, LeadingVowel, LeadingVowelTrailing, LineFeed, Prepend, SpacingMark, Trailing,
        Vowel,
    };
    match (left, right) {
        (CarriageReturn, LineFeed) => false,
        (CarriageReturn | LineFeed | Control, _) | (_, CarriageReturn | LineFeed | Control) => true,
        (_, Extend | Joiner | SpacingMark) | (Prepend, _) => false,
        (Leading, Leading | Vowel | LeadingVowel | LeadingVowelTrailing) => false,
        (LeadingVowel | Vowel, Vowel | Trailing) | (LeadingVowelTrailing | Trailing, Trailing) => false,
        _ => true,
    }
}
