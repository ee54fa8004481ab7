//! Types, conversions and literals' values as Spark 4.3.0 has them.

use super::super::expr::Expr;
use super::*;

/// Spark's answers: `type` and `casts`, or the class of its `error`. `refused` says why this crate refuses what Spark takes,
/// `otherwise` why it converts otherwise to the same effect.
const ANSWERS: &str = include_str!("../../../tests/data/filter_types.jsonl");

/// One expression of any type.
fn expression(text: &str) -> Result<Expr, Vec<Violation>> {
    let columns = asked_columns();
    let parsed = parse::expression(text).map_err(|problem| vec![problem.violation()])?;
    let mut checker = Checker::new(text, &columns);
    match checker.expression(&parsed) {
        Some(expr) => Ok(expr),
        None => Err(checker.into_problems().into_iter().map(Problem::violation).collect()),
    }
}

/// Intervals have no units in their type here, and a type's spelling differs from Spark's in nothing else.
fn spark_type(text: &str) -> std::string::String {
    match text.strip_prefix("INTERVAL ") {
        Some(units) if units.contains("YEAR") || units.contains("MONTH") => "INTERVAL YEAR TO MONTH".into(),
        Some(_) => "INTERVAL DAY TO SECOND".into(),
        None if text == "VOID" => "NULL".into(),
        None => text.replace('`', ""),
    }
}

type Casts = Vec<(std::string::String, std::string::String)>;

/// Spark's conversions without those of NULL and to the type that is there; two DECIMALs one after another are one.
fn spark_casts(casts: &serde_json::Value) -> Casts {
    let mut kept: Casts = Vec::new();
    for pair in casts.as_array().expect("a list") {
        let text = |index: usize| spark_type(pair[index].as_str().expect("a type"));
        let (from, to) = (text(0), text(1));
        match kept.last_mut() {
            Some((outer, _)) if outer.starts_with("DECIMAL") && *outer == to && !from.starts_with("STRING") => *outer = from,
            _ => kept.push((from, to)),
        }
    }
    kept.retain(|(from, to)| from != to && from != "NULL");
    kept.sort();
    kept
}

fn casts_of(expr: &Expr, found: &mut Casts) {
    use super::super::expr::ExprKind::*;
    let mut all = |inner: &[&Expr]| inner.iter().for_each(|inner| casts_of(inner, found));
    match &expr.kind {
        Literal(_) | Column(_) => {}
        Cast(inner) => {
            casts_of(inner, found);
            found.push((inner.ty.to_string(), expr.ty.to_string()));
        }
        Field(inner, _) | Negate(inner) | Not(inner) | IsNull(inner) | IsTruth(inner, _) | RLike(inner, _) => all(&[inner]),
        ArrayItem(left, right) | MapItem(left, right) | Arithmetic(_, left, right) | Compare(_, left, right) => all(&[left, right]),
        And(list) | Or(list) | Call(_, list) => all(&list.iter().collect::<Vec<_>>()),
        In(operand, list) => all(&std::iter::once(&**operand).chain(list).collect::<Vec<_>>()),
        Like { text, pattern, .. } => all(&[text, pattern]),
        Case { branches, otherwise } => {
            all(&branches
                .iter()
                .flat_map(|(condition, result)| [condition, result])
                .collect::<Vec<_>>());
            all(&otherwise.iter().map(|otherwise| &**otherwise).collect::<Vec<_>>());
        }
    }
}

/// True for a literal of that value, as `filter_types.py` writes it.
fn is_value(expr: &Expr, expected: &str) -> bool {
    use super::super::expr::{ExprKind, Literal};
    let ExprKind::Literal(literal) = &expr.kind else { return false };
    match literal {
        Literal::Null => false,
        Literal::Boolean(truth) => truth.to_string() == expected,
        Literal::Integer(number) => number.to_string() == expected,
        Literal::Double(number) if expr.ty == ExprType::Value(DataType::Float) => expected.parse() == Ok(*number as f32),
        Literal::Double(number) => expected.parse() == Ok(*number),
        Literal::Decimal(unscaled) => {
            let digits: std::string::String = expected.chars().filter(|digit| *digit != '.').collect();
            digits.parse() == Ok(*unscaled)
        }
        Literal::String(text) => text == expected,
        Literal::Binary(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect::<std::string::String>() == expected,
    }
}

#[test]
fn types_and_conversions_are_sparks() {
    let mut wrong = Vec::new();
    for line in ANSWERS.lines() {
        let case: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let text = case["expr"].as_str().expect("text");
        let ours = expression(text);
        let verdict = match (&ours, case.get("error"), case.get("refused")) {
            (Err(_), Some(_), _) | (Err(_), _, Some(_)) => continue,
            (Err(problems), ..) => format!("refused: {}", problems[0]),
            (Ok(expr), Some(error), _) => format!("{}, and Spark refuses: {error}", expr.ty),
            (Ok(_), _, Some(_)) => "accepted, but marked as refused".into(),
            (Ok(expr), ..) => {
                let mut casts = Casts::new();
                casts_of(expr, &mut casts);
                casts.sort();
                let expected = (spark_type(case["type"].as_str().expect("a type")), spark_casts(&case["casts"]));
                let same_casts = casts == expected.1 || case.get("otherwise").is_some();
                let value = case.get("value").map(|value| value.as_str().expect("text"));
                if let Some(value) = value.filter(|value| !is_value(expr, value)) {
                    wrong.push(format!("{text}\n    {:?}, Spark {value}", expr.kind));
                }
                if expr.ty.to_string() == expected.0 && same_casts {
                    continue;
                }
                format!("{} {casts:?}, Spark {expected:?}", expr.ty)
            }
        };
        wrong.push(format!("{text}\n    {verdict}"));
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
