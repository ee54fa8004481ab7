//! Create: what it answers, twice, at once, and when it cannot be.

use super::*;

#[tokio::test]
async fn a_created_stream_is_active_and_shows_all_that_is_known_of_it() {
    let mut agent = Agent::start().await;
    let record = agent.create("r1").await.unwrap();
    assert_eq!(state(&record), v1::StreamState::Active);
    let status = record.status.unwrap();
    assert_eq!(
        (status.generation, status.observed_generation, status.operations_generation),
        (1, 1, 1)
    );
    let seen = status.table.unwrap();
    assert_eq!(
        (seen.delta_table_name.as_str(), seen.version, seen.rows),
        ("main.pay.orders_raw", Some(1), 4)
    );
    assert_eq!(seen.trash_retention.unwrap().seconds, 60);
    assert_eq!(status.schema_versions.len(), 1);
    assert_eq!(status.schema_versions[0].digest.len(), 64);
    let stream = record.stream.unwrap();
    assert_eq!(stream.created_by, "local-admin");
    let ingestion = stream.ingestion_config.unwrap();
    assert!(ingestion.ingestion_job_id > 0 && !ingestion.ingestion_pipeline_id.is_empty());
}

#[tokio::test]
async fn a_repeated_create_answers_as_the_first_and_another_one_finds_the_name_taken() {
    let mut agent = Agent::start().await;
    let first = agent.create("r1").await.unwrap().status.unwrap().uid;
    assert_eq!(agent.create("r1").await.unwrap().status.unwrap().uid, first);
    for request_id in ["r2", ""] {
        assert_eq!(agent.create(request_id).await.unwrap_err().code(), Code::AlreadyExists);
    }
    assert_eq!(agent.engine.world.lock().unwrap().tables_made, 1);
}

#[tokio::test]
async fn two_creates_of_one_name_at_once_make_one_stream() {
    let agent = Agent::start().await;
    let create = |request_id: &'static str| {
        let mut streams = agent.streams.clone();
        let request = v1::CreateStreamRequest {
            stream: Some(stream_from_spec(&stream(NAME))),
            request_id: request_id.into(),
            ..Default::default()
        };
        async move { streams.create_stream(request).await.map_err(|status| status.code()) }
    };
    let (one, other) = tokio::join!(create("r1"), create("r2"));
    assert_eq!([one.is_ok(), other.is_ok()].iter().filter(|ok| **ok).count(), 1);
    assert!([one.err(), other.err()].contains(&Some(Code::AlreadyExists)));
}

#[tokio::test]
async fn a_create_that_cannot_be_says_which_field_and_why() {
    let mut agent = Agent::start().await;
    agent.create("r1").await.unwrap();
    agent.engine.world.lock().unwrap().tables.insert(
        TableName::parse("main.pay.there").unwrap(),
        Table {
            uid: String::new(),
            generation: 0,
            columns: Vec::new(),
            schemas: (1, 1),
            incarnation: 9,
        },
    );
    let other = || stream_from_spec(&stream("main.pay.refunds"));
    let into_table = |name: &str| {
        let mut stream = other();
        let destination = v1::DeltaTable {
            delta_table_name: name.into(),
        };
        stream.ingestion_config.as_mut().unwrap().ingestion_destination = Some(destination);
        stream
    };
    let on_connection = |name: &str| v1::Stream {
        connection_config: Some(v1::ConnectionConfig {
            connection: Some(v1::connection_config::Connection::UcConnectionName(name.into())),
        }),
        ..other()
    };
    let cases = [
        (
            v1::Stream {
                name: "main.Pay.x".into(),
                ..other()
            },
            Code::InvalidArgument,
            "name",
            "upper-case",
        ),
        (
            v1::Stream {
                excluded_columns: vec!["value.nothing".into()],
                ..other()
            },
            Code::InvalidArgument,
            "excluded_columns",
            "nothing",
        ),
        (
            v1::Stream {
                record_type_filter: Some("value.nothing = 'a'".into()),
                ..other()
            },
            Code::InvalidArgument,
            "record_type_filter",
            "nothing",
        ),
        (into_table("main.pay.orders_raw"), Code::FailedPrecondition, "delta_table_name", ""),
        (
            into_table("main.pay.there"),
            Code::FailedPrecondition,
            "delta_table_name",
            "/warehouse/main.pay.there",
        ),
        (
            on_connection("nowhere"),
            Code::FailedPrecondition,
            "connection_config.uc_connection_name",
            "`nowhere`",
        ),
    ];
    for (stream, code, field, said) in cases {
        let status = agent.create_as(stream, "r9").await.unwrap_err();
        let detail = detail_of(&status).unwrap_or_else(|| panic!("{status:?} has no detail"));
        assert_eq!(status.code(), code, "{status:?}");
        assert!(detail.violations[0].field.ends_with(field), "{field}: {detail:?}");
        assert!(status.message().contains(said), "{said}: {}", status.message());
    }
}

#[tokio::test]
async fn a_create_comes_back_after_its_wait_and_says_what_it_waits_for() {
    let mut agent = Agent::start().await;
    agent.engine.world.lock().unwrap().refuse_provision = Some(("BrokerUnreachable", Retry::Later));
    let request = v1::CreateStreamRequest {
        stream: Some(stream_from_spec(&stream(NAME))),
        wait: Some(prost_types::Duration {
            seconds: 0,
            nanos: 100_000_000,
        }),
        ..Default::default()
    };
    let record = agent.streams.create_stream(request).await.unwrap().into_inner().record.unwrap();
    assert_eq!(state(&record), v1::StreamState::Provisioning);
    // The broker may not have been asked yet when the wait is over.
    let (store, uid) = (agent.store.clone(), record.status.unwrap().uid);
    let answered = || async {
        let stream = store.stream_by_uid(&uid).await.unwrap().unwrap();
        stream
            .observed
            .conditions
            .first()
            .is_some_and(|condition| condition.reason != "Asking")
    };
    crate::testing::wait_until("the broker is asked", answered).await;
    let waiting = agent.get().await.unwrap().status.unwrap().conditions;
    assert_eq!(
        (waiting[0].r#type.as_str(), waiting[0].status(), waiting[0].reason.as_str()),
        ("StartPositions", v1::ConditionStatus::False, "BrokerUnreachable")
    );
    agent.stopping.cancel();
}
