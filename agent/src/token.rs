//! `token`: makes, lists and revokes the tokens of an agent that runs. The agent decides; this file shows.

use std::time::Duration;

use clap::{Args, Subcommand};
use featurestore_proto::v1;
use featurestore_proto::v1::token_service_client::TokenServiceClient;

use crate::client::{self, ClientArguments};
use crate::duration;
use crate::limits::CLIENT_LIST_PAGES_MAX;
use crate::serve::announce;

/// What to do with tokens.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token and print it, this once.
    Create(CreateArguments),
    /// List the tokens that you may see: your own, or all for an admin.
    List(ListArguments),
    /// Make a token worthless at once.
    Revoke(RevokeArguments),
}

/// A token to make.
#[derive(Args, Clone, Debug)]
pub(crate) struct CreateArguments {
    #[command(flatten)]
    client: ClientArguments,

    /// Who the token speaks for [default: you]; another one than you is for admins.
    #[arg(long, value_name = "NAME")]
    principal: Option<String>,

    /// How long it is good for, at most 731d [default: 90d].
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    lifetime: Option<Duration>,
}

/// A list of tokens.
#[derive(Args, Clone, Debug)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    client: ClientArguments,
}

/// A token to revoke.
#[derive(Args, Clone, Debug)]
pub(crate) struct RevokeArguments {
    #[command(flatten)]
    client: ClientArguments,

    /// Its id, as `token list` shows it.
    #[arg(value_name = "ID")]
    id: String,
}

/// Does what is asked.
pub(crate) fn run(command: TokenCommand) -> anyhow::Result<()> {
    match command {
        TokenCommand::Create(arguments) => create(arguments),
        TokenCommand::List(arguments) => list(&arguments.client),
        TokenCommand::Revoke(arguments) => revoke(arguments),
    }
}

fn create(arguments: CreateArguments) -> anyhow::Result<()> {
    let request = v1::CreateTokenRequest {
        principal: arguments.principal.unwrap_or_default(),
        lifetime: arguments.lifetime.map(prost_types::Duration::try_from).transpose()?,
    };
    let answer = client::run(&arguments.client, |channel| async move {
        let answer = TokenServiceClient::new(channel).create_token(request).await;
        Ok(answer.map_err(|status| client::refused(&status))?.into_inner())
    })?;
    // The token alone on standard output, so that it can be piped to where it is kept.
    let token = answer.token.unwrap_or_default();
    eprintln!(
        "token {} for {}, good until {}; it is shown this once",
        token.id,
        token.principal,
        shown(token.expire_time)
    );
    announce(&answer.value)
}

fn list(arguments: &ClientArguments) -> anyhow::Result<()> {
    let tokens = client::run(arguments, |channel| async move {
        let mut client = TokenServiceClient::new(channel);
        let (mut tokens, mut page_token) = (Vec::new(), String::new());
        for _ in 0..CLIENT_LIST_PAGES_MAX {
            let request = v1::ListTokensRequest { page_size: 0, page_token };
            let page = client
                .list_tokens(request)
                .await
                .map_err(|status| client::refused(&status))?
                .into_inner();
            tokens.extend(page.tokens);
            page_token = page.next_page_token;
            if page_token.is_empty() {
                break;
            }
        }
        Ok(tokens)
    })?;
    for token in tokens {
        announce(&format!(
            "{}  {}  expires {}  last used {}",
            token.id,
            token.principal,
            shown(token.expire_time),
            shown(token.last_use_time)
        ))?;
    }
    Ok(())
}

fn revoke(arguments: RevokeArguments) -> anyhow::Result<()> {
    let request = v1::RevokeTokenRequest { id: arguments.id };
    client::run(&arguments.client, |channel| async move {
        let answer = TokenServiceClient::new(channel).revoke_token(request).await;
        answer.map(drop).map_err(|status| client::refused(&status))
    })
}

/// A time in UTC, `never` for none.
fn shown(time: Option<prost_types::Timestamp>) -> String {
    time.map_or_else(|| "never".to_owned(), |time| time.to_string())
}
