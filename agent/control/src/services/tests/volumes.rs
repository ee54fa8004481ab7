//! Volumes, over the port.

use featurestore_proto::v1::volume_service_client::VolumeServiceClient;
use stream_pipeline::connection::ConnectionResolver;
use stream_spec::stream::{ConnectionConfig, DirectMtlsConfig, MtlsConfig, SecretRef};

use super::secrets::{CANARY, refused};
use super::*;
use crate::testing::definitions::declared;

#[tokio::test]
async fn volumes_live_and_move() {
    let agent = Agent::start().await;
    let mut client = VolumeServiceClient::new(agent.channel.clone());
    let volume = |name: &str, location: &str| {
        Some(v1::Volume {
            name: name.into(),
            storage_location: location.into(),
            ..Default::default()
        })
    };
    let create = |name: &str, location: &str| v1::CreateVolumeRequest {
        volume: volume(name, location),
        request_id: String::new(),
    };
    refused(
        client.create_volume(create("main.pay.keys", "keys")).await,
        Code::InvalidArgument,
        "storage_location",
    );
    let owns = "/var/lib/agent/warehouse";
    refused(
        client.create_volume(create("main.pay.keys", owns)).await,
        Code::InvalidArgument,
        "the data folder",
    );
    for name in ["main.pay.keys", "main.pay2.keys", "other.pay.keys"] {
        client.create_volume(create(name, "/srv/keys")).await.unwrap();
    }
    refused(
        client.create_volume(create("main.pay.keys", "/srv")).await,
        Code::AlreadyExists,
        "main.pay.keys",
    );
    for (parent, expected) in [("main", 2), ("main.pay", 1), ("main.pa", 0)] {
        let request = v1::ListVolumesRequest {
            parent: parent.into(),
            ..Default::default()
        };
        assert_eq!(
            client.list_volumes(request).await.unwrap().into_inner().volumes.len(),
            expected,
            "{parent}"
        );
    }
    let update = v1::UpdateVolumeRequest {
        volume: volume("main.pay.keys", "s3://bucket/keys"),
        generation: 1,
        uid: String::new(),
    };
    let into_an_own_folder = v1::UpdateVolumeRequest {
        volume: volume("main.pay.keys", owns),
        ..update.clone()
    };
    refused(
        client.update_volume(into_an_own_folder).await,
        Code::InvalidArgument,
        "the data folder",
    );
    let moved = client.update_volume(update.clone()).await.unwrap().into_inner().volume.unwrap();
    assert_eq!((moved.generation, moved.storage_location.as_str()), (2, "s3://bucket/keys"));
    let same = v1::UpdateVolumeRequest { generation: 2, ..update };
    let same = client.update_volume(same).await.unwrap().into_inner().volume.unwrap();
    assert_eq!(same.generation, 2, "nothing to change is no change");
    let delete = |uid: &str| v1::DeleteVolumeRequest {
        name: "main.pay.keys".into(),
        uid: uid.into(),
        force: false,
    };
    refused(client.delete_volume(delete("another")).await, Code::NotFound, "main.pay.keys");
    client.delete_volume(delete(&moved.uid)).await.unwrap();
    let get = v1::GetVolumeRequest {
        name: "main.pay.keys".into(),
    };
    refused(client.get_volume(get).await, Code::NotFound, "main.pay.keys");
}

#[tokio::test]
async fn a_volume_that_streams_use_is_deleted_only_by_force_and_its_changes_are_announced() {
    let agent = Agent::start().await;
    let mut client = VolumeServiceClient::new(agent.channel.clone());
    let volume = |location: &str| v1::Volume {
        name: "main.pay.keys".into(),
        storage_location: location.into(),
        ..Default::default()
    };
    let create = v1::CreateVolumeRequest {
        volume: Some(volume("/srv/keys")),
        request_id: String::new(),
    };
    client.create_volume(create).await.unwrap();
    let secret = || SecretRef {
        scope: "stores".into(),
        key: "store".into(),
    };
    let direct = DirectMtlsConfig {
        bootstrap_servers: "b:1".into(),
        mtls: MtlsConfig {
            keystore_location: "/Volumes/main/pay/keys/client.jks".into(),
            truststore_location: "/Volumes/main/pay/other/trust.jks".into(),
            keystore_password_ref: secret(),
            key_password_ref: secret(),
            truststore_password_ref: secret(),
            disable_hostname_verification: false,
        },
    };
    let mut declared = declared("main.pay.orders");
    declared.spec.connection = ConnectionConfig::DirectMtls(direct);
    agent.store.insert_stream("u1", &declared).await.unwrap();
    let resolver = agent.services.resolver.clone();
    let changes = resolver.changes(&declared.spec.connection);
    let told = |changes: &mut tokio::sync::watch::Receiver<u64>| {
        let told = changes.has_changed().unwrap();
        changes.mark_unchanged();
        told
    };
    let mut changes = changes;
    let delete = |force| v1::DeleteVolumeRequest {
        name: "main.pay.keys".into(),
        uid: String::new(),
        force,
    };
    refused(
        client.delete_volume(delete(false)).await,
        Code::FailedPrecondition,
        "`main.pay.orders`",
    );
    assert!(!told(&mut changes));
    let update = v1::UpdateVolumeRequest {
        volume: Some(volume("/srv/other")),
        ..Default::default()
    };
    client.update_volume(update).await.unwrap();
    assert!(told(&mut changes), "it is somewhere else");
    agent.create_scope("stores", "").await.unwrap();
    agent.put("stores", "unused", CANARY).await.unwrap();
    assert!(!told(&mut changes));
    agent.put("stores", "store", CANARY).await.unwrap();
    assert!(told(&mut changes), "its password is another one");
    client.delete_volume(delete(true)).await.unwrap();
    assert!(told(&mut changes));
}
