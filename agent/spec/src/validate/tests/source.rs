//! Kafka subscriptions and options, and the rules of Kinesis streams.

use super::*;

#[test]
fn subscriptions_are_read() {
    let field = "source_config.kafka_stream_config.subscription_mode";
    check(subscribe(SubscriptionMode::Subscribe(" orders , payments ".into())), &[]);
    check(subscribe(SubscriptionMode::Assign(r#"{"orders":[0,1]}"#.into())), &[]);
    check(subscribe(SubscriptionMode::SubscribePattern("orders-.*".into())), &[]);
    for (mode, expected) in [
        (SubscriptionMode::Subscribe("".into()), "subscribe: no topic is named"),
        (SubscriptionMode::Subscribe("orders,".into()), "subscribe: a topic name is empty"),
        (
            SubscriptionMode::Subscribe("orders,orders".into()),
            "subscribe: the topic `orders` is listed twice",
        ),
        (
            SubscriptionMode::Subscribe("orders.*".into()),
            "subscribe: the topic name `orders.*` holds '*'",
        ),
        (
            SubscriptionMode::Subscribe("..".into()),
            "subscribe: the topic name `..` is not legal",
        ),
        (
            SubscriptionMode::SubscribePattern("".into()),
            "subscribe_pattern: the pattern is empty",
        ),
        (
            SubscriptionMode::SubscribePattern("orders-(eu|us".into()),
            "subscribe_pattern: the pattern has a group that is not closed at character 7, found `(eu|us`",
        ),
        (
            SubscriptionMode::SubscribePattern("*".into()),
            "subscribe_pattern: the pattern has a quantifier of nothing at character 0, found `*`",
        ),
        (
            SubscriptionMode::Assign("orders".into()),
            "assign: the text is not topics and partitions",
        ),
        (SubscriptionMode::Assign("{}".into()), "assign: no topic is named"),
        (
            SubscriptionMode::Assign(r#"{"orders":[]}"#.into()),
            "assign: the topic `orders` has no partitions",
        ),
        (
            SubscriptionMode::Assign(r#"{"orders":[-1]}"#.into()),
            "assign: the topic `orders` has the partition -1",
        ),
        (
            SubscriptionMode::Assign(r#"{"orders":[1,1]}"#.into()),
            "assign: the topic `orders` lists the partition 1 twice",
        ),
        (
            SubscriptionMode::Assign(r#"{"orders":[0],"orders":[1]}"#.into()),
            "assign: the text is not topics and partitions: `orders` appears twice",
        ),
    ] {
        check(subscribe(mode), &[&format!("{field}.{expected}")]);
    }
    let options = map(&[("startingOffsets", r#"{"payments":{"0":1}}"#), ("minPartitions", "1")]);
    let source = |options| {
        SourceConfig::Kafka(KafkaSource {
            subscription: SubscriptionMode::Subscribe("orders".into()),
            extra_options: options,
        })
    };
    let field = "source_config.kafka_stream_config.extra_options";
    check(
        |stream| stream.source = source(options),
        &[&format!("{field}: `minPartitions` is not an option of a Kafka stream")],
    );
    let options = map(&[("startingOffsets", r#"{"payments":{"0":1}}"#)]);
    check(
        |stream| stream.source = source(options),
        &[&format!("{field}: `startingOffsets` names a topic that the stream does not read")],
    );
}

#[test]
fn start_positions_name_what_the_stream_can_read() {
    let stranger = "`startingOffsets` names a topic that the stream does not read";
    let unlisted = "`startingOffsets` names a partition that `assign` does not list";
    let pattern = |text: &str| SubscriptionMode::SubscribePattern(text.into());
    let assign = |text: &str| SubscriptionMode::Assign(text.into());
    for (subscription, starts, expected) in [
        (pattern("orders-.*"), r#"{"orders-eu":{"0":1,"7":-2}}"#, vec![]),
        (
            pattern("orders-.*"),
            r#"{"orders-":{"0":1},"xorders-eu":{"0":1},"orders":{"0":1}}"#,
            vec![stranger; 2],
        ),
        (pattern(".*"), r#"{"__consumer_offsets":{"0":-2}}"#, vec![stranger]),
        (pattern(".*"), "earliest", vec![]),
        (assign(r#"{"orders":[0,2]}"#), r#"{"orders":{"0":-1,"2":5}}"#, vec![]),
        (
            assign(r#"{"orders":[0,2]}"#),
            r#"{"orders":{"1":5,"2":5,"3":-2}}"#,
            vec![unlisted; 2],
        ),
        (assign(r#"{"orders":[0,2]}"#), r#"{"payments":{"0":5}}"#, vec![stranger]),
    ] {
        let source = SourceConfig::Kafka(KafkaSource {
            subscription,
            extra_options: map(&[("startingOffsets", starts)]),
        });
        let expected: Vec<String> = expected
            .iter()
            .map(|problem| format!("source_config.kafka_stream_config.extra_options: {problem}"))
            .collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        check(|stream| stream.source = source, &expected);
    }
}

#[test]
fn a_kinesis_stream_has_its_own_rules() {
    let kinesis = |streams| {
        move |stream: &mut StreamSpec| {
            stream.source = SourceConfig::Kinesis(KinesisSource {
                streams,
                extra_options: map(&[("consumerMode", "push")]),
            });
        }
    };
    let field = "source_config.kinesis_stream_config";
    let option = format!("{field}.extra_options: `consumerMode` is not a mode");
    let arn = "arn:aws:kinesis:eu-central-1:123456789012:stream/orders";
    check_on(kinesis_stream(), kinesis(KinesisStreams::Arns(set(&[arn]))), &[&option]);
    check_on(
        kinesis_stream(),
        kinesis(KinesisStreams::Names(set(&[]))),
        &[&format!("{field}.stream_names.names: no stream is named"), &option],
    );
    for streams in [KinesisStreams::Names(set(&[arn])), KinesisStreams::Arns(set(&["orders"]))] {
        let attribute = if matches!(streams, KinesisStreams::Names(_)) {
            "stream_names.names"
        } else {
            "stream_arns.arns"
        };
        check_on(
            kinesis_stream(),
            kinesis(streams),
            &[&format!("{field}.{attribute}: this is not a Kinesis stream"), &option],
        );
    }
    let text = SchemaText::Json(r#"{"type":"string"}"#.into());
    check_on(
        kinesis_stream(),
        direct(Some(text), None),
        &[
            "schema_config.direct_schemas.payload_schema: a Kinesis stream needs a payload schema",
            "schema_config.direct_schemas.key_schema: a Kinesis stream has no key schema",
        ],
    );
    check_on(
        kinesis_stream(),
        |stream| stream.excluded_columns = set(&["key.id"]),
        &["excluded_columns: `key` is STRING, which has no field `id`"],
    );
    check_on(
        kinesis_stream(),
        |stream| stream.connection = ConnectionConfig::DirectMtls(mtls()),
        &["connection_config.direct_mtls_config: direct mTLS is for Kafka only"],
    );
    check_on(
        kinesis_stream(),
        |stream| stream.schemas = SchemaConfig::Registry(registry("FORMAT_AVRO")),
        &["schema_config.schema_registry_config: a Kinesis stream has no schema registry"],
    );
}
