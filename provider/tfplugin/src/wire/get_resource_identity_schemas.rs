//! Resource identities. Terraform asks every provider; this one has none yet.

use featurestore_proto::tfplugin6::get_resource_identity_schemas::Response;

pub(super) fn answer() -> Response {
    Response::default()
}
