//! Reads a request whole before its call begins: every call has one message. The invariant: a request holds no more memory than
//! its caller's budget has room for, and a call that has begun waits for nothing from its caller.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use tonic::Status;

use super::status::put_off;
use crate::governance::admission::Admitted;
use crate::limits::{MESSAGE_BYTES_IN_MAX, STREAM_MESSAGE_BYTES_IN_MAX};

/// Bytes before each message on the wire.
const MESSAGE_HEAD_BYTES: usize = 5;

/// Calls whose messages hold schemas.
const STREAM_CALLS: &str = "/featurestore.v1.StreamService/";

/// The request with all of its body here, or why it is refused.
pub(super) async fn whole(request: Request) -> Result<Request, Status> {
    let (head, mut body) = request.into_parts();
    let largest = match head.uri.path().starts_with(STREAM_CALLS) {
        true => STREAM_MESSAGE_BYTES_IN_MAX,
        false => MESSAGE_BYTES_IN_MAX,
    };
    let admitted = head.extensions.get::<Arc<Admitted>>();
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let frame = frame.map_err(|error| Status::cancelled(format!("the request ended before it was whole: {error}")))?;
        // Trailers mean nothing in a request.
        let Ok(data) = frame.into_data() else { continue };
        let length = bytes.len() + data.len();
        if length > largest + MESSAGE_HEAD_BYTES {
            return Err(Status::out_of_range(format!(
                "the request is longer than {largest} bytes, which is as long as one to this service may be; send less at once"
            )));
        }
        if let Some(admitted) = admitted {
            admitted.hold(length).map_err(put_off)?;
        }
        bytes.extend_from_slice(&data);
    }
    Ok(Request::from_parts(head, Body::from(bytes)))
}
