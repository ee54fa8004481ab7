//! What can be called, and what is said of everything else: the nearest that there is.

use sqlparser::ast::Expr as Sql;

use super::casts;
use super::problem::Refusal;
use crate::suggest;

/// Names that can be called, for suggestions; the types' names convert.
const NAMES: &[&str] = &[
    "abs",
    "array_contains",
    "array_size",
    "btrim",
    "cardinality",
    "char_length",
    "character_length",
    "coalesce",
    "concat",
    "contains",
    "date_add",
    "date_sub",
    "date_trunc",
    "day",
    "dayofmonth",
    "element_at",
    "endswith",
    "get_json_object",
    "hour",
    "if",
    "ifnull",
    "lcase",
    "len",
    "length",
    "lower",
    "ltrim",
    "map_keys",
    "map_values",
    "minute",
    "mod",
    "month",
    "nullif",
    "nvl",
    "regexp",
    "regexp_like",
    "rlike",
    "round",
    "rtrim",
    "second",
    "size",
    "startswith",
    "substr",
    "substring",
    "to_date",
    "to_timestamp",
    "trim",
    "ucase",
    "unix_timestamp",
    "upper",
    "year",
];

/// Functions that people reach for and that are not here, with what does their work.
const NEAREST: &[(&str, &str)] = &[
    ("regexp_extract", "`regexp_like`"),
    ("regexp_replace", "`regexp_like`"),
    ("regexp_count", "`regexp_like`"),
    ("regexp_instr", "`regexp_like`"),
    ("regexp_substr", "`regexp_like`"),
    ("instr", "`contains`"),
    ("locate", "`contains`"),
    ("charindex", "`contains`"),
    ("position", "`contains`"),
    ("left", "`substring`"),
    ("right", "`substring` with a negative position"),
    ("split", "`regexp_like` or `substring`"),
    ("split_part", "`regexp_like` or `substring`"),
    ("replace", "LIKE or `regexp_like`"),
    ("nvl2", "`if(x IS NOT NULL, …, …)`"),
    ("iff", "`if`"),
    ("decode", "CASE"),
    ("greatest", "CASE"),
    ("least", "CASE"),
    ("floor", "`round`, or DIV for whole numbers"),
    ("ceil", "`round`, or DIV for whole numbers"),
    ("ceiling", "`round`, or DIV for whole numbers"),
    ("bround", "`round`"),
    ("datediff", "a difference of dates, as in `a - b > INTERVAL 7 DAYS`"),
    ("date_diff", "a difference of dates, as in `a - b > INTERVAL 7 DAYS`"),
    ("timestampdiff", "a difference of times, as in `a - b > INTERVAL 1 HOUR`"),
    ("dateadd", "`x + INTERVAL 7 DAYS`"),
    ("timestampadd", "`x + INTERVAL 1 HOUR`"),
    ("add_months", "`x + INTERVAL 1 MONTH`"),
    ("trunc", "`date_trunc`"),
    ("date_format", "`year`, `month`, `day`, `hour` or `date_trunc`"),
    ("date_part", "`year`, `month`, `day` or `hour`"),
    ("datepart", "`year`, `month`, `day` or `hour`"),
    ("quarter", "`month`"),
    ("to_unix_timestamp", "`unix_timestamp`"),
    ("from_unixtime", "CAST(x AS TIMESTAMP)"),
    ("timestamp_seconds", "CAST(x AS TIMESTAMP)"),
    ("timestamp_millis", "CAST(x / 1000 AS TIMESTAMP)"),
    ("to_char", "CAST(x AS STRING)"),
    ("to_number", "CAST(x AS DECIMAL(p,s))"),
    ("exists", "`array_contains`"),
    ("any_match", "`array_contains`"),
    ("array_position", "`array_contains`"),
    ("arrays_overlap", "`array_contains` once for each value, joined with OR"),
    ("filter", "`array_contains`"),
    ("map_contains_key", "`array_contains(map_keys(m), k)`"),
    ("try_element_at", "`element_at`, which is null where there is none"),
    ("get", "brackets, as in `value.items[0]`"),
    ("json_tuple", "`get_json_object`"),
    ("from_json", "`get_json_object`"),
    ("json_array_length", "`get_json_object`"),
    ("isnull", "`x IS NULL`"),
    ("isnotnull", "`x IS NOT NULL`"),
    ("isnan", "`x = CAST('NaN' AS DOUBLE)`"),
    ("octet_length", "`length(CAST(x AS BINARY))`"),
    ("concat_ws", "`concat` or `||`"),
    ("like", "`x LIKE 'pattern'`"),
    ("ilike", "`x ILIKE 'pattern'`"),
    ("zeroifnull", "`coalesce(x, 0)`"),
    ("nullifzero", "`nullif(x, 0)`"),
];

const AGGREGATES: &[&str] = &[
    "count",
    "sum",
    "avg",
    "mean",
    "min",
    "max",
    "first",
    "last",
    "any",
    "some",
    "every",
    "collect_list",
    "row_number",
];
const CHANGING: &[&str] = &[
    "rand",
    "random",
    "randn",
    "uuid",
    "now",
    "current_timestamp",
    "current_date",
    "curdate",
    "current_time",
    "localtimestamp",
    "current_user",
];

/// Every name that can be called.
#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    NAMES.iter().copied()
}

/// Every function that is not here of which something else does the work.
#[cfg(test)]
pub(super) fn nearest() -> impl Iterator<Item = (&'static str, &'static str)> {
    NEAREST.iter().copied()
}

/// A function that is not here, and what is instead; `None` for one that is.
pub(super) fn unsupported(name: &str) -> Option<Refusal> {
    if NAMES.contains(&name) || casts::is_function(name) {
        return None;
    }
    let problem = format!("`{name}` is not supported");
    if AGGREGATES.contains(&name) {
        return Some(Refusal::new(problem, "a filter sees one record at a time: compare its own fields"));
    }
    if CHANGING.contains(&name) {
        let remedy = "a record is kept or not whenever it is read: compare with `stream_record_timestamp` or a literal";
        return Some(Refusal::new(problem, remedy));
    }
    let nearest = NEAREST
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, instead)| (*instead).to_owned());
    let nearest = nearest.or_else(|| suggest::nearest(name, NAMES.iter().copied()).map(|near| format!("`{near}`")));
    Some(match nearest {
        Some(instead) => Refusal::new(problem, format!("nearest: {instead}")),
        None => Refusal::new(problem, format!("there are {}", NAMES.join(", "))),
    })
}

/// A form of expression that is not here.
pub(super) fn unsupported_form(sql: &Sql) -> Refusal {
    let (form, instead) = match sql {
        Sql::Exists { .. } | Sql::Subquery(_) | Sql::In { .. } | Sql::AnyOp { .. } | Sql::AllOp { .. } => {
            ("a query", "write the values out, as in `value.id IN (1, 2)`")
        }
        Sql::Tuple(_) | Sql::Struct { .. } => ("a list of several values", "compare the fields one by one, joined with AND"),
        Sql::Lambda(_) => ("a lambda", "use `array_contains`, or compare elements as in `value.items[0]`"),
        Sql::SimilarTo { .. } => ("SIMILAR TO", "use RLIKE"),
        Sql::Ceil { .. } | Sql::Floor { .. } => ("rounding up or down", "use `round`, or DIV for whole numbers"),
        Sql::Position { .. } => ("`position`", "use `contains`"),
        Sql::Overlay { .. } => ("`overlay`", "use `substring` and `concat`"),
        Sql::Collate { .. } => ("COLLATE", "use `lower`, or ILIKE"),
        Sql::JsonAccess { .. } => (
            "a path with a colon",
            "use a dot for decoded fields, `get_json_object` for JSON in a text",
        ),
        Sql::AtTimeZone { .. } => ("AT TIME ZONE", "times are in UTC: add an INTERVAL"),
        Sql::Array(_) | Sql::Map(_) | Sql::Dictionary(_) => ("a collection", "use IN for a list of values"),
        Sql::Convert { .. } => ("CONVERT", "use CAST(x AS type)"),
        Sql::Wildcard(_) | Sql::QualifiedWildcard(..) => ("`*`", "name a column"),
        _ => ("this form", "use comparisons, IN, BETWEEN, LIKE, IS, CASE, CAST and functions"),
    };
    Refusal::new(format!("{form} is not supported in a filter"), instead)
}
