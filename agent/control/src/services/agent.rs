//! The agent itself: version, capabilities, and what it takes at the moment.

use std::sync::Arc;
use std::time::Duration;

use stream_pipeline::usage::Usage;

use super::Services;
use super::error::ServiceError;
use crate::governance::{Action, RequestContext, Securable};

/// What an agent says of itself.
#[derive(Clone, Debug)]
pub struct AgentView {
    /// Its version.
    pub version: &'static str,
    /// Sorted names of what it can do.
    pub capabilities: Vec<&'static str>,
    /// How long a deleted table can be restored.
    pub trash_retention: Duration,
    /// Who asked.
    pub principal: String,
    /// What it takes at the moment.
    pub usage: Usage,
}

/// The calls on the agent itself.
#[derive(Clone)]
pub struct AgentService {
    services: Arc<Services>,
}

impl AgentService {
    /// The service over what services share.
    pub fn new(services: Arc<Services>) -> Self {
        Self { services }
    }

    /// Version, capabilities, and what the agent takes at the moment.
    pub async fn get(&self, context: &RequestContext) -> Result<AgentView, ServiceError> {
        self.services.authorizer.authorize(context, Action::Read, Securable::Agent).await?;
        let mut capabilities: Vec<_> = self.services.capabilities.iter().map(|capability| capability.name()).collect();
        capabilities.sort_unstable();
        Ok(AgentView {
            version: self.services.version,
            capabilities,
            trash_retention: self.services.trash_retention,
            principal: context.principal.name().to_owned(),
            usage: self.services.engine.usage(),
        })
    }
}
