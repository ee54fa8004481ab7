//! Filters and what is made of them.

use super::expr::Expr;
use super::*;

/// Spark's answers: `type` and `casts`, or the class of its `error`. `refused` says why this crate refuses what Spark takes,
/// `otherwise` why it converts otherwise to the same effect.
const ANSWERS: &str = include_str!("../../tests/data/filter_types.jsonl");

fn named(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type)
}

fn decimal(precision: u8, scale: u8) -> DataType {
    DataType::Decimal { precision, scale }
}

fn array(element: DataType) -> DataType {
    DataType::Array(Box::new(element))
}

fn map(value: DataType) -> DataType {
    DataType::Map(Box::new(DataType::String), Box::new(value))
}

/// The columns that Spark was asked with (`tests/data/filter_types.py`).
fn asked_columns() -> Vec<Field> {
    use DataType::*;
    let item = Struct(vec![named("sku", String), named("qty", Int)]);
    let customer = Struct(vec![named("id", Int), named("Email", String), named("odd name", String)]);
    let value = Struct(vec![
        named("id", BigInt),
        named("n", Int),
        named("tiny", TinyInt),
        named("small", SmallInt),
        named("f", Float),
        named("d", Double),
        named("dec", decimal(10, 2)),
        named("big", decimal(38, 10)),
        named("u64", decimal(20, 0)),
        named("flag", Boolean),
        named("name", String),
        named("other", String),
        named("bin", Binary),
        named("day", Date),
        named("at", Timestamp),
        named("ntz", TimestampNtz),
        named("customer", customer),
        named("twin", Struct(vec![named("a", Int), named("A", String)])),
        named("items", array(item.clone())),
        named("tags", array(String)),
        named("nums", array(Int)),
        named("nested", array(array(Int))),
        named("labels", map(String)),
        named("counts", map(Int)),
        named("orders", map(item)),
    ]);
    let header = Struct(vec![named("key", String), named("value", Binary)]);
    vec![
        named("key", String),
        named("value", value),
        named("stream_record_timestamp", Timestamp),
        named("kafka_topic", String),
        named("kafka_partition", Int),
        named("kafka_offset", BigInt),
        named("headers", array(header)),
    ]
}

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
    use super::expr::ExprKind::*;
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
