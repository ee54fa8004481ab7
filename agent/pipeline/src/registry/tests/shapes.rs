//! What is asked for, and what is made of answers.

use stream_spec::schema::{MessageChoice, SchemaFormat};

use super::server::{Asked, Reply, Server};
use super::{RegistryClient, RegistryError, client, properties, schema};
use crate::error::Retry;

const INT: &str = "\"int\"";

fn at(asked: &Asked, answers: &[(&str, String)]) -> Reply {
    let found = answers.iter().find(|(target, _)| *target == asked.target);
    found.map_or(Reply::missing(40403), |(_, body)| Reply::json(body))
}

#[tokio::test]
async fn the_latest_version_of_a_subject_comes_with_its_id_and_is_asked_for_each_time() {
    let server = Server::start(|_, before| {
        let members = format!("\"subject\":\"a/b c\",\"id\":7,\"version\":{},\"guid\":\"x\",", before + 1);
        Reply::json(&schema(&members, INT))
    })
    .await;
    // A path before the interface's, with and without a slash at its end.
    for (path, version) in [("/base", 1), ("/base/", 2)] {
        let client = client(&[format!("{}{path}", server.url())]);
        let latest = client.latest("a/b c", SchemaFormat::Avro).await.expect("a schema");
        assert_eq!((latest.id, latest.version), (7, Some(version)));
        assert_eq!(latest.shown(), format!("version {version} of the subject `a/b c`"));
        assert!(latest.parse(MessageChoice::At(&[0])).is_ok());
    }
    assert_eq!(server.targets(), vec!["/base/subjects/a%2Fb%20c/versions/latest"; 2]);
}

#[tokio::test]
async fn a_schema_of_another_kind_is_refused_with_what_to_do() {
    let server = Server::start(|asked, _| {
        let kind = asked.target.split('/').nth(2).unwrap_or_default().to_owned();
        Reply::json(&schema(&format!("\"id\":1,\"version\":3,\"schemaType\":\"{kind}\","), INT))
    })
    .await;
    let client = client(&[server.url()]);
    for (subject, format, expected) in [
        (
            "JSON",
            SchemaFormat::Avro,
            "version 3 of the subject `JSON` cannot be used: it is a JSON Schema, which is not taken from a registry: declare the schema in the \
             stream itself, in `direct_schemas`",
        ),
        (
            "AVRO",
            SchemaFormat::Protobuf,
            "it is a schema in Avro, and the stream's `format` says Protobuf",
        ),
        (
            "PROTOBUF",
            SchemaFormat::Avro,
            "it is a schema in Protobuf, and the stream's `format` says Avro",
        ),
        ("XML", SchemaFormat::Avro, "its type is `XML`"),
    ] {
        let error = client.latest(subject, format).await.expect_err("refused");
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(error.reason(), "SchemaUnusable");
    }
}

#[tokio::test]
async fn what_a_schema_refers_to_is_fetched_at_its_version_once_and_of_its_context() {
    let reference =
        |name: &str, subject: &str, version: i32| format!("{{\"name\":\"{name}\",\"subject\":\"{subject}\",\"version\":{version}}}");
    let main = format!(
        "\"schemaType\":\"PROTOBUF\",\"references\":[{},{}],",
        reference("a.proto", "a", 3),
        reference("b.proto", "b", 1)
    );
    let a = format!("\"id\":2,\"version\":3,\"references\":[{}],", reference("b.proto", "b", 1));
    let answers = [
        ("/schemas/ids/9?subject=%3A.x%3Aorders", schema(&main, "main")),
        ("/subjects/:.x:a/versions/3", schema(&a, "text of a")),
        ("/subjects/:.x:b/versions/1", schema("\"references\":[],\"id\":1,", "text of b")),
    ];
    let server = Server::start(move |asked, _| at(asked, &answers)).await;
    let client = client(&[server.url()]);
    let found = client.by_id(9, ":.x:orders").await.expect("a schema");
    let texts: Vec<(&str, &str)> = found
        .references
        .iter()
        .map(|text| (text.name.as_str(), text.text.as_str()))
        .collect();
    assert_eq!(texts, [("a.proto", "text of a"), ("b.proto", "text of b")]);
    assert_eq!(found.shown(), "schema with the id 9");
    let again = client.by_id(9, ":.x:other").await.expect("the same");
    assert!(std::sync::Arc::ptr_eq(&found, &again));
    assert_eq!(server.asked().len(), 3);
}

#[tokio::test]
async fn references_that_cannot_be_followed_make_a_schema_unusable() {
    let reference = |subject: &str, version: i32| format!("{{\"name\":\"n\",\"subject\":\"{subject}\",\"version\":{version}}}");
    let of = |references: &[String]| format!("\"id\":1,\"version\":1,\"references\":[{}],", references.join(","));
    let answers = [
        ("/subjects/lost/versions/latest", schema(&of(&[reference("gone", 4)]), INT)),
        (
            "/subjects/two/versions/latest",
            schema(&of(&[reference("a", 1), reference("a", 2)]), INT),
        ),
        ("/subjects/a/versions/1", schema("", INT)),
        ("/subjects/a/versions/2", schema("", INT)),
        // One that refers to itself under ever the same name ends; what it means is for the parser to say.
        ("/subjects/circle/versions/latest", schema(&of(&[reference("circle", 1)]), INT)),
        ("/subjects/circle/versions/1", schema(&of(&[reference("circle", 1)]), INT)),
    ];
    let server = Server::start(move |asked, _| at(asked, &answers)).await;
    let client = client(&[server.url()]);
    let error = async |subject: &str| client.latest(subject, SchemaFormat::Avro).await.expect_err("unusable").to_string();
    let lost = error("lost").await;
    assert!(
        lost.ends_with("it refers to version 4 of the subject `gone`, which is not there"),
        "{lost}"
    );
    let two = error("two").await;
    assert!(
        two.contains("two schemas as `n`: version 1 of the subject `a` and version 2"),
        "{two}"
    );
    let circle = client.latest("circle", SchemaFormat::Avro).await.expect("it ends");
    assert_eq!(circle.references.len(), 1);
}

#[tokio::test]
async fn a_schema_is_of_the_subjects_that_the_registry_names() {
    let answers = [
        (
            "/schemas/ids/1/versions?deleted=true",
            r#"[{"subject":"a","version":1},{"subject":"b","version":2}]"#.to_owned(),
        ),
        (
            "/schemas/ids/1/versions?deleted=true&subject=%3A.x%3Aa",
            r#"[{"subject":":.x:a","version":1}]"#.to_owned(),
        ),
    ];
    let server = Server::start(move |asked, _| at(asked, &answers)).await;
    let client = client(&[server.url()]);
    assert_eq!(client.has_subject(1, "a").await, Ok(true));
    assert_eq!(client.has_subject(1, "a").await, Ok(true));
    assert_eq!(client.has_subject(1, "c").await, Ok(false));
    assert_eq!(client.has_subject(1, ":.x:a").await, Ok(true));
    assert_eq!(server.asked().len(), 3, "the second answer was kept");
    let absent = client.has_subject(5, "a").await.expect_err("no such id");
    assert_eq!(absent.to_string(), "the schema registry has no schema with the id 5");
}

#[tokio::test]
async fn where_ids_do_not_tell_their_subjects_a_subject_is_asked_for_the_text() {
    let server = Server::start(|asked, _| match asked.target.as_str() {
        "/schemas/ids/1" => Reply::json(&schema("\"references\":[{\"name\":\"n\",\"subject\":\"s\",\"version\":1}],", INT)),
        "/subjects/a?deleted=true" => Reply::json(&schema("\"id\":1,\"version\":2,\"subject\":\"a\",", INT)),
        "/subjects/other?deleted=true" => Reply::json(&schema("\"id\":2,\"version\":2,", INT)),
        target if target.starts_with("/subjects/") => Reply::missing(40403),
        _ => Reply::status(404),
    })
    .await;
    let client = client(&[server.url()]);
    for (subject, expected) in [("a", true), ("other", false), ("none", false)] {
        assert_eq!(client.has_subject(1, subject).await, Ok(expected), "{subject}");
    }
    let posted = server.asked().into_iter().find(|asked| asked.target.starts_with("/subjects/a"));
    let expected = r#"{"schema":"\"int\"","schemaType":"AVRO","references":[{"name":"n","subject":"s","version":1}]}"#;
    assert_eq!(posted.map(|asked| asked.body).as_deref(), Some(expected));
}

#[tokio::test]
async fn a_user_is_sent_with_each_question_and_shown_in_refusals_without_the_secret() {
    let server = Server::start(|asked, _| {
        if asked.head.contains("authorization: basic a2v5onbhc3m6d29yza==") {
            Reply::json("[\"a\",\"b\"]")
        } else {
            Reply::Answer(401, String::new(), "{\"error_code\":401,\"message\":\"key:other\"}".into())
        }
    })
    .await;
    let open = |key: &str, secret: &str| {
        let mut properties = properties(&[server.url()]);
        properties.api_key = Some(key.into());
        properties.api_secret = Some(secret.into());
        assert!(!format!("{properties:?}").contains(secret));
        RegistryClient::open(&properties).expect("a client")
    };
    assert_eq!(open("key", "pass:word").subject_count().await, Ok(2));
    let error = open("key", "other").subject_count().await.expect_err("refused");
    let expected = format!(
        "the schema registry `{}/` refuses the API key `key` with status 401; check `schema_registry_api_key` and `schema_registry_api_secret`",
        server.url()
    );
    assert_eq!(error.to_string(), expected);
    assert_eq!(error.retry(), Retry::Later);
    let nobody = client(&[server.url()]).subject_count().await.expect_err("refused");
    assert!(nobody.to_string().contains("refuses a caller without an API key"), "{nobody}");
}

#[test]
fn properties_that_no_client_can_be_opened_with_are_refused_without_what_may_be_secret() {
    let open = |change: &dyn Fn(&mut crate::registry::RegistryProperties)| {
        let mut properties = properties(&["https://registry".into()]);
        change(&mut properties);
        RegistryClient::open(&properties).expect_err("refused").to_string()
    };
    for (url, expected) in [
        ("registry:8081", "is none of http or https"),
        ("not a url", "is no URL"),
        ("https://user:hidden@registry", "has a user in it"),
        ("ftp://registry", "is none of http or https"),
        ("https://registry?token=hidden", "has parameters"),
    ] {
        let error = open(&|properties| properties.urls = vec![url.into()]);
        assert!(error.contains(expected) && !error.contains("hidden"), "{error}");
    }
    assert!(open(&|properties| properties.urls = Vec::new()).contains("has 0 addresses"));
    assert!(open(&|properties| properties.api_key = Some("k".into())).contains("without `schema_registry_api_secret`"));
    assert!(open(&|properties| properties.api_secret = Some("k".into())).contains("without `schema_registry_api_key`"));
    assert!(open(&|properties| properties.ca_pem = Some("nothing".into())).contains("holds no certificate"));
    let colon = open(&|properties| {
        properties.api_key = Some("a:b".into());
        properties.api_secret = Some("hidden".into());
    });
    assert!(colon.contains("has a colon in it") && !colon.contains("hidden"), "{colon}");
    let urls = crate::registry::RegistryProperties::urls_of(" https://a, https://b/x ,");
    assert_eq!(urls, ["https://a", "https://b/x"]);
}

#[tokio::test]
async fn one_client_is_shared_by_those_of_one_identity() {
    let pool = crate::registry::RegistryPool::default();
    let open = |identity: &str| {
        let mut properties = properties(&["https://registry".into()]);
        properties.identity = identity.into();
        pool.open(&properties).expect("a client")
    };
    let first = open("a");
    assert!(std::sync::Arc::ptr_eq(&first, &open("a")));
    assert!(!std::sync::Arc::ptr_eq(&first, &open("b")));
}

#[tokio::test]
async fn answers_that_are_no_registrys_are_told_from_what_is_not_there() {
    let answers = |asked: &Asked, _: usize| match asked.target.as_str() {
        "/subjects/text/versions/latest" => Reply::Answer(200, String::new(), "<html>key</html>".into()),
        "/subjects/lacks/versions/latest" => Reply::json("{\"id\":\"secret\",\"schema\":1}"),
        "/subjects/half/versions/latest" => Reply::json("{\"schema\":\"1\"}"),
        "/subjects/bad/versions/latest" => Reply::Answer(422, String::new(), "{\"error_code\":42201}".into()),
        "/subjects/long/versions/latest" => Reply::json(&" ".repeat(8 * 1024 * 1024 + 1)),
        "/subjects/none/versions/latest" => Reply::missing(40401),
        _ => Reply::Answer(404, String::new(), "nginx".into()),
    };
    let server = Server::start(answers).await;
    let client = client(&[server.url()]);
    for (subject, expected) in [
        ("text", "an answer is no JSON"),
        ("lacks", "an answer lacks what it should have, or has it otherwise"),
        ("half", "has no `id` or `version`"),
        ("bad", "it answers with status 422 and error code 42201"),
        ("long", "an answer has more than 8388608 bytes"),
        ("path", "it has no path `/subjects/path/versions/latest`"),
    ] {
        let error = client.latest(subject, SchemaFormat::Avro).await.expect_err("malformed");
        assert!(matches!(error, RegistryError::Malformed { .. }), "{error}");
        let told = error.to_string();
        assert!(
            told.contains(expected) && !told.contains("key") && !told.contains("secret"),
            "{told}"
        );
    }
    let none = client.latest("none", SchemaFormat::Avro).await.expect_err("not there");
    assert_eq!(none.to_string(), "the schema registry has no version of the subject `none`");
}
