//! A widening beside the rest of care, beside a VACUUM, and on a disk that is full.

use std::time::Duration;

use super::care_steps::run;
use super::faulty_store::FaultyStore;
use super::support::{Lab, switch};
use super::widening::wide_columns;
use super::widening_races::{finish, step, three_at_a_time, widening_of_ten};
use crate::table::care::compaction::commit_compaction;
use crate::table::care::{CareJob, CareKind, CareResult};
use crate::table::limits::{CARE_RETRY, WIDENING_FULL_RETRY};
use crate::table::state::LoadedTable;
use crate::table::switch::commit_switch;
use crate::table::widening::note_failure;
use crate::table::{TableCareSettings, Warehouse};

/// Nine of ten files rewritten, on a store that can fail.
async fn nine_of_ten() -> (Lab, std::sync::Arc<FaultyStore>, LoadedTable) {
    let mut lab = Lab::with_ten_files().await;
    let store = FaultyStore::new(lab.local_store());
    lab.warehouse = Warehouse::with_store(store.clone(), None);
    let mut table = lab.load(0);
    commit_switch(&lab.files(), &mut table, &switch(2, wide_columns())).unwrap();
    while table.widening.done().len() < 9 {
        step(&lab, &mut table).unwrap();
    }
    (lab, store, table)
}

#[tokio::test]
async fn a_widening_that_fills_the_disk_gives_the_space_back_and_rests() {
    let (lab, store, mut table) = nine_of_ten().await;
    let files = lab.files();
    let other = files.failed("reading", "no such luck");
    assert_eq!(note_failure(&files, &mut table, &other), CARE_RETRY);
    assert_eq!(
        (table.widening.groups.len(), lab.unnamed_files().len()),
        (3, 3),
        "other failures keep the work"
    );
    // The last file is the committer's; it is written when no space is left.
    store.fail_creates(1);
    let error = step(&lab, &mut table).unwrap_err();
    assert_eq!(note_failure(&files, &mut table, &error), WIDENING_FULL_RETRY);
    assert_eq!(lab.unnamed_files(), Vec::<String>::new());
    let trouble = table.widening.trouble.clone().unwrap();
    let needed = format!("about {} bytes", table.snapshot.totals.bytes);
    assert!(trouble.contains("free space there") && trouble.contains(&needed), "{trouble}");
    // So is one that care writes.
    store.fail_creates(1);
    let job = CareJob::due(&table, &three_at_a_time(&lab), |kind| kind == CareKind::Widen).unwrap();
    let CareResult::Failed(CareKind::Widen, error) = run(&lab, job) else {
        panic!("there should be no space")
    };
    assert_eq!(note_failure(&files, &mut table, &error), WIDENING_FULL_RETRY);
    finish(&lab, &mut table);
    assert_eq!(lab.ids_and_soundness_of_all_versions().await, (100..110).collect::<Vec<_>>());
    assert!(lab.unnamed_files().is_empty());
}

#[tokio::test]
async fn compaction_and_sweeps_have_their_turn_during_a_widening_and_leave_what_is_rewritten() {
    let (lab, _) = widening_of_ten().await;
    let mut table = lab.load(u64::MAX);
    for _ in 0..2 {
        step(&lab, &mut table).unwrap();
    }
    let care = TableCareSettings {
        compact_at_files: 4,
        ..three_at_a_time(&lab)
    };
    let kind = |care: &TableCareSettings, resting: &[CareKind]| {
        let job = CareJob::due(&table, care, |kind| !resting.contains(&kind));
        job.map(|job| job.kind())
    };
    assert_eq!(kind(&care, &[]), Some(CareKind::Compact));
    assert_eq!(kind(&care, &[CareKind::Compact]), Some(CareKind::Sweep));
    assert_eq!(kind(&care, &[CareKind::Compact, CareKind::Sweep]), Some(CareKind::Widen));
    let five = TableCareSettings {
        compact_at_files: 5,
        target_file_bytes: u64::MAX,
        ..care.clone()
    };
    assert_eq!(
        kind(&five, &[CareKind::Sweep]),
        Some(CareKind::Widen),
        "only four are not rewritten"
    );

    let job = CareJob::due(&table, &care, |kind| kind == CareKind::Compact).unwrap();
    let CareResult::Compacted { inputs, outputs } = run(&lab, job) else {
        panic!("files should be put together")
    };
    let done = table.widening.done();
    assert!(
        inputs.len() > 1 && inputs.iter().all(|input| !done.contains(&input.path)),
        "{inputs:?}"
    );
    commit_compaction(&lab.files(), &mut table, &inputs, outputs).unwrap();
    assert_eq!(table.snapshot.version, 12);
    step(&lab, &mut table).unwrap();
    assert!(done.is_subset(&table.widening.done()), "what was rewritten stays so");
    finish(&lab, &mut table);
    assert_eq!(lab.ids_and_soundness_of_all_versions().await, (100..110).collect::<Vec<_>>());
    assert!(lab.unnamed_files().is_empty());
}

#[tokio::test]
async fn rewritten_files_that_a_vacuum_may_find_old_are_written_again() {
    let (lab, _store, mut table) = nine_of_ten().await;
    let half_a_retention = 7 * 24 * 60 * 60 * 1000 / 2;
    let old = table.widening.groups[0].outputs[0].clone();
    table.widening.groups[0].outputs[0].modification_time -= half_a_retention + 1;
    table.widening.groups[1].outputs[0].modification_time -= half_a_retention - 60_000;
    let young = table.widening.groups[1].outputs[0].path.clone();
    finish(&lab, &mut table);
    let added: Vec<String> = lab
        .entry(12)
        .into_iter()
        .filter_map(|action| action.add)
        .map(|add| add.path)
        .collect();
    assert!(!added.contains(&old.path) && added.contains(&young), "{added:?}");
    assert_eq!(lab.ids_and_soundness_of_all_versions().await, (100..110).collect::<Vec<_>>());
    assert!(lab.unnamed_files().is_empty());
}

#[tokio::test]
async fn a_rewritten_file_that_goes_just_before_the_swap_is_written_again() {
    let (lab, store, mut table) = nine_of_ten().await;
    let gate = store.hang_next_create();
    std::thread::scope(|scope| {
        let swapping = scope.spawn(|| step(&lab, &mut table));
        assert!(store.hangs_within(Duration::from_secs(10)), "the last file should be in writing");
        std::fs::remove_file(lab.path().join(&lab.unnamed_files()[0])).unwrap();
        drop(gate);
        swapping.join().unwrap().unwrap();
    });
    finish(&lab, &mut table);
    assert_eq!(lab.ids_and_soundness_of_all_versions().await, (100..110).collect::<Vec<_>>());
    assert!(lab.unnamed_files().is_empty());
}
