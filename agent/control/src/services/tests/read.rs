//! Check, list, and the agent itself.

use stream_spec::name::ConnectionName;
use stream_spec::stream::ConnectionConfig;

use super::*;

#[tokio::test]
async fn a_check_says_what_create_and_update_would_do() {
    let mut agent = Agent::start().await;
    let fresh = agent.check(changed(SCHEMA, &[]), false).await;
    assert!(fresh.violations.is_empty() && fresh.missing_capabilities.is_empty() && fresh.existing.is_none());
    assert_eq!(fresh.columns.first().map(|column| column.name.as_str()), Some("key"));
    let unsound = agent
        .check(
            v1::Stream {
                name: "X".into(),
                ..changed(SCHEMA, &[])
            },
            false,
        )
        .await;
    assert_eq!(unsound.violations[0].field, "name");
    let unreachable = v1::Stream {
        connection_config: Some(v1::ConnectionConfig {
            connection: Some(v1::connection_config::Connection::UcConnectionName("later".into())),
        }),
        ..changed(SCHEMA, &[])
    };
    assert!(
        agent.check(unreachable, false).await.violations.is_empty(),
        "the connection may come in the same apply"
    );

    agent.create("r1").await.unwrap();
    let cases = [
        (SCHEMA, v1::VerdictKind::Unchanged, 0),
        (WIDER, v1::VerdictKind::InPlace, 0),
        (BIGINT, v1::VerdictKind::InPlace, 0),
        (INCOMPATIBLE, v1::VerdictKind::Refused, 0),
    ];
    for (payload, kind, missing) in cases {
        let answer = agent.check(changed(payload, &[]), false).await;
        assert_eq!(
            (answer.verdict.unwrap().kind(), answer.missing_capabilities.len()),
            (kind, missing),
            "{payload}"
        );
        assert!(answer.existing.is_some());
    }
    let replaced = v1::Stream {
        description: Some("another".into()),
        ..changed(WIDER, &[])
    };
    assert!(agent.check(replaced.clone(), false).await.verdict.is_none());
    let as_new = agent.check(replaced, true).await;
    assert!(as_new.existing.is_none() && as_new.violations.is_empty(), "{as_new:?}");
}

#[tokio::test]
async fn a_check_sees_what_is_in_the_way_of_a_replacements_table() {
    let mut agent = Agent::start().await;
    agent.create("r1").await.unwrap();
    agent.create_as(stream_from_spec(&stream("main.pay.refunds")), "r2").await.unwrap();
    agent.engine.world.lock().unwrap().tables.insert(
        TableName::parse("main.pay.nobodys").unwrap(),
        Table {
            uid: String::new(),
            generation: 0,
            columns: Vec::new(),
            schemas: (1, 1),
            incarnation: 9,
        },
    );
    let onto = |name: &str, table: &str| {
        let mut stream = stream_from_spec(&stream(name));
        let destination = v1::DeltaTable {
            delta_table_name: table.into(),
        };
        stream.ingestion_config.as_mut().unwrap().ingestion_destination = Some(destination);
        stream
    };
    let cases = [
        (NAME, "main.pay.orders_raw", ""),
        (NAME, "main.pay.free", ""),
        (NAME, "main.pay.nobodys", "exists already"),
        (NAME, "main.pay.refunds_raw", "`main.pay.refunds` writes"),
        ("main.pay.new", "main.pay.nobodys", "exists already"),
        // The stream that writes there may go in the same apply.
        ("main.pay.new", "main.pay.refunds_raw", ""),
    ];
    for (name, table, said) in cases {
        for as_new in [false, true] {
            let answer = agent.check(onto(name, table), as_new).await;
            let violations = &answer.violations;
            assert_eq!(violations.is_empty(), said.is_empty(), "{name} {table} {as_new}: {violations:?}");
            assert!(violations.iter().all(|it| it.problem.contains(said)), "{violations:?}");
        }
    }
    let may_go = agent.check(onto("main.pay.new", "main.pay.refunds_raw"), false).await;
    assert!(may_go.warnings[0].problem.contains("`main.pay.refunds` writes"), "{may_go:?}");
    // Another name for a stream that goes with its table.
    for (table, said) in [
        ("main.pay.orders_raw", ""),
        ("main.pay.free", ""),
        ("main.pay.refunds_raw", "`main.pay.refunds` writes"),
    ] {
        let answer = agent.check_in_place_of(NAME, onto("main.pay.new", table), false).await;
        let violations = &answer.violations;
        assert_eq!(violations.is_empty(), said.is_empty(), "{table}: {violations:?}");
        assert!(violations.iter().all(|it| it.problem.contains(said)), "{violations:?}");
        assert!(answer.warnings.is_empty(), "{:?}", answer.warnings);
    }
}

#[tokio::test]
async fn a_check_warns_of_a_connection_that_is_not_there() {
    let mut agent = Agent::start().await;
    let known = agent.check(stream_from_spec(&stream(NAME)), false).await;
    assert!(known.warnings.is_empty(), "{known:?}");
    let mut lost = stream(NAME);
    lost.connection = ConnectionConfig::UcConnectionName(ConnectionName::parse("no-such").unwrap());
    for as_new in [false, true] {
        let answer = agent.check(stream_from_spec(&lost), as_new).await;
        let warned: Vec<_> = answer.warnings.iter().map(|it| (it.field.as_str(), it.value.as_str())).collect();
        assert_eq!(warned, [("connection_config.uc_connection_name", "\"no-such\"")]);
        assert!(answer.violations.is_empty(), "the same plan may make it: {answer:?}");
    }
    // One that is there loses its connection by force only, and its conditions say so.
    agent.create("r1").await.unwrap();
    let delete = v1::DeleteConnectionRequest {
        name: "kafka".into(),
        force: true,
        ..Default::default()
    };
    agent.connections.delete_connection(delete).await.unwrap();
    let there = agent.check(stream_from_spec(&stream(NAME)), false).await;
    assert!(there.warnings.is_empty(), "{there:?}");
}

#[tokio::test]
async fn lists_come_in_pages_and_without_schemas_unless_asked_for() {
    let mut agent = Agent::start().await;
    for name in ["main.pay.a", "main.pay.b", "main.pay.c", "main.hr.d"] {
        agent.create_as(stream_from_spec(&stream(name)), "r").await.unwrap();
    }
    let list = |parent: &str, token: &str, include_schemas| v1::ListStreamsRequest {
        parent: parent.into(),
        page_size: 2,
        page_token: token.into(),
        include_schemas,
    };
    let names = |answer: &v1::ListStreamsResponse| -> Vec<String> {
        answer
            .records
            .iter()
            .map(|record| record.stream.as_ref().unwrap().name.clone())
            .collect()
    };
    let first = agent.streams.list_streams(list("main.pay", "", false)).await.unwrap().into_inner();
    assert_eq!(names(&first), ["main.pay.a", "main.pay.b"]);
    assert!(first.records[0].status.as_ref().unwrap().schema_versions.is_empty());
    let second = agent
        .streams
        .list_streams(list("main.pay", &first.next_page_token, true))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        (names(&second), second.next_page_token.as_str()),
        (vec!["main.pay.c".to_owned()], "")
    );
    assert_eq!(second.records[0].status.as_ref().unwrap().schema_versions.len(), 1);
    for bad in [
        list("main", &first.next_page_token, false),
        list("", "", false),
        list("main.pay", "zz", false),
    ] {
        assert_eq!(agent.streams.list_streams(bad).await.unwrap_err().code(), Code::InvalidArgument);
    }
}

#[tokio::test]
async fn the_agent_says_what_it_can_do() {
    let agent = Agent::start().await;
    let mut client = v1::agent_service_client::AgentServiceClient::new(agent.channel.clone());
    let answer = client.get_agent(v1::GetAgentRequest {}).await.unwrap().into_inner();
    assert!(answer.capabilities.is_sorted() && answer.capabilities.contains(&"kafka.subscribe".to_owned()));
    assert_eq!((answer.version.as_str(), answer.principal.as_str()), ("0.0.0", "local-admin"));
    let usage = v1::AgentUsage {
        kafka_clients: 1,
        kafka_clients_max: 2,
        kafka_metadata_requests: 3,
        kafka_offset_requests: 4,
        threads: 5,
        memory_bytes: 6,
    };
    assert_eq!(answer.usage, Some(usage));
}
