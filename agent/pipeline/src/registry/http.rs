//! Questions to the addresses of one registry: one that fails rests, and the next is asked.
//!
//! Invariants: what is sent with a user's secret goes to an address of the registry and nowhere else; no answer is longer, and no call
//! takes longer, than its bound.

use std::fmt::Display;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{Method, StatusCode};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use url::Url;

use super::answers::ErrorAnswer;
use super::error::RegistryError;
use super::limits::{ANSWER_BYTES_MAX, PATIENCE, REQUESTS_AT_ONCE, REST_MAX, REST_MIN, RETRY_AFTER_MAX, Waits};
use crate::stream::jittered;

/// The media type of the interface; plain JSON is what everybody understands.
const MEDIA_TYPES: &str = "application/vnd.schemaregistry.v1+json, application/json";

/// A client for all addresses of a registry.
pub(super) struct Transport {
    client: reqwest::Client,
    servers: Vec<Server>,
    /// The server that answered last is asked first.
    preferred: AtomicUsize,
    permits: Semaphore,
    waits: Waits,
    /// Who asks, for messages.
    user: String,
}

/// What is asked: segments of the path below an address, and parameters.
pub(super) struct Question<'q> {
    pub(super) path: &'q [&'q str],
    pub(super) parameters: &'q [(&'q str, &'q str)],
    /// What is posted; without it the question is a `GET`.
    pub(super) body: Option<Vec<u8>>,
}

/// What a registry says that is there and lets this user in.
#[derive(Debug)]
pub(super) enum Answer {
    /// A document.
    Json(Vec<u8>, /* of */ String),
    /// It has no such thing; the code says what, if it is an answer of the interface.
    Missing(Option<u32>),
}

/// One address of a registry.
struct Server {
    url: Url,
    rest: Mutex<Rest>,
}

/// Whether an address is left alone.
#[derive(Default)]
struct Rest {
    failures: u32,
    until: Option<Instant>,
    cause: String,
}

/// Why an address did not answer.
struct Trouble {
    cause: String,
    retry_after: Option<Duration>,
}

/// What came of connecting to an address.
pub(super) struct Knock {
    pub(super) url: Url,
    /// Why no connection came about.
    pub(super) failed: Option<String>,
}

enum Outcome {
    Answer(Answer),
    /// The same for every address.
    Refusal(RegistryError),
    Trouble(Trouble),
}

impl Transport {
    /// `urls` are checked; `user` is who asks, for messages.
    pub(super) fn new(client: reqwest::Client, urls: Vec<Url>, user: String, waits: Waits) -> Self {
        let server = |url| Server {
            url,
            rest: Mutex::default(),
        };
        Self {
            client,
            servers: urls.into_iter().map(server).collect(),
            preferred: AtomicUsize::new(0),
            permits: Semaphore::new(REQUESTS_AT_ONCE),
            waits,
            user,
        }
    }

    /// The first address, for messages about the registry as a whole.
    pub(super) fn first_url(&self) -> Option<&Url> {
        self.servers.first().map(|server| &server.url)
    }

    /// Connects to each of the addresses, until then, whatever they answer.
    pub(super) async fn knock(&self, until: Instant) -> Vec<Knock> {
        let mut knocks = Vec::new();
        for server in &self.servers {
            let tried = tokio::time::timeout_at(until, self.client.head(server.url.clone()).send()).await;
            let failed = match tried {
                Ok(Err(error)) if error.is_connect() => Some(cause_of(error)),
                Ok(_) => None,
                Err(_) => Some("no answer in time".to_owned()),
            };
            knocks.push(Knock {
                url: server.url.clone(),
                failed,
            });
        }
        knocks
    }

    /// Asks the addresses one by one until one answers. `skipped` of them are passed over at first: a second opinion is another's.
    pub(super) async fn ask(&self, question: &Question<'_>, skipped: usize) -> Result<Answer, RegistryError> {
        match tokio::time::timeout(self.waits.call, self.ask_in_turn(question, skipped)).await {
            Ok(answer) => answer,
            Err(_) => Err(RegistryError::Unavailable {
                cause: format!("no answer within {:?}", self.waits.call),
                retry_after: None,
            }),
        }
    }

    async fn ask_in_turn(&self, question: &Question<'_>, skipped: usize) -> Result<Answer, RegistryError> {
        let mut patience = PATIENCE;
        loop {
            let Some(index) = self.awake(skipped) else {
                let wait = self.until_one_wakes();
                match patience.checked_sub(wait) {
                    Some(rest) => patience = rest,
                    None => return Err(self.unavailable(wait)),
                }
                tokio::time::sleep(wait).await;
                continue;
            };
            let Some(server) = self.servers.get(index) else {
                return Err(self.unavailable(Duration::ZERO));
            };
            let failures = server.rest().failures;
            match self.ask_one(server, question).await {
                Outcome::Answer(answer) => {
                    server.wake();
                    self.preferred.store(index, Ordering::Relaxed);
                    return Ok(answer);
                }
                Outcome::Refusal(error) => {
                    server.wake();
                    return Err(error);
                }
                Outcome::Trouble(trouble) => {
                    tracing::debug!(url = %server.url, cause = trouble.cause, "a schema registry did not answer");
                    server.put_to_rest(failures, trouble);
                }
            }
        }
    }

    /// The first address that does not rest, from the preferred one on.
    fn awake(&self, skipped: usize) -> Option<usize> {
        let count = self.servers.len();
        let first = self.preferred.load(Ordering::Relaxed).wrapping_add(skipped);
        (0..count)
            .map(|step| first.wrapping_add(step) % count)
            .find(|index| self.servers.get(*index).is_some_and(|server| server.rests_for().is_zero()))
    }

    fn until_one_wakes(&self) -> Duration {
        self.servers.iter().map(Server::rests_for).min().unwrap_or_default()
    }

    fn unavailable(&self, wait: Duration) -> RegistryError {
        let causes: Vec<String> = self
            .servers
            .iter()
            .map(|server| format!("`{}`: {}", server.url, server.rest().cause))
            .collect();
        RegistryError::Unavailable {
            cause: causes.join("; "),
            retry_after: Some(wait),
        }
    }

    async fn ask_one(&self, server: &Server, question: &Question<'_>) -> Outcome {
        let Ok(_permit) = self.permits.acquire().await else {
            return trouble("the client is closed");
        };
        match tokio::time::timeout(self.waits.answer, self.exchange(server, question)).await {
            Ok(outcome) => outcome,
            Err(_) => trouble(format!("no answer within {:?}", self.waits.answer)),
        }
    }

    async fn exchange(&self, server: &Server, question: &Question<'_>) -> Outcome {
        let method = if question.body.is_some() { Method::POST } else { Method::GET };
        let mut request = self.client.request(method, server.address(question)).header(ACCEPT, MEDIA_TYPES);
        if let Some(body) = &question.body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.clone());
        }
        let mut response = match request.send().await {
            Ok(response) => response,
            Err(error) => return trouble(cause_of(error)),
        };
        let status = response.status();
        let retry_after = retry_after(response.headers());
        if status.is_redirection() {
            return self.malformed(server, "it redirects to another address, and no secret follows it");
        }
        let mut text = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if text.len() + chunk.len() > ANSWER_BYTES_MAX => {
                    return self.malformed(server, &format!("an answer has more than {ANSWER_BYTES_MAX} bytes"));
                }
                Ok(Some(chunk)) => text.extend_from_slice(&chunk),
                Ok(None) => break,
                Err(error) => return trouble(cause_of(error)),
            }
        }
        let code = || {
            serde_json::from_slice::<ErrorAnswer>(&text)
                .ok()
                .and_then(|answer| answer.error_code)
        };
        match status {
            _ if status.is_success() => Outcome::Answer(Answer::Json(text, server.url.to_string())),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => self.refused(server, status),
            StatusCode::NOT_FOUND => Outcome::Answer(Answer::Missing(code())),
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS => Outcome::Trouble(Trouble {
                cause: format!("it answers with status {}", status.as_u16()),
                retry_after,
            }),
            _ if status.is_server_error() => Outcome::Trouble(Trouble {
                cause: format!("it answers with status {}", status.as_u16()),
                retry_after,
            }),
            _ => {
                let code = code().map(|code| format!(" and error code {code}")).unwrap_or_default();
                self.malformed(server, &format!("it answers with status {}{code}", status.as_u16()))
            }
        }
    }

    fn refused(&self, server: &Server, status: StatusCode) -> Outcome {
        let remedy = if status == StatusCode::UNAUTHORIZED {
            "check `schema_registry_api_key` and `schema_registry_api_secret`"
        } else {
            "give it the right to read the subject and its schemas"
        };
        Outcome::Refusal(RegistryError::Refused {
            url: server.url.to_string(),
            user: self.user.clone(),
            status: status.as_u16(),
            remedy,
        })
    }

    fn malformed(&self, server: &Server, problem: &str) -> Outcome {
        Outcome::Refusal(RegistryError::Malformed {
            url: server.url.to_string(),
            problem: problem.to_owned(),
        })
    }
}

impl Server {
    fn address(&self, question: &Question<'_>) -> Url {
        let mut url = self.url.clone();
        // An address that may be a base was checked when it was given.
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(question.path);
        }
        if !question.parameters.is_empty() {
            url.query_pairs_mut().extend_pairs(question.parameters);
        }
        url
    }

    fn rest(&self) -> MutexGuard<'_, Rest> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rests_for(&self) -> Duration {
        let until = self.rest().until;
        until
            .map(|until| until.saturating_duration_since(Instant::now()))
            .unwrap_or_default()
    }

    fn wake(&self) {
        *self.rest() = Rest::default();
    }

    /// Leaves the address alone for a while. Of those who asked it at the same time the first one counts.
    fn put_to_rest(&self, failures_before: u32, trouble: Trouble) {
        let mut rest = self.rest();
        if rest.failures != failures_before {
            return;
        }
        let doubled = REST_MIN.saturating_mul(1 << rest.failures.min(16)).min(REST_MAX);
        let asked_for = trouble.retry_after.unwrap_or_default().min(RETRY_AFTER_MAX);
        *rest = Rest {
            failures: rest.failures.saturating_add(1),
            // What was asked for is not shortened.
            until: Some(Instant::now() + jittered(doubled).max(asked_for)),
            cause: trouble.cause,
        };
    }
}

fn trouble(cause: impl Display) -> Outcome {
    Outcome::Trouble(Trouble {
        cause: cause.to_string(),
        retry_after: None,
    })
}

/// Seconds in `Retry-After`. Its other form, a date, is as good as none: clocks differ.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// The innermost cause, which is the one that says something.
fn cause_of(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let cause = cause.to_string();
    if cause.contains("certificate") {
        return format!("{cause}; give the authority that its certificate is of in the connection's `ca_pem`");
    }
    cause
}
