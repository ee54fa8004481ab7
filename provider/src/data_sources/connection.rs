//! `featurestore_connection`, the data source: all that the resource of that name has from the agent, and who changed it when.
//! Secret values are not part of it; the agent returns none.

use async_trait::async_trait;
use featurestore_proto::v1;
use tfplugin::call::CallContext;
use tfplugin::data_source::{DataRead, DataSource};
use tfplugin::diagnostic::Diagnostics;
use tfplugin::schema::Schema;
use tfplugin::schema::attribute::Attribute;
use tfplugin::value::Value;
use tfplugin::value::types::Type;

use super::as_computed;
use crate::client::diagnostics::failure;
use crate::resources::connection::{Connection, model};
use crate::resources::entity::Entity;
use crate::resources::stream::answer::{text_or_null, time};
use crate::session::Session;

/// Attributes of the resource that are not here: the name is asked for, and the version of secrets is Terraform's own.
const OTHERWISE: [&str; 2] = ["name", "secrets_wo_version"];

/// The data source.
pub(crate) struct ConnectionDataSource {
    session: Session,
    schema: Schema,
}

impl ConnectionDataSource {
    /// The data source of one provider.
    pub(crate) fn new(session: Session) -> Self {
        Self { session, schema: schema() }
    }
}

fn schema() -> Schema {
    let resource = Connection::schema().attributes.into_iter();
    let shown = resource.filter(|(name, _)| !OTHERWISE.contains(&name.as_str()));
    let name = Attribute::required(Type::String, "Name of the connection.");
    let texts = [
        ("create_time", "When it was created."),
        ("created_by", "Who created it."),
        ("update_time", "When it was changed last."),
        ("updated_by", "Who changed it last."),
    ];
    Schema::new(
        "A connection that exists: its options, without secret values.",
        shown
            .map(|(name, attribute)| (name, as_computed(attribute)))
            .chain([("name".to_owned(), name)])
            .chain(texts.map(|(name, what)| (name.to_owned(), Attribute::computed(Type::String, what)))),
    )
}

fn value(connection: &v1::Connection) -> Value {
    let authorship = [
        ("create_time", time(connection.create_time.as_ref())),
        ("created_by", text_or_null(&connection.created_by)),
        ("update_time", time(connection.update_time.as_ref())),
        ("updated_by", text_or_null(&connection.updated_by)),
    ];
    let mut value = Value::object(model::attributes(connection).into_iter().chain(authorship));
    if let Value::Object(attributes) = &mut value
        && let Some(Value::Object(kafka)) = attributes.get_mut("kafka")
    {
        kafka.retain(|option, _| !option.ends_with("_wo"));
    }
    value
}

#[async_trait]
impl DataSource for ConnectionDataSource {
    fn type_name(&self) -> &'static str {
        Connection::TYPE_NAME
    }

    fn schema(&self) -> Schema {
        self.schema.clone()
    }

    async fn read(&self, config: &Value, context: &CallContext) -> Result<DataRead, Diagnostics> {
        let name = config.get("name").as_str().unwrap_or_default();
        let doing = format!("read the connection `{name}`");
        let client = self.session.agent().map_err(|error| failure(&error, &doing, &self.schema))?;
        let found = client.get_connection(name, &context.stop).await;
        let connection = found.map_err(|error| failure(&error, &doing, &self.schema))?;
        Ok(DataRead {
            state: value(&connection),
            diagnostics: Diagnostics::none(),
        })
    }
}
