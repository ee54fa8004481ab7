//! Streams whose schemas come from a registry, with a real registry, a real broker and producers that are not ours: versions come into
//! force at restarts and over deaths, messages of several writers lie side by side, and a registry that is away holds only what needs it.

use e2e::agent::Agent;
use e2e::config::with;
use e2e::confluent::{Part, Serializer};
use e2e::kafka_secure::{Listener, PLAIN_PASSWORD, PLAIN_USER, SecureKafka};
use e2e::limits::STREAM_SETTLES;
use e2e::paths::{fresh_folder, repository};
use e2e::producer::{Acknowledged, Outgoing, RecordingProducer};
use e2e::registry::{Fault, Registry, Schema, SmallRegistry};
use e2e::terraform::Workspace;
use e2e::wait::wait_until;
use featurestore_proto::v1::StreamState;
use serde_json::{Value, json};
use stream_pipeline::failpoint::Point;

use crate::registry_scene::{
    PASSWORD, RESTART_SOON, USER, apply, avro, await_condition, await_version, document, framed_order, note, number_of, send, status,
    subject,
};
use crate::rows::{assert_each_exactly_once, assert_rows, await_count, row_of};
use crate::stage::{PARTITIONS, Stage, status_shown_by, unique};

/// apache/hudi#8966, #2589: each message is read by its own writer's schema, whichever is in force, and no version gets lost in a death.
#[test]
fn versions_come_into_force_one_after_another_whatever_dies_and_every_message_is_read_by_its_own() {
    let registry = Registry::start_with_user(USER, PASSWORD);
    let mut stage = Stage::with_agent("versions", Agent::start_with(&RESTART_SOON));
    let first = registry.register(&subject(&stage), &Schema::avro(&avro(&[])));
    apply(&stage, &document(&stage, registry.url(), "FORMAT_AVRO", true));
    await_version(&stage, 1);
    let user = format!("{USER}:{PASSWORD}");
    let serializer = |schema: &str| Serializer::avro(registry.url(), &stage.topic, Part::Value, schema).with_user(&user);
    let written = |schema: &str, numbers: std::ops::Range<i64>, more: Value| -> Vec<Vec<u8>> {
        let values: Vec<Value> = numbers
            .map(|number| {
                let mut value = json!({"id": number, "name": format!("n {number}")});
                value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                value
            })
            .collect();
        serializer(schema)
            .serialize(&values)
            .into_iter()
            .map(|message| message.bytes)
            .collect()
    };
    let mut sent = send(&stage, 0, written(&avro(&[]), 0..8, json!({})));
    await_count(&stage.table(), 8);

    // The agent dies before and after the commit that puts the second version in force, with messages on their way.
    let second_text = avro(&[note()]);
    stage
        .agent
        .failpoints()
        .arm(&format!("{} kill\n", Point::SwitchBeforeCommit.name()));
    registry.register(&subject(&stage), &Schema::avro(&second_text));
    sent.extend(send(&stage, 8, (8..12).map(|number| framed_order(first, number, &[])).collect()));
    stage.agent.await_end("before the switch", STREAM_SETTLES);
    stage.agent.failpoints().arm(&format!("{} kill\n", Point::SwitchAfterCommit.name()));
    stage.agent.start_to_end();
    stage.agent.await_end("after the switch", STREAM_SETTLES);
    stage.agent.failpoints().disarm();
    stage.agent.start_again();
    await_version(&stage, 2);
    let mut both = written(&second_text, 12..16, json!({"note": "new"}));
    both.extend((16..20).map(|number| framed_order(first, number, &[])));
    sent.extend(send(&stage, 12, both));
    await_count(&stage.table(), 20);
    let value = |record: &Acknowledged| {
        let number = number_of(record);
        let note = if (12..16).contains(&number) { json!("new") } else { Value::Null };
        json!({"id": number, "name": format!("n {number}"), "note": note})
    };
    assert_rows(&stage.table(), &sent, value);

    // A version that the table cannot take is kept out and named; the next one that it can take is in force.
    let unlike = json!({"type": "record", "name": "Order", "namespace": "shop", "fields": [
        {"name": "id", "type": "string"}, {"name": "name", "type": "string"}]});
    registry.register(&subject(&stage), &Schema::avro(&unlike.to_string()));
    let message = await_condition(&stage, "SchemasCurrent");
    for part in [
        "version 2 stays in force",
        "version 3 cannot be taken",
        "value.id",
        &subject(&stage),
    ] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(stage.record().status.unwrap().state(), StreamState::Degraded);
    let plan = stage.workspace.plan();
    plan.assert_empty();
    plan.run.assert_warning(&[
        "Later Schema Version",
        "version 2 is in force",
        "version 3",
        "version 3 cannot be taken",
    ]);
    let fourth_text = avro(&[note(), json!({"name": "paid", "type": "boolean", "default": false})]);
    registry.register(&subject(&stage), &Schema::avro(&fourth_text));
    let shown = await_version(&stage, 4);
    assert_eq!((shown.latest_version, shown.side.as_str()), (Some(4), "value"));
    stage.await_active();
    let seen = status_shown_by(&stage.agent);
    assert_eq!(seen["registry_subjects"][0]["version"], 4, "{seen}");
    sent.extend(send(&stage, 20, vec![framed_order(first, 20, &[])]));
    await_count(&stage.table(), 21);
    let last = row_of(&stage.table(), sent.last().unwrap());
    assert_eq!(last["value"], json!({"id": 20, "name": "n 20", "note": null, "paid": false}));
    assert!(!stage.agent.log().contains(PASSWORD));
}

#[test]
fn while_the_registry_is_away_only_messages_of_unknown_schemas_wait_and_none_is_lost_or_comes_twice() {
    let registry = SmallRegistry::start();
    let stage = Stage::new("away");
    let first = registry.register(&subject(&stage), &Schema::avro(&avro(&[])));
    apply(&stage, &document(&stage, registry.url(), "FORMAT_AVRO", false));
    stage.await_active();
    let mut sent = send(&stage, 0, (0..4).map(|number| framed_order(first, number, &[])).collect());
    await_count(&stage.table(), 4);
    let second = registry.register(&subject(&stage), &Schema::avro(&avro(&[note()])));
    registry.fail_always("/", &Fault::Close);
    // One partition has a message of the new version between two of the old one; the others have old ones alone.
    let unknown = framed_order(second, 4, &[0]);
    let mut messages: Vec<Vec<u8>> = vec![unknown];
    messages.extend((5..9).map(|number| framed_order(first, number, &[])));
    sent.extend(send(&stage, 4, messages));
    await_count(&stage.table(), 7);
    let message = await_condition(&stage, "SchemasAvailable");
    assert!(message.contains(&format!("the schema {second}, which is not known")), "{message}");
    assert!(
        message.contains(&format!("partitions that wait: 0 of `{}`", stage.topic)),
        "{message}"
    );
    let held: Vec<i32> = status(&stage)
        .unwrap()
        .partitions
        .iter()
        .filter(|partition| !partition.held.is_empty())
        .map(|partition| partition.partition)
        .collect();
    assert_eq!(held, [0]);
    sent.extend(send(&stage, 9, vec![framed_order(first, 9, &[])]));
    registry.mend();
    await_count(&stage.table(), sent.len());
    // It started again to read them, and so by the second version.
    assert_rows(&stage.table(), &sent, |record| {
        let number = number_of(record);
        json!({"id": number, "name": format!("n {number}"), "note": null})
    });
    stage.await_active();
}

/// gklijs/schema_registry_converter#176, goldsky-io/streamling#60, databricks/iceberg-kafka-connect#233: nothing that a message is
/// stops a stream; the status says where such messages are.
#[test]
fn messages_that_no_schema_of_the_subject_reads_are_null_and_told_apart() {
    let registry = Registry::start();
    let stage = Stage::new("unread");
    let good = registry.register(&subject(&stage), &Schema::avro(&avro(&[])));
    let other = registry.register(
        "another-value",
        &Schema::avro(&avro(&[json!({"name": "x", "type": "int", "default": 0})])),
    );
    apply(&stage, &document(&stage, registry.url(), "FORMAT_AVRO", false));
    stage.await_active();
    let cases: Vec<(Vec<u8>, Option<&str>)> = vec![
        (framed_order(good, 0, &[]), None),
        (framed_order(other, 1, &[0]), Some("other_subject")),
        (framed_order(4711, 2, &[]), Some("unknown_schema")),
        (br#"{"id": 3}"#.to_vec(), Some("not_framed")),
        (vec![0, 0, 0, 0], Some("not_framed")),
        ([&[1_u8][..], &[7; 16], b"rest"].concat(), Some("named_by_guid")),
        (framed_order(good, 6, &[]), None),
    ];
    let sent = send(&stage, 0, cases.iter().map(|(message, _)| message.clone()).collect());
    await_count(&stage.table(), sent.len());
    assert_each_exactly_once(&stage.table(), &sent);
    for record in &sent {
        let number = number_of(record);
        let (_, reason) = &cases[usize::try_from(number).unwrap()];
        let expected = match reason {
            None => json!({"id": number, "name": format!("n {number}")}),
            Some(_) => Value::Null,
        };
        assert_eq!(row_of(&stage.table(), record)["value"], expected, "{reason:?}");
    }
    wait_until("every reason is counted", STREAM_SETTLES, || {
        let misfits = status(&stage)?.misfits;
        for reason in ["other_subject", "unknown_schema", "not_framed", "named_by_guid"] {
            let wanted = cases.iter().filter(|(_, of)| *of == Some(reason)).count() as u64;
            let found = misfits.iter().find(|it| it.reason == reason && it.side == "value");
            if found.map(|it| it.count) != Some(wanted) {
                return Err(format!("{reason}: {misfits:?}"));
            }
        }
        Ok(())
    });
}

/// kafkajs/confluent-schema-registry#152, redpanda-data/console#2065: messages are named by their place; references by exact versions.
#[test]
fn protobuf_is_read_through_its_references_and_a_message_of_another_type_is_null() {
    let registry = Registry::start();
    let stage = Stage::with_agent("protobuf-registry", Agent::start_with(&RESTART_SOON));
    let common = r#"syntax = "proto3"; package shop; message Money { int64 units = 1; string currency = 2; }"#;
    let order = |more: &str| {
        format!(
            r#"syntax = "proto3"; package shop; import "money.proto";
            message Order {{ int64 id = 1; Money price = 2; {more} }}
            message Other {{ int64 id = 1; message Order {{ int64 id = 1; }} }}"#
        )
    };
    registry.register("money.proto", &Schema::protobuf(common));
    let refer = |text: &str| Schema::protobuf(text).with_reference("money.proto", "money.proto", 1);
    let first = registry.register(&subject(&stage), &refer(&order("")));
    apply(&stage, &document(&stage, registry.url(), "FORMAT_PROTOBUF", false));
    stage.await_active();
    // id = 7, price = { units = 5, currency = "EUR" }, by hand: the bytes are the specification's.
    let body = [0x08, 7, 0x12, 7, 0x08, 5, 0x12, 3, b'E', b'U', b'R'];
    let message = |id: u32, indexes: &[u8], rest: &[u8]| [&[0], id.to_be_bytes().as_slice(), indexes, &body, rest].concat();
    let sent = send(
        &stage,
        0,
        vec![
            message(first, &[0], &[]),
            message(first, &[2, 0], &[]),
            message(first, &[2, 2], &[]),
            message(first, &[4, 2, 0], &[]),
        ],
    );
    await_count(&stage.table(), 4);
    let order_of = |more: Value| {
        let mut value = json!({"id": 7, "price": {"units": 5, "currency": "EUR"}});
        value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        value
    };
    for record in &sent {
        let expected = if number_of(record) < 2 { order_of(json!({})) } else { Value::Null };
        assert_eq!(row_of(&stage.table(), record)["value"], expected, "{record:?}");
    }
    let second = registry.register(&subject(&stage), &refer(&order("string note = 3;")));
    await_version(&stage, 2);
    let sent = send(&stage, 4, vec![message(second, &[0], &[0x1a, 1, b'x']), message(first, &[0], &[])]);
    await_count(&stage.table(), 6);
    for record in &sent {
        let note = if number_of(record) == 4 { json!("x") } else { Value::Null };
        assert_eq!(row_of(&stage.table(), record)["value"], order_of(json!({"note": note})));
    }
}

#[test]
fn a_registry_that_refuses_the_user_is_named_in_the_plan_and_a_right_secret_begins_the_stream() {
    let registry = SmallRegistry::start_with_user(USER, PASSWORD);
    let stage = Stage::new("refused-user");
    let first = registry.register(&subject(&stage), &Schema::avro(&avro(&[])));
    let wrong = |document: &Value, secret: &str, version: i64| {
        let at = "/resource/featurestore_connection/kafka";
        let document = with(document, &format!("{at}/kafka/schema_registry_api_secret_wo"), secret);
        with(&document, &format!("{at}/secrets_wo_version"), version)
    };
    let right = document(&stage, registry.url(), "FORMAT_AVRO", true);
    stage.workspace.write(&wrong(&right, "another-password-of-a-test", 1));
    let run = stage.workspace.apply_now();
    run.assert_success();
    let message = await_condition(&stage, "StartPositions");
    assert!(
        message.contains("refuses the API key `ada`") && message.contains("401"),
        "{message}"
    );
    assert_eq!(stage.record().status.unwrap().state(), StreamState::Provisioning);
    stage.workspace.write(&wrong(&right, PASSWORD, 2));
    stage.workspace.apply_now().assert_success();
    stage.await_active();
    let sent = send(&stage, 0, vec![framed_order(first, 0, &[])]);
    await_count(&stage.table(), 1);
    assert_rows(&stage.table(), &sent, |_| json!({"id": 0, "name": "n 0"}));
}

#[test]
fn the_example_reads_orders_over_sasl_by_a_subjects_schemas() {
    let (secured, registry) = (SecureKafka::start(), Registry::start_with_user(USER, PASSWORD));
    let agent = Agent::start();
    let mut workspace = Workspace::new(agent.endpoint());
    workspace.copy_from(&repository().join("examples/sasl-with-registry"));
    let topic = unique("orders");
    secured.kafka().create_topic(&topic, PARTITIONS);
    let authorities = fresh_folder("authorities").join("ca.pem");
    std::fs::write(&authorities, secured.authority()).unwrap();
    let email = json!({"name": "email", "type": "string", "default": ""});
    registry.register(&format!("{topic}-value"), &Schema::avro(&avro(&[email])));
    for (name, value) in [
        ("bootstrap_servers", secured.bootstrap(Listener::SaslSsl).as_str()),
        ("certificate_authorities", authorities.to_str().unwrap()),
        ("sasl_mechanism", "PLAIN"),
        ("kafka_user", PLAIN_USER),
        ("kafka_password", PLAIN_PASSWORD),
        ("registry_url", registry.url()),
        ("registry_key", USER),
        ("registry_secret", PASSWORD),
        ("topic", topic.as_str()),
    ] {
        workspace.set_environment(&format!("TF_VAR_{name}"), value);
    }
    workspace.apply_now().assert_success();
    workspace.plan().assert_empty();
    agent.api().await_state("main.shop.orders", &[StreamState::Active]);
    let text = avro(&[json!({"name": "email", "type": "string", "default": ""})]);
    let user = format!("{USER}:{PASSWORD}");
    let serializer = Serializer::avro(registry.url(), &topic, Part::Value, &text).with_user(&user);
    let values: Vec<Value> = (0..12)
        .map(|number| json!({"id": number, "name": format!("n {number}"), "email": "ada@example.com"}))
        .collect();
    let messages = serializer.serialize(&values).into_iter().enumerate();
    let outgoing: Vec<Outgoing> = messages
        .map(|(place, message)| Outgoing::new(place.to_string(), message.bytes))
        .collect();
    let sent = RecordingProducer::to(secured.kafka().bootstrap(), &[]).send_all(&topic, &outgoing);
    let table = agent.table("main.shop.orders_raw");
    await_count(&table, sent.len());
    assert_rows(&table, &sent, |record| {
        let number = number_of(record);
        json!({"id": number, "name": format!("n {number}")})
    });
    assert!(!agent.log().contains(PASSWORD) && !agent.log().contains(PLAIN_PASSWORD));
    workspace.destroy().assert_success();
    assert!(!table.exists());
}
