//! Avro beyond the recorded cases: Spark's answers to random schemas and messages, types, and what holds for any bytes.

use std::path::PathBuf;

use base64::Engine;
use serde_json::Value;
use stream_decode::decoder::Decoder;
use stream_spec::schema::avro::{Reading, parse_as_spark};
use stream_spec::types::DataType;

use crate::oracle::avro::{AvroSchemas, decoder, sorted, with_texts_repaired};
use crate::oracle::{agree, element};

fn lines(name: &str) -> Vec<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A type as Spark writes it.
fn spark_type(data_type: &DataType) -> String {
    match data_type {
        DataType::Struct(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|field| format!("{}:{}", field.name, spark_type(&field.data_type)))
                .collect();
            format!("struct<{}>", fields.join(","))
        }
        DataType::Array(element) => format!("array<{}>", spark_type(element)),
        DataType::Map(key, value) => format!("map<{},{}>", spark_type(key), spark_type(value)),
        scalar => scalar.to_string().to_lowercase(),
    }
}

fn base64(text: &Value) -> Vec<u8> {
    base64::engine::general_purpose::STANDARD.decode(text.as_str().unwrap()).unwrap()
}

fn is_all_null(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(|members| members.values().all(Value::is_null))
}

/// Where the whole message is null by its union, Spark writes the zero of a number, a date or a time. That is no value that
/// anybody sent: it is null here.
fn is_zero_of_null(schema: &Value, payload: &[u8], answer: &Value) -> bool {
    let null = schema
        .as_array()
        .and_then(|branches| branches.iter().position(|branch| branch == "null"));
    let length = payload.iter().take_while(|byte| **byte >= 0x80).count() + 1;
    let bits = payload.iter().take(length.min(5)).enumerate();
    let branch = bits.fold(0, |number, (index, byte)| number | u64::from(byte & 0x7F) << (7 * index)) / 2;
    !payload.is_empty() && null.is_some_and(|index| branch == index as u64) && *answer == 0
}

#[test]
fn random_schemas_and_messages_have_sparks_types_and_answers() {
    let (mut messages, mut zeros, mut wrong) = (0, 0, Vec::new());
    for line in lines("spark_avro.jsonl") {
        let reader = line.get("reader").map(Value::to_string);
        let schemas = AvroSchemas {
            writer: line["schema"].to_string(),
            reader: reader.clone(),
            reading: Reading::of_streams(),
        };
        let shown = format!("{} {}", schemas.writer, reader.as_deref().unwrap_or_default());
        let read_as = parse_as_spark(reader.as_ref().unwrap_or(&schemas.writer), &schemas.reading);
        let read_as = read_as.unwrap_or_else(|problems| panic!("{shown}: {problems:?}"));
        let rows = line["rows"].as_array().unwrap();
        let payloads: Vec<Vec<u8>> = rows.iter().map(|row| base64(&row[0])).collect();
        let payloads: Vec<Option<&[u8]>> = payloads.iter().map(|payload| Some(payload.as_slice())).collect();
        let mut decoder: Decoder = decoder(&schemas).unwrap();
        let decoded = decoder.decode(&payloads, &[]).unwrap();
        messages += rows.len();
        // What is always null has a type of its own in Spark.
        let expected = line["type"].as_str().unwrap().replace("void", "string");
        if spark_type(&read_as.data_type) != expected {
            wrong.push(format!("{shown}\n  type {} is {}", line["type"], spark_type(&read_as.data_type)));
            continue;
        }
        for (index, row) in rows.iter().enumerate() {
            let ours = sorted(element(&decoded.array, index));
            let agrees = match row.get(1) {
                Some(zero) if is_zero_of_null(&line["schema"], payloads[index].unwrap_or_default(), zero) => {
                    zeros += 1;
                    ours.is_null()
                }
                Some(expected) => agree(&sorted(with_texts_repaired(expected)), &ours),
                None => is_all_null(&ours) && ours.is_null() == (read_as.root != stream_spec::schema::Root::Struct),
            };
            if !agrees {
                let expected = row.get(1).unwrap_or(&Value::Null);
                wrong.push(format!("{shown}\n  input    {}\n  expected {expected}\n  ours     {ours}", row[0]));
            }
        }
    }
    assert!(messages > 5000, "{messages} questions were asked");
    assert!(zeros > 20, "{zeros} nulls that are zeros in Spark");
    let shown: Vec<&str> = wrong.iter().take(12).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} of {messages}:\n{}", wrong.len(), shown.join("\n"));
}

#[test]
fn recorded_cases_have_sparks_types() {
    let mut compared = 0;
    for line in lines("from_avro.jsonl") {
        let Some(expected) = line["spark_type"].as_str() else { continue };
        // Types that no stream has: what Spark makes of null, of nanoseconds, and of a property of its own.
        if ["void", "timestamp_ltz(9)", "timestamp_ntz(9)", "interval"]
            .iter()
            .any(|other| expected.contains(other))
        {
            continue;
        }
        let case = crate::oracle::parse_case(&line.to_string());
        let crate::oracle::CaseSchema::Avro(schemas) = case.schema else {
            panic!("an Avro case")
        };
        let text = schemas.reader.as_ref().unwrap_or(&schemas.writer);
        let parsed = parse_as_spark(text, &schemas.reading).unwrap_or_else(|problems| panic!("{}: {problems:?}", case.id));
        assert_eq!(spark_type(&parsed.data_type), expected, "{}", case.id);
        compared += 1;
    }
    assert!(compared > 100, "{compared} types");
}
