//! Sources: topics, partitions, Kinesis streams, and their options (product parts K1 to K3, N1, N2).

use crate::options;
use crate::stream::{KafkaSource, KinesisSource, KinesisStreams, SourceConfig, SubscriptionMode};
use crate::subscription::Read;
use crate::violation::Violation;

pub(super) fn check(source: &SourceConfig, violations: &mut Vec<Violation>) {
    match source {
        SourceConfig::Kafka(kafka) => check_kafka(kafka, violations),
        SourceConfig::Kinesis(kinesis) => check_kinesis(kinesis, violations),
    }
}

fn check_kafka(kafka: &KafkaSource, violations: &mut Vec<Violation>) {
    let mode = "source_config.kafka_stream_config.subscription_mode";
    let text = match &kafka.subscription {
        SubscriptionMode::Subscribe(text) | SubscriptionMode::SubscribePattern(text) | SubscriptionMode::Assign(text) => text,
    };
    let read =
        Read::of(&kafka.subscription).map_err(|(name, error)| Violation::new(format!("{mode}.{name}"), text, error.problem, error.remedy));
    match (options::kafka::parse(&kafka.extra_options), read) {
        (Ok(options), Ok(read)) => violations.extend(options::kafka::check_starts(&options, &read)),
        (options, read) => {
            violations.extend(read.err());
            violations.extend(options.err().into_iter().flatten());
        }
    }
}

fn check_kinesis(kinesis: &KinesisSource, violations: &mut Vec<Violation>) {
    let (attribute, entries) = match &kinesis.streams {
        KinesisStreams::Names(names) => ("stream_names.names", names),
        KinesisStreams::Arns(arns) => ("stream_arns.arns", arns),
    };
    let field = format!("source_config.kinesis_stream_config.{attribute}");
    if entries.is_empty() {
        violations.push(Violation::missing(field.clone(), "no stream is named", "name at least one"));
    }
    for entry in entries {
        let (legal, remedy) = match &kinesis.streams {
            KinesisStreams::Names(_) => (
                options::kinesis::is_kinesis_name(entry),
                "use 1 to 128 letters, digits, `.`, `_` and `-`; an ARN goes into `stream_arns`",
            ),
            KinesisStreams::Arns(_) => (
                is_stream_arn(entry),
                "write it as `arn:aws:kinesis:<region>:<account>:stream/<name>`",
            ),
        };
        if !legal {
            violations.push(Violation::new(field.clone(), entry, "this is not a Kinesis stream", remedy));
        }
    }
    violations.extend(options::kinesis::check(&kinesis.extra_options));
}

fn is_stream_arn(text: &str) -> bool {
    let parts: Vec<&str> = text.splitn(6, ':').collect();
    let ["arn", partition, "kinesis", region, account, resource] = parts.as_slice() else {
        return false;
    };
    partition.starts_with("aws")
        && !region.is_empty()
        && !account.is_empty()
        && account.bytes().all(|byte| byte.is_ascii_digit())
        && resource.strip_prefix("stream/").is_some_and(options::kinesis::is_kinesis_name)
}
