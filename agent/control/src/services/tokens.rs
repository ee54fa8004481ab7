//! Tokens: whoever calls makes them for itself, admins for anybody. A token's text leaves the agent once, in the answer to the
//! call that made it.

use std::sync::Arc;
use std::time::Duration;

use super::error::{Kind, ServiceError};
use super::{Page, PageRequest, Services, page};
use crate::clock::now_ms;
use crate::governance::authentication::tokens::TokenText;
use crate::governance::principal::check_name;
use crate::governance::{Action, RequestContext, Securable};
use crate::limits::{TOKEN_LIFETIME_DEFAULT, TOKEN_LIFETIME_MAX, TOKENS_PER_PRINCIPAL_MAX, WRITE_ATTEMPTS_MAX};
use crate::store::tokens::{InsertedToken, TokenRecord};

/// The calls on tokens.
#[derive(Clone)]
pub struct TokenService {
    services: Arc<Services>,
}

impl TokenService {
    /// The service over what services share.
    pub fn new(services: Arc<Services>) -> Self {
        Self { services }
    }

    /// Makes a token, for the caller if `principal` is empty.
    pub async fn create(
        &self,
        context: &RequestContext,
        principal: &str,
        lifetime: Option<Duration>,
    ) -> Result<(TokenRecord, TokenText), ServiceError> {
        let principal = if principal.is_empty() {
            context.principal.name()
        } else {
            principal
        };
        // First of all: what is no name must not come into the audit as one, whoever asks.
        check_name(principal)
            .map_err(|problem| ServiceError::invalid("principal", principal, problem, "use a name such as `ada@example.com`"))?;
        let securable = Securable::Tokens(principal);
        self.services.authorizer.authorize(context, Action::Create, securable).await?;
        if self.services.directory.is_group(principal) {
            return Err(ServiceError::invalid(
                "principal",
                principal,
                "that is the name of a group, and whoever had it would hold what is granted to the group",
                "make the token for a member of it",
            ));
        }
        let lifetime = lifetime.unwrap_or(TOKEN_LIFETIME_DEFAULT);
        if lifetime.is_zero() || lifetime > TOKEN_LIFETIME_MAX {
            let longest = TOKEN_LIFETIME_MAX.as_secs();
            return Err(ServiceError::invalid(
                "lifetime",
                &format!("{}s", lifetime.as_secs()),
                "the lifetime is out of range",
                format!("use 1s to {longest}s"),
            ));
        }
        for _ in 0..WRITE_ATTEMPTS_MAX {
            let now = now_ms();
            let text = TokenText::generate(now).map_err(ServiceError::Random)?;
            let record = TokenRecord {
                id: text.id().to_owned(),
                hash: text.hash(),
                principal: principal.to_owned(),
                created_by: context.principal.name().to_owned(),
                create_time_ms: now,
                expire_time_ms: Some(now.saturating_add(i64::try_from(lifetime.as_millis()).unwrap_or(i64::MAX))),
                last_use_time_ms: None,
            };
            match self.services.store.insert_token(&record, now).await? {
                InsertedToken::Inserted => return Ok((record, text)),
                InsertedToken::IdTaken => {}
                InsertedToken::TooMany => break,
            }
        }
        Err(ServiceError::precondition(
            "principal",
            principal,
            format!("it has {TOKENS_PER_PRINCIPAL_MAX} tokens, which is as many as one may have"),
            "revoke some of them",
        ))
    }

    /// The tokens that the caller may see, in the order they were made: its own, all for an admin.
    pub async fn list(&self, context: &RequestContext, request: &PageRequest) -> Result<Page<TokenRecord>, ServiceError> {
        let securable = Securable::Tokens(context.principal.name());
        self.services.authorizer.authorize(context, Action::List, securable).await?;
        let of = (!context.principal.is_admin()).then(|| context.principal.name());
        // A page's token of one who sees less names nothing that its caller could not list from the start.
        let (limit, list) = (request.limit()?, format!("tokens/{}", of.unwrap_or_default()));
        let after = request.after(&list)?;
        let mut items = self.services.store.list_tokens(of, after.as_deref(), limit + 1).await?;
        let more = items.len() > limit;
        items.truncate(limit);
        let next_page_token = match items.last() {
            Some(last) if more => page::token(&list, &last.id),
            _ => String::new(),
        };
        Ok(Page { items, next_page_token })
    }

    /// Makes a token worthless, from the next call on.
    pub async fn revoke(&self, context: &RequestContext, id: &str) -> Result<(), ServiceError> {
        let found = self.services.store.token(id).await?;
        // Who may not revoke others' tokens learns neither which there are nor whose: both are nobody's to them.
        let caller = &context.principal;
        let visible = found.as_ref().filter(|token| caller.is_admin() || token.principal == caller.name());
        let of = visible.map(|token| token.principal.as_str()).unwrap_or_default();
        self.services
            .authorizer
            .authorize(context, Action::Delete, Securable::Tokens(of))
            .await?;
        if self.services.store.delete_token(id).await? {
            return Ok(());
        }
        Err(ServiceError::NotFound {
            kind: Kind::Token,
            name: id.to_owned(),
        })
    }
}
