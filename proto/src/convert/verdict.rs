//! Verdicts, violations and columns.

use stream_spec::types::Field;
use stream_spec::verdict::{Finding, FindingKind, Verdict};
use stream_spec::violation::Violation;

use crate::v1;

/// A verdict as a message.
pub fn verdict_from_spec(verdict: &Verdict) -> v1::Verdict {
    let findings = |findings: &[Finding]| {
        findings
            .iter()
            .map(|f| v1::Finding {
                path: f.path.clone(),
                text: f.text.clone(),
                remedy: f.remedy.clone(),
                kinds: f.kinds.iter().map(|kind| kind_from_spec(*kind).into()).collect(),
            })
            .collect()
    };
    let (kind, findings) = match verdict {
        Verdict::Unchanged => (v1::VerdictKind::Unchanged, Vec::new()),
        Verdict::InPlace { changes } => (v1::VerdictKind::InPlace, findings(changes)),
        Verdict::Refused { reasons } => (v1::VerdictKind::Refused, findings(reasons)),
    };
    v1::Verdict {
        kind: kind.into(),
        findings,
    }
}

/// A verdict from a message; `None` if its kind is not known here. A finding's kinds that are not known here are left out.
pub fn verdict_to_spec(verdict: &v1::Verdict) -> Option<Verdict> {
    let findings = || {
        verdict
            .findings
            .iter()
            .map(|f| Finding {
                path: f.path.clone(),
                kinds: f.kinds().filter_map(kind_to_spec).collect(),
                text: f.text.clone(),
                remedy: f.remedy.clone(),
            })
            .collect()
    };
    match verdict.kind() {
        v1::VerdictKind::Unspecified => None,
        v1::VerdictKind::Unchanged => Some(Verdict::Unchanged),
        v1::VerdictKind::InPlace => Some(Verdict::InPlace { changes: findings() }),
        v1::VerdictKind::Refused => Some(Verdict::Refused { reasons: findings() }),
    }
}

fn kind_from_spec(kind: FindingKind) -> v1::FindingKind {
    match kind {
        FindingKind::Incompatible => v1::FindingKind::Incompatible,
        FindingKind::FieldAdded => v1::FindingKind::FieldAdded,
        FindingKind::FieldRemoved => v1::FindingKind::FieldRemoved,
        FindingKind::Widened => v1::FindingKind::Widened,
        FindingKind::RequirednessRelaxed => v1::FindingKind::RequirednessRelaxed,
        FindingKind::ReadOtherwise => v1::FindingKind::ReadOtherwise,
        FindingKind::ExcludedFromNowOn => v1::FindingKind::ExcludedFromNowOn,
        FindingKind::ExcludedFromTheStart => v1::FindingKind::ExcludedFromTheStart,
        FindingKind::StaysExcluded => v1::FindingKind::StaysExcluded,
        FindingKind::IncludedFromNowOn => v1::FindingKind::IncludedFromNowOn,
    }
}

fn kind_to_spec(kind: v1::FindingKind) -> Option<FindingKind> {
    Some(match kind {
        v1::FindingKind::Unspecified => return None,
        v1::FindingKind::Incompatible => FindingKind::Incompatible,
        v1::FindingKind::FieldAdded => FindingKind::FieldAdded,
        v1::FindingKind::FieldRemoved => FindingKind::FieldRemoved,
        v1::FindingKind::Widened => FindingKind::Widened,
        v1::FindingKind::RequirednessRelaxed => FindingKind::RequirednessRelaxed,
        v1::FindingKind::ReadOtherwise => FindingKind::ReadOtherwise,
        v1::FindingKind::ExcludedFromNowOn => FindingKind::ExcludedFromNowOn,
        v1::FindingKind::ExcludedFromTheStart => FindingKind::ExcludedFromTheStart,
        v1::FindingKind::StaysExcluded => FindingKind::StaysExcluded,
        v1::FindingKind::IncludedFromNowOn => FindingKind::IncludedFromNowOn,
    })
}

/// A violation as a message.
pub fn violation_from_spec(violation: &Violation) -> v1::Violation {
    v1::Violation {
        field: violation.field.clone(),
        value: violation.value.clone(),
        problem: violation.problem.clone(),
        remedy: violation.remedy.clone(),
    }
}

/// A violation from a message.
pub fn violation_to_spec(violation: &v1::Violation) -> Violation {
    Violation {
        field: violation.field.clone(),
        value: violation.value.clone(),
        problem: violation.problem.clone(),
        remedy: violation.remedy.clone(),
    }
}

/// Columns as messages, types in Spark SQL's spelling.
pub fn columns_from_spec(columns: &[Field]) -> Vec<v1::TableColumn> {
    columns
        .iter()
        .map(|field| v1::TableColumn {
            name: field.name.clone(),
            r#type: field.data_type.to_string(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_of_any_kind_arrives_as_it_was() {
        let kinds = (1..).map_while(|number| v1::FindingKind::try_from(number).ok());
        let findings: Vec<Finding> = kinds
            .map(|kind| Finding {
                path: "value.note".to_owned(),
                kinds: vec![kind_to_spec(kind).expect("a kind that the model has"), FindingKind::FieldAdded],
                text: kind.as_str_name().to_owned(),
                remedy: "keep it".to_owned(),
            })
            .collect();
        assert!(!findings.is_empty());
        for verdict in [
            Verdict::InPlace { changes: findings.clone() },
            Verdict::Refused { reasons: findings },
        ] {
            let message = verdict_from_spec(&verdict);
            assert_eq!(verdict_to_spec(&message), Some(verdict));
            let names_of_kinds = message.findings.iter().filter_map(|finding| finding.kinds().next());
            for (finding, kind) in message.findings.iter().zip(names_of_kinds) {
                assert_eq!(kind.as_str_name(), finding.text);
            }
        }
    }

    #[test]
    fn kinds_that_are_not_known_here_are_left_out_and_their_finding_is_not() {
        let finding = v1::Finding {
            path: "value.note".to_owned(),
            text: "removed: in words".to_owned(),
            kinds: vec![0, i32::MAX, v1::FindingKind::Widened.into()],
            ..Default::default()
        };
        let message = v1::Verdict {
            kind: v1::VerdictKind::InPlace.into(),
            findings: vec![finding.clone(), v1::Finding { kinds: vec![], ..finding }],
        };
        let Some(Verdict::InPlace { changes }) = verdict_to_spec(&message) else {
            panic!("in place")
        };
        let kinds: Vec<_> = changes.into_iter().map(|change| change.kinds).collect();
        assert_eq!(kinds, [vec![FindingKind::Widened], vec![]]);
    }
}
