//! `featurestore_stream`, the data source: all that the resource of that name has from the agent, and what the stream does at
//! the moment.

use async_trait::async_trait;
use tfplugin::call::CallContext;
use tfplugin::data_source::{DataRead, DataSource};
use tfplugin::diagnostic::Diagnostics;
use tfplugin::schema::Schema;
use tfplugin::schema::attribute::Attribute;
use tfplugin::value::Value;
use tfplugin::value::types::Type;

use super::{as_computed, stream_status};
use crate::client::diagnostics::failure;
use crate::resources::stream::schema::{definition, set_by_agent};
use crate::resources::stream::{TYPE_NAME, answer};
use crate::session::Session;

/// The data source.
pub(crate) struct StreamDataSource {
    session: Session,
    schema: Schema,
}

impl StreamDataSource {
    /// The data source of one provider.
    pub(crate) fn new(session: Session) -> Self {
        Self { session, schema: schema() }
    }
}

fn schema() -> Schema {
    let resource = definition()
        .into_iter()
        .chain(set_by_agent())
        .map(|(name, attribute)| (name, as_computed(attribute)));
    let name = (
        "name",
        Attribute::required(Type::String, "Name in three parts, `catalog.schema.stream`."),
    );
    let status = ("status", stream_status::attribute());
    Schema::new(
        "A stream that exists: its definition, and what it does at the moment.",
        resource.filter(|(attribute, _)| *attribute != "name").chain([name, status]),
    )
}

#[async_trait]
impl DataSource for StreamDataSource {
    fn type_name(&self) -> &'static str {
        TYPE_NAME
    }

    fn schema(&self) -> Schema {
        self.schema.clone()
    }

    async fn read(&self, config: &Value, context: &CallContext) -> Result<DataRead, Diagnostics> {
        let name = config.get("name").as_str().unwrap_or_default();
        let doing = format!("read the stream `{name}`");
        let client = self.session.agent().map_err(|error| failure(&error, &doing, &self.schema))?;
        let record = client
            .get_stream(name, &context.stop)
            .await
            .map_err(|error| failure(&error, &doing, &self.schema))?;
        let status = [("status", stream_status::value(&record.status))];
        let state = Value::object(answer::attributes(&record).into_iter().chain(status));
        Ok(DataRead {
            state,
            diagnostics: Diagnostics::none(),
        })
    }
}
