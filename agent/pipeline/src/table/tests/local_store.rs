//! The local store's promises: nothing half visible, nothing replaced, nothing left behind.

use std::io::Write;

use crate::table::store::local::LocalStore;
use crate::table::store::{EntryOutcome, FileFacts, MoveOutcome, TableStore};

fn store() -> (tempfile::TempDir, LocalStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStore::new(folder.path().to_path_buf());
    store.create_folder("t/log").unwrap();
    (folder, store)
}

fn names(store: &LocalStore, folder: &str) -> Vec<String> {
    let mut names = Vec::new();
    store.list(folder, &mut |listed| names.push(listed.name.to_owned())).unwrap();
    names.sort();
    names
}

fn written(outcome: EntryOutcome) -> FileFacts {
    match outcome {
        EntryOutcome::Written(facts) => facts,
        other => panic!("the entry should be written, was {other:?}"),
    }
}

#[test]
fn an_entry_is_written_once_and_never_replaced() {
    let (_folder, store) = store();
    let facts = written(store.write_entry("t/log", "0", b"first", None).unwrap());
    assert_eq!(store.facts("t/log/0").unwrap(), Some(facts));
    assert_eq!(
        store.write_entry("t/log", "0", b"second", None).unwrap(),
        EntryOutcome::VersionTaken
    );
    assert_eq!(store.read("t/log/0").unwrap().as_deref(), Some(b"first".as_slice()));
    assert_eq!(names(&store, "t/log"), ["0"], "no temporary file stays");
}

#[test]
fn an_entry_follows_only_the_entry_that_was_read() {
    let (_folder, store) = store();
    let facts = written(store.write_entry("t/log", "0", b"first", None).unwrap());
    written(store.write_entry("t/log", "1", b"x", Some(("0", facts))).unwrap());
    store.delete("t/log/0").unwrap();
    assert_eq!(
        store.write_entry("t/log", "2", b"x", Some(("0", facts))).unwrap(),
        EntryOutcome::PreviousChanged
    );
    let replaced = written(store.write_entry("t/log", "0", b"other", None).unwrap());
    assert_ne!(replaced, facts);
    assert_eq!(
        store.write_entry("t/log", "2", b"x", Some(("0", facts))).unwrap(),
        EntryOutcome::PreviousChanged
    );
    assert_eq!(
        store.write_entry("no/log", "2", b"x", Some(("0", facts))).unwrap(),
        EntryOutcome::PreviousChanged
    );
    assert_eq!(names(&store, "t/log"), ["0", "1"]);
}

#[test]
fn a_new_file_is_visible_when_finished_and_leaves_nothing_when_dropped() {
    let (_folder, store) = store();
    let mut file = store.create("t/a").unwrap();
    file.write_all(b"half").unwrap();
    assert_eq!(store.facts("t/a").unwrap(), None);
    drop(file);
    assert_eq!(names(&store, "t"), ["log"]);
    for content in ["one", "two"] {
        let mut file = store.create("t/a").unwrap();
        file.write_all(content.as_bytes()).unwrap();
        let facts = file.finish().unwrap();
        assert_eq!(store.facts("t/a").unwrap(), Some(facts));
    }
    assert_eq!(store.read("t/a").unwrap().as_deref(), Some(b"two".as_slice()));
    assert!(store.create("nowhere/a").is_err());
}

#[test]
fn folders_move_as_a_whole_and_never_onto_another() {
    let (_folder, store) = store();
    assert_eq!(store.move_folder("t", "_trash/u").unwrap(), MoveOutcome::Moved);
    assert_eq!(store.move_folder("t", "_trash/u").unwrap(), MoveOutcome::SourceMissing);
    store.create_folder("t").unwrap();
    assert_eq!(store.move_folder("t", "_trash/u").unwrap(), MoveOutcome::TargetExists);
    assert_eq!(store.move_folder("missing/t", "x").unwrap(), MoveOutcome::SourceMissing);
    for _ in 0..2 {
        assert!(store.delete_folder("_trash", &|| true).unwrap());
    }
    assert_eq!(store.facts("_trash/u/log").unwrap(), None);
}

#[test]
fn deleting_a_folder_of_many_files_can_be_left_off_and_gone_on_with() {
    let (_folder, store) = store();
    for number in 0..5 {
        store.create(&format!("t/log/{number}")).unwrap().finish().unwrap();
    }
    let steps = std::cell::Cell::new(0);
    let three_steps = || {
        steps.set(steps.get() + 1);
        steps.get() <= 3
    };
    assert!(!store.delete_folder("t", &three_steps).unwrap());
    assert_eq!(names(&store, "t/log").len(), 3, "one step was into the folder");
    assert!(store.delete_folder("t", &|| true).unwrap());
    assert_eq!(store.facts("t").unwrap(), None);
}

#[test]
fn what_is_missing_is_nothing_and_no_error() {
    let (_folder, store) = store();
    assert_eq!(store.read("t/none").unwrap(), None);
    assert!(store.open("none/none").unwrap().is_none());
    assert!(!store.list("none", &mut |_| ()).unwrap());
    store.delete("none/none").unwrap();
}
