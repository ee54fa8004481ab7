//! Addresses that fail, rest, redirect or say nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::net::TcpListener;

use super::server::{Reply, Server};
use super::{RegistryClient, RegistryError, client, properties, schema};
use crate::registry::limits::Waits;

const INT: &str = "\"int\"";

/// An address where nothing listens.
pub(super) async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    format!("http://{}", listener.local_addr().expect("its address"))
}

#[tokio::test]
async fn another_address_answers_where_one_is_dead_and_is_asked_first_from_then_on() {
    let broken = Server::start(|_, _| Reply::status(500)).await;
    let good = Server::start(|_, _| Reply::json("[]")).await;
    let client = client(&[nobody().await, broken.url(), good.url()]);
    for _ in 0..3 {
        assert_eq!(client.subject_count().await, Ok(0));
    }
    assert_eq!((broken.asked().len(), good.asked().len()), (1, 3));
}

#[tokio::test]
async fn a_failure_that_passes_is_waited_out() {
    for failure in [Reply::status(503), Reply::status(429), Reply::Close] {
        let server = Server::start(move |_, before| if before < 2 { failure.clone() } else { Reply::json("[]") }).await;
        assert_eq!(client(&[server.url()]).subject_count().await, Ok(0));
        assert_eq!(server.asked().len(), 3);
    }
}

#[tokio::test]
async fn an_address_that_stays_away_is_left_alone_for_a_while_and_found_again() {
    let up = Arc::new(AtomicBool::new(false));
    let answers = up.clone();
    let server = Server::start(move |_, _| {
        if answers.load(Ordering::Relaxed) {
            Reply::json("[]")
        } else {
            Reply::status(500)
        }
    })
    .await;
    let client = client(&[server.url()]);
    let error = client.subject_count().await.expect_err("away");
    let RegistryError::Unavailable { cause, retry_after } = &error else {
        panic!("{error}")
    };
    assert_eq!(*cause, format!("`{}/`: it answers with status 500", server.url()));
    let wait = retry_after.expect("a time");
    assert!(wait > Duration::ZERO && wait <= Duration::from_secs(2), "{wait:?}");
    let asked = server.asked().len();
    assert!((3..=5).contains(&asked), "{asked}");
    up.store(true, Ordering::Relaxed);
    let answer = loop {
        match client.subject_count().await {
            Err(RegistryError::Unavailable {
                retry_after: Some(wait), ..
            }) => tokio::time::sleep(wait).await,
            other => break other,
        }
    };
    assert_eq!(answer, Ok(0));
}

#[tokio::test]
async fn an_address_that_asks_to_be_left_alone_is() {
    let server = Server::start(|_, _| Reply::Answer(429, "retry-after: 100\r\n".into(), String::new())).await;
    let client = client(&[server.url()]);
    for _ in 0..3 {
        let error = client.subject_count().await.expect_err("busy");
        let RegistryError::Unavailable {
            retry_after: Some(wait), ..
        } = error
        else {
            panic!("{error}")
        };
        assert!(wait > Duration::from_secs(90), "{wait:?}");
    }
    assert_eq!(server.asked().len(), 1, "it was not asked again");
}

#[tokio::test]
async fn silence_has_an_end() {
    let server = Server::start(|_, _| Reply::Silence).await;
    let (short, long) = (Duration::from_millis(20), Duration::from_secs(3600));
    for waits in [Waits { answer: short, call: long }, Waits { answer: long, call: short }] {
        let client = RegistryClient::with_waits(&properties(&[server.url()]), waits).expect("a client");
        let error = client.subject_count().await.expect_err("no answer");
        assert!(matches!(error, RegistryError::Unavailable { .. }), "{error}");
        assert!(error.to_string().ends_with("no answer within 20ms"), "{error}");
    }
}

#[tokio::test]
async fn a_redirect_is_followed_at_home_and_nowhere_else() {
    let thief = Server::start(|_, _| Reply::json("[]")).await;
    let elsewhere = thief.url();
    let server = Server::start(move |asked, _| match asked.target.as_str() {
        "/subjects" => Reply::Answer(307, "location: /moved/subjects\r\n".into(), String::new()),
        "/moved/subjects" => Reply::json("[\"a\"]"),
        "/round/subjects" => Reply::Answer(307, "location: /round/subjects\r\n".into(), String::new()),
        _ => Reply::Answer(307, format!("location: {elsewhere}/subjects\r\n"), String::new()),
    })
    .await;
    assert_eq!(client(&[server.url()]).subject_count().await, Ok(1));
    for path in ["away", "round"] {
        let error = client(&[format!("{}/{path}", server.url())])
            .subject_count()
            .await
            .expect_err("refused");
        assert!(error.to_string().contains("redirects to another address"), "{error}");
    }
    assert!(thief.asked().is_empty());
}

#[tokio::test]
async fn an_id_is_not_there_only_when_a_second_answer_says_so_and_that_is_kept_for_a_moment() {
    let follower = Server::start(|_, _| Reply::missing(40403)).await;
    let leader = Server::start(|_, _| Reply::json(&schema("", INT))).await;
    let found = client(&[follower.url(), leader.url()])
        .by_id(7, "a")
        .await
        .expect("the leader has it");
    assert_eq!(found.text, INT);

    let gone = client(&[follower.url()]);
    for _ in 0..3 {
        let error = gone.by_id(8, "a").await.expect_err("not there");
        assert_eq!(error.to_string(), "the schema registry has no schema with the id 8");
    }
    assert_eq!(follower.targets(), ["/schemas/ids/7", "/schemas/ids/8", "/schemas/ids/8"]);
}

#[tokio::test]
async fn many_who_want_one_schema_ask_once() {
    let server = Server::start(|asked, _| {
        let id = asked.target.rsplit('/').next().unwrap_or_default().to_owned();
        Reply::json(&schema("", &format!("\"{id}\"")))
    })
    .await;
    let client = Arc::new(client(&[server.url()]));
    let ask = |n: u32| {
        let client = client.clone();
        tokio::spawn(async move { client.by_id(n % 20, "a").await })
    };
    let tasks: Vec<_> = (0..200).map(ask).collect();
    for task in tasks {
        task.await.expect("no panic").expect("a schema");
    }
    assert_eq!(server.asked().len(), 20);
}
