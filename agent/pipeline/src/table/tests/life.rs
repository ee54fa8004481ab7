//! Create, append, switch, reopen: the ordinary life of a table.

use arrow_array::RecordBatch;
use stream_spec::name::TableName;
use stream_spec::types::{DataType, Field};

use super::support::{Lab, TOPIC, UID, append, at, columns, quiet, rows, source, switch};
use crate::position::{PartitionId, Position, Positions};
use crate::table::{Append, SchemaVersion, SourceIdentity, Switch, TableError, TableTotals, Warehouse};

#[tokio::test]
async fn version_0_holds_the_definition_and_the_start_positions() {
    let lab = Lab::new();
    let state = lab.warehouse.create(lab.new_table()).await.unwrap();
    assert_eq!((state.version, state.generation), (0, 1));
    assert_eq!(state.columns, columns());
    assert_eq!(state.positions, at(0, 100));
    assert_eq!(state.source, source());
    assert_eq!(state.totals, TableTotals::default());
    let table = lab.foreign_reader().await;
    assert_eq!(table.version(), Some(0));
    let protocol = lab.entry(0).into_iter().find_map(|action| action.protocol).unwrap();
    assert_eq!((protocol.min_reader_version, protocol.min_writer_version), (1, 2));
}

#[tokio::test]
async fn create_again_gives_the_table_back_and_another_stream_is_refused() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    handle.append(append(100..103)).await.unwrap();
    handle.close().await;
    let again = lab.warehouse.create(lab.new_table()).await.unwrap();
    assert_eq!((again.version, again.positions), (1, at(0, 103)));
    let mut other = lab.new_table();
    other.stream_uid = "another".into();
    assert!(matches!(lab.warehouse.create(other).await, Err(TableError::Exists { .. })));
}

#[tokio::test]
async fn a_folder_with_files_of_others_is_not_taken_and_one_of_a_broken_off_create_is() {
    let lab = Lab::new();
    std::fs::create_dir_all(lab.path().join("_delta_log")).unwrap();
    std::fs::write(lab.path().join("_delta_log/.00000000000000000000.json.1.tmp"), "half").unwrap();
    assert_eq!(lab.warehouse.create(lab.new_table()).await.unwrap().version, 0);

    let lab = Lab::new();
    std::fs::create_dir_all(lab.path()).unwrap();
    std::fs::write(lab.path().join("notes.txt"), "mine").unwrap();
    assert!(matches!(
        lab.warehouse.create(lab.new_table()).await,
        Err(TableError::Exists { .. })
    ));
}

#[tokio::test]
async fn rows_and_positions_are_in_one_commit_and_come_back_after_reopening() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    assert_eq!(handle.append(append(100..103)).await.unwrap(), 1);
    assert_eq!(handle.append(append(103..110)).await.unwrap(), 2);
    let live = handle.state().borrow().clone();
    handle.close().await;

    let entry = lab.entry(2);
    assert!(entry.iter().any(|action| action.add.is_some()) && entry.iter().any(|action| action.txn.is_some()));
    let info = entry.iter().find_map(|action| action.commit_info.as_ref()).unwrap();
    assert_eq!(info["isBlindAppend"], true);

    let state = lab.warehouse.read_state(&lab.name, UID).await.unwrap();
    assert_eq!((state.version, &state.positions), (2, &at(0, 110)));
    assert_eq!((state.totals.rows, state.totals.files), (10, 2));
    assert_eq!(
        (live.version, live.positions, live.totals),
        (state.version, state.positions, state.totals)
    );
    assert_eq!(lab.foreign_ids().await, (100..110).collect::<Vec<_>>());
}

#[tokio::test]
async fn positions_move_without_rows_and_an_append_that_moves_nothing_is_there_already() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    let moved = Append {
        batches: Vec::new(),
        positions: at(0, 105),
    };
    assert_eq!(handle.append(moved).await.unwrap(), 1);
    assert_eq!(handle.append(append(105..108)).await.unwrap(), 2);
    assert_eq!(
        handle.append(append(105..108)).await.unwrap(),
        2,
        "repeated after an answer that was lost"
    );
    handle.close().await;
    assert_eq!(lab.foreign_ids().await, (105..108).collect::<Vec<_>>());
    assert_eq!(lab.data_files().len(), 1);
}

#[tokio::test]
async fn appends_that_would_lose_or_repeat_rows_are_refused() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    handle.append(append(100..110)).await.unwrap();
    let cases = [
        (append(100..105), "back from offset 110"),
        (
            Append {
                batches: vec![rows(110..111)],
                positions: Positions::new(),
            },
            "has no positions",
        ),
        (
            Append {
                batches: vec![surplus_column()],
                positions: at(0, 111),
            },
            "`unknown` is not one of the table's",
        ),
    ];
    for (append, expected) in cases {
        let error = handle.append(append).await.unwrap_err();
        assert!(
            matches!(&error, TableError::Internal { message, .. } if message.contains(expected)),
            "{error}"
        );
    }
    handle.close().await;
    assert_eq!(lab.data_files().len(), 1, "files of refused appends are gone");
    assert_eq!(lab.foreign_ids().await, (100..110).collect::<Vec<_>>());
}

fn surplus_column() -> RecordBatch {
    let column = rows(110..111).column_by_name("record_source").unwrap().clone();
    RecordBatch::try_from_iter([("unknown", column)]).unwrap()
}

#[tokio::test]
async fn a_switch_adds_columns_generation_and_partitions_and_keeps_the_table() {
    let lab = Lab::with_table().await;
    let before = lab.entry(0).into_iter().find_map(|action| action.meta_data).unwrap();
    let handle = lab.open().await;
    handle.append(append(100..102)).await.unwrap();
    let wanted = vec![Field::new("value", DataType::Struct(vec![Field::new("amount", DataType::Double)]))];
    let found = Positions::from([(
        PartitionId {
            topic: "new/topic".into(),
            partition: 3,
        },
        Position::new(0, 0),
    )]);
    let identity = SourceIdentity {
        cluster_id: Some("c-1".into()),
        ..SourceIdentity::default()
    };
    let definition = Switch {
        generation: 2,
        columns: wanted,
        positions: found.clone(),
        source: identity.clone(),
        losses: Vec::new(),
        schemas: SchemaVersion { number: 2, generation: 2 },
        registry: None,
    };
    assert_eq!(handle.switch(definition.clone()).await.unwrap(), 2);
    assert_eq!(handle.switch(definition).await.unwrap(), 2, "in force already");
    handle.append(append(102..104)).await.unwrap();
    handle.close().await;

    let state = lab.warehouse.read_state(&lab.name, UID).await.unwrap();
    assert_eq!((state.version, state.generation, &state.source), (3, 2, &identity));
    assert_eq!(state.positions, at(0, 104).into_iter().chain(found).collect::<Positions>());
    let value = &state.columns[1].data_type;
    assert_eq!(value.to_string(), "STRUCT<id: INT, note: STRING, amount: DOUBLE>");
    let after = lab.entry(2).into_iter().find_map(|action| action.meta_data).unwrap();
    assert_eq!((after.id, after.created_time), (before.id, before.created_time));
    assert_eq!(lab.foreign_ids().await, (100..104).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_switch_that_the_table_cannot_take_is_refused_with_the_column() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    let value = |fields: Vec<Field>| vec![Field::new("value", DataType::Struct(fields))];
    let cases = [
        (
            switch(2, value(vec![Field::new("note", DataType::Date)])),
            "`value.note` is STRING and cannot become DATE",
        ),
        (
            switch(2, value(vec![Field::new("ID", DataType::Int)])),
            "`value.ID` differs from another one only in case",
        ),
        (switch(0, Vec::new()), "generation 0 while 1 is in force"),
    ];
    for (switch, expected) in cases {
        let error = handle.switch(switch).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    handle.close().await;
    assert!(!lab.entry_path(1).exists());
}

#[tokio::test]
async fn a_zoneless_timestamp_raises_the_protocol_when_it_comes() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    handle
        .switch(switch(2, vec![Field::new("local", DataType::TimestampNtz)]))
        .await
        .unwrap();
    handle.append(append(100..102)).await.unwrap();
    handle.close().await;
    let protocol = lab.entry(1).into_iter().find_map(|action| action.protocol).unwrap();
    assert_eq!((protocol.min_reader_version, protocol.min_writer_version), (3, 7));
    assert_eq!(lab.foreign_ids().await, vec![100, 101]);
}

#[tokio::test]
async fn a_batch_beyond_the_target_size_rolls_over_to_another_file() {
    let lab = Lab::with_table().await;
    let handle = lab
        .open_with(crate::table::TableCareSettings {
            target_file_bytes: 1,
            ..quiet()
        })
        .await;
    let batches = vec![rows(100..110), rows(110..120)];
    handle
        .append(Append {
            batches,
            positions: at(0, 120),
        })
        .await
        .unwrap();
    handle.close().await;
    assert_eq!(lab.data_files().len(), 2);
    assert_eq!(lab.foreign_ids().await, (100..120).collect::<Vec<_>>());
}

#[tokio::test]
async fn statistics_bound_the_rows_that_delta_rs_finds() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    handle.append(append(100..105)).await.unwrap();
    handle.close().await;
    let add = lab.entry(1).into_iter().find_map(|action| action.add).unwrap();
    let stats: serde_json::Value = serde_json::from_str(&add.stats.unwrap()).unwrap();
    let expected = serde_json::json!({
        "numRecords": 5,
        "minValues": {"value": {"id": 100}, "record_source": "stream", "kafka_offset": 100},
        "maxValues": {"value": {"id": 104}, "record_source": "stream", "kafka_offset": 104},
        "nullCount": {"key": 5, "value": {"id": 0, "note": 5}, "stream_record_timestamp": 5, "record_source": 0, "kafka_offset": 0},
    });
    assert_eq!(stats, expected);
}

#[test]
fn other_schemes_than_a_local_folder_are_refused_with_the_reason() {
    for (url, expected) in [
        ("s3://bucket/w", "the scheme `s3`"),
        ("gs://b", "the scheme `gs`"),
        ("", "is empty"),
        ("file://host/x", "no local folder"),
    ] {
        let error = Warehouse::open(url, None).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let name = TableName::parse("a.b.c").unwrap();
    let locations = ["/w", "file:///w"].map(|url| Warehouse::open(url, None).unwrap().location(&name));
    assert_eq!(locations, ["/w/a/b/c", "/w/a/b/c"]);
}

#[tokio::test]
async fn partitions_of_one_topic_keep_positions_of_their_own() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    let both: Positions = at(0, 101).into_iter().chain(at(7, 5)).collect();
    handle
        .append(Append {
            batches: vec![rows(100..101)],
            positions: both.clone(),
        })
        .await
        .unwrap();
    let raised = Positions::from([(
        PartitionId {
            topic: TOPIC.into(),
            partition: 7,
        },
        Position::new(2, 1),
    )]);
    handle
        .append(Append {
            batches: vec![rows(101..102)],
            positions: raised.clone(),
        })
        .await
        .unwrap();
    handle.close().await;
    let state = lab.warehouse.read_state(&lab.name, UID).await.unwrap();
    assert_eq!(state.positions, at(0, 101).into_iter().chain(raised).collect::<Positions>());
}
