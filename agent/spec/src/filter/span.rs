//! Where a part of the parser's tree stands in the text. Walks down without recursion: a long chain of operators is deep.

use sqlparser::ast::{AccessExpr, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, InTarget, ObjectNamePart, Subscript};
use sqlparser::tokenizer::{Location, Span};

/// The span of an expression; up to the end of the line where the parser does not keep the end.
pub(super) fn of(expr: &Expr) -> Option<Span> {
    let start = start(expr)?;
    let end = end(expr).unwrap_or(Location::new(start.line, u64::MAX));
    Some(Span::new(start, end))
}

fn start(expr: &Expr) -> Option<Location> {
    let mut here = expr;
    loop {
        here = match here {
            Expr::BinaryOp { left, .. } => left,
            Expr::IsNull(inner) | Expr::IsNotNull(inner) | Expr::IsTrue(inner) | Expr::IsNotTrue(inner) => inner,
            Expr::IsFalse(inner) | Expr::IsNotFalse(inner) | Expr::IsUnknown(inner) | Expr::IsNotUnknown(inner) => inner,
            Expr::IsDistinctFrom(left, _) | Expr::IsNotDistinctFrom(left, _) => left,
            Expr::In { expr, .. } | Expr::Between { expr, .. } | Expr::Like { expr, .. } => expr,
            Expr::ILike { expr, .. } | Expr::RLike { expr, .. } | Expr::Cast { expr, .. } => expr,
            Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } | Expr::CompoundFieldAccess { root: inner, .. } => inner,
            leaf => return leaf_span(leaf).map(|span| span.start),
        }
    }
}

fn end(expr: &Expr) -> Option<Location> {
    let mut here = expr;
    loop {
        here = match here {
            Expr::BinaryOp { right, .. } | Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right) => right,
            Expr::Between { high, .. } => high,
            Expr::Like { pattern, .. } | Expr::ILike { pattern, .. } | Expr::RLike { pattern, .. } => pattern,
            Expr::In {
                target: InTarget::List(list),
                ..
            } => list.last()?,
            Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } | Expr::Cast { expr: inner, .. } => inner,
            Expr::CompoundFieldAccess { access_chain, .. } => match access_chain.last()? {
                AccessExpr::Dot(field) => field,
                AccessExpr::Subscript(Subscript::Index { index }) => index,
                AccessExpr::Subscript(Subscript::Slice { .. }) => return None,
            },
            Expr::Function(function) => match last_argument(&function.args) {
                Some(argument) => argument,
                None => return leaf_span(here).map(|span| span.end),
            },
            leaf => return leaf_span(leaf).map(|span| span.end),
        }
    }
}

fn last_argument(arguments: &FunctionArguments) -> Option<&Expr> {
    match arguments {
        FunctionArguments::List(list) => match list.args.last()? {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
            _ => None,
        },
        _ => None,
    }
}

fn leaf_span(expr: &Expr) -> Option<Span> {
    let span = match expr {
        Expr::Identifier(name) => name.span,
        Expr::CompoundIdentifier(names) => names.first()?.span.union(&names.last()?.span),
        Expr::Value(value) => value.span,
        Expr::TypedString(typed) => typed.value.span,
        Expr::Case { case_token, end_token, .. } => case_token.0.span.union(&end_token.0.span),
        Expr::Interval(interval) => return of_value(&interval.value),
        Expr::Function(function) => match function.name.0.first()? {
            ObjectNamePart::Identifier(name) => name.span,
            ObjectNamePart::Function(_) => return None,
        },
        Expr::Trim { expr, .. } | Expr::Substring { expr, .. } | Expr::Extract { expr, .. } => return of_value(expr),
        Expr::Ceil { expr, .. } | Expr::Floor { expr, .. } | Expr::Position { expr, .. } => return of_value(expr),
        _ => return None,
    };
    (span.start.line > 0).then_some(span)
}

/// A part's span where it is a name or a constant.
fn of_value(expr: &Expr) -> Option<Span> {
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_) => leaf_span(expr),
        _ => None,
    }
}
