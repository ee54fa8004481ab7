//! Tokens of AWS IAM for Amazon MSK: a request to `kafka-cluster:Connect` that a role has signed, as Base64.
//!
//! The invariant: a token is signed by the credential as it is in the store at that moment, and ends with whatever ends first, the
//! time that it says or the role's session.

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use aws_sdk_sts::config::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SignatureLocation, SigningSettings, sign};
use aws_sigv4::sign::v4::SigningParams;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use stream_pipeline::connection::{BearerToken, TokenSource};
use stream_spec::connection::parse_servers;
use stream_spec::name::CredentialName;
use url::form_urlencoded;
use zeroize::Zeroizing;

use crate::governance::credentials::{AwsCredentials, SessionName, TemporaryCredentials};
use crate::limits::MSK_TOKEN_LIFE;
use crate::store::Store;
use crate::store::documents::{self, CredentialRecord};

/// What the signature is for.
const SERVICE: &str = "kafka-cluster";

/// Gives the tokens of one connection.
pub(super) struct MskTokens {
    pub(super) store: Arc<dyn Store>,
    pub(super) aws: Arc<AwsCredentials>,
    pub(super) credential: CredentialName,
    /// Where the brokers are, if their names say so; else where the agent is.
    pub(super) region: Option<String>,
    pub(super) session: SessionName,
}

#[async_trait]
impl TokenSource for MskTokens {
    async fn token(&self) -> Result<BearerToken, String> {
        let record = credential(&self.store, &self.credential).await?;
        let credentials = self.aws.assume(&record, &self.session).await.map_err(|error| error.to_string())?;
        let region = match &self.region {
            Some(region) => region.clone(),
            None => self.aws.region().await?,
        };
        let now = SystemTime::now();
        let value = signed(&credentials, &region, now).map_err(|problem| {
            format!(
                "the service credential `{}` cannot sign a token for Amazon MSK: {problem}",
                self.credential
            )
        })?;
        let end = now + MSK_TOKEN_LIFE;
        Ok(BearerToken {
            value: value.into(),
            expires_at: credentials.expires_at.map_or(end, |session_end| session_end.min(end)),
        })
    }
}

/// The credential as it is now.
pub(super) async fn credential(store: &Arc<dyn Store>, name: &CredentialName) -> Result<CredentialRecord, String> {
    let record = documents::get::<CredentialRecord>(store, name.as_str()).await;
    let record = record.map_err(|error| format!("the agent's database failed: {error}"))?;
    record.ok_or_else(|| format!("there is no service credential `{name}`; create it, or name another one in `credential`"))
}

/// The region in the names that Amazon MSK gives its brokers, `b-1.<cluster>.<id>.kafka.<region>.amazonaws.com`.
pub(super) fn region_of(bootstrap_servers: &str) -> Option<String> {
    let servers = parse_servers(bootstrap_servers).ok()?;
    servers.iter().find_map(|(host, _)| {
        let host = host.to_ascii_lowercase();
        let host = host.strip_suffix(".cn").unwrap_or(&host).strip_suffix(".amazonaws.com")?.to_owned();
        let (before, region) = host.rsplit_once('.')?;
        let of_msk = [".kafka", ".kafka-serverless"].iter().any(|service| before.ends_with(service));
        of_msk.then(|| region.to_owned())
    })
}

/// The request, signed for a while from `now` on, as MSK wants it.
fn signed(credentials: &TemporaryCredentials, region: &str, now: SystemTime) -> Result<String, String> {
    let text = |secret: &crate::governance::secrets::SecretValue| secret.expose_text().map(str::to_owned);
    let secret_key = text(&credentials.secret_access_key).ok_or("its secret access key is no text")?;
    let session_token = credentials.session_token.as_ref().and_then(text);
    let identity = Credentials::new(&credentials.access_key_id, secret_key, session_token, None, "service credential").into();
    let mut settings = SigningSettings::default();
    settings.signature_location = SignatureLocation::QueryParams;
    settings.expires_in = Some(MSK_TOKEN_LIFE);
    let parameters = SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name(SERVICE)
        .time(now)
        .settings(settings)
        .build()
        .map_err(|error| error.to_string())?;
    let host = format!("kafka.{region}.amazonaws.com");
    let mut url = Zeroizing::new(format!("https://{host}/?Action={SERVICE}%3AConnect"));
    let headers = [("host", host.as_str())];
    let request = SignableRequest::new("GET", url.as_str(), headers.into_iter(), SignableBody::Bytes(&[]));
    let request = request.map_err(|error| error.to_string())?;
    let (instructions, _) = sign(request, &parameters.into()).map_err(|error| error.to_string())?.into_parts();
    for (name, value) in instructions.params() {
        let value: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
        url.push_str(&format!("&{name}={value}"));
    }
    url.push_str("&User-Agent=featurestore-agent");
    Ok(URL_SAFE_NO_PAD.encode(url.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_region_is_in_the_names_of_brokers() {
        for (servers, expected) in [
            ("b-1.pay.x1.c2.kafka.eu-central-1.amazonaws.com:9098", Some("eu-central-1")),
            ("boot-x.c1.kafka-serverless.us-east-1.amazonaws.com:9098", Some("us-east-1")),
            ("proxy:1,B-2.pay.x1.c2.Kafka.cn-north-1.amazonaws.com.cn:9098", Some("cn-north-1")),
            ("localhost:9098", None),
            ("kafka.eu-central-1.amazonaws.com.evil.example:9098", None),
            ("b.sqs.eu-central-1.amazonaws.com:9098", None),
        ] {
            assert_eq!(region_of(servers).as_deref(), expected, "{servers}");
        }
    }

    #[test]
    fn a_token_is_a_signed_request_to_connect() {
        let credentials = TemporaryCredentials {
            access_key_id: "AKID".to_owned(),
            secret_access_key: "canary-secret".to_owned().into(),
            session_token: Some("a+/b=".to_owned().into()),
            expires_at: None,
        };
        let now = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
        let token = signed(&credentials, "eu-central-1", now).unwrap();
        let url = String::from_utf8(URL_SAFE_NO_PAD.decode(token).unwrap()).unwrap();
        let (before, rest) = url.split_once("&X-Amz-Signature=").unwrap_or_else(|| panic!("{url}"));
        assert!(
            before.starts_with("https://kafka.eu-central-1.amazonaws.com/?Action=kafka-cluster%3AConnect&"),
            "{url}"
        );
        for part in [
            "X-Amz-Algorithm=AWS4-HMAC-SHA256",
            "X-Amz-Credential=AKID%2F20231114%2Feu-central-1%2Fkafka-cluster%2Faws4_request",
            "X-Amz-Date=20231114T221320Z",
            "X-Amz-Expires=900",
            "X-Amz-SignedHeaders=host",
            "X-Amz-Security-Token=a%2B%2Fb%3D",
            "User-Agent=featurestore-agent",
        ] {
            assert!(url.contains(&format!("&{part}")), "{part}: {url}");
        }
        assert!(!url.contains("canary") && rest.len() >= 64, "{url}");
    }
}
