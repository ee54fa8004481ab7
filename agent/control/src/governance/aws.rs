//! AWS as the agent's environment describes it: region, endpoints and the agent's own credentials.
//!
//! The invariant: nothing of AWS is asked before somebody needs it, every call ends within `AWS_CALL_WAIT`, and what is said of
//! a failed call comes from AWS's code and message alone, never from the request.

use std::error::Error;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_sts::config::http::HttpResponse;
use aws_sdk_sts::error::{ProvideErrorMetadata, SdkError};
use tokio::sync::OnceCell;

use crate::limits::{
    AWS_ATTEMPT_WAIT, AWS_ATTEMPTS_MAX, AWS_CALL_WAIT, AWS_CONNECT_WAIT, AWS_OPERATION_WAIT, AWS_PROBLEM_CHARS_MAX, AWS_RETRY_WAIT_FIRST,
};

/// What to tell whoever has no region.
const NO_REGION: &str = "no AWS region is known; set AWS_REGION, or a region in the AWS profile";

/// The way to AWS from this process. It reads its environment when it is first used, and again as long as that has no region.
#[derive(Default)]
pub struct AwsEnvironment {
    region: Option<Region>,
    found: OnceCell<SdkConfig>,
}

impl AwsEnvironment {
    /// The environment, with the region that the caller knows.
    pub(super) fn in_region(region: Option<String>) -> Self {
        Self {
            region: region.map(Region::new),
            found: OnceCell::new(),
        }
    }

    /// That configuration, whatever the environment says.
    #[cfg(test)]
    pub(crate) fn of(found: SdkConfig) -> Self {
        Self {
            region: None,
            found: OnceCell::from(bounded(found)),
        }
    }

    /// The configuration of clients. The caller bounds the wait: asking a machine of AWS for its region may take long elsewhere.
    pub(super) async fn configuration(&self) -> Result<&SdkConfig, String> {
        let look = || async {
            let mut loader = aws_config::defaults(BehaviorVersion::latest());
            if let Some(region) = &self.region {
                loader = loader.region(region.clone());
            }
            let found = loader.load().await;
            match found.region() {
                Some(_) => Ok(bounded(found)),
                None => Err(NO_REGION.to_owned()),
            }
        };
        self.found.get_or_try_init(look).await
    }
}

/// Ends work on AWS that takes too long, whatever it waits for.
pub(super) async fn within_bound<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    match tokio::time::timeout(AWS_CALL_WAIT, work).await {
        Ok(outcome) => outcome,
        Err(_) => Err(format!("AWS did not answer within {AWS_CALL_WAIT:?}")),
    }
}

fn bounded(config: SdkConfig) -> SdkConfig {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(AWS_CONNECT_WAIT)
        .operation_attempt_timeout(AWS_ATTEMPT_WAIT)
        .operation_timeout(AWS_OPERATION_WAIT)
        .build();
    let retries = RetryConfig::standard()
        .with_max_attempts(AWS_ATTEMPTS_MAX)
        .with_initial_backoff(AWS_RETRY_WAIT_FIRST);
    config.into_builder().timeout_config(timeouts).retry_config(retries).build()
}

/// What AWS said, or why it said nothing.
pub(super) fn problem<E>(error: &SdkError<E, HttpResponse>) -> String
where
    E: ProvideErrorMetadata + Error + 'static,
{
    match (error.code(), error.message(), error.raw_response()) {
        // AWS then repeats the request that it computed, with the session's token in it.
        (Some(code), _, _) if code.contains("Signature") => shortened(&format!(
            "AWS answered {code}; see that the agent's secret access key and its clock are right"
        )),
        (Some(code), Some(message), _) => shortened(&format!("AWS answered {code}: {message}")),
        (Some(code), None, _) => shortened(&format!("AWS answered {code}")),
        // Of a proxy, say, or of another service.
        (None, _, Some(response)) => format!("AWS answered with the HTTP status {}, and no reason", response.status().as_u16()),
        (None, _, None) => causes(error),
    }
}

/// An error with what caused it, outermost first.
pub(super) fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    shortened(&text)
}

fn shortened(text: &str) -> String {
    text.chars().take(AWS_PROBLEM_CHARS_MAX).collect()
}
