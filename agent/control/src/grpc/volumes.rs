//! `VolumeService` over gRPC.

use featurestore_proto::v1;
use stream_spec::name::VolumeName;
use tonic::{Request, Response, Status, async_trait};

use super::{context, requests, serve};
use crate::governance::calls::Call;
use crate::services::error::ServiceError;
use crate::services::volumes::{DeclaredVolume, VolumeService};
use crate::store::documents::VolumeRecord;

pub(super) struct VolumesOverGrpc(pub(super) VolumeService);

fn name(text: &str) -> Result<VolumeName, ServiceError> {
    requests::name("name", text, VolumeName::parse)
}

fn declared(volume: Option<v1::Volume>) -> Result<DeclaredVolume, ServiceError> {
    let volume = requests::required("volume", volume)?;
    Ok(DeclaredVolume {
        name: name(&volume.name)?,
        storage_location: volume.storage_location,
    })
}

fn answer(record: &VolumeRecord) -> v1::Volume {
    v1::Volume {
        name: record.name.to_string(),
        storage_location: record.storage_location.clone(),
        uid: record.authorship.uid.clone(),
        generation: record.generation,
    }
}

#[async_trait]
impl v1::volume_service_server::VolumeService for VolumesOverGrpc {
    async fn create_volume(&self, request: Request<v1::CreateVolumeRequest>) -> Result<Response<v1::CreateVolumeResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::CreateVolume, &context, async {
            let record = self.0.create(&context, declared(message.volume)?, &message.request_id).await?;
            Ok(v1::CreateVolumeResponse {
                volume: Some(answer(&record)),
            })
        })
        .await
    }

    async fn get_volume(&self, request: Request<v1::GetVolumeRequest>) -> Result<Response<v1::GetVolumeResponse>, Status> {
        let context = context(&request);
        serve(Call::GetVolume, &context, async {
            let record = self.0.get(&context, &name(&request.get_ref().name)?).await?;
            Ok(v1::GetVolumeResponse {
                volume: Some(answer(&record)),
            })
        })
        .await
    }

    async fn list_volumes(&self, request: Request<v1::ListVolumesRequest>) -> Result<Response<v1::ListVolumesResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::ListVolumes, &context, async {
            let page = requests::page(message.page_size, message.page_token);
            let page = self.0.list(&context, &requests::parent(&message.parent)?, &page).await?;
            Ok(v1::ListVolumesResponse {
                volumes: page.items.iter().map(answer).collect(),
                next_page_token: page.next_page_token,
            })
        })
        .await
    }

    async fn update_volume(&self, request: Request<v1::UpdateVolumeRequest>) -> Result<Response<v1::UpdateVolumeResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::UpdateVolume, &context, async {
            let record = self
                .0
                .update(&context, declared(message.volume)?, message.generation, &message.uid)
                .await?;
            Ok(v1::UpdateVolumeResponse {
                volume: Some(answer(&record)),
            })
        })
        .await
    }

    async fn delete_volume(&self, request: Request<v1::DeleteVolumeRequest>) -> Result<Response<v1::DeleteVolumeResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::DeleteVolume, &context, async {
            self.0.delete(&context, &name(&message.name)?, message.force, &message.uid).await?;
            Ok(v1::DeleteVolumeResponse {})
        })
        .await
    }
}
