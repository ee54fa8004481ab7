//! The kinds of entity that the tables ask: a configuration of each, and the names of its calls.

use serde_json::{Value as Json, json};

use crate::tests::bench::Bench;

/// An attribute, the call that changes it, and its new value.
type Change = (&'static str, &'static str, fn() -> Json);

/// One type of resource, and the names of its calls.
pub(super) struct Kind {
    pub(super) type_name: &'static str,
    pub(super) config: fn() -> Json,
    pub(super) key: &'static str,
    pub(super) title: &'static str,
    pub(super) create: &'static str,
    pub(super) read: &'static str,
    pub(super) delete: &'static str,
    /// A change in place and its call, if there is any.
    pub(super) update: Option<Change>,
}

pub(crate) fn credential() -> Json {
    json!({ "name": "msk-reader", "aws_iam_role": { "role_arn": "arn:aws:iam::123456789012:role/reader", "external_id": "tenant-7" } })
}

pub(crate) fn scope() -> Json {
    json!({ "name": "payments" })
}

pub(crate) fn secret() -> Json {
    json!({ "scope": "payments", "key": "kafka-password", "value_wo": "hunter2", "value_wo_version": 1 })
}

pub(crate) fn volume() -> Json {
    json!({ "name": "main.payments.certificates", "storage_location": "/srv/certificates" })
}

pub(crate) fn grants() -> Json {
    json!({ "securable_type": "connection", "securable_name": "payments-kafka", "grants": [
        { "principal": "payments-team", "privileges": ["USE CONNECTION", "MANAGE"] },
        { "principal": "ops@shop.example", "privileges": ["USE CONNECTION"] },
    ] })
}

pub(super) const KINDS: [Kind; 5] = [
    Kind {
        type_name: "featurestore_service_credential",
        config: credential,
        key: "msk-reader",
        title: "Service Credential",
        create: "CreateServiceCredential",
        read: "GetServiceCredential",
        delete: "DeleteServiceCredential",
        update: Some(("UpdateServiceCredential", "/aws_iam_role/external_id", || json!("tenant-8"))),
    },
    Kind {
        type_name: "featurestore_secret_scope",
        config: scope,
        key: "payments",
        title: "Secret Scope",
        create: "CreateSecretScope",
        read: "ListSecrets",
        delete: "DeleteSecretScope",
        update: None,
    },
    Kind {
        type_name: "featurestore_secret",
        config: secret,
        key: "payments/kafka-password",
        title: "Secret",
        create: "PutSecret",
        read: "ListSecrets",
        delete: "DeleteSecret",
        update: Some(("PutSecret", "/value_wo_version", || json!(2))),
    },
    Kind {
        type_name: "featurestore_volume",
        config: volume,
        key: "main.payments.certificates",
        title: "Volume",
        create: "CreateVolume",
        read: "GetVolume",
        delete: "DeleteVolume",
        update: Some(("UpdateVolume", "/storage_location", || json!("s3://certificates/payments"))),
    },
    Kind {
        type_name: "featurestore_grants",
        config: grants,
        key: "connection/payments-kafka",
        title: "Set Of Grants",
        create: "SetGrants",
        read: "ListGrants",
        delete: "SetGrants",
        update: Some((
            "SetGrants",
            "/grants",
            || json!([{ "principal": "others", "privileges": ["MANAGE"] }]),
        )),
    },
];

/// A bench with the scope that secrets are put into, where the scope itself is not what is tested.
pub(super) async fn bench(kind: &Kind, block: Json) -> Bench {
    let bench = Bench::with(block).await;
    if kind.type_name == "featurestore_secret" {
        bench
            .agent
            .world()
            .governance
            .scopes
            .insert("payments".to_owned(), Default::default());
    }
    bench
}
