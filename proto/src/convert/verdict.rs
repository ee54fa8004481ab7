//! Verdicts, violations and columns.

use stream_spec::types::Field;
use stream_spec::verdict::{Finding, Verdict};
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

/// A verdict from a message; `None` if its kind is not known here.
pub fn verdict_to_spec(verdict: &v1::Verdict) -> Option<Verdict> {
    let findings = || {
        verdict
            .findings
            .iter()
            .map(|f| Finding {
                path: f.path.clone(),
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
