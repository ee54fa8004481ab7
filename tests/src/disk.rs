//! A small disk of its own for one agent: real, in a mount namespace that only the agent and its keeper are in, so that it can
//! be filled and made read-only without anybody else noticing. Invariant: it goes with the keeper, and that with the test run.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::limits::DISK_STEP;
use crate::spawn::spawn;
use crate::wait::wait_until;

/// What fills the disk.
const FILLER: &str = "filler";
/// One write of the filler; the last ones fit the rest.
const FILLER_STEP: usize = 64 * 1024;

/// A disk, and the process that keeps it mounted.
pub struct SmallDisk {
    keeper: Child,
    mount: PathBuf,
    way: Way,
}

/// How a mount namespace is had.
#[derive(Clone, Copy)]
enum Way {
    /// By root that may mount.
    Root,
    /// By root of a user namespace: for other users, and for root of a container that may not mount.
    UserNamespace,
}

impl SmallDisk {
    /// Mounts a disk of so many mebibytes at that folder, which is made.
    ///
    /// # Errors
    /// What the system says where it lets us mount nothing.
    pub fn mount(folder: &Path, mebibytes: u32) -> Result<Self, String> {
        fs::create_dir_all(folder).unwrap();
        let ways: &[Way] = if is_root() {
            &[Way::Root, Way::UserNamespace]
        } else {
            &[Way::UserNamespace]
        };
        let mut refusals = Vec::new();
        for way in ways {
            match Self::mount_by(*way, folder, mebibytes) {
                Ok(disk) => return Ok(disk),
                Err(refusal) => refusals.push(refusal),
            }
        }
        Err(refusals.join("; "))
    }

    fn mount_by(way: Way, folder: &Path, mebibytes: u32) -> Result<Self, String> {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private"]);
        if let Way::UserNamespace = way {
            command.args(["--user", "--map-root-user"]);
        }
        let script = "mount -t tmpfs -o size=\"$1\"m none \"$0\" && exec sleep infinity";
        command.args(["sh", "-c", script]).arg(folder).arg(mebibytes.to_string());
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        let mut keeper = spawn(command).map_err(|error| format!("unshare: {error}"))?;
        let mounts = format!("/proc/{}/mounts", keeper.id());
        let wanted = folder.to_str().unwrap().to_owned();
        let mounted = wait_until("the disk is mounted or refused", DISK_STEP, || {
            if let Some(status) = keeper.try_wait().unwrap() {
                let mut text = String::new();
                std::io::Read::read_to_string(&mut keeper.stderr.take().unwrap(), &mut text).unwrap();
                return Ok(Err(format!("no disk can be mounted here ({status}): {}", text.trim())));
            }
            let text = fs::read_to_string(&mounts).unwrap_or_default();
            let is_there = text.lines().any(|line| line.split(' ').nth(1) == Some(&wanted));
            if is_there { Ok(Ok(())) } else { Err("not mounted yet") }
        });
        mounted.map(|()| Self {
            keeper,
            mount: folder.to_owned(),
            way,
        })
    }

    /// A command of a program that sees the disk. The process is the program's own from the start.
    #[must_use]
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.keeper.id().to_string(), "--mount"]);
        if let Way::UserNamespace = self.way {
            command.args(["--user", "--preserve-credentials"]);
        }
        command.arg("--").arg(program);
        command
    }

    /// A path on the disk as processes see it that have not mounted it.
    #[must_use]
    pub fn outside(&self, path: &Path) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.keeper.id()));
        root.join(path.strip_prefix("/").unwrap())
    }

    /// Takes all the space that is left.
    pub fn fill(&self) {
        let mut file = File::create(self.outside(&self.mount).join(FILLER)).unwrap();
        let zeros = vec![0; FILLER_STEP];
        let mut step = FILLER_STEP;
        while step > 0 {
            match file.write(&zeros[..step]) {
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::StorageFull => step /= 2,
                Err(error) => panic!("fill the disk: {error}"),
            }
        }
    }

    /// Gives the space back.
    pub fn empty(&self) {
        fs::remove_file(self.outside(&self.mount).join(FILLER)).unwrap();
    }

    /// Makes it read-only, or writable again.
    pub fn set_writable(&self, writable: bool) {
        let how = if writable { "remount,rw" } else { "remount,ro" };
        // Busy as long as a file is being written.
        wait_until(how, DISK_STEP, || {
            let output = self
                .command(Path::new("mount"))
                .args(["-o", how])
                .arg(&self.mount)
                .output()
                .unwrap();
            if output.status.success() {
                Ok(())
            } else {
                Err(String::from_utf8_lossy(&output.stderr).into_owned())
            }
        });
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}

fn is_root() -> bool {
    // The owner of this process's own entry is its effective user.
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").unwrap().uid() == 0
}
