//! The documentation's page on privileges, made from the table of rules. `UPDATE_EXPECT=1` writes it.

use std::fmt::Write;
use std::path::Path;

use super::calls::Call;
use super::privilege::{Privilege, SecurableType};
use super::rules::{Need, On, Rule, rule};
use super::{Action, SecurableKind};

const PAGE: &str = "../../docs/guides/privileges.md";

const INTRODUCTION: &str = "\
---
page_title: \"Privileges\"
subcategory: \"\"
description: |-
  What can be granted on what, and which call needs what.
---

# Privileges

Users, service principals and groups are granted privileges on catalogs, schemas, tables, connections, service credentials, secret
scopes and volumes: in Terraform by `featurestore_grants`, which owns the whole set of grants of one securable.

- What is granted on a catalog or a schema holds for everything in it.
- What is granted to a group holds for its members. Members of the group `admins` may do everything.
- Whoever created a stream, connection, service credential, secret scope or volume owns it, and holds everything on it. A stream's owner
  owns its ingestion table.
- Privileges on a stream are those on its ingestion table.
- Catalogs, schemas and tables need no creation by the agent: privileges on them can be granted at any time, by who has MANAGE on them or
  above. On anything else they are granted once it exists, and go with it: another one of the same name begins without any. With a stream go
  the grants on its table. In Terraform a plan that replaces a stream, connection or scope grants on the new one again what
  `featurestore_grants` declare, if they refer to it (`securable_name = featurestore_connection.kafka.name`); for a name that is written by
  hand the next plan does.
- The catalog `system` belongs to the agent: nothing in it can be granted.
- Who may not see a name is told \"permission denied\" whether it exists or not. That something does not exist is told to who would
  see it: for a stream or volume to who may read or manage what is in the schema of its name, and, of a stream that was deleted, to who could
  read it; for anything else to members of `admins`.
- Connections are used with the secrets that they refer to: who may use one needs no READ on their scopes. READ is needed to
  create or change a connection that refers to a secret, and for the secrets that a stream names itself.

A stream runs as whoever created it. Each time that its pipeline opens a client, and whenever grants are set, that identity must hold what
it takes to create the stream; if it lacks something, the stream stops with the reason `PrivilegeMissing` in its condition, and goes
on at its exact position when it is granted again.

Each call, allowed or denied, leaves an audit event with its principal, action, securable, request id and outcome.
";

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    page.push_str("\n## What can be granted\n\n| on a | privileges |\n|---|---|\n");
    for securable_type in SecurableType::ALL {
        let privileges: Vec<&str> = securable_type.privileges().iter().map(|privilege| privilege.name()).collect();
        writeln!(page, "| {} | {} |", securable_type.noun(), privileges.join(", ")).unwrap();
    }
    page.push_str("\n## Which call needs what\n\nMembers of `admins` may make every call. An owner needs no privilege on what it owns.\n");
    let mut service = "";
    for call in Call::ALL {
        if call.service() != service {
            service = call.service();
            write!(page, "\n### {service}\n\n| call | needs |\n|---|---|\n").unwrap();
        }
        let needs: Vec<String> = call.asks().iter().map(|(action, kind)| needs(*call, *action, *kind)).collect();
        writeln!(page, "| `{}` | {} |", call.name(), needs.join("; ")).unwrap();
    }
    page
}

fn needs(call: Call, action: Action, kind: SecurableKind) -> String {
    let needed = match rule(action, kind) {
        Rule::Anyone => "nothing".to_owned(),
        Rule::Filtered => "nothing: it shows what the caller may read".to_owned(),
        Rule::Admins => "membership in `admins`".to_owned(),
        Rule::Themselves => "nothing for one's own; membership in `admins` for others'".to_owned(),
        Rule::AsCreateOrUpdate => format!(
            "what it takes to change the {0}, where the caller may read one of that name; else what it takes to create it",
            kind.noun()
        ),
        Rule::Needs(needs) => needs.iter().map(|need| place(*need, kind)).collect::<Vec<_>>().join(", "),
        Rule::Never => unreachable!("the build fails for a call without a rule"),
    };
    match call.asks() {
        [_] => needed,
        asks if action == Action::Create && asks.contains(&(Action::Check, kind)) => {
            format!("to check one in the place of another {}: what it takes to create it", kind.noun())
        }
        _ if call == Call::TestConnection && kind == SecurableKind::NewStream => {
            "to test the one of a stream: what it takes to create that stream".to_owned()
        }
        _ if kind == SecurableKind::Unreadable => format!("to check one that cannot be read: {needed}"),
        _ if kind == SecurableKind::DeclaredConnection => format!("to {} one as it is declared: {needed}", action.verb()),
        _ => format!("to {} {}: {needed}", action.verb(), kind.noun()),
    }
}

fn place(need: Need, kind: SecurableKind) -> String {
    let any: Vec<&str> = need.any.iter().copied().map(Privilege::name).collect();
    let any = any.join(" or ");
    let on = match need.on {
        On::Itself if kind == SecurableKind::Stream => "the ingestion table",
        On::Itself if kind == SecurableKind::Grants => "what they are on",
        On::Itself => return format!("{any} on the {}", kind.noun()),
        On::Catalog => "the catalogs of the destination and of the stream's name",
        On::Schema => "the schemas of the destination and of the stream's name",
        On::Connections => "the connections that it names",
        On::Credentials if kind == SecurableKind::NewStream => "their service credentials",
        On::Credentials => "the service credential that it names",
        On::Scopes => "the secret scopes that it names",
        On::Volumes => "the volumes that it names",
        On::BackfillSource => "the backfill source",
    };
    format!("{any} on {on}")
}

#[test]
fn the_guide_is_what_the_rules_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, page()).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, page(), "run with UPDATE_EXPECT=1");
}
