//! The agent in its demo mode: one process that is the broker too. Invariant: it is stopped with the demonstration, in
//! order when all went well, at once otherwise.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;

use e2e::limits::{AGENT_READY, AGENT_STOP};
use e2e::paths::binary;
use e2e::spawn::{signal, spawn};
use e2e::wait::wait_until;

use crate::folder::Folder;

/// A running agent with its broker.
pub(crate) struct Agent {
    process: Child,
    log: PathBuf,
    pub(crate) endpoint: String,
    pub(crate) bootstrap: String,
}

impl Agent {
    pub(crate) fn start(folder: &Folder) -> Self {
        let log = folder.root().join("agent.log");
        let mut command = Command::new(binary("featurestore-agent"));
        command
            .args(["demo", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(folder.data())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).unwrap());
        let mut process = spawn(command).expect("start the agent");
        let output = BufReader::new(process.stdout.take().unwrap());
        let (lines, inbox) = channel();
        thread::spawn(move || output.lines().map_while(Result::ok).for_each(|line| drop(lines.send(line))));
        let mut bootstrap = None;
        let endpoint = wait_until("the agent is ready", AGENT_READY, || {
            while let Ok(line) = inbox.try_recv() {
                println!("  {line}");
                if let Some(rest) = line.strip_prefix("demo: Kafka broker at ") {
                    bootstrap = rest.split_whitespace().next().map(str::to_owned);
                } else if let Some(endpoint) = line.strip_prefix("ready: listening on ") {
                    return Ok(endpoint.to_owned());
                }
            }
            match process.try_wait().unwrap() {
                Some(status) => panic!("the agent ended with {status}: {}", end_of(&log)),
                None => Err("no ready line"),
            }
        });
        Self {
            process,
            log,
            endpoint,
            bootstrap: bootstrap.expect("the agent names its broker before it is ready"),
        }
    }

    /// Asks it to stop, and fails unless it does so in order.
    pub(crate) fn stop(mut self) {
        signal(&self.process, libc::SIGTERM);
        let status = wait_until("the agent stops", AGENT_STOP, || {
            self.process.try_wait().unwrap().ok_or("still running")
        });
        assert!(status.success(), "the agent ended with {status}: {}", end_of(&self.log));
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        if thread::panicking() {
            eprintln!("--- end of the agent's log\n{}", end_of(&self.log));
        }
    }
}

fn end_of(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}
