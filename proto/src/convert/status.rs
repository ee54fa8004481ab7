//! Error details of a gRPC status: field by field what is wrong, for machines.
//!
//! Details travel as `google.rpc.Status` (code 1, message 2, details 3: `Any`), the form that every gRPC library reads.

use prost::Message;
use tonic::{Code, Status};

use crate::v1;

const TYPE_URL: &str = "type.googleapis.com/featurestore.v1.ErrorDetail";

/// The envelope that gRPC libraries expect in a status' details.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<prost_types::Any>,
}

/// A status that carries `detail`.
pub fn status_with_detail(code: Code, message: impl Into<String>, detail: &v1::ErrorDetail) -> Status {
    let message = message.into();
    let any = prost_types::Any {
        type_url: TYPE_URL.to_owned(),
        value: detail.encode_to_vec(),
    };
    let envelope = RpcStatus {
        code: code.into(),
        message: message.clone(),
        details: vec![any],
    };
    Status::with_details(code, message, envelope.encode_to_vec().into())
}

/// The detail that a status carries, if it carries one of ours.
pub fn detail_of(status: &Status) -> Option<v1::ErrorDetail> {
    let envelope = RpcStatus::decode(status.details()).ok()?;
    let any = envelope.details.iter().find(|any| any.type_url == TYPE_URL)?;
    v1::ErrorDetail::decode(any.value.as_slice()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detail_survives_the_status() {
        let detail = v1::ErrorDetail {
            violations: vec![v1::Violation {
                field: "name".into(),
                value: "\"A\"".into(),
                ..Default::default()
            }],
            ..Default::default()
        };
        let status = status_with_detail(Code::InvalidArgument, "refused", &detail);
        assert_eq!(detail_of(&status), Some(detail));
        assert_eq!(detail_of(&Status::internal("plain")), None);
    }
}
