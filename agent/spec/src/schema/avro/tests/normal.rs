//! Texts of one meaning have one normal form.

use super::{parse, record_of};
use crate::schema;
use crate::stream::SchemaText;

fn avro(text: &str) -> SchemaText {
    SchemaText::Avro(text.to_owned())
}

#[track_caller]
fn check(left: &str, right: &str, same: bool) {
    parse(left).expect(left);
    parse(right).expect(right);
    assert_eq!(schema::same_meaning(&avro(left), &avro(right)), same, "{left}\n{right}");
}

#[test]
fn what_changes_no_row_and_no_update_does_not_count() {
    let plain = r#"{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}"#;
    for same in [
        r#"{ "name": "R", "fields": [ {"type": {"type": "int"}, "name": "a"} ], "type": "record" }"#,
        r#"{"type":"record","name":"com.x.Other","doc":"d","aliases":["Old"],"fields":[
            {"name":"a","type":"int","default":5,"doc":"d","order":"ignore","aliases":["z"]}]}"#,
        r#"{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"int","logicalType":"unheard-of"}}]}"#,
    ] {
        check(plain, same, true);
    }
    let fixed = |rest: &str| record_of(&format!(r#"{{"type":"fixed","name":"F","size":16{rest}}}"#));
    check(&fixed(""), &fixed(r#","logicalType":"uuid""#), true);
    check(
        &record_of(r#"["int","long"]"#),
        &record_of(r#"[{"type":"int","logicalType":"date"},"long"]"#),
        true,
    );
    let twice =
        r#"{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"fixed","name":"F","size":2}},{"name":"b","type":"F"}]}"#;
    let apart = r#"{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"fixed","name":"F","size":2}},
        {"name":"b","type":{"type":"fixed","name":"G","size":2}}]}"#;
    check(twice, apart, true);
}

#[test]
fn what_changes_rows_or_updates_counts() {
    for (left, right) in [
        (r#""int""#, r#""long""#),
        (r#""int""#, r#"["int"]"#),
        (r#"["null","int"]"#, r#"["int","null"]"#),
        (r#""bytes""#, r#""string""#),
        (r#""int""#, r#"{"type":"int","logicalType":"time-millis"}"#),
        (
            r#"{"type":"long","logicalType":"timestamp-millis"}"#,
            r#"{"type":"long","logicalType":"timestamp-micros"}"#,
        ),
        (
            r#"{"type":"enum","name":"E","symbols":["A","B"]}"#,
            r#"{"type":"enum","name":"E","symbols":["B","A"]}"#,
        ),
        (
            r#"["int",{"type":"enum","name":"E","symbols":["A"]}]"#,
            r#"["int",{"type":"enum","name":"F","symbols":["A"]}]"#,
        ),
        (r#"{"type":"fixed","name":"F","size":1}"#, r#"{"type":"fixed","name":"F","size":2}"#),
    ] {
        check(&record_of(left), &record_of(right), false);
    }
    let fields = |first: &str, second: &str| {
        format!(r#"{{"type":"record","name":"R","fields":[{{"name":"{first}","type":"int"}},{{"name":"{second}","type":"int"}}]}}"#)
    };
    check(&fields("a", "b"), &fields("b", "a"), false);
}

#[test]
fn a_normal_form_means_what_its_text_means() {
    let n =
        r#"{"type":"record","name":"x.N","fields":[{"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}}]}"#;
    let text = format!(
        r#"{{"type":"record","name":"R","fields":[{{"name":"a","type":["null","string",{n}]}},{{"name":"b","type":{{"type":"array","items":"x.N"}}}},
            {{"name":"c","type":{{"type":"map","values":{{"type":"enum","name":"E","symbols":["A","B"],"default":"B"}}}}}},{{"name":"e","type":["E","x.N"]}},
            {{"name":"f","type":{{"type":"fixed","name":"F","size":12,"logicalType":"duration"}}}},{{"name":"t","type":{{"type":"long","logicalType":"local-timestamp-micros"}}}}]}}"#
    );
    let normal = avro(&schema::normal_form(&avro(&text)).expect("legal"));
    assert_ne!(normal, avro(&text));
    assert!(schema::same_meaning(&avro(&text), &normal));
    assert_eq!(schema::normal_form(&normal).map(SchemaText::Avro), Ok(normal.clone()));
    let SchemaText::Avro(normal) = normal else {
        panic!("Avro stays Avro")
    };
    assert_eq!(parse(&normal).expect("legal").data_type, parse(&text).expect("legal").data_type);
}
