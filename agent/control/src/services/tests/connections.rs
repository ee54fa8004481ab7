//! Connections, and what this agent cannot do yet.

use super::*;

#[tokio::test]
async fn connections_live_and_change_and_are_kept_while_streams_use_them() {
    let mut agent = Agent::start().await;
    let wanted = |name: &str| connection_from_spec(&connection(name).spec);
    let create = |connection: v1::Connection, request_id: &str| v1::CreateConnectionRequest {
        connection: Some(connection),
        request_id: request_id.into(),
    };
    let created = agent
        .connections
        .create_connection(create(wanted("second"), "r1"))
        .await
        .unwrap()
        .into_inner()
        .connection
        .unwrap();
    assert_eq!((created.generation, created.created_by.as_str()), (1, "local-admin"));
    let repeated = agent
        .connections
        .create_connection(create(wanted("second"), "r1"))
        .await
        .unwrap()
        .into_inner()
        .connection
        .unwrap();
    assert_eq!(repeated.uid, created.uid);
    assert_eq!(
        agent
            .connections
            .create_connection(create(wanted("second"), "r2"))
            .await
            .unwrap_err()
            .code(),
        Code::AlreadyExists
    );

    let update = |path: &str, generation| {
        let mut changed = wanted("second");
        changed.comment = Some("moved".into());
        if let Some(v1::connection::Options::Kafka(kafka)) = &mut changed.options {
            kafka.bootstrap_servers = "127.0.0.1:9999".into();
        }
        let update_mask = Some(prost_types::FieldMask { paths: vec![path.into()] });
        v1::UpdateConnectionRequest {
            connection: Some(changed),
            update_mask,
            generation,
            ..Default::default()
        }
    };
    let changed = agent
        .connections
        .update_connection(update("kafka.bootstrap_servers", 1))
        .await
        .unwrap()
        .into_inner()
        .connection
        .unwrap();
    assert_eq!((changed.generation, changed.comment), (2, None));
    assert_eq!(
        agent.connections.update_connection(update("comment", 1)).await.unwrap_err().code(),
        Code::Aborted
    );
    assert_eq!(
        agent.connections.update_connection(update("name", 2)).await.unwrap_err().code(),
        Code::InvalidArgument
    );
    assert_eq!(
        agent
            .connections
            .update_connection(update("kinesis.endpoint", 2))
            .await
            .unwrap_err()
            .code(),
        Code::InvalidArgument
    );

    agent.create("r1").await.unwrap();
    let delete = |name: &str, force| v1::DeleteConnectionRequest {
        name: name.into(),
        force,
        ..Default::default()
    };
    let checked = agent
        .connections
        .check_connection(v1::CheckConnectionRequest {
            connection: Some(wanted("kafka")),
        })
        .await
        .unwrap()
        .into_inner();
    assert_eq!(checked.used_by, [NAME], "a plan can say that the connection cannot go");
    let refused = agent.connections.delete_connection(delete("kafka", false)).await.unwrap_err();
    assert!(
        refused.code() == Code::FailedPrecondition && refused.message().contains(NAME),
        "{refused:?}"
    );
    agent.connections.delete_connection(delete("kafka", true)).await.unwrap();
    agent.connections.delete_connection(delete("second", false)).await.unwrap();
    assert_eq!(
        agent
            .connections
            .delete_connection(delete("second", false))
            .await
            .unwrap_err()
            .code(),
        Code::NotFound
    );
    let left = agent
        .connections
        .list_connections(v1::ListConnectionsRequest::default())
        .await
        .unwrap()
        .into_inner();
    assert!(left.connections.is_empty());
}

#[tokio::test]
async fn what_this_agent_cannot_do_is_refused_with_the_capability_and_without_the_secret() {
    let mut agent = Agent::start().await;
    let kinesis = v1::Connection {
        name: "second".into(),
        options: Some(v1::connection::Options::Kinesis(v1::KinesisConnection {
            aws_region: "eu-central-1".into(),
            credential: "reader".into(),
            endpoint: None,
        })),
        ..Default::default()
    };
    // What is wrong with a connection is said without its secrets, too.
    let mut secret = connection_from_spec(&connection("second").spec);
    if let Some(v1::connection::Options::Kafka(kafka)) = &mut secret.options {
        kafka.schema_registry_url = Some("ftp://registry.example.com".into());
        kafka.schema_registry_api_key = Some("key".into());
        kafka.schema_registry_api_secret = Some("hunter2".into());
    }
    let mut checked = Vec::new();
    for connection in [kinesis, secret.clone()] {
        let request = v1::CheckConnectionRequest {
            connection: Some(connection),
        };
        checked.push(agent.connections.check_connection(request).await.unwrap().into_inner());
    }
    assert!(
        checked[0].violations.is_empty() && checked[0].missing_capabilities[0].field == "kinesis",
        "{checked:?}"
    );
    assert_eq!(checked[1].violations[0].field, "kafka.schema_registry_url", "{checked:?}");
    let refused = agent
        .connections
        .create_connection(v1::CreateConnectionRequest {
            connection: Some(secret),
            request_id: String::new(),
        })
        .await;
    let said = format!("{checked:?} {refused:?}");
    assert!(!said.contains("hunter2"), "{said}");
}
