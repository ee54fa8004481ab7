//! Every rule with each of its privileges taken away, one at a time, and put elsewhere: made from the table that the
//! documentation is made from. Here the authorizer is asked, in `port.rs` every call of the interface.

mod port;
mod requests;
mod world;

use std::collections::BTreeSet;

use stream_spec::name::{ConnectionName, TableName};
use stream_spec::stream::ConnectionConfig;

use super::calls::Call;
use super::privilege::{Privilege, SecurableType};
use super::rules::{Need, On, Rule, rule};
use super::{Action, Authorizer, Principal, RequestContext, Securable};
use crate::testing::definitions::{connection, stream};
use world::{Granted, OWNER, PLACES, Place, World, above, connection_spec, names, place, securables, without_names};

/// One rule: allowed with all of it, held directly, by a group or above; denied without any one part.
async fn check(world: &World, action: Action, securable: Securable<'_>, needs: &[Need]) {
    let what = format!("{} {securable}", action.verb());
    let needs: Vec<(Need, Place)> = needs.iter().filter_map(|need| Some((*need, place(*need, securable)?))).collect();
    // Need `at` is met by another privilege or at another place, or not at all.
    let granted = |at: usize, instead: Option<(Place, Privilege)>| {
        let mut granted = Granted::new();
        for (number, (need, place)) in needs.iter().enumerate() {
            let (place, privilege) = match (number == at, instead) {
                (true, None) => continue,
                (true, Some(instead)) => instead,
                (false, _) => (*place, need.any[0]),
            };
            granted.entry(place).or_default().insert(privilege);
        }
        granted
    };
    let all = granted(usize::MAX, None);
    world.grant("team", &all).await;
    world.ask("bob", &["team"], action, securable).await.unwrap();
    assert!(
        world.ask("bob", &["other"], action, securable).await.is_err(),
        "{what}: by another group"
    );
    world.grant("bob", &all).await;
    world.ask("bob", &[], action, securable).await.unwrap();
    for (at, (need, place)) in needs.iter().enumerate() {
        world.grant("bob", &granted(at, None)).await;
        let refusal = world.ask("bob", &[], action, securable).await.expect_err(&what);
        assert!(refusal.contains(need.any[0].name()), "{what} without {need:?}: {refusal}");
        for privilege in need.any {
            for place in std::iter::once(place).chain(above(*place)) {
                world.grant("bob", &granted(at, Some((*place, *privilege)))).await;
                let answer = world.ask("bob", &[], action, securable).await;
                assert_eq!(answer, Ok(()), "{what} with {privilege} on {place:?}");
            }
        }
        for other in Privilege::ALL.iter().filter(|other| !need.any.contains(other)) {
            world.grant("bob", &granted(at, Some((*place, *other)))).await;
            assert!(
                world.ask("bob", &[], action, securable).await.is_err(),
                "{what} with {other} for {need:?}"
            );
        }
    }
}

#[tokio::test]
async fn every_call_needs_each_of_its_privileges_wherever_it_is_held() {
    let world = World::new().await;
    let names = names("orders", "");
    let mut checked = BTreeSet::new();
    for call in Call::ALL {
        for (action, kind) in call.asks() {
            if !checked.insert(format!("{action:?} {kind:?}")) {
                continue;
            }
            for securable in securables(*kind, &names) {
                world.grant("bob", &Granted::new()).await;
                let nothing = world.ask("bob", &[], *action, securable).await;
                let admin = world.ask("root", &["admins"], *action, securable).await;
                assert_eq!(admin, Ok(()), "{call:?}");
                assert!(world.ask("", &[], *action, securable).await.is_err(), "{call:?} by nobody");
                match rule(*action, *kind) {
                    Rule::Anyone | Rule::Filtered => assert_eq!(nothing, Ok(()), "{call:?}"),
                    Rule::Admins => {
                        assert!(nothing.is_err(), "{call:?}");
                        world
                            .grant(
                                "bob",
                                &PLACES
                                    .iter()
                                    .map(|place| (*place, Privilege::ALL.iter().copied().collect()))
                                    .collect(),
                            )
                            .await;
                        assert!(world.ask("bob", &[], *action, securable).await.is_err(), "{call:?} with everything");
                    }
                    Rule::Themselves => {
                        assert!(nothing.is_err(), "{call:?}");
                        assert_eq!(world.ask(OWNER, &[], *action, securable).await, Ok(()), "{call:?}");
                    }
                    Rule::Needs(needs) => {
                        assert!(nothing.is_err(), "{call:?}");
                        if let [Need { on: On::Itself, .. }] = needs {
                            assert_eq!(world.ask(OWNER, &[], *action, securable).await, Ok(()), "{call:?} by the owner");
                        }
                        check(&world, *action, securable, needs).await;
                    }
                    Rule::AsCreateOrUpdate => {
                        assert!(nothing.is_err(), "{call:?}");
                        // Nothing that bob may read has the name: as a create.
                        if let Rule::Needs(needs) = rule(Action::Create, *kind) {
                            check(&world, *action, securable, needs).await;
                        }
                    }
                    Rule::Never => panic!("{call:?} asks for something without a rule"),
                }
            }
        }
    }
    assert!(checked.len() > 25, "{checked:?}");
}

#[tokio::test]
async fn a_check_of_what_is_there_needs_what_its_change_would() {
    let world = World::new().await;
    let spec = stream("main.pay.orders");
    let table = (SecurableType::Table, "main.pay.orders_raw");
    let check = Securable::NewStream(&spec);
    for (privilege, expected) in [(Privilege::Select, false), (Privilege::Manage, true)] {
        world.grant("bob", &Granted::from([(table, BTreeSet::from([privilege]))])).await;
        assert_eq!(world.ask("bob", &[], Action::Check, check).await.is_ok(), expected, "{privilege}");
    }
    let declared = connection_spec("msk");
    let check = Securable::DeclaredConnection(&declared);
    let all = Granted::from([
        ((SecurableType::Connection, "msk"), BTreeSet::from([Privilege::Manage])),
        ((SecurableType::ServiceCredential, "role"), BTreeSet::from([Privilege::Access])),
        ((SecurableType::SecretScope, "keys"), BTreeSet::from([Privilege::Read])),
    ]);
    for left_out in all.keys().map(Some).chain([None]) {
        let granted = all.iter().filter(|(place, _)| Some(*place) != left_out);
        world
            .grant("bob", &granted.map(|(place, held)| (*place, held.clone())).collect())
            .await;
        for action in [Action::Check, Action::Test, Action::Update] {
            assert_eq!(
                world.ask("bob", &[], action, check).await.is_ok(),
                left_out.is_none(),
                "{action:?} without {left_out:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_refusal_is_the_same_for_what_is_there_and_for_what_is_not() {
    let world = World::new().await;
    let (there, away) = (names("orders", ""), names("absent", "absent"));
    let elsewhere = Granted::from([
        ((SecurableType::Schema, "main.old"), Privilege::ALL.iter().copied().collect()),
        ((SecurableType::Connection, "elsewhere"), Privilege::ALL.iter().copied().collect()),
        // What it takes to create streams is not what it takes to see them.
        (
            (SecurableType::Schema, "main.pay"),
            BTreeSet::from([Privilege::UseSchema, Privilege::CreateTable]),
        ),
    ]);
    world.grant("bob", &elsewhere).await;
    for call in Call::ALL {
        for (action, kind) in call.asks().iter().filter(|(action, _)| *action != Action::Create) {
            for (there, away) in securables(*kind, &there).into_iter().zip(securables(*kind, &away)) {
                if !matches!(rule(*action, *kind), Rule::Needs(_)) {
                    continue;
                }
                let refusal = world.ask("bob", &[], *action, there).await.expect_err("denied");
                let unknown = world.ask("bob", &[], *action, away).await.expect_err("denied");
                assert_eq!(without_names(&refusal), without_names(&unknown), "{call:?}");
            }
        }
    }
    // Who would see it is told that it is not there, and is not let through: what has the name a moment later was not judged.
    for (who, privilege) in [("ann", Privilege::Select), ("zoe", Privilege::Manage)] {
        world
            .grant(
                who,
                &Granted::from([((SecurableType::Schema, "main.pay"), BTreeSet::from([privilege]))]),
            )
            .await;
        for action in [Action::Read, Action::Update, Action::Operate, Action::Delete] {
            let told = world.ask(who, &[], action, Securable::Stream(&away.stream)).await;
            assert_eq!(told, Err("there is no stream `main.pay.absent`".to_owned()), "{action:?} by {who}");
        }
    }
    world
        .grant(
            "ann",
            &Granted::from([((SecurableType::Schema, "main.pay"), BTreeSet::from([Privilege::ReadVolume]))]),
        )
        .await;
    let told = world.ask("ann", &[], Action::Delete, Securable::Volume(&away.volume)).await;
    assert_eq!(told, Err("there is no volume `main.pay.absent`".to_owned()));
}

#[tokio::test]
async fn a_stream_needs_the_schema_of_its_name_as_well_as_that_of_its_table() {
    let world = World::new().await;
    let mut spec = stream("main.old.fresh");
    spec.ingestion.destination = TableName::parse("main.pay.fresh_raw").unwrap();
    spec.connection = ConnectionConfig::UcConnectionName(ConnectionName::parse("msk").unwrap());
    let on_schema = BTreeSet::from([Privilege::UseSchema, Privilege::CreateTable]);
    let all = Granted::from([
        ((SecurableType::Catalog, "main"), BTreeSet::from([Privilege::UseCatalog])),
        ((SecurableType::Schema, "main.pay"), on_schema.clone()),
        ((SecurableType::Schema, "main.old"), on_schema),
        ((SecurableType::Connection, "msk"), BTreeSet::from([Privilege::UseConnection])),
        ((SecurableType::ServiceCredential, "role"), BTreeSet::from([Privilege::Access])),
    ]);
    for left_out in [Some("main.old"), Some("main.pay"), None] {
        let granted = all.iter().filter(|((_, name), _)| Some(*name) != left_out);
        world
            .grant("bob", &granted.map(|(place, held)| (*place, held.clone())).collect())
            .await;
        for action in [Action::Create, Action::Check] {
            let answer = world.ask("bob", &[], action, Securable::NewStream(&spec)).await;
            match left_out {
                None => assert_eq!(answer, Ok(()), "{action:?}"),
                Some(schema) => assert!(
                    answer.unwrap_err().contains(&format!("CREATE TABLE on the schema `{schema}`")),
                    "{action:?}"
                ),
            }
        }
    }
}

#[tokio::test]
async fn who_is_let_through_is_let_through_for_one_life_of_the_name() {
    let world = World::new().await;
    let names = names("orders", "");
    let context = RequestContext {
        principal: Principal::new(OWNER, BTreeSet::new()),
        request_id: "r".into(),
    };
    let cases = [
        (Securable::Stream(&names.stream), "u1".to_owned()),
        (Securable::Connection(&names.connection.name), connection("msk").uid),
        (Securable::Credential(&names.credential), "u".to_owned()),
        (Securable::Volume(&names.volume), "u".to_owned()),
    ];
    for (securable, uid) in cases {
        let allowed = world.authorizer.authorize(&context, Action::Delete, securable).await.unwrap();
        assert_eq!(allowed.uid.as_deref(), Some(uid.as_str()), "{securable}");
        for (meant, life) in [("", Some(uid.clone())), (uid.as_str(), Some(uid.clone())), ("another", None)] {
            assert_eq!(allowed.clone().life(meant), life, "{securable}, of {meant:?}");
        }
    }
    assert_eq!(crate::governance::Allowed::default().life("u9"), Some("u9".to_owned()));
}
