//! Which functions there are: none yet. OpenTofu asks; Terraform takes them from the schemas.

use featurestore_proto::tfplugin6::get_functions::Response;

pub(super) fn answer() -> Response {
    Response::default()
}
