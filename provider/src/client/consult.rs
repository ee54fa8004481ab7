//! Asking the agent while planning: whether to ask at all, with how much patience, and what silence means under the
//! provider's `plan_checks`.

use std::future::Future;

use tfplugin::diagnostic::Diagnostic;

use super::AgentClient;
use super::error::AgentError;
use crate::session::{PlanChecks, Session};

/// What came of asking.
#[derive(Debug)]
pub(crate) enum Consulted<T> {
    /// The agent said.
    Answer(T),
    /// It could not be asked, or did not answer.
    Silence(AgentError),
    /// The user does not want it asked.
    NotAsked,
}

/// Asks the agent as `plan_checks` says. `Err` is a refusal or a stop; silence is none.
pub(crate) async fn consult<T, Asked>(session: &Session, ask: impl FnOnce(AgentClient) -> Asked) -> Result<Consulted<T>, AgentError>
where
    Asked: Future<Output = Result<T, AgentError>>,
{
    if session.plan_checks() == PlanChecks::Off {
        return Ok(Consulted::NotAsked);
    }
    let client = match session.agent() {
        Ok(client) => client.hasty(),
        Err(error) => return Ok(Consulted::Silence(error)),
    };
    match ask(client).await {
        Ok(answer) => Ok(Consulted::Answer(answer)),
        Err(error) if error.is_silence() => Ok(Consulted::Silence(error)),
        Err(error) => Err(error),
    }
}

/// What silence means: an error if the user requires an answer, else a warning with its consequence.
pub(crate) fn unanswered(session: &Session, error: &AgentError, consequence: &str) -> Diagnostic {
    const SUMMARY: &str = "Plan Not Checked By The Agent";
    match session.plan_checks() {
        PlanChecks::Required => Diagnostic::error(
            SUMMARY,
            format!("`plan_checks = \"required\"` wants the agent's answer, and there is none: {error}."),
        ),
        PlanChecks::Auto | PlanChecks::Off => Diagnostic::warning(SUMMARY, format!("There is no answer: {error}. {consequence}")),
    }
}
