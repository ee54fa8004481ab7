//! Functions and operators on texts.

use super::coerce::{argument, cast_to, is, is_null, is_string, value_type};
use super::expr::{Expr, ExprKind, ExprType, Function, Literal};
use super::functions::{Arguments, of};
use super::problem::Refusal;
use crate::regex::{JavaPattern, PatternProblem};
use crate::types::DataType;

pub(super) fn of_text(args: &mut Arguments<'_>, function: Function, result: DataType) -> Result<Expr, Refusal> {
    let text = args.of_type(&DataType::String, "one argument")?;
    args.end("one argument")?;
    Ok(of(result, function, vec![text]))
}

/// `trim(text)`; `trim(characters, text)`, but `btrim(text, characters)`.
pub(super) fn trim(args: &mut Arguments<'_>, function: Function, name: &str) -> Result<Expr, Refusal> {
    let first = args.of_type(&DataType::String, "one or two arguments")?;
    let second = args.optional_of_type(&DataType::String, "one or two arguments")?;
    args.end("one or two arguments")?;
    let arguments = match second {
        None => vec![first],
        Some(characters) if name == "btrim" => vec![first, characters],
        Some(text) => vec![text, first],
    };
    Ok(of(DataType::String, function, arguments))
}

pub(super) fn length(args: &mut Arguments<'_>) -> Result<Expr, Refusal> {
    let text = args.one()?;
    let text = text_or_bytes(args, text)?;
    Ok(of(DataType::Int, Function::Length, vec![text]))
}

/// BINARY as it is, anything else as a text.
fn text_or_bytes(args: &Arguments<'_>, expr: Expr) -> Result<Expr, Refusal> {
    if is(&expr, &DataType::Binary) {
        return Ok(expr);
    }
    let ty = expr.ty.clone();
    argument(expr, &DataType::String).ok_or_else(|| args.unfit(&ty, "STRING or BINARY"))
}

pub(super) fn substring(args: &mut Arguments<'_>) -> Result<Expr, Refusal> {
    const EXPECTED: &str = "two or three arguments";
    let text = args.next().ok_or_else(|| args.wrong_count(EXPECTED))?;
    let text = text_or_bytes(args, text)?;
    let position = args.of_type(&DataType::Int, EXPECTED)?;
    let length = args.optional_of_type(&DataType::Int, EXPECTED)?;
    args.end(EXPECTED)?;
    let ty = value_type(&text).cloned().unwrap_or(DataType::String);
    let arguments = [text, position].into_iter().chain(length).collect();
    Ok(of(ty, Function::Substring, arguments))
}

/// `concat` and `||`: everything as texts.
pub(super) fn concat(parts: Vec<Expr>) -> Result<Expr, Refusal> {
    let remedy = "join texts; convert bytes with CAST(x AS STRING)";
    if parts.is_empty() || parts.iter().all(|part| is(part, &DataType::Binary)) {
        return Err(Refusal::new("texts are joined, and there is none", remedy));
    }
    let mut texts = Vec::with_capacity(parts.len());
    for part in parts {
        let ty = part.ty.clone();
        let text = argument(part, &DataType::String).ok_or_else(|| Refusal::new(format!("{ty} cannot be joined to a text"), remedy))?;
        texts.push(text);
    }
    Ok(of(DataType::String, Function::Concat, texts))
}

pub(super) fn two_texts(args: &mut Arguments<'_>, function: Function) -> Result<Expr, Refusal> {
    let (text, part) = args.two()?;
    if is(&text, &DataType::Binary) && is(&part, &DataType::Binary) {
        return Err(Refusal::new(
            format!("`{}` takes texts, and these are BINARY", args.name),
            "convert with CAST(x AS STRING)",
        ));
    }
    let (text_type, part_type) = (text.ty.clone(), part.ty.clone());
    let text = argument(text, &DataType::String).ok_or_else(|| args.unfit(&text_type, "STRING"))?;
    let part = argument(part, &DataType::String).ok_or_else(|| args.unfit(&part_type, "STRING"))?;
    Ok(of(DataType::Boolean, function, vec![text, part]))
}

/// A text that is a literal.
fn literal_text(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Literal(Literal::String(text)) => Some(text),
        _ => None,
    }
}

/// RLIKE: the pattern is a literal, and one that can be translated.
pub(super) fn regexp_like(text: Expr, pattern: &Expr) -> Result<Expr, Refusal> {
    let ty = text.ty.clone();
    let text = argument(text, &DataType::String).ok_or_else(|| Refusal::new(format!("{ty} is not matched by patterns"), "match a text"))?;
    let Some(pattern) = literal_text(pattern) else {
        return Err(Refusal::new("the pattern is not a literal", "write the pattern in quotes"));
    };
    let pattern = JavaPattern::parse(pattern).map_err(|problem| {
        let PatternProblem {
            construct,
            place,
            found,
            remedy,
        } = problem;
        Refusal::new(
            format!("the pattern's character {place} is not supported: {construct}, `{found}`"),
            remedy,
        )
    })?;
    Ok(Expr {
        ty: ExprType::Value(DataType::Boolean),
        kind: ExprKind::RLike(Box::new(text), pattern),
    })
}

/// LIKE and ILIKE.
pub(super) fn like(text: Expr, pattern: Expr, escape: char, any_case: bool) -> Result<Expr, Refusal> {
    let (text_type, pattern_type) = (text.ty.clone(), pattern.ty.clone());
    let unfit = |ty: ExprType| {
        Refusal::new(
            format!("LIKE compares texts, and this is {ty}"),
            "compare a text, or convert with CAST",
        )
    };
    let text = argument(text, &DataType::String).ok_or_else(|| unfit(text_type))?;
    let pattern = argument(pattern, &DataType::String).ok_or_else(|| unfit(pattern_type))?;
    if let Some(literal) = literal_text(&pattern) {
        let mut chars = literal.chars();
        while let Some(next) = chars.next() {
            let sound = next != escape
                || chars
                    .next()
                    .is_some_and(|escaped| escaped == escape || matches!(escaped, '%' | '_'));
            if !sound {
                let problem = format!("`{escape}` in the pattern stands before none of %, _ and itself");
                return Err(Refusal::new(problem, "double it, or name another character with ESCAPE"));
            }
        }
    }
    Ok(Expr {
        ty: ExprType::Value(DataType::Boolean),
        kind: ExprKind::Like {
            text: Box::new(text),
            pattern: Box::new(pattern),
            escape,
            any_case,
        },
    })
}

pub(super) fn get_json_object(args: &mut Arguments<'_>) -> Result<Expr, Refusal> {
    let (text, path) = args.two()?;
    let ty = text.ty.clone();
    if !is_string(&text) && !is_null(&text) {
        return Err(args.unfit(&ty, "STRING"));
    }
    if literal_text(&path).is_none() {
        return Err(Refusal::new(
            "the JSON path is not a literal",
            "write the path in quotes, as in '$.type'",
        ));
    }
    let text = cast_to(text, DataType::String);
    Ok(of(DataType::String, Function::GetJsonObject, vec![text, path]))
}
