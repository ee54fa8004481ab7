//! What others do to a table: what is lived with, and what stops the stream.

use std::time::Duration;

use serde_json::{Value, json};

use super::support::{Lab, UID, append, at, columns};
use crate::error::Retry;
use crate::table::log::actions::Metadata;
use crate::table::{TableError, schema};

/// A name or expected text, and the line that another writer commits.
type Case = (&'static str, fn(&Lab) -> Value);

fn metadata(lab: &Lab, change: impl FnOnce(&mut Metadata)) -> Value {
    let mut metadata = lab.entry(0).into_iter().find_map(|action| action.meta_data).unwrap();
    change(&mut metadata);
    json!({"metaData": metadata})
}

fn with_schema(lab: &Lab, change: impl FnOnce(&mut Value)) -> Value {
    metadata(lab, |metadata| {
        let mut schema: Value = serde_json::from_str(&metadata.schema_string).unwrap();
        change(&mut schema);
        metadata.schema_string = schema.to_string();
    })
}

/// Writes the lines as version 2, after one append, then appends and probes.
async fn after_foreign(lines: impl FnOnce(&Lab) -> Vec<Value>) -> (Lab, Result<i64, TableError>) {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    handle.append(append(100..103)).await.unwrap();
    lab.write_foreign(2, &lines(&lab));
    let answer = handle.append(append(103..105)).await;
    if answer.is_err() {
        assert!(handle.probe().await.is_err(), "an altered table stays so");
    }
    handle.close().await;
    (lab, answer)
}

#[tokio::test]
async fn comments_added_columns_and_other_applications_are_lived_with() {
    let cases: Vec<Case> = vec![
        ("a comment", |lab| {
            with_schema(lab, |schema| schema["fields"][0]["metadata"] = json!({"comment": "who"}))
        }),
        ("a column", |lab| {
            with_schema(lab, |schema| {
                let column = json!({"name": "theirs", "type": "date", "nullable": true, "metadata": {}});
                schema["fields"].as_array_mut().unwrap().insert(0, column);
            })
        }),
        ("a description", |lab| {
            metadata(lab, |metadata| metadata.description = Some("orders".into()))
        }),
        ("a property", |lab| {
            metadata(lab, |metadata| drop(metadata.configuration.insert("owner".into(), "me".into())))
        }),
        ("a transaction", |_| json!({"txn": {"appId": "their-query", "version": 7}})),
        ("an unknown action", |_| json!({"somethingNew": {"a": 1}})),
        ("a feature", |_| {
            json!({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors"],
                "writerFeatures": ["deletionVectors", "appendOnly", "invariants"]}})
        }),
    ];
    for (name, line) in cases {
        let (lab, answer) = after_foreign(|lab| vec![line(lab)]).await;
        assert_eq!(answer.unwrap_or_else(|error| panic!("{name}: {error}")), 3, "{name}");
        let state = lab.warehouse.read_state(&lab.name, UID).await.unwrap();
        assert_eq!((state.positions, state.totals.rows), (at(0, 105), 5), "{name}");
        assert_eq!(lab.foreign_ids().await, (100..105).collect::<Vec<_>>(), "{name}");
    }
}

#[tokio::test]
async fn what_makes_appends_wrong_stops_the_stream_and_says_what_it_was() {
    let cases: Vec<Case> = vec![
        ("it is another table", |lab| {
            metadata(lab, |metadata| metadata.id = "another".into())
        }),
        ("column `kafka_offset` is missing", |lab| {
            with_schema(lab, |schema| drop(schema["fields"].as_array_mut().unwrap().pop()))
        }),
        ("column `value.id` is BIGINT, it should be INT", |lab| {
            with_schema(lab, |schema| schema["fields"][1]["type"]["fields"][0]["type"] = json!("long"))
        }),
        ("column `theirs` is not nullable", |lab| {
            with_schema(lab, |schema| {
                let column = json!({"name": "theirs", "type": "date", "nullable": false, "metadata": {}});
                schema["fields"].as_array_mut().unwrap().push(column);
            })
        }),
        ("partitioned by `key`", |lab| {
            metadata(lab, |metadata| metadata.partition_columns = vec!["key".into()])
        }),
        ("`delta.setTransactionRetentionDuration`", |lab| {
            metadata(lab, |metadata| {
                drop(
                    metadata
                        .configuration
                        .insert("delta.setTransactionRetentionDuration".into(), "interval 1 day".into()),
                );
            })
        }),
        ("property that names its stream", |lab| {
            metadata(lab, |metadata| drop(metadata.configuration.remove("featurestore.stream_uid")))
        }),
        ("changed the stream's properties", |lab| {
            metadata(lab, |metadata| {
                drop(metadata.configuration.insert("featurestore.generation".into(), "9".into()))
            })
        }),
        (
            "moved the stream's position",
            |_| json!({"txn": {"appId": format!("fs/{UID}/orders/0/0"), "version": 900}}),
        ),
        (
            "the table feature `typeWidening`",
            |_| json!({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["typeWidening"], "writerFeatures": ["typeWidening"]}}),
        ),
    ];
    for (expected, line) in cases {
        let (lab, answer) = after_foreign(|lab| vec![line(lab)]).await;
        match answer {
            Err(TableError::Altered { what, .. }) => assert!(what.contains(expected), "{expected}: {what}"),
            other => panic!("{expected}: {other:?}"),
        }
        assert!(!lab.entry_path(3).exists(), "{expected}: nothing of ours came after it");
        assert_eq!(lab.data_files().len(), 1, "{expected}: the refused rows' file is gone");
    }
}

#[tokio::test]
async fn an_entry_that_is_being_written_is_waited_for_and_one_that_stays_unreadable_stops_the_stream() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    handle.append(append(100..103)).await.unwrap();
    std::fs::write(lab.entry_path(2), "{\"commitInfo\": {").unwrap();
    for answer in [handle.append(append(103..105)).await.map(drop), handle.probe().await] {
        let error = answer.unwrap_err();
        assert_eq!(error.retry(), Retry::Later, "{error}");
    }
    std::fs::write(lab.entry_path(2), "{\"commitInfo\": {}}\n").unwrap();
    assert_eq!(handle.append(append(103..105)).await.unwrap(), 3);

    std::fs::write(lab.entry_path(4), "{\"commitInfo\": {").unwrap();
    lab.age("_delta_log/00000000000000000004.json", Duration::from_secs(120));
    let error = handle.append(append(105..106)).await.unwrap_err();
    assert!(
        matches!(&error, TableError::Altered { what, .. } if what.contains("entry 4 of its log is not readable")),
        "{error}"
    );
    handle.close().await;
}

#[tokio::test]
async fn rows_deleted_or_rewritten_by_others_stay_so_and_the_sums_follow() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    handle.append(append(100..103)).await.unwrap();
    handle.append(append(103..110)).await.unwrap();
    let first = lab.entry(1).into_iter().find_map(|action| action.add).unwrap();
    lab.write_foreign(
        3,
        &[json!({"remove": {"path": first.path, "deletionTimestamp": 5, "dataChange": true}})],
    );
    handle.probe().await.unwrap();
    assert_eq!(handle.state().borrow().totals.rows, 7);
    assert_eq!(handle.state().borrow().positions, at(0, 110), "deleting rows moves no position");
    handle.append(append(110..111)).await.unwrap();
    handle.close().await;
    let state = lab.warehouse.read_state(&lab.name, UID).await.unwrap();
    assert_eq!((state.version, state.totals.rows, state.totals.files), (4, 8, 2));
    assert_eq!(lab.foreign_ids().await, (103..111).collect::<Vec<_>>());
}

#[tokio::test]
async fn rows_that_a_deletion_vector_hides_do_not_count() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    handle.append(append(100..110)).await.unwrap();
    let add = lab.entry(1).into_iter().find_map(|action| action.add).unwrap();
    let mut hidden = serde_json::to_value(&add).unwrap();
    hidden["deletionVector"] =
        json!({"storageType": "u", "pathOrInlineDv": "vBn[lx{q8@P<9BNH/isA", "offset": 1, "sizeInBytes": 36, "cardinality": 4});
    let features = json!(["deletionVectors"]);
    lab.write_foreign(
        2,
        &[
            json!({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}}),
            json!({"remove": {"path": add.path, "deletionTimestamp": 5, "dataChange": true}}),
            json!({"add": hidden}),
        ],
    );
    handle.probe().await.unwrap();
    assert_eq!(handle.state().borrow().totals.rows, 6);
    handle.append(append(110..112)).await.unwrap();
    handle.close().await;
    lab.checkpoint(3, 0);
    assert_eq!(lab.load(0).snapshot.totals.rows, 8);
}

#[tokio::test]
async fn a_dropped_table_is_gone_and_gets_nothing_more() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    handle.append(append(100..103)).await.unwrap();
    std::fs::remove_dir_all(lab.path()).unwrap();
    assert!(matches!(handle.probe().await, Err(TableError::Gone { .. })));
    let answer = handle.append(append(103..105)).await;
    assert!(
        matches!(answer, Err(TableError::Gone { .. } | TableError::Storage { .. })),
        "{answer:?}"
    );
    assert!(matches!(
        lab.warehouse.read_state(&lab.name, UID).await,
        Err(TableError::Gone { .. })
    ));
    assert!(!lab.path().exists(), "the folder does not come back");
    handle.close().await;
}

#[tokio::test]
async fn a_swapped_table_is_noticed_even_at_the_same_version() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    handle.append(append(100..103)).await.unwrap();
    let away = lab.folder.path().join("away");
    std::fs::rename(lab.path(), &away).unwrap();
    let mut other = lab.new_table();
    other.stream_uid = "another".into();
    lab.warehouse.create(other).await.unwrap();
    lab.write_foreign(1, &[]);
    let error = handle.append(append(103..105)).await.unwrap_err();
    assert!(
        matches!(&error, TableError::Altered { what, .. } if what.contains("uid `another`")),
        "{error}"
    );
    assert!(!lab.entry_path(2).exists());
    assert!(
        !away.join("_delta_log/00000000000000000002.json").exists(),
        "nothing follows a table that was moved away"
    );
    handle.close().await;
}

#[tokio::test]
async fn a_table_copied_back_unchanged_goes_on_and_one_rolled_back_does_not() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    handle.append(append(100..103)).await.unwrap();
    handle.append(append(103..105)).await.unwrap();
    let last = std::fs::read(lab.entry_path(2)).unwrap();
    std::fs::remove_file(lab.entry_path(2)).unwrap();
    std::fs::write(lab.entry_path(2), &last).unwrap();
    handle.append(append(105..106)).await.unwrap();
    std::fs::remove_file(lab.entry_path(3)).unwrap();
    let error = handle.append(append(106..107)).await.unwrap_err();
    assert!(
        matches!(&error, TableError::Altered { what, .. } if what.contains("ends at version 2, and version 3 was there")),
        "{error}"
    );
    handle.close().await;
}

#[tokio::test]
async fn expected_columns_that_are_not_there_are_named_at_the_start() {
    let lab = Lab::with_table().await;
    let state = lab.warehouse.read_state(&lab.name, UID).await.unwrap();
    state.expect_columns(&lab.name, &columns()).unwrap();
    let more = vec![stream_spec::types::Field::new("gone", stream_spec::types::DataType::Date)];
    let error = state.expect_columns(&lab.name, &more).unwrap_err();
    assert!(
        matches!(&error, TableError::Altered { what, .. } if what.contains("`gone`")),
        "{error}"
    );
}

#[tokio::test]
async fn delta_rs_writes_between_our_commits() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    handle.append(append(100..103)).await.unwrap();
    let table = lab.foreign_reader().await;
    let comment = table
        .update_table_metadata()
        .with_update(deltalake::operations::update_table_metadata::TableMetadataUpdate {
            name: None,
            description: Some("written by another".into()),
        });
    comment.await.unwrap();
    handle.append(append(103..105)).await.unwrap();
    handle.switch(super::support::switch(2, Vec::new())).await.unwrap();
    handle.close().await;
    let metadata = lab.entry(4).into_iter().find_map(|action| action.meta_data).unwrap();
    assert_eq!(metadata.description.as_deref(), Some("written by another"));
    assert_eq!(schema::parse(&metadata.schema_string), Ok(columns()));
    assert_eq!(lab.foreign_ids().await, (100..105).collect::<Vec<_>>());
}
