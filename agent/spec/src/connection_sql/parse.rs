//! The grammar: one function a statement, one token ahead.

use super::tokens::{self, Placed, Token};
use super::{OptionName, Place, SqlError, SqlOption, SqlValue, Statement, settings};
use crate::connection::ConnectionKind;
use crate::name::{ConnectionName, ScopeName, SecretKey};
use crate::stream::SecretRef;

const STATEMENTS: &str =
    "write CREATE CONNECTION, ALTER CONNECTION, DROP CONNECTION, SHOW CONNECTIONS, DESCRIBE CONNECTION or COMMENT ON CONNECTION";

/// Parses one statement, which may end with `;`.
pub fn parse(text: &str) -> Result<Statement, SqlError> {
    let mut parser = Parser {
        tokens: tokens::read(text)?.into_iter().peekable(),
        end: Place { line: 1, column: 1 },
    };
    let statement = parser.statement()?;
    parser.take_sign(';');
    match parser.peek() {
        Token::End => Ok(statement),
        _ => Err(parser.wrong(
            "the statement ends before this",
            "give one statement at a time, and double each quote inside a text",
        )),
    }
}

struct Parser {
    tokens: std::iter::Peekable<std::vec::IntoIter<Placed>>,
    /// Of the last token that was taken.
    end: Place,
}

impl Parser {
    fn statement(&mut self) -> Result<Statement, SqlError> {
        let place = self.place();
        if self.take_word("CREATE") {
            return self.create();
        }
        if self.take_word("ALTER") {
            return self.alter();
        }
        if self.take_word("DROP") {
            self.word("CONNECTION")?;
            let if_exists = self.take_word("IF");
            if if_exists {
                self.word("EXISTS")?;
            }
            let name = self.connection_name()?;
            return Ok(Statement::Drop { name, if_exists });
        }
        if self.take_word("SHOW") {
            self.word("CONNECTIONS")?;
            return Ok(Statement::Show);
        }
        if self.take_word("DESCRIBE") || self.take_word("DESC") {
            self.word("CONNECTION")?;
            return Ok(Statement::Describe {
                name: self.connection_name()?,
            });
        }
        if self.take_word("COMMENT") {
            self.word("ON")?;
            self.word("CONNECTION")?;
            let name = self.connection_name()?;
            self.word("IS")?;
            let comment = if self.take_word("NULL") { None } else { Some(self.comment()?) };
            return Ok(Statement::Comment { name, comment });
        }
        Err(SqlError::new(place, "this is no statement about connections", STATEMENTS))
    }

    fn create(&mut self) -> Result<Statement, SqlError> {
        self.word("CONNECTION")?;
        let if_not_exists = self.take_word("IF");
        if if_not_exists {
            self.word("NOT")?;
            self.word("EXISTS")?;
        }
        let name = self.connection_name()?;
        self.word("TYPE")?;
        let kind = if self.take_word("KAFKA") {
            ConnectionKind::Kafka
        } else if self.take_word("KINESIS") {
            ConnectionKind::Kinesis
        } else {
            return Err(self.wrong("this is no type of connection", "write KAFKA or KINESIS"));
        };
        let options = if self.take_word("OPTIONS") { self.options()? } else { Vec::new() };
        // Here, so that what is wrong with them is said before anything is asked.
        settings(kind, options.clone(), Vec::new())?;
        let comment = if self.take_word("COMMENT") { Some(self.comment()?) } else { None };
        Ok(Statement::Create {
            name,
            if_not_exists,
            kind,
            options,
            comment,
        })
    }

    fn alter(&mut self) -> Result<Statement, SqlError> {
        self.word("CONNECTION")?;
        let name = self.connection_name()?;
        let set = if self.take_word("OPTIONS") { self.options()? } else { Vec::new() };
        let mut unset = Vec::new();
        if self.take_word("UNSET") {
            self.word("OPTIONS")?;
            self.sign('(')?;
            loop {
                unset.push(self.option_name()?);
                if !self.goes_on()? {
                    break;
                }
            }
        }
        if set.is_empty() && unset.is_empty() {
            return Err(self.wrong("nothing is to be changed", "write OPTIONS (…), UNSET OPTIONS (…) or both"));
        }
        Ok(Statement::Alter { name, set, unset })
    }

    fn options(&mut self) -> Result<Vec<SqlOption>, SqlError> {
        self.sign('(')?;
        let mut options = Vec::new();
        if self.take_sign(')') {
            return Ok(options);
        }
        loop {
            let name = self.option_name()?;
            self.take_sign('=');
            options.push(SqlOption {
                name,
                value: self.value()?,
            });
            if !self.goes_on()? {
                return Ok(options);
            }
        }
    }

    /// After an item of a list: true for a comma, false for the end.
    fn goes_on(&mut self) -> Result<bool, SqlError> {
        if self.take_sign(',') {
            return Ok(true);
        }
        if self.take_sign(')') {
            return Ok(false);
        }
        Err(self.wrong("a `,` or `)` is missing", "write it, and double each quote inside a text"))
    }

    fn option_name(&mut self) -> Result<OptionName, SqlError> {
        let place = self.place();
        let (text, in_quotes) = match self.peek() {
            Token::Word(word) | Token::Name(word) => (word.clone(), false),
            Token::Text(text) => (text.clone(), true),
            Token::Sign(_) | Token::End => return Err(self.wrong("the name of an option is missing", "write it, as in bootstrap_servers")),
        };
        self.take();
        Ok(OptionName { text, in_quotes, place })
    }

    fn value(&mut self) -> Result<SqlValue, SqlError> {
        const REMEDY: &str = "write it in single quotes, or as secret('scope', 'key')";
        match self.peek().clone() {
            Token::Text(text) => {
                self.take();
                Ok(SqlValue::Literal(text))
            }
            Token::Word(word) if word.expose().eq_ignore_ascii_case("secret") => {
                self.take();
                Ok(SqlValue::Secret(self.secret()?))
            }
            Token::Word(word) if is_constant(word.expose()) => {
                self.take();
                Ok(SqlValue::Literal(word))
            }
            Token::Word(_) | Token::Name(_) => Err(self.wrong("the value is not in quotes", REMEDY)),
            Token::Sign(_) | Token::End => Err(self.wrong("the option has no value", REMEDY)),
        }
    }

    fn secret(&mut self) -> Result<SecretRef, SqlError> {
        self.sign('(')?;
        let scope = self.part_of_secret("scope", |text| ScopeName::parse(text).err())?;
        self.sign(',')?;
        let key = self.part_of_secret("key", |text| SecretKey::parse(text).err())?;
        self.sign(')')?;
        Ok(SecretRef { scope, key })
    }

    fn part_of_secret(&mut self, what: &str, check: impl Fn(&str) -> Option<crate::name::NameError>) -> Result<String, SqlError> {
        let Token::Text(text) = self.peek().clone() else {
            return Err(self.wrong(&format!("the secret's {what} is not in quotes"), "write secret('scope', 'key')"));
        };
        if let Some(error) = check(text.expose()) {
            return Err(self.wrong(&format!("this is no name of a secret's {what}"), &error.remedy));
        }
        self.take();
        Ok(text.into_string())
    }

    fn comment(&mut self) -> Result<String, SqlError> {
        let Token::Text(text) = self.peek().clone() else {
            return Err(self.wrong("the comment is not in quotes", "write it in single quotes"));
        };
        self.take();
        Ok(text.into_string())
    }

    fn connection_name(&mut self) -> Result<ConnectionName, SqlError> {
        let text = match self.peek() {
            Token::Word(text) | Token::Name(text) => text,
            Token::Text(_) => return Err(self.wrong("the connection's name is in quotes", "write it bare, or in backticks")),
            Token::Sign(_) | Token::End => return Err(self.wrong("the connection's name is missing", "write it")),
        };
        match ConnectionName::parse(text.expose()) {
            Ok(name) => {
                self.take();
                Ok(name)
            }
            Err(error) => Err(self.wrong(&error.problem, &error.remedy)),
        }
    }

    fn peek(&mut self) -> &Token {
        self.tokens.peek().map_or(&Token::End, |placed| &placed.token)
    }

    fn place(&mut self) -> Place {
        self.tokens.peek().map_or(self.end, |placed| placed.place)
    }

    fn take(&mut self) {
        if let Some(placed) = self.tokens.next() {
            self.end = placed.place;
        }
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Word(found) if found.expose().eq_ignore_ascii_case(word));
        if found {
            self.take();
        }
        found
    }

    fn word(&mut self, word: &str) -> Result<(), SqlError> {
        match self.take_word(word) {
            true => Ok(()),
            false => Err(self.wrong(&format!("{word} is missing"), &format!("write {word} here"))),
        }
    }

    fn take_sign(&mut self, sign: char) -> bool {
        let found = *self.peek() == Token::Sign(sign);
        if found {
            self.take();
        }
        found
    }

    fn sign(&mut self, sign: char) -> Result<(), SqlError> {
        match self.take_sign(sign) {
            true => Ok(()),
            false => Err(self.wrong(&format!("a `{sign}` is missing"), &format!("write `{sign}` here"))),
        }
    }

    fn wrong(&mut self, problem: &str, remedy: &str) -> SqlError {
        SqlError::new(self.place(), problem, remedy)
    }
}

/// Values that need no quotes: numbers and truth values.
fn is_constant(word: &str) -> bool {
    word.eq_ignore_ascii_case("true")
        || word.eq_ignore_ascii_case("false")
        || word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}
