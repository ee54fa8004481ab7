//! What a stream passed over, and the leader epochs of its positions: written with the positions, and read back.

use super::support::{Lab, append, at, columns, partition, quiet, switch};
use crate::position::{Position, Positions};
use crate::table::{Loss, LossCause, Switch, TableCareSettings, TableHandle};

const CHECKPOINT_EVERY: u64 = 4;

fn led(next_offset: i64, epoch: u32, leader_epoch: i32) -> Positions {
    let leader_epoch = Some(leader_epoch);
    let position = Position {
        leader_epoch,
        ..Position::new(next_offset, epoch)
    };
    Positions::from([(partition(0), position)])
}

async fn append_led(handle: &TableHandle, ids: std::ops::Range<i32>, positions: Positions) {
    let append = crate::table::Append { positions, ..append(ids) };
    handle.append(append).await.unwrap();
}

#[tokio::test]
async fn a_loss_is_in_the_commit_that_moves_the_position_once_and_in_the_state_after_reopening() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    let loss = Loss {
        partition: partition(0),
        cause: LossCause::Truncated,
        from: 100,
        to: 40,
        epoch: 1,
    };
    let moved = Switch {
        positions: Positions::from([(partition(0), Position::new(40, 1))]),
        losses: vec![loss.clone()],
        ..switch(1, columns())
    };
    assert_eq!(handle.switch(moved.clone()).await.unwrap(), 1);
    assert_eq!(handle.switch(moved).await.unwrap(), 1, "in force already");
    append_led(&handle, 0..3, Positions::from([(partition(0), Position::new(43, 1))])).await;
    handle.close().await;

    let infos: Vec<_> = (0..3)
        .flat_map(|version| lab.entry(version))
        .filter_map(|action| action.commit_info)
        .collect();
    let named: Vec<_> = infos.iter().map(|info| info.get("featurestore.losses")).collect();
    let expected = serde_json::json!([{"topic": "orders", "partition": 0, "cause": "truncated", "from": 100, "to": 40, "epoch": 1}]);
    assert_eq!(named, [None, Some(&expected), None]);
    let handle = lab.open().await;
    assert_eq!(handle.state().borrow().losses, [loss]);
    handle.close().await;
    assert_eq!(lab.foreign_ids().await, [0, 1, 2]);
}

#[tokio::test]
async fn the_leader_epoch_of_a_position_outlives_checkpoints_and_ends_with_its_epoch() {
    let lab = Lab::with_table().await;
    let settings = TableCareSettings {
        checkpoint_every_commits: CHECKPOINT_EVERY,
        ..quiet()
    };
    let handle = lab.open_with(settings.clone()).await;
    append_led(&handle, 100..101, led(101, 0, 7)).await;
    for id in 101..112 {
        append_led(&handle, id..id + 1, led(i64::from(id) + 1, 0, 7)).await;
    }
    handle.close().await;
    let leader_txns = (1..13).flat_map(|version| lab.entry(version)).filter_map(|action| action.txn);
    let leader_txns = leader_txns.filter(|txn| txn.app_id.ends_with("/leader")).count();
    assert_eq!(leader_txns, 1, "it changed once");
    assert!(!lab.names("_delta_log", |name| name.contains("checkpoint")).is_empty());

    let handle = lab.open_with(settings).await;
    assert_eq!(handle.state().borrow().positions, led(112, 0, 7));
    let moved = Switch {
        positions: Positions::from([(partition(0), Position::new(50, 1))]),
        ..switch(1, columns())
    };
    handle.switch(moved).await.unwrap();
    assert_eq!(
        handle.state().borrow().positions.get(&partition(0)),
        Some(&Position::new(50, 1)),
        "nothing is known of the new epoch's leader"
    );
    handle.close().await;
    assert_ne!(at(0, 112), led(112, 0, 7));
}
