//! From the parser's tree to a checked expression: every form of the language that is supported, and the refusal of the rest.
//!
//! What an operator or a function makes of its operands is elsewhere (`operators`, `functions`); here they are found, checked
//! one by one, and every problem gets its place.

use std::collections::BTreeSet;

use sqlparser::ast::{BinaryOperator, CaseWhen, CastKind, DataType as SqlType, Expr as Sql, InTarget, UnaryOperator, Value, ValueWithSpan};
use sqlparser::tokenizer::{Location, Span};

use super::constants::string_of;
use super::expr::{ArithmeticOp, CompareOp, Expr};
use super::problem::{Problem, Refusal, part_of};
use super::shared::SharedTypes;
use super::{casts, coerce, constants, functions, names, operators, parse, span, texts};
use crate::limits::{FILTER_DEPTH_MAX, FILTER_PROBLEMS_MAX, FILTER_REPEATED_MAX};
use crate::path::ColumnPath;
use crate::types::Field;

/// Checks one filter's expressions. An expression that is `None` has left a problem.
pub(super) struct Checker<'a> {
    pub(super) text: &'a str,
    pub(super) columns: &'a [Field],
    /// The types with parts of its expressions.
    pub(super) types: SharedTypes,
    /// Everything that was read so far.
    pub(super) reads: BTreeSet<ColumnPath>,
    problems: Vec<Problem>,
    /// The innermost place that is known: some parts of the tree have none.
    here: Span,
    depth: usize,
    /// Parts that were made once more so far.
    repeated: usize,
}

impl<'a> Checker<'a> {
    pub(super) fn new(text: &'a str, columns: &'a [Field]) -> Self {
        let start = Location::new(1, 1);
        Self {
            text,
            columns,
            types: SharedTypes::default(),
            reads: BTreeSet::new(),
            problems: Vec::new(),
            here: Span::new(start, start),
            depth: 0,
            repeated: 0,
        }
    }

    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }

    /// Notes a problem with a part; always `None`.
    pub(super) fn refuse<T>(&mut self, at: Option<Span>, refusal: Refusal) -> Option<T> {
        let at = at.unwrap_or(self.here);
        if self.problems.len() < FILTER_PROBLEMS_MAX {
            self.problems.push(Problem {
                at: at.start,
                part: part_of(self.text, at),
                problem: refusal.problem,
                remedy: refusal.remedy,
            });
        }
        None
    }

    pub(super) fn settle<T>(&mut self, sql: &Sql, result: Result<T, Refusal>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(refusal) => self.refuse(span::of(sql), refusal),
        }
    }

    /// The same operand once more. Operands that hold such operands would double at every level: what is made again is counted.
    pub(super) fn again(&mut self, sql: &Sql, operand: &Expr) -> Option<Expr> {
        self.repeated = self.repeated.saturating_add(operand.size());
        if self.repeated > FILTER_REPEATED_MAX {
            let problem = format!("operands that are compared more than once come to more than {FILTER_REPEATED_MAX} parts");
            let remedy = "nest BETWEEN, CASE with an operand and nullif less, or compare one by one with >=, <= and =";
            return self.refuse(span::of(sql), Refusal::new(problem, remedy));
        }
        Some(operand.clone())
    }

    /// Checks an expression.
    pub(super) fn expression(&mut self, sql: &Sql) -> Option<Expr> {
        if self.depth == FILTER_DEPTH_MAX {
            let problem = format!("the expression is more than {FILTER_DEPTH_MAX} operators deep");
            return self.refuse(
                None,
                Refusal::new(problem, "split it with AND or OR, which go on for as long as needed"),
            );
        }
        self.depth += 1;
        let outer = self.here;
        self.here = span::of(sql).unwrap_or(outer);
        let checked = self.form(sql);
        self.here = outer;
        self.depth -= 1;
        checked
    }

    fn form(&mut self, sql: &Sql) -> Option<Expr> {
        match sql {
            Sql::Nested(inner) => self.expression(inner),
            Sql::Identifier(name) => self.named(std::slice::from_ref(name), &[]),
            Sql::CompoundIdentifier(names) => self.named(names, &[]),
            Sql::CompoundFieldAccess { root, access_chain } => self.accessed(root, access_chain),
            Sql::Value(value) => self.value(sql, value, false),
            Sql::TypedString(typed) => self.typed_string(sql, typed),
            Sql::Interval(interval) => self.interval(sql, interval),
            Sql::UnaryOp { op, expr } => self.unary(sql, *op, expr),
            Sql::BinaryOp { left, op, right } => self.binary(sql, left, op, right),
            Sql::IsNull(inner) | Sql::IsUnknown(inner) => Some(operators::is_null_test(self.operand(inner)?)),
            Sql::IsNotNull(inner) | Sql::IsNotUnknown(inner) => Some(operators::not(operators::is_null_test(self.operand(inner)?))),
            Sql::IsTrue(inner) => self.truth(inner, true, false),
            Sql::IsNotTrue(inner) => self.truth(inner, true, true),
            Sql::IsFalse(inner) => self.truth(inner, false, false),
            Sql::IsNotFalse(inner) => self.truth(inner, false, true),
            Sql::IsDistinctFrom(left, right) => {
                let same = self.comparison(sql, CompareOp::NullSafeEqual, left, right)?;
                Some(operators::not(same))
            }
            Sql::IsNotDistinctFrom(left, right) => self.comparison(sql, CompareOp::NullSafeEqual, left, right),
            Sql::In {
                expr,
                target: InTarget::List(list),
                negated,
                ..
            } => self.within(sql, expr, list, *negated),
            Sql::Between { expr, negated, low, high } => self.between(sql, expr, low, high, *negated),
            Sql::Like { .. } | Sql::ILike { .. } | Sql::RLike { .. } => self.pattern(sql),
            Sql::Case {
                operand,
                conditions,
                else_result,
                ..
            } => self.case(sql, operand.as_deref(), conditions, else_result.as_deref()),
            Sql::Cast {
                expr,
                data_type,
                format: None,
                ..
            } => {
                let target = self.settle(sql, casts::data_type(data_type));
                let given = self.operand(expr)?;
                let result = casts::explicit(given, target?);
                self.settle(sql, result)
            }
            Sql::Function(function) => self.function(sql, function),
            Sql::Trim { .. } | Sql::Substring { .. } | Sql::Extract { .. } => self.special_call(sql),
            other => self.refuse(span::of(other), names::unsupported_form(other)),
        }
    }

    /// An operand of an operator: predicates, NOT, AND and OR only in parentheses, as Spark's grammar has it.
    pub(super) fn operand(&mut self, sql: &Sql) -> Option<Expr> {
        let loose = match sql {
            Sql::UnaryOp { op, .. } => matches!(op, UnaryOperator::Not | UnaryOperator::BangNot),
            Sql::BinaryOp { op, .. } => matches!(op, BinaryOperator::And | BinaryOperator::Or),
            Sql::IsNull(_) | Sql::IsNotNull(_) | Sql::IsTrue(_) | Sql::IsNotTrue(_) | Sql::IsFalse(_) | Sql::IsNotFalse(_) => true,
            Sql::IsUnknown(_) | Sql::IsNotUnknown(_) | Sql::IsDistinctFrom(..) | Sql::IsNotDistinctFrom(..) => true,
            Sql::In { .. } | Sql::Between { .. } | Sql::Like { .. } | Sql::ILike { .. } | Sql::RLike { .. } => true,
            _ => false,
        };
        if loose {
            let refusal = Refusal::new("a predicate is an operand here without parentheses", "put parentheses around it");
            return self.refuse(span::of(sql), refusal);
        }
        self.expression(sql)
    }

    fn truth(&mut self, inner: &Sql, truth: bool, negated: bool) -> Option<Expr> {
        let operand = self.operand(inner)?;
        let test = self.settle(inner, operators::is_truth(operand, truth))?;
        Some(if negated { operators::not(test) } else { test })
    }

    /// Both of two, so that the problems of both are found.
    fn both(&mut self, left: &Sql, right: &Sql) -> Option<(Expr, Expr)> {
        let (left, right) = (self.operand(left), self.operand(right));
        left.zip(right)
    }

    fn comparison(&mut self, sql: &Sql, op: CompareOp, left: &Sql, right: &Sql) -> Option<Expr> {
        let (left, right) = self.both(left, right)?;
        self.settle(sql, operators::compare(op, left, right))
    }

    fn unary(&mut self, sql: &Sql, op: UnaryOperator, inner: &Sql) -> Option<Expr> {
        match (op, inner) {
            (UnaryOperator::Minus, Sql::Value(value)) if matches!(value.value, Value::Number(..)) => self.value(sql, value, true),
            (UnaryOperator::Minus, _) => match self.cast_number(inner) {
                Some((number, targets)) => {
                    let number = self.value(sql, number, true)?;
                    targets.into_iter().try_fold(number, |expr, target| {
                        let target = self.settle(sql, casts::data_type(target))?;
                        self.settle(sql, casts::explicit(expr, target))
                    })
                }
                None => {
                    let operand = self.operand(inner)?;
                    self.settle(sql, operators::negate(operand))
                }
            },
            (UnaryOperator::Plus, _) => {
                let operand = self.operand(inner)?;
                // `+x` converts as `-x` does.
                let ty = self.settle(sql, operators::negate(operand.clone()))?.ty;
                Some(coerce::cast(operand, ty))
            }
            (UnaryOperator::Not | UnaryOperator::BangNot, _) => {
                let operand = self.expression(inner)?;
                let operand = self.settle(inner, operators::condition(operand))?;
                Some(operators::not(operand))
            }
            (other, _) => self.refuse(
                span::of(sql),
                Refusal::new(
                    format!("the operator `{other}` is not supported"),
                    "use comparisons and arithmetic with + - * / % DIV",
                ),
            ),
        }
    }

    /// The number in `128::INT::TINYINT`, and the types from the inside: a sign before it is the number's.
    fn cast_number<'s>(&self, sql: &'s Sql) -> Option<(&'s ValueWithSpan, Vec<&'s SqlType>)> {
        let (mut here, mut targets) = (sql, Vec::new());
        while let Sql::Cast {
            kind: CastKind::DoubleColon,
            expr,
            data_type,
            format: None,
            ..
        } = here
        {
            targets.push(data_type);
            here = expr;
        }
        targets.reverse();
        match here {
            Sql::Value(number) if matches!(number.value, Value::Number(..)) && self.depth + targets.len() < FILTER_DEPTH_MAX => {
                Some((number, targets))
            }
            _ => None,
        }
    }

    fn binary(&mut self, sql: &Sql, left: &Sql, op: &BinaryOperator, right: &Sql) -> Option<Expr> {
        let compare = |checker: &mut Self, op| checker.comparison(sql, op, left, right);
        let arithmetic = |checker: &mut Self, op| checker.arithmetic(sql, op, left, right);
        match op {
            BinaryOperator::And | BinaryOperator::Or => self.connected(sql, op),
            BinaryOperator::StringConcat => {
                let operands = self.all_of(&chain(sql, op), Self::operand)?;
                self.settle(sql, texts::concat(operands))
            }
            BinaryOperator::Eq => compare(self, CompareOp::Equal),
            BinaryOperator::NotEq => Some(operators::not(compare(self, CompareOp::Equal)?)),
            BinaryOperator::Spaceship => compare(self, CompareOp::NullSafeEqual),
            BinaryOperator::Lt => compare(self, CompareOp::Less),
            BinaryOperator::LtEq => compare(self, CompareOp::LessOrEqual),
            BinaryOperator::Gt => compare(self, CompareOp::Greater),
            BinaryOperator::GtEq => compare(self, CompareOp::GreaterOrEqual),
            BinaryOperator::Plus => arithmetic(self, ArithmeticOp::Add),
            BinaryOperator::Minus => arithmetic(self, ArithmeticOp::Subtract),
            BinaryOperator::Multiply => arithmetic(self, ArithmeticOp::Multiply),
            BinaryOperator::Divide => arithmetic(self, ArithmeticOp::Divide),
            BinaryOperator::Modulo => arithmetic(self, ArithmeticOp::Remainder),
            BinaryOperator::Custom(name) if name == parse::DIV => arithmetic(self, ArithmeticOp::IntegralDivide),
            other => self.refuse(
                span::of(sql),
                Refusal::new(
                    format!("the operator `{other}` is not supported"),
                    "use = <=> != < <= > >=, AND, OR, NOT, + - * / % DIV or ||",
                ),
            ),
        }
    }

    fn arithmetic(&mut self, sql: &Sql, op: ArithmeticOp, left: &Sql, right: &Sql) -> Option<Expr> {
        let whole_days = constants::is_of_whole_days(left).or_else(|| constants::is_of_whole_days(right));
        let (left, right) = self.both(left, right)?;
        self.settle(sql, operators::arithmetic(op, left, right, whole_days))
    }

    /// AND or OR, with all operands of the chain at once: it may be long.
    fn connected(&mut self, sql: &Sql, op: &BinaryOperator) -> Option<Expr> {
        let operands = self.all_of(&chain(sql, op), |checker, operand| {
            let checked = checker.expression(operand)?;
            checker.settle(operand, operators::condition(checked))
        })?;
        Some(match op {
            BinaryOperator::And => operators::and(operands),
            _ => operators::or(operands),
        })
    }

    /// Checks each, so that the problems of all are found.
    pub(super) fn all_of(&mut self, parts: &[&Sql], mut check: impl FnMut(&mut Self, &Sql) -> Option<Expr>) -> Option<Vec<Expr>> {
        let mut checked = Vec::with_capacity(parts.len());
        for part in parts {
            checked.push(check(self, part));
        }
        checked.into_iter().collect()
    }

    fn within(&mut self, sql: &Sql, operand: &Sql, list: &[Sql], negated: bool) -> Option<Expr> {
        let operand = self.operand(operand);
        let members: Vec<&Sql> = list.iter().collect();
        let members = self.all_of(&members, Self::expression)?;
        let found = self.settle(sql, operators::within(operand?, members))?;
        Some(if negated { operators::not(found) } else { found })
    }

    /// Two comparisons, each with its own conversions.
    fn between(&mut self, sql: &Sql, operand: &Sql, low: &Sql, high: &Sql, negated: bool) -> Option<Expr> {
        let operand = self.operand(operand);
        let (low, high) = self.both(low, high)?;
        let operand = operand?;
        let above = operators::compare(CompareOp::GreaterOrEqual, self.again(sql, &operand)?, low);
        let above = self.settle(sql, above)?;
        let below = self.settle(sql, operators::compare(CompareOp::LessOrEqual, operand, high))?;
        let both = operators::and(vec![above, below]);
        Some(if negated { operators::not(both) } else { both })
    }

    fn pattern(&mut self, sql: &Sql) -> Option<Expr> {
        let (negated, matched) = match sql {
            Sql::Like { any: true, .. } | Sql::ILike { any: true, .. } => {
                let remedy = "write one LIKE for each pattern, joined with OR";
                return self.refuse(span::of(sql), Refusal::new("LIKE ANY is not supported", remedy));
            }
            Sql::Like {
                negated,
                expr,
                pattern,
                escape_char,
                ..
            } => (negated, self.like(sql, (expr, pattern, escape_char.as_deref()), false)?),
            Sql::ILike {
                negated,
                expr,
                pattern,
                escape_char,
                ..
            } => (negated, self.like(sql, (expr, pattern, escape_char.as_deref()), true)?),
            Sql::RLike {
                negated, expr, pattern, ..
            } => {
                let (text, pattern) = self.both(expr, pattern)?;
                (negated, self.settle(sql, texts::regexp_like(text, &pattern))?)
            }
            _ => return None,
        };
        Some(if *negated { operators::not(matched) } else { matched })
    }

    fn like(&mut self, sql: &Sql, parts: (&Sql, &Sql, Option<&Sql>), any_case: bool) -> Option<Expr> {
        let (text, pattern, escape) = parts;
        if let Sql::Function(function) = pattern
            && matches!(function.name.to_string().to_lowercase().as_str(), "all" | "some")
        {
            let remedy = "write one LIKE for each pattern, joined with AND or OR";
            return self.refuse(
                span::of(sql),
                Refusal::new(format!("LIKE {} is not supported", function.name), remedy),
            );
        }
        let escape = match escape {
            None => Some('\\'),
            Some(Sql::Value(value)) => {
                let text = string_of(value).and_then(Result::ok);
                let mut chars = text.as_deref().unwrap_or_default().chars();
                chars.next().filter(|_| chars.next().is_none())
            }
            Some(_) => None,
        };
        let Some(escape) = escape else {
            return self.refuse(
                span::of(sql),
                Refusal::new("ESCAPE takes one character", "write it as in LIKE '10!%' ESCAPE '!'"),
            );
        };
        let (text, pattern) = self.both(text, pattern)?;
        self.settle(sql, texts::like(text, pattern, escape, any_case))
    }

    fn case(&mut self, sql: &Sql, operand: Option<&Sql>, whens: &[CaseWhen], otherwise: Option<&Sql>) -> Option<Expr> {
        let compared = match operand {
            Some(operand) => Some(self.expression(operand)?),
            None => None,
        };
        let mut conditions = Vec::with_capacity(whens.len());
        let mut results = Vec::with_capacity(whens.len() + 1);
        for when in whens {
            let condition = self.expression(&when.condition);
            conditions.push(match (condition, &compared) {
                (Some(condition), Some(compared)) => {
                    let compared = self.again(sql, compared)?;
                    self.settle(&when.condition, operators::compare(CompareOp::Equal, compared, condition))
                }
                (Some(condition), None) => self.settle(&when.condition, functions::branch_condition(condition)),
                (None, _) => None,
            });
            results.push(self.expression(&when.result));
        }
        let has_else = otherwise.is_some();
        results.extend(otherwise.map(|otherwise| self.expression(otherwise)));
        let conditions: Option<Vec<Expr>> = conditions.into_iter().collect();
        let results: Option<Vec<Expr>> = results.into_iter().collect();
        let (conditions, mut results) = conditions.zip(results)?;
        let otherwise = if has_else { results.pop() } else { None };
        self.settle(sql, functions::case(conditions, results, otherwise))
    }
}

/// Operands of a chain of one operator, from the left.
fn chain<'s>(sql: &'s Sql, chained: &BinaryOperator) -> Vec<&'s Sql> {
    let (mut operands, mut here) = (Vec::new(), sql);
    while let Sql::BinaryOp { left, op, right } = here
        && op == chained
    {
        operands.push(right.as_ref());
        here = left;
    }
    operands.push(here);
    operands.reverse();
    operands
}
