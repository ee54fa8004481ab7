//! Bearer tokens: 256 random bits as a text that is recognised as a token of ours. What is kept of one is a hash: the text is
//! shown once, when it is made. Invariant: a text is compared with what is kept in constant time, and is in no message.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// What stands before a token in the `authorization` header.
pub const SCHEME: &str = "Bearer ";

/// What every token begins with, so that a scanner of texts finds one that was published by mistake.
pub const PREFIX: &str = "fst_";

/// Digits of a token's id.
const ID_DIGITS: usize = 20;

/// Digits of a token's secret.
const SECRET_DIGITS: usize = 64;

/// SHA-256 of a token's text. A hash without salt and without work is enough for 256 random bits: there is nothing to guess.
pub type TokenHash = [u8; 32];

/// A token's text: whoever has it is taken for its principal. No `Debug` of it.
#[derive(Clone)]
pub struct TokenText {
    text: String,
}

impl TokenText {
    /// A new one. Ids are in order of the time, so that lists are too.
    pub fn generate(now_ms: i64) -> Result<Self, getrandom::Error> {
        let (mut distinction, mut secret) = ([0u8; 4], [0u8; 32]);
        getrandom::fill(&mut distinction)?;
        getrandom::fill(&mut secret)?;
        let id = format!("{:012x}{}", now_ms & 0xffff_ffff_ffff, hex(&distinction));
        Ok(Self {
            text: format!("{PREFIX}{id}_{}", hex(&secret)),
        })
    }

    /// The token in a text; `None` if none of ours looks like that.
    pub fn parse(text: &str) -> Option<Self> {
        let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
        let digits = |part: &str, count| part.len() == count && part.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        (digits(id, ID_DIGITS) && digits(secret, SECRET_DIGITS)).then(|| Self { text: text.to_owned() })
    }

    /// The part that is no secret: its name in lists.
    pub fn id(&self) -> &str {
        self.text.get(PREFIX.len()..PREFIX.len() + ID_DIGITS).unwrap_or_default()
    }

    /// What is kept of it.
    pub fn hash(&self) -> TokenHash {
        Sha256::digest(self.text.as_bytes()).into()
    }

    /// The text, for the one who is to have it.
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// True if that is what was kept of this token.
    pub fn is(&self, hash: &TokenHash) -> bool {
        self.hash().ct_eq(hash).into()
    }
}

impl std::fmt::Debug for TokenText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenText").field("id", &self.id()).finish_non_exhaustive()
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_its_whole_text_only() {
        let token = TokenText::generate(1_700_000_000_000).unwrap();
        let hash = token.hash();
        let read = TokenText::parse(token.expose()).unwrap();
        assert!(read.is(&hash) && read.id() == token.id() && token.id().len() == ID_DIGITS);
        let another = TokenText::generate(1_700_000_000_000).unwrap();
        assert!(!another.is(&hash));
        let mut digits = token.expose().to_owned();
        let last = if digits.pop() == Some('0') { '1' } else { '0' };
        digits.push(last);
        assert!(!TokenText::parse(&digits).unwrap().is(&hash), "one digit differs");
    }

    #[test]
    fn what_no_token_looks_like_is_none() {
        let text = TokenText::generate(0).unwrap().expose().to_owned();
        let damaged = [
            String::new(),
            PREFIX.to_owned(),
            text[..text.len() - 1].to_owned(),
            format!("{text}0"),
            text.to_uppercase(),
            text.replace("fst_", "fsx_"),
            format!(" {text}"),
            text.replace('_', "-"),
        ];
        for text in damaged {
            assert!(TokenText::parse(&text).is_none(), "{text}");
        }
    }

    #[test]
    fn debug_shows_no_secret() {
        let token = TokenText::generate(0).unwrap();
        let secret = token.expose().rsplit_once('_').unwrap().1;
        assert!(!format!("{token:?}").contains(secret));
    }
}
