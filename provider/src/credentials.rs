//! What the provider shows an agent: a token, a client certificate; and what it checks the agent by. Everything is read when it is
//! needed, because Terraform starts the provider several times a command. Invariant: no message holds a token or a key.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use tfplugin::call::StopSignal;
use tfplugin::diagnostic::Diagnostics;
use tokio::io::AsyncReadExt;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

use crate::config::invalid;
use crate::duration;
use crate::limits::{PEM_BYTES_MAX, TOKEN_BYTES_MAX, TOKEN_COMMAND_TIMEOUT};

/// Files that TLS is done with.
#[derive(Clone, Debug, Default)]
pub(crate) struct TlsFiles {
    /// Authorities that the agent's certificate is checked by; `None`: the system's.
    pub(crate) authorities: Option<String>,
    /// Our certificate and its key.
    pub(crate) identity: Option<(String, String)>,
}

impl TlsFiles {
    /// The endpoint with TLS.
    pub(crate) async fn secure(&self, endpoint: Endpoint) -> Result<Endpoint, Diagnostics> {
        let tls = match &self.authorities {
            Some(file) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read("ca_file", file).await?)),
            None => ClientTlsConfig::new().with_native_roots(),
        };
        let tls = match &self.identity {
            Some((certificate, key)) => tls.identity(Identity::from_pem(
                read("client_cert_file", certificate).await?,
                read("client_key_file", key).await?,
            )),
            None => tls,
        };
        let attribute = if self.identity.is_some() { "client_cert_file" } else { "ca_file" };
        endpoint.tls_config(tls).map_err(|error| {
            let problem = innermost(&error);
            invalid(
                attribute,
                &format!("The certificates cannot be used: {problem}. Name PEM files, and a key that belongs to the client certificate."),
            )
            .into()
        })
    }
}

/// The admin token of an agent on this machine; `None` where there is none, or it is somebody else's.
pub(crate) async fn admin_token(file: &Path) -> Result<Option<MetadataValue<Ascii>>, Diagnostics> {
    use std::io::ErrorKind;
    let read = async {
        let mut text = String::new();
        let longest = u64::try_from(TOKEN_BYTES_MAX).unwrap_or(u64::MAX);
        tokio::fs::File::open(file).await?.take(longest).read_to_string(&mut text).await?;
        Ok::<_, std::io::Error>(text)
    };
    match read.await {
        Ok(text) => header(&text, "token").map(Some),
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::NotADirectory
            ) =>
        {
            tracing::debug!(file = %file.display(), %error, "no admin token of an agent on this machine");
            Ok(None)
        }
        Err(error) => {
            let detail = format!("The admin token file {} cannot be read: {error}. Set `token`.", file.display());
            Err(invalid("token", &detail).into())
        }
    }
}

async fn read(attribute: &str, file: &str) -> Result<Vec<u8>, Diagnostics> {
    let path = PathBuf::from(file);
    let failed = |problem: String| Diagnostics::from(invalid(attribute, &format!("The file {file:?} cannot be used: {problem}.")));
    let mut bytes = Vec::new();
    let opened = tokio::fs::File::open(&path).await.map_err(|error| failed(error.to_string()))?;
    let taken = opened.take(PEM_BYTES_MAX + 1).read_to_end(&mut bytes).await;
    taken.map_err(|error| failed(error.to_string()))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > PEM_BYTES_MAX) {
        return Err(failed(format!("it has more than {PEM_BYTES_MAX} bytes, which no certificate has")));
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

/// The metadata value that carries a token. Messages never show the token.
pub(crate) fn header(token: &str, attribute: &str) -> Result<MetadataValue<Ascii>, Diagnostics> {
    let token = token.trim();
    let problem = if token.is_empty() {
        "The token is empty."
    } else if token.len() > TOKEN_BYTES_MAX {
        "The token is too long to be sent."
    } else {
        match format!("Bearer {token}").parse::<MetadataValue<Ascii>>() {
            Ok(mut value) => {
                value.set_sensitive(true);
                return Ok(value);
            }
            Err(_) => "The token holds characters that cannot be sent; tokens are printable ASCII.",
        }
    };
    Err(invalid(attribute, problem).into())
}

/// Runs the token command. What it writes is read up to the longest token and a byte; it ends with us.
pub(crate) async fn run(program: &str, arguments: &[String], stop: &StopSignal) -> Result<String, Diagnostics> {
    let failed = |detail: String| Diagnostics::from(invalid("token_command", &detail));
    let output = tokio::select! {
        output = tokio::time::timeout(TOKEN_COMMAND_TIMEOUT, output_of(program, arguments)) => output,
        () = stop.stopped() => return Err(failed(format!("Terraform was interrupted while the program `{program}` ran."))),
    };
    let (status, written) = match output {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(failed(format!("The program `{program}` cannot be run: {error}."))),
        Err(_) => {
            let waited = duration::format(TOKEN_COMMAND_TIMEOUT);
            return Err(failed(format!("The program `{program}` did not end within {waited}.")));
        }
    };
    match status {
        // It may go on writing for ever.
        None => Err(failed(format!(
            "The program `{program}` wrote more than a token: over {TOKEN_BYTES_MAX} bytes."
        ))),
        // Its standard error may hold anything, a secret too: only the status is repeated.
        Some(status) if !status.success() => Err(failed(format!("The program `{program}` ended with {status}."))),
        Some(_) => String::from_utf8(written).map_err(|_| failed(format!("The output of `{program}` is not text."))),
    }
}

/// How a program ended and what it wrote; no end if it wrote too much.
async fn output_of(program: &str, arguments: &[String]) -> std::io::Result<(Option<ExitStatus>, Vec<u8>)> {
    let mut command = tokio::process::Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.kill_on_drop(true).spawn()?;
    let mut written = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        // A line end or two may follow the token.
        let longest = u64::try_from(TOKEN_BYTES_MAX + 2).unwrap_or(u64::MAX);
        stdout.take(longest + 1).read_to_end(&mut written).await?;
    }
    if written.len() > TOKEN_BYTES_MAX + 2 {
        return Ok((None, written));
    }
    Ok((Some(child.wait().await?), written))
}
