//! What partitions report instead of records, told apart by what is to be done about it.
//!
//! Invariant: a refusal is never lost behind other problems, because librdkafka reports it once and stops the partition.

use std::collections::BTreeMap;

use rdkafka::error::RDKafkaErrorCode;

use super::ffi::NativeError;
use super::loss::Refusal;
use crate::position::PartitionId;

/// What librdkafka says, and a test holds it to, where a log was cut before a position.
const TRUNCATION: &str = "Partition log truncation detected";

/// What stands in such a text before the offset at which the log was cut.
const CUT_AT: &str = "broker end offset is ";

/// What a partition reported instead of a record. The greater one is the graver.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PartitionProblem {
    /// Anything else, in librdkafka's words; reading may go on by itself.
    Other(String),
    /// The topic, or the partition, is not there any more, or is another one.
    Unknown,
    /// It is not read at the wanted offset, and librdkafka has stopped it.
    Refused(Refusal),
}

/// The gravest problem of each partition: none is crowded out by another one's.
pub(crate) type Problems = BTreeMap<PartitionId, PartitionProblem>;

/// What an error that arrives in place of a record means.
pub(super) fn problem_of(error: &NativeError) -> PartitionProblem {
    match error.code {
        // librdkafka reports a truncation by the code of a missing reset policy, with its own words for the reason.
        RDKafkaErrorCode::AutoOffsetReset if error.text.contains(TRUNCATION) => PartitionProblem::Refused(Refusal::Truncated {
            at: number_after(&error.text, CUT_AT),
        }),
        RDKafkaErrorCode::AutoOffsetReset | RDKafkaErrorCode::OffsetOutOfRange => PartitionProblem::Refused(Refusal::OutOfRange),
        RDKafkaErrorCode::UnknownPartition
        | RDKafkaErrorCode::UnknownTopic
        | RDKafkaErrorCode::UnknownTopicOrPartition
        | RDKafkaErrorCode::UnknownTopicId => PartitionProblem::Unknown,
        RDKafkaErrorCode::TopicAuthorizationFailed => PartitionProblem::Other(format!(
            "the connection's user may see the topic and not read it: {error}; grant READ on it, and reading goes on"
        )),
        _ => PartitionProblem::Other(error.to_string()),
    }
}

/// The number that follows some words; nothing where there is none, or a negative one.
fn number_after(text: &str, words: &str) -> Option<i64> {
    let (_, rest) = text.split_once(words)?;
    let digits = rest.split(|character: char| !character.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// Notes a problem beside, or instead of, what its partition reported before.
pub(super) fn note(problems: &mut Problems, partition: PartitionId, problem: PartitionProblem) {
    match problems.get_mut(&partition) {
        Some(known) if *known < problem => *known = problem,
        Some(_) => {}
        None => drop(problems.insert(partition, problem)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::ffi;

    fn error(code: RDKafkaErrorCode, text: &str) -> NativeError {
        let text = text.to_owned();
        NativeError { code, text }
    }

    #[test]
    fn a_truncated_log_is_told_from_an_offset_that_is_out_of_range() {
        let out_of_range = "fetch failed due to requested offset not available on the broker: Broker: Offset out of range (broker 1)";
        let truncated = "Partition log truncation detected at offset 100 (leader epoch 3): broker end offset is 90 (offset leader epoch 2). \
                         Reset to INVALID.: Local: Partition log truncation detected (broker 1)";
        let unknown_epoch = "No epoch found less or equal to offset 100 (leader epoch 3): broker end offset is -1 (offset leader epoch -1). \
                             Reset using configured policy.: Local: Partition log truncation detected (broker 1)";
        for (text, expected) in [
            (out_of_range, Refusal::OutOfRange),
            (truncated, Refusal::Truncated { at: Some(90) }),
            (unknown_epoch, Refusal::Truncated { at: None }),
        ] {
            let problem = problem_of(&error(RDKafkaErrorCode::AutoOffsetReset, text));
            assert_eq!(problem, PartitionProblem::Refused(expected), "{text}");
        }
        let words = ffi::truncation_words();
        assert!(words.contains(TRUNCATION), "librdkafka says it in other words: {words}");
    }

    #[test]
    fn a_refusal_is_crowded_out_by_no_other_problem() {
        let mut problems = Problems::new();
        let partition = |partition| PartitionId {
            topic: "a".to_owned(),
            partition,
        };
        let refused = PartitionProblem::Refused(Refusal::OutOfRange);
        for number in 0..500 {
            note(&mut problems, partition(number), PartitionProblem::Other("broken".to_owned()));
        }
        note(&mut problems, partition(400), refused.clone());
        note(&mut problems, partition(400), PartitionProblem::Unknown);
        note(&mut problems, partition(999), refused.clone());
        assert_eq!(problems.len(), 501);
        assert_eq!(
            (problems.get(&partition(400)), problems.get(&partition(999))),
            (Some(&refused), Some(&refused))
        );
    }
}
