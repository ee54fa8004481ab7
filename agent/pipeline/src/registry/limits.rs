//! Every bound of the registry room, with its reason.

use std::time::Duration;

use super::cache::Kept;

/// Addresses of one registry: a cluster of them has three or five.
pub(super) const URLS_MAX: usize = 16;

/// Longest wait for a connection to one address.
pub(super) const CONNECT_WAIT: Duration = Duration::from_secs(5);

/// How long answers are waited for.
#[derive(Clone, Copy)]
pub(super) struct Waits {
    /// For one whole answer: registries answer in milliseconds, one that has just started in seconds.
    pub(super) answer: Duration,
    /// For a call with all its attempts.
    pub(super) call: Duration,
}

/// As long as every client waits, but those of tests.
pub(super) const WAITS: Waits = Waits {
    answer: Duration::from_secs(10),
    call: Duration::from_secs(30),
};

/// How long a call waits, beside asking, for an address that rests. Who called knows better than to wait longer: a stream goes on with
/// the schemas that it knows.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// Rest of an address after its first failure; doubled after each one that follows without success.
pub(super) const REST_MIN: Duration = Duration::from_millis(250);

/// Longest rest of an address that is away.
pub(super) const REST_MAX: Duration = Duration::from_secs(30);

/// Longest rest that an address may ask for by `Retry-After`.
pub(super) const RETRY_AFTER_MAX: Duration = Duration::from_secs(5 * 60);

/// Requests under way at one registry, over all streams: an agent that starts a thousand streams must not be what a registry falls by.
pub(super) const REQUESTS_AT_ONCE: usize = 8;

/// Longest answer: a schema text of the greatest length, each character spelled with six in JSON, and references.
pub(super) const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Redirects that are followed within one address.
pub(super) const REDIRECTS_MAX: usize = 3;

/// Schemas of one registry that are kept by their ids. A stream has a few, a busy topic some dozens.
pub(super) const SCHEMAS_KEPT_MAX: usize = 2_000;

/// Bytes of texts of the schemas that are kept, references counted with each schema that uses them.
pub(super) const SCHEMAS_KEPT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Answers about which subject a schema belongs to that are kept: small, and asked for every schema.
pub(super) const SUBJECTS_KEPT_MAX: usize = 10_000;

/// How long what may change is believed. A schema may be registered at any time, and a topic with bytes that only look like ids must not
/// ask for each of its messages. A failure is told to others who wait for the same: long enough for all of them, no longer.
pub(super) const KEPT: Kept = Kept {
    absence: Duration::from_secs(5),
    failure: Duration::from_secs(1),
};

/// How long after the first one a second answer is asked for before it is believed that an id is not there: a registry's followers
/// learn of a schema a little after its leader, and a message that comes in between is no misfit.
pub(super) const ABSENCE_CONFIRMED_AFTER: Duration = Duration::from_secs(1);

/// Problems of a schema that an error tells.
pub(super) const PROBLEMS_TOLD_MAX: usize = 3;
