//! A service's error as a gRPC status with details. The message is for people, the details are for machines.

use std::time::Duration;

use featurestore_proto::convert::{status_with_detail, verdict_from_spec, violation_from_spec};
use featurestore_proto::v1;
use stream_spec::verdict::Verdict;
use stream_spec::violation::Violation;
use tonic::{Code, Status};

use crate::governance::admission::NotAdmitted;
use crate::governance::secrets::VaultError;
use crate::limits::{CONNECTION_TEST_ADVICE, RETRY_ADVICE};
use crate::services::error::ServiceError;
use crate::store::StoreError;

/// The status of an error. Errors of ours are logged here, once; a caller's are the caller's.
pub(super) fn of(error: &ServiceError) -> Status {
    let message = error.to_string();
    match error {
        ServiceError::Invalid(violations) => detailed(Code::InvalidArgument, message, violations),
        ServiceError::MissingCapability(violations) => detailed(Code::Unimplemented, message, violations),
        ServiceError::Precondition(violations) => detailed(Code::FailedPrecondition, message, violations),
        ServiceError::UpdateRefused(reasons) => {
            let verdict = verdict_from_spec(&Verdict::Refused { reasons: reasons.clone() });
            let detail = v1::ErrorDetail {
                verdict: Some(verdict),
                ..Default::default()
            };
            status_with_detail(Code::FailedPrecondition, message, &detail)
        }
        ServiceError::NotFound { .. } => Status::not_found(message),
        ServiceError::AlreadyExists { .. } => Status::already_exists(message),
        ServiceError::Conflict { .. } | ServiceError::AnotherLife { .. } => Status::aborted(message),
        ServiceError::PermissionDenied(denial) => {
            let violation = Violation::new("principal", &denial.principal, denial.problem(), denial.remedy());
            detailed(Code::PermissionDenied, message, &[violation])
        }
        ServiceError::TestsAreOn => advised(Code::ResourceExhausted, message, CONNECTION_TEST_ADVICE),
        ServiceError::Vault(VaultError::Unexpected { .. }) => Status::aborted(message),
        ServiceError::Vault(fault) if !fault.is_passing() => {
            tracing::error!(%error, "call failed");
            Status::failed_precondition(message)
        }
        ServiceError::TableUnavailable(_) | ServiceError::Vault(_) => {
            tracing::warn!(%error, "call failed");
            unavailable(message)
        }
        ServiceError::Store(StoreError::AuditFull { .. }) => {
            tracing::error!(%error, "call failed");
            unavailable(message)
        }
        ServiceError::Store(_) | ServiceError::Random(_) | ServiceError::OutOfRow(_) => {
            tracing::error!(%error, "call failed");
            Status::internal(message)
        }
    }
}

/// A refusal that may be none a little later.
fn unavailable(message: String) -> Status {
    advised(Code::Unavailable, message, RETRY_ADVICE)
}

/// A status with the advice to come again after a while.
pub(crate) fn advised(code: Code, message: String, retry_after: Duration) -> Status {
    let detail = v1::ErrorDetail {
        retry_after: prost_types::Duration::try_from(retry_after).ok(),
        ..Default::default()
    };
    status_with_detail(code, message, &detail)
}

/// What a caller is told that asks too much.
pub(crate) fn put_off(error: NotAdmitted) -> Status {
    advised(Code::ResourceExhausted, error.to_string(), error.retry_after())
}

/// What the audit says of a call: the code that it was answered with.
pub(super) fn outcome(code: Code) -> &'static str {
    match code {
        Code::Ok => crate::audit::OK,
        Code::Cancelled => "cancelled",
        Code::Unknown => "unknown",
        Code::InvalidArgument => "invalid_argument",
        Code::DeadlineExceeded => "deadline_exceeded",
        Code::NotFound => "not_found",
        Code::AlreadyExists => "already_exists",
        Code::PermissionDenied => "permission_denied",
        Code::ResourceExhausted => "resource_exhausted",
        Code::FailedPrecondition => "failed_precondition",
        Code::Aborted => "aborted",
        Code::OutOfRange => "out_of_range",
        Code::Unimplemented => "unimplemented",
        Code::Internal => "internal",
        Code::Unavailable => "unavailable",
        Code::DataLoss => "data_loss",
        Code::Unauthenticated => "unauthenticated",
    }
}

fn detailed(code: Code, message: String, violations: &[Violation]) -> Status {
    let detail = v1::ErrorDetail {
        violations: violations.iter().map(violation_from_spec).collect(),
        ..Default::default()
    };
    status_with_detail(code, message, &detail)
}
