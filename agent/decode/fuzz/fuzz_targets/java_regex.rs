//! Any text as a Java pattern and any text to match: read or refused, and answered or given up.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stream_spec::regex::JavaPattern;

fuzz_target!(|pair: (&str, &str)| {
    let (pattern, text) = pair;
    if let Ok(pattern) = JavaPattern::parse(pattern) {
        // A text that matches as a whole has a match in it.
        if let (Ok(true), Ok(found)) = (pattern.matches_whole(text), pattern.is_found_in(text)) {
            assert!(found);
        }
    }
});
