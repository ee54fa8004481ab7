//! Tables that go and come back, restarts, deletion.

use super::*;
use crate::testing::effects::Fault;

#[tokio::test]
async fn get_sees_a_dropped_table_at_once_and_a_restart_says_that_it_is_lost() {
    let mut agent = Agent::start().await;
    agent.create("r1").await.unwrap();
    agent.engine.world.lock().unwrap().tables.clear();
    let record = agent.get().await.unwrap();
    assert_eq!(state(&record), v1::StreamState::TableGone);
    assert_eq!(record.status.unwrap().table.unwrap().rows, 4, "plans quote what is lost");
    let status = agent.restart().await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition);
    assert!(detail_of(&status).unwrap().violations[0].remedy.contains("replace"));
}

#[tokio::test]
async fn a_table_that_was_moved_away_and_back_is_written_again() {
    let mut agent = Agent::start().await;
    agent.create("r1").await.unwrap();
    let moved = agent.engine.world.lock().unwrap().tables.remove(&table()).unwrap();
    assert_eq!(state(&agent.get().await.unwrap()), v1::StreamState::TableGone);
    assert_eq!(state(&agent.get().await.unwrap()), v1::StreamState::TableGone);
    agent.engine.world.lock().unwrap().tables.insert(table(), moved.clone());
    assert_eq!(state(&agent.get().await.unwrap()), v1::StreamState::Active);
    agent.engine.world.lock().unwrap().tables.insert(
        table(),
        Table {
            uid: "somebody".into(),
            ..moved
        },
    );
    assert_eq!(state(&agent.get().await.unwrap()), v1::StreamState::TableAltered);
    agent.engine.world.lock().unwrap().tables.clear();
    assert_eq!(state(&agent.get().await.unwrap()), v1::StreamState::TableGone);
}

#[tokio::test]
async fn a_restart_restores_a_table_from_the_trash() {
    let mut agent = Agent::start().await;
    let uid = agent.create("r1").await.unwrap().status.unwrap().uid;
    {
        let mut world = agent.engine.world.lock().unwrap();
        let found = world.tables.remove(&table()).unwrap();
        world.trash.insert(uid, (table(), found));
    }
    let record = agent.get().await.unwrap();
    assert_eq!(state(&record), v1::StreamState::Failed);
    assert!(
        record
            .status
            .unwrap()
            .conditions
            .iter()
            .any(|condition| condition.reason == "TableInTrash")
    );
    assert_eq!(state(&agent.restart().await.unwrap()), v1::StreamState::Active);
}

#[tokio::test]
async fn a_restart_takes_an_altered_table_back_only_when_it_is_sound_again() {
    let mut agent = Agent::start().await;
    agent.create("r1").await.unwrap();
    let sound = agent.engine.table(&table()).unwrap();
    agent
        .engine
        .world
        .lock()
        .unwrap()
        .tables
        .get_mut(&table())
        .unwrap()
        .columns
        .truncate(2);
    assert_eq!(state(&agent.get().await.unwrap()), v1::StreamState::TableAltered);
    assert_eq!(agent.restart().await.unwrap_err().code(), Code::FailedPrecondition);
    agent.engine.world.lock().unwrap().tables.insert(table(), sound);
    assert_eq!(state(&agent.restart().await.unwrap()), v1::StreamState::Active);
    let untouched = agent.restart().await.unwrap();
    assert_eq!(
        state(&untouched),
        v1::StreamState::Active,
        "a stream that needs no repair is left alone"
    );
}

#[tokio::test]
async fn a_deleted_stream_is_gone_with_its_table_and_its_name_is_free() {
    let mut agent = Agent::start().await;
    let uid = agent.create("r1").await.unwrap().status.unwrap().uid;
    assert_eq!(agent.delete(false, "another-life").await.unwrap_err().code(), Code::NotFound);
    assert!(agent.delete(false, &uid).await.unwrap());
    assert_eq!(agent.get().await.unwrap_err().code(), Code::NotFound);
    assert_eq!(agent.delete(false, "").await.unwrap_err().code(), Code::NotFound);
    assert_eq!(agent.engine.table(&table()), None);
    let again = agent.create("r2").await.unwrap().status.unwrap().uid;
    assert_ne!(again, uid);
    assert!(agent.delete(true, &again).await.unwrap());
    assert!(agent.engine.table(&table()).is_some(), "a retained table stays");
    assert_eq!(
        agent.create("r3").await.unwrap_err().code(),
        Code::FailedPrecondition,
        "and is never taken over"
    );
}

#[tokio::test]
async fn a_deletion_under_way_does_not_promise_another_fate_of_the_table() {
    let mut agent = Agent::start().await;
    let uid = agent.create("r1").await.unwrap().status.unwrap().uid;
    agent.engine.effects.arm(Fault::FailFrom(0));
    let delete = |retain_table| v1::DeleteStreamRequest {
        name: NAME.into(),
        retain_table,
        uid: uid.clone(),
        wait: Some(prost_types::Duration { seconds: 0, nanos: 0 }),
    };
    assert!(!agent.streams.delete_stream(delete(false)).await.unwrap().into_inner().done);
    let refused = agent.streams.delete_stream(delete(true)).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition, "{refused:?}");
    assert!(refused.message().contains("its table with it"), "{refused:?}");
    assert!(!agent.streams.delete_stream(delete(false)).await.unwrap().into_inner().done);
    agent.engine.effects.arm(Fault::None);
}
