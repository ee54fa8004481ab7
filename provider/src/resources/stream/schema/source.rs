//! Attributes that say where messages come from and how to reach that place.

use stream_spec::connection::same_servers;
use tfplugin::schema::attribute::{Attribute, AttributeType};
use tfplugin::value::types::Type;

use super::super::equality;
use super::{REPLACES, optional_text, required_text, say, secret_ref};

/// `source_config`.
pub(super) fn source_config() -> Attribute {
    let subscription_mode = AttributeType::single([
        (
            "subscribe",
            optional_text("Comma-separated topic names; their order means nothing.", REPLACES).equal_text_by(equality::same_names),
        ),
        (
            "subscribe_pattern",
            optional_text(
                "Java regular expression (`java.util.regex.Pattern`) that must match the whole topic name. Topics that match later are read \
                 from their first record; the cluster's own topics never match. One that is deleted is not waited for, unless records of it \
                 may not have been read: then `operations.on_data_loss` decides.",
                REPLACES,
            ),
        ),
        (
            "assign",
            optional_text(
                "JSON object of topic to list of partitions; only those are read, ever: `{\"topic\": [0, 1]}`. One that is not there is named \
                 in the status, and read from its first record once it is.",
                REPLACES,
            )
            .equal_text_by(equality::same_assignment),
        ),
    ]);
    let kafka = AttributeType::single([
        (
            "subscription_mode",
            Attribute::required(
                subscription_mode,
                say("Which topics: exactly one of `subscribe`, `subscribe_pattern`, `assign`.", REPLACES),
            ),
        ),
        (
            "extra_options",
            Attribute::optional(
                Type::map(Type::String),
                say(
                    "Options of the reader; others are refused. `startingOffsets`: `latest` (the default), `earliest`, or JSON \
                     `{\"topic\": {\"0\": 23, \"1\": -2}}` with -1 for latest and -2 for earliest, for partitions that exist when the stream is \
                     created; one that is not named starts at latest, and one that is named must exist. `maxOffsetsPerTrigger`: most records \
                     in one commit. `includeHeaders`: `true` adds the column `headers`, an array of structs of `key` and `value`. \
                     `kafka.request.timeout.ms` (1000 to 300000): longest wait for a broker's answer. `kafka.max.partition.fetch.bytes`: \
                     what one fetch asks for per partition. `kafka.session.timeout.ms` is taken for the sake of configurations that \
                     have it: there is no consumer group whose session could end.",
                    REPLACES,
                ),
            )
            .null_is_empty(),
        ),
    ]);
    let names = |attribute: &'static str, what: &'static str| {
        let names = Attribute::required(Type::set(Type::String), say(what, REPLACES));
        AttributeType::single([(attribute, names)])
    };
    let kinesis = AttributeType::single([
        (
            "stream_names",
            Attribute::optional(names("names", "Stream names."), say("Kinesis streams by name.", REPLACES)),
        ),
        (
            "stream_arns",
            Attribute::optional(names("arns", "Stream ARNs."), say("Kinesis streams by ARN.", REPLACES)),
        ),
        (
            "extra_options",
            Attribute::optional(
                Type::map(Type::String),
                say(
                    "Options of the reader. Known are `consumerMode` (`polling` or `efo`, in any case), `consumerNamePrefix`, \
                     `maxFetchRate`, `minFetchPeriod`, `maxFetchDuration`, `maxRecordsPerFetch`, `shardsPerTask`, \
                     `fetchBufferSize`, `shardFetchInterval`.",
                    REPLACES,
                ),
            )
            .equal_by(equality::same_kinesis_options)
            .null_is_empty(),
        ),
    ]);
    let source = AttributeType::single([
        (
            "kafka_stream_config",
            Attribute::optional(kafka, say("Topics of Apache Kafka.", REPLACES)),
        ),
        (
            "kinesis_stream_config",
            Attribute::optional(kinesis, say("Streams of Amazon Kinesis.", REPLACES)),
        ),
    ]);
    let what = "Where messages come from: exactly one of `kafka_stream_config`, `kinesis_stream_config`.";
    Attribute::required(source, say(what, REPLACES)).replaces()
}

/// `connection_config`.
pub(super) fn connection_config() -> Attribute {
    let mtls = AttributeType::single([
        (
            "keystore_location",
            required_text("Key store (JKS or PKCS#12) at `/Volumes/<catalog>/<schema>/<volume>/…`.", REPLACES),
        ),
        (
            "truststore_location",
            required_text(
                "Trust store (JKS or PKCS#12) at `/Volumes/<catalog>/<schema>/<volume>/…`.",
                REPLACES,
            ),
        ),
        (
            "keystore_password_ref",
            Attribute::required(secret_ref(REPLACES), say("Secret that opens the key store.", REPLACES)),
        ),
        (
            "key_password_ref",
            Attribute::required(secret_ref(REPLACES), say("Secret that opens the private key.", REPLACES)),
        ),
        (
            "truststore_password_ref",
            Attribute::required(secret_ref(REPLACES), say("Secret that opens the trust store.", REPLACES)),
        ),
        (
            "disable_hostname_verification",
            Attribute::optional_computed(
                Type::Bool,
                say(
                    "True accepts a broker's certificate for another host name. Default `false`.",
                    REPLACES,
                ),
            )
            .default(false),
        ),
    ]);
    let direct = AttributeType::single([
        (
            "bootstrap_servers",
            required_text("Comma-separated `host:port`; host names in any case.", REPLACES).equal_text_by(same_servers),
        ),
        (
            "mtls_config",
            Attribute::required(mtls, say("Key store, trust store and the secrets that open them.", REPLACES)),
        ),
    ]);
    let connection = AttributeType::single([
        (
            "uc_connection_name",
            optional_text("Name of a `featurestore_connection` of the source's kind.", REPLACES),
        ),
        (
            "direct_mtls_config",
            Attribute::optional(direct, say("Mutual TLS without a connection; for Kafka.", REPLACES)),
        ),
    ]);
    let what = "How to reach the source: exactly one of `uc_connection_name`, `direct_mtls_config`.";
    Attribute::required(connection, say(what, REPLACES)).replaces()
}
