//! Spark's DDL of a schema, as far as the recorded cases use it.

use stream_spec::types::{DataType, Field};

/// The type of a DDL text: a list of fields is a struct.
pub(crate) fn parse(text: &str) -> Result<DataType, String> {
    let words = words(text);
    let mut parser = Parser { words: &words };
    let data_type = match text.split('<').next() {
        Some("array" | "map") => parser.data_type()?,
        _ => DataType::Struct(parser.fields(None)?),
    };
    match parser.words {
        [] => Ok(data_type),
        rest => Err(format!("unread: {rest:?}")),
    }
}

fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut characters = text.chars().peekable();
    while let Some(first) = characters.next() {
        match first {
            '`' => words.push(characters.by_ref().take_while(|character| *character != '`').collect()),
            '<' | '>' | '(' | ')' | ',' | ':' => words.push(first.to_string()),
            _ if first.is_alphanumeric() || first == '_' => {
                let mut word = first.to_string();
                while let Some(next) = characters.next_if(|next| next.is_alphanumeric() || *next == '_') {
                    word.push(next);
                }
                words.push(word);
            }
            _ => {}
        }
    }
    words
}

struct Parser<'a> {
    words: &'a [String],
}

impl Parser<'_> {
    fn peek(&self) -> Option<&str> {
        self.words.first().map(String::as_str)
    }

    fn take(&mut self) -> Result<&str, String> {
        let (first, rest) = self.words.split_first().ok_or("the schema ends early")?;
        self.words = rest;
        Ok(first)
    }

    fn expect(&mut self, word: &str) -> Result<(), String> {
        match self.take()? {
            taken if taken == word => Ok(()),
            taken => Err(format!("`{taken}` where `{word}` is expected")),
        }
    }

    fn skip(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        if found {
            self.words = &self.words[1..];
        }
        found
    }

    fn fields(&mut self, end: Option<&str>) -> Result<Vec<Field>, String> {
        let mut fields = Vec::new();
        while self.peek() != end {
            let name = self.take()?.to_owned();
            self.skip(":");
            fields.push(Field::new(name, self.data_type()?));
            if self.skip("not") {
                self.expect("null")?;
            }
            self.skip(",");
        }
        Ok(fields)
    }

    fn data_type(&mut self) -> Result<DataType, String> {
        Ok(match self.take()? {
            "boolean" => DataType::Boolean,
            "tinyint" => DataType::TinyInt,
            "smallint" => DataType::SmallInt,
            "int" => DataType::Int,
            "bigint" => DataType::BigInt,
            "float" => DataType::Float,
            "double" => DataType::Double,
            "string" => DataType::String,
            "binary" => DataType::Binary,
            "date" => DataType::Date,
            "timestamp" => DataType::Timestamp,
            "timestamp_ntz" => DataType::TimestampNtz,
            "decimal" => self.decimal()?,
            "struct" => {
                self.expect("<")?;
                let fields = self.fields(Some(">"))?;
                self.expect(">")?;
                DataType::Struct(fields)
            }
            "array" => {
                self.expect("<")?;
                let element = self.data_type()?;
                self.expect(">")?;
                DataType::Array(Box::new(element))
            }
            "map" => {
                self.expect("<")?;
                let key = self.data_type()?;
                self.expect(",")?;
                let value = self.data_type()?;
                self.expect(">")?;
                DataType::Map(Box::new(key), Box::new(value))
            }
            other => return Err(format!("unknown type `{other}`")),
        })
    }

    fn decimal(&mut self) -> Result<DataType, String> {
        if !self.skip("(") {
            return Ok(DataType::Decimal { precision: 10, scale: 0 });
        }
        let precision = self.number()?;
        self.expect(",")?;
        let scale = self.number()?;
        self.expect(")")?;
        Ok(DataType::Decimal { precision, scale })
    }

    fn number(&mut self) -> Result<u8, String> {
        self.take()?.parse().map_err(|error| format!("{error}"))
    }
}
