//! What each finding is, apart from its words: whoever decides by a finding decides by this.

use super::*;

fn kinds(update: &Update<'_>) -> Vec<(String, Vec<FindingKind>)> {
    let (Verdict::InPlace { changes: findings } | Verdict::Refused { reasons: findings }) = ask(update) else {
        return Vec::new();
    };
    findings.into_iter().map(|finding| (finding.path, finding.kinds)).collect()
}

#[test]
fn each_finding_says_what_it_is() {
    use FindingKind::*;
    let (required, optional) = (
        r#""n":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}"#,
        r#""n":{"type":"object","properties":{"x":{"type":"integer"}}}"#,
    );
    let optional_long = r#""n":{"type":"object","properties":{"x":{"type":"integer","format":"int64"}}}"#;
    let both = r#""a":{"type":"integer"},"b":{"type":"string"}"#;
    let update = |old, new| Update {
        old,
        new,
        ..Update::default()
    };
    let again = Update {
        earlier: &[both],
        ..update(INT_A, both)
    };
    let exclusions = |old, new, excluded, new_excluded| Update {
        excluded,
        new_excluded,
        ..update(old, new)
    };
    type Kinds<'a> = &'a [(&'a str, &'a [FindingKind])];
    let cases: [(Update<'_>, Kinds<'_>); 12] = [
        (update(LONG_A, INT_A), &[("value.a", &[Incompatible])]),
        (update(INT_A, both), &[("value.b", &[FieldAdded])]),
        (again, &[("value.b", &[FieldAdded])]),
        (update(both, INT_A), &[("value.b", &[FieldRemoved])]),
        (update(INT_A, LONG_A), &[("value.a", &[Widened])]),
        (update(required, optional), &[("value.n.x", &[RequirednessRelaxed])]),
        (update(required, optional_long), &[("value.n.x", &[RequirednessRelaxed, Widened])]),
        (exclusions(both, both, &[], &["value.a"]), &[("value.a", &[ExcludedFromNowOn])]),
        (
            exclusions(INT_A, both, &[], &["value.b"]),
            &[("value.b", &[FieldAdded, ExcludedFromTheStart])],
        ),
        (
            exclusions(optional, optional, &["value.n.x"], &["value.n"]),
            &[("value.n", &[ExcludedFromNowOn]), ("value.n.x", &[StaysExcluded])],
        ),
        (exclusions(both, both, &["value.a"], &[]), &[("value.a", &[IncludedFromNowOn])]),
        (
            exclusions(both, INT_A, &["value.b"], &[]),
            &[("value.b", &[FieldRemoved, IncludedFromNowOn])],
        ),
    ];
    for (update, expected) in cases {
        let found = kinds(&update);
        let found: Vec<(&str, &[FindingKind])> = found.iter().map(|(path, kinds)| (path.as_str(), kinds.as_slice())).collect();
        assert_eq!(found, expected, "{} → {}", update.old, update.new);
    }
}
