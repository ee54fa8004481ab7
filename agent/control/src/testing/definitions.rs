//! Sound declarations to start from.

use std::collections::{BTreeMap, BTreeSet};

use stream_spec::connection::{ConnectionOptions, ConnectionSpec, KafkaConnectionOptions, SecurityProtocol};
use stream_spec::name::{ConnectionName, StreamName, TableName};
use stream_spec::stream::{
    ConnectionConfig, DirectSchemas, IngestionConfig, KafkaSource, SchemaConfig, SchemaText, SourceConfig, StreamOperations, StreamSpec,
    SubscriptionMode,
};

use crate::store::records::{AcceptedSchemas, ConnectionRecord, DeclaredStream, Presence};

pub(crate) const SCHEMA: &str = r#"{"type":"object","properties":{"id":{"type":"string"},"amount":{"type":"integer"}}}"#;

/// A stream on connection `kafka` that writes to a table of its own.
pub(crate) fn stream(name: &str) -> StreamSpec {
    StreamSpec {
        name: StreamName::parse(name).unwrap(),
        description: None,
        source: SourceConfig::Kafka(KafkaSource {
            subscription: SubscriptionMode::Subscribe("orders".into()),
            extra_options: BTreeMap::new(),
        }),
        connection: ConnectionConfig::UcConnectionName(ConnectionName::parse("kafka").unwrap()),
        schemas: SchemaConfig::Direct(DirectSchemas {
            key: None,
            payload: Some(SchemaText::Json(SCHEMA.into())),
        }),
        ingestion: IngestionConfig {
            destination: TableName::parse(&format!("{name}_raw")).unwrap(),
            backfill_source: None,
            deduplication_columns: BTreeSet::new(),
            tags: BTreeMap::new(),
            budget_policy_id: None,
        },
        record_type_filter: None,
        excluded_columns: BTreeSet::new(),
    }
}

/// That stream, declared.
pub(crate) fn declared(name: &str) -> DeclaredStream {
    let spec = stream(name);
    let SchemaConfig::Direct(schemas) = spec.schemas.clone() else {
        unreachable!("it has direct schemas")
    };
    DeclaredStream {
        spec,
        generation: 1,
        operations: StreamOperations::default(),
        operations_generation: 1,
        restart_generation: 0,
        presence: Presence::Present,
        schema_history: vec![AcceptedSchemas {
            number: 1,
            generation: 1,
            schemas,
            accept_time_ms: 5,
            accepted_by: "local-admin".into(),
            digest: "00".into(),
        }],
        never_ingested: BTreeSet::new(),
        create_time_ms: 5,
        created_by: "local-admin".into(),
        update_time_ms: 5,
        updated_by: "local-admin".into(),
        create_request_id: "request-1".into(),
        update_request_id: String::new(),
        ingestion_pipeline_id: "pipeline-1".into(),
        ingestion_job_id: 7,
    }
}

/// A connection without security.
pub(crate) fn connection(name: &str) -> ConnectionRecord {
    ConnectionRecord {
        uid: format!("uid-of-{name}"),
        spec: ConnectionSpec {
            name: ConnectionName::parse(name).unwrap(),
            comment: None,
            options: ConnectionOptions::Kafka(KafkaConnectionOptions {
                bootstrap_servers: "127.0.0.1:9092".into(),
                security_protocol: SecurityProtocol::Plaintext,
                sasl_mechanism: None,
                user: None,
                password_secret: None,
                credential: None,
                ca_pem: None,
                schema_registry_url: None,
                schema_registry_api_key: None,
                schema_registry_api_secret: None,
            }),
        },
        literal_secrets: BTreeMap::new(),
        generation: 1,
        create_time_ms: 5,
        created_by: "local-admin".into(),
        update_time_ms: 5,
        updated_by: "local-admin".into(),
        create_request_id: "request-1".into(),
    }
}
