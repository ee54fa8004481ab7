//! What a failed call, a violation or a missing capability means to a user: title, sentences, attribute. Every refusal of
//! the agent becomes a diagnostic here and nowhere else.

use featurestore_proto::v1;
use stream_spec::violation::Violation;
use tfplugin::diagnostic::{Diagnostic, Diagnostics};
use tfplugin::schema::Schema;
use tonic::Code;

use super::error::AgentError;

/// Title of what a user must mend in a configuration.
const INVALID: &str = "Invalid Attribute Value";

/// Fields of the agent's messages that have another name in a configuration.
const RENAMED: [(&str, &str); 3] = [
    ("kafka.password", "kafka.password_wo"),
    ("kafka.schema_registry_api_secret", "kafka.schema_registry_api_secret_wo"),
    ("kafka.schema_registry_api_secret_ref", "kafka.schema_registry_api_secret_secret"),
];

/// A failed call as diagnostics. `doing` completes "could not …": `read the stream `a.b.c``.
pub(crate) fn failure(error: &AgentError, doing: &str, schema: &Schema) -> Diagnostics {
    match error {
        AgentError::Refused { code, message, detail, .. } => {
            let summary = if *code == Code::InvalidArgument { INVALID } else { title(*code) };
            let found = at_fields(summary, &detail.violations, schema);
            if found.is_empty() {
                Diagnostic::error(title(*code), refusal(*code, message, doing)).into()
            } else {
                found
            }
        }
        other => silence(other, doing).into(),
    }
}

/// Each violation at its attribute.
pub(crate) fn violations(violations: &[v1::Violation], schema: &Schema) -> Diagnostics {
    at_fields(INVALID, violations, schema)
}

/// Each thing that this agent cannot do yet, at the attribute that asks for it.
pub(crate) fn missing_capabilities(missing: &[v1::Violation], schema: &Schema) -> Diagnostics {
    at_fields(title(Code::Unimplemented), missing, schema)
}

/// Each thing that an apply would be refused for, or wait for, as things are, and may not when it comes to it.
pub(crate) fn worries(violations: &[v1::Violation], schema: &Schema) -> Diagnostics {
    let one = |it: &v1::Violation| {
        let detail = sentences(&it.problem, &it.value, &it.remedy);
        placed(Diagnostic::warning("Not Ready Yet", detail), &it.field, schema)
    };
    violations.iter().map(one).collect()
}

fn at_fields(summary: &str, violations: &[v1::Violation], schema: &Schema) -> Diagnostics {
    let one = |it: &v1::Violation| at_field(summary, &it.field, sentences(&it.problem, &it.value, &it.remedy), schema);
    violations.iter().map(one).collect()
}

/// A violation that was found here, without the agent.
pub(crate) fn violation(violation: &Violation, schema: &Schema) -> Diagnostic {
    let detail = sentences(&violation.problem, &violation.value, &violation.remedy);
    at_field(INVALID, &violation.field, detail, schema)
}

fn at_field(summary: &str, field: &str, detail: String, schema: &Schema) -> Diagnostic {
    placed(Diagnostic::error(summary, detail), field, schema)
}

/// The attribute of a configuration that a field of a message is.
pub(crate) fn attribute_of(field: &str) -> &str {
    RENAMED
        .iter()
        .find(|(name, _)| *name == field)
        .map_or(field, |(_, attribute)| attribute)
}

fn placed(diagnostic: Diagnostic, field: &str, schema: &Schema) -> Diagnostic {
    let path = schema.path(attribute_of(field));
    if path.is_root() { diagnostic } else { diagnostic.at(path) }
}

/// No answer: what is known is what the transport says.
fn silence(error: &AgentError, doing: &str) -> Diagnostic {
    let remedy = match error {
        AgentError::Unreachable { .. } => {
            "Start the agent, or correct the provider's `endpoint`. Nothing is known about the state of what was asked for: it is \
             not taken for deleted."
        }
        AgentError::NoAnswer { .. } => "The agent may be overloaded; try again, or raise the provider's `request_timeout`.",
        AgentError::Stopped { .. } => "Terraform was interrupted.",
        AgentError::NotConfigured { .. } => "Apply what it depends on first, for instance with `-target`.",
        AgentError::Incomplete { .. } | AgentError::Refused { .. } => "Bring agent and provider to the same version.",
    };
    let summary = match error {
        AgentError::Unreachable { .. } => "Agent Unreachable",
        AgentError::NoAnswer { .. } => "Agent Did Not Answer",
        AgentError::Stopped { .. } => "Interrupted",
        AgentError::NotConfigured { .. } => "Provider Not Configured",
        AgentError::Incomplete { .. } | AgentError::Refused { .. } => "Unexpected Answer",
    };
    Diagnostic::error(summary, format!("Could not {doing}: {error}. {remedy}"))
}

fn title(code: Code) -> &'static str {
    match code {
        Code::Unauthenticated => "Not Authenticated",
        Code::PermissionDenied => "Permission Denied",
        Code::NotFound => "Not Found",
        Code::AlreadyExists => "Already Exists",
        Code::InvalidArgument | Code::OutOfRange => "Invalid Request",
        Code::FailedPrecondition => "Request Refused",
        Code::Aborted => "Changed Since The Plan",
        Code::Unimplemented => "Not Available On This Agent",
        Code::Unavailable | Code::ResourceExhausted => "Agent Busy",
        _ => "Agent Error",
    }
}

fn refusal(code: Code, message: &str, doing: &str) -> String {
    let remedy = match code {
        Code::Unauthenticated => " Set the provider's `token` or `token_command`.",
        Code::PermissionDenied => " Ask for the privilege, or use another token. Terraform keeps what it knows.",
        Code::Aborted => " Someone changed it after the plan was made. Nothing was overwritten: plan again.",
        Code::Unimplemented => " Use a newer agent, or leave this out.",
        Code::Unavailable | Code::ResourceExhausted => " Every retry met the same answer. Try again later.",
        Code::Internal | Code::Unknown | Code::DataLoss => " This is a fault of the agent; its log says more.",
        _ => "",
    };
    let message = if message.is_empty() { "the agent gave no reason" } else { message };
    format!("Could not {doing}: {}{remedy}", sentence(message))
}

/// `problem`, what was found, what to do, as sentences.
fn sentences(problem: &str, value: &str, remedy: &str) -> String {
    let mut text = match value {
        "" => sentence(problem),
        value => sentence(&format!("{problem} (found {value})")),
    };
    if !remedy.is_empty() {
        text.push(' ');
        text.push_str(&sentence(remedy));
    }
    text
}

/// First letter upper case, a period at the end.
pub(crate) fn sentence(text: &str) -> String {
    let mut characters = text.trim().chars();
    let Some(first) = characters.next() else { return String::new() };
    let mut sentence: String = first.to_uppercase().chain(characters).collect();
    if !sentence.ends_with(['.', '!', '?', ':']) {
        sentence.push('.');
    }
    sentence
}
