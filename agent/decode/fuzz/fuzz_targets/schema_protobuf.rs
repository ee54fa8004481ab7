//! Any text as a Protobuf file: read or refused; what is read has a normal form that means the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stream_decode::plan::compile;
use stream_spec::schema;
use stream_spec::stream::SchemaText;

fuzz_target!(|text: &str| {
    let text = SchemaText::Proto {
        schema_text: text.to_owned(),
        message_name: "M".to_owned(),
    };
    if let Ok(parsed) = schema::parse(&text) {
        let normal = schema::normal_form(&text).expect("a text that was read has a normal form");
        let again = SchemaText::Proto {
            schema_text: normal.clone(),
            message_name: "M".to_owned(),
        };
        assert_eq!(schema::normal_form(&again).as_ref(), Ok(&normal), "the normal form is its own");
        let _plan = compile(&parsed, &parsed);
    }
});
