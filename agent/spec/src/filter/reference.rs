//! Names: columns, fields of structs, elements of arrays, values of maps. As in Spark, the case of a name does not matter.

use sqlparser::ast::{AccessExpr, Expr as Sql, Ident, Subscript, Value};
use sqlparser::tokenizer::Span;

use super::check::Checker;
use super::coerce;
use super::expr::{Expr, ExprKind, ExprType, Literal};
use super::literal::{self, constant};
use super::problem::Refusal;
use super::span;
use crate::path::{ColumnPath, kind};
use crate::suggest;
use crate::table::RECORD_SOURCE;
use crate::types::{DataType, Field};

/// A reference on its way down from a column.
struct Place {
    expr: Expr,
    /// Exact names so far, while they lead through structs only.
    path: Vec<String>,
    /// The reference has stepped into an array or a map: the path goes no deeper.
    inside: bool,
}

impl Checker<'_> {
    /// `a.b.c`, and what is accessed below it.
    pub(super) fn named(&mut self, names: &[Ident], below: &[AccessExpr]) -> Option<Expr> {
        let (first, fields) = names.split_first()?;
        let mut place = self.column(first)?;
        for name in fields {
            place = self.field(place, &name.value, Some(name.span))?;
        }
        for access in below {
            place = self.access(place, access)?;
        }
        self.note(&place);
        Some(place.expr)
    }

    /// `expr.field`, `expr[i]`, `expr['key']`.
    pub(super) fn accessed(&mut self, root: &Sql, below: &[AccessExpr]) -> Option<Expr> {
        match root {
            Sql::Identifier(name) => return self.named(std::slice::from_ref(name), below),
            Sql::CompoundIdentifier(names) => return self.named(names, below),
            _ => {}
        }
        let mut place = Place {
            expr: self.shared(root)?,
            path: Vec::new(),
            inside: true,
        };
        for access in below {
            place = self.access(place, access)?;
        }
        Some(place.expr)
    }

    /// An operand whose type is one of those that are shared: steps into it lead to more of these.
    fn shared(&mut self, root: &Sql) -> Option<Expr> {
        let expr = self.operand(root)?;
        Some(Expr {
            ty: self.types.shared(expr.ty),
            ..expr
        })
    }

    fn note(&mut self, place: &Place) {
        // Names that no path can have are refused with their schema.
        self.reads.extend(ColumnPath::parse(&place.path.join(".")).ok());
    }

    fn column(&mut self, name: &Ident) -> Option<Place> {
        let columns = self.columns;
        let mut found = columns.iter().filter(|column| same_name(&column.name, &name.value));
        if let Some(column) = found.next() {
            return Some(Place {
                expr: Expr {
                    ty: self.types.at(&column.data_type),
                    kind: ExprKind::Column(column.name.clone()),
                },
                path: vec![column.name.clone()],
                inside: false,
            });
        }
        let refusal = unknown_column(&name.value, columns);
        self.refuse(known(name.span), refusal)
    }

    fn access(&mut self, place: Place, access: &AccessExpr) -> Option<Place> {
        match access {
            AccessExpr::Dot(Sql::Identifier(name)) => self.field(place, &name.value, Some(name.span)),
            AccessExpr::Subscript(Subscript::Index { index }) => self.item(place, index),
            AccessExpr::Dot(other) => {
                let refusal = Refusal::new(
                    "a name is expected after the dot",
                    "write a field's name, in backticks if it is not a plain word",
                );
                self.refuse(span::of(other), refusal)
            }
            AccessExpr::Subscript(Subscript::Slice { .. }) => self.refuse(
                None,
                Refusal::new("slices of arrays are not supported", "take one element, as in `value.items[0]`"),
            ),
        }
    }

    /// A step by name: a struct's field, that field of every struct in an array, or a map's value.
    fn field(&mut self, place: Place, name: &str, at: Option<Span>) -> Option<Place> {
        // Another owner of the type, while the place changes.
        let ty = place.expr.ty.clone();
        match ty.data_type() {
            Some(DataType::Struct(fields)) => {
                let field = self.find(&place, fields, name, at)?;
                Some(place.into_field(field.name.clone(), self.types.at(&field.data_type)))
            }
            Some(DataType::Array(element)) => match &**element {
                DataType::Struct(fields) => {
                    let field = self.find(&place, fields, name, at)?;
                    let array = ExprType::of(DataType::Array(Box::new(field.data_type.clone())));
                    let inside = true;
                    Some(Place { inside, ..place }.into_field(field.name.clone(), self.types.shared(array)))
                }
                other => {
                    let problem = format!("the elements are {}, which have no field `{name}`", kind(other));
                    self.refuse(
                        at.and_then(known),
                        Refusal::new(problem, "take an element first, as in `value.items[0]`"),
                    )
                }
            },
            Some(DataType::Map(key, value)) if **key == DataType::String => {
                let key = constant(DataType::String, Literal::String(name.to_owned()));
                Some(place.into_item(self.types.at(value), |map| ExprKind::MapItem(map, Box::new(key))))
            }
            _ => {
                let problem = format!("{} has no field `{name}`", place.expr.ty);
                self.refuse(at.and_then(known), Refusal::new(problem, "name a field of a struct"))
            }
        }
    }

    fn find<'f>(&mut self, place: &Place, fields: &'f [Field], name: &str, at: Option<Span>) -> Option<&'f Field> {
        let found: Vec<&Field> = fields.iter().filter(|field| same_name(&field.name, name)).collect();
        match found.as_slice() {
            [field] => return Some(field),
            [] => {}
            several => {
                let names: Vec<String> = several.iter().map(|field| format!("`{}`", field.name)).collect();
                let problem = format!("`{name}` may be {}: the case of a name does not matter", names.join(" or "));
                return self.refuse(
                    at.and_then(known),
                    Refusal::new(problem, "filter by another field, or rename one of them"),
                );
            }
        }
        let parent = if place.path.is_empty() || place.inside {
            "the struct".to_owned()
        } else {
            format!("`{}`", place.path.join("."))
        };
        let known_names = || fields.iter().map(|field| field.name.as_str());
        let remedy = match suggest::nearest(name, known_names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("{parent} has {}", listed(known_names())),
        };
        self.refuse(at.and_then(known), Refusal::new(format!("{parent} has no field `{name}`"), remedy))
    }

    /// A step in brackets: an array's element, a map's value, or a name in quotes.
    fn item(&mut self, place: Place, index: &Sql) -> Option<Place> {
        let at = span::of(index);
        let named = match index {
            Sql::Value(value) => match &value.value {
                Value::SingleQuotedString(raw) => literal::string(raw, '\'').ok(),
                Value::DoubleQuotedString(raw) => literal::string(raw, '"').ok(),
                _ => None,
            },
            _ => None,
        };
        let index = self.operand(index)?;
        let ty = place.expr.ty.clone();
        match (ty.data_type(), named) {
            (Some(DataType::Map(key, value)), _) => {
                let Some(wanted) = coerce::argument(index.clone(), key) else {
                    let problem = format!("the map's keys are {key}, and this is {}", index.ty);
                    return self.refuse(at, Refusal::new(problem, "write a key of that type"));
                };
                Some(place.into_item(self.types.at(value), |map| ExprKind::MapItem(map, Box::new(wanted))))
            }
            (Some(DataType::Array(element)), None) if coerce::value_type(&index).is_none_or(coerce::is_integral) => {
                let Some(index) = coerce::argument(index, &DataType::Int) else {
                    return self.refuse(at, Refusal::new("an interval is no index", "write a whole number from 0"));
                };
                Some(place.into_item(self.types.at(element), |array| ExprKind::ArrayItem(array, Box::new(index))))
            }
            (Some(DataType::Struct(_) | DataType::Array(_)), Some(name)) => self.field(place, &name, at),
            (Some(DataType::Array(_)), None) => {
                let problem = format!("an array is indexed by a whole number, and this is {}", index.ty);
                self.refuse(at, Refusal::new(problem, "write a whole number from 0"))
            }
            (Some(DataType::Struct(_)), None) => self.refuse(
                at,
                Refusal::new("a field is named by a literal", "write its name, as in `value.name`"),
            ),
            _ => {
                let problem = format!("{} has nothing inside", place.expr.ty);
                self.refuse(at, Refusal::new(problem, "use brackets on arrays, maps and structs"))
            }
        }
    }
}

impl Place {
    fn into_field(mut self, name: String, ty: ExprType) -> Self {
        if !self.inside {
            self.path.push(name.clone());
        }
        self.expr = Expr {
            ty,
            kind: ExprKind::Field(Box::new(self.expr), name),
        };
        self
    }

    fn into_item(mut self, ty: ExprType, of: impl FnOnce(Box<Expr>) -> ExprKind) -> Self {
        self.expr = Expr {
            ty,
            kind: of(Box::new(self.expr)),
        };
        self.inside = true;
        self
    }
}

fn same_name(left: &str, right: &str) -> bool {
    match left.is_ascii() && right.is_ascii() {
        true => left.eq_ignore_ascii_case(right),
        false => left == right || left.to_lowercase() == right.to_lowercase(),
    }
}

fn known(span: Span) -> Option<Span> {
    (span.start.line > 0).then_some(span)
}

fn unknown_column(name: &str, columns: &[Field]) -> Refusal {
    let problem = format!("there is no column `{name}`");
    if same_name(name, RECORD_SOURCE) {
        return Refusal::new(
            "a filter holds for the stream and for a backfill alike, and cannot read where a record came from",
            "filter by the record's own fields",
        );
    }
    let inside = columns.iter().find_map(|column| match &column.data_type {
        DataType::Struct(fields) => {
            let field = fields.iter().find(|field| same_name(&field.name, name))?;
            Some(format!("{}.{}", column.name, field.name))
        }
        _ => None,
    });
    let names = || columns.iter().map(|column| column.name.as_str());
    let remedy = match (inside, suggest::nearest(name, names())) {
        (Some(path), _) => format!("did you mean `{path}`?"),
        (None, Some(near)) => format!("did you mean `{near}`?"),
        (None, None) => format!("the columns are {}; texts stand in single quotes", listed(names())),
    };
    Refusal::new(problem, remedy)
}

/// Up to ten names, quoted, for a message.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const NAMES_SHOWN_MAX: usize = 10;
    let mut shown: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if shown.len() > NAMES_SHOWN_MAX {
        shown.truncate(NAMES_SHOWN_MAX);
        shown.push("…".into());
    }
    shown.join(", ")
}
