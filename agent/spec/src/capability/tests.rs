//! What definitions and connections need, in order of their fields.

use std::collections::BTreeMap;

use super::*;
use crate::connection::KafkaConnectionOptions;
use crate::name::{ConnectionName, StreamName, TableName};
use crate::stream::{DirectSchemas, IngestionConfig};
use crate::types::DataType;

fn stream(subscription: SubscriptionMode, options: &[(&str, &str)], payload: SchemaText) -> StreamSpec {
    let extra_options = options
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect();
    StreamSpec {
        name: StreamName::parse("main.shop.orders").expect("legal"),
        description: None,
        source: SourceConfig::Kafka(KafkaSource {
            subscription,
            extra_options,
        }),
        connection: ConnectionConfig::UcConnectionName(ConnectionName::parse("kafka").expect("legal")),
        schemas: SchemaConfig::Direct(DirectSchemas {
            key: None,
            payload: Some(payload),
        }),
        ingestion: IngestionConfig {
            destination: TableName::parse("main.shop.orders_raw").expect("legal"),
            backfill_source: None,
            deduplication_columns: BTreeSet::new(),
            tags: BTreeMap::new(),
            budget_policy_id: None,
        },
        record_type_filter: None,
        excluded_columns: BTreeSet::new(),
    }
}

fn connection(security_protocol: SecurityProtocol, credential: Option<&str>) -> ConnectionSpec {
    let options = KafkaConnectionOptions {
        bootstrap_servers: "broker:9092".into(),
        security_protocol,
        sasl_mechanism: None,
        user: None,
        password_secret: None,
        credential: credential.map(str::to_owned),
        ca_pem: None,
        schema_registry_url: None,
        schema_registry_api_key: None,
        schema_registry_api_secret: None,
    };
    ConnectionSpec {
        name: ConnectionName::parse("kafka").expect("legal"),
        comment: None,
        options: ConnectionOptions::Kafka(options),
    }
}

fn names(needs: &[Need]) -> Vec<&str> {
    needs.iter().map(|need| need.capability.name()).collect()
}

fn json() -> SchemaText {
    SchemaText::Json(r#"{"type":"string"}"#.into())
}

#[test]
fn a_plain_stream_needs_only_topics_and_json() {
    let options = [(STARTING_OFFSETS, "latest"), (INCLUDE_HEADERS, "false")];
    let plain = stream(SubscriptionMode::Subscribe("orders".into()), &options, json());
    assert_eq!(names(&needed(&plain)), ["kafka.subscribe", "schema.json"]);
}

#[test]
fn everything_beyond_is_named_with_its_field() {
    let options = [
        (STARTING_OFFSETS, "earliest"),
        (INCLUDE_HEADERS, "true"),
        (MAX_OFFSETS_PER_TRIGGER, "5"),
        ("kafka.session.timeout.ms", "1"),
    ];
    let mut rich = stream(
        SubscriptionMode::SubscribePattern("o.*".into()),
        &options,
        SchemaText::Avro("{}".into()),
    );
    rich.record_type_filter = Some("value.id > 1".into());
    rich.ingestion.backfill_source = Some(TableName::parse("main.shop.orders_old").expect("legal"));
    let expected = [
        "kafka.subscribe_pattern",
        "kafka.headers",
        "kafka.client_options",
        "kafka.max_offsets_per_trigger",
        "kafka.starting_offsets",
        "schema.avro",
        "stream.record_type_filter",
        "stream.backfill",
    ];
    assert_eq!(names(&needed(&rich)), expected);
    let has = BTreeSet::from_iter(
        Capability::ALL
            .iter()
            .copied()
            .filter(|capability| *capability != Capability::RecordFilter),
    );
    let [violation] = &missing(&needed(&rich), &has)[..] else {
        panic!("one thing is missing")
    };
    assert_eq!(
        violation.to_string(),
        "record_type_filter: this agent cannot filter records yet (found \"value.id > 1\"); \
         leave it out, or use an agent that has the capability `stream.record_type_filter`"
    );
}

#[test]
fn each_kind_of_connection_has_its_capability() {
    for (protocol, credential, expected) in [
        (SecurityProtocol::Plaintext, None, &["connection.kafka.plaintext"][..]),
        (SecurityProtocol::Ssl, None, &["connection.kafka.ssl"]),
        (SecurityProtocol::SaslPlaintext, None, &["connection.kafka.sasl"]),
        (SecurityProtocol::SaslSsl, None, &["connection.kafka.ssl", "connection.kafka.sasl"]),
        (
            SecurityProtocol::SaslSsl,
            Some("msk"),
            &["connection.kafka.ssl", "connection.kafka.credential"],
        ),
    ] {
        assert_eq!(
            names(&needed_by_connection(&connection(protocol, credential))),
            expected,
            "{protocol:?}"
        );
    }
}

#[test]
fn a_widened_column_needs_an_agent_that_widens() {
    let column = |data_type| vec![Field::new("value", DataType::Struct(vec![Field::new("a", data_type)]))];
    let needs = needed_by_update(&column(DataType::Int), &column(DataType::BigInt));
    assert_eq!((names(&needs), needs[0].value.as_str()), (vec!["table.widening"], "value.a"));
    assert!(needed_by_update(&column(DataType::Int), &column(DataType::Int)).is_empty());
}

#[test]
fn names_of_capabilities_are_unique() {
    let names: BTreeSet<&str> = Capability::ALL.iter().map(|capability| capability.name()).collect();
    assert_eq!(names.len(), Capability::ALL.len());
}
