//! What of a batch did not fit its schema: counts per reason and the last few rows of each. No payload bytes.

use crate::limits::REPORTED_ROWS_MAX;

/// Why a message, or a part of it, became null. A message is counted once, under the first reason met in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MisfitReason {
    /// Nothing, or only white space, where a value was wanted.
    Empty,
    /// Not well-formed: a syntax error somewhere in the message.
    Malformed,
    /// Beyond a limit of the format's reader (nesting, length of a number, name or string).
    BeyondLimit,
    /// A value of another kind than its field, like a string for INT or an array for a struct.
    WrongKind,
    /// A number that its column cannot hold.
    OutOfRange,
    /// A text that is no value of its column's type, like `yesterday` for TIMESTAMP.
    UnreadableText,
    /// A field that its schema requires is not there.
    MissingField,
    /// A value that its closed enum does not have.
    UnknownSymbol,
    /// Nothing in the message says by which schema of a registry it was written.
    NotFramed,
    /// A GUID, in a header or before the message, and no id says by which schema of a registry it was written.
    NamedByGuid,
    /// Its registry does not have the schema that the message names.
    UnknownSchema,
    /// The schema that the message names is none of its subject's.
    OtherSubject,
    /// The schema that the message names does not resolve to the one that it is read as.
    UnresolvedSchema,
}

impl MisfitReason {
    /// Every reason, in the order of reports.
    pub const ALL: [Self; 13] = [
        Self::Empty,
        Self::Malformed,
        Self::BeyondLimit,
        Self::WrongKind,
        Self::OutOfRange,
        Self::UnreadableText,
        Self::MissingField,
        Self::UnknownSymbol,
        Self::NotFramed,
        Self::NamedByGuid,
        Self::UnknownSchema,
        Self::OtherSubject,
        Self::UnresolvedSchema,
    ];

    /// The reason's name in the API, in metrics and in logs; it never changes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Malformed => "malformed",
            Self::BeyondLimit => "beyond_limit",
            Self::WrongKind => "wrong_kind",
            Self::OutOfRange => "out_of_range",
            Self::UnreadableText => "unreadable_text",
            Self::MissingField => "missing_field",
            Self::UnknownSymbol => "unknown_symbol",
            Self::NotFramed => "not_framed",
            Self::NamedByGuid => "named_by_guid",
            Self::UnknownSchema => "unknown_schema",
            Self::OtherSubject => "other_subject",
            Self::UnresolvedSchema => "unresolved_schema",
        }
    }
}

/// How often one reason was met in a batch, and where last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MisfitCount {
    /// The reason.
    pub reason: MisfitReason,
    /// Messages with this reason; at least one.
    pub messages: usize,
    /// Row indexes of the last of them, in their order, at most [`REPORTED_ROWS_MAX`].
    pub last_rows: Vec<usize>,
}

/// Messages of one batch that did not fit, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecodeReport {
    counts: Vec<MisfitCount>,
}

impl DecodeReport {
    /// The reasons met, each once, in the order they were first met.
    pub fn counts(&self) -> &[MisfitCount] {
        &self.counts
    }

    /// Messages that did not fit, wholly or in part.
    pub fn misfit_messages(&self) -> usize {
        self.counts.iter().map(|count| count.messages).sum()
    }

    pub(crate) fn add(&mut self, row: usize, reason: MisfitReason) {
        match self.counts.iter_mut().find(|count| count.reason == reason) {
            Some(count) => {
                count.messages += 1;
                if count.last_rows.len() >= REPORTED_ROWS_MAX {
                    count.last_rows.remove(0);
                }
                count.last_rows.push(row);
            }
            None => self.counts.push(MisfitCount {
                reason,
                messages: 1,
                last_rows: vec![row],
            }),
        }
    }
}
