//! Places of their own kind that secrets go through, or could get to: the tokens of an issuer, a volume's files, health checks, the
//! table of audit events, and a master key that is in the environment. Invariant: each is proved to be looked into, by what is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use e2e::agent::Agent;
use e2e::api::{Api, stream_message};
use e2e::config;
use e2e::limits::{SHORT_COMMAND, STREAM_SETTLES};
use e2e::paths::test_parts;
use e2e::spawn::output;
use e2e::tables::{READERS, rows};
use e2e::wait::wait_until;
use featurestore_proto::v1::{ConnectionConfig, DirectMtlsConfig, MtlsConfig, SecretRef, connection_config};

use crate::canary_scene::Scene;
use crate::canary_search::{Canary, Search};

/// Asks for what strangers may ask, and for what is not there, as somebody who shows a token all the same.
const HEALTH: &str = "
import os, ssl, sys, urllib.error, urllib.request
context = ssl.create_default_context(cafile=sys.argv[2])
for path in ('/healthz', '/readyz', '/metrics', '/debug'):
    token = {'Authorization': 'Bearer ' + os.environ['FEATURESTORE_TOKEN']}
    try:
        answer = urllib.request.urlopen(urllib.request.Request(sys.argv[1] + path, headers=token), context=context)
    except urllib.error.HTTPError as error:
        answer = error
    print(path, answer.status, answer.headers, answer.read())
";

/// A caller whom the issuer names, once with a token that is good and once with one that has expired.
pub(crate) fn tokens_of_an_issuer(scene: &mut Scene) {
    for (name, seconds, said) in [
        ("token of carol", 3600, "Permission Denied"),
        ("expired token of carol", -3600, "Not Authenticated"),
    ] {
        let token = scene.issuer.token("carol", None, seconds);
        // Anybody may know the claims: it is the signature that makes it a token.
        let signature = token.rsplit_once('.').unwrap().1;
        scene.know(Canary::of(name, signature.as_bytes()));
        let api = Api::secured(scene.agent.endpoint(), &scene.agent.certificates(), &token);
        let answer = api.agent();
        scene.note(&format!("{answer:?} {:?}", api.put_secret("canaries", "kept", "mine").map(drop)));
        assert_eq!(answer.is_ok(), seconds > 0, "{name}");
        assert_eq!(scene.command(&token, &["token", "list"], ""), seconds > 0, "{name}");
        scene.workspace.set_environment("FEATURESTORE_TOKEN", &token);
        let run = scene.workspace.apply_now();
        run.assert_error(&[said]);
        scene.note(&run.output);
    }
    let ada = scene.ada.clone();
    scene.workspace.set_environment("FEATURESTORE_TOKEN", &ada);
}

/// A volume with a key store, and a stream that uses it.
pub(crate) fn volumes(scene: &mut Scene) {
    let folder = tempfile::tempdir().unwrap();
    let (content, password) = (scene.canary("content of a volume"), scene.canary("password of a key store"));
    fs::write(folder.path().join("client.jks"), content).unwrap();
    let api = scene.agent.api();
    let volume = api.create_volume("main.payments.keys", folder.path().to_str().unwrap());
    scene.note(&format!("{volume:?}"));
    volume.unwrap();
    let private = scene.agent.data_folder();
    let refused = api.create_volume("main.payments.stolen", private.to_str().unwrap());
    scene.note(&format!("{:?}", refused.unwrap_err()));
    api.put_secret("canaries", "key-store", &password).unwrap();
    let reference = || {
        Some(SecretRef {
            scope: "canaries".to_owned(),
            key: "key-store".to_owned(),
        })
    };
    let store = "/Volumes/main/payments/keys/client.jks".to_owned();
    let mut stream = stream_message(&scene.topic, &config::order_schema().to_string());
    stream.name = "main.payments.mutual".to_owned();
    let ingestion = stream.ingestion_config.as_mut().unwrap();
    ingestion.ingestion_destination.as_mut().unwrap().delta_table_name = "main.payments.mutual_raw".to_owned();
    stream.connection_config = Some(ConnectionConfig {
        connection: Some(connection_config::Connection::DirectMtlsConfig(DirectMtlsConfig {
            bootstrap_servers: "127.0.0.1:1".to_owned(),
            mtls_config: Some(MtlsConfig {
                keystore_location: store.clone(),
                truststore_location: store,
                keystore_password_ref: reference(),
                key_password_ref: reference(),
                truststore_password_ref: reference(),
                ..MtlsConfig::default()
            }),
        })),
    });
    let made = api.create_stream(stream, "");
    scene.note(&format!("{made:?}"));
    if made.is_ok() {
        scene.note(&format!("{:?}", api.stream("main.payments.mutual")));
        api.delete_stream("main.payments.mutual").unwrap();
    }
}

/// What is answered to whoever asks how the agent is.
pub(crate) fn health_checks(scene: &Scene) {
    let mut command = Command::new(&test_parts().python);
    command
        .args(["-c", HEALTH, scene.agent.endpoint()])
        .arg(scene.agent.certificates().authority())
        .env("FEATURESTORE_TOKEN", scene.admin());
    let done = output(command, "health checks", SHORT_COMMAND);
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(said.contains("/healthz 200") && said.contains("/readyz 200"), "{said}");
    scene.note(&said);
    scene.note(&String::from_utf8_lossy(&done.stderr));
}

/// What a reader sees in the table of audit events, whose files are compressed.
fn audited(agent: &Agent) -> Result<Vec<u8>, String> {
    let table = agent.table("system.audit.events");
    rows(READERS[0], &table, &[]).map(|rows| serde_json::to_vec(&rows).unwrap())
}

/// The secrets that are in the table of audit events.
pub(crate) fn in_the_audit(agent: &Agent, search: &Search) -> BTreeSet<String> {
    // It moves between two looks while the agent runs.
    let seen = wait_until("the table of audit events can be read", STREAM_SETTLES, || audited(agent));
    search.in_bytes(&seen)
}

/// Fails unless what is written into the table of audit events is found there: a name is, in plain.
pub(crate) fn prove_that_the_audit_is_searched(scene: &Scene) {
    let planted = Canary::new("planted");
    let name: String = planted.text.chars().filter(char::is_ascii_alphanumeric).collect();
    scene.agent.api().connection(&name).unwrap_err();
    let search = Search::new(&[planted]);
    wait_until("what was planted is found in the audit", STREAM_SETTLES, || {
        match audited(&scene.agent).map(|seen| search.in_bytes(&seen)) {
            Ok(found) if found == BTreeSet::from(["planted, plain".to_owned()]) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
}

/// The further lives of an agent have its master key in their environment, and no file of it is left.
pub(crate) fn master_key_in_the_environment(scene: &mut Scene) {
    scene.agent.put_master_key_into_environment();
    scene.agent.start_again();
    let environment = fs::read(format!("/proc/{}/environ", scene.agent.pid())).unwrap();
    let search = Search::new(&scene.canaries_of("second master key"));
    assert!(!search.in_bytes(&environment).is_empty(), "the key is not where it should be");
    assert_eq!(
        children(scene.agent.pid()),
        Vec::<String>::new(),
        "whom the environment would go to"
    );
}

fn children(pid: u32) -> Vec<String> {
    let tasks = PathBuf::from(format!("/proc/{pid}/task"));
    let of = |task: &Path| fs::read_to_string(task.join("children")).unwrap_or_default();
    let tasks = fs::read_dir(tasks).unwrap().map(|task| of(&task.unwrap().path()));
    tasks
        .flat_map(|pids| pids.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}
