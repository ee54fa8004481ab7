//! The way from the command line to an agent that runs: where it is, who asks, and how its refusals read. Invariant: a token
//! goes to this machine or over TLS, never readable over a network, and is in no message.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use agent_control::governance::authentication::tokens;
use anyhow::{Context, anyhow, bail};
use clap::Args;
use stream_spec::place::{ADMIN_TOKEN_FILE, admin_token_file, is_loopback};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity, Uri};
use tonic::{Request, Status};

use crate::limits::{CLIENT_CALL_WAIT, CLIENT_CONNECT_WAIT, CREDENTIAL_FILE_BYTES_MAX};

const ENDPOINT_DEFAULT: &str = "http://127.0.0.1:7070";
const TOKEN_VARIABLE: &str = "FEATURESTORE_TOKEN";

/// Where the agent is and who asks. The environment variables are those of the Terraform provider.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ClientArguments {
    /// Address of the agent [default: http://127.0.0.1:7070].
    #[arg(long, value_name = "URL", env = "FEATURESTORE_ENDPOINT")]
    pub(crate) endpoint: Option<String>,

    /// File that holds the token to call with. Without it the token is that of FEATURESTORE_TOKEN, else the admin token in the
    /// agent's data folder if the agent is on this machine.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,

    /// Data folder of the agent on this machine, where its admin token is [default: `featurestore` in the user's XDG data directory].
    #[arg(long, value_name = "DIR", env = "FEATURESTORE_AGENT_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,

    /// PEM file of the certificate authorities that an https agent is checked against [default: the system's].
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,

    /// PEM file of the client certificate.
    #[arg(long, value_name = "FILE", requires = "client_key_file")]
    pub(crate) client_cert_file: Option<PathBuf>,

    /// PEM file of the client certificate's key.
    #[arg(long, value_name = "FILE", requires = "client_cert_file")]
    pub(crate) client_key_file: Option<PathBuf>,
}

/// What generated clients are made of: a connection that says who asks.
pub(crate) type AgentChannel = InterceptedService<Channel, Bearer>;

/// Puts the token into each call.
#[derive(Clone)]
pub(crate) struct Bearer(Option<MetadataValue<Ascii>>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            request.metadata_mut().insert("authorization", token.clone());
        }
        Ok(request)
    }
}

/// Runs calls to the agent: `work` gets the channel that generated clients take.
pub(crate) fn run<T, F>(arguments: &ClientArguments, work: impl FnOnce(AgentChannel) -> F) -> anyhow::Result<T>
where
    F: Future<Output = anyhow::Result<T>>,
{
    let (endpoint, bearer) = prepare(arguments, |name| std::env::var(name).ok())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(async {
        let at = endpoint.uri().to_string();
        let channel = endpoint
            .connect()
            .await
            .map_err(|error| anyhow!("cannot reach the agent at {at}: {}", innermost(&error)))?;
        work(InterceptedService::new(channel, bearer)).await
    })
}

/// A refusal in the agent's own words.
pub(crate) fn refused(status: &Status) -> anyhow::Error {
    match std::error::Error::source(status) {
        Some(cause) => anyhow!("the agent cannot be reached: {}", innermost(cause)),
        None => anyhow!("{}", status.message()),
    }
}

fn prepare(arguments: &ClientArguments, variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<(Endpoint, Bearer)> {
    let text = arguments.endpoint.as_deref().unwrap_or(ENDPOINT_DEFAULT);
    if text.contains('@') {
        bail!(
            "the endpoint holds a user name or password, which the agent does not take; write scheme, host and port, as in {ENDPOINT_DEFAULT}"
        );
    }
    let uri: Uri = text
        .parse()
        .with_context(|| format!("the endpoint `{text}` is no address; write scheme, host and port, as in {ENDPOINT_DEFAULT}"))?;
    let local = is_loopback(uri.host().unwrap_or_default());
    let token = token(arguments, local, variable)?;
    let mut endpoint = Endpoint::from(uri.clone())
        .connect_timeout(CLIENT_CONNECT_WAIT)
        .timeout(CLIENT_CALL_WAIT);
    match uri.scheme_str() {
        Some("https") => {
            endpoint = endpoint
                .tls_config(tls(arguments)?)
                .context("cannot use the certificates that are set for TLS")?;
        }
        Some("http") if arguments.ca_file.is_some() || arguments.client_cert_file.is_some() => {
            bail!(
                "the endpoint `{text}` is plain HTTP, and certificates are for https; write an https endpoint or leave the certificates out"
            );
        }
        Some("http") if token.is_some() && !local => {
            bail!("a token would travel readable for everyone on the way to `{text}`; use an https endpoint");
        }
        Some("http") => {}
        _ => bail!("the endpoint `{text}` starts with neither http:// nor https://"),
    }
    Ok((endpoint, Bearer(token)))
}

fn tls(arguments: &ClientArguments) -> anyhow::Result<ClientTlsConfig> {
    let tls = match &arguments.ca_file {
        Some(file) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read_small(file)?)),
        None => ClientTlsConfig::new().with_native_roots(),
    };
    Ok(match (&arguments.client_cert_file, &arguments.client_key_file) {
        (Some(certificate), Some(key)) => tls.identity(Identity::from_pem(read_small(certificate)?, read_small(key)?)),
        _ => tls,
    })
}

/// The token that is set, else the admin token where the agent is on this machine. A file that is not there is no error: the
/// agent may ask for none.
fn token(
    arguments: &ClientArguments,
    local: bool,
    variable: impl Fn(&str) -> Option<String>,
) -> anyhow::Result<Option<MetadataValue<Ascii>>> {
    if let Some(file) = &arguments.token_file {
        return header(&text_of(file)?).map(Some);
    }
    if let Some(token) = variable(TOKEN_VARIABLE).filter(|token| !token.is_empty()) {
        return header(&token).map(Some);
    }
    if !local || arguments.client_cert_file.is_some() {
        return Ok(None);
    }
    let file = match &arguments.data_dir {
        Some(folder) => Some(folder.join(ADMIN_TOKEN_FILE)),
        None => admin_token_file(|name| variable(name).map(PathBuf::from)),
    };
    match file {
        Some(file) if file.exists() => header(&text_of(&file)?).map(Some),
        _ => Ok(None),
    }
}

fn text_of(file: &Path) -> anyhow::Result<String> {
    String::from_utf8(read_small(file)?).map_err(|_| anyhow!("the token file {} is not text", file.display()))
}

fn header(token: &str) -> anyhow::Result<MetadataValue<Ascii>> {
    let mut value: MetadataValue<Ascii> = format!("{}{}", tokens::SCHEME, token.trim())
        .parse()
        .map_err(|_| anyhow!("the token holds characters that cannot be sent; tokens are printable ASCII"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn read_small(file: &Path) -> anyhow::Result<Vec<u8>> {
    let named = || format!("cannot read {}", file.display());
    let mut bytes = Vec::new();
    File::open(file)
        .and_then(|opened| opened.take(CREDENTIAL_FILE_BYTES_MAX + 1).read_to_end(&mut bytes))
        .with_context(named)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > CREDENTIAL_FILE_BYTES_MAX) {
        bail!(
            "{} has more than {CREDENTIAL_FILE_BYTES_MAX} bytes, which no token or certificate has",
            file.display()
        );
    }
    Ok(bytes)
}

fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(cause) = error.source() {
        error = cause;
    }
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arguments: ClientArguments, token: Option<&str>, said: &str) {
        let variable = |name: &str| (name == TOKEN_VARIABLE).then(|| token.map(str::to_owned)).flatten();
        match prepare(&arguments, variable) {
            Ok((_, bearer)) => {
                let sent = bearer.0.map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default();
                assert_eq!(sent, said, "{arguments:?}");
            }
            Err(error) => {
                let error = format!("{error:#}");
                assert!(!said.is_empty() && error.contains(said), "{error}");
                assert!(!error.contains("s3cret"), "{error}");
            }
        }
    }

    fn to(endpoint: &str) -> ClientArguments {
        ClientArguments {
            endpoint: Some(endpoint.to_owned()),
            ..ClientArguments::default()
        }
    }

    #[test]
    fn a_token_goes_to_this_machine_or_over_tls() {
        check(to("http://127.0.0.1:1"), Some("s3cret"), "Bearer s3cret");
        check(to("http://127.0.0.1:1"), None, "");
        check(to("http://agent.example:1"), None, "");
        check(to("http://agent.example:1"), Some("s3cret"), "https endpoint");
        check(to("agent.example:1"), None, "neither http");
        check(to("http://user:s3cret@127.0.0.1"), None, "password");
        let file = Some("/nowhere/ca.pem".into());
        check(
            ClientArguments {
                ca_file: file.clone(),
                ..to("https://127.0.0.1:1")
            },
            None,
            "/nowhere/ca.pem",
        );
        check(
            ClientArguments {
                ca_file: file,
                ..to("http://127.0.0.1:1")
            },
            None,
            "plain HTTP",
        );
    }

    #[test]
    fn the_admin_token_is_found_in_the_data_folder_and_sent_to_this_machine_only() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(ADMIN_TOKEN_FILE), "s3cret\n").unwrap();
        let found = |endpoint: &str| ClientArguments {
            data_dir: Some(folder.path().to_owned()),
            ..to(endpoint)
        };
        check(found("http://localhost:1"), None, "Bearer s3cret");
        check(found("http://localhost:1"), Some("other"), "Bearer other");
        check(found("http://agent.example:1"), None, "");
    }
}
