//! What the provider's configuration makes of it, shared with every resource and data source: the agent to ask, or why
//! there is none yet. Set by each Configure, which a reattached provider sees many times.

use std::sync::{Arc, PoisonError, RwLock};

use featurestore_proto::v1;

use crate::begun::Begun;
use crate::client::AgentClient;
use crate::client::error::AgentError;
use crate::client::governance::ListedSecret;
use crate::client::shared::SharedLists;

/// Whether a plan asks the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PlanChecks {
    /// Ask; go on with a warning when there is no answer.
    #[default]
    Auto,
    /// Never ask.
    Off,
    /// Ask; without an answer the plan fails.
    Required,
}

impl PlanChecks {
    /// The setting of that name.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "auto" => Some(Self::Auto),
            "off" => Some(Self::Off),
            "required" => Some(Self::Required),
            _ => None,
        }
    }
}

/// The way to the agent under one configuration.
#[derive(Clone, Debug)]
pub(crate) enum Access {
    /// There is one.
    Ready(AgentClient),
    /// The configuration holds unknown values; only an apply has them.
    Unknown {
        /// Attributes of the provider block that are unknown.
        attributes: Vec<String>,
    },
}

/// Handle on the current configuration.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    current: Arc<RwLock<(Access, PlanChecks)>>,
    lists: Arc<Lists>,
    begun: Arc<Begun>,
}

/// Lists that many resources share.
#[derive(Debug, Default)]
struct Lists {
    secrets: SharedLists<ListedSecret>,
    grants: SharedLists<v1::SecurableGrants>,
}

impl Session {
    /// A session before any Configure.
    pub(crate) fn new() -> Self {
        let access = Access::Unknown {
            attributes: vec!["the provider block".to_owned()],
        };
        Self {
            current: Arc::new(RwLock::new((access, PlanChecks::default()))),
            lists: Arc::default(),
            begun: Arc::default(),
        }
    }

    /// Replaces the configuration for every call from now on.
    pub(crate) fn configure(&self, access: Access, plan_checks: PlanChecks) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = (access, plan_checks);
        self.lists.secrets.forget_all();
        self.lists.grants.forget_all();
        self.begun.forget_all();
    }

    /// The agent, if the configuration says which.
    pub(crate) fn agent(&self) -> Result<AgentClient, AgentError> {
        match &self.current.read().unwrap_or_else(PoisonError::into_inner).0 {
            Access::Ready(client) => Ok(client.clone()),
            Access::Unknown { attributes } => Err(AgentError::NotConfigured {
                unknown: attributes.join(", "),
            }),
        }
    }

    /// Whether a plan asks the agent.
    pub(crate) fn plan_checks(&self) -> PlanChecks {
        self.current.read().unwrap_or_else(PoisonError::into_inner).1
    }

    /// The secrets of each scope.
    pub(crate) fn secrets(&self) -> &SharedLists<ListedSecret> {
        &self.lists.secrets
    }

    /// What the plan that is being made begins.
    pub(crate) fn begun(&self) -> &Begun {
        &self.begun
    }

    /// The grants on each type of securable.
    pub(crate) fn grants(&self) -> &SharedLists<v1::SecurableGrants> {
        &self.lists.grants
    }
}
