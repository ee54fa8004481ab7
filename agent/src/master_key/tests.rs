//! Where master keys are found, and that two places for one are refused.

use std::path::PathBuf;
use std::sync::Arc;

use agent_control::governance::secrets::{SecretValue, Vault};
use agent_control::store::sqlite::SqliteStore;

use super::*;
use crate::cli::ServeArguments;

const KMS: &str = "1234abcd-12ab-34cd-56ef-1234567890ab";

fn decide(file: Option<&str>, kms: Option<&str>, variables: &[(&str, &str)]) -> anyhow::Result<MasterKeySource> {
    MasterKeySource::decide(file.map(PathBuf::from), kms.map(str::to_owned), |name| {
        variables.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned())
    })
}

#[tokio::test]
async fn after_an_interrupted_rotation_an_agent_is_given_both_keys() {
    use agent_control::governance::secrets::ScopeId;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let sqlite = Arc::new(SqliteStore::open(&at("agent.db")).await.unwrap());
    let store: Arc<dyn Store> = sqlite.clone();
    let (first, second): (Arc<dyn KeyWrapper>, Arc<dyn KeyWrapper>) = (
        Arc::new(key_file::create(&at("first")).unwrap()),
        Arc::new(key_file::create(&at("second")).unwrap()),
    );
    let scope = |name: &str| ScopeId::Connection(name.to_owned());
    let key = stream_spec::name::SecretKey::parse("k").unwrap();
    for (name, master) in [("done", &second), ("not-yet", &first)] {
        let vault = Vault::new(store.clone(), MasterKeys::new(master.clone(), Vec::new(), ""));
        vault
            .put(&scope(name), &key, &SecretValue::from(name.to_owned()), "ada")
            .await
            .unwrap();
    }
    let config = |former: Option<&str>| {
        let mut arguments = ServeArguments {
            data_dir: Some(folder.path().to_owned()),
            ..ServeArguments::default()
        };
        arguments.master_key.master_key_file = Some(at("second"));
        arguments.master_key.former_master_key_file = former.map(at);
        Config::load(&arguments).unwrap()
    };
    let vault = |keys| Vault::new(store.clone(), keys);
    let without = vault(at_start(&config(None), &store).await.unwrap());
    let error = without.read(&scope("not-yet"), &key).await.unwrap_err().to_string();
    assert!(error.contains("--former-master-key-file") && error.contains(first.id()), "{error}");
    let with = vault(at_start(&config(Some("first")), &store).await.unwrap());
    for name in ["done", "not-yet"] {
        assert_eq!(with.read(&scope(name), &key).await.unwrap().expose(), name.as_bytes());
    }
    assert_eq!(with.sealed_elsewhere(1).await.unwrap(), []);
    let error = at_start(&config(Some("absent")), &store).await.err().unwrap().to_string();
    assert!(error.contains("absent") && error.contains("--former-master-key-file"), "{error}");
}

#[test]
fn the_key_is_in_the_environment_or_in_one_file() {
    let home = ("HOME", "/home/u");
    let cases = [
        (None, None, vec![home], "DefaultFile(\"/home/u/.config/featurestore/master.key\")"),
        (
            None,
            None,
            vec![home, ("XDG_CONFIG_HOME", "/c")],
            "DefaultFile(\"/c/featurestore/master.key\")",
        ),
        (None, None, vec![("XDG_CONFIG_HOME", "relative")], "Nowhere"),
        (Some("/k"), None, vec![home], "File(\"/k\")"),
        (None, None, vec![(VARIABLE, "hunter2")], "Environment([redacted])"),
        (Some("/k"), None, vec![(VARIABLE, "")], "File(\"/k\")"),
        (None, Some("k"), vec![home], "Kms(\"k\")"),
    ];
    for (file, kms, variables, expected) in cases {
        assert_eq!(format!("{:?}", decide(file, kms, &variables).unwrap()), expected);
    }
    let cases = [
        (Some("/k"), None, "hunter2", vec![VARIABLE, "/k"]),
        (None, Some(KMS), "hunter2", vec![VARIABLE, KMS]),
        (Some("/k"), Some(KMS), "", vec!["/k", KMS]),
    ];
    for (file, kms, variable, named) in cases {
        let error = decide(file, kms, &[(VARIABLE, variable)]).unwrap_err().to_string();
        assert!(
            named.iter().all(|name| error.contains(name)) && !error.contains("hunter2"),
            "{error}"
        );
    }
    let error = read(&decide(None, None, &[(VARIABLE, "hunter2")]).unwrap())
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("openssl rand") && !error.contains("hunter2"), "{error}");
    let error = format!("{:#}", read(&decide(None, Some("alias/k"), &[]).unwrap()).err().unwrap());
    assert!(error.contains("master_key_kms") && error.contains("`alias/k`"), "{error}");
}

#[test]
fn another_key_is_in_one_place_too() {
    let decide = |file: Option<&str>, kms: Option<&str>, variable: &str| {
        FormerKeySource::decide(file.map(PathBuf::from), kms.map(str::to_owned), |name| {
            (name == "FEATURESTORE_AGENT_FORMER_MASTER_KEY").then(|| variable.to_owned())
        })
    };
    assert!(decide(None, None, "").unwrap().read().unwrap().is_none());
    let in_kms = decide(None, Some(KMS), "").unwrap().read().unwrap().unwrap();
    assert_eq!(in_kms.id(), format!("aws-kms/{KMS}"));
    for (file, kms, variable) in [
        (Some("/k"), Some(KMS), ""),
        (Some("/k"), None, "hunter2"),
        (None, Some(KMS), "hunter2"),
    ] {
        let error = decide(file, kms, variable).unwrap_err().to_string();
        assert!(
            error.contains("more than one former master key") && !error.contains("hunter2"),
            "{error}"
        );
    }
    let error = decide(None, Some("alias/k"), "").unwrap().read().err().unwrap();
    assert!(format!("{error:#}").contains("former_master_key_kms"), "{error:#}");
}
