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
            operations: None,
            as_new: false,
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
