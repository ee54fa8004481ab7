//! Functions: the arguments that they take, and the type of the result. Those on texts are in `texts`, on times in `times`.

use super::coerce::{argument, cast, cast_to, common, is, is_integral, is_null, is_numeric, is_string, tightest, value_type};
use super::expr::{CompareOp, Expr, ExprKind, ExprType, Function, Literal};
use super::literal::{constant, null};
use super::problem::Refusal;
use super::{casts, operators, texts};
use crate::types::DataType;

pub(super) fn of(ty: DataType, function: Function, arguments: Vec<Expr>) -> Expr {
    Expr {
        ty: ExprType::of(ty),
        kind: ExprKind::Call(function, arguments),
    }
}

/// Arguments of a call that are still to be taken.
pub(super) struct Arguments<'n> {
    pub(super) name: &'n str,
    left: std::vec::IntoIter<Expr>,
    taken: usize,
}

impl Arguments<'_> {
    pub(super) fn wrong_count(&self, expected: &str) -> Refusal {
        let given = self.taken + self.left.len();
        Refusal::new(
            format!("`{}` takes {expected}, and not {given}", self.name),
            "give the arguments that it takes",
        )
    }

    pub(super) fn next(&mut self) -> Option<Expr> {
        let next = self.left.next();
        self.taken += usize::from(next.is_some());
        next
    }

    /// The next argument as a type, converted as Spark does implicitly.
    pub(super) fn of_type(&mut self, data_type: &DataType, expected: &str) -> Result<Expr, Refusal> {
        let Some(next) = self.next() else {
            return Err(self.wrong_count(expected));
        };
        let ty = next.ty.clone();
        argument(next, data_type).ok_or_else(|| self.unfit(&ty, &data_type.to_string()))
    }

    pub(super) fn optional_of_type(&mut self, data_type: &DataType, expected: &str) -> Result<Option<Expr>, Refusal> {
        if self.left.len() == 0 {
            Ok(None)
        } else {
            self.of_type(data_type, expected).map(Some)
        }
    }

    pub(super) fn unfit(&self, given: &ExprType, wanted: &str) -> Refusal {
        Refusal::new(
            format!("argument {} of `{}` is {given}, and {wanted} is needed", self.taken, self.name),
            format!("give {wanted}, or convert with CAST"),
        )
    }

    pub(super) fn end(&self, expected: &str) -> Result<(), Refusal> {
        if self.left.len() == 0 {
            Ok(())
        } else {
            Err(self.wrong_count(expected))
        }
    }

    /// Exactly one argument, of any type.
    pub(super) fn one(&mut self) -> Result<Expr, Refusal> {
        let next = self.next().ok_or_else(|| self.wrong_count("one argument"))?;
        self.end("one argument")?;
        Ok(next)
    }

    /// Exactly two arguments, of any type.
    pub(super) fn two(&mut self) -> Result<(Expr, Expr), Refusal> {
        let (Some(first), Some(second)) = (self.next(), self.next()) else {
            return Err(self.wrong_count("two arguments"));
        };
        self.end("two arguments")?;
        Ok((first, second))
    }
}

/// A call by its name in lower case.
pub(super) fn call(name: &str, arguments: Vec<Expr>) -> Result<Expr, Refusal> {
    let mut arguments = Arguments {
        name,
        left: arguments.into_iter(),
        taken: 0,
    };
    let args = &mut arguments;
    match name {
        "lower" | "lcase" => texts::of_text(args, Function::Lower, DataType::String),
        "upper" | "ucase" => texts::of_text(args, Function::Upper, DataType::String),
        "trim" | "btrim" => texts::trim(args, Function::Trim, name),
        "ltrim" => texts::trim(args, Function::LeftTrim, name),
        "rtrim" => texts::trim(args, Function::RightTrim, name),
        "length" | "len" | "char_length" | "character_length" => texts::length(args),
        "substring" | "substr" => texts::substring(args),
        "concat" => texts::concat(args.left.by_ref().collect()),
        "startswith" => texts::two_texts(args, Function::StartsWith),
        "endswith" => texts::two_texts(args, Function::EndsWith),
        "contains" => texts::two_texts(args, Function::Contains),
        "regexp_like" | "regexp" | "rlike" => {
            let (text, pattern) = args.two()?;
            texts::regexp_like(text, &pattern)
        }
        "get_json_object" => texts::get_json_object(args),
        "abs" => abs(args),
        "round" => round(args),
        "mod" => {
            let (left, right) = args.two()?;
            operators::arithmetic(super::expr::ArithmeticOp::Remainder, left, right, None)
        }
        "coalesce" | "ifnull" | "nvl" => coalesce(args),
        "if" => branch(args),
        "nullif" => nullif(args),
        "size" | "cardinality" | "array_size" => size(args),
        "array_contains" => array_contains(args),
        "element_at" => element_at(args),
        "map_keys" | "map_values" => map_part(args),
        _ if super::times::is_function(name) => super::times::call(name, args.left.by_ref().collect()),
        _ => match casts::named(name) {
            Some(target) => casts::explicit(args.one()?, target),
            None => Err(Refusal::new(format!("`{name}` is not supported"), "use a function that there is")),
        },
    }
}

/// A number, or a text or NULL as a DOUBLE.
fn number(args: &Arguments<'_>, expr: Expr) -> Result<(Expr, DataType), Refusal> {
    let expr = if is_string(&expr) || is_null(&expr) {
        cast_to(expr, DataType::Double)
    } else {
        expr
    };
    match value_type(&expr).filter(|data_type| is_numeric(data_type)).cloned() {
        Some(data_type) => Ok((expr, data_type)),
        None => Err(args.unfit(&expr.ty, "a number")),
    }
}

fn abs(args: &mut Arguments<'_>) -> Result<Expr, Refusal> {
    let expr = args.one()?;
    let (expr, data_type) = number(args, expr)?;
    Ok(of(data_type, Function::Abs, vec![expr]))
}

fn round(args: &mut Arguments<'_>) -> Result<Expr, Refusal> {
    const EXPECTED: &str = "one or two arguments";
    let first = args.next().ok_or_else(|| args.wrong_count(EXPECTED))?;
    let (expr, data_type) = number(args, first)?;
    let places = args.next();
    args.end(EXPECTED)?;
    let places = match places.as_ref().map(|places| &places.kind) {
        None => None,
        Some(ExprKind::Literal(Literal::Integer(places))) if (-400..=400).contains(places) => Some(*places),
        Some(_) => {
            return Err(Refusal::new(
                "the number of places is not a literal",
                "write a whole number, as in `round(x, 2)`",
            ));
        }
    };
    let data_type = match data_type {
        DataType::Decimal { precision, scale } => rounded(precision, scale, places.unwrap_or(0)),
        other => other,
    };
    let places = places.map(|places| constant(DataType::Int, Literal::Integer(places)));
    Ok(of(data_type, Function::Round, std::iter::once(expr).chain(places).collect()))
}

/// The DECIMAL of a rounded one: a digit more before the point, as 9.9 rounds to 10.
fn rounded(precision: u8, scale: u8, places: i64) -> DataType {
    let before_point = i64::from(precision) - i64::from(scale) + 1;
    let (precision, scale) = if places < 0 {
        (before_point.max(1 - places), 0)
    } else {
        let scale = i64::from(scale).min(places);
        (before_point + scale, scale)
    };
    DataType::Decimal {
        precision: u8::try_from(precision.min(38)).unwrap_or(38),
        scale: u8::try_from(scale).unwrap_or(0),
    }
}

/// One type of several results.
fn in_common(results: &[&Expr]) -> Result<ExprType, Refusal> {
    let unlike = || {
        let mut kinds: Vec<String> = results.iter().map(|result| result.ty.to_string()).collect();
        kinds.dedup();
        Refusal::new(
            format!("results of {} have no type in common", kinds.join(" and ")),
            "convert them to one type with CAST",
        )
    };
    let ty = common(results.iter().map(|result| &result.ty)).ok_or_else(unlike)?;
    // Values with parts are handed on, never converted.
    if matches!(ty, ExprType::Parts(_)) && results.iter().any(|result| result.ty != ty && !is_null(result)) {
        return Err(unlike());
    }
    Ok(ty)
}

fn coalesce(args: &mut Arguments<'_>) -> Result<Expr, Refusal> {
    let given: Vec<Expr> = args.left.by_ref().collect();
    args.taken = given.len();
    let fits = if args.name == "coalesce" {
        !given.is_empty()
    } else {
        given.len() == 2
    };
    if !fits {
        return Err(args.wrong_count(if args.name == "coalesce" {
            "one argument or more"
        } else {
            "two arguments"
        }));
    }
    let ty = in_common(&given.iter().collect::<Vec<_>>())?;
    if ty == ExprType::Null {
        return Ok(null(ty));
    }
    let given = given.into_iter().map(|argument| cast(argument, ty.clone())).collect();
    Ok(Expr {
        ty,
        kind: ExprKind::Call(Function::Coalesce, given),
    })
}

/// A condition of CASE or `if`: unlike AND's operands, no text is taken for it.
pub(super) fn branch_condition(condition: Expr) -> Result<Expr, Refusal> {
    if is(&condition, &DataType::Boolean) {
        return Ok(condition);
    }
    Err(Refusal::new(
        format!("the condition is {}, and BOOLEAN is needed", condition.ty),
        "compare it with something, as in `value.amount > 0`",
    ))
}

fn branch(args: &mut Arguments<'_>) -> Result<Expr, Refusal> {
    const EXPECTED: &str = "three arguments";
    let (Some(condition), Some(then), Some(otherwise)) = (args.next(), args.next(), args.next()) else {
        return Err(args.wrong_count(EXPECTED));
    };
    args.end(EXPECTED)?;
    let condition = if is_null(&condition) {
        cast_to(condition, DataType::Boolean)
    } else {
        branch_condition(condition)?
    };
    case(vec![condition], vec![then], Some(otherwise))
}

/// Searched CASE, its results in one type.
pub(super) fn case(conditions: Vec<Expr>, results: Vec<Expr>, otherwise: Option<Expr>) -> Result<Expr, Refusal> {
    let ty = in_common(&results.iter().chain(&otherwise).collect::<Vec<_>>())?;
    let results = results.into_iter().map(|result| cast(result, ty.clone()));
    let branches = conditions.into_iter().zip(results).collect();
    let otherwise = otherwise.map(|otherwise| Box::new(cast(otherwise, ty.clone())));
    Ok(Expr {
        ty,
        kind: ExprKind::Case { branches, otherwise },
    })
}

/// `nullif(a, b)` is of a's type; where the comparison converts, it is a CASE.
fn nullif(args: &mut Arguments<'_>) -> Result<Expr, Refusal> {
    let (value, unwanted) = args.two()?;
    let ty = value.ty.clone();
    if ty == unwanted.ty && ty != ExprType::Null {
        operators::compare(CompareOp::Equal, value.clone(), unwanted.clone())?;
        return Ok(Expr {
            ty,
            kind: ExprKind::Call(Function::NullIf, vec![value, unwanted]),
        });
    }
    let equal = operators::compare(CompareOp::Equal, value.clone(), unwanted)?;
    Ok(Expr {
        kind: ExprKind::Case {
            branches: vec![(equal, null(ty.clone()))],
            otherwise: Some(Box::new(value)),
        },
        ty,
    })
}

fn size(args: &mut Arguments<'_>) -> Result<Expr, Refusal> {
    let collection = args.one()?;
    match value_type(&collection) {
        Some(DataType::Array(_)) => {}
        Some(DataType::Map(..)) if args.name != "array_size" => {}
        _ => return Err(args.unfit(&collection.ty, "an ARRAY or MAP")),
    }
    Ok(of(DataType::Int, Function::Size, vec![collection]))
}

fn array_contains(args: &mut Arguments<'_>) -> Result<Expr, Refusal> {
    let (array, wanted) = args.two()?;
    let Some(DataType::Array(element)) = value_type(&array) else {
        return Err(args.unfit(&array.ty, "an ARRAY"));
    };
    let element_type = ExprType::of((**element).clone());
    let unfit = || {
        Refusal::new(
            format!("an array of {element_type} cannot contain {}", wanted.ty),
            "look for a value of the elements' type",
        )
    };
    if !matches!(element_type, ExprType::Value(_)) || is_null(&wanted) {
        return Err(unfit());
    }
    // Decimals widen; a text and a number have nothing in common here.
    let text_differs = is_string(&wanted) != (element_type == ExprType::Value(DataType::String));
    let Some(ExprType::Value(ty)) = (if text_differs { None } else { common([&element_type, &wanted.ty]) }) else {
        return Err(unfit());
    };
    let array = cast_to(array, DataType::Array(Box::new(ty.clone())));
    Ok(of(DataType::Boolean, Function::ArrayContains, vec![array, cast_to(wanted, ty)]))
}

fn element_at(args: &mut Arguments<'_>) -> Result<Expr, Refusal> {
    let (collection, key) = args.two()?;
    match value_type(&collection) {
        Some(DataType::Array(element)) => {
            let element = (**element).clone();
            let small = value_type(&key).is_some_and(|key| is_integral(key) && *key != DataType::BigInt);
            if !small {
                return Err(args.unfit(&key.ty, "INT"));
            }
            let key = cast_to(key, DataType::Int);
            Ok(of(element, Function::ElementAt, vec![collection, key]))
        }
        Some(DataType::Map(key_type, value)) => {
            let (key_type, value) = (ExprType::of((**key_type).clone()), (**value).clone());
            if is_null(&key) || tightest(&key_type, &key.ty) != Some(key_type.clone()) {
                return Err(args.unfit(&key.ty, &key_type.to_string()));
            }
            Ok(of(value, Function::ElementAt, vec![collection, cast(key, key_type)]))
        }
        _ => Err(args.unfit(&collection.ty, "an ARRAY or MAP")),
    }
}

fn map_part(args: &mut Arguments<'_>) -> Result<Expr, Refusal> {
    let map = args.one()?;
    let Some(DataType::Map(key, value)) = value_type(&map) else {
        return Err(args.unfit(&map.ty, "a MAP"));
    };
    let (function, element) = if args.name == "map_keys" {
        (Function::MapKeys, key)
    } else {
        (Function::MapValues, value)
    };
    let array = DataType::Array(element.clone());
    Ok(of(array, function, vec![map]))
}
