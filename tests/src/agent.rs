//! A real agent process with its own data folder and warehouse: start, kill, stop, start again at the same address.
//! Invariant: the folders outlive the process, so that whatever a kill leaves behind is what the next start finds.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Once;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use crate::api::Api;
use crate::certificates::Certificates;
use crate::disk::SmallDisk;
use crate::failpoints::Failpoints;
use crate::limits::{AGENT_READY, AGENT_STOP, SHORT_COMMAND};
use crate::paths::{binary, discard, fresh_folder};
use crate::spawn::{output, signal, spawn};
use crate::wait::wait_until;

/// What the agent prints, once, when it listens.
const READY: &str = "ready: listening on ";

/// What variables begin with that say where the master key is: a file of the agent's folder unless a test says otherwise.
const MASTER_KEY: &str = "FEATURESTORE_AGENT_MASTER_KEY";

/// The file of its master key in an agent's folder.
const MASTER_KEY_FILE: &str = "master.key";

/// Off unless a test says otherwise: points of failure and full disks are for the tables that a test knows of.
const AUDIT_TABLE: &str = "--audit-table";

/// One agent.
pub struct Agent {
    folder: PathBuf,
    endpoint: String,
    process: Option<Child>,
    api: Api,
    flags: Vec<String>,
    environment: Environment,
    disk: Option<SmallDisk>,
}

/// Variables of an agent's environment, with their values.
pub type Environment = Vec<(&'static str, String)>;

impl Agent {
    /// Starts an agent with an empty store and an empty warehouse.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts an agent with further flags of `serve`.
    #[must_use]
    pub fn start_with(flags: &[&str]) -> Self {
        Self::launched(fresh_folder("agent"), flags, Environment::new(), None)
    }

    /// Starts an agent with further variables in its environment.
    #[must_use]
    pub fn start_in(environment: Environment) -> Self {
        Self::launched(fresh_folder("agent"), &[], environment, None)
    }

    /// Starts an agent whose warehouse is on a disk of its own of so many mebibytes.
    ///
    /// # Errors
    /// Why this machine lets us mount none.
    pub fn start_on_small_disk(mebibytes: u32) -> Result<Self, String> {
        let folder = fresh_folder("agent");
        let disk = SmallDisk::mount(&folder.join("warehouse"), mebibytes)?;
        Ok(Self::launched(folder, &[], Environment::new(), Some(disk)))
    }

    /// Starts an agent that is encrypted and asks who calls: with a certificate for each of these callers.
    #[must_use]
    pub fn start_secured(callers: &[&str], flags: &[&str]) -> Self {
        let folder = fresh_folder("agent");
        drop(Certificates::make(&folder, callers));
        Self::launched(folder, flags, Environment::new(), None)
    }

    fn launched(folder: PathBuf, flags: &[&str], environment: Environment, disk: Option<SmallDisk>) -> Self {
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let life = Life {
            folder: &folder,
            listen: "127.0.0.1:0",
            flags: &flags,
            environment: &environment,
            disk: disk.as_ref(),
        };
        let (process, endpoint) = life.launch();
        let api = match Certificates::of(&folder) {
            None => Api::new(&endpoint),
            Some(certificates) => {
                let token = fs::read_to_string(folder.join("data/admin.token")).unwrap();
                Api::secured(&endpoint, &certificates, token.trim())
            }
        };
        Self {
            folder,
            endpoint,
            process: Some(process),
            api,
            flags,
            environment,
            disk,
        }
    }

    fn life(&self) -> Life<'_> {
        Life {
            folder: &self.folder,
            listen: self.endpoint.split_once("://").unwrap().1,
            flags: &self.flags,
            environment: &self.environment,
            disk: self.disk.as_ref(),
        }
    }

    /// The disk that its warehouse is on, if that is one of its own.
    #[must_use]
    pub fn disk(&self) -> Option<&SmallDisk> {
        self.disk.as_ref()
    }

    /// Folder of all that it reads and writes: its data, its tables, its log, its key.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Folder of its database.
    #[must_use]
    pub fn data_folder(&self) -> PathBuf {
        self.folder.join("data")
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

    /// Its certificates. Fails where it has none.
    #[must_use]
    pub fn certificates(&self) -> Certificates {
        Certificates::of(&self.folder).expect("an agent that is encrypted")
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

    /// Root of all tables, as the test sees it.
    #[must_use]
    pub fn warehouse(&self) -> PathBuf {
        let path = self.folder.join("warehouse");
        match &self.disk {
            Some(disk) => disk.outside(&path),
            None => path,
        }
    }

    /// A copy of a table's folder, for readers that cannot see the agent's own disk.
    #[must_use]
    pub fn copy_of_table(&self, name: &str) -> PathBuf {
        let copy = fresh_folder("copy");
        copy_folder(&self.table(name), &copy);
        copy
    }

    /// Its points of failure. Fails where it was built as users get it, without them.
    #[must_use]
    pub fn failpoints(&self) -> Failpoints {
        static ASKED: Once = Once::new();
        ASKED.call_once(check_that_points_can_act);
        Failpoints::new(self.folder.join("failpoints"))
    }

    /// Everything that all lives of this agent wrote to standard error.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Whether a life of it has begun that was not ended from here.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.process.is_some()
    }

    /// True once the process has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.process.as_mut().is_none_or(|process| process.try_wait().unwrap().is_some())
    }

    /// Waits until it has ended by itself, at a point of failure.
    pub fn await_end(&mut self, what: &str, deadline: Duration) -> ExitStatus {
        let mut process = self.process.take().expect("the agent runs");
        wait_until(what, deadline, || process.try_wait().unwrap().ok_or("the agent lives"))
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
        let (process, endpoint) = self.life().launch();
        assert_eq!(endpoint, self.endpoint);
        self.process = Some(process);
    }

    /// Starts it again at a point of failure that it may reach before it is ready.
    pub fn start_to_end(&mut self) {
        assert!(self.process.is_none(), "the agent still runs");
        let (process, _nobody_reads) = self.life().begin();
        self.process = Some(process);
    }

    /// Gives its further lives the master key in their environment, and removes its file.
    pub fn put_master_key_into_environment(&mut self) {
        assert!(self.process.is_none(), "the agent still runs");
        let file = self.master_key_file();
        let key = fs::read_to_string(&file).unwrap().trim().to_owned();
        self.environment.push((MASTER_KEY, key));
        fs::remove_file(file).unwrap();
    }

    /// Whether its master key is in the environment, and in no file.
    #[must_use]
    pub fn has_master_key_in_environment(&self) -> bool {
        self.environment.iter().any(|(name, _)| *name == MASTER_KEY)
    }

    /// The file of its master key.
    #[must_use]
    pub fn master_key_file(&self) -> PathBuf {
        self.folder.join(MASTER_KEY_FILE)
    }

    /// Sets the flags of its further lives.
    pub fn set_flags(&mut self, flags: &[&str]) {
        self.flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
    }

    /// Sets the variables of its further lives.
    pub fn set_environment(&mut self, environment: Environment) {
        self.environment = environment;
    }

    /// Removes its data and its tables between two lives: the next one begins like the first.
    pub fn forget_all(&self) {
        assert!(self.process.is_none(), "the agent still runs");
        for folder in ["data", "warehouse"] {
            fs::remove_dir_all(self.folder.join(folder)).unwrap();
        }
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

fn check_that_points_can_act() {
    let program = binary("featurestore-agent");
    let mut command = Command::new(&program);
    command.arg("--version");
    let version = output(command, "featurestore-agent --version", SHORT_COMMAND);
    let version = String::from_utf8_lossy(&version.stdout);
    assert!(
        version.contains("(failpoints)"),
        "{} is a build without points of failure (`{}`); run `make build`",
        program.display(),
        version.trim()
    );
}

/// What one life of an agent begins with.
struct Life<'a> {
    folder: &'a Path,
    listen: &'a str,
    flags: &'a [String],
    environment: &'a Environment,
    disk: Option<&'a SmallDisk>,
}

impl Life<'_> {
    fn begin(&self) -> (Child, Receiver<String>) {
        let folder = self.folder;
        let log = File::options().create(true).append(true).open(folder.join("log")).unwrap();
        let program = binary("featurestore-agent");
        let mut command = self.disk.map_or_else(|| Command::new(&program), |disk| disk.command(&program));
        command
            .args(["serve", "--listen", self.listen, "--data-dir"])
            .arg(folder.join("data"))
            .arg("--warehouse")
            .arg(folder.join("warehouse"))
            .args(Certificates::of(folder).map_or_else(|| vec![PathBuf::from("--insecure-local")], |certificates| certificates.flags()))
            .args((!self.flags.iter().any(|flag| flag.starts_with(AUDIT_TABLE))).then(|| format!("{AUDIT_TABLE}=false")))
            .args(self.flags)
            .env("FEATURESTORE_FAILPOINTS", folder.join("failpoints"))
            // No machine of AWS is asked who we are.
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("RUST_BACKTRACE", "1")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log);
        if !self.environment.iter().any(|(name, _)| name.starts_with(MASTER_KEY)) {
            command.env(format!("{MASTER_KEY}_FILE"), folder.join(MASTER_KEY_FILE));
        }
        let mut process = spawn(command).expect("start the agent");
        let (lines, inbox) = channel();
        let output = BufReader::new(process.stdout.take().unwrap());
        // Reads to the end, so that the agent never blocks on a full pipe.
        let mut printed = File::options().create(true).append(true).open(folder.join("printed")).unwrap();
        thread::spawn(move || {
            output.lines().map_while(Result::ok).for_each(|line| {
                writeln!(printed, "{line}").unwrap();
                drop(lines.send(line));
            });
        });
        (process, inbox)
    }

    fn launch(&self) -> (Child, String) {
        let (mut process, inbox) = self.begin();
        let endpoint = wait_until("the agent is ready", AGENT_READY, || {
            while let Ok(line) = inbox.try_recv() {
                if let Some(endpoint) = line.strip_prefix(READY) {
                    return Ok(endpoint.trim().to_owned());
                }
            }
            if let Some(status) = process.try_wait().unwrap() {
                let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                panic!("the agent ended with {status}: {}", tail(&log, 40));
            }
            Err("no ready line")
        });
        (process, endpoint)
    }
}

/// Copies a folder with all that is in it into one that is there.
pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}
