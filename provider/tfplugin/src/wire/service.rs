//! The protocol's service: every call goes to the file of its name.
//!
//! Invariant: a panic on the way is an answer too.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use featurestore_proto::tfplugin6 as pb;
use featurestore_proto::tfplugin6::provider_server::Provider;
use futures::Stream;
use tonic::{Request, Response, Status, Streaming};

use crate::diagnostic::Diagnostics;
use crate::engine::{Engine, guarded};

use super::{
    apply_resource_change, call_function, configure_provider, get_functions, get_metadata, get_provider_schema,
    get_resource_identity_schemas, import_resource_state, move_resource_state, plan_resource_change, read_data_source, read_resource,
    upgrade_resource_state, validate_data_resource_config, validate_provider_config, validate_resource_config,
};

/// Serves one provider to Terraform.
pub(crate) struct ProviderService {
    engine: Arc<Engine>,
}

impl ProviderService {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        Self { engine }
    }
}

type Reply<Answer> = Result<Response<Answer>, Status>;
type Events<Event> = Pin<Box<dyn Stream<Item = Result<Event, Status>> + Send>>;

async fn reply<Answer>(call: &'static str, answer: impl Future<Output = Answer>, failed: fn(Diagnostics) -> Answer) -> Reply<Answer> {
    let start = Instant::now();
    let answer = guarded(call, answer).await.unwrap_or_else(failed);
    tracing::debug!(
        call,
        micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX),
        "answered"
    );
    Ok(Response::new(answer))
}

/// For calls that only come to providers that advertise something this one does not.
fn not_offered<Answer>(call: &'static str) -> Reply<Answer> {
    Err(Status::unimplemented(format!("this provider does not offer {call}")))
}

#[tonic::async_trait]
impl Provider for ProviderService {
    async fn get_metadata(&self, _request: Request<pb::get_metadata::Request>) -> Reply<pb::get_metadata::Response> {
        Ok(Response::new(get_metadata::answer(&self.engine)))
    }

    async fn get_provider_schema(&self, _request: Request<pb::get_provider_schema::Request>) -> Reply<pb::get_provider_schema::Response> {
        Ok(Response::new(get_provider_schema::answer(&self.engine)))
    }

    async fn stop_provider(&self, _request: Request<pb::stop_provider::Request>) -> Reply<pb::stop_provider::Response> {
        self.engine.stop_provider();
        Ok(Response::new(pb::stop_provider::Response::default()))
    }

    async fn validate_provider_config(
        &self,
        request: Request<pb::validate_provider_config::Request>,
    ) -> Reply<pb::validate_provider_config::Response> {
        let answer = validate_provider_config::answer(&self.engine, request.get_ref());
        reply("ValidateProviderConfig", answer, validate_provider_config::failed).await
    }

    async fn configure_provider(&self, request: Request<pb::configure_provider::Request>) -> Reply<pb::configure_provider::Response> {
        let answer = configure_provider::answer(&self.engine, request.get_ref());
        reply("ConfigureProvider", answer, configure_provider::failed).await
    }

    async fn validate_resource_config(
        &self,
        request: Request<pb::validate_resource_config::Request>,
    ) -> Reply<pb::validate_resource_config::Response> {
        let answer = validate_resource_config::answer(&self.engine, request.get_ref());
        reply("ValidateResourceConfig", answer, validate_resource_config::failed).await
    }

    async fn upgrade_resource_state(
        &self,
        request: Request<pb::upgrade_resource_state::Request>,
    ) -> Reply<pb::upgrade_resource_state::Response> {
        let answer = upgrade_resource_state::answer(&self.engine, request.get_ref());
        reply("UpgradeResourceState", answer, upgrade_resource_state::failed).await
    }

    async fn read_resource(&self, request: Request<pb::read_resource::Request>) -> Reply<pb::read_resource::Response> {
        let answer = read_resource::answer(&self.engine, request.get_ref());
        reply("ReadResource", answer, read_resource::failed).await
    }

    async fn plan_resource_change(&self, request: Request<pb::plan_resource_change::Request>) -> Reply<pb::plan_resource_change::Response> {
        let answer = plan_resource_change::answer(&self.engine, request.get_ref());
        reply("PlanResourceChange", answer, plan_resource_change::failed).await
    }

    async fn apply_resource_change(
        &self,
        request: Request<pb::apply_resource_change::Request>,
    ) -> Reply<pb::apply_resource_change::Response> {
        let answer = apply_resource_change::answer(&self.engine, request.get_ref());
        reply("ApplyResourceChange", answer, apply_resource_change::failed).await
    }

    async fn import_resource_state(
        &self,
        request: Request<pb::import_resource_state::Request>,
    ) -> Reply<pb::import_resource_state::Response> {
        let answer = import_resource_state::answer(&self.engine, request.get_ref());
        reply("ImportResourceState", answer, import_resource_state::failed).await
    }

    async fn move_resource_state(&self, request: Request<pb::move_resource_state::Request>) -> Reply<pb::move_resource_state::Response> {
        let answer = move_resource_state::answer(&self.engine, request.get_ref());
        reply("MoveResourceState", answer, move_resource_state::failed).await
    }

    async fn validate_data_resource_config(
        &self,
        request: Request<pb::validate_data_resource_config::Request>,
    ) -> Reply<pb::validate_data_resource_config::Response> {
        let answer = validate_data_resource_config::answer(&self.engine, request.get_ref());
        reply("ValidateDataResourceConfig", answer, validate_data_resource_config::failed).await
    }

    async fn read_data_source(&self, request: Request<pb::read_data_source::Request>) -> Reply<pb::read_data_source::Response> {
        let answer = read_data_source::answer(&self.engine, request.get_ref());
        reply("ReadDataSource", answer, read_data_source::failed).await
    }

    async fn get_resource_identity_schemas(
        &self,
        _request: Request<pb::get_resource_identity_schemas::Request>,
    ) -> Reply<pb::get_resource_identity_schemas::Response> {
        Ok(Response::new(get_resource_identity_schemas::answer()))
    }

    async fn get_functions(&self, _request: Request<pb::get_functions::Request>) -> Reply<pb::get_functions::Response> {
        Ok(Response::new(get_functions::answer()))
    }

    async fn call_function(&self, request: Request<pb::call_function::Request>) -> Reply<pb::call_function::Response> {
        Ok(Response::new(call_function::answer(request.get_ref())))
    }

    async fn generate_resource_config(
        &self,
        _request: Request<pb::generate_resource_config::Request>,
    ) -> Reply<pb::generate_resource_config::Response> {
        not_offered("GenerateResourceConfig")
    }

    async fn upgrade_resource_identity(
        &self,
        _request: Request<pb::upgrade_resource_identity::Request>,
    ) -> Reply<pb::upgrade_resource_identity::Response> {
        not_offered("UpgradeResourceIdentity")
    }

    async fn validate_ephemeral_resource_config(
        &self,
        _request: Request<pb::validate_ephemeral_resource_config::Request>,
    ) -> Reply<pb::validate_ephemeral_resource_config::Response> {
        not_offered("ValidateEphemeralResourceConfig")
    }

    async fn open_ephemeral_resource(
        &self,
        _request: Request<pb::open_ephemeral_resource::Request>,
    ) -> Reply<pb::open_ephemeral_resource::Response> {
        not_offered("OpenEphemeralResource")
    }

    async fn renew_ephemeral_resource(
        &self,
        _request: Request<pb::renew_ephemeral_resource::Request>,
    ) -> Reply<pb::renew_ephemeral_resource::Response> {
        not_offered("RenewEphemeralResource")
    }

    async fn close_ephemeral_resource(
        &self,
        _request: Request<pb::close_ephemeral_resource::Request>,
    ) -> Reply<pb::close_ephemeral_resource::Response> {
        not_offered("CloseEphemeralResource")
    }

    async fn validate_list_resource_config(
        &self,
        _request: Request<pb::validate_list_resource_config::Request>,
    ) -> Reply<pb::validate_list_resource_config::Response> {
        not_offered("ValidateListResourceConfig")
    }

    type ListResourceStream = Events<pb::list_resource::Event>;

    async fn list_resource(&self, _request: Request<pb::list_resource::Request>) -> Reply<Self::ListResourceStream> {
        not_offered("ListResource")
    }

    async fn validate_action_config(
        &self,
        _request: Request<pb::validate_action_config::Request>,
    ) -> Reply<pb::validate_action_config::Response> {
        not_offered("ValidateActionConfig")
    }

    async fn plan_action(&self, _request: Request<pb::plan_action::Request>) -> Reply<pb::plan_action::Response> {
        not_offered("PlanAction")
    }

    type InvokeActionStream = Events<pb::invoke_action::Event>;

    async fn invoke_action(&self, _request: Request<pb::invoke_action::Request>) -> Reply<Self::InvokeActionStream> {
        not_offered("InvokeAction")
    }

    async fn validate_state_store_config(
        &self,
        _request: Request<pb::validate_state_store::Request>,
    ) -> Reply<pb::validate_state_store::Response> {
        not_offered("ValidateStateStoreConfig")
    }

    async fn configure_state_store(
        &self,
        _request: Request<pb::configure_state_store::Request>,
    ) -> Reply<pb::configure_state_store::Response> {
        not_offered("ConfigureStateStore")
    }

    type ReadStateBytesStream = Events<pb::read_state_bytes::Response>;

    async fn read_state_bytes(&self, _request: Request<pb::read_state_bytes::Request>) -> Reply<Self::ReadStateBytesStream> {
        not_offered("ReadStateBytes")
    }

    async fn write_state_bytes(
        &self,
        _request: Request<Streaming<pb::write_state_bytes::RequestChunk>>,
    ) -> Reply<pb::write_state_bytes::Response> {
        not_offered("WriteStateBytes")
    }

    async fn lock_state(&self, _request: Request<pb::lock_state::Request>) -> Reply<pb::lock_state::Response> {
        not_offered("LockState")
    }

    async fn unlock_state(&self, _request: Request<pb::unlock_state::Request>) -> Reply<pb::unlock_state::Response> {
        not_offered("UnlockState")
    }

    async fn get_states(&self, _request: Request<pb::get_states::Request>) -> Reply<pb::get_states::Response> {
        not_offered("GetStates")
    }

    async fn delete_state(&self, _request: Request<pb::delete_state::Request>) -> Reply<pb::delete_state::Response> {
        not_offered("DeleteState")
    }
}
