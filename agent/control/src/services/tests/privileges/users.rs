//! Who is told which streams use what it deletes.

use super::*;

#[tokio::test]
async fn users_are_named_to_who_may_read_them_and_counted_for_others() {
    let town = Town::start().await;
    for name in ["main.pay.a", "main.pay.b"] {
        town.create("root,admins", name).await.unwrap();
    }
    let holders = [("bob", &[Privilege::Manage][..]), ("eve", &[Privilege::Manage])];
    town.grant(SecurableType::Connection, "kafka", &holders).await;
    town.grant(SecurableType::Table, "main.pay.b_raw", &[("bob", &[Privilege::Select])])
        .await;
    let both = vec!["main.pay.a".to_owned(), "main.pay.b".to_owned()];
    for (who, said, used_by, others) in [
        (
            "root,admins",
            "streams use the connection, among them `main.pay.a`, `main.pay.b`",
            both,
            0,
        ),
        (
            "bob",
            "among them `main.pay.b`, and 1 more that you may not see",
            vec!["main.pay.b".to_owned()],
            1,
        ),
        ("eve", "streams that you may not see use the connection: 2", Vec::new(), 2),
    ] {
        let mut client = ConnectionServiceClient::new(town.door(who));
        let request = v1::DeleteConnectionRequest {
            name: "kafka".into(),
            ..Default::default()
        };
        let refusal = client.delete_connection(request).await.unwrap_err();
        assert_eq!(refusal.code(), Code::FailedPrecondition);
        assert!(refusal.message().contains(said), "{who}: {refusal:?}");
        assert!(who != "bob" || !format!("{refusal:?}").contains("main.pay.a"), "{refusal:?}");
        let connection = Some(connection_from_spec(&connection("kafka").spec));
        let checked = client.check_connection(v1::CheckConnectionRequest { connection }).await.unwrap();
        let checked = checked.into_inner();
        assert_eq!((checked.used_by, checked.used_by_others), (used_by, others), "{who}");
    }
}
