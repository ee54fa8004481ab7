//! `featurestore_agent`: the agent's version and what it can do.

use async_trait::async_trait;
use tfplugin::call::CallContext;
use tfplugin::data_source::{DataRead, DataSource};
use tfplugin::diagnostic::Diagnostics;
use tfplugin::schema::Schema;
use tfplugin::schema::attribute::Attribute;
use tfplugin::value::Value;
use tfplugin::value::types::Type;

use crate::client::diagnostics::failure;
use crate::resources::stream::answer::{duration_text, text_or_null};
use crate::session::Session;

/// The data source.
pub(crate) struct AgentDataSource {
    session: Session,
}

impl AgentDataSource {
    /// The data source of one provider.
    pub(crate) fn new(session: Session) -> Self {
        Self { session }
    }
}

#[async_trait]
impl DataSource for AgentDataSource {
    fn type_name(&self) -> &'static str {
        "featurestore_agent"
    }

    fn schema(&self) -> Schema {
        Schema::new(
            "The agent that the provider talks to.",
            [
                ("version", Attribute::computed(Type::String, "The agent's version.")),
                (
                    "capabilities",
                    Attribute::computed(
                        Type::set(Type::String),
                        "What the agent can do, by name, such as `kafka.subscribe`.",
                    ),
                ),
                (
                    "trash_retention",
                    Attribute::computed(
                        Type::String,
                        "How long a deleted table can be restored; `0s` when the trash is off.",
                    ),
                ),
                ("principal", Attribute::computed(Type::String, "Who the provider is to the agent.")),
            ],
        )
    }

    async fn read(&self, _config: &Value, context: &CallContext) -> Result<DataRead, Diagnostics> {
        const DOING: &str = "read the agent's version";
        let schema = self.schema();
        let client = self.session.agent().map_err(|error| failure(&error, DOING, &schema))?;
        let agent = client
            .get_agent(&context.stop)
            .await
            .map_err(|error| failure(&error, DOING, &schema))?;
        let state = Value::object([
            ("version", Value::string(agent.version)),
            ("capabilities", Value::string_set(agent.capabilities)),
            ("trash_retention", duration_text(agent.trash_retention.as_ref())),
            ("principal", text_or_null(&agent.principal)),
        ]);
        Ok(DataRead {
            state,
            diagnostics: Diagnostics::none(),
        })
    }
}
