//! Streams that show a client certificate from a store of keys on a volume: every kind of store reads records, what is wrong is said,
//! and a store that is replaced loses and repeats nothing.

use std::fs;
use std::time::Duration;

use e2e::api::Target;
use e2e::kafka_secure::Listener;
use e2e::key_stores::{KeyKind, Kind, Stores};
use e2e::limits::STREAM_SETTLES;
use e2e::paths::repository;
use e2e::plan::Action;
use e2e::terraform::Workspace;
use e2e::wait::wait_until;
use featurestore_proto::v1::Stream;
use tonic::Code;

use crate::broker_security::said;
use crate::mtls_scene::{By, KEY, STORE, Scene, VOLUME, assert_without_keys};

#[test]
fn every_kind_of_store_reads_records_and_a_volume_in_use_stays() {
    let mut scene = Scene::new();
    scene.produce(20);
    let (rsa, curve) = (
        scene.client("rsa", KeyKind::Rsa, Kind::Good),
        scene.client("curve", KeyKind::Ec, Kind::Good),
    );
    let mut stores = Stores::default();
    stores
        .keystore("JKS", &scene.file("rsa.jks"), (STORE, KEY), &[&rsa])
        .keystore("JKS", &scene.file("curve.jks"), (STORE, STORE), &[&curve])
        .keystore("PKCS12", &scene.file("rsa.p12"), (STORE, STORE), &[&rsa])
        .keystore("PKCS12", &scene.file("curve.p12"), (STORE, STORE), &[&curve])
        .truststore("PKCS12", &scene.file("trust.p12"), STORE, &scene.authority());
    scene.write(&mut stores);
    let key = By {
        key_password: "key",
        ..By::keystore("rsa.jks")
    };
    let trust = By {
        truststore: "trust.p12",
        ..By::keystore("curve.p12")
    };
    let any_host = By {
        by_number: true,
        any_host: true,
        ..By::keystore("curve.jks")
    };
    let mut tables = Vec::new();
    for (name, by) in [
        ("jks_rsa", key),
        ("jks_ec", By::keystore("curve.jks")),
        ("p12_rsa", By::keystore("rsa.p12")),
        ("p12_ec", trust),
        ("any_host", any_host),
    ] {
        assert_eq!(scene.warned(name, &by), "", "{name}");
        tables.push(scene.stream(name, &by));
    }
    tables.iter().for_each(|table| scene.assert_all_in(table));
    scene.produce(20);
    tables.iter().for_each(|table| scene.assert_all_in(table));

    let refused = scene.api().delete_volume(VOLUME, false).unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
    assert!(refused.message().contains("`main.secured.any_host`"), "{refused}");
    scene.api().delete_volume(VOLUME, true).unwrap();
    scene.await_condition("jks_ec", "VolumeMissing", &["there is no volume `main.secured.keys`"]);
    scene.make_volume();
    scene.produce(5);
    tables.iter().for_each(|table| scene.assert_all_in(table));
    for client in [&rsa, &curve] {
        assert_without_keys(&scene.agent.log(), client.key());
    }
}

#[test]
fn what_keeps_a_store_from_working_is_said_by_the_plan_and_by_the_stream() {
    let mut scene = Scene::new();
    let good = scene.client("good", KeyKind::Ec, Kind::Good);
    let old = scene.client("old", KeyKind::Ec, Kind::Expired);
    let new = scene.client("new", KeyKind::Ec, Kind::NotYetValid);
    let other = scene.kafka.clients().certificate("other", scene.kafka.other_authority());
    let mut stores = Stores::default();
    stores
        .keystore("JKS", &scene.file("good.jks"), (STORE, KEY), &[&good])
        .keystore("PKCS12", &scene.file("old.p12"), (STORE, STORE), &[&old])
        .keystore("JKS", &scene.file("new.jks"), (STORE, STORE), &[&new])
        .keystore("JKS", &scene.file("both.jks"), (STORE, STORE), &[&good, &old])
        .keystore("JCEKS", &scene.file("good.jceks"), (STORE, STORE), &[&good])
        .truststore("JKS", &scene.file("other.jks"), STORE, &other);
    scene.write(&mut stores);
    fs::write(scene.file("large.jks"), vec![0xfe; (1 << 20) + 1]).unwrap();
    fs::write(scene.file("cut.p12"), &fs::read(scene.file("old.p12")).unwrap()[..100]).unwrap();
    let by = |keystore| By::keystore(keystore);
    for (name, by, words) in [
        (
            "store_password",
            By {
                keystore_password: "wrong",
                ..by("good.jks")
            },
            &[
                "the keystore `/Volumes/main/secured/keys/good.jks` with the secret `stores/wrong`",
                "does not open it",
            ][..],
        ),
        (
            "key_password",
            by("good.jks"),
            &["the secret `stores/store`", "the key password does not open the key `client-0`"],
        ),
        (
            "trust_password",
            By {
                truststore_password: "wrong",
                key_password: "key",
                ..by("good.jks")
            },
            &["the truststore `/Volumes/main/secured/keys/trust.jks` with the secret `stores/wrong`"],
        ),
        (
            "expired",
            by("old.p12"),
            &["the client's certificate, `CN=old`, has expired on 2021-03-01T00:00:00Z"],
        ),
        ("not_yet", by("new.jks"), &["`CN=new`, is not valid until 3021-03-01T00:00:00Z"]),
        (
            "both",
            by("both.jks"),
            &["more than one private key in it", "`client-0`", "`client-1`"],
        ),
        ("jceks", by("good.jceks"), &["it is a JCEKS store", "keytool -importkeystore"]),
        (
            "no_key",
            by("trust.jks"),
            &["there is no private key in it, but certificates: `authority`"],
        ),
        (
            "missing",
            by("none.jks"),
            &["there is no file `/Volumes/main/secured/keys/none.jks`"],
        ),
        ("large", by("large.jks"), &["more than 1048576 bytes"]),
        ("cut", by("cut.p12"), &["damaged or cut off"]),
    ] {
        let warned = scene.warned(name, &by);
        assert!(words.iter().all(|word| warned.contains(word)), "{name}: {warned}");
    }
    let absent = By {
        key_password: "absent",
        ..by("good.jks")
    };
    assert!(scene.warned("absent", &absent).contains("there is no secret `stores/absent`"));
    let refused = scene.api().declare_stream(scene.message("absent", &absent)).unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
    assert!(refused.message().contains("there is no secret `stores/absent`"), "{refused}");

    scene.produce(5);
    let stranger = scene.client("stranger", KeyKind::Rsa, Kind::OfAStranger);
    scene.put("JKS", "stranger.jks", &stranger);
    scene.put("JKS", "mended.jks", &good);
    let mut tables = Vec::new();
    for (name, by, reason, words) in [
        (
            "expired",
            by("old.p12"),
            "ClientCertificateExpired",
            &["has expired on 2021-03-01"][..],
        ),
        (
            "stranger",
            by("stranger.jks"),
            "ClientCertificateRefused",
            &["no authority that the broker trusts"],
        ),
        (
            "other_authority",
            By {
                truststore: "other.jks",
                ..by("mended.jks")
            },
            "CertificateNotTrusted",
            &["CN=authority of a test", "into the truststore"],
        ),
        (
            "broker_expired",
            By {
                listener: Listener::Expired,
                ..by("mended.jks")
            },
            "CertificateOutOfDate",
            &["has expired on 2021-03-01"],
        ),
        (
            "other_host",
            By {
                by_number: true,
                ..by("mended.jks")
            },
            "CertificateForOtherHost",
            &["is for `localhost`", "`disable_hostname_verification`"],
        ),
    ] {
        tables.push((name, scene.stream(name, &by)));
        scene.await_condition(name, reason, words);
    }
    // A file in the place of the one that did not fit is enough, as far as a file can mend it.
    scene.put("PKCS12", "old.p12", &good);
    scene.put("JKS", "stranger.jks", &good);
    Stores::default()
        .truststore("JKS", &scene.file("other.jks"), STORE, &scene.authority())
        .write();
    for (name, table) in tables
        .iter()
        .filter(|(name, _)| ["expired", "stranger", "other_authority"].contains(name))
    {
        wait_until(&format!("`{name}` goes on"), STREAM_SETTLES, || {
            scene.agent.table(table).exists().then_some(()).ok_or("no table yet")
        });
        scene.assert_all_in(table);
    }
}

#[test]
fn a_client_certificate_is_tried_before_a_stream_shows_it() {
    let scene = Scene::new();
    let good = scene.client("good", KeyKind::Ec, Kind::Good);
    let old = scene.client("old", KeyKind::Ec, Kind::Expired);
    let stranger = scene.client("stranger", KeyKind::Ec, Kind::OfAStranger);
    let mut stores = Stores::default();
    for (name, client) in [("good.jks", &good), ("old.jks", &old), ("stranger.jks", &stranger)] {
        stores.keystore("JKS", &scene.file(name), (STORE, STORE), &[client]);
    }
    scene.write(&mut stores);
    let by = |keystore| By::keystore(keystore);
    let wrong = By {
        keystore_password: "wrong",
        ..by("good.jks")
    };
    let expired = By {
        listener: Listener::Expired,
        ..by("good.jks")
    };
    for (by, worked, failed) in [
        (by("good.jks"), &["address", "tls", "authentication", "topics"][..], ""),
        (
            by("old.jks"),
            &[],
            "authentication: the keystore `/Volumes/main/secured/keys/old.jks`: the client's certificate, `CN=old`, has expired on \
             2021-03-01T00:00:00Z",
        ),
        (by("stranger.jks"), &["address", "tls"], "no authority that the broker trusts"),
        (wrong, &[], "the secret `stores/wrong`"),
        (by("none.jks"), &[], "there is no file `/Volumes/main/secured/keys/none.jks`"),
        (expired, &["address"], "tls: the certificate of Kafka"),
    ] {
        let stream = scene.message("tried", &by);
        let steps = scene.api().test_connection(Target::Stream(stream)).unwrap();
        let (found, _) = said(&steps);
        let told: Vec<String> = steps.iter().map(|step| format!("{}: {}", step.name, step.message)).collect();
        assert_eq!(found, worked, "{steps:?}");
        assert!(told.iter().any(|told| told.contains(failed)), "{failed}: {steps:?}");
        assert!(
            !worked.contains(&"topics") || told[2].contains("`CN=good`, good until "),
            "{steps:?}"
        );
    }
    let refused = scene.api().test_connection(Target::Stream(Stream::default())).unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    assert_eq!(scene.api().stream("main.secured.tried").unwrap_err().code(), Code::NotFound);
}

/// Longer than it takes to read some records, on a slow machine too.
const BRIEF: Duration = Duration::from_secs(45);

#[test]
fn a_certificate_that_expires_in_use_is_said_with_its_date_while_records_are_read_and_when_none_can_be() {
    let mut scene = Scene::new();
    scene.produce(5);
    let good = scene.client("good", KeyKind::Ec, Kind::Good);
    scene.write(Stores::default().keystore("JKS", &scene.file("client.jks"), (STORE, STORE), &[&good]));
    let table = scene.stream("brief", &By::keystore("client.jks"));
    scene.assert_all_in(&table);
    let brief = scene.client("brief", KeyKind::Ec, Kind::Brief(BRIEF));
    scene.put("JKS", "client.jks", &brief);
    wait_until("it is in use", STREAM_SETTLES, || {
        let log = scene.agent.log();
        log.contains("stores of keys were changed").then_some(()).ok_or("not yet")
    });
    let expired = "the client's certificate, `CN=brief`, has expired on 2";
    scene.await_condition("brief", "ClientCertificateExpired", &[expired, "as long as the connections"]);
    scene.produce(5);
    scene.assert_all_in(&table);

    // A new connection does not come about.
    scene.kafka.kafka().kill();
    scene.kafka.kafka().start_again();
    scene.await_condition(
        "brief",
        "ClientCertificateExpired",
        &["does not let the client in", expired, "into the keystore"],
    );
    scene.produce(5);
    scene.put("JKS", "client.jks", &good);
    scene.assert_all_in(&table);
}

#[test]
fn a_store_that_is_replaced_reconnects_at_the_exact_position() {
    let mut scene = Scene::new();
    let first = scene.client("first", KeyKind::Rsa, Kind::Good);
    scene.write(Stores::default().keystore("JKS", &scene.file("client.jks"), (STORE, STORE), &[&first]));
    scene.produce(20);
    let table = scene.stream("rotated", &By::keystore("client.jks"));
    scene.assert_all_in(&table);
    let reconnects = |scene: &Scene| scene.agent.log().matches("stores of keys were changed").count();
    assert_eq!(reconnects(&scene), 0);

    // One that the broker does not accept shows that the new one is in use, and that nothing is lost meanwhile.
    let stranger = scene.client("stranger", KeyKind::Ec, Kind::OfAStranger);
    scene.put("PKCS12", "client.jks", &stranger);
    scene.produce(20);
    scene.await_condition("rotated", "ClientCertificateRefused", &["no authority that the broker trusts"]);
    scene.produce(20);
    let second = scene.client("second", KeyKind::Ec, Kind::Good);
    scene.put("PKCS12", "client.jks", &second);
    scene.produce(20);
    scene.assert_all_in(&table);

    // Another password takes the secret and the file, in whichever order.
    scene.secret("store", "next-password-of-a-test");
    scene.await_condition("rotated", "KeystorePasswordWrong", &["the secret `stores/store`"]);
    scene.produce(20);
    let next = "next-password-of-a-test";
    Stores::default()
        .truststore("JKS", &scene.file("trust.jks"), next, &scene.authority())
        .keystore("JKS", &scene.file("client.jks"), (next, next), &[&first])
        .write();
    scene.produce(20);
    scene.assert_all_in(&table);
    // The first one was; a stream that waits opens the later ones by itself when it tries again, if that comes first.
    assert!(reconnects(&scene) >= 1, "the file was noticed while all was well");
    for client in [&first, &second, &stranger] {
        assert_without_keys(&scene.agent.log(), client.key());
    }
    assert!(!scene.agent.log().contains(next) && !scene.agent.log().contains(STORE));
}

#[test]
fn the_example_with_a_client_certificate_is_made_planned_empty_and_destroyed() {
    let mut scene = Scene::new();
    let client = scene.client("client", KeyKind::Rsa, Kind::Good);
    let keys = e2e::paths::fresh_folder("example-keys");
    Stores::default()
        .keystore("JKS", &keys.join("client.jks"), (STORE, KEY), &[&client])
        .truststore("JKS", &keys.join("truststore.jks"), STORE, &scene.authority())
        .write();
    let mut workspace = Workspace::new(scene.agent.endpoint());
    workspace.copy_from(&repository().join("examples/mtls-jks"));
    for (name, value) in [
        ("bootstrap_servers", scene.kafka.bootstrap(Listener::Mtls).as_str()),
        ("topic", scene.topic()),
        ("key_stores", keys.to_str().unwrap()),
        ("keystore_password", STORE),
        ("key_password", KEY),
        ("truststore_password", STORE),
    ] {
        workspace.set_environment(&format!("TF_VAR_{name}"), value);
    }
    let plan = workspace.plan();
    plan.assert_action("featurestore_stream.orders", Action::Create);
    // The volume and the secrets are not there yet, and the same plan makes them first.
    plan.run.assert_no_warning_but("");
    workspace.apply(&plan).assert_success();
    workspace.plan().assert_empty();
    scene.produce(20);
    scene.assert_all_in("main.shop.orders_raw");
    let state = workspace.state().to_string();
    assert!(!state.contains(STORE) && !state.contains(KEY));
    assert_without_keys(&state, client.key());
    workspace.destroy().assert_success();
    e2e::paths::discard(&keys);
}
