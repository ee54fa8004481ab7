//! A name that was deleted and created again is another thing: a request that was planned on the one before changes nothing.

use super::*;

#[tokio::test]
async fn a_request_planned_on_another_life_of_a_stream_changes_nothing() {
    let mut agent = Agent::start().await;
    let first = agent.create("r1").await.unwrap().status.unwrap().uid;
    agent.delete(false, &first).await.unwrap();
    let second = agent.create("r2").await.unwrap();
    let update = |uid: &str| v1::UpdateStreamRequest {
        stream: Some(changed(WIDER, &[])),
        update_mask: Some(prost_types::FieldMask {
            paths: vec![SCHEMAS.into()],
        }),
        generation: 1,
        uid: uid.into(),
        ..Default::default()
    };
    let operate = |uid: &str| v1::SetStreamOperationsRequest {
        name: NAME.into(),
        operations: Some(v1::StreamOperations {
            paused: Some(true),
            ..Default::default()
        }),
        operations_generation: 1,
        uid: uid.into(),
        ..Default::default()
    };
    let restart = |uid: &str| v1::RestartStreamRequest {
        name: NAME.into(),
        generation: 1,
        uid: uid.into(),
        ..Default::default()
    };
    let refusals = [
        agent.streams.update_stream(update(&first)).await.map(drop).unwrap_err(),
        agent.streams.set_stream_operations(operate(&first)).await.map(drop).unwrap_err(),
        agent.streams.restart_stream(restart(&first)).await.map(drop).unwrap_err(),
    ];
    for refused in refusals {
        assert_eq!(refused.code(), Code::Aborted, "{refused:?}");
        assert!(refused.message().contains("another one has its name"), "{refused:?}");
    }
    let unchanged = agent.get().await.unwrap();
    assert_eq!((&unchanged.stream, &unchanged.operations), (&second.stream, &second.operations));
    let uid = second.status.unwrap().uid;
    agent.streams.restart_stream(restart(&uid)).await.unwrap();
    agent.streams.update_stream(update(&uid)).await.unwrap();
    agent.streams.set_stream_operations(operate(&uid)).await.unwrap();
}

#[tokio::test]
async fn a_request_planned_on_another_life_of_a_connection_changes_nothing() {
    let mut agent = Agent::start().await;
    let update = |uid: &str| v1::UpdateConnectionRequest {
        connection: Some(v1::Connection {
            comment: Some("moved".into()),
            ..connection_from_spec(&connection("kafka").spec)
        }),
        update_mask: Some(prost_types::FieldMask {
            paths: vec!["comment".into()],
        }),
        generation: 0,
        uid: uid.into(),
    };
    let delete = |uid: &str| v1::DeleteConnectionRequest {
        name: "kafka".into(),
        force: false,
        uid: uid.into(),
    };
    let refused = agent.connections.update_connection(update("another-life")).await.unwrap_err();
    assert_eq!(refused.code(), Code::Aborted, "{refused:?}");
    let refused = agent.connections.delete_connection(delete("another-life")).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound, "{refused:?}");
    agent.connections.update_connection(update("uid-of-kafka")).await.unwrap();
    agent.connections.delete_connection(delete("uid-of-kafka")).await.unwrap();
}
