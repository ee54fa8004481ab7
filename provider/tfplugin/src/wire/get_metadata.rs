//! Which types there are, without their schemas. OpenTofu and tools ask; Terraform takes the schemas at once.

use featurestore_proto::tfplugin6::get_metadata::{DataSourceMetadata, ResourceMetadata, Response};

use crate::engine::Engine;
use crate::wire::codec;

pub(super) fn answer(engine: &Engine) -> Response {
    Response {
        server_capabilities: Some(codec::capabilities()),
        resources: engine
            .resources
            .keys()
            .map(|name| ResourceMetadata {
                type_name: (*name).to_owned(),
            })
            .collect(),
        data_sources: engine
            .data_sources
            .keys()
            .map(|name| DataSourceMetadata {
                type_name: (*name).to_owned(),
            })
            .collect(),
        ..Response::default()
    }
}
