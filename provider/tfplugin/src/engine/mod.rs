//! Terraform's rules between the protocol and a provider: one file per call, named as in `wire`.
//!
//! It knows values, schemas and the provider's traits, and no message of the protocol. Invariant: whatever a provider does,
//! panics included, every call comes back with a value that fits the schema or with diagnostics.

mod apply_resource_change;
mod configure_provider;
mod guard;
mod import_resource_state;
mod move_resource_state;
mod plan_resource_change;
mod read_data_source;
mod read_resource;
pub(crate) mod rules;
mod schema_check;
mod stop_provider;
mod upgrade_resource_state;
mod validate_data_resource_config;
mod validate_provider_config;
mod validate_resource_config;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::call::{CallContext, StopSignal};
use crate::data_source::DataSource;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::provider::Provider;
use crate::resource::Resource;
use crate::schema::Schema;
use crate::value::Value;
use crate::value::conform::conform;
use crate::value::types::Type;

pub(crate) use apply_resource_change::ApplyQuestion;
pub(crate) use guard::guarded;
pub(crate) use plan_resource_change::PlanQuestion;
pub(crate) use schema_check::SchemaError;

/// A provider with everything that was asked of it once.
pub(crate) struct Engine {
    provider: Arc<dyn Provider>,
    /// The provider's own configuration.
    pub(crate) configuration: Shape,
    /// Resources by type name.
    pub(crate) resources: BTreeMap<&'static str, ResourceType>,
    /// Data sources by type name.
    pub(crate) data_sources: BTreeMap<&'static str, DataSourceType>,
    /// Renewed when Terraform configures us again: the stop of one run is not the stop of the next.
    stop: Mutex<StopSignal>,
}

/// A schema and the type that follows from it.
pub(crate) struct Shape {
    pub(crate) schema: Schema,
    pub(crate) value_type: Type,
}

/// One resource type.
pub(crate) struct ResourceType {
    pub(crate) resource: Arc<dyn Resource>,
    pub(crate) shape: Shape,
}

/// One data source type.
pub(crate) struct DataSourceType {
    pub(crate) data_source: Arc<dyn DataSource>,
    pub(crate) shape: Shape,
}

impl Shape {
    fn new(schema: Schema) -> Self {
        let value_type = schema.value_type();
        Self { schema, value_type }
    }

    /// A value that the provider built, in the form of this schema; a value that does not fit is the provider's bug.
    fn conform(&self, value: Value, whose: &str) -> Result<Value, Diagnostics> {
        conform(value, &self.value_type).map_err(|error| {
            bug(format!(
                "The provider built a value for {whose} that does not fit its own schema: {error}."
            ))
            .into()
        })
    }
}

impl Engine {
    /// Asks a provider for everything it consists of.
    ///
    /// # Errors
    /// When a schema contradicts itself; that is the provider's bug.
    pub(crate) fn new(provider: Arc<dyn Provider>) -> Result<Self, Vec<SchemaError>> {
        let mut errors = Vec::new();
        let configuration = Shape::new(provider.schema());
        schema_check::check("provider", &configuration.schema, &mut errors);
        let mut resources = BTreeMap::new();
        for resource in provider.resources() {
            let (name, shape) = (resource.type_name(), Shape::new(resource.schema()));
            schema_check::check(name, &shape.schema, &mut errors);
            if resources.insert(name, ResourceType { resource, shape }).is_some() {
                errors.push(SchemaError::twice(name));
            }
        }
        let mut data_sources = BTreeMap::new();
        for data_source in provider.data_sources() {
            let (name, shape) = (data_source.type_name(), Shape::new(data_source.schema()));
            schema_check::check(name, &shape.schema, &mut errors);
            if data_sources.insert(name, DataSourceType { data_source, shape }).is_some() {
                errors.push(SchemaError::twice(name));
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(Self {
            provider,
            configuration,
            resources,
            data_sources,
            stop: Mutex::default(),
        })
    }

    /// The resource type of that name.
    pub(crate) fn resource(&self, type_name: &str) -> Result<&ResourceType, Diagnostics> {
        self.resources.get(type_name).ok_or_else(|| unknown_type("resource", type_name))
    }

    /// The data source type of that name.
    pub(crate) fn data_source(&self, type_name: &str) -> Result<&DataSourceType, Diagnostics> {
        self.data_sources
            .get(type_name)
            .ok_or_else(|| unknown_type("data source", type_name))
    }

    fn context(&self) -> CallContext {
        CallContext {
            stop: self.stop.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}

fn unknown_type(what: &str, type_name: &str) -> Diagnostics {
    Diagnostic::error(
        format!("Unknown {} Type", if what == "resource" { "Resource" } else { "Data Source" }),
        format!("This provider has no {what} type {type_name:?}. Another version of it may have one."),
    )
    .into()
}

/// A message about a mistake of the provider's own.
pub(crate) fn bug(detail: impl Into<String>) -> Diagnostic {
    Diagnostic::error(
        "Bug in the Provider",
        format!(
            "{} This is a mistake in the provider, not in your configuration; please report it.",
            detail.into()
        ),
    )
}
