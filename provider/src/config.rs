//! The provider block: its schema, its values with their fallbacks from the environment, and the agent client that they
//! make. Invariant: a token never goes over plain HTTP to another machine, and is in no message.

use std::path::PathBuf;
use std::time::Duration;

use stream_spec::place::{admin_token_file, is_loopback};
use tfplugin::call::StopSignal;
use tfplugin::diagnostic::{Diagnostic, Diagnostics};
use tfplugin::path::AttributePath;
use tfplugin::schema::Schema;
use tfplugin::schema::attribute::Attribute;
use tfplugin::value::Value;
use tfplugin::value::types::Type;
use tonic::transport::{Endpoint, Uri};

use crate::client::AgentClient;
use crate::credentials::{self, TlsFiles};
use crate::duration;
use crate::limits::{REQUEST_TIMEOUT_DEFAULT, REQUEST_TIMEOUT_RANGE, RETRIES_DEFAULT, RETRIES_MAX};
use crate::session::{Access, PlanChecks};

const ENDPOINT_VARIABLE: &str = "FEATURESTORE_ENDPOINT";
const ENDPOINT_DEFAULT: &str = "http://127.0.0.1:7070";
const TOKEN_VARIABLE: &str = "FEATURESTORE_TOKEN";
/// Attributes that are for TLS only.
const TLS_ATTRIBUTES: [&str; 3] = ["ca_file", "client_cert_file", "client_key_file"];

/// The provider block.
pub(crate) fn schema() -> Schema {
    Schema::new(
        "Manages streams of a featurestore agent.",
        [
            (
                "endpoint",
                Attribute::optional(
                    Type::String,
                    "Address of the agent. Falls back on `FEATURESTORE_ENDPOINT`, then on `http://127.0.0.1:7070`.",
                ),
            ),
            (
                "token",
                Attribute::optional(
                    Type::String,
                    "Token that says who calls. Falls back on `FEATURESTORE_TOKEN`, then, for an agent on this machine, on the admin token \
                     in its data folder (`FEATURESTORE_AGENT_DATA_DIR` or the default). Conflicts with `token_command`.",
                )
                .sensitive(),
            ),
            (
                "token_command",
                Attribute::optional(
                    Type::list(Type::String),
                    "Program and arguments, run without a shell, whose standard output is the token. Conflicts with `token`.",
                ),
            ),
            (
                "ca_file",
                Attribute::optional(
                    Type::String,
                    "PEM file of the certificate authorities that an `https` agent is checked against. Without it the system's are used.",
                ),
            ),
            (
                "client_cert_file",
                Attribute::optional(Type::String, "PEM file of the client certificate; goes with `client_key_file`."),
            ),
            (
                "client_key_file",
                Attribute::optional(
                    Type::String,
                    "PEM file of the client certificate's key; goes with `client_cert_file`.",
                ),
            ),
            (
                "request_timeout",
                Attribute::optional(Type::String, "How long one request may take. Default `30s`."),
            ),
            (
                "max_retries",
                Attribute::optional(
                    Type::Number,
                    "How often a request that met a busy or absent agent is repeated. Default 6, at most 30.",
                ),
            ),
            (
                "plan_checks",
                Attribute::optional(
                    Type::String,
                    "Whether a plan asks the agent: `auto` (default) asks and goes on with a warning when there is no answer, \
                     `required` fails without one, `off` never asks.",
                ),
            ),
        ],
    )
}

/// What the block says, read and checked; unknown values are left out. No `Debug`: it holds a token.
pub(crate) struct Settings {
    endpoint: Uri,
    token: Option<String>,
    token_command: Vec<String>,
    /// Where a token is that was not set; `None` where none is to be looked for.
    admin_token_file: Option<PathBuf>,
    tls: TlsFiles,
    request_timeout: Duration,
    retries_max: u32,
    plan_checks: PlanChecks,
    unknown: Vec<String>,
}

impl Settings {
    /// Reads the block; `environment` answers for variables.
    pub(crate) fn read(config: &Value, environment: impl Fn(&str) -> Option<String>) -> Result<Self, Diagnostics> {
        let mut problems = Diagnostics::none();
        let names = config.entries().into_iter().flatten();
        let unknown: Vec<String> = names
            .filter(|(_, value)| !value.is_wholly_known())
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        let set = |name: &str, variable: &str| match config.get(name) {
            Value::Null => environment(variable).filter(|text| !text.is_empty()),
            value => value.as_str().map(str::to_owned),
        };
        let endpoint_text = set("endpoint", ENDPOINT_VARIABLE).unwrap_or_else(|| ENDPOINT_DEFAULT.to_owned());
        let endpoint = endpoint(&endpoint_text, &mut problems);
        let encrypted = endpoint.as_ref().is_none_or(|endpoint| endpoint.scheme_str() == Some("https"));
        let local = endpoint
            .as_ref()
            .is_none_or(|endpoint| is_loopback(endpoint.host().unwrap_or_default()));
        // An endpoint that only the apply brings may be either.
        let tls_fits = encrypted || !config.get("endpoint").is_wholly_known();
        let tls = tls(config, tls_fits, &mut problems);
        let token_command: Vec<String> = config
            .get("token_command")
            .elements()
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        let command_given = !config.get("token_command").is_null();
        let token = if command_given {
            config.get("token").as_str().map(str::to_owned)
        } else {
            set("token", TOKEN_VARIABLE)
        };
        if command_given && !config.get("token").is_null() {
            problems.push(invalid("token_command", "Set either `token` or `token_command`, not both."));
        }
        if command_given && config.get("token_command").is_wholly_known() && token_command.is_empty() {
            problems.push(invalid(
                "token_command",
                "The command is empty: name a program, as in `[\"pass\", \"show\", \"featurestore\"]`.",
            ));
        }
        if (token.is_some() || command_given) && !encrypted && !local {
            let name = if command_given { "token_command" } else { "token" };
            problems.push(Diagnostic::error(
                "Token Over Plain HTTP",
                format!("A token would travel readable for everyone on the way to `{endpoint_text}`. The provider sends one over plain HTTP only to this machine (127.0.0.1, ::1, localhost). Use an `https` endpoint."),
            ).at(AttributePath::attributes(name)));
        }
        let request_timeout = request_timeout(config.get("request_timeout"), &mut problems);
        let retries_max = retries_max(config.get("max_retries"), &mut problems);
        let plan_checks = match config.get("plan_checks").as_str() {
            None => PlanChecks::default(),
            Some(text) => PlanChecks::parse(text).unwrap_or_else(|| {
                problems.push(invalid(
                    "plan_checks",
                    &format!("The value {text:?} is not known. Use `auto`, `off` or `required`."),
                ));
                PlanChecks::default()
            }),
        };
        match endpoint {
            Some(endpoint) if !problems.has_errors() => Ok(Self {
                // Whoever shows a certificate, or has an agent elsewhere, says by that who it is.
                admin_token_file: (local && tls.identity.is_none())
                    .then(|| admin_token_file(|name| environment(name).map(PathBuf::from)))
                    .flatten(),
                endpoint,
                token,
                token_command,
                tls,
                request_timeout,
                retries_max,
                plan_checks,
                unknown,
            }),
            _ => Err(problems),
        }
    }

    /// The way to the agent, and whether plans take it. Runs the token command, if there is one.
    pub(crate) async fn open(self, terraform_version: &str, stop: &StopSignal) -> Result<(Access, PlanChecks), Diagnostics> {
        if !self.unknown.is_empty() {
            return Ok((Access::Unknown { attributes: self.unknown }, self.plan_checks));
        }
        let token = match (self.token, self.token_command.split_first(), self.admin_token_file) {
            (Some(token), _, _) => Some(credentials::header(&token, "token")?),
            (None, Some((program, arguments)), _) => {
                let token = credentials::run(program, arguments, stop).await?;
                Some(credentials::header(&token, "token_command")?)
            }
            (None, None, Some(file)) => credentials::admin_token(&file).await?,
            (None, None, None) => None,
        };
        let encrypted = self.endpoint.scheme_str() == Some("https");
        let endpoint = with_user_agent(Endpoint::from(self.endpoint), terraform_version);
        let endpoint = if encrypted { self.tls.secure(endpoint).await? } else { endpoint };
        let client = AgentClient::new(&endpoint, token, self.request_timeout, self.retries_max);
        Ok((Access::Ready(client), self.plan_checks))
    }
}

/// Says in the agent's log who calls. A version that no header can carry is left out.
fn with_user_agent(endpoint: Endpoint, terraform_version: &str) -> Endpoint {
    let name = concat!("terraform-provider-featurestore/", env!("CARGO_PKG_VERSION"));
    let named = endpoint.clone().user_agent(format!("{name} Terraform/{terraform_version}"));
    named.unwrap_or(endpoint)
}

pub(crate) fn invalid(attribute: &str, detail: &str) -> Diagnostic {
    Diagnostic::error("Invalid Provider Configuration", detail).at(AttributePath::attributes(attribute))
}

/// The files for TLS, which go with an `https` endpoint.
fn tls(config: &Value, fits: bool, problems: &mut Diagnostics) -> TlsFiles {
    for name in TLS_ATTRIBUTES.iter().filter(|name| config.get(name).is_present()) {
        if !fits {
            let detail = format!(
                "The attribute `{name}` is for an `https` endpoint, and this one is plain HTTP. Use an `https` endpoint, or leave it out."
            );
            problems.push(invalid(name, &detail));
        }
    }
    let text = |name: &str| config.get(name).as_str().map(str::to_owned);
    for (name, other) in [("client_cert_file", "client_key_file"), ("client_key_file", "client_cert_file")] {
        if config.get(name).is_present() && config.get(other).is_null() {
            problems.push(invalid(name, "Set both `client_cert_file` and `client_key_file`, or neither."));
        }
    }
    TlsFiles {
        authorities: text("ca_file"),
        identity: text("client_cert_file").zip(text("client_key_file")),
    }
}

fn endpoint(text: &str, problems: &mut Diagnostics) -> Option<Uri> {
    let example = format!("Write scheme, host and port, as in `{ENDPOINT_DEFAULT}`.");
    if text.contains('@') {
        // Not repeated, here or in any later message: it may be a password.
        let detail = format!("The endpoint holds a user name or password. The agent takes a `token` instead. {example}");
        problems.push(invalid("endpoint", &detail));
        return None;
    }
    let uri = match text.parse::<Uri>() {
        Ok(uri) => uri,
        Err(error) => {
            problems.push(invalid(
                "endpoint",
                &format!("The endpoint {text:?} is not an address: {error}. {example}"),
            ));
            return None;
        }
    };
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        problems.push(invalid(
            "endpoint",
            &format!("The endpoint {text:?} does not start with `http://` or `https://`. {example}"),
        ));
        return None;
    }
    if uri.path() != "/" || uri.query().is_some() {
        problems.push(invalid("endpoint", &format!("The endpoint {text:?} has a path. {example}")));
        return None;
    }
    Some(uri)
}

fn request_timeout(value: &Value, problems: &mut Diagnostics) -> Duration {
    let Some(text) = value.as_str() else {
        return REQUEST_TIMEOUT_DEFAULT;
    };
    let (shortest, longest) = REQUEST_TIMEOUT_RANGE;
    match duration::parse(text) {
        Ok(timeout) if (shortest..=longest).contains(&timeout) => return timeout,
        Ok(_) => problems.push(invalid(
            "request_timeout",
            &format!(
                "The duration {text:?} is out of range. Use {} to {}.",
                duration::format(shortest),
                duration::format(longest)
            ),
        )),
        Err(error) => problems.push(invalid("request_timeout", &format!("The value cannot be read: {error}."))),
    }
    REQUEST_TIMEOUT_DEFAULT
}

fn retries_max(value: &Value, problems: &mut Diagnostics) -> u32 {
    let Some(number) = value.as_number() else { return RETRIES_DEFAULT };
    match number.as_u64().and_then(|number| u32::try_from(number).ok()) {
        Some(retries) if retries <= RETRIES_MAX => retries,
        _ => {
            problems.push(invalid(
                "max_retries",
                &format!("The number {number} is out of range. Use a whole number from 0 to {RETRIES_MAX}."),
            ));
            RETRIES_DEFAULT
        }
    }
}
