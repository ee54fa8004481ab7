//! Calls a function. Invariant: an unknown one is an error of the call, as a wrong argument is.

use featurestore_proto::tfplugin6::FunctionError;
use featurestore_proto::tfplugin6::call_function::{Request, Response};

pub(super) fn answer(request: &Request) -> Response {
    let text = format!(
        "This provider has no function {:?}. Another version of it may have one.",
        request.name
    );
    Response {
        result: None,
        error: Some(FunctionError {
            text,
            function_argument: None,
        }),
    }
}
