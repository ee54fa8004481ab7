//! Tries a connection step by step: does the address answer, does TLS come about, is the user let in, are topics told.
//!
//! TLS and authentication are tried by the client that streams use, and by no other: what works here works there. Invariant: every
//! step is bounded in time, and nothing is left open.

use std::sync::Arc;
use std::time::Instant;

use stream_spec::connection::parse_servers;
use tokio::net::TcpStream;

use super::client::{ClusterClient, blocking};
use super::client_count::ClientCount;
use super::options::ClientOptions;
use super::trouble::TroubleKind;
use crate::connection::{ClientProperties, ConnectionStep};
use crate::error::PipelineError;
use crate::limits;

/// Tries a connection with new clients.
pub(crate) async fn attempt(properties: &ClientProperties) -> Result<Vec<ConnectionStep>, PipelineError> {
    let mut steps = Vec::new();
    let reached = address(properties).await;
    let is_reached = reached.is_ok();
    steps.push(ConnectionStep::of(ConnectionStep::ADDRESS, reached));
    if !is_reached {
        steps.extend(ConnectionStep::skipped(&[
            ConnectionStep::TLS,
            ConnectionStep::AUTHENTICATION,
            ConnectionStep::TOPICS,
        ]));
        return Ok(steps);
    }
    if let Some(tokens) = &properties.tokens
        && let Err(problem) = tokens.token().await
    {
        let nothing = "not tried, because there is nothing to sign in with".to_owned();
        steps.push(ConnectionStep::of(ConnectionStep::TLS, Err(nothing)));
        steps.push(ConnectionStep::of(ConnectionStep::AUTHENTICATION, Err(problem)));
        steps.extend(ConnectionStep::skipped(&[ConnectionStep::TOPICS]));
        return Ok(steps);
    }
    let client = ClusterClient::open(properties, &ClientOptions::default(), &ClientCount::apart()).await?;
    let (uses_tls, uses_sasl) = (client.security().uses_tls, client.security().uses_sasl);
    let tls_done = || {
        if uses_tls {
            "TLS came about, and the broker's certificate is trusted"
        } else {
            "not used"
        }
    };
    let sasl_done = || match (uses_sasl, client.security().shown_name()) {
        (true, _) => "the broker lets the user in".to_owned(),
        // It may have asked for none: nobody but the broker knows.
        (false, Some(certificate)) => format!("the broker lets the client in, whose certificate is {certificate}"),
        (false, None) => "not used".to_owned(),
    };
    match client.cluster_id().await {
        Ok(id) => {
            steps.push(ConnectionStep::of(ConnectionStep::TLS, Ok(tls_done().to_owned())));
            steps.push(ConnectionStep::of(ConnectionStep::AUTHENTICATION, Ok(sasl_done())));
            steps.push(ConnectionStep::of(ConnectionStep::TOPICS, topics(&client, &id).await));
        }
        Err(error) => {
            let kind = client.trouble_now().map(|trouble| trouble.kind);
            match kind {
                // What is no trouble of TLS comes after it, if there is any. The client's certificate says who it is, as a user does.
                Some(
                    TroubleKind::Authentication | TroubleKind::Credential | TroubleKind::ClientCertificate | TroubleKind::OtherProtocol(_),
                ) => {
                    steps.push(ConnectionStep::of(ConnectionStep::TLS, Ok(tls_done().to_owned())));
                    steps.push(ConnectionStep::of(ConnectionStep::AUTHENTICATION, Err(error.to_string())));
                }
                _ if uses_tls => {
                    steps.push(ConnectionStep::of(ConnectionStep::TLS, Err(error.to_string())));
                    steps.extend(ConnectionStep::skipped(&[ConnectionStep::AUTHENTICATION]));
                }
                _ => {
                    steps.push(ConnectionStep::of(ConnectionStep::TLS, Ok(tls_done().to_owned())));
                    steps.push(ConnectionStep::of(ConnectionStep::AUTHENTICATION, Err(error.to_string())));
                }
            }
            steps.extend(ConnectionStep::skipped(&[ConnectionStep::TOPICS]));
        }
    }
    Ok(steps)
}

/// One server that takes a connection is enough; the others are named.
async fn address(properties: &ClientProperties) -> Result<String, String> {
    let servers = parse_servers(&properties.bootstrap_servers)?;
    let mut reached = Vec::new();
    let mut failed = Vec::new();
    let give_up_at = tokio::time::Instant::now() + limits::ADDRESS_WAIT;
    for (host, port) in &servers {
        let shown = format!("`{host}:{port}`");
        let plain = host.trim_start_matches('[').trim_end_matches(']');
        match tokio::time::timeout_at(give_up_at, TcpStream::connect((plain, *port))).await {
            Ok(Ok(_)) => reached.push(shown),
            Ok(Err(error)) => failed.push(format!("{shown}: {error}")),
            Err(_) => failed.push(format!("{shown}: no answer in time")),
        }
    }
    match (reached.is_empty(), failed.is_empty()) {
        (false, true) => Ok(format!("connected to {}", reached.join(", "))),
        (false, false) => Ok(format!("connected to {}, but not to {}", reached.join(", "), failed.join(", "))),
        (true, _) => Err(format!(
            "cannot connect to {}; check the address, and that the broker is up",
            failed.join(", ")
        )),
    }
}

async fn topics(client: &Arc<ClusterClient>, cluster_id: &str) -> Result<String, String> {
    let give_up_at = Instant::now() + limits::SOURCE_ANSWER_WAIT;
    loop {
        let consumer = client.consumer.clone();
        let answer = blocking(move || {
            let metadata = consumer.client().fetch_metadata(None, limits::BLOCKING_SLICE)?;
            Ok::<_, rdkafka::error::KafkaError>(metadata.topics().iter().filter(|topic| topic.error().is_none()).count())
        });
        match answer.await.map_err(|error| error.to_string())? {
            Ok(count) => return Ok(format!("the cluster `{cluster_id}` tells {count} topics")),
            Err(error) if Instant::now() >= give_up_at => return Err(client.unreachable(&error.to_string()).to_string()),
            Err(_) => {}
        }
    }
}
