//! The connection resource's attributes: what each one is and what a change of it costs.

use stream_spec::connection::same_servers;
use tfplugin::schema::Schema;
use tfplugin::schema::attribute::{Attribute, AttributeType};
use tfplugin::value::types::Type;

use crate::resources::stream::schema::secret_ref;
use crate::resources::{name_attribute, say, uid_attribute};

const IN_PLACE: &str = "Changes in place: pipelines reconnect with the new value at their exact positions.";
const WRITE_ONLY: &str = "Write-only: it is in no plan and no state. Sent at create, when `secrets_wo_version` or where it is sent to changes, and \
    when someone else has written it.";

/// The resource's schema.
pub(crate) fn schema() -> Schema {
    Schema::new(
        "A named way to reach a source. Streams refer to it by name.",
        [
            ("id", uid_attribute("connection")),
            ("name", name_attribute("Letters, digits, `_` and `-`.", "connection")),
            ("comment", optional("What the connection is for.")),
            (
                "kafka",
                Attribute::optional(
                    kafka(),
                    say(
                        "Options of Apache Kafka. Exactly one of `kafka`, `kinesis`.",
                        "Its options change in place; another kind replaces the connection.",
                    ),
                ),
            ),
            (
                "kinesis",
                Attribute::optional(
                    kinesis(),
                    say(
                        "Options of Amazon Kinesis. Exactly one of `kafka`, `kinesis`.",
                        "Its options change in place; another kind replaces the connection.",
                    ),
                ),
            ),
            (
                "secrets_wo_version",
                Attribute::optional(
                    Type::Number,
                    say(
                        "Version of the write-only values. Any number will do.",
                        "A new number sends the write-only values again.",
                    ),
                ),
            ),
            (
                "secrets_revision",
                Attribute::computed(
                    Type::String,
                    say(
                        "Random, and new with every write of a secret value by anybody: it says that one changed, never what it is.",
                        "Set by the agent.",
                    ),
                ),
            ),
        ],
    )
}

fn kafka() -> AttributeType {
    AttributeType::single([
        (
            "bootstrap_servers",
            Attribute::required(Type::String, say("Comma-separated `host:port`; host names in any case.", IN_PLACE))
                .equal_text_by(same_servers),
        ),
        (
            "security_protocol",
            Attribute::optional_computed(
                Type::String,
                say(
                    "`SASL_SSL` (default), `SSL`, or, for brokers on this machine, `SASL_PLAINTEXT` or `PLAINTEXT`.",
                    IN_PLACE,
                ),
            )
            .default("SASL_SSL"),
        ),
        (
            "sasl_mechanism",
            optional("`PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`; needs `user` and a password."),
        ),
        ("user", optional("SASL user.")),
        ("password_wo", secret("SASL password. Conflicts with `password_secret`.")),
        (
            "password_secret",
            Attribute::optional(
                secret_ref(IN_PLACE),
                say("Secret that holds the SASL password. Conflicts with `password_wo`.", IN_PLACE),
            ),
        ),
        (
            "credential",
            optional("Service credential for IAM, as for Amazon MSK; instead of SASL."),
        ),
        ("ca_pem", optional("Certificate authorities to trust, PEM.")),
        ("schema_registry_url", optional("Address of a Confluent schema registry.")),
        ("schema_registry_api_key", optional("API key of the registry.")),
        (
            "schema_registry_api_secret_wo",
            secret("API secret of the registry. Conflicts with `schema_registry_api_secret_secret`."),
        ),
        (
            "schema_registry_api_secret_secret",
            Attribute::optional(
                secret_ref(IN_PLACE),
                say(
                    "Secret that holds the registry's API secret. Conflicts with `schema_registry_api_secret_wo`.",
                    IN_PLACE,
                ),
            ),
        ),
    ])
}

fn kinesis() -> AttributeType {
    AttributeType::single([
        ("aws_region", Attribute::required(Type::String, say("AWS region.", IN_PLACE))),
        (
            "credential",
            Attribute::required(Type::String, say("Service credential.", IN_PLACE)),
        ),
        ("endpoint", optional("Another endpoint than the region's.")),
    ])
}

fn optional(what: &str) -> Attribute {
    Attribute::optional(Type::String, say(what, IN_PLACE))
}

fn secret(what: &str) -> Attribute {
    Attribute::optional(Type::String, say(what, WRITE_ONLY)).sensitive().write_only()
}
