//! Partitions whose next record names a schema that the registry does not tell: they are not read until it does, and the others go on.
//!
//! Invariant: what waits is read from the record on that waits, so none is lost and none comes twice.

use std::collections::{BTreeMap, BTreeSet};

use stream_spec::stream::Side;
use tokio_util::task::AbortOnDropHandle;

use super::lookup::Lookup;
use super::waiting;
use crate::position::{PartitionId, Positions};
use crate::status::{PipelineCondition, condition};

/// Partitions whose next record cannot be read now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unread {
    /// Which ones.
    pub(crate) partitions: BTreeSet<PartitionId>,
    /// A schema that nobody tells; none where they only have to be read again.
    pub(crate) schema: Option<Untold>,
}

/// A schema that is named and not known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Untold {
    /// The side of messages that names it.
    pub(crate) side: Side,
    /// Its id.
    pub(crate) id: u32,
    /// Why it is not known.
    pub(crate) why: String,
}

impl std::fmt::Display for Untold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let column = self.side.column();
        write!(
            f,
            "the next `{column}` names the schema {}, which is not known: {}",
            self.id, self.why
        )
    }
}

/// The partitions of a stream that wait for a schema.
#[derive(Debug, Default)]
pub(crate) struct AwaitedSchemas {
    /// Each with what it waits for.
    partitions: BTreeMap<PartitionId, Untold>,
}

impl AwaitedSchemas {
    /// These wait from now on, if it is for a schema.
    pub(crate) fn note(&mut self, unread: Unread) {
        let Some(schema) = unread.schema else { return };
        let waits = unread.partitions.into_iter().map(|partition| (partition, schema.clone()));
        self.partitions.extend(waits);
    }

    /// None waits any more: what still has to says so again.
    pub(crate) fn clear(&mut self) {
        self.partitions.clear();
    }

    /// Takes those that wait out of what is to be read.
    pub(crate) fn hold(&self, attach: &mut Positions, held: &mut BTreeMap<PartitionId, String>) {
        for (partition, schema) in &self.partitions {
            if attach.remove(partition).is_some() {
                held.insert(partition.clone(), schema.to_string());
            }
        }
    }

    /// Ends once the registry tells something of a schema that is waited for; none where nothing is.
    pub(crate) fn told(&self, lookup: Option<&Lookup>) -> Option<AbortOnDropHandle<()>> {
        let schema = self.partitions.values().next()?;
        lookup.map(|lookup| lookup.wait_for(schema.side, schema.id))
    }

    /// What there is to say: what waits and why, or else why the latest versions are not known.
    pub(crate) fn condition(&self, unavailable: Option<&PipelineCondition>) -> Option<PipelineCondition> {
        if self.partitions.is_empty() {
            return unavailable.cloned();
        }
        let why: BTreeSet<&Untold> = self.partitions.values().collect();
        let waits = waiting::that_wait(self.partitions.keys());
        let sentences = why.into_iter().map(Untold::to_string);
        condition(condition::SCHEMAS_AVAILABLE, "SchemasUnknown", waits.into_iter().chain(sentences))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::position::Position;

    fn partition(number: i32) -> PartitionId {
        PartitionId {
            topic: "orders".to_owned(),
            partition: number,
        }
    }

    #[test]
    fn what_waits_is_held_and_said_until_nothing_does() {
        let mut awaited = AwaitedSchemas::default();
        let unavailable = condition(condition::SCHEMAS_AVAILABLE, "RegistryUnavailable", ["down".to_owned()]);
        assert_eq!(awaited.condition(None), None);
        assert_eq!(awaited.condition(unavailable.as_ref()), unavailable);
        awaited.note(Unread {
            partitions: BTreeSet::from([partition(0)]),
            schema: None,
        });
        assert_eq!(awaited.condition(None), None, "it is read again, and waits for nothing");
        awaited.note(Unread {
            partitions: (1..9).map(partition).collect(),
            schema: Some(Untold {
                side: Side::Payload,
                id: 7,
                why: "no answer".to_owned(),
            }),
        });
        let said = awaited.condition(unavailable.as_ref()).expect("said");
        assert_eq!(said.reason, "SchemasUnknown");
        assert_eq!(
            said.message,
            "partitions that wait: 1 of `orders`, 2 of `orders`, 3 of `orders`, 4 of `orders`, 5 of `orders`, and 3 more; the next `value` \
             names the schema 7, which is not known: no answer"
        );
        let mut attach = Positions::from([(partition(0), Position::new(5, 0)), (partition(1), Position::new(6, 0))]);
        let mut held = BTreeMap::new();
        awaited.hold(&mut attach, &mut held);
        assert_eq!((attach.len(), held.len()), (1, 1));
        awaited.clear();
        assert_eq!(awaited.condition(None), None);
    }
}
