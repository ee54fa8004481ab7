//! Three brokers, a schema registry and an agent that are killed, stopped or left hanging at random; leaders that move; topics,
//! partitions and versions of schemas that come, and a topic that is deleted and made again; and transactions all the while. What can
//! happen is in `chaos_deeds`, to what in `chaos_scene`, the load in `chaos_load`, the verdict in `chaos_verdict`.
//! Invariant of the product: whatever happened, each committed record is in a table once, but for those that were deleted before they
//! were read, and each of those is in a loss that was recorded.

use std::time::{Duration, SystemTime};

use crate::chaos_deeds::DECK;
use crate::chaos_load::Load;
use crate::chaos_scene::Chaos;
use crate::chaos_verdict::judge;

fn number_from(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |text| {
        text.parse().unwrap_or_else(|_| panic!("{variable} is no number: {text}"))
    })
}

/// An ordinary run does each thing once, in an order of its own; `make soak` goes on for an hour.
#[test]
fn whatever_comes_and_goes_each_committed_record_is_there_exactly_once() {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let seed = number_from("E2E_CHAOS_SEED", now.as_secs());
    let length = Duration::from_secs(number_from("E2E_CHAOS_SECONDS", 0));
    println!("E2E_CHAOS_SEED={seed} E2E_CHAOS_SECONDS={}", length.as_secs());
    let mut chaos = Chaos::set(seed);
    let load = Load::start(chaos.cluster.bootstrap(), &chaos.targets, seed);
    chaos.begin();
    loop {
        let mut deck = DECK;
        chaos.random.shuffle(&mut deck);
        for deed in deck {
            chaos.let_pass(&load);
            chaos.act(deed, &load);
            chaos.look_at_leaders();
        }
        if chaos.elapsed() >= length {
            break;
        }
    }
    chaos.heal(&load);
    let produced = load.end();
    judge(&mut chaos, &produced);
    assert!(produced.committed.len() > produced.transactions && produced.aborted > 0);
}
