//! Definitions with one thing changed, and what is said about it.

mod connection;
mod schemas;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::*;
use crate::connection::{ConnectionOptions, ConnectionSpec, KafkaConnectionOptions, KinesisConnectionOptions, SecurityProtocol};
use crate::name::{ConnectionName, StreamName, TableName};
use crate::stream::{
    ConnectionConfig, DirectMtlsConfig, DirectSchemas, KafkaSource, KinesisSource, KinesisStreams, MtlsConfig, SchemaConfig, SchemaLocator,
    SchemaRegistryConfig, SchemaText, SecretRef, SourceConfig, SubscriptionMode,
};

fn set(texts: &[&str]) -> BTreeSet<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn map(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    entries
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

fn secret() -> SecretRef {
    SecretRef {
        scope: "kafka".into(),
        key: "password".into(),
    }
}

fn kafka_stream() -> StreamSpec {
    let payload = r#"{"type":"object","properties":{"id":{"type":"string"},"n":{"type":"object","properties":{"x":{},"y":{}}}}}"#;
    StreamSpec {
        name: StreamName::parse("main.shop.orders").expect("legal"),
        description: None,
        source: SourceConfig::Kafka(KafkaSource {
            subscription: SubscriptionMode::Subscribe("orders".into()),
            extra_options: BTreeMap::new(),
        }),
        connection: ConnectionConfig::UcConnectionName(ConnectionName::parse("kafka").expect("legal")),
        schemas: SchemaConfig::Direct(DirectSchemas {
            key: None,
            payload: Some(SchemaText::Json(payload.into())),
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

fn kinesis_stream() -> StreamSpec {
    let streams = KinesisStreams::Names(set(&["orders"]));
    StreamSpec {
        source: SourceConfig::Kinesis(KinesisSource {
            streams,
            extra_options: BTreeMap::new(),
        }),
        ..kafka_stream()
    }
}

fn mtls() -> DirectMtlsConfig {
    DirectMtlsConfig {
        bootstrap_servers: "broker:9093".into(),
        mtls: MtlsConfig {
            keystore_location: "/Volumes/main/shop/stores/client.jks".into(),
            truststore_location: "/Volumes/main/shop/stores/trust.jks".into(),
            keystore_password_ref: secret(),
            key_password_ref: secret(),
            truststore_password_ref: secret(),
            disable_hostname_verification: false,
        },
    }
}

fn registry(format: &str) -> SchemaRegistryConfig {
    let payload = Some(SchemaLocator {
        subject: "orders-value".into(),
        format: format.into(),
    });
    SchemaRegistryConfig {
        uc_connection: None,
        api_secret_ref: None,
        payload,
        key: None,
    }
}

fn subscribe(mode: SubscriptionMode) -> impl FnOnce(&mut StreamSpec) {
    move |stream| {
        stream.source = SourceConfig::Kafka(KafkaSource {
            subscription: mode,
            extra_options: BTreeMap::new(),
        })
    }
}

fn direct(key: Option<SchemaText>, payload: Option<SchemaText>) -> impl FnOnce(&mut StreamSpec) {
    move |stream| stream.schemas = SchemaConfig::Direct(DirectSchemas { key, payload })
}

/// Checks the violations of `stream` after `change`, each as the start of its message.
fn check_on(mut stream: StreamSpec, change: impl FnOnce(&mut StreamSpec), expected: &[&str]) {
    change(&mut stream);
    check_messages(&super::stream(&stream), expected);
}

fn check(change: impl FnOnce(&mut StreamSpec), expected: &[&str]) {
    check_on(kafka_stream(), change, expected);
}

fn check_messages(violations: &[Violation], expected: &[&str]) {
    let messages: Vec<String> = violations.iter().map(ToString::to_string).collect();
    assert_eq!(messages.len(), expected.len(), "{messages:#?}");
    for (message, expected) in messages.iter().zip(expected) {
        assert!(message.starts_with(expected), "{message}\nexpected {expected}");
    }
}

#[test]
fn sound_streams_have_no_violations() {
    check(|_| {}, &[]);
    check_on(kinesis_stream(), |_| {}, &[]);
    check(|stream| stream.connection = ConnectionConfig::DirectMtls(mtls()), &[]);
    check(|stream| stream.schemas = SchemaConfig::Registry(registry("FORMAT_AVRO")), &[]);
    check(
        |stream| {
            stream.excluded_columns = set(&["value.n.x"]);
            stream.ingestion.deduplication_columns = set(&["value.id", "key", "kafka_offset"]);
        },
        &[],
    );
}

#[test]
fn ingestion_settings_are_bounded() {
    let tags = (0..26).map(|index| (format!("tag{index}"), String::new())).collect();
    check(
        |stream| stream.ingestion.tags = tags,
        &["ingestion_config.tags: there are too many tags (found \"26 tags\"); keep at most 25"],
    );
    check(
        |stream| stream.ingestion.tags = map(&[("", "x")]),
        &["ingestion_config.tags: a tag has an empty key"],
    );
    check(
        |stream| stream.ingestion.budget_policy_id = Some("".into()),
        &["ingestion_config.budget_policy_id: the id is empty"],
    );
    check(
        |stream| stream.ingestion.backfill_source = Some(stream.ingestion.destination.clone()),
        &["ingestion_config.backfill_source.delta_table_name: the backfill source is the ingestion table itself"],
    );
    check(
        |stream| stream.record_type_filter = Some(" ".into()),
        &["record_type_filter: the filter is empty"],
    );
}

#[test]
fn a_record_filter_is_checked_where_its_columns_are_known() {
    for sound in ["value.id = 'a' AND kafka_partition = 0", "value.n.x LIKE 'a%'", "key IS NULL"] {
        check(|stream| stream.record_type_filter = Some(sound.into()), &[]);
    }
    check(
        |stream| {
            stream.record_type_filter = Some("value.id = 'a' AND value.n.z = 'b'".into());
            // The filter may read what is excluded.
            stream.excluded_columns = set(&["value.n.x"]);
        },
        &["record_type_filter: `value.n` has no field `z` at line 1, column 28"],
    );
    check(
        |stream| stream.record_type_filter = Some("value.id".into()),
        &["record_type_filter: a filter is a predicate, and this is STRING at line 1, column 1"],
    );
    check(
        |stream| stream.record_type_filter = Some("record_source = 'stream'".into()),
        &[
            "record_type_filter: a filter holds for the stream and for a backfill alike, and cannot read where a record came from at line 1, \
             column 1",
        ],
    );
}

#[test]
fn a_flush_interval_is_whole_milliseconds_in_range() {
    for (interval, sound) in [
        (Duration::from_millis(100), true),
        (Duration::from_secs(3600), true),
        (Duration::from_millis(99), false),
        (Duration::from_millis(3_600_001), false),
        (Duration::from_micros(100_500), false),
    ] {
        let settings = StreamOperations {
            flush_interval: interval,
            ..StreamOperations::default()
        };
        assert_eq!(operations(&settings).is_empty(), sound, "{interval:?}");
    }
}
