//! Lists show what the caller may read, in pages that are full.

use super::*;

async fn names(town: &Town, who: &'static str, parent: &str, page_size: i32) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut page_token = String::new();
    loop {
        let request = v1::ListStreamsRequest {
            parent: parent.into(),
            page_size,
            page_token,
            include_schemas: false,
        };
        let answer = town.streams(who).list_streams(request).await.unwrap().into_inner();
        let name = |record: v1::StreamRecord| record.stream.unwrap().name;
        pages.push(answer.records.into_iter().map(name).collect());
        page_token = answer.next_page_token;
        if page_token.is_empty() {
            return pages;
        }
    }
}

#[tokio::test]
async fn a_list_of_streams_shows_what_its_caller_may_read() {
    let town = Town::start().await;
    town.let_create("ann").await;
    for name in ["a", "b", "c", "d", "e"] {
        town.create("root,admins", &format!("main.pay.{name}")).await.unwrap();
    }
    town.create("ann", "main.pay.f").await.unwrap();
    town.grant(SecurableType::Table, "main.pay.b_raw", &[("bob", &[Privilege::Select])])
        .await;
    town.grant(SecurableType::Table, "main.pay.e_raw", &[("readers", &[Privilege::Manage])])
        .await;
    let cases = [
        ("root,admins", vec![vec!["a", "b"], vec!["c", "d"], vec!["e", "f"]]),
        ("ann", vec![vec!["f"]]),
        ("bob", vec![vec!["b"]]),
        ("bob,readers", vec![vec!["b", "e"]]),
        ("eve", vec![vec![]]),
    ];
    for (who, expected) in cases {
        let expected: Vec<Vec<String>> = expected
            .into_iter()
            .map(|page| page.into_iter().map(|name| format!("main.pay.{name}")).collect())
            .collect();
        assert_eq!(names(&town, who, "main.pay", 2).await, expected, "{who}");
    }
    town.grant(SecurableType::Catalog, "main", &[("eve", &[Privilege::Select])]).await;
    assert_eq!(names(&town, "eve", "main", 1_000).await.concat().len(), 6);
}

#[tokio::test]
async fn lists_of_connections_and_grants_show_what_their_caller_may_read() {
    let town = Town::start().await;
    town.store
        .insert_connection(&connection("other"), &LiteralSecrets::Stay)
        .await
        .unwrap();
    town.grant(SecurableType::Connection, "kafka", &[("bob", &[Privilege::UseConnection])])
        .await;
    town.grant(SecurableType::Connection, "other", &[("ann", &[Privilege::Manage])])
        .await;
    town.grant(SecurableType::Schema, "main.pay", &[("ann", &[Privilege::Manage])])
        .await;
    let cases = [
        ("root,admins", vec!["kafka", "other"], 3, 2),
        ("local-admin", vec!["kafka", "other"], 2, 2),
        ("bob", vec!["kafka"], 0, 0),
        ("ann", vec!["other"], 2, 1),
        ("eve", vec![], 0, 0),
    ];
    for (who, expected, grants, on_connections) in cases {
        let mut client = ConnectionServiceClient::new(town.door(who));
        let connections = client
            .list_connections(v1::ListConnectionsRequest::default())
            .await
            .unwrap()
            .into_inner();
        let names: Vec<_> = connections.connections.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, expected, "{who}");
        let list = async |securable_type: v1::SecurableType| {
            let request = v1::ListGrantsRequest {
                securable_type: securable_type.into(),
                ..Default::default()
            };
            town.grants(who).list_grants(request).await.unwrap().into_inner().grants.len()
        };
        assert_eq!(list(v1::SecurableType::Unspecified).await, grants, "{who}");
        assert_eq!(list(v1::SecurableType::Connection).await, on_connections, "{who}");
    }
}
