//! Two agents on one warehouse by mistake: the second one is refused, told who has it, and changes nothing.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use e2e::agent::copy_folder;
use e2e::limits::AGENT_READY;
use e2e::paths::{binary, fresh_folder};
use e2e::spawn::spawn;
use e2e::wait::wait_until;

use crate::rows::{assert_rows, order_value};
use crate::stage::Stage;

/// Starts another agent on a warehouse, and returns what it said when it ended.
fn refusal_of_second_agent(data: &Path, warehouse: &Path) -> String {
    let log = data.join("log");
    let mut command = Command::new(binary("featurestore-agent"));
    command
        .args(["serve", "--insecure-local", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(data)
        .arg("--warehouse")
        .arg(warehouse)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(&log).unwrap());
    let mut agent = spawn(command).unwrap();
    let status = wait_until("the second agent ends", AGENT_READY, || {
        agent
            .try_wait()
            .unwrap()
            .ok_or_else(|| fs::read_to_string(&log).unwrap_or_default())
    });
    let text = fs::read_to_string(&log).unwrap();
    assert_eq!(status.code(), Some(1), "{text}");
    text
}

#[test]
fn a_second_agent_on_a_warehouse_is_refused_and_told_who_has_it() {
    let mut stage = Stage::applied("two-agents");
    let mut records = stage.produce_orders(0, 40);
    assert_rows(&stage.table(), &records, order_value);
    let copied = fresh_folder("copied-data");
    copy_folder(&stage.agent.data_folder(), &copied);
    for data in [copied, fresh_folder("own-data")] {
        let text = refusal_of_second_agent(&data, &stage.agent.warehouse());
        let pid = format!("process {} on host ", stage.agent.pid());
        let warehouse = stage.agent.warehouse();
        for part in [&pid, " since 20", warehouse.to_str().unwrap(), "stop that one", "--warehouse"] {
            assert!(text.contains(part), "`{part}` in: {text}");
        }
        records.extend(stage.produce_orders(100, 40));
        assert_rows(&stage.table(), &records, order_value);
    }
    // The lock goes with the process, however that ends: the next start waits for nothing.
    stage.agent.kill();
    stage.agent.start_again();
    records.extend(stage.produce_orders(200, 40));
    assert_rows(&stage.table(), &records, order_value);
}

#[test]
fn of_two_agents_on_a_new_warehouse_the_second_is_refused_before_there_is_a_table() {
    let stage = Stage::new("two-agents-new");
    let text = refusal_of_second_agent(&fresh_folder("own-data"), &stage.agent.warehouse());
    assert!(text.contains(&format!("process {} on host ", stage.agent.pid())), "{text}");
    stage.apply(&stage.stream());
    let records = stage.produce_orders(0, 40);
    assert_rows(&stage.table(), &records, order_value);
}
