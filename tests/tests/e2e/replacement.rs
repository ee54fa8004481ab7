//! What replaces a stream: every attribute that is not updatable, one by one, each naming its own path and no other.
//! Many streams stand in one configuration, so that one plan answers for all of them.

use std::collections::BTreeMap;
use std::fs;

use e2e::agent::Agent;
use e2e::config::{self, CONNECTION_NAME, PAYLOAD_SCHEMA, STREAM, with, with_properties};
use e2e::kafka::kafka;
use e2e::plan::{Action, Plan};
use e2e::terraform::Workspace;
use serde_json::{Map, Value, json};
use tonic::Code;

use crate::rows::{assert_rows, order_value};
use crate::stage::{Stage, new_topic};

/// One attribute: a label, what a stream has before and after (pointer and value), and the path that must be named.
struct Case {
    label: &'static str,
    before: Vec<(&'static str, Value)>,
    after: Vec<(&'static str, Value)>,
    path: &'static str,
}

fn case(label: &'static str, before: (&'static str, Value), after: Value, path: &'static str) -> Case {
    let pointer = before.0;
    Case {
        label,
        before: vec![before],
        after: vec![(pointer, after)],
        path,
    }
}

/// The stream of a case: the standard one under a name and a table of its own, with changes.
fn stream_of(label: &str, topic: &str, changes: &[&[(&str, Value)]]) -> Value {
    let mut stream = config::stream(topic);
    stream["name"] = json!(format!("main.cases.{label}"));
    stream["ingestion_config"]["ingestion_destination"]["delta_table_name"] = json!(format!("main.cases.{label}_raw"));
    for (pointer, value) in changes.iter().copied().flatten() {
        stream = with(&stream, pointer, value.clone());
    }
    stream
}

fn document(streams: Map<String, Value>, plan_checks: &str) -> Value {
    let mut document = config::document(&config::connection(kafka().bootstrap()), &Value::Null);
    document["resource"]["featurestore_stream"] = Value::Object(streams);
    document["provider"] = json!({"featurestore": {"plan_checks": plan_checks}});
    document
}

fn address(label: &str) -> String {
    format!("featurestore_stream.{label}")
}

fn assert_all_replace(plan: &Plan, cases: &[Case]) {
    plan.run.assert_success();
    let mut wrong = BTreeMap::new();
    for case in cases {
        let address = address(case.label);
        let paths = plan.replace_paths(&address);
        let named = !paths.is_empty()
            && paths
                .iter()
                .all(|path| path == case.path || path.starts_with(&format!("{}.", case.path)));
        if plan.action(&address) != Action::Replace || !named {
            wrong.insert(case.label, format!("{:?} for {paths:?}", plan.action(&address)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}\n{}", plan.run);
}

#[test]
fn each_attribute_that_this_agent_can_do_replaces_the_stream_by_its_own_path() {
    let topic = new_topic("replaced");
    let other_topic = new_topic("replaced-other");
    let agent = Agent::start();
    agent.api().create_kafka_connection("other-kafka", kafka().bootstrap()).unwrap();
    let workspace = Workspace::new(agent.endpoint());
    let cases = [
        case("name", ("/description", Value::Null), Value::Null, "name"),
        case("description", ("/description", json!("a")), json!("b"), "description"),
        case("no_description", ("/description", Value::Null), json!(""), "description"),
        case(
            "topic",
            ("/source_config/kafka_stream_config/subscription_mode/subscribe", json!(topic)),
            json!(other_topic),
            "source_config.kafka_stream_config.subscription_mode.subscribe",
        ),
        case(
            "options",
            (
                "/source_config/kafka_stream_config/extra_options",
                json!({"startingOffsets": "latest"}),
            ),
            json!({"startingOffsets": "earliest"}),
            "source_config.kafka_stream_config.extra_options",
        ),
        case(
            "connection",
            ("/connection_config/uc_connection_name", json!(CONNECTION_NAME)),
            json!("other-kafka"),
            "connection_config.uc_connection_name",
        ),
        case(
            "table",
            ("/ingestion_config/ingestion_destination/delta_table_name", json!("main.cases.one")),
            json!("main.cases.two"),
            "ingestion_config.ingestion_destination.delta_table_name",
        ),
        case(
            "tags",
            ("/ingestion_config/tags", json!({"team": "a"})),
            json!({"team": "b"}),
            "ingestion_config.tags",
        ),
        case(
            "budget",
            ("/ingestion_config/budget_policy_id", json!("a")),
            json!("b"),
            "ingestion_config.budget_policy_id",
        ),
        case(
            "deduplication",
            ("/ingestion_config/deduplication_columns", json!(["value.order_id"])),
            json!(["kafka_partition", "kafka_offset"]),
            "ingestion_config.deduplication_columns",
        ),
    ];
    let streams = |side: fn(&Case) -> &Vec<(&'static str, Value)>| -> Map<String, Value> {
        cases
            .iter()
            .map(|case| (case.label.to_owned(), stream_of(case.label, &topic, &[side(case)])))
            .collect()
    };
    let dependent = |mut streams: Map<String, Value>| {
        // By name, not by reference: the connection must be there first.
        for stream in streams.values_mut() {
            stream["depends_on"] = json!([config::CONNECTION]);
        }
        streams
    };
    workspace.write(&document(dependent(streams(|case| &case.before)), "auto"));
    workspace.apply_now().assert_success();
    workspace.plan().assert_empty();

    let mut changed = dependent(streams(|case| &case.after));
    changed["name"]["name"] = json!("main.cases.renamed");
    workspace.write(&document(changed, "auto"));
    assert_all_replace(&workspace.plan(), &cases);
}

#[test]
fn equal_meaning_in_another_form_replaces_nothing() {
    let stage = Stage::new("same-meaning");
    let second = new_topic("same-meaning-second");
    let pointer = "/source_config/kafka_stream_config/subscription_mode/subscribe";
    stage.apply(&with(&stage.stream(), pointer, format!("{},{second}", stage.topic)));
    stage.write(&with(&stage.stream(), pointer, format!(" {second} , {}", stage.topic)));
    stage.workspace.plan().assert_empty();
}

#[test]
fn another_topic_replaces_the_stream_and_says_how_many_rows_go() {
    let stage = Stage::applied("other-topic");
    let uid = stage.uid();
    let records = stage.produce_orders(0, 12);
    assert_rows(&stage.table(), &records, order_value);

    let other = Stage {
        topic: new_topic("other-topic-new"),
        ..stage
    };
    other.write(&other.stream());
    let plan = other.workspace.plan();
    plan.assert_replaces_for(STREAM, "source_config.kafka_stream_config.subscription_mode.subscribe");
    plan.run.assert_warning(&["12 rows", "delta_table_name"]);
    other.workspace.apply(&plan).assert_success();
    other.workspace.plan().assert_empty();
    assert_ne!(other.uid(), uid);
    let records = other.produce_orders(100, 12);
    assert_rows(&other.table(), &records, order_value);
}

#[test]
fn a_replacement_that_retains_the_table_needs_a_new_table_name() {
    let stage = Stage::new("retain-replace");
    let stream = with(&stage.stream(), "/on_destroy", "retain");
    stage.apply(&stream);
    let records = stage.produce_orders(0, 8);
    assert_rows(&stage.table(), &records, order_value);

    let described = with(&stream, "/description", "other");
    stage.write(&described);
    stage.workspace.plan().run.assert_error(&["delta_table_name", "retain"]);
    let pointer = "/ingestion_config/ingestion_destination/delta_table_name";
    stage.apply(&with(&described, pointer, "main.payments.orders_second"));
    assert_rows(&stage.table(), &records, order_value);
    assert!(stage.agent.table("main.payments.orders_second").exists());
}

#[test]
fn an_incompatible_schema_is_an_error_in_the_plan_unless_replacement_was_asked_for() {
    let stage = Stage::applied("incompatible");
    let narrowed = with_properties(&config::order_schema(), &json!({"order_id": {"type": "integer"}})).to_string();
    let retyped = with_properties(&config::order_schema(), &json!({"amount": {"type": "string"}})).to_string();
    for (schema, path) in [(&narrowed, "value.order_id"), (&retyped, "value.amount")] {
        stage.write(&with(&stage.stream(), PAYLOAD_SCHEMA, schema.as_str()));
        stage.workspace.plan().run.assert_error(&[path]);
    }
    assert_eq!(stage.record().status.unwrap().generation, 1);

    let asked = with(&with(&stage.stream(), PAYLOAD_SCHEMA, narrowed), "/schema_update_policy", "replace");
    stage.write(&asked);
    let plan = stage.workspace.plan();
    plan.assert_replaces_for(STREAM, "schema_config.direct_schemas.payload_schema.json_schema");
    stage.workspace.apply(&plan).assert_success();
    stage.workspace.plan().assert_empty();
    let records = stage.produce_orders(0, 8);
    assert_rows(&stage.table(), &records, order_value);
}

/// What this agent cannot do yet, before and after a change of it.
fn cases_beyond_this_agent() -> Vec<Case> {
    let kinesis = |inside: Value| json!({"kinesis_stream_config": inside});
    vec![
        case(
            "kinesis_names",
            ("/source_config", kinesis(json!({"stream_names": {"names": ["a"]}}))),
            kinesis(json!({"stream_names": {"names": ["a", "b"]}})),
            "source_config.kinesis_stream_config.stream_names.names",
        ),
        case(
            "backfill",
            ("/ingestion_config/backfill_source", json!({"delta_table_name": "main.old.one"})),
            json!({"delta_table_name": "main.old.two"}),
            "ingestion_config.backfill_source",
        ),
    ]
}

/// What this agent does with brokers, registries or key stores that are not there here: only the plan is looked at.
fn cases_of_absent_parts() -> Vec<Case> {
    let kafka_mode = "/source_config/kafka_stream_config/subscription_mode";
    let registry = |subject: &str| {
        json!({"schema_registry_config": {"payload_schema_locator": {
            "confluent_schema": {"subject": subject, "format": "FORMAT_AVRO"}}}})
    };
    let mtls = |bootstrap: &str| {
        let reference = json!({"scope": "kafka", "key": "password"});
        json!({"direct_mtls_config": {"bootstrap_servers": bootstrap, "mtls_config": {
            "keystore_location": "/Volumes/main/secure/keys/client.jks",
            "truststore_location": "/Volumes/main/secure/keys/trust.jks",
            "keystore_password_ref": reference, "key_password_ref": reference, "truststore_password_ref": reference,
        }}})
    };
    vec![
        case(
            "pattern",
            (kafka_mode, json!({"subscribe_pattern": "orders-.*"})),
            json!({"subscribe_pattern": "orders-[0-9]+"}),
            "source_config.kafka_stream_config.subscription_mode.subscribe_pattern",
        ),
        case(
            "assign",
            (kafka_mode, json!({"assign": "{\"orders\":[0]}"})),
            json!({"assign": "{\"orders\":[0,1]}"}),
            "source_config.kafka_stream_config.subscription_mode.assign",
        ),
        case(
            "registry",
            ("/schema_config", registry("a")),
            registry("b"),
            "schema_config.schema_registry_config",
        ),
        case(
            "mtls",
            ("/connection_config", mtls("one:9092")),
            mtls("two:9092"),
            "connection_config.direct_mtls_config",
        ),
    ]
}

#[test]
fn what_this_agent_cannot_do_yet_is_an_error_in_the_plan_that_names_it() {
    let agent = Agent::start();
    let workspace = Workspace::new(agent.endpoint());
    let cases = cases_beyond_this_agent();
    let streams = cases
        .iter()
        .map(|case| (case.label.to_owned(), stream_of(case.label, "orders", &[&case.before])))
        .collect();
    workspace.write(&document(streams, "auto"));
    let plan = workspace.plan();
    for case in &cases {
        let top = case.path.split('.').next().unwrap();
        let named = plan
            .run
            .errors()
            .any(|error| error.mentions(&address(case.label)) && error.mentions(top));
        assert!(named, "no error for `{}`\n{}", case.label, plan.run);
    }
    for case in &cases {
        let found = agent.api().stream(&format!("main.cases.{}", case.label));
        assert_eq!(found.unwrap_err().code(), Code::NotFound);
    }
}

#[test]
fn each_way_to_read_replaces_by_its_own_path_without_plan_checks() {
    // No agent at all: plans with `plan_checks = "off"` and without a refresh need none.
    let workspace = Workspace::new("http://127.0.0.1:9");
    let mut cases = cases_beyond_this_agent();
    cases.extend(cases_of_absent_parts());
    let streams = |side: fn(&Case) -> &Vec<(&'static str, Value)>| -> Map<String, Value> {
        let named = |case: &Case| {
            let mut stream = stream_of(case.label, "orders", &[side(case)]);
            if stream["connection_config"]["uc_connection_name"].is_string() {
                stream["connection_config"]["uc_connection_name"] = json!(CONNECTION_NAME);
            }
            (case.label.to_owned(), stream)
        };
        cases.iter().map(named).collect()
    };
    let mut configuration = document(streams(|case| &case.before), "off");
    configuration["resource"].as_object_mut().unwrap().remove("featurestore_connection");
    workspace.write(&configuration);
    let first = workspace.plan_with(&["-refresh=false"]);
    write_state_by_hand(&workspace, &first, &cases);
    workspace.plan_with(&["-refresh=false"]).assert_empty();

    configuration["resource"]["featurestore_stream"] = Value::Object(streams(|case| &case.after));
    workspace.write(&configuration);
    assert_all_replace(&workspace.plan_with(&["-refresh=false"]), &cases);
}

/// A state in which every stream of a plan exists: what was planned, with the agent's own values made up.
fn write_state_by_hand(workspace: &Workspace, plan: &Plan, cases: &[Case]) {
    plan.run.assert_success();
    let resources: Vec<Value> = cases
        .iter()
        .enumerate()
        .map(|(number, case)| {
            let mut attributes = plan.after(&address(case.label));
            for name in ["create_time", "update_time"] {
                attributes[name] = json!("2026-01-02T03:04:05Z");
            }
            for name in ["created_by", "updated_by"] {
                attributes[name] = json!("local-admin");
            }
            attributes["id"] = json!(format!("00000000-0000-7000-8000-{number:012}"));
            attributes["state"] = json!("ACTIVE");
            let ingestion = attributes["ingestion_config"].as_object_mut().unwrap();
            ingestion.insert("ingestion_pipeline_id".to_owned(), json!(format!("pipeline-{number}")));
            ingestion.insert("ingestion_job_id".to_owned(), json!(number + 1));
            ingestion.insert("backfill_job_id".to_owned(), json!(0));
            json!({
                "mode": "managed",
                "type": "featurestore_stream",
                "name": case.label,
                "provider": "provider[\"registry.terraform.io/featurestore/featurestore\"]",
                "instances": [{"schema_version": 0, "attributes": attributes}],
            })
        })
        .collect();
    let state = json!({
        "version": 4, "terraform_version": "1.11.0", "serial": 1, "lineage": "by-hand",
        "outputs": {}, "resources": resources,
    });
    fs::write(workspace.folder().join("terraform.tfstate"), state.to_string()).unwrap();
}
