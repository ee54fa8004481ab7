//! Messages decoded, filtered and stripped as a stream would, without a source and without a table.
//!
//! For trying schemas, filters and exclusions out. Invariant: the same rooms do the work as in a running stream.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::{ArrayRef, new_null_array};
use arrow_schema::FieldRef;
use stream_decode::report::MisfitReason;
use stream_spec::stream::{DirectSchemas, KafkaSource, SchemaText, Side, SourceConfig, SubscriptionMode};

use crate::error::PipelineError;
use crate::kafka::batch::column;
use crate::stream::record_filter::RecordFilter;
use crate::stream::side_decoder::SideDecoder;

/// Decodes messages of one side, one at a time.
pub struct Preview {
    side: Side,
    decoder: SideDecoder,
    filter: Option<RecordFilter>,
}

/// What became of a message.
#[derive(Debug)]
pub struct Previewed {
    /// The row: an array of one element, without the excluded fields.
    pub value: ArrayRef,
    /// Why something of it is null.
    pub misfit: Option<MisfitReason>,
    /// False where a filter drops the row.
    pub kept: bool,
}

impl Preview {
    /// For messages whose `side` has that schema. The filter sees what else a record of Kafka has (the other side, topic, offset, …) as
    /// null. Errors: a schema, a filter or an exclusion that a stream could not have.
    pub fn compile(schema: &SchemaText, side: Side, filter: Option<&str>, excluded: &BTreeSet<String>) -> Result<Self, PipelineError> {
        let decoder = SideDecoder::compile(side.column(), Some(schema), excluded)?;
        let mut schemas = DirectSchemas::default();
        match side {
            Side::Key => schemas.key = Some(schema.clone()),
            Side::Payload => schemas.payload = Some(schema.clone()),
        }
        let source = SourceConfig::Kafka(KafkaSource {
            subscription: SubscriptionMode::Subscribe(String::new()),
            extra_options: BTreeMap::new(),
        });
        let filter = filter.map(|text| RecordFilter::of(text, &source, &schemas)).transpose()?;
        Ok(Self { side, decoder, filter })
    }

    /// The column that messages become.
    pub fn column(&self) -> &'static str {
        self.side.column()
    }

    /// Decodes one message.
    pub fn decode(&mut self, payload: &[u8]) -> Result<Previewed, PipelineError> {
        let decoded = self.decoder.decode(self.side.column(), &[Some(payload)], |_| false)?;
        let kept = match &self.filter {
            Some(filter) => self.is_kept(filter, &decoded.array)?,
            None => true,
        };
        Ok(Previewed {
            misfit: decoded.report.counts().first().map(|count| count.reason),
            kept,
            value: self.decoder.project(decoded.array)?,
        })
    }

    fn is_kept(&self, filter: &RecordFilter, decoded: &ArrayRef) -> Result<bool, PipelineError> {
        let absent = |field: &FieldRef| (Arc::clone(field), new_null_array(field.data_type(), 1));
        let columns = filter
            .reads()
            .fields()
            .iter()
            .map(|field| match field.name() == self.side.column() {
                true => column(self.side.column(), Arc::clone(decoded)),
                false => absent(field),
            });
        Ok(filter.keep(columns.collect(), 1)?.rows == 1)
    }
}
