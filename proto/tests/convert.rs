//! A definition survives the way over the wire, and what a message cannot express is named.
#![cfg(feature = "api")]
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use featurestore_proto::{convert, v1};
use stream_spec::name::{ConnectionName, StreamName, TableName};
use stream_spec::stream::*;

fn definition(source: SourceConfig, connection: ConnectionConfig, schemas: SchemaConfig) -> StreamSpec {
    StreamSpec {
        name: StreamName::parse("main.payments.cards").unwrap(),
        description: Some(String::new()),
        source,
        connection,
        schemas,
        ingestion: IngestionConfig {
            destination: TableName::parse("main.payments.cards_raw").unwrap(),
            backfill_source: Some(TableName::parse("main.payments.cards_old").unwrap()),
            deduplication_columns: ["value.id".to_owned()].into(),
            tags: [("team".to_owned(), "risk".to_owned())].into(),
            budget_policy_id: Some("b-1".into()),
        },
        record_type_filter: Some("value.type = 'card'".into()),
        excluded_columns: ["value.pan".to_owned(), "value.cvv".to_owned()].into(),
    }
}

fn secret(key: &str) -> SecretRef {
    SecretRef {
        scope: "kafka".into(),
        key: key.into(),
    }
}

#[test]
fn every_form_of_a_definition_survives_the_way_over_the_wire() {
    let kafka = |subscription| {
        SourceConfig::Kafka(KafkaSource {
            subscription,
            extra_options: [("includeHeaders".into(), "true".into())].into(),
        })
    };
    let kinesis = |streams| {
        SourceConfig::Kinesis(KinesisSource {
            streams,
            extra_options: Default::default(),
        })
    };
    let named = || ConnectionConfig::UcConnectionName(ConnectionName::parse("payments-kafka").unwrap());
    let mtls = ConnectionConfig::DirectMtls(DirectMtlsConfig {
        bootstrap_servers: "b1:9093,b2:9093".into(),
        mtls: MtlsConfig {
            keystore_location: "/Volumes/a/b/c/k.jks".into(),
            truststore_location: "/Volumes/a/b/c/t.jks".into(),
            keystore_password_ref: secret("ks"),
            key_password_ref: secret("k"),
            truststore_password_ref: secret("ts"),
            disable_hostname_verification: true,
        },
    });
    let direct = |key, payload| SchemaConfig::Direct(DirectSchemas { key, payload });
    let json = || Some(SchemaText::Json("{\"type\":\"string\"}".into()));
    let registry = SchemaConfig::Registry(SchemaRegistryConfig {
        uc_connection: Some(ConnectionName::parse("registry").unwrap()),
        api_secret_ref: Some(secret("api")),
        payload: Some(SchemaLocator {
            subject: "cards-value".into(),
            format: "FORMAT_AVRO".into(),
        }),
        key: None,
    });
    let proto = SchemaText::Proto {
        schema_text: "syntax = \"proto3\";".into(),
        message_name: "a.B".into(),
    };
    let cases = [
        definition(
            kafka(SubscriptionMode::Subscribe("a,b".into())),
            named(),
            direct(json(), Some(SchemaText::Avro("\"int\"".into()))),
        ),
        definition(
            kafka(SubscriptionMode::SubscribePattern("a.*".into())),
            mtls,
            direct(None, Some(proto)),
        ),
        definition(kafka(SubscriptionMode::Assign("{\"a\":[0]}".into())), named(), registry),
        definition(
            kinesis(KinesisStreams::Names(["s".to_owned()].into())),
            named(),
            direct(None, json()),
        ),
        definition(
            kinesis(KinesisStreams::Arns(["arn:aws:kinesis:x:1:stream/s".to_owned()].into())),
            named(),
            direct(None, json()),
        ),
    ];
    for spec in cases {
        assert_eq!(convert::stream_to_spec(&convert::stream_from_spec(&spec)), Ok(spec));
    }
}

#[test]
fn an_empty_message_is_refused_field_by_field() {
    let violations = convert::stream_to_spec(&v1::Stream::default()).unwrap_err();
    let fields: Vec<&str> = violations.iter().map(|violation| violation.field.as_str()).collect();
    assert_eq!(
        fields,
        ["name", "source_config", "connection_config", "schema_config", "ingestion_config"]
    );
}

#[test]
fn absent_operations_keep_their_values() {
    let base = StreamOperations {
        paused: true,
        ..StreamOperations::default()
    };
    assert_eq!(
        convert::operations_to_spec(&v1::StreamOperations::default(), &base),
        Ok(base.clone())
    );
    assert_eq!(
        convert::operations_to_spec(&convert::operations_from_spec(&base), &StreamOperations::default()),
        Ok(base)
    );
}
