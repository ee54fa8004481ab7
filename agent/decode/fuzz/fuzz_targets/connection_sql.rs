//! Any text as a statement about connections: taken or refused, and no error repeats what stands in quotes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stream_spec::connection::ConnectionKind;
use stream_spec::connection_sql::{Statement, parse, settings};

/// No message says this by itself.
const CANARY: &str = "7c4f9e0b2d";

fuzz_target!(|text: &str| {
    if let Ok(Statement::Alter { set, unset, .. }) = parse(text) {
        for kind in [ConnectionKind::Kafka, ConnectionKind::Kinesis] {
            let _settings = settings(kind, set.clone(), unset.clone());
        }
    }
    // The text as a password, with whatever quotes it holds.
    let statement = format!("CREATE CONNECTION p TYPE KAFKA OPTIONS (password '{CANARY}{text}')");
    match parse(&statement) {
        Ok(statement) => assert!(!format!("{statement:?}").contains(CANARY)),
        Err(error) => assert!(!error.to_string().contains(CANARY)),
    }
});
