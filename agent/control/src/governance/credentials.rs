//! Temporary AWS credentials of service credentials: by assuming a role, or from the agent's own environment.
//!
//! The invariant: whoever asks gets credentials that are good for a while longer, AWS is asked once however many ask for the same,
//! and no secret part of them is in an error or a log.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use aws_sdk_sts::Client;
use aws_sdk_sts::config::ProvideCredentials;
use sha2::{Digest, Sha256};
use stream_spec::name::CredentialName;
use tokio::sync::{Mutex, OnceCell};

use super::aws::{self, AwsEnvironment};
use super::secrets::SecretValue;
use crate::limits::{
    AMBIENT_CREDENTIALS_AGE_MAX, ASSUME_AGAIN_WAIT, CREDENTIALS_CACHED_MAX, CREDENTIALS_GOOD_FOR_MIN, CREDENTIALS_RENEWED_BEFORE,
    ROLE_SESSION, SESSION_NAME_CHARS_MAX,
};
use crate::store::documents::{CredentialIdentity, CredentialRecord};

/// What sessions are called in AWS's own audit, before the name of who needs them.
const SESSION_PREFIX: &str = "featurestore-";

/// Credentials for AWS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemporaryCredentials {
    /// Names the credentials; no secret.
    pub access_key_id: String,
    /// Signs requests.
    pub secret_access_key: SecretValue,
    /// Goes with each request, for credentials that end.
    pub session_token: Option<SecretValue>,
    /// When they end; `None` for those of a user, which do not.
    pub expires_at: Option<SystemTime>,
}

/// What a session is called in AWS's own audit: who in the agent needs it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionName(String);

impl SessionName {
    /// The session of a stream, by the stream's name, or of the agent for another purpose. Characters that AWS does not take are
    /// `-`; a name that is too long is cut, and ends with a digest of the whole.
    pub fn of(user: &str) -> Self {
        let is_taken = |c: char| c.is_ascii_alphanumeric() || "_=,.@-".contains(c);
        let name: String = user.chars().map(|c| if is_taken(c) { c } else { '-' }).collect();
        let name = format!("{SESSION_PREFIX}{name}");
        if name.len() <= SESSION_NAME_CHARS_MAX {
            return Self(name);
        }
        let digest: String = Sha256::digest(user).iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        let kept: String = name.chars().take(SESSION_NAME_CHARS_MAX - digest.len() - 1).collect();
        Self(format!("{kept}-{digest}"))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A credential that gives no AWS credentials now. Trying again may help: roles and policies change outside.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum AssumeError {
    /// The role was not assumed.
    #[error(
        "the service credential `{credential}` cannot assume the role `{role_arn}`: {problem}; see that the role's trust policy \
         names the agent's identity and this external id, and that AWS can be reached"
    )]
    Role {
        /// Which credential.
        credential: CredentialName,
        /// Its role.
        role_arn: String,
        /// What AWS said.
        problem: String,
    },
    /// The agent has no AWS credentials of its own.
    #[error(
        "the service credential `{credential}` stands for the agent's own AWS credentials, and there are none: {problem}; give the \
         agent's process some, by its environment, its AWS profile or the role of its machine"
    )]
    Ambient {
        /// Which credential.
        credential: CredentialName,
        /// Why there are none.
        problem: String,
    },
}

/// What one call to AWS is made for.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Wanted {
    Role {
        role_arn: String,
        external_id: Option<String>,
        session: SessionName,
    },
    Ambient,
}

/// What the last call came to. Held while one is made, so that others who want the same wait for it.
#[derive(Default)]
struct Last {
    credentials: Option<TemporaryCredentials>,
    got_at: Option<Instant>,
    failed: Option<(Instant, String)>,
}

struct Entry {
    last: Arc<Mutex<Last>>,
    used_at: Instant,
}

/// Gives AWS credentials for service credentials.
#[derive(Default)]
pub struct AwsCredentials {
    environment: AwsEnvironment,
    client: OnceCell<Client>,
    cache: std::sync::Mutex<HashMap<Wanted, Entry>>,
}

impl AwsCredentials {
    /// By that environment.
    #[cfg(test)]
    pub(crate) fn by(environment: AwsEnvironment) -> Self {
        Self {
            environment,
            ..Self::default()
        }
    }

    /// AWS credentials that are good for some minutes at least. A change of the credential is seen at once, because what is kept
    /// is kept by role and external id.
    pub async fn assume(&self, credential: &CredentialRecord, session: &SessionName) -> Result<TemporaryCredentials, AssumeError> {
        let wanted = match &credential.identity {
            CredentialIdentity::Ambient => Wanted::Ambient,
            CredentialIdentity::AwsIamRole { role_arn, external_id } => Wanted::Role {
                role_arn: role_arn.clone(),
                external_id: external_id.clone(),
                session: session.clone(),
            },
        };
        let last = self.last(&wanted);
        let mut last = last.lock().await;
        self.renewed(&wanted, &mut last).await.map_err(|problem| {
            let credential = credential.name.clone();
            match wanted {
                Wanted::Ambient => AssumeError::Ambient { credential, problem },
                Wanted::Role { role_arn, .. } => AssumeError::Role {
                    credential,
                    role_arn,
                    problem,
                },
            }
        })
    }

    /// The region of the agent's environment.
    pub async fn region(&self) -> Result<String, String> {
        let look = async {
            let configuration = self.environment.configuration().await?;
            Ok(configuration.region().map(ToString::to_string).unwrap_or_default())
        };
        aws::within_bound(look).await
    }

    /// The place in the cache, in that of the one that was not used for longest if it is full.
    fn last(&self, wanted: &Wanted) -> Arc<Mutex<Last>> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let used_at = Instant::now();
        if let Some(entry) = cache.get_mut(wanted) {
            entry.used_at = used_at;
            return entry.last.clone();
        }
        if cache.len() >= CREDENTIALS_CACHED_MAX {
            let oldest = cache
                .iter()
                .min_by_key(|(_, entry)| entry.used_at)
                .map(|(wanted, _)| wanted.clone());
            oldest.and_then(|oldest| cache.remove(&oldest));
        }
        let last = Arc::<Mutex<Last>>::default();
        cache.insert(
            wanted.clone(),
            Entry {
                last: last.clone(),
                used_at,
            },
        );
        last
    }

    async fn renewed(&self, wanted: &Wanted, last: &mut Last) -> Result<TemporaryCredentials, String> {
        let still = last.good_for();
        let kept = |last: &Last| last.credentials.clone().filter(|_| still >= Some(CREDENTIALS_GOOD_FOR_MIN));
        if let Some(credentials) = last.credentials.clone().filter(|_| still >= Some(CREDENTIALS_RENEWED_BEFORE)) {
            return Ok(credentials);
        }
        let failed_lately = last.failed.clone().filter(|(at, _)| at.elapsed() < ASSUME_AGAIN_WAIT);
        let problem = match failed_lately {
            Some((_, problem)) => problem,
            None => match aws::within_bound(self.ask(wanted)).await {
                Ok(credentials) => {
                    *last = Last {
                        credentials: Some(credentials.clone()),
                        got_at: Some(Instant::now()),
                        failed: None,
                    };
                    return Ok(credentials);
                }
                Err(problem) => {
                    last.failed = Some((Instant::now(), problem.clone()));
                    problem
                }
            },
        };
        // AWS that is away for some minutes stops nobody whose credentials last longer.
        kept(last).ok_or(problem)
    }

    async fn ask(&self, wanted: &Wanted) -> Result<TemporaryCredentials, String> {
        match wanted {
            Wanted::Ambient => self.ambient().await,
            Wanted::Role {
                role_arn,
                external_id,
                session,
            } => self.role(role_arn, external_id.clone(), session).await,
        }
    }

    async fn role(&self, role_arn: &str, external_id: Option<String>, session: &SessionName) -> Result<TemporaryCredentials, String> {
        let connect = || async { Ok::<_, String>(Client::new(self.environment.configuration().await?)) };
        let request = self.client.get_or_try_init(connect).await?.assume_role();
        let sent = request
            .role_arn(role_arn)
            .set_external_id(external_id)
            .role_session_name(session.as_str())
            .duration_seconds(i32::try_from(ROLE_SESSION.as_secs()).unwrap_or(i32::MAX))
            .send();
        let answer = sent.await.map_err(|error| aws::problem(&error))?;
        let credentials = answer.credentials.ok_or("AWS answered without credentials")?;
        let expires_at = SystemTime::try_from(credentials.expiration).map_err(|_| "AWS answered with a time out of range")?;
        Ok(TemporaryCredentials {
            access_key_id: credentials.access_key_id,
            secret_access_key: credentials.secret_access_key.into(),
            session_token: Some(credentials.session_token.into()),
            expires_at: Some(expires_at),
        })
    }

    async fn ambient(&self) -> Result<TemporaryCredentials, String> {
        let configuration = self.environment.configuration().await?;
        let provider = configuration
            .credentials_provider()
            .ok_or("no provider of credentials is configured")?;
        let found = provider.provide_credentials().await.map_err(|error| aws::causes(&error))?;
        Ok(TemporaryCredentials {
            access_key_id: found.access_key_id().to_owned(),
            secret_access_key: found.secret_access_key().to_owned().into(),
            session_token: found.session_token().map(|token| token.to_owned().into()),
            expires_at: found.expiry(),
        })
    }
}

impl Last {
    /// How long the credentials are good for still; those without an end, until they are looked at again.
    fn good_for(&self) -> Option<Duration> {
        match self.credentials.as_ref()?.expires_at {
            Some(end) => Some(end.duration_since(SystemTime::now()).unwrap_or_default()),
            None => {
                let left = AMBIENT_CREDENTIALS_AGE_MAX.saturating_sub(self.got_at?.elapsed());
                Some(if left.is_zero() { left } else { Duration::MAX })
            }
        }
    }
}

#[cfg(test)]
mod tests;
