//! Streams whose schemas come from a registry, as create, check and delete see them.

use std::collections::BTreeSet;

use stream_pipeline::registry_versions::{RegistryVersion, RegistryVersions};
use stream_pipeline::status::SubjectProgress;
use stream_spec::connection::ConnectionOptions;
use stream_spec::name::ConnectionName;
use stream_spec::stream::{SchemaConfig, SchemaLocator, SchemaRegistryConfig, SchemaText, SecretRef, Side, StreamSpec};

use super::*;
use crate::store::DeletedConnection;

fn of_registry() -> StreamSpec {
    let mut spec = stream(NAME);
    spec.schemas = SchemaConfig::Registry(SchemaRegistryConfig {
        uc_connection: Some(ConnectionName::parse("registry").unwrap()),
        api_secret_ref: None,
        payload: Some(SchemaLocator {
            subject: "orders-value".to_owned(),
            format: "FORMAT_AVRO".to_owned(),
        }),
        key: None,
    });
    spec
}

/// An agent with a connection `registry` and a registry that has one version.
async fn start() -> Agent {
    let agent = Agent::start().await;
    let mut record = connection("registry");
    if let ConnectionOptions::Kafka(kafka) = &mut record.spec.options {
        kafka.schema_registry_url = Some("http://127.0.0.1:1".to_owned());
    }
    agent.store.insert_connection(&record, &LiteralSecrets::Stay).await.unwrap();
    let text = r#"{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"email","type":"string"}]}"#;
    agent.engine.world.lock().unwrap().registry = Ok(RegistryVersions {
        key: None,
        payload: Some(RegistryVersion {
            subject: "orders-value".to_owned(),
            version: 1,
            id: 1,
            schema: SchemaText::Avro(text.to_owned()),
        }),
    });
    agent
}

async fn check(agent: &mut Agent, spec: &StreamSpec) -> v1::CheckStreamResponse {
    let request = v1::CheckStreamRequest {
        stream: Some(stream_from_spec(spec)),
        ..Default::default()
    };
    agent.streams.check_stream(request).await.unwrap().into_inner()
}

async fn create(agent: &mut Agent, spec: &StreamSpec) -> Result<v1::CreateStreamResponse, Status> {
    let request = v1::CreateStreamRequest {
        stream: Some(stream_from_spec(spec)),
        ..Default::default()
    };
    agent.streams.create_stream(request).await.map(tonic::Response::into_inner)
}

#[tokio::test]
async fn a_plan_shows_the_columns_of_the_latest_versions_and_what_they_do_not_have() {
    let mut agent = start().await;
    let mut spec = of_registry();
    spec.excluded_columns = BTreeSet::from(["value.email".to_owned(), "value.later".to_owned()]);
    let checked = check(&mut agent, &spec).await;
    assert!(
        checked.violations.is_empty() && checked.missing_capabilities.is_empty(),
        "{checked:?}"
    );
    let value = checked.columns.iter().find(|column| column.name == "value").unwrap();
    assert_eq!(value.r#type, "STRUCT<id: BIGINT>");
    let [subject] = checked.registry_subjects.as_slice() else {
        panic!("{checked:?}")
    };
    assert_eq!((subject.side.as_str(), subject.subject.as_str()), ("value", "orders-value"));
    assert_eq!(
        (subject.version, subject.latest_version, subject.latest_schema_id),
        (None, Some(1), Some(1))
    );
    spec.record_type_filter = Some("value.nobody = 1".to_owned());
    let checked = check(&mut agent, &spec).await;
    assert_eq!(checked.violations[0].field, "record_type_filter", "{checked:?}");
    let refused = create(&mut agent, &spec).await.unwrap_err();
    assert!(
        refused.code() == Code::InvalidArgument && refused.message().contains("nobody"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_plan_of_a_stream_that_is_there_shows_what_is_in_force_beside_what_is_latest() {
    let mut agent = start().await;
    let created = create(&mut agent, &of_registry()).await.unwrap().record.unwrap();
    let uid = created.status.unwrap().uid;
    agent.engine.say(&uid, |status| {
        status.subjects = vec![SubjectProgress {
            side: Side::Payload,
            subject: "orders-value".to_owned(),
            in_force: Some((1, 1)),
            latest: Some((1, 1)),
        }];
    });
    let version = |number: i32| {
        let versions = agent.engine.world.lock().unwrap().registry.clone().unwrap();
        let payload = versions.payload.map(|payload| RegistryVersion {
            version: number,
            ..payload
        });
        RegistryVersions { key: None, payload }
    };
    let third = version(3);
    agent.engine.world.lock().unwrap().registry = Ok(third);
    let shown = |checked: &v1::CheckStreamResponse| {
        let subjects = checked.registry_subjects.iter();
        subjects
            .map(|subject| (subject.version, subject.latest_version))
            .collect::<Vec<_>>()
    };
    let checked = check(&mut agent, &of_registry()).await;
    assert_eq!(shown(&checked), [(Some(1), Some(3))]);
    assert!(checked.violations.is_empty() && checked.warnings.is_empty(), "{checked:?}");
    // Where it does not say, it is as the stream found it.
    agent.engine.world.lock().unwrap().registry = Err("RegistryUnavailable");
    let checked = check(&mut agent, &of_registry()).await;
    assert_eq!(shown(&checked), [(Some(1), Some(1))]);
    assert!(checked.warnings.is_empty(), "{checked:?}");
}

#[tokio::test]
async fn a_registry_that_is_away_refuses_nothing_and_one_that_cannot_be_used_does() {
    let mut agent = start().await;
    let spec = of_registry();
    agent.engine.world.lock().unwrap().registry = Err("RegistryUnavailable");
    let checked = check(&mut agent, &spec).await;
    assert!(checked.violations.is_empty(), "{checked:?}");
    let warned = &checked.warnings[0];
    assert_eq!(warned.field, "schema_config.schema_registry_config");
    assert!(
        warned.problem.contains("RegistryUnavailable") && warned.remedy.contains("begins once"),
        "{warned:?}"
    );
    agent.engine.world.lock().unwrap().registry = Err("SchemaUnusable");
    let checked = check(&mut agent, &spec).await;
    assert_eq!(checked.violations[0].field, "schema_config.schema_registry_config");
    assert!(create(&mut agent, &spec).await.is_err());
    agent.engine.world.lock().unwrap().registry = Err("RegistryUnavailable");
    create(&mut agent, &spec).await.unwrap();
}

#[tokio::test]
async fn a_secret_that_the_connection_does_not_use_is_refused_with_both_names() {
    let mut agent = start().await;
    let mut spec = of_registry();
    if let SchemaConfig::Registry(config) = &mut spec.schemas {
        config.api_secret_ref = Some(SecretRef {
            scope: "mine".to_owned(),
            key: "token".to_owned(),
        });
    }
    let refused = create(&mut agent, &spec).await.unwrap_err();
    assert!(
        refused.message().contains("mine/token") && refused.message().contains("`registry` has no `schema_registry_api_secret`"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_connection_that_only_a_registry_is_reached_by_is_needed_and_stays() {
    let mut agent = start().await;
    let mut nowhere = of_registry();
    if let SchemaConfig::Registry(config) = &mut nowhere.schemas {
        config.uc_connection = Some(ConnectionName::parse("nowhere").unwrap());
    }
    let refused = create(&mut agent, &nowhere).await.unwrap_err();
    assert!(refused.message().contains("nowhere"), "{refused:?}");
    create(&mut agent, &of_registry()).await.unwrap();
    let name = ConnectionName::parse("registry").unwrap();
    let kept = agent.store.delete_connection(&name, "", false).await.unwrap();
    assert!(matches!(kept, DeletedConnection::InUse(users) if users.len() == 1));
}

#[tokio::test]
async fn a_test_of_a_connection_tries_its_registry_too_step_by_step() {
    let mut agent = start().await;
    let kafka = ["address", "tls", "authentication", "topics"];
    let registry = [
        "schema_registry_address",
        "schema_registry_tls",
        "schema_registry_authentication",
        "schema_registry_subjects",
    ];
    for (name, expected) in [("registry", [kafka, registry].concat()), ("kafka", kafka.to_vec())] {
        let request = v1::TestConnectionRequest {
            target: Some(v1::test_connection_request::Target::Name(name.to_owned())),
        };
        let steps = agent.connections.test_connection(request).await.unwrap().into_inner().steps;
        let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
        assert_eq!(names, expected, "{steps:?}");
    }
}
