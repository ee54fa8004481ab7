//! `featurestore_table_columns`: the columns that a stream's table would have. Asks nobody: the stream model decides, as it does in
//! plans and in the agent.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use featurestore_proto::convert::direct_schemas_to_spec;
use featurestore_proto::v1;
use stream_spec::options::kafka::INCLUDE_HEADERS;
use stream_spec::stream::{DirectSchemas, KafkaSource, KinesisSource, KinesisStreams, SourceConfig, SubscriptionMode};
use stream_spec::table;
use stream_spec::types::Field;
use stream_spec::violation::Violation;
use tfplugin::call::CallContext;
use tfplugin::data_source::{DataRead, DataSource};
use tfplugin::diagnostic::Diagnostics;
use tfplugin::schema::attribute::{Attribute, AttributeType};
use tfplugin::schema::{Attributes, Schema};
use tfplugin::value::Value;
use tfplugin::value::types::Type;

use crate::client::diagnostics::violation;
use crate::resources::COST_SEPARATOR;
use crate::resources::stream::model::Declaration;
use crate::resources::stream::schema::direct_schemas;

const SOURCES: [&str; 2] = ["kafka", "kinesis"];

/// The data source.
pub(crate) struct TableColumnsDataSource;

#[async_trait]
impl DataSource for TableColumnsDataSource {
    fn type_name(&self) -> &'static str {
        "featurestore_table_columns"
    }

    fn schema(&self) -> Schema {
        let column = AttributeType::list([
            ("name", Attribute::computed(Type::String, "Name of the column.")),
            (
                "type",
                Attribute::computed(
                    Type::String,
                    "Its type in Spark's words, such as `STRUCT<id: BIGINT, note: STRING>`.",
                ),
            ),
        ]);
        Schema::new(
            "The columns that the table of a stream with these schemas has. No stream and no agent is needed.",
            [
                (
                    "direct_schemas",
                    Attribute::required(without_cost(direct_schemas()), "Schemas of key and payload; at least one side."),
                ),
                (
                    "source",
                    Attribute::optional(Type::String, "`kafka` (the default) or `kinesis`: each adds columns of its own."),
                ),
                (
                    "include_headers",
                    Attribute::optional(
                        Type::Bool,
                        "Whether a Kafka stream has the option `includeHeaders`; false by default.",
                    ),
                ),
                (
                    "excluded_columns",
                    Attribute::optional(Type::set(Type::String), "Paths that are excluded from the start."),
                ),
                ("columns", Attribute::computed(column, "The columns in order.")),
            ],
        )
    }

    async fn read(&self, config: &Value, _context: &CallContext) -> Result<DataRead, Diagnostics> {
        let columns = columns(config).map_err(|problems| {
            let schema = self.schema();
            problems.iter().map(|problem| violation(problem, &schema)).collect::<Diagnostics>()
        })?;
        let columns = columns.iter().map(|column| {
            Value::object([
                ("name", Value::string(&column.name)),
                ("type", Value::string(column.data_type.to_string())),
            ])
        });
        let given = ["direct_schemas", "source", "include_headers", "excluded_columns"];
        let state = given
            .into_iter()
            .map(|name| (name, config.get(name).clone()))
            .chain([("columns", Value::List(columns.collect()))]);
        Ok(DataRead {
            state: Value::object(state),
            diagnostics: Diagnostics::none(),
        })
    }
}

fn columns(config: &Value) -> Result<Vec<Field>, Vec<Violation>> {
    let source = source(config)?;
    let texts = config.get("excluded_columns").elements().iter();
    let excluded: BTreeSet<String> = texts.filter_map(|text| text.as_str().map(str::to_owned)).collect();
    let found = schemas(config).and_then(|schemas| table::columns(&source, &schemas, &excluded));
    // The model names attributes of a stream; here the schemas are not inside `schema_config`.
    found.map_err(|problems| {
        let renamed = problems.into_iter().map(|problem| Violation {
            field: problem.field.trim_start_matches("schema_config.").to_owned(),
            ..problem
        });
        renamed.collect()
    })
}

fn schemas(config: &Value) -> Result<DirectSchemas, Vec<Violation>> {
    const FIELD: &str = "schema_config.direct_schemas";
    let stream = Value::object([(
        "schema_config",
        Value::object([("direct_schemas", config.get("direct_schemas").clone())]),
    )]);
    let declared = Declaration::read(&stream);
    let direct = match declared.stream.schema_config.and_then(|config| config.config) {
        Some(v1::schema_config::Config::DirectSchemas(direct)) => direct,
        _ => v1::DirectSchemas::default(),
    };
    let schemas = direct_schemas_to_spec(&direct, FIELD)?;
    if schemas.key.is_none() && schemas.payload.is_none() {
        let remedy = "set `payload_schema`, `key_schema` or both";
        return Err(vec![Violation::missing(FIELD, "neither side has a schema", remedy)]);
    }
    Ok(schemas)
}

fn source(config: &Value) -> Result<SourceConfig, Vec<Violation>> {
    match config.get("source").as_str() {
        None | Some("kafka") => {
            let headers = matches!(config.get("include_headers"), Value::Bool(true));
            Ok(SourceConfig::Kafka(KafkaSource {
                subscription: SubscriptionMode::Subscribe(String::new()),
                extra_options: BTreeMap::from([(INCLUDE_HEADERS.to_owned(), headers.to_string())]),
            }))
        }
        Some("kinesis") => Ok(SourceConfig::Kinesis(KinesisSource {
            streams: KinesisStreams::Names(BTreeSet::new()),
            extra_options: BTreeMap::new(),
        })),
        Some(other) => {
            let remedy = format!("use `{}`", SOURCES.join("` or `"));
            Err(vec![Violation::new("source", other, "the source is not known", remedy)])
        }
    }
}

/// The same type, without what a change costs: here nothing is changed.
fn without_cost(attribute_type: AttributeType) -> AttributeType {
    let strip = |mut attribute: Attribute| {
        attribute.description = attribute.description.split(COST_SEPARATOR).next().unwrap_or_default().to_owned();
        attribute.replaces = false;
        attribute.attribute_type = without_cost(attribute.attribute_type);
        attribute
    };
    match attribute_type {
        AttributeType::Nested { nesting, attributes } => {
            let attributes: Attributes = attributes.into_iter().map(|(name, inner)| (name, strip(inner))).collect();
            AttributeType::Nested { nesting, attributes }
        }
        plain => plain,
    }
}
