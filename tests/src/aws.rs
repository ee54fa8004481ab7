//! An AWS of one test: KMS, IAM and STS behind one address, by moto, which checks signatures and policies. Invariant: what it
//! keeps outlives its absence, so that it can be away and come back.

use serde_json::{Value, json};

use crate::agent::Environment;
use crate::tables::Script;

/// Region of everything in it.
pub const REGION: &str = "eu-central-1";

/// The AWS.
pub struct Aws {
    script: Script,
    endpoint: String,
}

/// A user in it, with the keys that sign calls.
#[derive(Clone)]
pub struct AwsUser {
    name: String,
    /// Names the keys; no secret.
    pub access_key_id: String,
    /// Signs calls.
    pub secret_access_key: String,
}

impl Aws {
    /// Starts one.
    #[must_use]
    pub fn start() -> Self {
        let mut script = Script::start("aws.py");
        let endpoint = text(&script.ask(&json!({"action": "endpoint"})).unwrap());
        Self { script, endpoint }
    }

    /// `http://127.0.0.1:port`.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Makes a key of KMS; its ARN.
    pub fn key(&mut self) -> String {
        text(&self.ask(&json!({"action": "key"})))
    }

    /// Makes a role that whoever may assume it assumes with that external id; its ARN.
    pub fn role(&mut self, name: &str, external_id: Option<&str>) -> String {
        text(&self.ask(&json!({"action": "role", "name": name, "external_id": external_id})))
    }

    /// Makes a user who may do these things with those resources.
    pub fn user(&mut self, name: &str, allowed: &[(&str, &str)]) -> AwsUser {
        let made = self.ask(&json!({"action": "user", "name": name, "statements": statements(allowed)}));
        AwsUser {
            name: name.to_owned(),
            access_key_id: text(&made["access_key_id"]),
            secret_access_key: text(&made["secret_access_key"]),
        }
    }

    /// Allows a user these things, and nothing else any more.
    pub fn allow(&mut self, user: &AwsUser, allowed: &[(&str, &str)]) {
        self.ask(&json!({"action": "allow", "name": user.name, "statements": statements(allowed)}));
    }

    /// Nobody listens any more.
    pub fn leave(&mut self) {
        self.ask(&json!({"action": "leave"}));
    }

    /// It listens again.
    pub fn come_back(&mut self) {
        self.ask(&json!({"action": "listen"}));
    }

    /// It lets so many calls through from now on, and hangs after them; `None`: it answers all.
    pub fn hang_after(&mut self, calls: Option<u64>) {
        self.ask(&json!({"action": "hang", "after": calls}));
    }

    /// How many calls came since [`Self::hang_after`].
    pub fn calls(&mut self) -> u64 {
        self.ask(&json!({"action": "calls"})).as_u64().unwrap()
    }

    /// Where a broker asks whose a token of AWS IAM is.
    #[must_use]
    pub fn tokens_verifier(&self) -> String {
        format!("{}/tokens/", self.endpoint)
    }

    /// `role/session` of each token with which somebody signed in to a broker, oldest first.
    pub fn signed_in(&mut self) -> Vec<String> {
        let signed_in = self.ask(&json!({"action": "signed_in"}));
        signed_in.as_array().unwrap().iter().map(text).collect()
    }

    /// What nobody but the agent may see, by name, and as it went over the wire.
    pub fn secrets(&mut self) -> Vec<(String, String)> {
        let secrets = self.ask(&json!({"action": "secrets"}));
        secrets
            .as_array()
            .unwrap()
            .iter()
            .map(|secret| (text(&secret[0]), text(&secret[1])))
            .collect()
    }

    /// The environment of an agent that is that user here.
    #[must_use]
    pub fn environment(&self, user: &AwsUser) -> Environment {
        vec![
            ("AWS_ENDPOINT_URL", self.endpoint.clone()),
            ("AWS_REGION", REGION.to_owned()),
            ("AWS_ACCESS_KEY_ID", user.access_key_id.clone()),
            ("AWS_SECRET_ACCESS_KEY", user.secret_access_key.clone()),
        ]
    }

    fn ask(&mut self, request: &Value) -> Value {
        self.script.ask(request).unwrap_or_else(|error| panic!("{request}: {error}"))
    }
}

fn statements(allowed: &[(&str, &str)]) -> Vec<Value> {
    let statement = |(action, resource): &(&str, &str)| json!({"Effect": "Allow", "Action": action, "Resource": resource});
    allowed.iter().map(statement).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}
