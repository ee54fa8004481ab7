//! Why a store gives no key or no certificates, for the person who made it.

use std::collections::BTreeSet;

use crate::limits::{NAME_CHARS_MAX, NAMES_IN_A_MESSAGE_MAX};

/// What is wrong with a store. The text goes on a sentence that names the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeystoreError {
    /// Neither JKS nor PKCS#12.
    #[error("it is {found}, not a JKS or PKCS#12 store; {remedy}")]
    NotAStore {
        /// What it seems to be.
        found: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// A format of Java that is not read.
    #[error(
        "it is a {format} store, which is not read; convert it by `keytool -importkeystore -srcstoretype {format} -srckeystore <file> \
         -deststoretype PKCS12 -destkeystore <new file>`"
    )]
    OtherFormat {
        /// The format, as `keytool` names it.
        format: &'static str,
    },
    /// The password does not open the store.
    #[error("its password does not open it, or the file was changed since it was written; put the right password into the secret")]
    WrongStorePassword,
    /// The password does not open the key.
    #[error(
        "the key password does not open the key `{alias}`; put the right one into the secret. A key in a PKCS#12 store usually has the \
         store's password"
    )]
    WrongKeyPassword {
        /// The entry.
        alias: String,
    },
    /// The bytes are not what the format asks for.
    #[error("the file is damaged or cut off ({problem}); write it anew, for example by `keytool -importkeystore`")]
    Damaged {
        /// What is wrong.
        problem: &'static str,
    },
    /// It is protected by an algorithm that is not read.
    #[error("it is protected by {algorithm}, which is not read; write it anew by `keytool -importkeystore -deststoretype PKCS12`")]
    UnsupportedAlgorithm {
        /// Which one.
        algorithm: String,
    },
    /// Opening it would take too much work, or it holds too much.
    #[error("it has more than {most} {what}, and no more are read")]
    TooMuch {
        /// Of what.
        what: &'static str,
        /// The bound.
        most: u64,
    },
    /// There is no private key.
    #[error("there is no private key in it, but {found}; put the client's key with its certificates there")]
    NoKey {
        /// What there is.
        found: String,
    },
    /// There is more than one private key.
    #[error("there is more than one private key in it: {aliases}; leave one, for example by `keytool -delete -alias <name>`")]
    SeveralKeys {
        /// Their names.
        aliases: String,
    },
    /// The key has no certificate.
    #[error("the key `{alias}` has no certificate in it; put the certificate there that was issued for the key")]
    NoCertificate {
        /// The entry.
        alias: String,
    },
    /// There is no certificate that is trusted.
    #[error(
        "no certificate in it is one to trust; there is {found}; put the authority there by `keytool -importcert -alias <name> -file \
         <certificate>`"
    )]
    NothingTrusted {
        /// What there is.
        found: String,
    },
}

/// The file ends too early, or a length points out of it.
pub(crate) const CUT: KeystoreError = damaged("it ends too early");

pub(crate) const fn damaged(problem: &'static str) -> KeystoreError {
    KeystoreError::Damaged { problem }
}

/// Names for a message: some of them in their order, each in ticks, without characters that would break its line.
pub(crate) fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    // A store has them in any order, and another one each time that it is written.
    let names: BTreeSet<&str> = names.collect();
    let more = names.len().saturating_sub(NAMES_IN_A_MESSAGE_MAX);
    let shown = names.into_iter().take(NAMES_IN_A_MESSAGE_MAX);
    let mut shown: Vec<String> = shown.map(|name| format!("`{}`", plain(name))).collect();
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    match shown.is_empty() {
        true => "nothing".to_owned(),
        false => shown.join(", "),
    }
}

/// A name as it may stand in a message.
pub(crate) fn plain(name: &str) -> String {
    let shown = |letter: char| if letter.is_control() { '\u{fffd}' } else { letter };
    name.chars().take(NAME_CHARS_MAX).map(shown).collect()
}
