//! Answers in another order each time: whoever takes the order of a repeated field for meaning fails here.

use featurestore_proto::v1;

/// Turns every repeated field whose order means nothing by `turn` places.
pub(super) fn record(record: &mut v1::StreamRecord, turn: u64) {
    let Some(stream) = &mut record.stream else { return };
    rotate(&mut stream.excluded_columns, turn);
    if let Some(ingestion) = &mut stream.ingestion_config {
        rotate(&mut ingestion.deduplication_columns, turn);
    }
    if let Some(v1::source_config::Source::KinesisStreamConfig(kinesis)) =
        stream.source_config.as_mut().and_then(|config| config.source.as_mut())
    {
        match &mut kinesis.streams {
            Some(v1::kinesis_stream_config::Streams::StreamNames(names)) => rotate(&mut names.names, turn),
            Some(v1::kinesis_stream_config::Streams::StreamArns(arns)) => rotate(&mut arns.arns, turn),
            None => {}
        }
    }
}

fn rotate(texts: &mut [String], turn: u64) {
    if !texts.is_empty() {
        let places = usize::try_from(turn).unwrap_or_default() % texts.len();
        texts.rotate_left(places);
    }
}
