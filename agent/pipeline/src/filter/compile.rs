//! From a checked expression to a tree of kernels.
//!
//! Columns are found by name once and their types compared with the filter's; an expression of constants is evaluated once. The one
//! invariant: a kernel gets arguments of the types it was made for.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType as ArrowType, Schema};
use stream_decode::arrow_types::arrow_type;
use stream_spec::filter::expr::{CompareOp, Expr, ExprKind, ExprType, Function, Literal};

use super::connect::{self, Connective};
use super::error::FilterError;
use super::node::{Compute, Kernel, Node, Scope};
use super::values::Values;
use super::work::Work;
use super::{arithmetic, cast, collection, compare, function, interval, like, logic, membership, nested};

/// Compiles an expression that is true, false or null, a bare NULL included.
pub(super) fn boolean(expr: &Expr, schema: &Schema) -> Result<Node, FilterError> {
    match expr.ty {
        ExprType::Null => Ok(null_of(&ArrowType::Boolean)),
        _ => compile(expr, schema),
    }
}

/// Compiles any expression.
pub(super) fn compile(expr: &Expr, schema: &Schema) -> Result<Node, FilterError> {
    let ty = type_of(&expr.ty);
    if expr.ty == ExprType::Null || is_null_by_an_argument(expr) {
        return Ok(null_of(&ty));
    }
    match &expr.kind {
        ExprKind::Literal(literal) => Ok(Node::Constant(Values::constant(logic::literal(literal, &ty)?))),
        ExprKind::Column(name) => column(name, &ty, schema),
        ExprKind::Field(parent, name) => field(parent, name, schema),
        ExprKind::ArrayItem(list, index) => apply([list, index], schema, collection::array_item()),
        ExprKind::MapItem(map, key) => apply([map, key], schema, collection::map_item()),
        ExprKind::Negate(operand) => apply([operand], schema, arithmetic::negate(ty)),
        ExprKind::Arithmetic(op, left, right) => {
            let (left_type, right_type) = (type_of(&left.ty), type_of(&right.ty));
            let kernel = match right.ty {
                ExprType::DayTimeInterval if left.ty != right.ty => interval::shift(*op, interval::Unit::Micros, &left_type, &ty)?,
                ExprType::YearMonthInterval if left.ty != right.ty => interval::shift(*op, interval::Unit::Months, &left_type, &ty)?,
                _ => arithmetic::kernel(*op, &left_type, &right_type, &ty)?,
            };
            apply([left, right], schema, kernel)
        }
        ExprKind::Compare(op, left, right) if left.ty == ExprType::Null && right.ty == ExprType::Null => {
            debug_assert_eq!(*op, CompareOp::NullSafeEqual, "null with any other");
            Ok(Node::Constant(Values::constant(logic::literal(&Literal::Boolean(true), &ty)?)))
        }
        ExprKind::Compare(op, left, right) => {
            let operands_type = match left.ty {
                ExprType::Null => type_of(&right.ty),
                _ => type_of(&left.ty),
            };
            let nodes = [left, right].map(|operand| compile_as(operand, &operands_type, schema));
            fold(nodes.into_iter().collect::<Result<_, _>>()?, compare::kernel(*op))
        }
        ExprKind::And(operands) => connected(operands, schema, Connective::And),
        ExprKind::Or(operands) => connected(operands, schema, Connective::Or),
        ExprKind::Not(operand) => fold(vec![boolean(operand, schema)?], logic::not()),
        ExprKind::In(operand, members) => {
            let nodes = std::iter::once(&**operand).chain(members);
            in_list(all_as(nodes, &type_of(&operand.ty), schema)?)
        }
        ExprKind::IsNull(operand) => apply([operand], schema, logic::is_null()),
        ExprKind::IsTruth(operand, wanted) => fold(vec![boolean(operand, schema)?], logic::is_truth(*wanted)),
        ExprKind::Like {
            text,
            pattern,
            escape,
            any_case,
        } => {
            let (text, pattern) = (compile(text, schema)?, compile(pattern, schema)?);
            let kernel = like::kernel(pattern.constant_value(), *escape, *any_case)?;
            settle(vec![text, pattern], Compute::Metered(kernel))
        }
        ExprKind::RLike(text, pattern) => settle(vec![compile(text, schema)?], Compute::Metered(like::regular(pattern.clone()))),
        ExprKind::Case { branches, otherwise } => {
            let mut nodes = Vec::with_capacity(branches.len() * 2 + 1);
            for (condition, result) in branches {
                nodes.push(boolean(condition, schema)?);
                nodes.push(compile_as(result, &ty, schema)?);
            }
            nodes.push(match otherwise {
                Some(otherwise) => compile_as(otherwise, &ty, schema)?,
                None => null_of(&ty),
            });
            fold(nodes, logic::case())
        }
        ExprKind::Cast(operand) => {
            let kernel = cast::kernel(&type_of(&operand.ty), &ty)?;
            apply([operand], schema, kernel)
        }
        ExprKind::Call(function, arguments) => {
            let kernel = function::kernel(*function, arguments, &ty)?;
            let nodes = match function {
                Function::Coalesce | Function::NullIf => all_as(arguments, &ty, schema)?,
                _ => arguments
                    .iter()
                    .map(|argument| compile(argument, schema))
                    .collect::<Result<_, _>>()?,
            };
            fold(nodes, kernel)
        }
    }
}

/// Compiles an expression that is of the type, or a bare NULL, which becomes null of it.
fn compile_as(expr: &Expr, ty: &ArrowType, schema: &Schema) -> Result<Node, FilterError> {
    match expr.ty {
        ExprType::Null => Ok(null_of(ty)),
        _ => compile(expr, schema),
    }
}

/// The Arrow type that values of an expression have. Intervals are microseconds or months.
fn type_of(ty: &ExprType) -> ArrowType {
    match ty {
        ExprType::Value(data_type) => arrow_type(data_type),
        ExprType::Null => ArrowType::Null,
        ExprType::DayTimeInterval | ExprType::YearMonthInterval => ArrowType::Int64,
    }
}

fn null_of(ty: &ArrowType) -> Node {
    Node::Constant(Values::constant(new_null_array(ty, 1)))
}

/// Whether an argument of VOID makes the whole expression null.
fn is_null_by_an_argument(expr: &Expr) -> bool {
    let null = |expr: &Expr| expr.ty == ExprType::Null;
    match &expr.kind {
        ExprKind::Field(operand, _) | ExprKind::Negate(operand) | ExprKind::Cast(operand) | ExprKind::RLike(operand, _) => null(operand),
        ExprKind::Compare(CompareOp::NullSafeEqual, ..) => false,
        ExprKind::ArrayItem(left, right)
        | ExprKind::MapItem(left, right)
        | ExprKind::Arithmetic(_, left, right)
        | ExprKind::Compare(_, left, right) => null(left) || null(right),
        ExprKind::Like { text, pattern, .. } => null(text) || null(pattern),
        ExprKind::In(operand, _) => null(operand),
        ExprKind::Call(Function::Coalesce | Function::NullIf, _) => false,
        ExprKind::Call(_, arguments) => arguments.iter().any(null),
        _ => false,
    }
}

fn column(name: &str, ty: &ArrowType, schema: &Schema) -> Result<Node, FilterError> {
    let (index, field) = schema
        .column_with_name(name)
        .ok_or_else(|| FilterError::mismatch(format!("a column `{name}`"), "none of that name"))?;
    if !field.data_type().equals_datatype(ty) {
        return Err(FilterError::mismatch(format!("`{name}` to be {ty}"), field.data_type()));
    }
    Ok(Node::Reference {
        column: index,
        fields: Vec::new(),
    })
}

/// A field of a reference is a reference.
fn field(parent: &Expr, name: &str, schema: &Schema) -> Result<Node, FilterError> {
    match compile(parent, schema)? {
        Node::Reference { column, mut fields } => {
            fields.push(name.to_owned());
            Ok(Node::Reference { column, fields })
        }
        other => fold(vec![other], nested::field(name)),
    }
}

fn apply<const N: usize>(arguments: [&Expr; N], schema: &Schema, kernel: Kernel) -> Result<Node, FilterError> {
    let nodes = arguments
        .into_iter()
        .map(|argument| compile(argument, schema))
        .collect::<Result<Vec<_>, _>>()?;
    fold(nodes, kernel)
}

fn connected(operands: &[Expr], schema: &Schema, connective: Connective) -> Result<Node, FilterError> {
    let nodes = operands
        .iter()
        .map(|operand| boolean(operand, schema))
        .collect::<Result<Vec<_>, _>>()?;
    if nodes.iter().all(|node| node.constant_value().is_some()) {
        let one_row = RecordBatch::try_new_with_options(
            Arc::new(Schema::empty()),
            Vec::new(),
            &RecordBatchOptions::new().with_row_count(Some(1)),
        )?;
        let answer = connect::evaluate(connective, &nodes, &Scope::of(&one_row, &Work::new()))?;
        return Ok(Node::Constant(Values::constant(Arc::new(answer))));
    }
    Ok(Node::Connected(connective, nodes))
}

fn all_as<'a>(expressions: impl IntoIterator<Item = &'a Expr>, ty: &ArrowType, schema: &Schema) -> Result<Vec<Node>, FilterError> {
    expressions.into_iter().map(|expr| compile_as(expr, ty, schema)).collect()
}

fn in_list(nodes: Vec<Node>) -> Result<Node, FilterError> {
    let members: Option<Vec<&Values>> = nodes.iter().skip(1).map(Node::constant_value).collect();
    match members.map(|members| membership::set(&members)).transpose()?.flatten() {
        Some(kernel) => fold(nodes.into_iter().take(1).collect(), kernel),
        None => fold(nodes, membership::list()),
    }
}

/// A node that applies a kernel; with constants alone, what it gives.
fn fold(arguments: Vec<Node>, kernel: Kernel) -> Result<Node, FilterError> {
    settle(arguments, Compute::Plain(kernel))
}

fn settle(arguments: Vec<Node>, compute: Compute) -> Result<Node, FilterError> {
    let constants: Option<Vec<Values>> = arguments.iter().map(|node| node.constant_value().cloned()).collect();
    match constants {
        Some(constants) => {
            let value = compute.apply(&constants, 1, &Work::new())?;
            Ok(Node::Constant(Values::constant(value)))
        }
        None => Ok(Node::Apply { arguments, compute }),
    }
}
