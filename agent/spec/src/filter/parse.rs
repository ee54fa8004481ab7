//! From a filter's text to sqlparser's tree, with the tokens and the precedence of Spark. No names, no types.
//!
//! A text is bounded before it is parsed: nothing here or in the parser recurses deeper than the limits allow.

use sqlparser::ast::{Expr, Interval, Value};
use sqlparser::dialect::{DatabricksDialect, Dialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer, Word};

use super::problem::{Problem, part_of};
use crate::limits::{FILTER_NESTING_MAX, FILTER_PARTS_MAX, FILTER_TEXT_BYTES_MAX};

/// The operator that the parser's tree has for Spark's whole division.
pub(super) const DIV: &str = "DIV";

/// Parses one expression that takes the whole text.
pub(super) fn expression(text: &str) -> Result<Expr, Problem> {
    let tokens = tokens(text)?;
    let mut parser = Parser::new(&Spark)
        .with_recursion_limit(FILTER_NESTING_MAX)
        .with_tokens_with_locations(tokens);
    let parsed = parser.parse_expr().map_err(|error| of_parser(text, error))?;
    let next = parser.peek_token();
    if next.token == Token::EOF {
        return Ok(parsed);
    }
    Err(Problem {
        at: next.span.start,
        part: part_of(text, next.span),
        problem: format!("a filter is one expression, and cannot go on with `{}` here", next.token),
        remedy: "join predicates with AND or OR, and take out what follows".into(),
    })
}

/// True when two texts have the same tokens: comments and white space say nothing, nor does the case of keywords, functions and
/// columns. That of a name after a dot or in backticks does: it may be a map's key.
pub(super) fn same_tokens(left: &str, right: &str) -> bool {
    let words = |text: &str| -> Option<Vec<Token>> {
        let mut after_dot = false;
        let mut compared = Vec::new();
        for token in tokens(text).ok()? {
            if matches!(token.token, Token::Whitespace(_)) {
                continue;
            }
            let next_after_dot = token.token == Token::Period;
            compared.push(comparable(token.token, after_dot));
            after_dot = next_after_dot;
        }
        Some(compared)
    };
    left.trim() == right.trim() || matches!((words(left), words(right)), (Some(left), Some(right)) if left == right)
}

fn comparable(token: Token, after_dot: bool) -> Token {
    match token {
        Token::Word(word) => Token::Word(Word {
            value: if after_dot || word.quote_style.is_some() {
                word.value
            } else {
                word.value.to_lowercase()
            },
            quote_style: None,
            keyword: word.keyword,
        }),
        Token::DoubleEq => Token::Eq,
        other => other,
    }
}

/// The text's tokens with Spark's literals made whole. Strings keep their escapes: `literal` reads those.
fn tokens(text: &str) -> Result<Vec<TokenWithSpan>, Problem> {
    if text.len() > FILTER_TEXT_BYTES_MAX {
        return Err(too_much(
            text,
            format!("the filter has {} bytes", text.len()),
            format!("keep it within {FILTER_TEXT_BYTES_MAX} bytes"),
        ));
    }
    let mut tokenizer = Tokenizer::new(&Spark, text).with_unescape(false);
    let mut tokens = tokenizer.tokenize_with_location().map_err(|error| Problem {
        at: error.location,
        part: part_of(text, Span::new(error.location, Location::new(error.location.line, u64::MAX))),
        problem: lower_first(&error.message),
        remedy: "close what is opened there".into(),
    })?;
    let parts = tokens.iter().filter(|token| is_part(&token.token)).count();
    if parts > FILTER_PARTS_MAX {
        return Err(too_much(
            text,
            format!("the filter has {parts} names and operators"),
            format!("keep it within {FILTER_PARTS_MAX}; many values of one column fit into one IN list"),
        ));
    }
    let mut whole: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for token in tokens.drain(..) {
        let joined = whole
            .last_mut()
            .filter(|last| last.span.end == token.span.start)
            .and_then(|last| joined(&last.token, &token.token).map(|joined| (last, joined)));
        match joined {
            Some((last, joined)) => {
                last.token = joined;
                last.span.end = token.span.end;
            }
            None => whole.push(token),
        }
    }
    let mut after_dot = false;
    for token in &mut whole {
        as_spark_reads_it(text, token, after_dot)?;
        after_dot = token.token == Token::Period;
    }
    Ok(whole)
}

/// What makes an expression deep: literals and the commas between them do not.
fn is_part(token: &Token) -> bool {
    !matches!(
        token,
        Token::Whitespace(_) | Token::Comma | Token::Number(..) | Token::SingleQuotedString(_) | Token::DoubleQuotedString(_)
    )
}

/// Two tokens without anything between them that Spark reads as one: `1e3BD`, `r'\d'`.
fn joined(last: &Token, next: &Token) -> Option<Token> {
    match (last, next) {
        (Token::Number(number, false), Token::Word(word)) if is_suffix(&word.value) => {
            Some(Token::Number(format!("{number}{}", word.value), false))
        }
        (Token::Word(word), Token::SingleQuotedString(content)) if is_raw_prefix(word) => {
            Some(Token::SingleQuotedRawStringLiteral(content.clone()))
        }
        (Token::Word(word), Token::DoubleQuotedString(content)) if is_raw_prefix(word) => {
            Some(Token::DoubleQuotedRawStringLiteral(content.clone()))
        }
        (Token::Word(word), Token::DoubleQuotedString(digits)) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("x") => {
            Some(Token::HexStringLiteral(digits.clone()))
        }
        _ => None,
    }
}

fn is_raw_prefix(word: &Word) -> bool {
    word.quote_style.is_none() && word.value.eq_ignore_ascii_case("r")
}

fn is_suffix(word: &str) -> bool {
    ["L", "S", "Y", "F", "D", "BD"]
        .iter()
        .any(|suffix| suffix.eq_ignore_ascii_case(word))
}

/// Tokens that this dialect of the parser makes into something else than Spark does.
fn as_spark_reads_it(text: &str, token: &mut TokenWithSpan, after_dot: bool) -> Result<(), Problem> {
    match &token.token {
        // An operator, which a name after a dot is not.
        Token::Word(word) if word.keyword == Keyword::DIV && !after_dot => {
            token.token = Token::CustomBinaryOperator(DIV.to_owned());
            Ok(())
        }
        // `1L` and `1.5D` come as words, because identifiers may start with a digit.
        Token::Word(word) if word.quote_style.is_none() && word.value.starts_with(|first: char| first.is_ascii_digit() || first == '.') => {
            let number = word.value.trim_end_matches(|last: char| last.is_ascii_alphabetic());
            let suffix = word.value.get(number.len()..).unwrap_or_default();
            if is_suffix(suffix) && number.chars().all(|digit| digit.is_ascii_digit() || digit == '.') {
                token.token = Token::Number(word.value.clone(), false);
            }
            Ok(())
        }
        Token::Number(number, true) => {
            token.token = Token::Number(format!("{number}L"), false);
            Ok(())
        }
        Token::HexStringLiteral(_) if part_of(text, token.span).starts_with('0') => Err(Problem {
            at: token.span.start,
            part: part_of(text, token.span),
            problem: "numbers are decimal".into(),
            remedy: "write it in decimal, or bytes as in X'1F'".into(),
        }),
        Token::SingleQuotedRawStringLiteral(content) | Token::DoubleQuotedRawStringLiteral(content) if content.contains(['\'', '"']) => {
            Err(Problem {
                at: token.span.start,
                part: part_of(text, token.span),
                problem: "a raw string cannot hold a quote, nor end with a backslash".into(),
                remedy: "write it without the `r`, with two backslashes for one".into(),
            })
        }
        _ => Ok(()),
    }
}

fn too_much(text: &str, problem: String, remedy: String) -> Problem {
    Problem {
        at: Location::new(0, 0),
        part: text.to_owned(),
        problem,
        remedy,
    }
}

/// The parser's own errors end with their place: ` at Line: 1, Column: 5`.
fn of_parser(text: &str, error: ParserError) -> Problem {
    let message = match error {
        ParserError::RecursionLimitExceeded => {
            return too_much(
                text,
                "the filter nests too deeply".into(),
                format!(
                    "keep it within about {} levels of parentheses and operators",
                    FILTER_NESTING_MAX / 2
                ),
            );
        }
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message,
    };
    let (message, place) = message.split_once(" at Line: ").unwrap_or((&message, ""));
    let place = place.split_once(", Column: ").and_then(|(line, column)| {
        let column = column.split(|other: char| !other.is_ascii_digit()).next()?;
        Some(Location::new(line.parse().ok()?, column.parse().ok()?))
    });
    let at = place.unwrap_or(Location::new(0, 0));
    let rest = Span::new(at, Location::new(at.line, u64::MAX));
    Problem {
        at,
        part: if at.line == 0 { text.to_owned() } else { part_of(text, rest) },
        problem: lower_first(message),
        remedy: "write a predicate as in `value.event_type = 'transaction' AND value.amount > 0`".into(),
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// The parser's Databricks dialect, with what Spark's grammar has beyond it.
#[derive(Debug)]
struct Spark;

const DATABRICKS: DatabricksDialect = DatabricksDialect;

impl Dialect for Spark {
    // The parser asks by type whether it reads Databricks' language.
    fn dialect(&self) -> std::any::TypeId {
        DATABRICKS.dialect()
    }

    fn is_delimited_identifier_start(&self, quote: char) -> bool {
        DATABRICKS.is_delimited_identifier_start(quote)
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        DATABRICKS.identifier_quote_style(identifier)
    }

    fn is_identifier_start(&self, first: char) -> bool {
        DATABRICKS.is_identifier_start(first)
    }

    fn is_identifier_part(&self, part: char) -> bool {
        DATABRICKS.is_identifier_part(part)
    }

    fn supports_comparison_in_between_low_bound(&self) -> bool {
        DATABRICKS.supports_comparison_in_between_low_bound()
    }

    fn supports_numeric_prefix(&self) -> bool {
        DATABRICKS.supports_numeric_prefix()
    }

    fn supports_lambda_functions(&self) -> bool {
        DATABRICKS.supports_lambda_functions()
    }

    fn supports_struct_literal(&self) -> bool {
        DATABRICKS.supports_struct_literal()
    }

    fn supports_nested_comments(&self) -> bool {
        DATABRICKS.supports_nested_comments()
    }

    fn supports_bang_not_operator(&self) -> bool {
        DATABRICKS.supports_bang_not_operator()
    }

    fn supports_string_literal_backslash_escape(&self) -> bool {
        DATABRICKS.supports_string_literal_backslash_escape()
    }

    // Words that start a form of their own are not column names as well: the parser would try both at every level.
    fn is_reserved_for_identifier(&self, keyword: Keyword) -> bool {
        matches!(keyword, Keyword::CASE | Keyword::CAST | Keyword::TRY_CAST | Keyword::NOT)
    }

    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        match parser.peek_token_ref().token {
            Token::StringConcat => Some(Ok(self.prec_value(Precedence::PlusMinus))),
            Token::CustomBinaryOperator(_) => Some(Ok(self.prec_value(Precedence::MulDivModOp))),
            _ => None,
        }
    }

    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        let follows = |token: &Token| {
            let starts_number = matches!(token, Token::Minus | Token::Plus | Token::Number(..));
            starts_number || matches!(token, Token::SingleQuotedString(_) | Token::DoubleQuotedString(_))
        };
        let named = parser.peek_nth_token_ref(0).token.to_string();
        let literal_follows = follows(&parser.peek_nth_token_ref(1).token);
        if literal_follows && named.eq_ignore_ascii_case("interval") {
            return Some(interval(parser));
        }
        None
    }
}

/// `INTERVAL` with Spark's forms: a quantity and unit, several of them, a text of them, or `'…' DAY TO SECOND`. All but the last
/// become one text of quantities and units.
fn interval(parser: &mut Parser) -> Result<Expr, ParserError> {
    let first = parser.next_token().span;
    let mut text = String::new();
    loop {
        let negative = parser.consume_token(&Token::Minus);
        let _positive = !negative && parser.consume_token(&Token::Plus);
        let token = parser.next_token();
        let span = first.union(&token.span);
        let (quantity, quoted) = match token.token {
            Token::Number(number, _) => (number, false),
            Token::SingleQuotedString(string) | Token::DoubleQuotedString(string) => (string, true),
            _ => return parser.expected("a quantity after INTERVAL", token),
        };
        let quantity = signed(negative, &quantity);
        let unit = match &parser.peek_token_ref().token {
            Token::Word(word) if super::interval::unit(&word.value).is_some() => word.value.clone(),
            _ if quoted && text.is_empty() => return Ok(interval_of(quantity, span, None)),
            _ => return parser.expected("a unit such as DAY", parser.peek_token()),
        };
        let span = first.union(&parser.next_token().span);
        if parser.parse_keyword(Keyword::TO) {
            let last = parser.parse_identifier()?;
            let span = first.union(&last.span);
            return Ok(interval_of(quantity, span, Some(format!("{unit} TO {}", last.value))));
        }
        text = format!("{text} {quantity} {unit}");
        let goes_on = matches!(parser.peek_token_ref().token, Token::Number(..) | Token::SingleQuotedString(_));
        if !goes_on {
            return Ok(interval_of(text, span, None));
        }
    }
}

fn signed(negative: bool, quantity: &str) -> String {
    match (negative, quantity.trim().strip_prefix('-')) {
        (true, Some(positive)) => positive.to_owned(),
        (true, None) => format!("-{}", quantity.trim()),
        (false, _) => quantity.to_owned(),
    }
}

fn interval_of(text: String, span: Span, range: Option<String>) -> Expr {
    let field = |name: String| sqlparser::ast::DateTimeField::Custom(sqlparser::ast::Ident::new(name));
    Expr::Interval(Interval {
        value: Box::new(Expr::Value(Value::SingleQuotedString(text).with_span(span))),
        leading_field: range.map(field),
        leading_precision: None,
        last_field: None,
        fractional_seconds_precision: None,
    })
}
