//! What `make demo` runs: it comes to a good end with the parts that a newcomer has, and whether it ends or is killed,
//! nothing of it runs on. The commands that it leaves for going on by hand work as they are printed.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use e2e::limits::{AGENT_READY, AGENT_STOP, STREAM_SETTLES, TERRAFORM_COMMAND};
use e2e::paths::{binary, discard, fresh_folder, test_parts};
use e2e::spawn::{output, signal, spawn};
use e2e::wait::wait_until;

/// It takes half a minute; this is for a machine that runs every other test beside it.
const DEMO_ENDS: Duration = Duration::from_secs(240);
/// An orphaned provider looks for its Terraform every second.
const ORPHANS_END: Duration = Duration::from_secs(60);

struct Demo {
    process: Child,
    /// Everything of the demonstration is below it: what runs there, or from there, belongs to it.
    folder: PathBuf,
}

impl Demo {
    fn start() -> Self {
        let folder = fresh_folder("demo").canonicalize().unwrap();
        let log = File::create(folder.join("output")).unwrap();
        let mut command = Command::new(binary("demo"));
        command
            .arg("--terraform")
            .arg(&test_parts().terraform)
            .arg("--folder")
            .arg(folder.join("run"))
            // No part of the tests' own set-up may be needed.
            .env_remove("FEATURESTORE_CACHE")
            .env("XDG_CACHE_HOME", "/nonexistent")
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        Self {
            process: spawn(command).expect("start the demonstration"),
            folder,
        }
    }

    fn output(&self) -> String {
        fs::read_to_string(self.folder.join("output")).unwrap()
    }

    fn run_folder(&self) -> PathBuf {
        self.folder.join("run")
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        discard(&self.folder);
    }
}

#[test]
fn the_demonstration_ends_well_and_leaves_nothing_running() {
    let mut demo = Demo::start();
    let status = wait_until("the demonstration ends", DEMO_ENDS, || {
        demo.process.try_wait().unwrap().ok_or_else(|| demo.output())
    });
    let output = demo.output();
    assert!(status.success(), "{status}\n{output}");
    for said in [
        "=== 12 of 12",
        "Nothing is running any more",
        "\"kafka_offset\":",
        "value.amount: DOUBLE → STRING",
        "No changes.",
        "To go on by hand",
    ] {
        assert!(output.contains(said), "it does not say `{said}`\n{output}");
    }
    assert_eq!(processes_below(&demo.run_folder()), Vec::<String>::new());
    go_on_by_hand(&output, &demo.folder.join("by-hand"));
}

/// Types what the demonstration printed at its end, as it stands there, but for the port: the usual one may be taken here.
fn go_on_by_hand(said: &str, temporary: &Path) {
    fs::create_dir(temporary).unwrap();
    let (_, said) = said.split_once("To go on by hand").unwrap();
    let lines: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    let [start, workspace, settings, servers, apply, send, rows, destroy] = lines.as_slice() else {
        panic!("eight commands were expected in {lines:#?}");
    };
    let mut agent = AgentByHand::start(start, temporary);
    let typed = |commands: &[&str]| {
        let commands = commands.join("\n").replace("127.0.0.1:PORT", &agent.bootstrap);
        let mut command = Command::new("bash");
        command
            .args(["-euc", &commands.replace("DATA-FOLDER", &agent.data)])
            .env("FEATURESTORE_ENDPOINT", &agent.endpoint)
            .env("TF_CLI_ARGS_apply", "-auto-approve")
            .env("TF_CLI_ARGS_destroy", "-auto-approve");
        let output = output(command, &commands, TERRAFORM_COMMAND);
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{commands}\n{text}");
        text
    };
    let sent = typed(&[workspace, settings, servers, apply, send]);
    assert!(sent.contains("1000 transactions are in the topic"), "{sent}");
    wait_until("all rows are in the table", STREAM_SETTLES, || {
        let shown = typed(&[rows]);
        if shown.contains("holds 1,000 rows") { Ok(()) } else { Err(shown) }
    });
    typed(&[workspace, settings, servers, destroy]);
    let last_words = agent.stop();
    assert!(last_words.contains(&agent.data) && Path::new(&agent.data).is_dir(), "{last_words}");
}

/// The agent as the first of the commands starts it, in a data folder that it makes itself.
struct AgentByHand {
    process: Child,
    lines: Receiver<String>,
    bootstrap: String,
    endpoint: String,
    data: String,
}

impl AgentByHand {
    fn start(line: &str, temporary: &Path) -> Self {
        let mut command = Command::new("bash");
        command
            .args(["-c", &format!("exec {line} --listen 127.0.0.1:0")])
            .env("TMPDIR", temporary)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(temporary.join("log")).unwrap());
        let mut process = spawn(command).unwrap();
        let printed = BufReader::new(process.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || printed.lines().map_while(Result::ok).for_each(|line| drop(sender.send(line))));
        let mut agent = Self {
            process,
            lines,
            bootstrap: String::new(),
            endpoint: String::new(),
            data: String::new(),
        };
        let broker = agent.line();
        agent.bootstrap = broker
            .strip_prefix("demo: Kafka broker at ")
            .unwrap()
            .split(' ')
            .next()
            .unwrap()
            .to_owned();
        agent.data = broker.split_once("data in ").unwrap().1.to_owned();
        let ready = agent.line();
        agent.endpoint = ready.strip_prefix("ready: listening on ").unwrap().to_owned();
        assert!(Path::new(&agent.data).starts_with(temporary), "{broker}");
        agent
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(AGENT_READY).expect("the agent prints another line")
    }

    /// Ctrl-C, and what it says then.
    fn stop(&mut self) -> String {
        signal(&self.process, libc::SIGINT);
        let status = wait_until("the agent stops", AGENT_STOP, || {
            self.process.try_wait().unwrap().ok_or("still running")
        });
        assert!(status.success(), "{status}");
        self.line()
    }
}

impl Drop for AgentByHand {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_demonstration_takes_no_folder_in_which_others_have_something() {
    let folder = fresh_folder("not-a-demo");
    let file = folder.join("letter.txt");
    fs::write(&file, "dear").unwrap();
    let refused = start_without_terraform(&folder);
    assert!(
        refused.contains("--folder") && refused.contains("not of a demonstration"),
        "{refused}"
    );
    let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(names, [file]);
    discard(&folder);
}

#[test]
fn a_demonstration_that_is_killed_leaves_nothing_running_and_can_be_repeated() {
    let mut demo = Demo::start();
    // In the middle of a plan: the demonstration, its agent, its Terraform and a provider run.
    wait_until("a provider runs", DEMO_ENDS, || {
        let running = processes_below(&demo.run_folder());
        let provider = running.iter().any(|process| process.contains("terraform-provider-featurestore"));
        if provider { Ok(()) } else { Err(demo.output()) }
    });
    let refused = start_without_terraform(&demo.run_folder());
    assert!(refused.contains("another demonstration runs"), "{refused}");
    demo.process.kill().unwrap();
    demo.process.wait().unwrap();
    wait_until("all of it ends", ORPHANS_END, || {
        let running = processes_below(&demo.run_folder());
        if running.is_empty() { Ok(()) } else { Err(running.join("\n")) }
    });
    // What the killed run left behind does not stand in the way of the next one.
    let repeated = start_without_terraform(&demo.run_folder());
    assert!(
        repeated.contains("ready: listening") && repeated.contains("/nonexistent/terraform"),
        "{repeated}"
    );
    assert_eq!(processes_below(&demo.run_folder()), Vec::<String>::new());
}

/// A demonstration that fails at its second step, and what it says.
fn start_without_terraform(folder: &Path) -> String {
    let mut command = Command::new(binary("demo"));
    command.args(["--terraform", "/nonexistent/terraform", "--folder"]).arg(folder);
    let output = output(command, "a demonstration without Terraform", DEMO_ENDS);
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// What runs in or from a folder, or was told of it: working folder, program and arguments.
fn processes_below(folder: &Path) -> Vec<String> {
    let named = folder.to_str().unwrap();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let process = entry.path();
        let link = |name: &str| fs::read_link(process.join(name)).unwrap_or_default();
        let arguments = fs::read(process.join("cmdline")).unwrap_or_default();
        let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
        let program = link("exe");
        let below = link("cwd").starts_with(folder) || program.starts_with(folder) || arguments.contains(named);
        if below {
            found.push(format!("{} {} {arguments}", entry.file_name().display(), program.display()));
        }
    }
    found
}
