//! Direct mTLS and the options of connections.

use super::*;

fn kafka_options() -> KafkaConnectionOptions {
    KafkaConnectionOptions {
        bootstrap_servers: "broker-1:9092, [::1]:9093".into(),
        security_protocol: SecurityProtocol::SaslSsl,
        sasl_mechanism: Some("SCRAM-SHA-512".into()),
        user: Some("reader".into()),
        password_secret: Some(secret()),
        credential: None,
        ca_pem: None,
        schema_registry_url: None,
        schema_registry_api_key: None,
        schema_registry_api_secret: None,
    }
}

fn plaintext() -> KafkaConnectionOptions {
    let security_protocol = SecurityProtocol::Plaintext;
    KafkaConnectionOptions {
        security_protocol,
        sasl_mechanism: None,
        user: None,
        password_secret: None,
        ..kafka_options()
    }
}

fn check_kafka(options: KafkaConnectionOptions, expected: &[&str]) {
    let name = ConnectionName::parse("kafka").expect("legal");
    check_messages(
        &connection(&ConnectionSpec {
            name,
            comment: None,
            options: ConnectionOptions::Kafka(options),
        }),
        expected,
    );
}

#[test]
fn direct_mtls_names_files_on_volumes_and_secrets() {
    let field = "connection_config.direct_mtls_config";
    let with = |change: fn(&mut DirectMtlsConfig)| {
        move |stream: &mut StreamSpec| {
            let mut direct = mtls();
            change(&mut direct);
            stream.connection = ConnectionConfig::DirectMtls(direct);
        }
    };
    check(
        with(|direct| direct.bootstrap_servers = "broker".into()),
        &[&format!("{field}.bootstrap_servers: `broker` has no port")],
    );
    check(
        with(|direct| direct.mtls.keystore_location = "/tmp/client.jks".into()),
        &[&format!(
            "{field}.mtls_config.keystore_location: the location is not a file's path in a volume: it does not begin with /Volumes/"
        )],
    );
    check(
        with(|direct| direct.mtls.truststore_location = "/Volumes/main/shop/stores/../x.jks".into()),
        &[&format!(
            "{field}.mtls_config.truststore_location: the location is not a file's path in a volume: a part of it is `.` or `..`"
        )],
    );
    check(
        with(|direct| direct.mtls.key_password_ref.key.clear()),
        &[&format!("{field}.mtls_config.key_password_ref.key: the key is empty")],
    );
}

#[test]
fn kafka_connections_say_how_to_authenticate() {
    check_kafka(kafka_options(), &[]);
    check_kafka(plaintext(), &[]);
    let credential = KafkaConnectionOptions {
        credential: Some("msk".into()),
        security_protocol: SecurityProtocol::SaslSsl,
        ..plaintext()
    };
    check_kafka(credential.clone(), &[]);
    check_kafka(
        KafkaConnectionOptions {
            sasl_mechanism: Some("GSSAPI".into()),
            ..kafka_options()
        },
        &["kafka.sasl_mechanism: the mechanism is not supported"],
    );
    check_kafka(
        KafkaConnectionOptions {
            user: None,
            ..kafka_options()
        },
        &["kafka.user: the mechanism needs a user"],
    );
    check_kafka(
        KafkaConnectionOptions {
            security_protocol: SecurityProtocol::SaslPlaintext,
            ..plaintext()
        },
        &["kafka.sasl_mechanism: SASL_PLAINTEXT needs a way to authenticate"],
    );
    check_kafka(
        KafkaConnectionOptions {
            user: Some("reader".into()),
            ..credential.clone()
        },
        &["kafka.user: a credential is given as well"],
    );
    check_kafka(
        KafkaConnectionOptions {
            security_protocol: SecurityProtocol::SaslPlaintext,
            ..credential
        },
        &["kafka.security_protocol: a credential is used over TLS only"],
    );
    check_kafka(
        KafkaConnectionOptions {
            user: Some("reader".into()),
            ..plaintext()
        },
        &["kafka.user: PLAINTEXT does not authenticate by SASL"],
    );
}

#[test]
fn kafka_connections_name_servers_certificates_and_registry() {
    for (servers, expected) in [
        ("", "a server is empty"),
        ("broker", "`broker` has no port"),
        ("broker:0", "`0` is not a port"),
        ("broker:70000", "`70000` is not a port"),
        ("SSL://broker:9092", "`SSL://broker:9092` has a scheme"),
        ("bro ker:9092", "`bro ker` is not a host name or address"),
        ("[::x]:9092", "`[::x]` is not a host name or address"),
        ("a:1,,b:2", "a server is empty"),
    ] {
        let options = KafkaConnectionOptions {
            bootstrap_servers: servers.into(),
            ..plaintext()
        };
        check_kafka(options, &[&format!("kafka.bootstrap_servers: {expected}")]);
    }
    let with_ca = |ca_pem: &str, options| KafkaConnectionOptions {
        ca_pem: Some(ca_pem.into()),
        ..options
    };
    check_kafka(
        with_ca("-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----", kafka_options()),
        &[],
    );
    check_kafka(with_ca("ca.pem", kafka_options()), &["kafka.ca_pem: there is no certificate in it"]);
    check_kafka(
        with_ca("-----BEGIN CERTIFICATE-----", plaintext()),
        &["kafka.ca_pem: PLAINTEXT does not use TLS"],
    );
    let with_registry = |url: &str| KafkaConnectionOptions {
        schema_registry_url: Some(url.into()),
        ..plaintext()
    };
    check_kafka(with_registry("https://registry.example.com/a"), &[]);
    check_kafka(
        with_registry("registry:8081"),
        &["kafka.schema_registry_url: this is not an http or https address"],
    );
    check_kafka(with_registry("http://"), &["kafka.schema_registry_url: the address has no host"]);
    check_kafka(
        with_registry("http://user:hunter2@registry"),
        &["kafka.schema_registry_url: the address holds a user or password (found \"an address\")"],
    );
    check_kafka(
        KafkaConnectionOptions {
            schema_registry_api_secret: Some(secret()),
            ..plaintext()
        },
        &[
            "kafka.schema_registry_api_secret: there is no registry to use it with",
            "kafka.schema_registry_api_key: the API secret has no key",
        ],
    );
}

#[test]
fn kinesis_connections_name_region_and_credential() {
    let options = |aws_region: &str, credential: &str, endpoint: Option<&str>| KinesisConnectionOptions {
        aws_region: aws_region.into(),
        credential: credential.into(),
        endpoint: endpoint.map(str::to_owned),
    };
    for (options, expected) in [
        (options("eu-central-1", "reader", Some("http://localhost:4566")), &[][..]),
        (
            options("Frankfurt", "reader", None),
            &["kinesis.aws_region: this is not an AWS region"],
        ),
        (options("eu-central-1", "", None), &["kinesis.credential: the name is empty"]),
        (
            options("eu-central-1", "reader", Some("localhost")),
            &["kinesis.endpoint: this is not an http or https address"],
        ),
    ] {
        let name = ConnectionName::parse("kinesis").expect("legal");
        check_messages(
            &connection(&ConnectionSpec {
                name,
                comment: None,
                options: ConnectionOptions::Kinesis(options),
            }),
            expected,
        );
    }
}

#[test]
fn the_texts_of_options_are_bounded_and_hold_no_control_characters() {
    let long = "a".repeat(crate::limits::CONNECTION_OPTION_BYTES_MAX + 1);
    for (user, expected) in [
        ("ada\0root", "kafka.user: the text holds the character '\\0'"),
        ("ada\n", "kafka.user: the text holds the character '\\n'"),
        (long.as_str(), "kafka.user: the text has 524289 bytes"),
    ] {
        check_kafka(
            KafkaConnectionOptions {
                user: Some(user.to_owned()),
                ..kafka_options()
            },
            &[expected],
        );
    }
    check_kafka(
        KafkaConnectionOptions {
            ca_pem: Some("-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----\n".to_owned()),
            ..kafka_options()
        },
        &[],
    );
}
