//! Starting processes that die with the test run, however it ends.
//! The kernel sends the death signal when the *thread* that started a child ends, and every test has a thread of its own:
//! so one thread, which lives as long as the process, starts them all.
#![allow(unsafe_code, reason = "the death signal can only be asked for between fork and exec")]

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio, id};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::wait::wait_until;

type Order = (Command, Sender<io::Result<Child>>);

/// Starts a process that is killed when this process ends.
///
/// # Errors
/// As [`Command::spawn`].
pub fn spawn(mut command: Command) -> io::Result<Child> {
    static NURSERY: OnceLock<Sender<Order>> = OnceLock::new();
    let nursery = NURSERY.get_or_init(|| {
        let (orders, inbox) = channel::<Order>();
        thread::Builder::new()
            .name("nursery".to_owned())
            .spawn(move || {
                for (mut command, answer) in inbox {
                    // The caller may have failed meanwhile; the child then ends with the process all the same.
                    let _ = answer.send(command.spawn());
                }
            })
            .unwrap();
        orders
    });
    let parent = id();
    // SAFETY: prctl, getppid and _exit are async-signal-safe and touch no memory of the parent.
    unsafe {
        command.pre_exec(move || {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                return Err(io::Error::last_os_error());
            }
            // The parent may have died between fork and prctl: no signal would come any more.
            if u32::try_from(libc::getppid()) != Ok(parent) {
                libc::_exit(1);
            }
            Ok(())
        });
    }
    let (answer, outcome) = channel();
    nursery.send((command, answer)).unwrap();
    outcome.recv().unwrap()
}

/// Runs a process to its end, and returns what it printed. One that is still there when the deadline passes is killed, and
/// fails the test.
#[must_use]
pub fn output(mut command: Command, what: &str, deadline: Duration) -> Output {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = Killed(spawn(command).unwrap_or_else(|error| panic!("{what}: {error}")));
    let stdout = read_aside(process.0.stdout.take().unwrap());
    let stderr = read_aside(process.0.stderr.take().unwrap());
    let status = wait_until(&format!("the end of {what}"), deadline, || {
        process.0.try_wait().unwrap().ok_or("still running")
    });
    // What a process started may hold its output open beyond its end.
    let all = |text: Receiver<Vec<u8>>| {
        text.recv_timeout(deadline)
            .unwrap_or_else(|_| panic!("{what} left its output open"))
    };
    Output {
        status,
        stdout: all(stdout),
        stderr: all(stderr),
    }
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reads to the end in a thread: a process must never block on a full pipe.
fn read_aside(mut source: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (text, inbox) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = source.read_to_end(&mut bytes);
        let _ = text.send(bytes);
    });
    inbox
}

/// Sends a signal to a child that has not been waited for.
pub fn signal(child: &Child, signal: libc::c_int) {
    let pid = libc::pid_t::try_from(child.id()).unwrap();
    // SAFETY: the child has not been reaped (we hold it), so the id is still its own.
    let outcome = unsafe { libc::kill(pid, signal) };
    assert_eq!(outcome, 0, "signal {signal} to process {pid}: {}", io::Error::last_os_error());
}

/// CPU-seconds used so far by a process: user and system, all threads.
#[must_use]
pub fn cpu_seconds(pid: u32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // The second field is the command in parentheses and may hold spaces.
    let fields: Vec<&str> = text.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
    // SAFETY: sysconf reads a constant.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    #[allow(clippy::cast_precision_loss, reason = "one hundred on every Linux")]
    let per_second = per_second as f64;
    ticks / per_second
}

/// The most memory that a process has held so far.
#[must_use]
pub fn peak_memory_mib(pid: u32) -> u64 {
    memory_figure(pid, "VmHWM:")
}

/// The memory that a process holds now.
#[must_use]
pub fn memory_mib(pid: u32) -> u64 {
    memory_figure(pid, "VmRSS:")
}

fn memory_figure(pid: u32, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

/// Names of a process's threads, as the kernel keeps them: their first 15 bytes.
#[must_use]
pub fn threads(pid: u32) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    // One that ended meanwhile has no name any more.
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok());
    names.map(|name| name.trim().to_owned()).collect()
}

/// TCP connections of a process to a port of the loopback interface.
#[must_use]
pub fn connections(pid: u32, port: u16) -> usize {
    let table = std::fs::read_to_string(format!("/proc/{pid}/net/tcp")).unwrap();
    let remote = format!("0100007F:{port:04X}");
    // The third field is the other end, the tenth the socket's number.
    let sockets: Vec<String> = table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<&str>>())
        .filter(|fields| fields[2] == remote)
        .map(|fields| format!("socket:[{}]", fields[9]))
        .collect();
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let links = files.filter_map(|file| std::fs::read_link(file.unwrap().path()).ok());
    links
        .filter(|link| sockets.iter().any(|socket| link.as_os_str() == socket.as_str()))
        .count()
}
