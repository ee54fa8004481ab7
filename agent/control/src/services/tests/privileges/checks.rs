//! What a check tells depends on what its caller may do.

use super::*;

#[tokio::test]
async fn a_check_tells_of_tables_only_to_who_may_create_them() {
    let town = Town::start().await;
    town.let_create("ann").await;
    town.create("ann", NAME).await.unwrap();
    let table = TableName::parse("main.pay.there").unwrap();
    let there = Table {
        uid: String::new(),
        generation: 0,
        columns: Vec::new(),
        schemas: (1, 1),
        incarnation: 9,
    };
    town.engine.world.lock().unwrap().tables.insert(table.clone(), there);
    let check = async || {
        let mut spec = stream(NAME);
        spec.ingestion.destination = table.clone();
        let request = v1::CheckStreamRequest {
            stream: Some(stream_from_spec(&spec)),
            ..Default::default()
        };
        town.streams("ann")
            .check_stream(request)
            .await
            .unwrap()
            .into_inner()
            .violations
            .len()
    };
    assert_eq!(check().await, 1);
    // It still may change its stream, which is its own.
    town.grant(SecurableType::Schema, "main.pay", &[]).await;
    assert_eq!(check().await, 0);
}

#[tokio::test]
async fn a_refusal_says_its_remedy_once() {
    let town = Town::start().await;
    let refused = town.create("eve", NAME).await.unwrap_err();
    let violation = detail_of(&refused).unwrap().violations[0].clone();
    assert_eq!(refused.message(), format!("{}; {}", violation.problem, violation.remedy));
    assert!(!violation.problem.contains(&violation.remedy), "{violation:?}");
}
