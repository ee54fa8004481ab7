//! Which Delta protocol our tables have, and which ones of others we can go on writing.
//!
//! Invariant: a table is written only if every feature that a writer must know is known here.

use stream_spec::types::{DataType, Field};

use super::log::actions::Protocol;

/// Versions from which on features are listed by name.
const READER_WITH_FEATURES: i32 = 3;
const WRITER_WITH_FEATURES: i32 = 7;

const TIMESTAMP_NTZ: &str = "timestampNtz";
const DELETION_VECTORS: &str = "deletionVectors";

/// Reader features under which we read files and checkpoints rightly.
const READER_FEATURES: [&str; 3] = [TIMESTAMP_NTZ, DELETION_VECTORS, "vacuumProtocolCheck"];
/// Writer features under which our appends and compactions are right.
const WRITER_FEATURES: [&str; 6] = [
    "appendOnly",
    "invariants",
    TIMESTAMP_NTZ,
    DELETION_VECTORS,
    "changeDataFeed",
    "vacuumProtocolCheck",
];

/// The oldest protocol that has these columns: every reader knows it.
pub(super) fn for_columns(columns: &[Field]) -> Protocol {
    let plain = Protocol {
        min_reader_version: 1,
        min_writer_version: 2,
        reader_features: None,
        writer_features: None,
    };
    with_columns(&plain, columns).unwrap_or(plain)
}

/// The protocol that the columns need beyond the present one; nothing if it has all.
pub(super) fn with_columns(present: &Protocol, columns: &[Field]) -> Option<Protocol> {
    if !columns.iter().any(|field| has_timestamp_ntz(&field.data_type)) || lists(present.writer_features.as_ref(), TIMESTAMP_NTZ) {
        return None;
    }
    // Upgrading from versions to names spells out what the versions meant.
    let mut writer = present
        .writer_features
        .clone()
        .unwrap_or_else(|| vec!["appendOnly".into(), "invariants".into()]);
    let mut reader = present.reader_features.clone().unwrap_or_default();
    writer.push(TIMESTAMP_NTZ.into());
    reader.push(TIMESTAMP_NTZ.into());
    Some(Protocol {
        min_reader_version: READER_WITH_FEATURES,
        min_writer_version: WRITER_WITH_FEATURES,
        reader_features: Some(reader),
        writer_features: Some(writer),
    })
}

/// Refuses a protocol that we cannot write; the error names the version or feature.
pub(super) fn expect_writable(protocol: &Protocol) -> Result<(), String> {
    match protocol.min_writer_version {
        ..=2 => {}
        WRITER_WITH_FEATURES => {
            if let Some(feature) = unknown(protocol.writer_features.as_ref(), &WRITER_FEATURES) {
                return Err(format!("it has the table feature `{feature}`, which this agent cannot write"));
            }
        }
        version => return Err(format!("its writer version is {version}, which this agent cannot write")),
    }
    match protocol.min_reader_version {
        ..=1 => Ok(()),
        READER_WITH_FEATURES => match unknown(protocol.reader_features.as_ref(), &READER_FEATURES) {
            Some(feature) => Err(format!("it has the table feature `{feature}`, which this agent cannot read")),
            None => Ok(()),
        },
        version => Err(format!("its reader version is {version}, which this agent cannot read")),
    }
}

/// Whether files of the table may have deletion vectors: then a removed path may still be a live file.
pub(super) fn has_deletion_vectors(protocol: &Protocol) -> bool {
    lists(protocol.writer_features.as_ref(), DELETION_VECTORS)
}

fn lists(features: Option<&Vec<String>>, feature: &str) -> bool {
    features.is_some_and(|features| features.iter().any(|listed| listed == feature))
}

fn unknown<'a>(features: Option<&'a Vec<String>>, known: &[&str]) -> Option<&'a str> {
    features
        .into_iter()
        .flatten()
        .map(String::as_str)
        .find(|feature| !known.contains(feature))
}

fn has_timestamp_ntz(data_type: &DataType) -> bool {
    match data_type {
        DataType::TimestampNtz => true,
        DataType::Struct(fields) => fields.iter().any(|field| has_timestamp_ntz(&field.data_type)),
        DataType::Array(element) => has_timestamp_ntz(element),
        DataType::Map(key, value) => has_timestamp_ntz(key) || has_timestamp_ntz(value),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protocol(reader: i32, writer: i32, features: &[&str]) -> Protocol {
        let features =
            |version: i32, least: i32| (version >= least).then(|| features.iter().map(|feature| (*feature).to_owned()).collect());
        Protocol {
            min_reader_version: reader,
            min_writer_version: writer,
            reader_features: features(reader, READER_WITH_FEATURES),
            writer_features: features(writer, WRITER_WITH_FEATURES),
        }
    }

    #[test]
    fn only_known_protocols_are_written() {
        let cases = [
            (protocol(1, 2, &[]), None),
            (protocol(3, 7, &["timestampNtz", "deletionVectors"]), None),
            (protocol(1, 7, &["changeDataFeed", "appendOnly"]), None),
            (protocol(1, 4, &[]), Some("writer version is 4")),
            (protocol(2, 2, &[]), Some("reader version is 2")),
            (protocol(3, 7, &["typeWidening"]), Some("`typeWidening`")),
            (protocol(1, 7, &["rowTracking"]), Some("`rowTracking`")),
            (protocol(3, 7, &["catalogManaged"]), Some("`catalogManaged`")),
        ];
        for (protocol, expected) in cases {
            let answer = expect_writable(&protocol);
            match expected {
                None => assert_eq!(answer, Ok(()), "{protocol:?}"),
                Some(part) => assert!(answer.clone().unwrap_err().contains(part), "{answer:?}"),
            }
        }
    }

    #[test]
    fn only_a_zoneless_timestamp_needs_table_features() {
        let plain = for_columns(&[Field::new("a", DataType::Timestamp)]);
        assert_eq!(plain, protocol(1, 2, &[]));
        let nested = DataType::Array(Box::new(DataType::Struct(vec![Field::new("t", DataType::TimestampNtz)])));
        let raised = for_columns(&[Field::new("a", nested.clone())]);
        assert_eq!((raised.min_reader_version, raised.min_writer_version), (3, 7));
        assert_eq!(raised.reader_features, Some(vec!["timestampNtz".to_owned()]));
        assert_eq!(expect_writable(&raised), Ok(()));
        assert_eq!(with_columns(&raised, &[Field::new("a", nested)]), None);
    }
}
