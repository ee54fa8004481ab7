//! `TokenService` over gRPC.

use featurestore_proto::v1;
use tonic::{Request, Response, Status, async_trait};

use super::answers::timestamp;
use super::{context, requests, serve};
use crate::governance::calls::Call;
use crate::services::tokens::TokenService;
use crate::store::tokens::TokenRecord;

pub(super) struct TokensOverGrpc(pub(super) TokenService);

fn token(record: TokenRecord) -> v1::Token {
    v1::Token {
        id: record.id,
        principal: record.principal,
        expire_time: record.expire_time_ms.map(timestamp),
        last_use_time: record.last_use_time_ms.map(timestamp),
    }
}

#[async_trait]
impl v1::token_service_server::TokenService for TokensOverGrpc {
    async fn create_token(&self, request: Request<v1::CreateTokenRequest>) -> Result<Response<v1::CreateTokenResponse>, Status> {
        let context = context(&request);
        serve(Call::CreateToken, &context, async {
            let request = request.into_inner();
            let lifetime = requests::lifetime(request.lifetime)?;
            let (record, text) = self.0.create(&context, &request.principal, lifetime).await?;
            Ok(v1::CreateTokenResponse {
                token: Some(token(record)),
                value: text.expose().to_owned(),
            })
        })
        .await
    }

    async fn list_tokens(&self, request: Request<v1::ListTokensRequest>) -> Result<Response<v1::ListTokensResponse>, Status> {
        let context = context(&request);
        serve(Call::ListTokens, &context, async {
            let request = request.into_inner();
            let page = self
                .0
                .list(&context, &requests::page(request.page_size, request.page_token))
                .await?;
            Ok(v1::ListTokensResponse {
                tokens: page.items.into_iter().map(token).collect(),
                next_page_token: page.next_page_token,
            })
        })
        .await
    }

    async fn revoke_token(&self, request: Request<v1::RevokeTokenRequest>) -> Result<Response<v1::RevokeTokenResponse>, Status> {
        let context = context(&request);
        serve(Call::RevokeToken, &context, async {
            self.0.revoke(&context, &request.into_inner().id).await?;
            Ok(v1::RevokeTokenResponse {})
        })
        .await
    }
}
