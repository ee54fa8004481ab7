//! The warehouse's mark: a folder that is not mounted is no folder of dropped tables.

use super::support::{Lab, UID, append, at, quiet};
use crate::error::Retry;
use crate::table::warehouse_mark::MARK;
use crate::table::{TableError, TableHandle, Warehouse};

/// Every step fails as storage does, and says this.
async fn expect_nothing_is_known(lab: &Lab, handle: &TableHandle, case: &str, says: &str) {
    let (warehouse, name) = (&lab.warehouse, &lab.name);
    let mut answers: Vec<(&str, Result<(), TableError>)> = vec![
        ("read", warehouse.read_state(name, UID).await.map(|_| ())),
        ("probe", handle.probe().await),
        ("create", warehouse.create(lab.new_table()).await.map(|_| ())),
        ("look into the trash", warehouse.in_trash(UID).await.map(|_| ())),
        ("purge", warehouse.purge_trash(std::time::Duration::ZERO).await.map(|_| ())),
    ];
    // These wait for the handle, which is open: another process's view of the same warehouse.
    let mut other = lab.warehouse.clone();
    other.open_tables = Default::default();
    answers.push(("open", other.open_table(name, UID, quiet()).await.map(|_| ())));
    answers.push(("trash", other.trash(name, UID).await));
    answers.push(("restore", other.restore(name, UID).await));
    for (step, answer) in answers {
        let error = answer.expect_err(&format!("{case}: {step}"));
        assert!(matches!(error, TableError::Storage { .. }), "{case}: {step}: {error:?}");
        assert_eq!(error.retry(), Retry::Later, "{case}: {step}");
        assert!(
            std::error::Error::source(&error).unwrap().to_string().contains(says),
            "{case}: {step}: {error}"
        );
    }
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
                let elsewhere = Warehouse::open(root.to_str().unwrap()).unwrap();
                elsewhere.create(table).await.unwrap();
            }
        }
        expect_nothing_is_known(&lab, &handle, case, says).await;
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
    lab.warehouse.create(lab.new_table()).await.unwrap();
    let id = std::fs::read_to_string(&mark).unwrap();
    assert_eq!(id.trim().parse::<uuid::Uuid>().unwrap().get_version_num(), 4);

    // Another process finds the same one, and marks one that came without.
    let again = Warehouse::open(lab.folder.path().to_str().unwrap()).unwrap();
    again.open_table(&lab.name, UID, quiet()).await.unwrap().close().await;
    assert_eq!(std::fs::read_to_string(&mark).unwrap(), id);
    std::fs::remove_file(&mark).unwrap();
    let again = Warehouse::open(lab.folder.path().to_str().unwrap()).unwrap();
    again.open_table(&lab.name, UID, quiet()).await.unwrap().close().await;
    assert!(mark.exists());
}
