//! The warehouse's mark: a folder that is not mounted is no folder of dropped tables.

use super::support::{Lab, UID, append, at, quiet};
use crate::error::Retry;
use crate::table::warehouse_mark::MARK;
use crate::table::{TableError, TableHandle, Warehouse};

/// Every step at this door, which has no handle open, fails as storage does, and says all of this.
async fn expect_nothing_is_known(warehouse: &Warehouse, lab: &Lab, case: &str, says: &[&str]) {
    let name = &lab.name;
    let answers: [(&str, Result<(), TableError>); 7] = [
        ("read", warehouse.read_state(name, UID).await.map(|_| ())),
        ("create", warehouse.create(lab.new_table()).await.map(|_| ())),
        ("look into the trash", warehouse.in_trash(UID).await.map(|_| ())),
        ("purge", warehouse.purge_trash(std::time::Duration::ZERO).await.map(|_| ())),
        ("open", warehouse.open_table(name, UID, quiet()).await.map(|_| ())),
        ("trash", warehouse.trash(name, UID).await),
        ("restore", warehouse.restore(name, UID).await),
    ];
    for (step, answer) in answers {
        expect_storage(&format!("{case}: {step}"), answer, says);
    }
}

fn expect_storage(case: &str, answer: Result<(), TableError>, says: &[&str]) {
    let error = answer.expect_err(case);
    assert!(matches!(error, TableError::Storage { .. }), "{case}: {error:?}");
    assert_eq!(error.retry(), Retry::Later, "{case}");
    for part in says {
        assert!(error.to_string().contains(part), "{case}: `{part}` in: {error}");
    }
}

/// An open handle's steps fail likewise.
async fn expect_handle_waits(handle: &TableHandle, case: &str, says: &str) {
    expect_storage(&format!("{case}: probe"), handle.probe().await, &[says]);
    let error = handle.append(append(103..105)).await.unwrap_err();
    assert!(matches!(error, TableError::Storage { .. }), "{case}: append: {error:?}");
}

#[tokio::test]
async fn an_unmounted_or_another_warehouse_is_a_storage_failure_and_never_a_dropped_table() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    handle.append(append(100..103)).await.unwrap();
    let root = lab.folder.path().to_path_buf();
    let away = tempfile::tempdir().unwrap();
    let away = away.path().join("away");
    for (case, says) in [
        ("no folder", "missing or not mounted"),
        ("an empty mount point", "missing or not mounted"),
        ("another warehouse", "is another warehouse"),
    ] {
        std::fs::rename(&root, &away).unwrap();
        match case {
            "no folder" => {}
            "an empty mount point" => std::fs::create_dir(&root).unwrap(),
            _ => {
                let mut table = lab.new_table();
                table.stream_uid = "another".into();
                let elsewhere = Warehouse::open(root.to_str().unwrap(), None).unwrap();
                elsewhere.create(table).await.unwrap();
            }
        }
        expect_handle_waits(&handle, case, says).await;
        // These would wait for the handle, which is open: another process's view of the same warehouse.
        let mut other = lab.warehouse.clone();
        other.open_tables = Default::default();
        expect_nothing_is_known(&other, &lab, case, &[says]).await;
        if root.exists() {
            std::fs::remove_dir_all(&root).unwrap();
        }
        std::fs::rename(&away, &root).unwrap();
    }
    handle.append(append(103..105)).await.unwrap();
    assert_eq!(handle.state().borrow().positions, at(0, 105), "it is back, and goes on");
    handle.close().await;
    assert_eq!(lab.foreign_ids().await, (100..105).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_process_that_starts_without_its_warehouse_waits_for_it_and_makes_nothing_in_its_place() {
    let lab = Lab::with_table().await;
    let id = lab.warehouse.known_id().unwrap().to_owned();
    let root = lab.folder.path().to_path_buf();
    let location = root.to_str().unwrap();
    let away = tempfile::tempdir().unwrap();
    let away = away.path().join("away");
    std::fs::rename(&root, &away).unwrap();
    let start = || Warehouse::open(location, Some(id.clone())).unwrap();
    let remedy = ["mount the warehouse", "`--warehouse`", "new data folder"];

    let says = |what| [&[location, &id, what][..], &remedy].concat();
    expect_nothing_is_known(&start(), &lab, "no folder", &says("not mounted")).await;
    assert!(!root.exists());
    std::fs::create_dir(&root).unwrap();
    expect_nothing_is_known(&start(), &lab, "an empty folder", &says("not mounted")).await;
    assert_eq!(std::fs::read_dir(&root).unwrap().count(), 0);
    std::fs::write(root.join(MARK), "another\n").unwrap();
    expect_nothing_is_known(&start(), &lab, "another warehouse", &says("`another`")).await;
    assert_eq!(std::fs::read_dir(&root).unwrap().count(), 1);

    std::fs::remove_dir_all(&root).unwrap();
    let early = start();
    expect_nothing_is_known(&early, &lab, "before the mount", &says("not mounted")).await;
    std::fs::rename(&away, &root).unwrap();
    assert_eq!(
        early.read_state(&lab.name, UID).await.unwrap().positions,
        at(0, 100),
        "it is mounted now"
    );
}

#[tokio::test]
async fn a_new_warehouse_is_marked_with_its_first_table_and_not_before() {
    let lab = Lab::new();
    assert!(matches!(
        lab.warehouse.read_state(&lab.name, UID).await,
        Err(TableError::Gone { .. })
    ));
    lab.warehouse.trash(&lab.name, UID).await.unwrap();
    assert!(!lab.warehouse.in_trash(UID).await.unwrap());
    assert!(lab.warehouse.purge_trash(std::time::Duration::ZERO).await.unwrap().is_empty());
    let mark = lab.folder.path().join(MARK);
    assert!(!mark.exists());
    assert_eq!(lab.warehouse.known_id(), None);
    lab.warehouse.create(lab.new_table()).await.unwrap();
    let id = std::fs::read_to_string(&mark).unwrap();
    assert_eq!(id.trim().parse::<uuid::Uuid>().unwrap().get_version_num(), 4);
    assert_eq!(lab.warehouse.known_id(), Some(id.trim()));

    // Another process finds the same one, and marks one that came without.
    let again = Warehouse::open(lab.folder.path().to_str().unwrap(), None).unwrap();
    again.open_table(&lab.name, UID, quiet()).await.unwrap().close().await;
    assert_eq!(std::fs::read_to_string(&mark).unwrap(), id);
    std::fs::remove_file(&mark).unwrap();
    let again = Warehouse::open(lab.folder.path().to_str().unwrap(), None).unwrap();
    again.open_table(&lab.name, UID, quiet()).await.unwrap().close().await;
    assert!(mark.exists());
}
