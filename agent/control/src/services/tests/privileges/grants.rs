//! Setting, reading and listing grants.

use super::*;

fn wanted(securable_type: v1::SecurableType, name: &str, grants: &[(&str, &[&str])]) -> v1::SecurableGrants {
    let grant = |(principal, privileges): &(&str, &[&str])| v1::Grant {
        principal: (*principal).to_owned(),
        privileges: privileges.iter().map(|privilege| (*privilege).to_owned()).collect(),
    };
    v1::SecurableGrants {
        securable_type: securable_type.into(),
        securable_name: name.to_owned(),
        grants: grants.iter().map(grant).collect(),
        ..Default::default()
    }
}

async fn set(town: &Town, who: &'static str, grants: v1::SecurableGrants, generation: Option<u64>) -> Result<v1::SecurableGrants, Status> {
    let request = v1::SetGrantsRequest {
        grants: Some(grants),
        generation,
        ..Default::default()
    };
    let answer = town.grants(who).set_grants(request).await?;
    Ok(answer.into_inner().grants.unwrap())
}

async fn get(town: &Town, who: &'static str, securable_type: v1::SecurableType, name: &str) -> Result<v1::SecurableGrants, Status> {
    let request = v1::GetGrantsRequest {
        securable_type: securable_type.into(),
        securable_name: name.to_owned(),
    };
    let answer = town.grants(who).get_grants(request).await?;
    Ok(answer.into_inner().grants.unwrap())
}

const SCHEMA: v1::SecurableType = v1::SecurableType::Schema;
const TABLE: v1::SecurableType = v1::SecurableType::Table;
const CONNECTION: v1::SecurableType = v1::SecurableType::Connection;

#[tokio::test]
async fn a_set_replaces_the_whole_set_that_its_caller_saw() {
    let town = Town::start().await;
    let none = get(&town, "root,admins", SCHEMA, "main.pay").await.unwrap();
    assert_eq!((none.generation, none.grants.len()), (0, 0));
    let readers = wanted(SCHEMA, "main.pay", &[("readers", &["USE SCHEMA", "SELECT"]), ("ann", &["MANAGE"])]);
    let first = set(&town, "root,admins", readers.clone(), Some(0)).await.unwrap();
    assert_eq!(first.generation, 1);
    let names: Vec<&str> = first.grants.iter().map(|grant| grant.principal.as_str()).collect();
    assert_eq!(names, ["ann", "readers"]);
    // The same once more, as after a lost answer.
    assert_eq!(set(&town, "root,admins", readers.clone(), Some(0)).await.unwrap().generation, 1);
    let fewer = wanted(SCHEMA, "main.pay", &[("ann", &["MANAGE"])]);
    assert_eq!(set(&town, "ann", fewer.clone(), Some(1)).await.unwrap().generation, 2);
    assert_eq!(set(&town, "ann", fewer.clone(), Some(1)).await.unwrap().generation, 2);
    let readers_again = readers.clone();
    assert_eq!(set(&town, "ann", readers, Some(1)).await.unwrap_err().code(), Code::Aborted);
    // Who saw that nothing was ever granted overwrites nothing.
    let first = set(&town, "root,admins", readers_again, Some(0)).await.unwrap_err();
    assert_eq!(first.code(), Code::Aborted);
    // Whoever gives its own away has none.
    let nothing = wanted(SCHEMA, "main.pay", &[]);
    assert_eq!(set(&town, "ann", nothing.clone(), Some(2)).await.unwrap().generation, 3);
    assert_eq!(
        set(&town, "ann", nothing, Some(3)).await.unwrap_err().code(),
        Code::PermissionDenied
    );
    let list = town
        .grants("root,admins")
        .list_grants(v1::ListGrantsRequest::default())
        .await
        .unwrap();
    assert!(list.into_inner().grants.is_empty());
    assert_eq!(get(&town, "root,admins", SCHEMA, "main.pay").await.unwrap().generation, 3);
}

#[tokio::test]
async fn what_cannot_be_granted_is_refused_by_name() {
    let town = Town::start().await;
    let cases = [
        (
            wanted(TABLE, "main.pay.orders_raw", &[("ann", &["SELEKT"])]),
            Code::InvalidArgument,
            "`SELECT`",
        ),
        (
            wanted(TABLE, "main.pay.orders_raw", &[("ann", &["ACCESS"])]),
            Code::InvalidArgument,
            "cannot be granted on a table",
        ),
        (
            wanted(SCHEMA, "main", &[("ann", &["SELECT"])]),
            Code::InvalidArgument,
            "securable_name",
        ),
        (
            wanted(v1::SecurableType::Catalog, "system", &[("ann", &["SELECT"])]),
            Code::InvalidArgument,
            "system",
        ),
        (
            wanted(v1::SecurableType::Unspecified, "x", &[]),
            Code::InvalidArgument,
            "securable_type",
        ),
        (
            wanted(CONNECTION, "no-such", &[("ann", &["MANAGE"])]),
            Code::NotFound,
            "connection `no-such`",
        ),
        (
            wanted(v1::SecurableType::SecretScope, "no-such", &[("ann", &["READ"])]),
            Code::NotFound,
            "secret scope `no-such`",
        ),
    ];
    for (grants, code, said) in cases {
        let error = set(&town, "root,admins", grants.clone(), None).await.unwrap_err();
        assert_eq!(error.code(), code, "{grants:?}: {error}");
        assert!(error.message().contains(said), "{said}: {}", error.message());
    }
}

#[tokio::test]
async fn owners_and_managers_grant_and_others_learn_nothing() {
    let town = Town::start().await;
    town.let_create("team").await;
    town.create("ann,team", "main.pay.orders").await.unwrap();
    let share = wanted(TABLE, "main.pay.orders_raw", &[("bob", &["SELECT"])]);
    let error = set(&town, "bob", share.clone(), None).await.unwrap_err();
    let unknown = set(&town, "bob", wanted(TABLE, "main.pay.no_such", &[("bob", &["SELECT"])]), None)
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::PermissionDenied);
    assert_eq!(error.message().replace("orders_raw", "no_such"), unknown.message());
    set(&town, "ann", share, None).await.unwrap();
    assert_eq!(
        get(&town, "bob", TABLE, "main.pay.orders_raw").await.unwrap_err().code(),
        Code::PermissionDenied
    );
    let read = town.streams("bob").get_stream(v1::GetStreamRequest { name: NAME.into() }).await;
    assert_eq!(read.unwrap().into_inner().record.unwrap().stream.unwrap().created_by, "ann");
}

#[tokio::test]
async fn another_life_of_a_name_begins_without_grants() {
    let town = Town::start().await;
    town.let_create("ann").await;
    town.create("ann", "main.pay.orders").await.unwrap();
    town.grant(SecurableType::Table, "main.pay.orders_raw", &[("bob", &[Privilege::Select])])
        .await;
    let get = async |who| {
        town.streams(who)
            .get_stream(v1::GetStreamRequest { name: NAME.into() })
            .await
            .map(drop)
    };
    let code = async |who| get(who).await.unwrap_err().code();
    get("bob").await.unwrap();
    assert_eq!(code("eve").await, Code::PermissionDenied);
    let delete = v1::DeleteStreamRequest {
        name: NAME.into(),
        ..Default::default()
    };
    assert!(town.streams("ann").delete_stream(delete).await.unwrap().into_inner().done);
    // Who could see it is told that it is gone: a deletion is drift, a lost grant is not.
    assert_eq!((code("ann").await, code("bob").await), (Code::NotFound, Code::NotFound));
    assert_eq!(code("eve").await, Code::PermissionDenied);
    town.create("ann", "main.pay.orders").await.unwrap();
    assert_eq!(code("bob").await, Code::PermissionDenied);
}

#[tokio::test]
async fn grants_that_were_planned_on_another_life_are_set_on_none() {
    let town = Town::start().await;
    town.let_create("ann").await;
    let table = "main.pay.orders_raw";
    let share = wanted(TABLE, table, &[("bob", &["SELECT"])]);
    let planned_on = async |who, securable_uid: String| {
        let request = v1::SetGrantsRequest {
            grants: Some(share.clone()),
            generation: Some(0),
            securable_uid,
        };
        let answer = town.grants(who).set_grants(request).await?;
        Ok::<_, Status>(answer.into_inner().grants.unwrap())
    };
    town.create("ann", "main.pay.orders").await.unwrap();
    let first = get(&town, "ann", TABLE, table).await.unwrap().securable_uid;
    assert_eq!(planned_on("ann", first.clone()).await.unwrap().securable_uid, first);
    let listed = town.grants("ann").list_grants(v1::ListGrantsRequest::default()).await;
    assert_eq!(listed.unwrap().into_inner().grants[0].securable_uid, first);
    let delete = v1::DeleteStreamRequest {
        name: NAME.into(),
        ..Default::default()
    };
    assert!(town.streams("ann").delete_stream(delete).await.unwrap().into_inner().done);
    town.create("ann", "main.pay.orders").await.unwrap();
    for who in ["ann", "root,admins"] {
        let refused = planned_on(who, first.clone()).await.unwrap_err();
        assert_eq!(refused.code(), Code::Aborted, "{refused}");
        assert!(refused.message().contains("plan again"), "{refused}");
    }
    let second = get(&town, "ann", TABLE, table).await.unwrap();
    assert_eq!((second.generation, second.securable_uid != first), (0, true));
    planned_on("ann", second.securable_uid).await.unwrap();
}
