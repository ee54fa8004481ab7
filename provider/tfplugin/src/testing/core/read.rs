//! Refresh, import and data sources as Terraform does them. Invariant: a state comes back by way of its stored JSON.
#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "for tests: a broken rule must end the test where it is broken"
)]

use featurestore_proto::tfplugin6 as pb;
use featurestore_proto::tfplugin6::provider_server::Provider as _;
use tonic::Request;

use super::{Core, Stored};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::resource::MoveSource;
use crate::testing::codec::{decode, diagnostics, encode};
use crate::value::{Value, json};

impl Core {
    /// Reads a resource as a refresh does, by way of its stored JSON. `None`: it is gone.
    ///
    /// # Errors
    /// When it could not be read.
    ///
    /// # Panics
    /// When the answer is one that Terraform would refuse.
    pub async fn refresh(&self, stored: &Stored) -> Result<(Option<Stored>, Diagnostics), Diagnostics> {
        let shape = self.shape(&stored.type_name);
        let raw = pb::RawState {
            json: json::encode(&stored.state).into_bytes(),
            flatmap: Default::default(),
        };
        let request = pb::upgrade_resource_state::Request {
            type_name: stored.type_name.clone(),
            version: i64::from(shape.schema.version),
            raw_state: Some(raw),
        };
        let upgraded = self
            .service
            .upgrade_resource_state(Request::new(request))
            .await
            .expect("no status")
            .into_inner();
        let mut said = diagnostics(upgraded.diagnostics);
        if said.has_errors() {
            return Err(said);
        }
        let request = pb::read_resource::Request {
            type_name: stored.type_name.clone(),
            current_state: upgraded.upgraded_state,
            private: stored.private.clone(),
            ..Default::default()
        };
        let answer = self
            .service
            .read_resource(Request::new(request))
            .await
            .expect("no status")
            .into_inner();
        said.extend(diagnostics(answer.diagnostics));
        if said.has_errors() {
            return Err(said);
        }
        let state = decode(shape, answer.new_state.as_ref());
        assert!(state.is_wholly_known(), "unknown values after a read: {state:?}");
        let found = (!state.is_null()).then(|| Stored {
            state,
            private: answer.private,
            ..stored.clone()
        });
        Ok((found, said))
    }

    /// Imports a resource and reads it.
    ///
    /// # Errors
    /// When it could not be found or read.
    pub async fn import(&self, type_name: &str, id: &str) -> Result<Stored, Diagnostics> {
        let request = pb::import_resource_state::Request {
            type_name: type_name.to_owned(),
            id: id.to_owned(),
            ..Default::default()
        };
        let answer = self
            .service
            .import_resource_state(Request::new(request))
            .await
            .expect("no status")
            .into_inner();
        let said = diagnostics(answer.diagnostics);
        let Some(imported) = answer.imported_resources.into_iter().next().filter(|_| !said.has_errors()) else {
            return Err(said);
        };
        let state = decode(self.shape(type_name), imported.state.as_ref());
        let stored = Stored {
            type_name: type_name.to_owned(),
            state,
            private: imported.private,
        };
        match self.refresh(&stored).await? {
            (Some(stored), _) => Ok(stored),
            (None, _) => Err(Diagnostic::error("Cannot Import Non-Existent Remote Object", "It was gone after the import.").into()),
        }
    }

    /// Reads state that an older version of the provider stored, as JSON.
    ///
    /// # Errors
    /// When it could not be read.
    pub async fn upgrade(&self, type_name: &str, version: i64, state: &serde_json::Value) -> Result<Value, Diagnostics> {
        let request = pb::upgrade_resource_state::Request {
            type_name: type_name.to_owned(),
            version,
            raw_state: Some(raw(state)),
        };
        let answer = self
            .service
            .upgrade_resource_state(Request::new(request))
            .await
            .expect("no status")
            .into_inner();
        let said = diagnostics(answer.diagnostics);
        if said.has_errors() {
            Err(said)
        } else {
            Ok(decode(self.shape(type_name), answer.upgraded_state.as_ref()))
        }
    }

    /// Moves the state of another type of resource to `type_name`, as a `moved` block does.
    ///
    /// # Errors
    /// When it could not be taken over.
    pub async fn take_over(&self, type_name: &str, source: &MoveSource<'_>) -> Result<Stored, Diagnostics> {
        let request = pb::move_resource_state::Request {
            source_provider_address: source.provider_address.to_owned(),
            source_type_name: source.type_name.to_owned(),
            source_schema_version: source.schema_version,
            source_state: Some(raw(source.state)),
            target_type_name: type_name.to_owned(),
            ..Default::default()
        };
        let answer = self
            .service
            .move_resource_state(Request::new(request))
            .await
            .expect("no status")
            .into_inner();
        let said = diagnostics(answer.diagnostics);
        if said.has_errors() {
            return Err(said);
        }
        let state = decode(self.shape(type_name), answer.target_state.as_ref());
        Ok(Stored {
            type_name: type_name.to_owned(),
            state,
            private: answer.target_private,
        })
    }

    /// Validates and reads a data source.
    ///
    /// # Errors
    /// When it could not be read.
    pub async fn read_data(&self, type_name: &str, config: Value) -> Result<(Value, Diagnostics), Diagnostics> {
        let shape = &self.engine.data_source(type_name)?.shape;
        let config = Some(encode(shape, &config));
        let request = pb::validate_data_resource_config::Request {
            type_name: type_name.to_owned(),
            config: config.clone(),
        };
        let answer = self
            .service
            .validate_data_resource_config(Request::new(request))
            .await
            .expect("no status")
            .into_inner();
        let mut said = diagnostics(answer.diagnostics);
        if said.has_errors() {
            return Err(said);
        }
        let request = pb::read_data_source::Request {
            type_name: type_name.to_owned(),
            config,
            ..Default::default()
        };
        let answer = self
            .service
            .read_data_source(Request::new(request))
            .await
            .expect("no status")
            .into_inner();
        said.extend(diagnostics(answer.diagnostics));
        if said.has_errors() {
            Err(said)
        } else {
            Ok((decode(shape, answer.state.as_ref()), said))
        }
    }
}

fn raw(state: &serde_json::Value) -> pb::RawState {
    pb::RawState {
        json: state.to_string().into_bytes(),
        ..Default::default()
    }
}
