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
use crate::status::{self, PipelineCondition};

/// Columns with the rows that are kept of them.
pub(crate) struct Kept {
    pub(crate) columns: Vec<(FieldRef, ArrayRef)>,
    pub(crate) rows: usize,
    /// How often the filter gave up on a text.
    pub(crate) unanswered: u64,
}

/// A stream's filter, ready for its batches.
pub(crate) struct RecordFilter {
    predicate: Predicate,
    /// The columns that a filter may read.
    schema: SchemaRef,
}

impl RecordFilter {
    /// The definition's filter, checked against those schemas; none if it has none.
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

    /// The columns with the rows that are kept.
    pub(crate) fn keep(&self, columns: Vec<(FieldRef, ArrayRef)>, rows: usize) -> Result<Kept, PipelineError> {
        let answers = self
            .predicate
            .evaluate(&self.readable(&columns)?)
            .map_err(|error| internal(&error))?;
        let unanswered = answers.unanswered;
        let count = answers.kept.true_count();
        if count == rows {
            return Ok(Kept { columns, rows, unanswered });
        }
        let filter = FilterBuilder::new(&answers.kept).optimize().build();
        let columns = columns.into_iter().map(|(field, array)| {
            let array = filter.filter(&array).map_err(|error| internal(&error))?;
            Ok((field, array))
        });
        Ok(Kept {
            columns: columns.collect::<Result<_, PipelineError>>()?,
            rows: count,
            unanswered,
        })
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

/// What is said where the filter gave up on texts of a commit's records.
pub(crate) fn condition(unanswered: u64) -> Option<PipelineCondition> {
    let message = format!(
        "`record_type_filter` gave up on {unanswered} texts of the last commit: its LIKE or RLIKE took too much work on them, and is null there, \
         which keeps a record only where the rest of the filter does; write a pattern that goes back less, for one without references \
         back, or without a repetition inside a repetition, in a new stream"
    );
    let sentences = (unanswered > 0).then_some(message);
    status::condition(status::condition::FILTER_ANSWERED, "TooMuchWork", sentences)
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
    use super::super::tests::{definition, in_force, row_maker};
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
        let ready = row_maker(&filtered(filter)).make(batch).expect("rows");
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
        assert_eq!((ready.filtered, ready.misfits.messages()), (3, 1));
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

    #[tokio::test]
    async fn texts_that_a_filter_gives_up_on_are_counted_and_said() {
        let cluster = Cluster::new(1);
        let hopeless = "a".repeat(60);
        for name in ["ba", &hopeless, "aab"] {
            cluster.send(0, None, Some(&format!(r#"{{"id": 1, "name": "{name}"}}"#)));
        }
        let mut source = cluster.attach(&[0]).await;
        let batch = read(&mut source, 3).await;
        source.close().await;
        let mut maker = row_maker(&filtered(r"value.name RLIKE r'^(a|aa)+b\1|^ba'"));
        let ready = maker.make(batch).expect("rows");
        assert_eq!((ready.filtered, ready.unanswered), (2, 1));
        let said = super::condition(ready.unanswered).expect("said");
        assert_eq!((said.condition_type, said.reason.as_str()), ("FilterAnswered", "TooMuchWork"));
        assert!(said.message.contains("gave up on 1 texts"), "{}", said.message);
        assert_eq!(super::condition(0), None);
    }

    #[test]
    fn a_filter_that_the_schemas_do_not_have_is_refused_by_name() {
        let definition = filtered("value.nobody = 1");
        let error = RowMaker::compile(&definition, &in_force(&definition)).err().expect("refused");
        let message = error.to_string();
        assert!(message.contains("record_type_filter") && message.contains("nobody"), "{message}");
    }
}
