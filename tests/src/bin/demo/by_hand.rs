//! What the demonstration leaves for going on by hand: the commands, and the two that are part of this program because a
//! machine need not have other ones: a producer and a look into a table.

use std::path::Path;

use e2e::producer::{Outgoing, RecordingProducer};
use e2e::transactions::Transactions;

use crate::folder::Folder;
use crate::rows::{self, TABLE, TOPIC};

/// Transactions that `demo send` sends unless it is told a number.
pub(crate) const USUAL_COUNT: usize = 1_000;

/// Sends card transactions.
pub(crate) fn send(bootstrap: &str, count: usize) {
    // Others than the last time.
    let seed = std::process::id().into();
    let records: Vec<Outgoing> = Transactions::new(seed).take(count).collect();
    let acknowledged = RecordingProducer::to(bootstrap, &[]).send_all(TOPIC, &records);
    println!("{} transactions are in the topic {TOPIC}", acknowledged.len());
}

/// Shows a table.
pub(crate) fn rows(folder: &Path) {
    rows::show_table(folder);
}

/// The commands that go on where the demonstration ended.
pub(crate) fn print_commands(folder: &Folder, terraform: &Path) {
    let program = std::env::current_exe().unwrap();
    let binaries = program.parent().unwrap().display();
    println!(
        "\nTo go on by hand, in one terminal (it prints the broker's address and its data folder, which stays; Ctrl-C ends it):

    {binaries}/featurestore-agent demo

and in another one (the next demonstration removes this workspace, so destroy first):

    cd {workspace}
    export TF_CLI_CONFIG_FILE={settings}
    export TF_VAR_bootstrap_servers=127.0.0.1:PORT      # as the agent printed it
    {terraform} apply
    {binaries}/demo send $TF_VAR_bootstrap_servers
    {binaries}/demo rows DATA-FOLDER/warehouse/{TABLE}
    {terraform} destroy

Any reader of Delta tables will do, as DuckDB: SELECT * FROM delta_scan('DATA-FOLDER/warehouse/{TABLE}')",
        terraform = terraform.display(),
        workspace = folder.workspace().display(),
        settings = folder.cli_configuration().display(),
    );
}
