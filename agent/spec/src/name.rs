//! Names: parsed once at the edge, trusted afterwards.

use serde::{Deserialize, Serialize};

/// Longest part of a name, in bytes: a part is a folder name, and file systems stop at 255.
pub const NAME_PART_BYTES_MAX: usize = 255;

/// Longest name of a secret scope and of a key in it, in bytes: the limit of the public API.
pub const SECRET_NAME_BYTES_MAX: usize = 128;

/// The catalog that belongs to the agent (product part T6).
pub const SYSTEM_CATALOG: &str = "system";

/// Why a text is not a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {remedy}")]
pub struct NameError {
    /// What is wrong.
    pub problem: String,
    /// What to write instead.
    pub remedy: String,
}

macro_rules! three_part_name {
    ($(#[$doc:meta])* $name:ident, $example:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name {
            text: String,
            first_dot: usize,
            second_dot: usize,
        }

        impl $name {
            /// Parses three dot-separated parts, each `[a-z0-9][a-z0-9_]*`, catalog not `system`.
            pub fn parse(text: &str) -> Result<Self, NameError> {
                let (first_dot, second_dot) = check_three_parts(text, $example)?;
                Ok(Self { text: text.to_owned(), first_dot, second_dot })
            }
            /// The whole name.
            pub fn as_str(&self) -> &str {
                &self.text
            }
            /// First part.
            pub fn catalog(&self) -> &str {
                self.text.get(..self.first_dot).unwrap_or_default()
            }
            /// Second part.
            pub fn schema(&self) -> &str {
                self.text.get(self.first_dot + 1..self.second_dot).unwrap_or_default()
            }
            /// Third part.
            pub fn object(&self) -> &str {
                self.text.get(self.second_dot + 1..).unwrap_or_default()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.text
            }
        }
    };
}

three_part_name!(
    /// `catalog.schema.stream`.
    StreamName,
    "main.payments.card_transactions"
);
three_part_name!(
    /// `catalog.schema.table`; the table is the folder `<warehouse>/<catalog>/<schema>/<table>`.
    TableName,
    "main.payments.card_transactions_raw"
);

three_part_name!(
    /// `catalog.schema.volume`; its files are at `/Volumes/<catalog>/<schema>/<volume>/…`.
    VolumeName,
    "main.payments.certificates"
);

impl TableName {
    /// A table of the agent's own: in the catalog that nobody else's name is taken in.
    pub fn system(schema: &'static str, table: &'static str) -> Self {
        Self {
            text: format!("{SYSTEM_CATALOG}.{schema}.{table}"),
            first_dot: SYSTEM_CATALOG.len(),
            second_dot: SYSTEM_CATALOG.len() + 1 + schema.len(),
        }
    }
}

macro_rules! one_part_name {
    ($(#[$doc:meta])* $name:ident, $also:expr, $bytes_max:expr, $remedy:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Parses the name.
            pub fn parse(text: &str) -> Result<Self, NameError> {
                check_one_part(text, $also, $bytes_max, $remedy)?;
                Ok(Self(text.to_owned()))
            }

            /// The name.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }
    };
}

one_part_name!(
    /// A connection's name: letters, digits, `_`, `-`.
    ConnectionName,
    "_-",
    NAME_PART_BYTES_MAX,
    "use letters, digits, `_` and `-`, as in `payments-kafka`"
);
one_part_name!(
    /// A service credential's name: letters, digits, `_`, `-`.
    CredentialName,
    "_-",
    NAME_PART_BYTES_MAX,
    "use letters, digits, `_` and `-`, as in `msk-reader`"
);
one_part_name!(
    /// A secret scope's name: letters, digits, `_`, `-`, `.`, `@`.
    ScopeName,
    "_-.@",
    SECRET_NAME_BYTES_MAX,
    "use letters, digits, `_`, `-`, `.` and `@`, as in `payments`"
);
one_part_name!(
    /// The key of a secret in its scope: letters, digits, `_`, `-`, `.`, `@`.
    SecretKey,
    "_-.@",
    SECRET_NAME_BYTES_MAX,
    "use letters, digits, `_`, `-`, `.` and `@`, as in `kafka-password`"
);

fn check_one_part(text: &str, also: &str, bytes_max: usize, remedy: &str) -> Result<(), NameError> {
    let problem = if text.is_empty() {
        "the name is empty".to_owned()
    } else if text.len() > bytes_max {
        format!("the name is {} bytes long, more than {bytes_max}", text.len())
    } else if let Some(bad) = text.chars().find(|c| !c.is_ascii_alphanumeric() && !also.contains(*c)) {
        format!("the name holds {bad:?}")
    } else {
        return Ok(());
    };
    Err(NameError {
        problem,
        remedy: remedy.to_owned(),
    })
}

/// Byte positions of the two dots of a legal three-part name.
fn check_three_parts(text: &str, example: &str) -> Result<(usize, usize), NameError> {
    let refused = |problem: String| NameError {
        problem,
        remedy: format!("write three parts of lower-case letters, digits and `_`, each starting with a letter or digit, as in `{example}`"),
    };
    let parts: Vec<&str> = text.split('.').collect();
    let [catalog, schema, object] = parts.as_slice() else {
        return Err(refused(format!(
            "the name has {} part{}, not three",
            parts.len(),
            if parts.len() == 1 { "" } else { "s" }
        )));
    };
    check_parts(&[("catalog", catalog), ("schema", schema), ("last part", object)]).map_err(refused)?;
    refuse_system(catalog)?;
    Ok((catalog.len(), catalog.len() + 1 + schema.len()))
}

/// Checks the name of a catalog: one part, not the agent's own.
pub fn check_catalog(text: &str) -> Result<(), NameError> {
    check_folder(text, &["catalog"], "main")
}

/// Checks the name of a schema, `catalog.schema`.
pub fn check_schema(text: &str) -> Result<(), NameError> {
    check_folder(text, &["catalog", "schema"], "main.payments")
}

fn check_folder(text: &str, labels: &[&str], example: &str) -> Result<(), NameError> {
    let parts: Vec<&str> = text.split('.').collect();
    let problem = if parts.len() == labels.len() {
        let labelled: Vec<(&str, &str)> = labels.iter().copied().zip(parts.iter().copied()).collect();
        check_parts(&labelled).err()
    } else {
        Some(format!("the name has {} parts, not {}", parts.len(), labels.len()))
    };
    if let Some(problem) = problem {
        return Err(NameError {
            problem,
            remedy: format!("write lower-case letters, digits and `_`, as in `{example}`"),
        });
    }
    refuse_system(parts.first().copied().unwrap_or_default())
}

/// Checks labelled parts of a name; says what is wrong with the first one that is none.
fn check_parts(parts: &[(&str, &str)]) -> Result<(), String> {
    for (label, part) in parts {
        if part.is_empty() {
            return Err(format!("the {label} is empty"));
        }
        if part.len() > NAME_PART_BYTES_MAX {
            return Err(format!("the {label} is {} bytes long, more than {NAME_PART_BYTES_MAX}", part.len()));
        }
        if let Some(bad) = part.chars().find(|c| !matches!(c, 'a'..='z' | '0'..='9' | '_')) {
            let kind = if bad.is_ascii_uppercase() {
                "the upper-case letter"
            } else {
                "the character"
            };
            return Err(format!("the {label} holds {kind} {bad:?}"));
        }
        if part.starts_with('_') {
            return Err(format!("the {label} starts with `_`"));
        }
    }
    Ok(())
}

fn refuse_system(catalog: &str) -> Result<(), NameError> {
    if catalog == SYSTEM_CATALOG {
        return Err(NameError {
            problem: format!("the catalog `{SYSTEM_CATALOG}` belongs to the agent"),
            remedy: "choose another catalog".into(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_the_agents_own_has_a_name_that_nobody_else_can_write() {
        let name = TableName::system("audit", "events");
        assert_eq!((name.catalog(), name.schema(), name.object()), ("system", "audit", "events"));
        assert_eq!(name.as_str(), "system.audit.events");
        assert!(
            TableName::parse(name.as_str())
                .unwrap_err()
                .to_string()
                .contains("belongs to the agent")
        );
    }

    #[test]
    fn a_refused_name_says_what_is_wrong_with_it() {
        let long = format!("main.shop.{}", "a".repeat(NAME_PART_BYTES_MAX + 1));
        for (text, expected) in [
            ("", "the name has 1 part, not three"),
            ("main.orders", "the name has 2 parts, not three"),
            ("main.shop.orders.raw", "the name has 4 parts, not three"),
            ("main..orders", "the schema is empty"),
            ("main.shop.Orders", "the last part holds the upper-case letter 'O'"),
            ("main.shop.../etc", "the name has 5 parts, not three"),
            ("main.shop.a/b", "the last part holds the character '/'"),
            ("main.shop.a b", "the last part holds the character ' '"),
            ("main.shop.ordérs", "the last part holds the character 'é'"),
            ("main._delta_log.orders", "the schema starts with `_`"),
            ("_trash.shop.orders", "the catalog starts with `_`"),
            ("system.shop.orders", "the catalog `system` belongs to the agent"),
            (&long, "the last part is 256 bytes long, more than 255"),
        ] {
            assert_eq!(TableName::parse(text).expect_err(text).problem, expected, "{text}");
            assert_eq!(StreamName::parse(text).expect_err(text).problem, expected, "{text}");
        }
    }

    #[test]
    fn a_connection_name_is_letters_digits_underscore_and_hyphen() {
        for (text, expected) in [
            ("Payments_kafka-2", None),
            ("", Some("the name is empty")),
            ("a.b", Some("the name holds '.'")),
            ("a/b", Some("the name holds '/'")),
        ] {
            assert_eq!(
                ConnectionName::parse(text).err().map(|error| error.problem).as_deref(),
                expected,
                "{text}"
            );
        }
    }
}
