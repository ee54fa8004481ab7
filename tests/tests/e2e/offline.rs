//! The agent's commands that need no server: what they print for people and machines, and their exit codes.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use e2e::paths::{binary, discard, fresh_folder, repository};
use serde_json::{Value, json};

fn agent(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(binary("featurestore-agent"))
        .args(arguments)
        .current_dir(repository().join("examples"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // One that ends with an error before it reads anything leaves a broken pipe.
    drop(child.stdin.take().unwrap().write_all(input));
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn json_lines(output: &Output) -> Vec<Value> {
    text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

const JSON: &str = "quickstart/transaction.schema.json";
const AVRO: &str = "formats/order.avsc";
const PROTO: &str = "formats/delivery.proto";
/// Order 7, PAID, 1.05, a millisecond after 1970, without a note.
const ORDER: [u8; 7] = [0x0e, 0x02, 0x02, 0x69, 0x02, 0x00, 0x00];

#[test]
fn messages_are_decoded_with_reasons_and_filtered_and_stripped() {
    let input = br#"{"amount": 250, "merchant": {"country": "AT"}, "memo": "secret"}
{"amount": "much"}
nonsense
"#;
    let filter = "value.amount > 100 AND value.memo IS NOT NULL";
    let output = agent(&["decode", JSON, "--filter", filter, "--exclude", "value.memo"], input);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let rows = json_lines(&output);
    assert_eq!((&rows[0]["message"], &rows[0]["value"]["amount"]), (&json!(1), &json!(250.0)));
    assert_eq!(rows[0]["value"]["merchant"]["country"], "AT");
    assert!(rows[0].get("kept").is_none() && rows[0].get("misfit").is_none());
    assert!(!text(&output.stdout).contains("memo") && !text(&output.stdout).contains("secret"));
    for row in &rows[1..] {
        assert_eq!((&row["kept"], &row["value"]["amount"]), (&json!(false), &Value::Null));
        assert!(row["misfit"].is_string(), "{row}");
    }
    assert!(text(&output.stderr).contains("3 messages: 2 did not fit, 2 dropped by the filter"));
}

#[test]
fn every_encoding_and_language_is_read() {
    let hexadecimal: String = ORDER.iter().map(|byte| format!("{byte:02x}")).collect();
    let prefixed = [&[0, 0, 0, 7], ORDER.as_slice()].concat();
    for (encoding, input) in [
        ("hex", hexadecimal.into_bytes()),
        ("base64", b"DgICaQIAAA==\n".to_vec()),
        ("length-prefixed", prefixed),
    ] {
        let output = agent(&["decode", AVRO, "--encoding", encoding], &input);
        let order = json!({"order_id": 7, "state": "PAID", "price": "1.05", "placed": "1970-01-01T00:00:00.001Z", "note": null});
        assert_eq!(json_lines(&output)[0]["value"], order, "{encoding}: {}", text(&output.stderr));
    }
    // Field 1 is 5, field 2 is BIKE.
    let output = agent(
        &["decode", PROTO, "--message-name", "shop.Delivery", "--encoding", "hex"],
        b"08051001\n",
    );
    assert_eq!(
        json_lines(&output)[0]["value"],
        json!({"order_id": 5, "carrier": "BIKE", "arrived": null, "address": null, "parcels": []})
    );
    let output = agent(&["decode", AVRO, "--encoding", "hex", "--output", "table"], b"0e020269020000\n");
    let table = text(&output.stdout);
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0][..3], ["value.order_id", "value.state", "value.price"]);
    assert_eq!(lines[1][..3], ["7", "\"PAID\"", "\"1.05\""]);
}

#[test]
fn what_cannot_be_used_is_said_and_is_no_answer() {
    for (arguments, said) in [
        (vec!["decode", PROTO], "say which one with --message-name"),
        (
            vec!["decode", PROTO, "--message-name", "shop.Deliverie"],
            "the text declares no message `shop.Deliverie`",
        ),
        (vec!["decode", AVRO, "--filter", "value.pric > 1"], "did you mean `price`?"),
        (
            vec!["decode", AVRO, "--encoding", "hex"],
            "message 1: `zz` are no hexadecimal digits",
        ),
        (vec!["schema", "columns", AVRO, "--exclude", "value.nothing"], "value.nothing"),
        (vec!["schema", "columns", "nowhere.json"], "nowhere.json"),
    ] {
        let output = agent(&arguments, b"zz\n");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(text(&output.stderr).contains(said), "{arguments:?}: {}", text(&output.stderr));
    }
}

#[test]
fn a_verdict_has_its_exit_code_and_columns_are_those_of_the_table() {
    let folder = fresh_folder("offline");
    let changed = |name: &str, from: &str, to: &str| -> PathBuf {
        let schema = std::fs::read_to_string(repository().join("examples").join(AVRO)).unwrap();
        let path = folder.join(name);
        std::fs::write(&path, schema.replace(from, to)).unwrap();
        path
    };
    let check = |new: &Path| agent(&["schema", "check", AVRO, new.to_str().unwrap()], b"");
    let same = check(&changed("same.avsc", "  ", "\t"));
    assert_eq!((same.status.code(), text(&same.stdout).as_str()), (Some(0), "unchanged\n"));
    let shorter = check(&changed(
        "shorter.avsc",
        ",\n    { \"name\": \"note\", \"type\": [\"null\", \"string\"], \"default\": null }",
        "",
    ));
    assert_eq!(shorter.status.code(), Some(0));
    assert!(
        text(&shorter.stdout).starts_with("in place\n  value.note: removed"),
        "{}",
        text(&shorter.stdout)
    );
    let other = check(&changed("other.avsc", "\"long\" }", "\"string\" }"));
    assert_eq!(other.status.code(), Some(4));
    assert!(
        text(&other.stdout).starts_with("refused\n  value.order_id: "),
        "{}",
        text(&other.stdout)
    );
    discard(&folder);

    let columns = text(&agent(&["schema", "columns", AVRO], b"").stdout);
    let first: Vec<&str> = columns.lines().take(4).collect();
    assert_eq!(first[0].split_whitespace().collect::<Vec<_>>(), ["key", "STRING"]);
    assert_eq!(first[3].split_whitespace().collect::<Vec<_>>(), ["value.state", "STRING"]);
    assert!(columns.contains("kafka_offset"));
}
