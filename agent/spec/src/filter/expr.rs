//! A checked predicate. Every coercion that Spark's analyser would add is a [`ExprKind::Cast`] here, every name is resolved and every
//! function has arguments of the types it takes: evaluation converts nothing by itself and refuses nothing.
//!
//! Where Spark, with ANSI mode on as it is by default, would stop the query for a record (a division by zero, a cast of an
//! unreadable text, an overflow, an index out of bounds), the sub-expression is null here: a stream never stops for a record.
//! A CAST of BINARY to STRING has U+FFFD for bytes that are no UTF-8, which Spark keeps: different bytes may become equal texts.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::path::ColumnPath;
use crate::types::DataType;

/// A predicate that can be evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    /// A BOOLEAN (or a bare NULL): a record is kept where it is true.
    pub predicate: Expr,
    /// Everything it reads: the deepest struct field of each column reference, so what an update must not take away.
    pub reads: BTreeSet<ColumnPath>,
}

/// An expression with its type.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it evaluates to.
    pub ty: ExprType,
    /// What it is.
    pub kind: ExprKind,
}

impl Expr {
    /// How many expressions it is, itself included.
    pub(super) fn size(&self) -> usize {
        let (mut size, mut left) = (0, vec![self]);
        while let Some(expr) = left.pop() {
            size += 1;
            left.extend(expr.operands());
        }
        size
    }

    /// The expressions that it is made of.
    pub(super) fn operands(&self) -> Vec<&Self> {
        match &self.kind {
            ExprKind::Literal(_) | ExprKind::Column(_) => Vec::new(),
            ExprKind::Field(inner, _)
            | ExprKind::Negate(inner)
            | ExprKind::Not(inner)
            | ExprKind::IsNull(inner)
            | ExprKind::IsTruth(inner, _)
            | ExprKind::RLike(inner, _)
            | ExprKind::Cast(inner) => vec![inner],
            ExprKind::ArrayItem(one, other)
            | ExprKind::MapItem(one, other)
            | ExprKind::Arithmetic(_, one, other)
            | ExprKind::Compare(_, one, other)
            | ExprKind::Like {
                text: one, pattern: other, ..
            } => vec![one, other],
            ExprKind::And(parts) | ExprKind::Or(parts) | ExprKind::Call(_, parts) => parts.iter().collect(),
            ExprKind::In(operand, list) => std::iter::once(operand.as_ref()).chain(list).collect(),
            ExprKind::Case { branches, otherwise } => {
                let branches = branches.iter().flat_map(|(condition, result)| [condition, result]);
                branches.chain(otherwise.as_deref()).collect()
            }
        }
    }
}

/// The type of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExprType {
    /// A value without parts that a column could hold.
    Value(DataType),
    /// A STRUCT, ARRAY or MAP. All expressions of one filter that are of the same have it together: it may be a schema of thousands of fields.
    Parts(Arc<DataType>),
    /// Spark's VOID: only ever null.
    Null,
    /// `INTERVAL … DAY TO SECOND`, microseconds.
    DayTimeInterval,
    /// `INTERVAL … YEAR TO MONTH`, months.
    YearMonthInterval,
}

impl ExprType {
    /// The type of such values.
    pub fn of(data_type: DataType) -> Self {
        match data_type {
            DataType::Struct(_) | DataType::Array(_) | DataType::Map(..) => Self::Parts(Arc::new(data_type)),
            atomic => Self::Value(atomic),
        }
    }

    /// The column type; none for NULL and intervals.
    pub fn data_type(&self) -> Option<&DataType> {
        match self {
            Self::Value(data_type) => Some(data_type),
            Self::Parts(data_type) => Some(data_type),
            Self::Null | Self::DayTimeInterval | Self::YearMonthInterval => None,
        }
    }
}

impl std::fmt::Display for ExprType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Value(data_type) => write!(f, "{data_type}"),
            Self::Parts(data_type) => write!(f, "{data_type}"),
            Self::Null => f.write_str("NULL"),
            Self::DayTimeInterval => f.write_str("INTERVAL DAY TO SECOND"),
            Self::YearMonthInterval => f.write_str("INTERVAL YEAR TO MONTH"),
        }
    }
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A constant.
    Literal(Literal),
    /// A top-level column of the record: `key`, `value` or one of the source's metadata columns, by its exact name.
    Column(String),
    /// A struct's field by its exact name; over an array of structs, the array of that field.
    Field(Box<Expr>, String),
    /// `array[i]` with an INT index from 0; null out of bounds.
    ArrayItem(Box<Expr>, Box<Expr>),
    /// `map[key]`: the value of the first entry with that key; null without one.
    MapItem(Box<Expr>, Box<Expr>),
    /// `-x` of a number or an interval.
    Negate(Box<Expr>),
    /// Arithmetic of two operands of one type (DECIMALs: of their own ones; dates and timestamps: with an interval on the right, or
    /// a difference of two of a kind). The expression's type is the result's.
    Arithmetic(ArithmeticOp, Box<Expr>, Box<Expr>),
    /// A comparison of two operands of one type.
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    /// Three-valued AND of two or more.
    And(Vec<Expr>),
    /// Three-valued OR of two or more.
    Or(Vec<Expr>),
    /// Three-valued NOT.
    Not(Box<Expr>),
    /// `x IN (…)`: all of one type. NOT IN is a `Not` around it.
    In(Box<Expr>, Vec<Expr>),
    /// `x IS NULL`; never null itself.
    IsNull(Box<Expr>),
    /// `x IS TRUE` or `x IS FALSE`; never null itself.
    IsTruth(Box<Expr>, bool),
    /// LIKE, or ILIKE if `any_case`. The pattern may be any STRING expression.
    Like {
        /// The text.
        text: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// What takes a wildcard its meaning; `\` unless said otherwise.
        escape: char,
        /// ILIKE.
        any_case: bool,
    },
    /// RLIKE (and `regexp_like`): the pattern is found somewhere in the text.
    RLike(Box<Expr>, crate::regex::JavaPattern),
    /// Searched CASE and `if`: the result of the first condition that is true, else `otherwise`, else null. Results are of one type.
    Case {
        /// Conditions and results.
        branches: Vec<(Expr, Expr)>,
        /// ELSE.
        otherwise: Option<Box<Expr>>,
    },
    /// A conversion to the expression's type, by Spark's ANSI rules; null where those raise.
    Cast(Box<Expr>),
    /// A function's call.
    Call(Function, Vec<Expr>),
}

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// NULL of any type.
    Null,
    /// BOOLEAN.
    Boolean(bool),
    /// TINYINT to BIGINT (the expression's type says which), DATE as days, TIMESTAMP(_NTZ) as microseconds, intervals as microseconds
    /// or months.
    Integer(i64),
    /// FLOAT (exactly widened) or DOUBLE.
    Double(f64),
    /// DECIMAL: the unscaled number.
    Decimal(i128),
    /// STRING.
    String(String),
    /// BINARY.
    Binary(Vec<u8>),
}

/// An arithmetic operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithmeticOp {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`: DOUBLE or DECIMAL.
    Divide,
    /// `DIV`: BIGINT.
    IntegralDivide,
    /// `%` and `mod`: the sign is the dividend's.
    Remainder,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    /// `=`
    Equal,
    /// `<=>`: null equals null, and it is never null itself. `!=` is a `Not` around `Equal`.
    NullSafeEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// A function, with Spark's name. Argument types are Spark's; the parser has cast them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// `lower(STRING)`
    Lower,
    /// `upper(STRING)`
    Upper,
    /// `trim(STRING)`, spaces only; with a second argument, those characters.
    Trim,
    /// `ltrim`
    LeftTrim,
    /// `rtrim`
    RightTrim,
    /// `length(STRING)` in characters, `length(BINARY)` in bytes: INT.
    Length,
    /// `substring(STRING or BINARY, INT[, INT])`, from 1; negative from the end.
    Substring,
    /// `concat(STRING…)`
    Concat,
    /// `coalesce(T…)`
    Coalesce,
    /// `abs(number)`
    Abs,
    /// `round(number[, INT literal])`, HALF_UP.
    Round,
    /// `size(ARRAY or MAP)`: INT; null of null.
    Size,
    /// `array_contains(ARRAY<T>, T)`
    ArrayContains,
    /// `element_at(ARRAY, INT)` from 1, negative from the end, or `element_at(MAP, key)`.
    ElementAt,
    /// `map_keys(MAP)`
    MapKeys,
    /// `map_values(MAP)`
    MapValues,
    /// `get_json_object(STRING, STRING literal)`
    GetJsonObject,
    /// `to_date(STRING[, STRING literal])`
    ToDate,
    /// `to_timestamp(STRING[, STRING literal])`
    ToTimestamp,
    /// `date_trunc(STRING, TIMESTAMP)`
    DateTrunc,
    /// `year(DATE)` and the like: INT. TIMESTAMPs are cast.
    Year,
    /// `month(DATE)`
    Month,
    /// `day(DATE)`
    Day,
    /// `hour(TIMESTAMP)` in UTC.
    Hour,
    /// `minute(TIMESTAMP)`
    Minute,
    /// `second(TIMESTAMP)`
    Second,
    /// `unix_timestamp(TIMESTAMP or DATE or STRING[, STRING literal])`: BIGINT seconds.
    UnixTimestamp,
    /// `startswith(STRING, STRING)`
    StartsWith,
    /// `endswith(STRING, STRING)`
    EndsWith,
    /// `contains(STRING, STRING)`
    Contains,
    /// `nullif(T, T)`
    NullIf,
}
