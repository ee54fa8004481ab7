//! Several writers at once: creates of one name, appends of one handle, and another agent on the same table.

use super::support::{Lab, UID, append, at};
use crate::table::{TableError, Warehouse};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_creates_of_one_name_one_stream_wins_and_the_others_hear_of_it() {
    let lab = Lab::new();
    let attempts = (0..8).map(|number| {
        let warehouse = lab.warehouse.clone();
        let mut table = lab.new_table();
        table.stream_uid = format!("stream-{}", number % 4);
        tokio::spawn(async move { (table.stream_uid.clone(), warehouse.create(table).await) })
    });
    let mut winners = std::collections::BTreeSet::new();
    for attempt in attempts.collect::<Vec<_>>() {
        match attempt.await.unwrap() {
            (uid, Ok(state)) => {
                assert_eq!(state.version, 0);
                winners.insert(uid);
            }
            (_, Err(error)) => assert!(matches!(error, TableError::Exists { .. }), "{error}"),
        }
    }
    assert_eq!(winners.len(), 1, "{winners:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_foreign_writer_that_is_faster_only_delays_our_commits() {
    let lab = std::sync::Arc::new(Lab::with_table().await);
    let handle = lab.open().await;
    let writer = {
        let lab = std::sync::Arc::clone(&lab);
        tokio::task::spawn_blocking(move || {
            let mut written = 0;
            let mut version = 1;
            while written < 20 {
                // As another writer does it: whoever creates the name has the version.
                let entry = std::fs::OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .open(lab.entry_path(version));
                match entry {
                    Ok(mut file) => {
                        let text = "{\"commitInfo\":{\"operation\":\"SET COMMENT\"}}\n";
                        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
                        written += 1;
                    }
                    Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists),
                }
                version += 1;
            }
        })
    };
    for round in 0..40 {
        handle.append(append(100 + round..101 + round)).await.unwrap();
    }
    writer.await.unwrap();
    handle.append(append(140..141)).await.unwrap();
    handle.close().await;
    let state = lab.warehouse.read_state(&lab.name, UID).await.unwrap();
    assert_eq!((state.version, state.totals.rows, state.positions), (61, 41, at(0, 141)));
    assert_eq!(lab.foreign_ids().await, (100..141).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_second_agent_on_the_table_stops_the_first_and_no_row_is_there_twice() {
    let lab = Lab::with_table().await;
    let first = lab.open().await;
    let elsewhere = Warehouse::open(lab.folder.path().to_str().unwrap(), None).unwrap();
    let second = elsewhere.open_table(&lab.name, UID, super::support::quiet()).await.unwrap();
    second.append(append(100..105)).await.unwrap();
    let error = first.append(append(100..103)).await.unwrap_err();
    assert!(
        matches!(&error, TableError::Altered { what, .. } if what.contains("moved the stream's position")),
        "{error}"
    );
    second.append(append(105..106)).await.unwrap();
    first.close().await;
    second.close().await;
    assert_eq!(lab.foreign_ids().await, (100..106).collect::<Vec<_>>());
    assert_eq!(lab.data_files().len(), 2, "the loser's file is gone");
}

#[tokio::test]
async fn a_table_is_opened_again_and_trashed_only_after_its_handle_is_closed() {
    let lab = Lab::with_table().await;
    let first = lab.open().await;
    let name = lab.name.clone();
    let (warehouse, again) = (lab.warehouse.clone(), lab.warehouse.clone());
    let second = tokio::spawn(async move { again.open_table(&name, UID, super::support::quiet()).await });
    for round in 0..5 {
        first.append(append(100 + round..101 + round)).await.unwrap();
    }
    assert!(!second.is_finished());
    first.close().await;
    let second = second.await.unwrap().unwrap();
    assert_eq!(
        second.state().borrow().positions,
        at(0, 105),
        "it was read after the last commit of the first"
    );
    let name = lab.name.clone();
    let trashed = tokio::spawn(async move { warehouse.trash(&name, UID).await });
    second.append(append(105..106)).await.unwrap();
    second.close().await;
    trashed.await.unwrap().unwrap();
    assert!(lab.warehouse.in_trash(UID).await.unwrap());
}
