//! The one way to the agent: a channel that connects when first used, a token, deadlines, bounded retries, the stop
//! signal. What calls there are is in `calls` and `governance`; what a failure means to a user is in `diagnostics`.

pub(crate) mod calls;
pub(crate) mod consult;
pub(crate) mod diagnostics;
pub(crate) mod error;
pub(crate) mod governance;
pub(crate) mod retry;
pub(crate) mod shared;

use std::future::Future;
use std::time::Duration;

use featurestore_proto::{convert, v1};
use tfplugin::call::StopSignal;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Response, Status};

use crate::limits::{
    CONNECT_TIMEOUT, DEADLINE_SLACK, KEEP_ALIVE_INTERVAL, KEEP_ALIVE_TIMEOUT, PLAN_CHECK_RETRIES_MAX, SILENT_RETRIES_MAX, STOP_GRACE,
};
use error::AgentError;
use retry::{Failure, RetryPolicy, pause_before_retry};

/// Where the agent is and how to talk to it.
#[derive(Clone)]
pub(crate) struct AgentClient {
    endpoint: String,
    channel: Channel,
    token: Option<MetadataValue<Ascii>>,
    request_timeout: Duration,
    retries_max: u32,
    /// Of these, at most so many after attempts that met nothing but silence.
    silent_retries_max: u32,
}

/// One call's name and manners.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    /// RPC name, for messages.
    pub(crate) name: &'static str,
    /// How long the agent itself may hold the call before it answers.
    pub(crate) wait: Duration,
    /// True if the agent acts on it: then a stop lets the attempt in flight come to its answer, for a while.
    pub(crate) acts: bool,
    /// False if ABORTED says that the planned generation is no longer in force.
    pub(crate) aborted_is_transient: bool,
}

impl AgentClient {
    /// A client of the agent at `endpoint`; connects when first used.
    pub(crate) fn new(endpoint: &Endpoint, token: Option<MetadataValue<Ascii>>, request_timeout: Duration, retries_max: u32) -> Self {
        let channel = endpoint
            .clone()
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
            .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
            .tcp_nodelay(true)
            .connect_lazy();
        Self {
            endpoint: endpoint.uri().to_string().trim_end_matches('/').to_owned(),
            channel,
            token,
            request_timeout,
            retries_max,
            silent_retries_max: SILENT_RETRIES_MAX,
        }
    }

    /// What it says of itself.
    #[cfg(test)]
    pub(crate) fn token_of_tests(&self) -> Option<String> {
        self.token.as_ref().and_then(|token| token.to_str().ok()).map(str::to_owned)
    }

    /// The same client with little patience, for checks that a plan can do without.
    pub(crate) fn hasty(&self) -> Self {
        Self {
            retries_max: self.retries_max.min(PLAN_CHECK_RETRIES_MAX),
            silent_retries_max: 0,
            ..self.clone()
        }
    }

    /// Sends `question` until it is answered, refused, out of retries, or Terraform says stop.
    async fn call<Question, Reply, Sent>(
        &self,
        call: Call,
        question: Question,
        stop: &StopSignal,
        send: impl Fn(Channel, Request<Question>) -> Sent,
    ) -> Result<Reply, AgentError>
    where
        Question: Clone,
        Sent: Future<Output = Result<Response<Reply>, Status>>,
    {
        let policy = RetryPolicy {
            retries_max: self.retries_max,
            aborted_is_transient: call.aborted_is_transient,
        };
        let deadline = self.request_timeout + call.wait;
        let (mut failures, mut silences) = (0, 0);
        let mut may_have_arrived = false;
        loop {
            let attempt = send(self.channel.clone(), self.request(question.clone(), deadline));
            let outcome = tokio::select! {
                outcome = tokio::time::timeout(deadline, attempt) => outcome,
                () = stopped_for_good(stop, call.acts) => return Err(AgentError::Stopped { may_have_arrived: true }),
            };
            failures += 1;
            let status = match outcome {
                Ok(Ok(reply)) => return Ok(reply.into_inner()),
                Ok(Err(status)) => status,
                Err(_) => {
                    silences += 1;
                    // The agent may have acted: only a repeat tells. A silence is long, so few of them are enough.
                    may_have_arrived = true;
                    match pause_before_retry(policy, failures, Failure::SILENCE, jitter()) {
                        Some(pause) if silences <= self.silent_retries_max => {
                            self.pause(call, pause, stop, may_have_arrived).await?;
                            continue;
                        }
                        _ => return Err(self.no_answer(call, deadline)),
                    }
                }
            };
            let detail = convert::detail_of(&status).unwrap_or_default();
            let failure = Failure {
                code: status.code(),
                answer_lost: std::error::Error::source(&status).is_some(),
                retry_after: detail
                    .retry_after
                    .and_then(|advice| advice.try_into().ok())
                    .filter(|advice| !Duration::is_zero(advice)),
            };
            // The transport's own UNAVAILABLE means that there was no connection to send anything on.
            may_have_arrived |= failure.answer_lost && failure.code != Code::Unavailable;
            let Some(pause) = pause_before_retry(policy, failures, failure, jitter()) else {
                return Err(match std::error::Error::source(&status) {
                    Some(cause) => AgentError::Unreachable {
                        endpoint: self.endpoint.clone(),
                        attempts: failures,
                        cause: innermost(cause),
                        may_have_arrived,
                    },
                    None => refused(call, &status, detail, may_have_arrived),
                });
            };
            tracing::debug!(call = call.name, code = ?status.code(), failures, "agent call failed");
            self.pause(call, pause, stop, may_have_arrived).await?;
        }
    }

    /// Sleeps before the next attempt, unless Terraform says stop.
    async fn pause(&self, call: Call, pause: Duration, stop: &StopSignal, may_have_arrived: bool) -> Result<(), AgentError> {
        tracing::debug!(call = call.name, ?pause, "trying again");
        tokio::select! {
            () = tokio::time::sleep(pause) => Ok(()),
            () = stop.stopped() => Err(AgentError::Stopped { may_have_arrived }),
        }
    }

    fn no_answer(&self, call: Call, waited: Duration) -> AgentError {
        AgentError::NoAnswer {
            endpoint: self.endpoint.clone(),
            call: call.name,
            waited,
        }
    }

    fn request<Question>(&self, question: Question, deadline: Duration) -> Request<Question> {
        let mut request = Request::new(question);
        // The agent is told a little more than we wait ourselves, so that it is always our own clock that ends an attempt.
        request.set_timeout(deadline + DEADLINE_SLACK);
        if let Some(token) = &self.token {
            request.metadata_mut().insert("authorization", token.clone());
        }
        request
    }
}

impl std::fmt::Debug for AgentClient {
    /// Never shows the token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentClient")
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

fn refused(call: Call, status: &Status, detail: v1::ErrorDetail, may_have_arrived: bool) -> AgentError {
    AgentError::Refused {
        call: call.name,
        code: status.code(),
        message: status.message().to_owned(),
        detail: Box::new(detail),
        may_have_arrived,
    }
}

/// Comes back when waiting has no more sense after a stop. An answer to a call that acts says what Terraform must keep.
async fn stopped_for_good(stop: &StopSignal, acts: bool) {
    stop.stopped().await;
    if acts {
        tokio::time::sleep(STOP_GRACE).await;
    }
}

/// The last cause of a chain: "connection refused" says more than "transport error".
fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(cause) = error.source() {
        error = cause;
    }
    error.to_string()
}

/// A random share in 0..=1; the middle if the system has no randomness to give.
fn jitter() -> f64 {
    let random = getrandom::u32().unwrap_or(u32::MAX / 2);
    f64::from(random) / f64::from(u32::MAX)
}
