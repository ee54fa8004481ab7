//! What a test of a registry says, step by step.

use super::server::{Reply, Server};
use super::{properties, troubles::nobody};
use crate::registry::attempt;

/// The steps that worked with what they say, and the first one that did not.
async fn said(urls: &[String], key: Option<&str>) -> (Vec<String>, String) {
    let mut properties = properties(urls);
    properties.api_key = key.map(str::to_owned);
    properties.api_secret = key.map(|_| "secret-of-a-test".into());
    let steps = attempt(&properties).await.expect("a client");
    assert_eq!(steps.len(), 4, "{steps:?}");
    let name = |name: &str| name.trim_start_matches("schema_registry_").to_owned();
    let worked = steps.iter().take_while(|step| step.ok);
    let worked: Vec<String> = worked.map(|step| format!("{}: {}", name(step.name), step.message)).collect();
    let mut rest = steps.iter().skip(worked.len());
    let failed = rest.next().map(|step| format!("{}: {}", name(step.name), step.message));
    assert!(rest.all(|step| !step.ok && step.message.starts_with("not tried")), "{steps:?}");
    (worked, failed.unwrap_or_default())
}

#[tokio::test]
async fn a_registry_is_tried_step_by_step_and_the_first_that_fails_says_why() {
    let good = Server::start(|_, _| Reply::json(r#"["a", "b"]"#)).await;
    let (worked, failed) = said(&[good.url()], Some("key")).await;
    assert_eq!(failed, "");
    assert_eq!(
        worked,
        [
            format!("address: connected to `{}/`", good.url()),
            "tls: not used".to_owned(),
            "authentication: the registry lets the API key in".to_owned(),
            "subjects: the schema registry tells 2 subjects".to_owned(),
        ]
    );
    // Each reply, who asks, how many steps work, and what the next one says.
    for (status, key, worked, part) in [
        (401, Some("key"), 2, "authentication: the schema registry `http"),
        (403, Some("key"), 3, "give it the right to read"),
        (401, None, 2, "a caller without an API key with status 401"),
        (400, None, 3, "subjects: `http"),
        (404, None, 3, "check the path of `schema_registry_url`"),
    ] {
        let server = Server::start(move |_, _| Reply::status(status)).await;
        let (found, failed) = said(&[server.url()], key).await;
        assert_eq!(found.len(), worked, "{status}: {found:?}, {failed}");
        assert!(failed.contains(part), "{status}: {failed}");
    }
    let dead = nobody().await;
    let (worked, failed) = said(&[dead.clone(), good.url()], None).await;
    assert!(
        failed.is_empty() && worked[0].starts_with(&format!("address: connected to `{}/`, but not to `{dead}/`: ", good.url())),
        "{worked:?}, {failed}"
    );
    let (worked, failed) = said(&[dead], None).await;
    assert!(worked.is_empty() && failed.starts_with("address: cannot connect to"), "{failed}");
    // What answers is not encrypted.
    let (worked, failed) = said(&[good.url().replace("http:", "https:")], None).await;
    assert!(worked.len() == 1 && failed.starts_with("tls: `https"), "{worked:?}, {failed}");
}
