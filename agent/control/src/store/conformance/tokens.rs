//! What every store must do with tokens.

use crate::limits::TOKENS_PER_PRINCIPAL_MAX;
use crate::store::Store;
use crate::store::tokens::{InsertedToken, TokenRecord};

pub(super) async fn are_bounded_and_expire<S: Store>(store: &S) {
    let token = |id: &str, principal: &str, expire_time_ms| TokenRecord {
        id: id.into(),
        hash: std::array::from_fn(|at| id.as_bytes().get(at).copied().unwrap_or(0)),
        principal: principal.into(),
        created_by: "admin".into(),
        create_time_ms: 5,
        expire_time_ms,
        last_use_time_ms: None,
    };
    let insert = async |id: &str, principal: &str, expires, now| store.insert_token(&token(id, principal, expires), now).await.unwrap();
    assert_eq!(insert("t2", "ada", Some(100), 1).await, InsertedToken::Inserted);
    assert_eq!(insert("t1", "bob", None, 1).await, InsertedToken::Inserted);
    assert_eq!(insert("t1", "ada", None, 1).await, InsertedToken::IdTaken);
    assert_eq!(store.token("t2").await.unwrap(), Some(token("t2", "ada", Some(100))));
    let ids = async |principal: Option<&str>, after: Option<&str>, limit| -> Vec<String> {
        let found = store.list_tokens(principal, after, limit).await.unwrap();
        found.into_iter().map(|found| found.id).collect()
    };
    assert_eq!(ids(None, None, 9).await, ["t1", "t2"]);
    assert_eq!(ids(None, Some("t1"), 9).await, ["t2"]);
    assert_eq!(ids(Some("bob"), None, 9).await, ["t1"]);
    for (now, expected) in [(70, 70), (60, 70)] {
        store.use_token("t2", now).await.unwrap();
        assert_eq!(store.token("t2").await.unwrap().unwrap().last_use_time_ms, Some(expected));
    }
    store.use_token("nobody", 1).await.unwrap();
    assert_eq!(insert("t3", "bob", None, 100).await, InsertedToken::Inserted);
    assert_eq!(ids(None, None, 9).await, ["t1", "t3"], "one that has expired makes room");
    for number in 2..TOKENS_PER_PRINCIPAL_MAX {
        assert_eq!(insert(&format!("u{number}"), "bob", None, 100).await, InsertedToken::Inserted);
    }
    assert_eq!(insert("v", "bob", None, 100).await, InsertedToken::TooMany);
    assert_eq!(insert("v", "ada", None, 100).await, InsertedToken::Inserted);
    assert!(store.delete_token("v").await.unwrap() && !store.delete_token("v").await.unwrap());
    assert_eq!(store.token("v").await.unwrap(), None);
}
