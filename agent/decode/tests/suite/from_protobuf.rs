//! Protobuf messages: random ones whose answers Google's parser gave, and what these leave out.

use std::path::PathBuf;

use base64::Engine;
use serde_json::Value;

use crate::oracle::{agree, element, protobuf};

/// Bytes and answers of the messages of one schema.
struct Asked {
    proto: String,
    message: String,
    answers: Vec<(Vec<u8>, Value)>,
}

fn asked() -> Vec<Asked> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/from_protobuf_fuzz.jsonl");
    let mut all: Vec<Asked> = Vec::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        match (&line["proto"], &line["message"]) {
            (Value::String(proto), Value::String(message)) => all.push(Asked {
                proto: proto.clone(),
                message: message.clone(),
                answers: Vec::new(),
            }),
            _ => {
                let bytes = base64::engine::general_purpose::STANDARD.decode(line[0].as_str().unwrap()).unwrap();
                all.last_mut().unwrap().answers.push((bytes, line[1].clone()));
            }
        }
    }
    all
}

#[test]
fn random_messages_of_random_schemas_are_read_as_google_s_parser_and_spark_s_layer_read_them() {
    let (mut messages, mut wrong) = (0, Vec::new());
    for Asked { proto, message, answers } in asked() {
        let payloads: Vec<Option<&[u8]>> = answers.iter().map(|(bytes, _)| Some(bytes.as_slice())).collect();
        let array = match protobuf::decoder(&proto, &message) {
            Ok(mut decoder) => decoder.decode(&payloads, &[]).unwrap().array,
            Err(error) => {
                wrong.push(format!("{proto}\n  refused: {error}"));
                continue;
            }
        };
        array.to_data().validate_full().unwrap();
        for (row, (bytes, expected)) in answers.iter().enumerate() {
            messages += 1;
            let ours = element(&array, row);
            if !agree(expected, &ours) {
                wrong.push(format!("{proto}{}\n  expected {expected}\n  ours     {ours}", bytes.escape_ascii()));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {messages}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(messages >= 5000, "{messages}");
}
