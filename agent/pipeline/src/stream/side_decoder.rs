//! Makes one column of one side of messages: by one schema, or each message by the one that it names in a registry.

use std::collections::BTreeSet;
use std::time::Instant;

use arrow_array::ArrayRef;
use stream_decode::decoder::{Decoded, Decoder};
use stream_decode::error::{CompileError, DecodeError};
use stream_decode::framing::SchemaKey;
use stream_decode::plan::{self, Plan};
use stream_spec::schema::{self, ParsedSchema};
use stream_spec::stream::SchemaText;

use super::project::Exclusions;
use super::writers::{Learned, Writers};
use crate::error::PipelineError;
use crate::registry_versions::RegistryVersion;

/// Makes one column of one side of messages.
pub(crate) struct SideDecoder {
    decoder: Decoder,
    exclusions: Exclusions,
    /// Where each message names its schema.
    writers: Option<Writers>,
}

impl SideDecoder {
    /// A decoder of `column` by that schema; without one the bytes are a text.
    pub(crate) fn compile(column: &str, text: Option<&SchemaText>, excluded: &BTreeSet<String>) -> Result<Self, PipelineError> {
        let plan = match text {
            None => Plan::text(),
            Some(text) => {
                let parsed = parsed(column, text)?;
                plan::compile(&parsed, &parsed).map_err(|error| refused(column, &error))?
            }
        };
        Ok(Self {
            decoder: Decoder::new(vec![plan]).map_err(|error| refused(column, &error))?,
            exclusions: Exclusions::of(column, excluded)?,
            writers: None,
        })
    }

    /// A decoder of `column` as that version has it, of messages that name the schemas that they were written by.
    pub(crate) fn of_writers(column: &str, version: &RegistryVersion, excluded: &BTreeSet<String>) -> Result<Self, PipelineError> {
        let reader = parsed(column, &version.schema)?;
        let (writers, decoder) = Writers::new(reader, version.id).map_err(|error| refused(column, &error))?;
        Ok(Self {
            decoder,
            exclusions: Exclusions::of(column, excluded)?,
            writers: Some(writers),
        })
    }

    /// The schemas that messages name and that are not known.
    pub(crate) fn missing<'p>(&mut self, payloads: impl Iterator<Item = Option<&'p [u8]>>, now: Instant) -> Vec<SchemaKey> {
        self.writers
            .as_mut()
            .map(|writers| writers.missing(payloads, now))
            .unwrap_or_default()
    }

    /// Takes in what was learned of one of them.
    pub(crate) fn learn(&mut self, key: &SchemaKey, learned: &Learned, now: Instant) {
        if let Some(writers) = &mut self.writers {
            writers.learn(key, learned, &mut self.decoder, now);
        }
    }

    /// Whether any message may have to wait for its schema.
    pub(crate) fn may_wait(&self) -> bool {
        self.writers.as_ref().is_some_and(Writers::may_wait)
    }

    /// Whether a message waits for its schema.
    pub(crate) fn waits(&mut self, payload: Option<&[u8]>) -> bool {
        match (&mut self.writers, payload) {
            (Some(writers), Some(payload)) => writers.waits(payload),
            _ => false,
        }
    }

    /// Forgets what is too much to keep, between two batches.
    pub(crate) fn tidy(&mut self) {
        if let Some(writers) = &mut self.writers {
            writers.tidy(&mut self.decoder);
        }
    }

    /// Decodes messages; the column has the excluded fields still, which a filter may read. `has_guid` tells whether a header of that
    /// message names its schema.
    pub(crate) fn decode(
        &mut self,
        column: &str,
        payloads: &[Option<&[u8]>],
        has_guid: impl Fn(usize) -> bool,
    ) -> Result<Decoded, PipelineError> {
        let decoded = match &mut self.writers {
            None => self.decoder.decode(payloads, &[]),
            Some(writers) => {
                let bodies = writers.unframe(payloads, has_guid);
                self.decoder.decode(&bodies.payloads, &bodies.plan_index)
            }
        };
        decoded.map_err(|error: DecodeError| PipelineError::Internal {
            message: format!("the decoder of `{column}` refuses a batch: {error}"),
        })
    }

    /// The column without the excluded fields.
    pub(crate) fn project(&self, decoded: ArrayRef) -> Result<ArrayRef, PipelineError> {
        self.exclusions.apply(decoded)
    }
}

fn parsed(column: &str, text: &SchemaText) -> Result<ParsedSchema, PipelineError> {
    schema::parse(text).map_err(|problems| {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        PipelineError::Definition {
            message: format!("the schema of `{column}`: {}", problems.join("; ")),
        }
    })
}

fn refused(column: &str, error: &CompileError) -> PipelineError {
    PipelineError::Definition {
        message: format!("the schema of `{column}` cannot be decoded: {error}"),
    }
}
