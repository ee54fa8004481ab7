//! Every bound of this package, with its reason.

/// Entries of one store, and certificates: the list of all public authorities has 150.
pub const ENTRIES_MAX: usize = 10_000;

/// Certificates in the chain of one key: chains have three or four.
pub const CHAIN_MAX: usize = 20;

/// Rounds that deriving all keys of one store may take, over everything in it: Java and OpenSSL write 2,000 to 100,000 for a key, and
/// these take some seconds.
pub const ROUNDS_MAX: u32 = 10_000_000;

/// Containers within containers of a PKCS#12 store: writers nest none.
pub const NESTING_MAX: usize = 4;

/// Names that one message lists, and characters that it shows of each: enough to act on.
pub const NAMES_IN_A_MESSAGE_MAX: usize = 5;

/// Characters of a name that a message shows.
pub const NAME_CHARS_MAX: usize = 64;
