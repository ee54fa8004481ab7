//! Tokens over the port of an agent that asks who calls: who may make which, and how long they are good for.

use featurestore_proto::v1::agent_service_client::AgentServiceClient;
use featurestore_proto::v1::token_service_client::TokenServiceClient;
use tonic::Request;

use super::*;

/// The agent's first token, as the command line would find it.
pub(super) async fn admin_token(agent: &Agent) -> String {
    let file = admin::ensure(&agent.store, agent.folder.path()).await.unwrap();
    std::fs::read_to_string(file).unwrap().trim().to_owned()
}

pub(super) fn with<T>(token: &str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    if !token.is_empty() {
        request
            .metadata_mut()
            .insert("authorization", format!("Bearer {token}").parse().unwrap());
    }
    request
}

impl Agent {
    async fn principal(&self, token: &str) -> Result<String, Status> {
        let mut client = AgentServiceClient::new(self.channel.clone());
        let answer = client.get_agent(with(token, v1::GetAgentRequest {})).await;
        answer.map(|answer| answer.into_inner().principal)
    }

    fn tokens(&self) -> TokenServiceClient<Channel> {
        TokenServiceClient::new(self.channel.clone())
    }

    async fn make(&self, token: &str, principal: &str, lifetime_secs: Option<i64>) -> Result<v1::CreateTokenResponse, Status> {
        let request = v1::CreateTokenRequest {
            principal: principal.to_owned(),
            lifetime: lifetime_secs.map(|seconds| prost_types::Duration { seconds, nanos: 0 }),
        };
        let answer = self.tokens().create_token(with(token, request)).await;
        answer.map(tonic::Response::into_inner)
    }

    async fn revoke(&self, token: &str, id: &str) -> Result<(), Status> {
        let request = v1::RevokeTokenRequest { id: id.to_owned() };
        self.tokens().revoke_token(with(token, request)).await.map(drop)
    }

    async fn ids(&self, token: &str) -> Vec<String> {
        let (mut ids, mut page_token) = (Vec::new(), String::new());
        loop {
            let request = v1::ListTokensRequest { page_size: 1, page_token };
            let page = self.tokens().list_tokens(with(token, request)).await.unwrap().into_inner();
            ids.extend(page.tokens.into_iter().map(|token| token.id));
            page_token = page.next_page_token;
            if page_token.is_empty() {
                return ids;
            }
        }
    }
}

fn code<T: std::fmt::Debug>(answer: Result<T, Status>) -> Code {
    answer.map_or_else(|status| status.code(), |_| Code::Ok)
}

#[tokio::test]
async fn whoever_shows_nothing_is_told_how_and_everybody_else_is_who_the_token_says() {
    let agent = Agent::start_behind(Door::Closed).await;
    let admin = admin_token(&agent).await;
    assert_eq!(agent.principal(&admin).await.unwrap(), "admin");
    for token in ["", "fst_0", &admin[..admin.len() - 1], "eyJhbGciOiJub25lIn0.e30."] {
        let status = agent.principal(token).await.unwrap_err();
        assert_eq!(status.code(), Code::Unauthenticated, "{token}");
        assert!(status.message().contains("featurestore-agent token create"), "{}", status.message());
    }
}

#[tokio::test]
async fn one_makes_sees_and_revokes_ones_own_tokens_and_an_admin_all() {
    let agent = Agent::start_behind(Door::Closed).await;
    let admin = admin_token(&agent).await;
    let made = agent.make(&admin, "ada", None).await.unwrap();
    let (ada, ada_id) = (made.value, made.token.unwrap().id);
    let own = agent.make(&ada, "", Some(60)).await.unwrap().token.unwrap();
    assert_eq!(own.principal, "ada");
    let bob_id = agent.make(&admin, "bob", None).await.unwrap().token.unwrap().id;
    assert_eq!(agent.ids(&admin).await.len(), 4);
    assert_eq!(agent.ids(&ada).await, [ada_id.clone(), own.id.clone()]);
    let denied = async |id: &str| agent.revoke(&ada, id).await.unwrap_err().message().to_owned();
    assert_eq!(denied(&bob_id).await, denied("nobody").await, "whether there is one, and whose");
    let cases = [
        (code(agent.make(&ada, "bob", None).await), Code::PermissionDenied),
        (code(agent.make(&ada, "admin", None).await), Code::PermissionDenied),
        (code(agent.revoke(&ada, &bob_id).await), Code::PermissionDenied),
        (code(agent.revoke(&ada, "nobody").await), Code::PermissionDenied),
        (code(agent.revoke(&admin, "nobody").await), Code::NotFound),
        (code(agent.make(&admin, " bob", None).await), Code::InvalidArgument),
        (code(agent.make(&ada, " bob", None).await), Code::InvalidArgument),
        (code(agent.make(&admin, "payments-team", None).await), Code::InvalidArgument),
        (code(agent.make(&admin, "admins", None).await), Code::InvalidArgument),
        (code(agent.make(&ada, "payments-team", None).await), Code::PermissionDenied),
        (code(agent.make(&admin, "bob", Some(0)).await), Code::InvalidArgument),
        (code(agent.make(&admin, "bob", Some(-1)).await), Code::InvalidArgument),
        (code(agent.make(&admin, "bob", Some(10_000 * 86_400)).await), Code::InvalidArgument),
        (code(agent.revoke(&ada, &own.id).await), Code::Ok),
        (code(agent.revoke(&admin, &ada_id).await), Code::Ok),
        (code(agent.principal(&ada).await), Code::Unauthenticated),
    ];
    for (at, (found, expected)) in cases.into_iter().enumerate() {
        assert_eq!(found, expected, "case {at}");
    }
}

#[tokio::test]
async fn a_token_of_a_name_that_became_a_groups_is_worthless() {
    let agent = Agent::start_behind(Door::Closed).await;
    let admin = admin_token(&agent).await;
    let ada = agent.make(&admin, "ada", None).await.unwrap();
    let id = ada.token.unwrap().id;
    assert_eq!(agent.principal(&ada.value).await.unwrap(), "ada");
    // As another life of the agent would find it whose configuration has a group of the name.
    let record = agent.store.token(&id).await.unwrap().unwrap();
    agent.store.delete_token(&id).await.unwrap();
    let renamed = crate::store::tokens::TokenRecord {
        principal: "payments-team".to_owned(),
        ..record
    };
    agent.store.insert_token(&renamed, 0).await.unwrap();
    let refused = agent.principal(&ada.value).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated);
    assert!(refused.message().contains("one of its groups"), "{refused}");
}
