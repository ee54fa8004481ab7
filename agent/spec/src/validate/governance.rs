//! Service credentials, secrets, volumes and grants, as far as their texts go (product parts C3 to C5, A3). The plan and the agent
//! ask the same functions. Invariant: no message repeats a secret's value.

use std::collections::{BTreeMap, BTreeSet};

use crate::limits::{EXTERNAL_ID_CHARS_MAX, GRANTS_PER_SECURABLE_MAX, PRINCIPAL_BYTES_MAX, SECRET_VALUE_BYTES_MAX};
use crate::name::{ConnectionName, CredentialName, NameError, ScopeName, TableName, VolumeName, check_catalog, check_schema};
use crate::privilege::{Privilege, SecurableType};
use crate::suggest::nearest;
use crate::violation::Violation;

const ROLE_ARN: &str = "aws_iam_role.role_arn";
const EXTERNAL_ID: &str = "aws_iam_role.external_id";

/// What is wrong with a role to assume.
pub fn aws_iam_role(role_arn: &str, external_id: Option<&str>) -> Vec<Violation> {
    let mut violations = Vec::new();
    if !is_role_arn(role_arn) {
        let remedy = "write `arn:aws:iam::<12 digits>:role/<name>`";
        violations.push(Violation::new(ROLE_ARN, role_arn, "the text is not the ARN of a role", remedy));
    }
    if let Some(id) = external_id {
        let is_legal = |it: char| it.is_ascii_alphanumeric() || "_+=,.@:/-".contains(it);
        if !(2..=EXTERNAL_ID_CHARS_MAX).contains(&id.len()) || !id.chars().all(is_legal) {
            let remedy = format!("write 2 to {EXTERNAL_ID_CHARS_MAX} letters, digits and `_+=,.@:/-`, or leave it out");
            violations.push(Violation::new(EXTERNAL_ID, id, "the text is not an external id", remedy));
        }
    }
    violations
}

fn is_role_arn(text: &str) -> bool {
    let parts: Vec<&str> = text.splitn(6, ':').collect();
    let ["arn", partition, "iam", "", account, resource] = parts.as_slice() else {
        return false;
    };
    let is_legal = |it: char| it.is_ascii_alphanumeric() || "_+=,.@/-".contains(it);
    let role = resource.strip_prefix("role/").unwrap_or_default();
    (*partition == "aws" || partition.starts_with("aws-"))
        && account.len() == 12
        && account.bytes().all(|it| it.is_ascii_digit())
        && !role.is_empty()
        && !role.ends_with('/')
        && role.chars().all(is_legal)
}

/// What is wrong with a secret's value of that many bytes; `field` holds it.
pub fn secret_value_bytes(field: &str, bytes: usize) -> Option<Violation> {
    let problem = match bytes {
        0 => "the value is empty".to_owned(),
        1..=SECRET_VALUE_BYTES_MAX => return None,
        _ => format!("the value is {bytes} bytes long"),
    };
    Some(Violation {
        field: field.to_owned(),
        value: "[redacted]".to_owned(),
        problem,
        remedy: format!("use 1 to {SECRET_VALUE_BYTES_MAX} bytes"),
    })
}

/// What is wrong with a volume's folder or bucket prefix.
pub fn storage_location(text: &str) -> Option<Violation> {
    let refused = |problem: &str| {
        let remedy = "write an absolute folder, as in `/srv/certificates`, or `s3://<bucket>/<prefix>`";
        Some(Violation::new("storage_location", text, problem, remedy))
    };
    if text.chars().any(char::is_control) {
        return refused("the location holds a control character");
    }
    let path = match text.split_once("://") {
        Some(("file", path)) => path,
        Some(("s3", rest)) => {
            let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
            let is_legal = |it: char| matches!(it, 'a'..='z' | '0'..='9' | '.' | '-');
            if !(3..=63).contains(&bucket.len()) || !bucket.chars().all(is_legal) {
                return refused("the bucket's name is none");
            }
            return match prefix.split('/').any(|part| part == ".." || part == ".") {
                true => refused("the location leads out of itself"),
                false => None,
            };
        }
        Some(_) => return refused("the location has a scheme that is not known"),
        None => text,
    };
    if !path.starts_with('/') {
        return refused("the location is not absolute");
    }
    if path.split('/').any(|part| part == ".." || part == ".") {
        return refused("the location leads out of itself");
    }
    None
}

/// The grants on one securable in their model, or what is wrong with them. Order and repeats mean nothing.
pub fn grants<'a>(
    securable_type: SecurableType,
    securable_name: &str,
    grants: impl IntoIterator<Item = (&'a str, Vec<&'a str>)>,
) -> Result<BTreeMap<String, BTreeSet<Privilege>>, Vec<Violation>> {
    let mut violations = Vec::new();
    if let Err(error) = check_securable(securable_type, securable_name) {
        violations.push(Violation::new("securable_name", securable_name, error.problem, error.remedy));
    }
    let mut parsed: BTreeMap<String, BTreeSet<Privilege>> = BTreeMap::new();
    for (principal, privileges) in grants {
        if let Some(violation) = check_principal(principal) {
            violations.push(violation);
        }
        if privileges.is_empty() {
            let problem = format!("`{principal}` is granted nothing");
            violations.push(Violation::missing(
                "grants",
                problem,
                "name a privilege, or leave the principal out",
            ));
        }
        let held = parsed.entry(principal.to_owned()).or_default();
        for privilege in privileges {
            match parse_privilege(securable_type, privilege) {
                Ok(privilege) => {
                    held.insert(privilege);
                }
                Err(violation) => violations.push(violation),
            }
        }
    }
    if parsed.len() > GRANTS_PER_SECURABLE_MAX {
        let found = format!("{} principals", parsed.len());
        let remedy = format!("grant to groups; at most {GRANTS_PER_SECURABLE_MAX} principals hold something on one securable");
        violations.push(Violation::new("grants", &found, "there are too many principals", remedy));
    }
    if violations.is_empty() { Ok(parsed) } else { Err(violations) }
}

fn check_securable(securable_type: SecurableType, name: &str) -> Result<(), NameError> {
    match securable_type {
        SecurableType::Catalog => check_catalog(name),
        SecurableType::Schema => check_schema(name),
        SecurableType::Table => TableName::parse(name).map(|_| ()),
        SecurableType::Connection => ConnectionName::parse(name).map(|_| ()),
        SecurableType::ServiceCredential => CredentialName::parse(name).map(|_| ()),
        SecurableType::SecretScope => ScopeName::parse(name).map(|_| ()),
        SecurableType::Volume => VolumeName::parse(name).map(|_| ()),
    }
}

fn check_principal(name: &str) -> Option<Violation> {
    let problem = if name.trim().is_empty() || name.trim() != name {
        "the principal's name is empty or has white space around it"
    } else if name.len() > PRINCIPAL_BYTES_MAX {
        "the principal's name is too long"
    } else if name.chars().any(char::is_control) {
        "the principal's name holds a control character"
    } else {
        return None;
    };
    let remedy = format!("name a user, service principal or group in 1 to {PRINCIPAL_BYTES_MAX} bytes");
    Some(Violation::new("grants", name, problem, remedy))
}

fn parse_privilege(securable_type: SecurableType, text: &str) -> Result<Privilege, Violation> {
    let grantable = securable_type.privileges();
    let names = || grantable.iter().map(|it| it.name());
    let known = Privilege::parse(text);
    if let Some(privilege) = known.filter(|it| grantable.contains(it)) {
        return Ok(privilege);
    }
    let problem = match known {
        Some(_) => format!("it cannot be granted on a {}", securable_type.name().replace('_', " ")),
        None => "there is no such privilege".to_owned(),
    };
    let remedy = match nearest(text, names()).filter(|_| known.is_none()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("use {}", names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
    };
    Err(Violation::new("grants", text, problem, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_named_by_its_arn() {
        for (arn, external_id, expected) in [
            ("arn:aws:iam::123456789012:role/reader", None, vec![]),
            ("arn:aws-cn:iam::123456789012:role/team/reader", Some("tenant-7"), vec![]),
            ("arn:aws:iam::123456789012:user/reader", None, vec![ROLE_ARN]),
            ("arn:aws:iam::12345:role/reader", None, vec![ROLE_ARN]),
            ("arn:aws:iam::123456789012:role/", None, vec![ROLE_ARN]),
            ("arn:gcp:iam::123456789012:role/reader", None, vec![ROLE_ARN]),
            ("reader", Some("x"), vec![ROLE_ARN, EXTERNAL_ID]),
            ("arn:aws:iam::123456789012:role/reader", Some("white space"), vec![EXTERNAL_ID]),
        ] {
            let fields: Vec<String> = aws_iam_role(arn, external_id).into_iter().map(|it| it.field).collect();
            assert_eq!(fields, expected, "{arn} {external_id:?}");
        }
    }

    #[test]
    fn a_volume_is_an_absolute_folder_or_a_prefix_of_a_bucket() {
        for (text, expected) in [
            ("/srv/keys", None),
            ("file:///srv/keys", None),
            ("s3://bucket/keys/a", None),
            ("s3://bucket", None),
            ("keys", Some("the location is not absolute")),
            ("", Some("the location is not absolute")),
            ("file://keys", Some("the location is not absolute")),
            ("/srv/../etc", Some("the location leads out of itself")),
            ("s3://bucket/../other", Some("the location leads out of itself")),
            ("s3://B/x", Some("the bucket's name is none")),
            ("ftp://host/x", Some("the location has a scheme that is not known")),
            ("/srv/\0", Some("the location holds a control character")),
        ] {
            assert_eq!(storage_location(text).map(|it| it.problem).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_secrets_size_is_refused_without_its_value() {
        for (bytes, expected) in [
            (0, Some("the value is empty")),
            (1, None),
            (SECRET_VALUE_BYTES_MAX, None),
            (SECRET_VALUE_BYTES_MAX + 1, Some("the value is 131073 bytes long")),
        ] {
            let found = secret_value_bytes("value", bytes);
            assert_eq!(found.as_ref().map(|it| it.problem.as_str()), expected);
            assert!(found.is_none_or(|it| it.value == "[redacted]"));
        }
    }

    #[test]
    fn grants_name_what_can_be_granted_there() {
        use SecurableType::{Catalog, Connection, Schema, SecretScope, Table};
        let long = "x".repeat(PRINCIPAL_BYTES_MAX + 1);
        for (securable_type, name, principal, privileges, expected) in [
            (Connection, "kafka", "team", vec!["USE CONNECTION", "MANAGE"], ""),
            (Catalog, "main", "a@b.c", vec!["USE CATALOG", "SELECT"], ""),
            (Schema, "main.payments", "team", vec!["CREATE TABLE"], ""),
            (
                Catalog,
                "main.payments",
                "team",
                vec!["SELECT"],
                "the name has 2 parts, not 1; write lower-case letters, digits and `_`, as in `main`",
            ),
            (
                Catalog,
                "system",
                "team",
                vec!["SELECT"],
                "the catalog `system` belongs to the agent; choose another catalog",
            ),
            (
                Table,
                "main.payments.cards",
                "team",
                vec!["SELCT"],
                "there is no such privilege; did you mean `SELECT`?",
            ),
            (
                SecretScope,
                "s",
                "team",
                vec!["SELECT"],
                "it cannot be granted on a secret scope; use `READ`, `WRITE`, `MANAGE`",
            ),
            (
                Connection,
                "kafka",
                "team",
                vec![],
                "`team` is granted nothing; name a privilege, or leave the principal out",
            ),
            (
                Connection,
                "kafka",
                " ",
                vec!["MANAGE"],
                "the principal's name is empty or has white space around it; name a user, service principal or group in 1 to 255 bytes",
            ),
            (
                Connection,
                "kafka",
                &long,
                vec!["MANAGE"],
                "the principal's name is too long; name a user, service principal or group in 1 to 255 bytes",
            ),
        ] {
            let found = grants(securable_type, name, [(principal, privileges.clone())])
                .err()
                .unwrap_or_default();
            let found: Vec<String> = found.into_iter().map(|it| format!("{}; {}", it.problem, it.remedy)).collect();
            assert_eq!(found.join("\n"), expected, "{name} {principal} {privileges:?}");
        }
        let parsed = grants(
            Connection,
            "kafka",
            [("a", vec!["MANAGE"]), ("a", vec!["USE CONNECTION", "MANAGE"])],
        )
        .unwrap();
        assert_eq!(
            parsed["a"],
            BTreeSet::from([Privilege::Manage, Privilege::UseConnection]),
            "repeats mean nothing"
        );
    }
}
