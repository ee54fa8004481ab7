//! Update and operations: in force when they return, refused for their reason.

use super::*;

#[tokio::test]
async fn an_update_is_in_force_when_it_returns() {
    let mut agent = Agent::start().await;
    agent.create("r1").await.unwrap();
    let record = agent
        .update(WIDER, &["value.note"], &[SCHEMAS, "excluded_columns"], 1)
        .await
        .unwrap();
    let status = record.status.unwrap();
    assert_eq!(
        (status.generation, status.observed_generation, status.schema_versions.len()),
        (2, 2, 2)
    );
    let made = agent.engine.table(&table()).unwrap();
    assert_eq!((made.generation, made.schemas), (2, (2, 2)));
    let value = format!("{:?}", agent.engine.table(&table()).unwrap().columns);
    assert!(
        !value.contains("note"),
        "a column that arrives excluded has no place in the table: {value}"
    );
    let record = agent.update("", &[], &["excluded_columns"], 2).await.unwrap();
    assert_eq!(record.status.unwrap().observed_generation, 3);
    let made = agent.engine.table(&table()).unwrap();
    assert!(format!("{:?}", made.columns).contains("note"));
    assert_eq!(made.schemas, (2, 2), "exclusions make no version of the schemas");
}

#[tokio::test]
async fn an_update_is_refused_for_its_reason() {
    let mut agent = Agent::start().await;
    agent.create("r1").await.unwrap();
    let cases = [
        (WIDER, vec![], vec![SCHEMAS], 7, Code::Aborted),
        (WIDER, vec![], vec!["description"], 1, Code::InvalidArgument),
        (WIDER, vec![], vec![], 1, Code::InvalidArgument),
        ("no json", vec![], vec![SCHEMAS], 1, Code::InvalidArgument),
        (WIDER, vec!["value.nothing"], vec!["excluded_columns"], 1, Code::InvalidArgument),
        (INCOMPATIBLE, vec![], vec![SCHEMAS], 1, Code::FailedPrecondition),
    ];
    for (payload, excluded, paths, generation, code) in cases {
        let status = agent.update(payload, &excluded, &paths, generation).await.unwrap_err();
        assert_eq!(status.code(), code, "{status:?}");
        if code == Code::FailedPrecondition {
            let verdict = detail_of(&status).unwrap().verdict.unwrap();
            assert_eq!(
                (verdict.kind(), verdict.findings[0].path.as_str()),
                (v1::VerdictKind::Refused, "value.id")
            );
        }
    }
    assert_eq!(agent.get().await.unwrap().status.unwrap().generation, 1);
}

#[tokio::test]
async fn an_update_that_means_nothing_changes_nothing() {
    let mut agent = Agent::start().await;
    agent.create("r1").await.unwrap();
    let spaced = SCHEMA.replace(':', " : ");
    let record = agent.update(&spaced, &[], &[SCHEMAS, "excluded_columns"], 1).await.unwrap();
    assert_eq!(record.status.unwrap().generation, 1);
}

#[tokio::test]
async fn operations_change_and_are_in_force_when_the_call_returns() {
    let mut agent = Agent::start().await;
    agent.create("r1").await.unwrap();
    let set = |paused, operations_generation| v1::SetStreamOperationsRequest {
        name: NAME.into(),
        operations: Some(v1::StreamOperations {
            paused: Some(paused),
            ..Default::default()
        }),
        operations_generation,
        ..Default::default()
    };
    let record = agent
        .streams
        .set_stream_operations(set(true, 1))
        .await
        .unwrap()
        .into_inner()
        .record
        .unwrap();
    assert_eq!(state(&record), v1::StreamState::Paused);
    assert_eq!(
        record.operations.unwrap().flush_interval.unwrap().seconds,
        1,
        "what was not sent stays"
    );
    let again = agent
        .streams
        .set_stream_operations(set(true, 1))
        .await
        .unwrap()
        .into_inner()
        .record
        .unwrap();
    assert_eq!(
        again.status.unwrap().operations_generation,
        2,
        "a lost answer can be asked for again"
    );
    assert_eq!(
        agent.streams.set_stream_operations(set(false, 1)).await.unwrap_err().code(),
        Code::Aborted
    );
    let record = agent
        .streams
        .set_stream_operations(set(false, 2))
        .await
        .unwrap()
        .into_inner()
        .record
        .unwrap();
    assert_eq!((state(&record), record.status.unwrap().generation), (v1::StreamState::Active, 1));
    let mut bad = set(false, 0);
    bad.wait = Some(prost_types::Duration { seconds: -1, nanos: 0 });
    let refused = agent.streams.set_stream_operations(bad).await.unwrap_err();
    assert_eq!(detail_of(&refused).unwrap().violations[0].field, "wait");
    let mut bad = set(false, 0);
    bad.operations.as_mut().unwrap().flush_interval = Some(prost_types::Duration { seconds: 7_200, nanos: 0 });
    assert_eq!(
        agent.streams.set_stream_operations(bad).await.unwrap_err().code(),
        Code::InvalidArgument
    );
}
