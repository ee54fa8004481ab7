//! The normal form: what it looks like, that it means what the text means, and that it stands still.

use super::*;
use crate::schema;
use crate::stream::SchemaText;

fn text(schema_text: &str, message_name: &str) -> SchemaText {
    SchemaText::Proto {
        schema_text: schema_text.to_owned(),
        message_name: message_name.to_owned(),
    }
}

/// Everything that a normal form has to say.
const EVERYTHING: &str = r#"syntax = "proto2"; package shop;
import "google/protobuf/wrappers.proto"; import "google/protobuf/timestamp.proto";
enum Open { option allow_alias = true; UP = 7; ZERO = 0; NIL = 0; DOWN = -1; }
message Line { optional int32 x = 1; required string y = 2; optional Open o = 3; }
message Order {
  optional bytes raw = 12 [default = "\000\\\"'\377"]; optional string text = 11 [default = "a\"b\\\n\303\274"];
  oneof b { Line l1 = 1; Line l2 = 2; } oneof c { int32 alone = 3; }
  repeated Line lines = 4; map<string, Line> by_name = 5; optional group G = 6 { optional sint64 z = 1; }
  optional google.protobuf.UInt64Value u = 7; repeated google.protobuf.Timestamp t = 8;
  optional Open o = 9 [default = NIL]; optional float f = 10 [default = -inf]; optional double d = 13 [default = 1e-300];
  optional float n = 14 [default = nan]; optional int64 i = 15 [default = -9223372036854775808]; optional bool k = 16 [default = true];
  optional string oneof_1 = 17; optional float third = 18 [default = 0.33333334];
}"#;

#[test]
fn a_normal_form_means_what_its_text_means() {
    for (schema_text, name) in [
        (EVERYTHING, "shop.Order"),
        (
            "syntax = \"proto3\"; enum E { Z = 0; } message M { E e = 1; map<string, E> m = 2; optional E p = 3; }",
            "M",
        ),
        (
            "syntax = \"proto2\"; enum E1 { E = 0; E_ = 1; } message M { optional E1 e = 1 [default = E_]; }",
            "M",
        ),
        ("syntax = \"proto3\"; message A { message N {} N n = 1; int32 b = 2; }", "A"),
    ] {
        let given = text(schema_text, name);
        let normal = text(&schema::normal_form(&given).expect("legal"), "M");
        assert!(schema::same_meaning(&given, &normal), "{normal:?}");
        assert_eq!(schema::normal_form(&normal), schema::normal_form(&given));
        let (given, normal) = (schema::parse(&given).expect("given"), schema::parse(&normal).expect("normal"));
        let mut columns: Vec<String> = tree(&given)
            .fields
            .iter()
            .map(|field| format!("{}: {:?}", field.name, protobuf::data_type(field)))
            .collect();
        let mut again: Vec<String> = tree(&normal)
            .fields
            .iter()
            .map(|field| format!("{}: {:?}", field.name, protobuf::data_type(field)))
            .collect();
        columns.sort();
        again.sort();
        assert_eq!(columns, again);
        for field in &tree(&given).fields {
            let found = tree(&normal)
                .fields
                .iter()
                .find(|found| found.number == field.number)
                .expect("the field");
            assert_eq!(format!("{:?}", found.label), format!("{:?}", field.label), "{}", field.name);
        }
    }
}

#[test]
fn a_normal_form_is_ordered_by_numbers_and_names_no_message() {
    let given = "syntax = \"proto3\"; package p; message N { string y = 2; int32 x = 1; }
        message M { optional N b = 3; repeated N a = 2; oneof o { bool only = 1; } }";
    let expected = "edition = \"2023\";
message M {
bool only = 1;
repeated T1 a = 2;
T1 b = 3;
}
message T1 {
int32 x = 1 [features.field_presence = IMPLICIT];
string y = 2 [features.field_presence = IMPLICIT];
}
";
    assert_eq!(schema::normal_form(&text(given, "p.M")).as_deref(), Ok(expected));
}
