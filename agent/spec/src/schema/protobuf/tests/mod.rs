//! Tables of Protobuf texts: the type each gives, how its bytes lie, or the problem it has and where.

mod editions;
mod normal;
mod refused;
mod types;

use crate::schema::{ParsedSchema, SchemaProblem, Wire, protobuf};

/// The first message of a proto3 text, read as Spark reads it.
fn as_spark(body: &str) -> Result<ParsedSchema, Vec<SchemaProblem>> {
    protobuf::parse_as_spark(&format!("syntax = \"proto3\";\n{body}"), "M")
}

/// The tree of a legal schema.
fn tree(parsed: &ParsedSchema) -> &protobuf::tree::ProtoMessage {
    match &parsed.wire {
        Wire::Protobuf(message) => message,
        other => panic!("{other:?}"),
    }
}

/// Checks that message `M` of a text gets columns of type `expected` with Spark's rules.
fn check_type(text: &str, expected: &str) {
    let parsed = protobuf::parse_as_spark(text, "M").unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
    assert_eq!(parsed.data_type.to_string(), format!("STRUCT<{expected}>"), "{text}");
}

/// Checks that there is exactly one problem, at `location`, whose message holds `expected`.
fn check_refused(parsed: Result<ParsedSchema, Vec<SchemaProblem>>, location: &str, expected: &str, text: &str) {
    let problems = parsed.err().unwrap_or_else(|| panic!("accepted: {text}"));
    let [problem] = problems.as_slice() else {
        panic!("{text}: {problems:?}")
    };
    assert_eq!(problem.location, location, "{text}: {problem}");
    assert!(problem.to_string().contains(expected), "{text}: {problem}, expected {expected}");
}
