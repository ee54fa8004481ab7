//! A real agent process with its own data folder and warehouse: start, kill, stop, start again at the same address.
//! Invariant: the folders outlive the process, so that whatever a kill leaves behind is what the next start finds.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::thread;

use crate::api::Api;
use crate::failpoints::Failpoints;
use crate::limits::{AGENT_READY, AGENT_STOP};
use crate::paths::{binary, discard, fresh_folder};
use crate::spawn::{signal, spawn};
use crate::wait::wait_until;

/// What the agent prints, once, when it listens.
const READY: &str = "ready: listening on ";

/// One agent.
pub struct Agent {
    folder: PathBuf,
    endpoint: String,
    process: Option<Child>,
    api: Api,
    flags: Vec<String>,
}

impl Agent {
    /// Starts an agent with an empty store and an empty warehouse.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts an agent with further flags of `serve`.
    #[must_use]
    pub fn start_with(flags: &[&str]) -> Self {
        let folder = fresh_folder("agent");
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let (process, endpoint) = launch(&folder, "127.0.0.1:0", &flags);
        let api = Api::new(&endpoint);
        Self {
            folder,
            endpoint,
            process: Some(process),
            api,
            flags,
        }
    }

    /// `http://127.0.0.1:port`, the same for all lives of this agent.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Its API.
    #[must_use]
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// Process id of the running agent.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.as_ref().expect("the agent runs").id()
    }

    /// Folder of a table `catalog.schema.table`.
    #[must_use]
    pub fn table(&self, name: &str) -> PathBuf {
        name.split('.').fold(self.warehouse(), |folder, part| folder.join(part))
    }

    /// Root of all tables.
    #[must_use]
    pub fn warehouse(&self) -> PathBuf {
        self.folder.join("warehouse")
    }

    /// Its points of failure.
    #[must_use]
    pub fn failpoints(&self) -> Failpoints {
        Failpoints::new(self.folder.join("failpoints"))
    }

    /// Everything that all lives of this agent wrote to standard error.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// True once the process has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.process.as_mut().is_none_or(|process| process.try_wait().unwrap().is_some())
    }

    /// Kills it without warning, as a power cut would.
    pub fn kill(&mut self) {
        let mut process = self.process.take().expect("the agent runs");
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// Asks it to stop and returns how it ended.
    pub fn terminate(&mut self) -> ExitStatus {
        let mut process = self.process.take().expect("the agent runs");
        signal(&process, libc::SIGTERM);
        wait_until("the agent stops", AGENT_STOP, || process.try_wait().unwrap().ok_or("still running"))
    }

    /// Starts it again after a kill or a stop.
    pub fn start_again(&mut self) {
        assert!(self.process.is_none(), "the agent still runs");
        let listen = self.endpoint.strip_prefix("http://").unwrap().to_owned();
        let (process, endpoint) = launch(&self.folder, &listen, &self.flags);
        assert_eq!(endpoint, self.endpoint);
        self.process = Some(process);
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
        if thread::panicking() {
            eprintln!("--- end of the agent's log ({})\n{}", self.folder.display(), tail(&self.log(), 60));
        }
        discard(&self.folder);
    }
}

fn launch(folder: &Path, listen: &str, flags: &[String]) -> (Child, String) {
    let log = File::options().create(true).append(true).open(folder.join("log")).unwrap();
    let mut command = Command::new(binary("featurestore-agent"));
    command
        .args(["serve", "--insecure-local", "--listen", listen, "--data-dir"])
        .arg(folder.join("data"))
        .arg("--warehouse")
        .arg(folder.join("warehouse"))
        .args(flags)
        .env("FEATURESTORE_FAILPOINTS", folder.join("failpoints"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log);
    let mut process = spawn(command).expect("start the agent");
    let (lines, inbox) = channel();
    let output = BufReader::new(process.stdout.take().unwrap());
    // Reads to the end, so that the agent never blocks on a full pipe.
    thread::spawn(move || output.lines().map_while(Result::ok).for_each(|line| drop(lines.send(line))));
    let endpoint = wait_until("the agent is ready", AGENT_READY, || {
        while let Ok(line) = inbox.try_recv() {
            if let Some(endpoint) = line.strip_prefix(READY) {
                return Ok(endpoint.trim().to_owned());
            }
        }
        if let Some(status) = process.try_wait().unwrap() {
            let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
            panic!("the agent ended with {status}: {}", tail(&log, 40));
        }
        Err("no ready line")
    });
    (process, endpoint)
}

fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}
