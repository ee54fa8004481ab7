//! Asks a stream's registry for the schemas that messages name.
//!
//! Invariant: each question is bounded in time, and every schema gets an answer: it is there, its messages are null, or they wait.

use std::sync::Arc;

use stream_decode::framing::SchemaKey;
use stream_decode::report::MisfitReason;
use stream_spec::schema::SchemaFormat;
use stream_spec::stream::Side;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use super::jittered;
use super::writers::Learned;
use crate::limits;
use crate::registry::{RegistryClient, RegistryError};

/// A registry, and what its subjects are to this stream.
#[derive(Clone)]
pub(crate) struct Lookup {
    client: Arc<RegistryClient>,
    subjects: Arc<[(Side, String, SchemaFormat)]>,
}

impl Lookup {
    /// Asks that registry; each side has one subject and one format.
    pub(crate) fn new(client: Arc<RegistryClient>, subjects: Vec<(Side, String, SchemaFormat)>) -> Self {
        Self {
            client,
            subjects: subjects.into(),
        }
    }

    /// An answer for each schema, in no order.
    pub(crate) async fn ask(&self, missing: Vec<(Side, SchemaKey)>) -> Vec<(Side, SchemaKey, Learned)> {
        let mut asking = JoinSet::new();
        for (side, key) in missing.iter().cloned() {
            let lookup = self.clone();
            asking.spawn(async move {
                let learned = lookup.one(side, key.id).await;
                (side, key, learned)
            });
        }
        let mut answers = Vec::with_capacity(missing.len());
        let all = async {
            while let Some(answer) = asking.join_next().await {
                answers.extend(answer.ok());
            }
        };
        let in_time = tokio::time::timeout(limits::SCHEMAS_WAIT, all).await.is_ok();
        // What has no answer waits, whatever kept it from one.
        for (side, key) in missing {
            if !answers.iter().any(|(of, known, _)| *of == side && *known == key) {
                let why = if in_time {
                    "the question broke off"
                } else {
                    "the registry does not answer in time"
                };
                answers.push((side, key, Learned::Later(why.to_owned())));
            }
        }
        answers
    }

    async fn one(&self, side: Side, id: u32) -> Learned {
        let Some((_, subject, format)) = self.subjects.iter().find(|(of, ..)| *of == side) else {
            return Learned::Misfit(MisfitReason::UnresolvedSchema);
        };
        let schema = match self.client.by_id(id, subject).await {
            Ok(schema) => schema,
            Err(error) => return learned_of(&error),
        };
        if schema.format != *format {
            return Learned::Misfit(MisfitReason::UnresolvedSchema);
        }
        match self.client.has_subject(id, subject).await {
            Ok(true) => Learned::Schema(schema),
            Ok(false) => Learned::Misfit(MisfitReason::OtherSubject),
            Err(error) => learned_of(&error),
        }
    }

    /// Ends once the registry tells something of that schema: what waits for it is then worth another look.
    pub(crate) fn wait_for(&self, side: Side, id: u32) -> AbortOnDropHandle<()> {
        let lookup = self.clone();
        AbortOnDropHandle::new(tokio::spawn(async move {
            let mut wait = limits::RETRY_WAIT_MIN;
            loop {
                tokio::time::sleep(jittered(wait)).await;
                wait = (wait * 2).min(limits::RETRY_WAIT_MAX);
                if !matches!(lookup.one(side, id).await, Learned::Later(_)) {
                    return;
                }
            }
        }))
    }
}

/// What a failed question says about the messages of a schema.
fn learned_of(error: &RegistryError) -> Learned {
    match error {
        RegistryError::NotFound { .. } => Learned::Misfit(MisfitReason::UnknownSchema),
        RegistryError::Unusable { .. } => Learned::Misfit(MisfitReason::UnresolvedSchema),
        other => Learned::Later(other.to_string()),
    }
}
