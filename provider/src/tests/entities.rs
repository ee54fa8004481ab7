//! Credentials, scopes, secrets, volumes and grants as tables: what they share is asked of each of them.

pub(super) mod kinds;

use serde_json::{Value as Json, json};
use tfplugin::testing::core::{Action, Stored};
use tfplugin::value::Value;
use tonic::Code;

use super::bench::Bench;
use super::configs::{UNKNOWN, with};
use super::fake_agent::Fault;
use kinds::{KINDS, Kind, bench, credential};

async fn applied(bench: &Bench, kind: &Kind) -> Stored {
    bench.applied_one(kind.type_name, None, &(kind.config)()).await
}

#[tokio::test]
async fn each_is_made_planned_empty_imported_and_destroyed() {
    for kind in &KINDS {
        let bench = bench(kind, json!({})).await;
        let stored = applied(&bench, kind).await;
        let refreshed = bench.refreshed(&stored).await;
        let planned = bench.plan_one(kind.type_name, Some(&refreshed), &(kind.config)()).await;
        assert_eq!(
            (planned.action(), planned.words().as_str()),
            (Action::NoOp, ""),
            "{}",
            kind.type_name
        );

        let imported = bench.import_one(kind.type_name, kind.key).await.expect("it is there");
        // Terraform cannot know the version of a value that it did not write.
        let without_version = with((kind.config)(), "/value_wo_version", json!(null));
        let config = if kind.title == "Secret" { without_version } else { (kind.config)() };
        let planned = bench.plan_one(kind.type_name, Some(&imported), &config).await;
        assert_eq!(
            planned.action(),
            Action::NoOp,
            "{} after an import: {:?}",
            kind.type_name,
            planned.planned
        );

        let outcome = bench.apply_planned(bench.plan_destroy(&refreshed).await).await;
        assert!(outcome.stored.is_none() && !outcome.has_errors(), "{}", outcome.words());
        // Again, as if the answer had been lost and the state kept: not found is success.
        let outcome = bench.apply_planned(bench.plan_destroy(&stored).await).await;
        assert!(outcome.stored.is_none() && !outcome.has_errors(), "{}", outcome.words());
    }
}

/// Type, base, attribute, new value, what the plan must come to.
type Row = (usize, &'static str, Json, Action);

#[tokio::test]
async fn each_attributes_change_plans_what_it_should() {
    let team = |privileges: Json| json!([{ "principal": "payments-team", "privileges": privileges }]);
    let rows: Vec<Row> = vec![
        (0, "/name", json!("other"), Action::Replace),
        (
            0,
            "/aws_iam_role/role_arn",
            json!("arn:aws:iam::123456789012:role/other"),
            Action::Update,
        ),
        (0, "/aws_iam_role/external_id", json!(null), Action::Update),
        (0, "/ambient", json!(false), Action::Update),
        (1, "/name", json!("other"), Action::Replace),
        (2, "/scope", json!("other"), Action::Replace),
        (2, "/key", json!("other"), Action::Replace),
        (2, "/value_wo", json!("hunter3"), Action::NoOp),
        (2, "/value_wo_version", json!(2), Action::Update),
        (3, "/name", json!("main.payments.other"), Action::Replace),
        (3, "/storage_location", json!("s3://certificates"), Action::Update),
        (3, "/storage_location", json!("file:///srv/certificates/"), Action::NoOp),
        (4, "/securable_type", json!("service_credential"), Action::Replace),
        (4, "/securable_name", json!("other"), Action::Replace),
        (4, "/grants", team(json!(["USE CONNECTION"])), Action::Update),
        (4, "/grants", json!([]), Action::Update),
        (
            4,
            "/grants",
            json!([
                { "principal": "ops@shop.example", "privileges": ["USE CONNECTION"] },
                { "principal": "payments-team", "privileges": ["MANAGE"] },
                { "principal": "payments-team", "privileges": ["USE CONNECTION"] },
            ]),
            Action::NoOp,
        ),
    ];
    for (kind, pointer, value, action) in rows {
        let kind = &KINDS[kind];
        let bench = bench(kind, json!({})).await;
        let stored = applied(&bench, kind).await;
        let mut changed = with((kind.config)(), pointer, value.clone());
        if pointer == "/securable_type" {
            changed = with(changed, "/grants", team(json!(["ACCESS"])));
        }
        let planned = bench.plan_one(kind.type_name, Some(&stored), &changed).await;
        assert_eq!(
            planned.action(),
            action,
            "{}{pointer} = {value}: {}",
            kind.type_name,
            planned.words()
        );
        if action == Action::Update {
            let stored = bench.applied_one(kind.type_name, Some(&stored), &changed).await;
            let again = bench
                .plan_one(kind.type_name, Some(&bench.refreshed(&stored).await), &changed)
                .await;
            assert_eq!(again.action(), Action::NoOp, "{}{pointer} after its apply", kind.type_name);
        }
    }
}

#[tokio::test]
async fn a_credential_becomes_ambient_and_a_role_again_in_place() {
    let kind = &KINDS[0];
    let bench = bench(kind, json!({})).await;
    let ambient = json!({ "name": "msk-reader", "ambient": true });
    let mut stored = applied(&bench, kind).await;
    for config in [ambient, credential()] {
        assert_eq!(
            bench.plan_one(kind.type_name, Some(&stored), &config).await.action(),
            Action::Update
        );
        stored = bench
            .refreshed(&bench.applied_one(kind.type_name, Some(&stored), &config).await)
            .await;
        assert_eq!(bench.plan_one(kind.type_name, Some(&stored), &config).await.action(), Action::NoOp);
    }
}

#[tokio::test]
async fn a_credential_that_cannot_be_used_yet_is_kept_with_a_warning() {
    let kind = &KINDS[0];
    let bench = bench(kind, json!({})).await;
    let mut prior = None;
    let said = ["the role is refused", "", "the role is refused again"];
    for (problem, config) in said.iter().zip([
        credential(),
        with(credential(), "/aws_iam_role/external_id", json!("t-8")),
        credential(),
    ]) {
        bench.agent.world().governance.credential_problem = (*problem).to_owned();
        let plan = bench.plan_one(kind.type_name, prior.as_ref(), &config).await;
        let outcome = bench.apply_planned(plan).await;
        let words = outcome.words();
        assert!(!outcome.has_errors(), "{words}");
        assert_eq!(
            words.contains("Service Credential Cannot Be Used Yet"),
            !problem.is_empty(),
            "{words}"
        );
        assert!(words.contains(&problem.replace("the role", "The role")), "{words}");
        prior = outcome.stored;
        let again = bench.plan_one(kind.type_name, prior.as_ref(), &config).await;
        assert_eq!((again.action(), again.words().as_str()), (Action::NoOp, ""));
    }
}

#[tokio::test]
async fn one_that_is_there_already_is_an_error_with_an_import_block() {
    for kind in &KINDS {
        let bench = bench(kind, json!({})).await;
        let stored = applied(&bench, kind).await;
        let outcome = bench
            .apply_planned(bench.plan_one(kind.type_name, None, &(kind.config)()).await)
            .await;
        let words = outcome.words();
        assert!(
            outcome.stored.is_none() && words.contains(&format!("{} Already Exists", kind.title)),
            "{words}"
        );
        assert!(
            words.contains(&format!("to = {}.", kind.type_name)) && words.contains(&format!("id = \"{}\"", kind.key)),
            "{words}"
        );
        assert_eq!(bench.refreshed(&stored).await.state, stored.state, "nothing was overwritten");
    }
}

#[tokio::test]
async fn a_lost_answer_makes_nothing_twice_and_is_no_conflict() {
    for kind in &KINDS {
        let bench = bench(kind, json!({})).await;
        bench.agent.fail(kind.create, [Fault::LoseAnswer]);
        let stored = applied(&bench, kind).await;
        assert_eq!(bench.agent.count(kind.create), 2, "{}", kind.type_name);
        if let Some((call, pointer, value)) = kind.update {
            bench.agent.fail(call, [Fault::LoseAnswer]);
            let changed = with((kind.config)(), pointer, value());
            let stored = bench.applied_one(kind.type_name, Some(&stored), &changed).await;
            let again = bench
                .plan_one(kind.type_name, Some(&bench.refreshed(&stored).await), &changed)
                .await;
            assert_eq!(again.action(), Action::NoOp, "{}", kind.type_name);
        }
        let stored = bench.refreshed(&stored).await;
        bench.agent.fail(kind.delete, [Fault::LoseAnswer]);
        let outcome = bench.apply_planned(bench.plan_destroy(&stored).await).await;
        assert!(outcome.stored.is_none() && !outcome.has_errors(), "{}", outcome.words());
    }
}

#[tokio::test]
async fn a_create_without_an_answer_says_that_it_may_exist() {
    for kind in [&KINDS[0], &KINDS[2]] {
        let bench = bench(kind, json!({ "max_retries": 0, "request_timeout": "100ms" })).await;
        bench.agent.fail(kind.create, [Fault::Hang]);
        let outcome = bench
            .apply_planned(bench.plan_one(kind.type_name, None, &(kind.config)()).await)
            .await;
        let words = outcome.words();
        assert!(
            words.contains(&format!("{} May Exist", kind.title)) && words.contains("import {"),
            "{words}"
        );
    }
}

#[tokio::test]
async fn what_is_not_found_is_gone_and_what_may_not_be_seen_is_an_error() {
    for kind in &KINDS {
        let bench = bench(kind, json!({ "max_retries": 0 })).await;
        let stored = applied(&bench, kind).await;
        for (code, expected) in [
            (Code::PermissionDenied, "Permission Denied"),
            (Code::Unauthenticated, "Not Authenticated"),
            (Code::Unavailable, "Agent Busy"),
        ] {
            bench.agent.fail(kind.read, [Fault::Refuse(code, "no")]);
            // A set whose list is refused is asked for by itself.
            if kind.read == "ListGrants" {
                bench.agent.world().faults.remove("GetGrants");
                bench.agent.fail("GetGrants", [Fault::Refuse(code, "no")]);
            }
            let refused = bench.try_refresh(&stored).await.expect_err("it could not look");
            assert!(refused.contains(expected), "{}: {refused}", kind.type_name);
        }
        // A set of grants is there as long as its securable is, if only as an empty one.
        if kind.title != "Set Of Grants" {
            bench.agent.world().governance = Default::default();
            assert!(bench.refresh(&stored).await.is_none(), "{}", kind.type_name);
        }
    }
}

#[tokio::test]
async fn a_change_that_was_planned_on_another_version_overwrites_nothing() {
    for kind in &KINDS {
        let Some((_, pointer, value)) = kind.update else { continue };
        let bench = bench(kind, json!({})).await;
        let stored = applied(&bench, kind).await;
        let planned = bench
            .plan_one(kind.type_name, Some(&stored), &with((kind.config)(), pointer, value()))
            .await;
        {
            let mut world = bench.agent.world();
            world.put_secret("payments", "kafka-password", "theirs");
            let governance = &mut world.governance;
            governance.credentials.values_mut().for_each(|it| it.generation += 1);
            governance.volumes.values_mut().for_each(|it| it.generation += 1);
            governance.grants.values_mut().for_each(|it| it.generation += 1);
        }
        let outcome = bench.apply_planned(planned).await;
        assert!(
            outcome.words().contains("Changed Since The Plan"),
            "{}: {}",
            kind.type_name,
            outcome.words()
        );
        assert_eq!(outcome.stored.expect("the state stays").state, stored.state);
    }
}

#[tokio::test]
async fn another_life_of_a_name_is_not_ours() {
    for kind in [&KINDS[0], &KINDS[1], &KINDS[3]] {
        let bench = bench(kind, json!({})).await;
        let stored = applied(&bench, kind).await;
        let destroy = bench.plan_destroy(&stored).await;
        bench
            .agent
            .world()
            .governance
            .credentials
            .values_mut()
            .for_each(|it| it.uid = "theirs".to_owned());
        bench
            .agent
            .world()
            .governance
            .volumes
            .values_mut()
            .for_each(|it| it.uid = "theirs".to_owned());
        let take = |uid: &mut String| *uid = "theirs".to_owned();
        bench.agent.world().governance.scope_uids.values_mut().for_each(take);
        let outcome = bench.apply_planned(destroy).await;
        assert!(
            !outcome.has_errors() && outcome.stored.is_none(),
            "ours is gone: {}",
            outcome.words()
        );
        let left = {
            let world = bench.agent.world();
            let governance = &world.governance;
            governance.credentials.len() + governance.scopes.len() + governance.volumes.len()
        };
        assert_eq!(left, 1, "theirs is not");
        assert!(bench.refresh(&stored).await.is_none());
    }
}

#[tokio::test]
async fn bad_configurations_are_refused_at_their_attribute() {
    let long = "x".repeat(128 * 1024 + 1);
    let rows = [
        (0, "/name", json!("a b"), "name"),
        (0, "/aws_iam_role/role_arn", json!("reader"), "aws_iam_role.role_arn"),
        (0, "/aws_iam_role/external_id", json!("x"), "aws_iam_role.external_id"),
        (0, "/aws_iam_role", json!(null), "aws_iam_role"),
        (0, "/ambient", json!(true), "ambient"),
        (1, "/name", json!("a/b"), "name"),
        (2, "/scope", json!(""), "scope"),
        (2, "/key", json!("a b"), "key"),
        (2, "/value_wo", json!(""), "value_wo"),
        (2, "/value_wo", json!(long), "value_wo"),
        (3, "/name", json!("main.Payments.x"), "name"),
        (3, "/storage_location", json!("certificates"), "storage_location"),
        (4, "/securable_type", json!("agent"), "securable_type"),
        (4, "/securable_name", json!("a b"), "securable_name"),
        (
            4,
            "/grants",
            json!([{ "principal": "team", "privileges": ["USE CONECTION"] }]),
            "grants",
        ),
        (4, "/grants", json!([{ "principal": "team", "privileges": [] }]), "grants"),
    ];
    for (kind, pointer, value, path) in rows {
        let kind = &KINDS[kind];
        let bench = bench(kind, json!({})).await;
        let said = bench.validate_one(kind.type_name, &with((kind.config)(), pointer, value)).await;
        assert_eq!(said.error_paths(), [path], "{}: {}", kind.type_name, said.words());
        assert!(!said.words().contains("xxx"), "no value of a secret: {}", said.words());
    }
}

#[tokio::test]
async fn values_that_only_an_apply_knows_are_planned() {
    for (kind, pointer) in [
        (0, "/name"),
        (0, "/aws_iam_role"),
        (0, "/ambient"),
        (0, "/aws_iam_role/role_arn"),
        (1, "/name"),
        (2, "/scope"),
        (2, "/value_wo"),
        (2, "/value_wo_version"),
        (3, "/storage_location"),
        (4, "/securable_type"),
        (4, "/securable_name"),
        (4, "/grants"),
        (4, "/grants/0/principal"),
        (4, "/grants/0/privileges"),
    ] {
        let kind = &KINDS[kind];
        let bench = bench(kind, json!({})).await;
        let mut config = (kind.config)();
        match config.pointer_mut(pointer) {
            Some(place) => *place = json!(UNKNOWN),
            None => config = with(json!({ "name": "msk-reader" }), pointer, json!(UNKNOWN)),
        }
        let planned = bench.plan_one(kind.type_name, None, &config).await;
        assert_eq!(planned.action(), Action::Create, "{}{pointer}", kind.type_name);
    }
}

#[tokio::test]
async fn an_import_id_that_is_none_says_what_one_is() {
    for (kind, id, expected) in [
        (0, "a b", "the credential's name"),
        (1, "a/b", "the scope's name"),
        (2, "payments", "as in `payments/kafka-password`"),
        (3, "main.certificates", "the volume's name"),
        (4, "payments-kafka", "as in `connection/payments-kafka`"),
        (4, "agent/x", "`agent` is none of"),
    ] {
        let kind = &KINDS[kind];
        let bench = bench(kind, json!({})).await;
        let refused = bench.import_one(kind.type_name, id).await.expect_err("no such id");
        assert!(
            refused.contains("Invalid Import Id") && refused.contains(expected),
            "{id}: {refused}"
        );
    }
    for kind in &KINDS[..4] {
        let refused = Bench::start()
            .await
            .import_one(kind.type_name, kind.key)
            .await
            .expect_err("nothing there");
        assert!(
            refused.contains("Cannot Import Non-Existent") && refused.contains(kind.key),
            "{refused}"
        );
    }
}

#[tokio::test]
async fn the_set_of_grants_on_a_securable_without_any_is_imported_as_empty() {
    let imported = Bench::start()
        .await
        .import_one("featurestore_grants", "catalog/main")
        .await
        .expect("it can be looked at");
    assert_eq!(imported.state.get("grants"), &Value::Set(Vec::new()));
}
