//! Gives a client tokens to sign in with. Invariant: a token's bytes go from one wiped place to the next, and to librdkafka.

use std::sync::{Arc, mpsc};
use std::time::UNIX_EPOCH;

use tokio::runtime::Handle;

use super::ffi::{self, NativeClient};
use crate::connection::{BearerToken, ClientProperties, TokenSource};
use crate::error::PipelineError;
use crate::limits;

/// Who gives the client tokens, and where that one waits for answers.
pub(super) struct Tokens {
    source: Arc<dyn TokenSource>,
    runtime: Handle,
}

impl Tokens {
    /// Those of a client; nothing for one that signs in by other means.
    pub(super) fn of(properties: &ClientProperties) -> Result<Option<Self>, PipelineError> {
        let Some(source) = properties.tokens.clone() else { return Ok(None) };
        let runtime = Handle::try_current().map_err(|error| PipelineError::Internal {
            message: format!("a client that signs in with tokens was opened outside of the runtime: {error}"),
        })?;
        Ok(Some(Self { source, runtime }))
    }

    /// Answers a client that wants a token, which calls itself by that name.
    pub(super) fn give(&self, client: &NativeClient, name: &str) {
        let token = self.next();
        let answer = token.as_ref().map_err(Clone::clone).and_then(|token| {
            let life = token.expires_at.duration_since(UNIX_EPOCH);
            let life = life.map_err(|_| "the token ended before 1970".to_owned())?;
            Ok((&token.value, i64::try_from(life.as_millis()).unwrap_or(i64::MAX)))
        });
        ffi::give_token(client, name, answer);
    }

    /// Waits in this thread, which serves one client's events and nothing else.
    fn next(&self) -> Result<BearerToken, String> {
        let (answer, answered) = mpsc::sync_channel(1);
        let source = self.source.clone();
        self.runtime.spawn(async move { drop(answer.send(source.token().await)) });
        // A runtime that is shutting down drops the question, which ends the wait.
        let token = answered.recv_timeout(limits::TOKEN_WAIT);
        token.unwrap_or_else(|_| Err("no token came in time".to_owned()))
    }
}
