//! Which records of a batch go into the table: those of which the stream's `record_type_filter` is true.
//!
//! Asked once both sides are decoded and before anything is excluded, because a filter may read what the table does not get. Invariant: all
//! columns keep the same rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{FieldRef, Schema, SchemaRef};
use arrow_select::filter::FilterBuilder;
use stream_decode::arrow_types::arrow_field;
use stream_spec::filter;
use stream_spec::stream::{DirectSchemas, SourceConfig};

use crate::engine::StreamDefinition;
use crate::error::PipelineError;
use crate::filter::Predicate;

/// A stream's filter, ready for its batches.
pub(crate) struct RecordFilter {
    predicate: Predicate,
    /// The columns that a filter may read.
    schema: SchemaRef,
}

impl RecordFilter {
    /// The definition's filter, checked against the schemas in force; none if it has none.
    pub(crate) fn compile(definition: &StreamDefinition, schemas: &DirectSchemas) -> Result<Option<Self>, PipelineError> {
        let text = definition.spec.record_type_filter.as_ref();
        text.map(|text| Self::of(text, &definition.spec.source, schemas)).transpose()
    }

    /// A filter over the records of such a source with those schemas.
    pub(crate) fn of(text: &str, source: &SourceConfig, schemas: &DirectSchemas) -> Result<Self, PipelineError> {
        let refused = |violations: Vec<stream_spec::violation::Violation>| {
            let violations: Vec<String> = violations.iter().map(ToString::to_string).collect();
            PipelineError::Definition {
                message: violations.join("; "),
            }
        };
        let columns = filter::columns_for(source, schemas).map_err(refused)?;
        let checked = filter::check(text, &columns).map_err(refused)?;
        let schema: SchemaRef = Arc::new(Schema::new(columns.iter().map(arrow_field).collect::<Vec<_>>()));
        let predicate = Predicate::compile(&checked, &schema).map_err(|error| PipelineError::Definition {
            message: format!("`record_type_filter`: {error}"),
        })?;
        Ok(Self { predicate, schema })
    }

    /// The columns that it may read.
    pub(crate) fn reads(&self) -> &Schema {
        &self.schema
    }

    /// The columns with the rows that are kept, and how many those are.
    pub(crate) fn keep(
        &self,
        columns: Vec<(FieldRef, ArrayRef)>,
        rows: usize,
    ) -> Result<(Vec<(FieldRef, ArrayRef)>, usize), PipelineError> {
        let kept = self
            .predicate
            .evaluate(&self.readable(&columns)?)
            .map_err(|error| internal(&error))?;
        let count = kept.true_count();
        if count == rows {
            return Ok((columns, rows));
        }
        let filter = FilterBuilder::new(&kept).optimize().build();
        let columns = columns.into_iter().map(|(field, array)| {
            let array = filter.filter(&array).map_err(|error| internal(&error))?;
            Ok((field, array))
        });
        Ok((columns.collect::<Result<_, PipelineError>>()?, count))
    }

    /// What the filter reads, in the order in which it was compiled.
    fn readable(&self, columns: &[(FieldRef, ArrayRef)]) -> Result<RecordBatch, PipelineError> {
        let by_name: BTreeMap<&str, &ArrayRef> = columns.iter().map(|(field, array)| (field.name().as_str(), array)).collect();
        let arrays = self.schema.fields().iter().map(|field| match by_name.get(field.name().as_str()) {
            Some(array) => Ok(Arc::clone(array)),
            None => Err(internal(&format!("the batch has no column `{}`", field.name()))),
        });
        let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
        RecordBatch::try_new(self.schema.clone(), arrays).map_err(|error| internal(&error))
    }
}

fn internal(error: &dyn std::fmt::Display) -> PipelineError {
    PipelineError::Internal {
        message: format!("the record filter: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;

    use super::super::rows::{ReadyBatch, RowMaker};
    use super::super::tests::definition;
    use super::*;
    use crate::kafka::testing::{Cluster, led, partition, read};
    use crate::position::Positions;

    fn filtered(filter: &str) -> StreamDefinition {
        let mut definition = definition();
        definition.spec.record_type_filter = Some(filter.to_owned());
        definition.spec.excluded_columns = BTreeSet::from(["value.name".to_owned()]);
        definition
    }

    async fn made(filter: &str) -> ReadyBatch {
        let cluster = Cluster::new(1);
        cluster.send(0, Some("a"), Some(r#"{"id": 1, "name": "Ada"}"#));
        cluster.send(0, Some("b"), Some(r#"{"id": 2, "name": "Bob"}"#));
        cluster.send(0, None, None);
        cluster.send(0, Some("d"), Some("{"));
        cluster.send(0, Some("e"), Some(r#"{"id": 5, "name": "Alan"}"#));
        let mut source = cluster.attach(&[0]).await;
        let batch = read(&mut source, 5).await;
        let ready = RowMaker::compile(&filtered(filter)).expect("compiles").make(batch).expect("rows");
        source.close().await;
        ready
    }

    #[tokio::test]
    async fn a_filter_reads_what_the_table_does_not_get() {
        let ready = made("value.name LIKE 'A%' AND kafka_partition = 0").await;
        let [rows] = ready.rows.as_slice() else { panic!("one portion") };
        let value = rows.column_by_name("value").expect("there").as_struct();
        assert_eq!(value.column_names(), ["id"]);
        let ids: Vec<_> = value.column(0).as_primitive::<Int64Type>().iter().collect();
        assert_eq!(ids, [Some(1), Some(5)]);
        let offsets = rows.column_by_name("kafka_offset").expect("there");
        assert_eq!(offsets.as_primitive::<Int64Type>().values(), &[0, 4]);
        assert_eq!(rows.column_by_name("record_source").expect("there").len(), 2);
        assert_eq!((ready.filtered, ready.malformed), (3, 1));
        assert_eq!(ready.positions, Positions::from([(partition(0), led(5))]));
    }

    #[tokio::test]
    async fn a_batch_of_which_nothing_is_kept_has_positions_and_no_rows() {
        let ready = made("key = 'nobody'").await;
        assert!(ready.rows.is_empty());
        assert_eq!((ready.filtered, ready.positions), (5, Positions::from([(partition(0), led(5))])));
        let all = made("value IS NULL OR kafka_offset >= 0").await;
        assert_eq!((all.filtered, all.rows.iter().map(RecordBatch::num_rows).sum::<usize>()), (0, 5));
    }

    #[test]
    fn a_filter_that_the_schemas_do_not_have_is_refused_by_name() {
        let error = RowMaker::compile(&filtered("value.nobody = 1")).err().expect("refused");
        let message = error.to_string();
        assert!(message.contains("record_type_filter") && message.contains("nobody"), "{message}");
    }
}
