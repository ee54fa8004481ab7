//! What others do, what fails and what ends while INT columns become BIGINT.

use serde_json::json;
use stream_spec::types::{DataType, Field};

use super::care_steps::{append_one_by_one, run, wait_until};
use super::faulty_store::{EntryFault, FaultyStore};
use super::support::{Lab, append, at, columns, quiet, switch};
use super::widening::{BIG, wait_until_widened, wide_append, wide_columns};
use crate::table::care::{CareJob, CareKind, CareResult};
use crate::table::commit::probe;
use crate::table::log::actions::Add;
use crate::table::state::LoadedTable;
use crate::table::switch::commit_switch;
use crate::table::widening::take_step;
use crate::table::{TableCareSettings, TableError, Warehouse};

/// Care that rewrites three of ten small files at a time, and leaves one to the committer.
pub(super) fn three_at_a_time(lab: &Lab) -> TableCareSettings {
    TableCareSettings {
        target_file_bytes: file_of(lab, 1).size.unsigned_abs() * 5 / 2,
        ..quiet()
    }
}

/// A table of ten files whose column is being widened, and nothing done yet.
pub(super) async fn widening_of_ten() -> (Lab, LoadedTable) {
    let lab = Lab::with_ten_files().await;
    let mut table = lab.load(0);
    commit_switch(&lab.files(), &mut table, &switch(2, wide_columns())).unwrap();
    (lab, table)
}

/// One step of care and of the committer.
pub(super) fn step(lab: &Lab, table: &mut LoadedTable) -> Result<(), TableError> {
    let job = CareJob::due(table, &three_at_a_time(lab), |kind| kind == CareKind::Widen).expect("a step is due");
    match run(lab, job) {
        CareResult::Widened(step) => take_step(&lab.files(), table, step),
        other => panic!("files should be rewritten: {other:?}"),
    }
}

/// Steps until all is done.
pub(super) fn finish(lab: &Lab, table: &mut LoadedTable) {
    for _ in 0..50 {
        if table.widening.places.is_empty() {
            return;
        }
        step(lab, table).unwrap();
    }
    panic!("the widening goes on for ever");
}

fn file_of(lab: &Lab, version: i64) -> Add {
    lab.entry(version).into_iter().find_map(|action| action.add).unwrap()
}

#[tokio::test]
async fn files_that_others_remove_or_add_meanwhile_are_followed() {
    let (lab, mut table) = widening_of_ten().await;
    for _ in 0..2 {
        step(&lab, &mut table).unwrap();
    }
    let rewritten = table.widening.done();
    let (first, last) = (file_of(&lab, 1), file_of(&lab, 10));
    assert!(rewritten.contains(&first.path) && !rewritten.contains(&last.path), "{rewritten:?}");
    // A DELETE takes the file of one row that was rewritten and one that was not, and an INSERT brings one.
    std::fs::copy(lab.path().join(&file_of(&lab, 5).path), lab.path().join("theirs.parquet")).unwrap();
    let theirs = Add {
        path: "theirs.parquet".to_owned(),
        ..file_of(&lab, 5)
    };
    lab.write_foreign(
        12,
        &[
            json!({"remove": {"path": first.path, "deletionTimestamp": 5, "dataChange": true}}),
            json!({"remove": {"path": last.path, "deletionTimestamp": 5, "dataChange": true}}),
            json!({"add": theirs}),
        ],
    );
    probe(&lab.files(), &mut table).unwrap();
    finish(&lab, &mut table);
    assert_eq!(
        lab.ids_and_soundness_of_all_versions().await,
        [101, 102, 103, 104, 104, 105, 106, 107, 108]
    );
    assert_eq!(table.snapshot.totals, lab.load(0).snapshot.totals);
    assert!(lab.unnamed_files().is_empty(), "outputs of dropped groups are gone");
}

#[tokio::test]
async fn a_removal_between_the_last_look_and_the_swap_brings_no_row_back() {
    let (lab, mut table) = widening_of_ten().await;
    loop {
        let job = CareJob::due(&table, &three_at_a_time(&lab), |kind| kind == CareKind::Widen).unwrap();
        let CareResult::Widened(last) = run(&lab, job) else {
            panic!("files should be rewritten")
        };
        let is_last = last.group.is_none();
        if is_last {
            let removed = json!({"remove": {"path": file_of(&lab, 2).path, "deletionTimestamp": 5, "dataChange": true}});
            lab.write_foreign(12, &[removed]);
        }
        take_step(&lab.files(), &mut table, last).unwrap();
        if is_last {
            break;
        }
    }
    finish(&lab, &mut table);
    let expected: Vec<i64> = (100..110).filter(|id| *id != 101).collect();
    assert_eq!(lab.ids_and_soundness_of_all_versions().await, expected);
}

#[tokio::test]
async fn anothers_rewrite_over_the_swap_is_undone() {
    let (lab, mut table) = widening_of_ten().await;
    finish(&lab, &mut table);
    // As delta-rs commits an OPTIMIZE that it began before: it sees no conflict with a commit that changes no data.
    let (one, two) = (file_of(&lab, 1), file_of(&lab, 2));
    let removal = |add: &Add| json!({"remove": {"path": add.path, "deletionTimestamp": 5, "dataChange": false}});
    let output = Add {
        path: "theirs.parquet".to_owned(),
        data_change: false,
        ..two.clone()
    };
    std::fs::copy(lab.path().join(&two.path), lab.path().join("theirs.parquet")).unwrap();
    let version = table.snapshot.version + 1;
    lab.write_foreign(version, &[removal(&one), removal(&two), json!({"add": output})]);
    let handle = lab.open().await;
    handle.append(wide_append(111, &[BIG])).await.unwrap();
    handle.close().await;
    let mut expected: Vec<i64> = (100..110).collect();
    expected.push(BIG);
    let ids: Vec<i64> = lab.foreign_ids_wide().await;
    assert_eq!(ids, expected);
}

impl Lab {
    /// The ids of the last version.
    async fn foreign_ids_wide(&self) -> Vec<i64> {
        let mut ids = Vec::new();
        for uri in self.foreign_reader().await.get_file_uris().unwrap() {
            for batch in super::widening::read_parquet(std::path::Path::new(uri.trim_start_matches("file://"))) {
                use arrow_array::cast::AsArray;
                let value = batch.column_by_name("value").unwrap().as_struct().clone();
                let id = value.column_by_name("id").unwrap().clone();
                ids.extend(id.as_primitive::<arrow_array::types::Int64Type>().iter().flatten());
            }
        }
        ids.sort_unstable();
        ids
    }
}

#[tokio::test]
async fn a_swap_that_fails_or_whose_outcome_is_unknown_is_made_once() {
    for fault in [EntryFault::NotWritten, EntryFault::Written, EntryFault::WrittenAndUnreadable] {
        let mut lab = Lab::with_ten_files().await;
        let store = FaultyStore::new(lab.local_store());
        lab.warehouse = Warehouse::with_store(store.clone(), None);
        let mut table = lab.load(0);
        commit_switch(&lab.files(), &mut table, &switch(2, wide_columns())).unwrap();
        while table.widening.done().len() < 9 {
            step(&lab, &mut table).unwrap();
        }
        store.fail_next_entry(fault);
        let answer = step(&lab, &mut table);
        assert_eq!(answer.is_err(), fault != EntryFault::Written, "{fault:?}: {answer:?}");
        // Another commit settles it as well.
        probe(&lab.files(), &mut table).unwrap();
        finish(&lab, &mut table);
        let expected: Vec<i64> = (100..110).collect();
        assert_eq!(lab.ids_and_soundness_of_all_versions().await, expected, "{fault:?}");
        assert_eq!(table.snapshot.version, 12, "{fault:?}");
        assert!(lab.unnamed_files().is_empty(), "{fault:?}");
        assert_eq!(table.snapshot.totals, lab.load(0).snapshot.totals, "{fault:?}");
    }
}

#[tokio::test]
async fn a_life_that_ends_before_the_swap_leaves_nothing_to_the_next_but_the_work() {
    let (lab, mut table) = widening_of_ten().await;
    for _ in 0..3 {
        step(&lab, &mut table).unwrap();
    }
    drop(table);
    assert_eq!(lab.unnamed_files().len(), 3, "outputs without a commit");
    let handle = lab.open_with(three_at_a_time(&lab)).await;
    handle.append(wide_append(111, &[110])).await.unwrap();
    wait_until_widened(&handle).await;
    handle.append(wide_append(112, &[BIG])).await.unwrap();
    handle.close().await;
    let mut expected: Vec<i64> = (100..111).collect();
    expected.push(BIG);
    assert_eq!(lab.ids_and_soundness_of_all_versions().await, expected);
    assert!(lab.unnamed_files().is_empty());
}

#[tokio::test]
async fn rewritten_files_that_somebody_deletes_are_written_again() {
    let (lab, mut table) = widening_of_ten().await;
    for _ in 0..3 {
        step(&lab, &mut table).unwrap();
    }
    // As a VACUUM that keeps nothing does with files that no commit names.
    std::fs::remove_file(lab.path().join(&lab.unnamed_files()[1])).unwrap();
    finish(&lab, &mut table);
    assert_eq!(lab.ids_and_soundness_of_all_versions().await, (100..110).collect::<Vec<_>>());
    assert!(lab.unnamed_files().is_empty());
}

#[tokio::test]
async fn a_second_update_during_a_widening_ends_in_the_declared_state() {
    let (lab, mut table) = widening_of_ten().await;
    for _ in 0..2 {
        step(&lab, &mut table).unwrap();
    }
    let job = CareJob::due(&table, &three_at_a_time(&lab), |kind| kind == CareKind::Widen).unwrap();
    let CareResult::Widened(late) = run(&lab, job) else {
        panic!("files should be rewritten")
    };
    // The second update adds an INT column; the third widens that too.
    let more = |data_type| {
        let mut columns = wide_columns();
        columns.push(Field::new("more", data_type));
        columns
    };
    commit_switch(&lab.files(), &mut table, &switch(3, more(DataType::Int))).unwrap();
    assert_eq!(table.widening.done().len(), 6, "what was rewritten stays");
    commit_switch(&lab.files(), &mut table, &switch(4, more(DataType::BigInt))).unwrap();
    take_step(&lab.files(), &mut table, late).unwrap();
    assert_eq!(
        (table.widening.places.len(), table.widening.done().len()),
        (2, 0),
        "it begins again"
    );
    finish(&lab, &mut table);
    assert_eq!((table.generation, table.public().columns), (4, more(DataType::BigInt)));
    assert_eq!(lab.ids_and_soundness_of_all_versions().await, (100..110).collect::<Vec<_>>());
    assert!(lab.unnamed_files().is_empty());
}

#[tokio::test]
async fn rows_that_were_encoded_before_the_swap_and_come_after_it_are_widened() {
    let mut lab = Lab::with_ten_files().await;
    let store = FaultyStore::new(lab.local_store());
    lab.warehouse = Warehouse::with_store(store.clone(), None);
    let handle = std::sync::Arc::new(lab.open().await);
    let gate = store.hang_next_create();
    let late = {
        let handle = std::sync::Arc::clone(&handle);
        tokio::spawn(async move { handle.append(append(110..112)).await })
    };
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(10);
    while !store.has_hung() {
        assert!(tokio::time::Instant::now() < deadline, "the append should be writing");
        tokio::task::yield_now().await;
    }
    handle.switch(switch(2, wide_columns())).await.unwrap();
    wait_until_widened(&handle).await;
    drop(gate);
    late.await.unwrap().unwrap();
    std::sync::Arc::into_inner(handle).unwrap().close().await;
    assert_eq!(lab.ids_and_soundness_of_all_versions().await, (100..112).collect::<Vec<_>>());
    assert!(lab.unnamed_files().is_empty());
    assert_eq!(lab.load(0).positions, at(0, 112));
}

#[tokio::test]
async fn appends_go_on_beside_a_widening_and_nothing_is_lost() {
    let lab = Lab::with_ten_files().await;
    let care = TableCareSettings {
        compact_at_files: 4,
        checkpoint_every_commits: 5,
        ..three_at_a_time(&lab)
    };
    let handle = lab.open_with(care).await;
    handle.switch(switch(2, wide_columns())).await.unwrap();
    append_one_by_one(&handle, 110..140).await;
    wait_until(&handle, |state| state.widening.is_none()).await;
    for offset in 141..150 {
        handle.append(wide_append(offset, &[BIG + offset])).await.unwrap();
    }
    assert_eq!(handle.state().borrow().totals.rows, 49);
    handle.close().await;
    let mut expected: Vec<i64> = (100..140).collect();
    expected.extend(BIG + 141..BIG + 150);
    assert_eq!(lab.ids_and_soundness_of_all_versions().await, expected);
}

#[tokio::test]
async fn another_writer_that_takes_the_widening_back_stops_the_stream() {
    let (lab, mut table) = widening_of_ten().await;
    let mut metadata = table.snapshot.metadata.clone();
    metadata.configuration.remove("featurestore.widening");
    lab.write_foreign(12, &[json!({"metaData": metadata})]);
    let error = probe(&lab.files(), &mut table).unwrap_err();
    assert!(
        matches!(&error, TableError::Altered { what, .. } if what.contains("being widened")),
        "{error}"
    );
    assert_eq!(lab.load(0).columns, columns());
}
