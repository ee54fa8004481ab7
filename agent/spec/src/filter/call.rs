//! Calls: from their syntax to a name and checked arguments. What a function makes of them is in `functions`.

use sqlparser::ast::{DateTimeField, Expr as Sql, Function, FunctionArg, FunctionArgExpr, FunctionArguments, TrimWhereField};

use super::check::Checker;
use super::expr::Expr;
use super::problem::Refusal;
use super::{functions, names, span};

impl Checker<'_> {
    /// `name(arguments)`.
    pub(super) fn function(&mut self, sql: &Sql, function: &Function) -> Option<Expr> {
        let name = function.name.to_string().replace('`', "").to_lowercase();
        if let Some(refusal) = names::unsupported(&name) {
            return self.refuse(span::of(sql), refusal);
        }
        let plain = matches!(function.parameters, FunctionArguments::None)
            && function.within_group.is_empty()
            && function.filter.is_none()
            && function.null_treatment.is_none()
            && function.over.is_none()
            && !function.uses_odbc_syntax;
        let arguments = match &function.args {
            FunctionArguments::List(list) if plain && list.duplicate_treatment.is_none() && list.clauses.is_empty() => list
                .args
                .iter()
                .map(|argument| match argument {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
                    _ => None,
                })
                .collect::<Option<Vec<&Sql>>>(),
            _ => None,
        };
        let Some(arguments) = arguments else {
            let refusal = Refusal::new(
                format!("`{name}` is called in a way that is not supported"),
                "write the function's name and its arguments, as in `lower(value.name)`",
            );
            return self.refuse(span::of(sql), refusal);
        };
        let arguments = self.all_of(&arguments, Self::expression)?;
        self.called(sql, &name, arguments)
    }

    fn called(&mut self, sql: &Sql, name: &str, arguments: Vec<Expr>) -> Option<Expr> {
        if let ("nullif", [value, _]) = (name, arguments.as_slice()) {
            // It is compared and it is the result.
            self.again(sql, value)?;
        }
        match functions::call(name, arguments) {
            Ok(expr) => Some(Expr {
                ty: self.types.shared(expr.ty),
                ..expr
            }),
            Err(refusal) => self.refuse(span::of(sql), refusal),
        }
    }

    /// Calls with a syntax of their own: `trim(BOTH … FROM …)`, `substring(… FROM … FOR …)`, `extract(… FROM …)`.
    pub(super) fn special_call(&mut self, sql: &Sql) -> Option<Expr> {
        match sql {
            Sql::Trim {
                expr,
                trim_where,
                trim_what,
                trim_characters,
            } => {
                let name = match trim_where {
                    None | Some(TrimWhereField::Both) => "btrim",
                    Some(TrimWhereField::Leading) => "ltrim",
                    Some(TrimWhereField::Trailing) => "rtrim",
                };
                let text = self.expression(expr);
                let characters: Vec<&Sql> = trim_what.as_deref().into_iter().chain(trim_characters.iter().flatten()).collect();
                let characters = self.all_of(&characters, Self::expression)?;
                let mut arguments = vec![text?];
                arguments.extend(characters);
                // `ltrim` and `rtrim` take the characters first.
                if name != "btrim" {
                    arguments.reverse();
                }
                self.called(sql, name, arguments)
            }
            Sql::Substring {
                expr,
                substring_from,
                substring_for,
                ..
            } => {
                let parts: Vec<&Sql> = [Some(expr), substring_from.as_ref(), substring_for.as_ref()]
                    .into_iter()
                    .flatten()
                    .map(AsRef::as_ref)
                    .collect();
                let arguments = self.all_of(&parts, Self::expression)?;
                self.called(sql, "substring", arguments)
            }
            Sql::Extract { field, expr, .. } => {
                let argument = self.expression(expr)?;
                let name = match field {
                    DateTimeField::Year | DateTimeField::Years => "year",
                    DateTimeField::Month | DateTimeField::Months => "month",
                    DateTimeField::Day | DateTimeField::Days => "day",
                    DateTimeField::Hour | DateTimeField::Hours => "hour",
                    DateTimeField::Minute | DateTimeField::Minutes => "minute",
                    other => {
                        let problem = format!("extract({other} FROM …) is not supported");
                        return self.refuse(span::of(sql), Refusal::new(problem, "extract YEAR, MONTH, DAY, HOUR or MINUTE"));
                    }
                };
                self.called(sql, name, vec![argument])
            }
            _ => None,
        }
    }
}
