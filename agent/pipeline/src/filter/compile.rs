//! From a checked expression to a tree of kernels.
//!
//! Columns are found by name once and their types compared with the filter's; an expression of constants is evaluated once. The one
//! invariant: a kernel gets arguments of the types it was made for.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType as ArrowType, Schema};
use stream_decode::arrow_types::arrow_type;
use stream_spec::filter::expr::{CompareOp, Expr, ExprKind, ExprType, Function, Literal};
use stream_spec::types::DataType;

use super::connect::{self, Connective};
use super::error::FilterError;
use super::node::{Compute, Kernel, Node, Scope};
use super::values::Values;
use super::work::Work;
use super::{arithmetic, cast, collection, compare, function, interval, like, logic, membership, nested};

/// What a filter reads, and what is known of it so far: references are many, and the columns may be wide.
struct Columns<'a> {
    schema: &'a Schema,
    /// Arrow's types of the expressions' types with parts, by the address at which an expression has it.
    types: RefCell<BTreeMap<*const DataType, ArrowType>>,
    /// Columns of which the type was compared.
    compared: RefCell<BTreeSet<usize>>,
}

impl Columns<'_> {
    /// The Arrow type that values of an expression have. Intervals are microseconds or months.
    fn type_of(&self, ty: &ExprType) -> ArrowType {
        match ty {
            ExprType::Value(data_type) => arrow_type(data_type),
            ExprType::Parts(data_type) => {
                let mut known = self.types.borrow_mut();
                known.entry(Arc::as_ptr(data_type)).or_insert_with(|| arrow_type(data_type)).clone()
            }
            ExprType::Null => ArrowType::Null,
            ExprType::DayTimeInterval | ExprType::YearMonthInterval => ArrowType::Int64,
        }
    }
}

/// Compiles a predicate for batches of a schema.
pub(super) fn predicate(expr: &Expr, schema: &Schema) -> Result<Node, FilterError> {
    let columns = Columns {
        schema,
        types: RefCell::default(),
        compared: RefCell::default(),
    };
    boolean(expr, &columns)
}

/// Compiles an expression that is true, false or null, a bare NULL included.
fn boolean(expr: &Expr, columns: &Columns<'_>) -> Result<Node, FilterError> {
    match expr.ty {
        ExprType::Null => Ok(null_of(&ArrowType::Boolean)),
        _ => compile(expr, columns),
    }
}

/// Compiles any expression.
fn compile(expr: &Expr, columns: &Columns<'_>) -> Result<Node, FilterError> {
    let ty = columns.type_of(&expr.ty);
    if expr.ty == ExprType::Null || is_null_by_an_argument(expr) {
        return Ok(null_of(&ty));
    }
    match &expr.kind {
        ExprKind::Literal(literal) => Ok(Node::Constant(Values::constant(logic::literal(literal, &ty)?))),
        ExprKind::Column(name) => column(name, &ty, columns),
        ExprKind::Field(parent, name) => field(parent, name, columns),
        ExprKind::ArrayItem(list, index) => apply([list, index], columns, collection::array_item()),
        ExprKind::MapItem(map, key) => apply([map, key], columns, collection::map_item()),
        ExprKind::Negate(operand) => apply([operand], columns, arithmetic::negate(ty)),
        ExprKind::Arithmetic(op, left, right) => {
            let (left_type, right_type) = (columns.type_of(&left.ty), columns.type_of(&right.ty));
            let kernel = match right.ty {
                ExprType::DayTimeInterval if left.ty != right.ty => interval::shift(*op, interval::Unit::Micros, &left_type, &ty)?,
                ExprType::YearMonthInterval if left.ty != right.ty => interval::shift(*op, interval::Unit::Months, &left_type, &ty)?,
                _ => arithmetic::kernel(*op, &left_type, &right_type, &ty)?,
            };
            apply([left, right], columns, kernel)
        }
        ExprKind::Compare(op, left, right) if left.ty == ExprType::Null && right.ty == ExprType::Null => {
            debug_assert_eq!(*op, CompareOp::NullSafeEqual, "null with any other");
            Ok(Node::Constant(Values::constant(logic::literal(&Literal::Boolean(true), &ty)?)))
        }
        ExprKind::Compare(op, left, right) => {
            let operands_type = match left.ty {
                ExprType::Null => columns.type_of(&right.ty),
                _ => columns.type_of(&left.ty),
            };
            let nodes = [left, right].map(|operand| compile_as(operand, &operands_type, columns));
            fold(nodes.into_iter().collect::<Result<_, _>>()?, compare::kernel(*op))
        }
        ExprKind::And(operands) => connected(operands, columns, Connective::And),
        ExprKind::Or(operands) => connected(operands, columns, Connective::Or),
        ExprKind::Not(operand) => fold(vec![boolean(operand, columns)?], logic::not()),
        ExprKind::In(operand, members) => {
            let nodes = std::iter::once(&**operand).chain(members);
            in_list(all_as(nodes, &columns.type_of(&operand.ty), columns)?)
        }
        ExprKind::IsNull(operand) => apply([operand], columns, logic::is_null()),
        ExprKind::IsTruth(operand, wanted) => fold(vec![boolean(operand, columns)?], logic::is_truth(*wanted)),
        ExprKind::Like {
            text,
            pattern,
            escape,
            any_case,
        } => {
            let (text, pattern) = (compile(text, columns)?, compile(pattern, columns)?);
            let kernel = like::kernel(pattern.constant_value(), *escape, *any_case)?;
            settle(vec![text, pattern], Compute::Metered(kernel))
        }
        ExprKind::RLike(text, pattern) => settle(vec![compile(text, columns)?], Compute::Metered(like::regular(pattern.clone()))),
        ExprKind::Case { branches, otherwise } => {
            let mut nodes = Vec::with_capacity(branches.len() * 2 + 1);
            for (condition, result) in branches {
                nodes.push(boolean(condition, columns)?);
                nodes.push(compile_as(result, &ty, columns)?);
            }
            nodes.push(match otherwise {
                Some(otherwise) => compile_as(otherwise, &ty, columns)?,
                None => null_of(&ty),
            });
            fold(nodes, logic::case())
        }
        ExprKind::Cast(operand) => {
            let kernel = cast::kernel(&columns.type_of(&operand.ty), &ty)?;
            apply([operand], columns, kernel)
        }
        ExprKind::Call(function, arguments) => {
            let kernel = function::kernel(*function, arguments, &ty)?;
            let nodes = match function {
                Function::Coalesce | Function::NullIf => all_as(arguments, &ty, columns)?,
                _ => arguments
                    .iter()
                    .map(|argument| compile(argument, columns))
                    .collect::<Result<_, _>>()?,
            };
            fold(nodes, kernel)
        }
    }
}

/// Compiles an expression that is of the type, or a bare NULL, which becomes null of it.
fn compile_as(expr: &Expr, ty: &ArrowType, columns: &Columns<'_>) -> Result<Node, FilterError> {
    match expr.ty {
        ExprType::Null => Ok(null_of(ty)),
        _ => compile(expr, columns),
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

fn column(name: &str, ty: &ArrowType, columns: &Columns<'_>) -> Result<Node, FilterError> {
    let (column, field) = columns
        .schema
        .column_with_name(name)
        .ok_or_else(|| FilterError::mismatch(format!("a column `{name}`"), "none of that name"))?;
    // One filter has one type of a column.
    if columns.compared.borrow_mut().insert(column) && !field.data_type().equals_datatype(ty) {
        return Err(FilterError::mismatch(format!("`{name}` to be {ty}"), field.data_type()));
    }
    Ok(Node::Reference {
        column,
        fields: Vec::new(),
    })
}

/// A field of a reference is a reference.
fn field(parent: &Expr, name: &str, columns: &Columns<'_>) -> Result<Node, FilterError> {
    match compile(parent, columns)? {
        Node::Reference { column, mut fields } => {
            fields.push(name.to_owned());
            Ok(Node::Reference { column, fields })
        }
        other => fold(vec![other], nested::field(name)),
    }
}

fn apply<const N: usize>(arguments: [&Expr; N], columns: &Columns<'_>, kernel: Kernel) -> Result<Node, FilterError> {
    let nodes = arguments
        .into_iter()
        .map(|argument| compile(argument, columns))
        .collect::<Result<Vec<_>, _>>()?;
    fold(nodes, kernel)
}

fn connected(operands: &[Expr], columns: &Columns<'_>, connective: Connective) -> Result<Node, FilterError> {
    let nodes = operands
        .iter()
        .map(|operand| boolean(operand, columns))
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

fn all_as<'a>(expressions: impl IntoIterator<Item = &'a Expr>, ty: &ArrowType, columns: &Columns<'_>) -> Result<Vec<Node>, FilterError> {
    expressions.into_iter().map(|expr| compile_as(expr, ty, columns)).collect()
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
