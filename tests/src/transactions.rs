//! Card transactions of about one kilobyte of JSON, twelve fields each: what examples, crash tests and benchmarks ingest.
//! Invariant: seed and number decide every byte of a record.

use std::fmt::Write;

use crate::producer::Outgoing;
use crate::random::Random;

/// The JSON Schema of a transaction, as the quickstart example declares it.
pub const SCHEMA: &str = include_str!("../../examples/quickstart/transaction.schema.json");

const TYPES: [&str; 6] = [
    "payment.authorized",
    "payment.captured",
    "payment.refunded",
    "payment.declined",
    "transfer.sent",
    "transfer.received",
];
const CATEGORIES: [&str; 8] = [
    "grocery",
    "fuel",
    "travel",
    "electronics",
    "restaurant",
    "pharmacy",
    "books",
    "clothing",
];
const COUNTRIES: [&str; 8] = ["DE", "FR", "US", "GB", "PL", "JP", "BR", "IN"];
const AGENTS: [&str; 4] = [
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148",
    "TransactionClient/4.12.3 (Android 15; Pixel 9; build 8841)",
    "okhttp/4.12.0",
];
// Escapes, umlauts and control characters: a decoder that only meets ASCII looks faster than it is.
const WORDS: [&str; 24] = [
    "order",
    "invoice",
    "customer",
    "delivery",
    "express",
    "standard",
    "gift",
    "card",
    "loyalty",
    "points",
    "discount",
    "voucher",
    "café",
    "Zürich",
    "naïve",
    "größe",
    "reference",
    "approved",
    "\"quoted\"",
    "line\nbreak",
    "tab\tstop",
    "back\\slash",
    "monthly",
    "renewal",
];
const MEMOS: usize = 1024;
const WORDS_PER_MEMO: usize = 45;
const FIRST_TIMESTAMP_MS: i64 = 1_709_210_096_789;

/// Makes transactions, one after the other.
pub struct Transactions {
    random: Random,
    memos: Vec<String>,
    sequence: u64,
    timestamp_ms: i64,
}

impl Transactions {
    /// Starts at record 0.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let memos = (0..MEMOS)
            .map(|_| {
                let words: Vec<&str> = (0..WORDS_PER_MEMO).map(|_| WORDS[random.below(WORDS.len())]).collect();
                serde_json::to_string(&words.join(" ")).unwrap()
            })
            .collect();
        Self {
            random,
            memos,
            sequence: 0,
            timestamp_ms: FIRST_TIMESTAMP_MS,
        }
    }

    /// The next record; its key is the account.
    pub fn next_record(&mut self) -> Outgoing {
        let random = &mut self.random;
        self.timestamp_ms += i64::try_from(random.any() % 8).unwrap();
        let account = 1_000_000 + random.any() % 250_000;
        let merchant = random.below(5000);
        let mut json = String::with_capacity(1200);
        let seconds = self.timestamp_ms / 1000;
        write!(
            json,
            "{{\"event_id\":\"{:016x}{:016x}\",\"event_type\":\"{}\",\
             \"created_at\":\"2024-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z\",\"occurred_ms\":{},\"account_id\":{account},\
             \"sequence\":{},\"amount\":{:.2},\"fee\":{},",
            random.any(),
            random.any(),
            TYPES[random.below(TYPES.len())],
            1 + seconds / 86_400 % 12,
            1 + seconds / 86_400 % 28,
            seconds / 3600 % 24,
            seconds / 60 % 60,
            seconds % 60,
            self.timestamp_ms % 1000,
            self.timestamp_ms,
            self.sequence,
            random.fraction() * 10_000.0,
            random.fraction(),
        )
        .unwrap();
        write!(
            json,
            "\"merchant\":{{\"id\":{},\"name\":\"Merchant {merchant:05} {} GmbH\",\"category\":\"{}\",\
             \"country\":\"{}\",\"lat\":{:.6},\"lon\":{:.6}}},\"items\":[",
            10_000_000 + merchant,
            WORDS[merchant % 18],
            CATEGORIES[merchant % 8],
            COUNTRIES[merchant / 8 % 8],
            random.fraction() * 180.0 - 90.0,
            random.fraction() * 360.0 - 180.0,
        )
        .unwrap();
        for item in 0..2 + random.below(4) {
            let comma = if item == 0 { "" } else { "," };
            write!(
                json,
                "{comma}{{\"sku\":\"SKU-{:06}-{item}\",\"qty\":{},\"price\":{:.2}}}",
                random.below(999_983),
                1 + random.below(5),
                random.fraction() * 500.0,
            )
            .unwrap();
        }
        let agent = AGENTS[random.below(AGENTS.len())];
        let memo = &self.memos[random.below(MEMOS)];
        write!(json, "],\"user_agent\":\"{agent}\",\"memo\":{memo}}}").unwrap();
        self.sequence += 1;
        Outgoing {
            timestamp_ms: Some(self.timestamp_ms),
            ..Outgoing::new(account.to_string().into_bytes(), json.into_bytes())
        }
    }
}

impl Iterator for Transactions {
    type Item = Outgoing;

    fn next(&mut self) -> Option<Outgoing> {
        Some(self.next_record())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_sound_json_of_about_a_kilobyte_and_repeats_with_its_seed() {
        let records: Vec<Outgoing> = Transactions::new(7).take(2000).collect();
        let mut bytes = 0;
        for record in &records {
            let value = record.value.as_ref().unwrap();
            bytes += value.len();
            let parsed: serde_json::Value = serde_json::from_slice(value).unwrap();
            assert_eq!(parsed.as_object().unwrap().len(), 12);
        }
        assert!((800..1200).contains(&(bytes / records.len())), "mean {}", bytes / records.len());
        let again: Vec<Outgoing> = Transactions::new(7).take(2000).collect();
        assert!(records.iter().zip(&again).all(|(left, right)| left.value == right.value));
    }
}
