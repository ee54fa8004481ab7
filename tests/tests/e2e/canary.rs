//! No secret is written anywhere but where it is meant to be. Secrets that nothing else spells go through every feature of an agent
//! that is encrypted, asks who calls and logs all it can, by a caller who is no admin where one is enough: made, rotated, refused,
//! tried on brokers that do not let them in, in statements that break off behind them, in a bug, in a crash. Then every byte that
//! the agent, Terraform and the command line wrote is searched, and what readers see in the table of audit events. What the search
//! itself can find is proved in `canary_search`; `canary_places` has places of their own kind.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use e2e::api::{Api, Target};
use e2e::config::{self, CONNECTION, STREAM};
use e2e::kafka_secure::Listener;
use e2e::key_stores::{KeyKind, Kind, Stores};
use e2e::limits::{SHORT_COMMAND, STREAM_SETTLES};
use e2e::paths::{binary, discard, fresh_folder};
use e2e::spawn::output;
use e2e::wait::wait_until;
use featurestore_proto::v1::connection::Options;
use featurestore_proto::v1::{DirectMtlsConfig, MtlsConfig, SecretRef, SecurableType};

use crate::canary_places;
use crate::canary_scene::{MECHANISM, Scene, USER, assert_mode_600};

/// A text in a statement.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// What no syntax gives a meaning.
fn alphanumeric(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).collect()
}

/// The admin makes what only an admin can, by statements and calls, and gives ada just what she needs.
fn prepare(scene: &Scene, literal: &str) {
    let api = scene.agent.api();
    api.create_secret_scope("canaries").unwrap();
    let options = format!(
        "bootstrap_servers '{}', security_protocol 'SASL_SSL', sasl_mechanism '{MECHANISM}', user '{USER}', ca_pem '{}'",
        scene.kafka.bootstrap(Listener::SaslSsl),
        scene.kafka.authority()
    );
    for (name, password) in [("literal", quoted(literal)), ("referring", "secret('canaries', 'kept')".to_owned())] {
        let statement = format!("CREATE CONNECTION {name} TYPE KAFKA OPTIONS ({options}, password {password})");
        assert!(scene.command(&scene.admin(), &["sql"], &statement));
    }
    for (kind, name, privileges) in [
        (SecurableType::Catalog, "main", &["USE CATALOG"] as &[&str]),
        (SecurableType::Schema, "main.payments", &["USE SCHEMA", "CREATE TABLE"]),
        (SecurableType::Connection, "literal", &["MANAGE", "USE CONNECTION"]),
        (SecurableType::Connection, "referring", &["USE CONNECTION"]),
        (SecurableType::SecretScope, "canaries", &["READ", "WRITE"]),
    ] {
        api.set_grants(kind, name, &[("ada", privileges)]).unwrap();
    }
}

/// Terraform by ada: takes over, reads, rotates, moves the stream from one connection to the other.
fn by_terraform(scene: &mut Scene, literal: &str, kept: &str) {
    scene.workspace.set_environment("TF_VAR_literal", literal);
    scene.workspace.set_environment("TF_VAR_kept", kept);
    scene.write(1, "referring");
    let imported = scene.workspace.import(CONNECTION, "literal");
    scene.note(&imported.output);
    imported.assert_success();
    scene.apply();
    scene.produce(8);
    let (literal, kept) = (scene.canary("second literal password"), scene.canary("second kept password"));
    scene.workspace.set_environment("TF_VAR_literal", &literal);
    scene.workspace.set_environment("TF_VAR_kept", &kept);
    scene.write(2, "referring");
    scene.apply();
    scene.kafka.set_scram_password(USER, MECHANISM, &kept);
    scene.produce(8);
}

/// Connections that do not work, tried and used by a stream.
fn broken_connections(scene: &mut Scene) {
    let wrong = scene.canary("wrong password");
    let right = scene.kafka.bootstrap(Listener::SaslSsl);
    let port = right.rsplit(':').next().unwrap().to_owned();
    for (name, bootstrap) in [
        ("wrong_password", right.clone()),
        ("wrong_host", format!("127.0.0.1:{port}")),
        ("nobody_there", "127.0.0.1:1".to_owned()),
        ("no_tls", scene.kafka.bootstrap(Listener::SaslPlaintext)),
    ] {
        let connection = scene.connection(name, &bootstrap, &wrong);
        let steps = scene.agent.api().test_connection(Target::Connection(connection)).unwrap();
        assert!(steps.iter().any(|step| !step.ok), "{name}: {steps:?}");
        scene.note(&format!("{steps:?}"));
    }
    let altered = format!("ALTER CONNECTION literal OPTIONS (password {})", quoted(&wrong));
    assert!(scene.command(&scene.ada, &["sql"], &altered));
    let mut stream = e2e::api::stream_message(&scene.topic, &config::order_schema().to_string());
    stream.name = "main.payments.broken".to_owned();
    stream
        .ingestion_config
        .as_mut()
        .unwrap()
        .ingestion_destination
        .as_mut()
        .unwrap()
        .delta_table_name = "main.payments.broken_raw".to_owned();
    stream.connection_config = Some(featurestore_proto::v1::ConnectionConfig {
        connection: Some(featurestore_proto::v1::connection_config::Connection::UcConnectionName(
            "literal".to_owned(),
        )),
    });
    let api = Api::secured(scene.agent.endpoint(), &scene.agent.certificates(), &scene.ada);
    api.declare_stream(stream).unwrap();
    let status = wait_until("the wrong password shows", STREAM_SETTLES, || {
        let status = api.stream("main.payments.broken").unwrap().status.unwrap();
        let text = format!("{status:?}");
        if text.contains("AuthenticationFailed") {
            Ok(text)
        } else {
            Err(text)
        }
    });
    scene.note(&status);
    assert!(api.delete_stream("main.payments.broken").is_ok());
}

/// A stream that shows a certificate, by a store and a key with passwords of their own, and one whose key does not open.
fn by_certificate(scene: &mut Scene) {
    let (store, key) = (scene.canary("password of a store"), scene.canary("password of a key"));
    let client = scene.kafka.clients().client("canary", KeyKind::Ec, Kind::Good);
    scene.know_key("key in a store", client.key());
    let keys = fresh_folder("canary-keys");
    let authority = scene.kafka.clients().certificate("broker", scene.kafka.authority());
    Stores::default()
        .keystore("JKS", &keys.join("client.jks"), (&store, &key), &[&client])
        .truststore("PKCS12", &keys.join("trust.p12"), &store, &authority)
        .write();
    let api = scene.agent.api().clone();
    api.create_volume("main.payments.stores", keys.to_str().unwrap()).unwrap();
    api.put_secret("canaries", "store", &store).unwrap();
    api.put_secret("canaries", "key", &key).unwrap();
    let secret = |key: &str| {
        Some(SecretRef {
            scope: "canaries".to_owned(),
            key: key.to_owned(),
        })
    };
    for (name, key_password, expected) in [("certified", "key", "Active"), ("misread", "store", "KeyPasswordWrong")] {
        let mut stream = e2e::api::stream_message(&scene.topic, &config::order_schema().to_string());
        stream.name = format!("main.payments.{name}");
        let destination = stream.ingestion_config.as_mut().unwrap().ingestion_destination.as_mut();
        destination.unwrap().delta_table_name = format!("main.payments.{name}_raw");
        let direct = DirectMtlsConfig {
            bootstrap_servers: scene.kafka.bootstrap(Listener::Mtls),
            mtls_config: Some(MtlsConfig {
                keystore_location: "/Volumes/main/payments/stores/client.jks".to_owned(),
                truststore_location: "/Volumes/main/payments/stores/trust.p12".to_owned(),
                keystore_password_ref: secret("store"),
                key_password_ref: secret(key_password),
                truststore_password_ref: secret("store"),
                disable_hostname_verification: false,
            }),
        };
        stream.connection_config = Some(featurestore_proto::v1::ConnectionConfig {
            connection: Some(featurestore_proto::v1::connection_config::Connection::DirectMtlsConfig(direct)),
        });
        scene.note(&format!("{:?}", api.check_stream(stream.clone()).unwrap()));
        api.declare_stream(stream).unwrap();
        let name = format!("main.payments.{name}");
        let status = wait_until(&format!("`{name}` is {expected}"), STREAM_SETTLES, || {
            let status = api.stream(&name).unwrap().status.unwrap();
            let text = format!("{:?} {status:?}", status.state());
            if text.contains(expected) { Ok(text) } else { Err(text) }
        });
        scene.note(&status);
        assert!(api.delete_stream(&name).is_ok());
    }
    api.delete_volume("main.payments.stores", true).unwrap();
    discard(&keys);
}

/// Statements that are wrong, most of them right behind the secret.
fn statements(scene: &mut Scene) {
    let secret = scene.canary("password in a statement");
    let quoted = quoted(&secret);
    let bare = alphanumeric(&secret);
    for statement in [
        format!("CREATE CONNECTION p TYPE KAFKA OPTIONS (password {quoted} oops)"),
        format!("CREATE CONNECTION p TYPE KAFKA OPTIONS (password {quoted}"),
        format!("CREATE CONNECTION p TYPE KAFKA OPTIONS (password {}", quoted.trim_end_matches('\'')),
        format!("CREATE CONNECTION p TYPE KAFKA OPTIONS (pasword {quoted})"),
        format!("CREATE CONNECTION p TYPE KAFKA OPTIONS ({quoted} password)"),
        format!("CREATE CONNECTION p TYPE KAFKA OPTIONS (password {bare})"),
        format!("CREATE CONNECTION p TYPE KAFKA OPTIONS (password \"{bare}\" \"{bare}\")"),
        format!("CREATE CONNECTION p TYPE KAFKA OPTIONS (schema_registry_api_secret {quoted})"),
        format!("CREATE CONNECTION p TYPE KAFKA OPTIONS (password {quoted})"),
        format!("CREATE CONNECTION p TYPE KINESIS OPTIONS (password {quoted})"),
        format!("ALTER CONNECTION literal OPTIONS (password {quoted}) {quoted}"),
        format!("ALTER CONNECTION nothing OPTIONS (password {quoted})"),
    ] {
        let done = scene.command(&scene.admin(), &["sql"], &statement);
        assert!(!done, "{}", statement.replace(&bare, "…"));
    }
}

/// Callers who are not known, and what a caller may not do.
fn refusals(scene: &mut Scene) {
    let word = alphanumeric(&scene.canary("token of nobody"));
    let header = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZGEifQ";
    for token in [word.clone(), format!("fst_{word}"), format!("{header}.{word}")] {
        assert!(!scene.command(&token, &["token", "list"], ""));
        let api = Api::secured(scene.agent.endpoint(), &scene.agent.certificates(), &token);
        scene.note(&format!("{:?}", api.agent().unwrap_err()));
        scene.workspace.set_environment("FEATURESTORE_TOKEN", &token);
        let run = scene.workspace.apply_now();
        run.assert_error(&["Not Authenticated"]);
        scene.note(&run.output);
    }
    scene.workspace.set_environment("FEATURESTORE_TOKEN", &scene.ada);
    let denied = scene.canary("denied secret");
    let api = Api::secured(scene.agent.endpoint(), &scene.agent.certificates(), &scene.ada);
    scene.note(&format!("{:?}", api.put_secret("others", "kept", &denied).unwrap_err()));
    let mut connection = scene.connection("new", "127.0.0.1:1", &denied);
    scene.note(&format!("{:?}", api.create_connection(&connection).unwrap_err()));
    if let Some(Options::Kafka(kafka)) = &mut connection.options {
        // No address: a connection that is sound would be made.
        kafka.schema_registry_url = Some("registry.example".to_owned());
        kafka.schema_registry_api_key = Some("key".to_owned());
        kafka.schema_registry_api_secret = Some(denied);
    }
    scene.note(&format!("{:?}", scene.agent.api().create_connection(&connection).unwrap_err()));
}

/// A bug, while the agent holds a secret.
fn bugs(scene: &mut Scene) {
    let secret = scene.canary("secret in a bug");
    let points = scene.agent.failpoints();
    for point in [
        "store.before_document",
        "store.after_document",
        "store.before_connection",
        "store.after_connection",
    ] {
        points.arm(&format!("{point} panic"));
        let kept = scene.agent.api().put_secret("canaries", "kept-in-a-bug", &secret);
        let connection = scene.connection(&point.replace('.', "_"), "127.0.0.1:1", &secret);
        let made = scene.agent.api().create_connection(&connection).map(drop);
        scene.note(&format!("{kept:?} {made:?}"));
        assert!(kept.is_err() || made.is_err(), "{point} did nothing");
        points.disarm();
        assert!(
            scene.agent.log().contains(&format!("the point {point} is armed to panic")),
            "{point}"
        );
    }
    scene.agent.api().put_secret("canaries", "kept-in-a-bug", &secret).unwrap();
}

/// The stopped agent's master key is replaced.
fn rotate_the_master_key(scene: &mut Scene) {
    let mut command = Command::new(binary("featurestore-agent"));
    command
        .args(["rotate-master-key", "--data-keys", "--data-dir"])
        .arg(scene.agent.data_folder())
        .arg("--master-key-file")
        .arg(scene.agent.master_key_file());
    let done = output(command, "rotate-master-key", SHORT_COMMAND);
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    scene.note(&said);
    scene.note(&String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success());
    scene.know_the_master_key("second master key");
    // The former key stays until somebody removes it, as it says.
    let former = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("master.key.");
    let mut files = fs::read_dir(scene.agent.folder()).unwrap().map(|entry| entry.unwrap().path());
    let former = files.find(former).unwrap();
    assert!(said.contains(former.to_str().unwrap()), "{said}");
    assert_mode_600(&former);
    fs::remove_file(former).unwrap();
}

#[test]
fn no_secret_is_written_where_it_does_not_belong() {
    let mut scene = Scene::new();
    let (literal, kept) = (scene.canary("literal password"), scene.canary("kept password"));
    scene.kafka.set_scram_password(USER, MECHANISM, &kept);
    scene.prove_that_leaks_show();
    canary_places::prove_that_the_audit_is_searched(&scene);
    prepare(&scene, &literal);
    by_terraform(&mut scene, &literal, &kept);
    broken_connections(&mut scene);
    by_certificate(&mut scene);
    statements(&mut scene);
    refusals(&mut scene);
    canary_places::tokens_of_an_issuer(&mut scene);
    canary_places::volumes(&mut scene);
    canary_places::health_checks(&scene);
    bugs(&mut scene);
    let log = scene.agent.log();
    assert!(
        log.contains("librdkafka reports") && log.contains("TRACE") && log.contains("SCRAM"),
        "the log says too little"
    );
    assert!(scene.workspace.folder().join("trace.log").metadata().unwrap().len() > 0);
    scene.search("while the agent runs");
    scene.agent.kill();
    scene.search("after a kill");
    rotate_the_master_key(&mut scene);
    scene.search("after the rotation of the master key");
    canary_places::master_key_in_the_environment(&mut scene);
    scene.produce(8);
    scene.search("with the master key in the environment");
    // The secret goes last, after the connection that is not Terraform's: as things are then, nothing is planned anew.
    let destroy = ["destroy", "-json", "-auto-approve", "-input=false", "-refresh=false"];
    let targets = ["-target", STREAM, "-target", CONNECTION];
    for arguments in [[destroy.as_slice(), &targets].concat(), destroy.to_vec()] {
        let run = scene.workspace.run(&arguments);
        scene.note(&run.output);
        run.assert_success();
        let gone = scene.command(&scene.admin(), &["sql"], "DROP CONNECTION IF EXISTS referring");
        assert!(gone);
    }
    assert!(scene.agent.terminate().success());
    scene.search("at the end");
}
