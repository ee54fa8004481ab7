//! People whose groups an issuer names, under a real Terraform: a stream goes on only while its owner's last login says that they are
//! in the group that may.

use e2e::agent::Agent;
use e2e::api::Api;
use e2e::config::{CONNECTION_NAME, with};
use e2e::kafka::kafka;
use e2e::limits::STREAM_SETTLES;
use e2e::wait::wait_until;
use featurestore_proto::v1::SecurableType;
use serde_json::json;

use crate::issuer::Issuer;
use crate::rows::{assert_rows, order_value};
use crate::stage::Stage;

const TEAM: &[&str] = &["payments-team"];

#[test]
fn a_group_that_a_login_names_no_more_stops_what_it_allowed_until_one_names_it_again() {
    let issuer = Issuer::new();
    let agent = Agent::start_secured(&[], &["--config", issuer.configuration().to_str().unwrap()]);
    let mut stage = Stage::with_agent("logins", agent);
    let api = stage.agent.api();
    api.create_kafka_connection(CONNECTION_NAME, kafka().bootstrap()).unwrap();
    let granted: [(SecurableType, &str, &[&str]); 3] = [
        (SecurableType::Catalog, "main", &["USE CATALOG"]),
        (SecurableType::Schema, "main.payments", &["USE SCHEMA", "CREATE TABLE"]),
        (SecurableType::Connection, CONNECTION_NAME, &["USE CONNECTION"]),
    ];
    for (securable, name, privileges) in granted {
        api.set_grants(securable, name, &[("payments-team", privileges)]).unwrap();
    }
    let stream = with(&stage.stream(), "/connection_config/uc_connection_name", CONNECTION_NAME);
    let authority = stage.agent.certificates().authority();
    stage.workspace.write(&json!({
        "terraform": {"required_providers": {"featurestore": {"source": "featurestore/featurestore"}}},
        "provider": {"featurestore": {"ca_file": authority.to_str().unwrap()}},
        "resource": {"featurestore_stream": {"subject": stream}},
    }));
    let login = |groups: Option<&[&str]>| issuer.token("carol", groups, 3600);
    for (groups, may) in [(None, false), (Some(&["guests"] as &[&str]), false), (Some(TEAM), true)] {
        stage.workspace.set_environment("FEATURESTORE_TOKEN", &login(groups));
        let run = stage.workspace.apply_now();
        assert_eq!(run.code == Some(0), may, "{groups:?}: {}", run.output);
        assert!(may || run.output.contains("Permission Denied"), "{}", run.output);
    }
    stage.await_active();
    let mut records = stage.produce_orders(0, 8);
    assert_rows(&stage.table(), &records, order_value);

    // Any call tells the agent what the issuer now says of her.
    let call = |groups| {
        let api = Api::secured(stage.agent.endpoint(), &stage.agent.certificates(), &login(groups));
        api.agent().unwrap();
    };
    call(Some(&[]));
    wait_until("the stream says what is missing", STREAM_SETTLES, || {
        let status = format!("{:?}", stage.record().status);
        let told = status.contains("PrivilegeMissing") && status.contains("USE CATALOG");
        if told { Ok(()) } else { Err(status) }
    });
    records.extend(stage.produce_orders(8, 8));
    call(Some(TEAM));
    stage.await_active();
    assert_rows(&stage.table(), &records, order_value);
}
