//! One Terraform workspace with the provider under test: its configuration, and the commands a user types.
//! Invariant: no command reaches for a network, a user's own settings or another workspace.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

use crate::limits::TERRAFORM_COMMAND;
use crate::paths::{binary, discard, fresh_folder, test_parts};
use crate::plan::{Diagnostic, Plan, Run};
use crate::spawn::{output, signal, spawn};
use crate::wait::wait_until;

/// Terraform says this of every command, because the provider is not installed from a registry.
const OVERRIDE_WARNING: &str = "Provider development overrides are in effect";

static PLANS: AtomicU32 = AtomicU32::new(0);

/// A folder with a configuration and a state.
pub struct Workspace {
    folder: PathBuf,
    environment: Vec<(String, String)>,
}

/// A command that has not ended yet.
pub struct Running {
    process: Child,
    command: String,
    output: PathBuf,
}

impl Workspace {
    /// An empty workspace whose provider talks to `endpoint`, unless the configuration says otherwise.
    #[must_use]
    pub fn new(endpoint: &str) -> Self {
        Self {
            folder: fresh_folder("workspace"),
            environment: vec![("FEATURESTORE_ENDPOINT".to_owned(), endpoint.to_owned())],
        }
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Sets an environment variable of all later commands.
    pub fn set_environment(&mut self, name: &str, value: &str) {
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// Replaces the configuration, in Terraform's JSON syntax.
    pub fn write(&self, configuration: &Value) -> &Self {
        fs::write(
            self.folder.join("main.tf.json"),
            serde_json::to_string_pretty(configuration).unwrap(),
        )
        .unwrap();
        self
    }

    /// Copies the files of an example.
    pub fn copy_from(&self, example: &Path) {
        copy_example(example, &self.folder);
    }

    /// `terraform plan`.
    #[must_use]
    pub fn plan(&self) -> Plan {
        self.plan_with(&[])
    }

    /// `terraform plan` with further arguments.
    #[must_use]
    pub fn plan_with(&self, arguments: &[&str]) -> Plan {
        // A name of its own for each plan: a later one must not take the place of one that is still to be applied.
        let number = PLANS.fetch_add(1, Ordering::Relaxed);
        let name = format!("plan-{number}.bin");
        let out = format!("-out={name}");
        let mut all = vec!["plan", "-json", "-input=false", "-detailed-exitcode", &out];
        all.extend_from_slice(arguments);
        let run = self.run(&all);
        let planned = matches!(run.code, Some(0 | 2));
        let json = if planned {
            self.json(&["show", "-json", &name])
        } else {
            Value::Null
        };
        Plan {
            run,
            file: self.folder.join(name),
            json,
        }
    }

    /// Applies a plan that was made before.
    pub fn apply(&self, plan: &Plan) -> Run {
        plan.run.assert_success();
        self.run(&["apply", "-json", "-input=false", plan.file.to_str().unwrap()])
    }

    /// Plans and applies without asking.
    pub fn apply_now(&self) -> Run {
        self.run(&["apply", "-json", "-input=false", "-auto-approve"])
    }

    /// Destroys everything in the state.
    pub fn destroy(&self) -> Run {
        self.run(&["destroy", "-json", "-input=false", "-auto-approve"])
    }

    /// Imports one object into the state.
    pub fn import(&self, address: &str, id: &str) -> Run {
        self.run(&["import", "-input=false", "-no-color", address, id])
    }

    /// The state as `terraform show -json` prints it.
    #[must_use]
    pub fn state(&self) -> Value {
        self.json(&["show", "-json"])
    }

    /// The attributes of one resource in the state; null when it is not there.
    #[must_use]
    pub fn resource(&self, address: &str) -> Value {
        let state = self.state();
        let resources = state["values"]["root_module"]["resources"].as_array().cloned().unwrap_or_default();
        let found = resources.into_iter().find(|resource| resource["address"] == address);
        found.map(|resource| resource["values"].clone()).unwrap_or_default()
    }

    /// Whether the state holds the resource as tainted: the next plan would replace it.
    #[must_use]
    pub fn is_tainted(&self, address: &str) -> bool {
        let state = self.state();
        let resources = state["values"]["root_module"]["resources"].as_array().cloned().unwrap_or_default();
        resources
            .iter()
            .any(|resource| resource["address"] == address && resource["tainted"] == true)
    }

    /// Any command, to its end.
    pub fn run(&self, arguments: &[&str]) -> Run {
        self.start(arguments).wait()
    }

    /// Any command, without waiting for it.
    #[must_use]
    pub fn start(&self, arguments: &[&str]) -> Running {
        let command_line = format!("terraform {}", arguments.join(" "));
        let output = self.folder.join("output.log");
        let file = File::create(&output).unwrap();
        let mut command = self.command(arguments);
        command.stdout(file.try_clone().unwrap()).stderr(file);
        Running {
            process: spawn(command).expect("start terraform"),
            command: command_line,
            output,
        }
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = output(self.command(arguments), &format!("terraform {arguments:?}"), TERRAFORM_COMMAND);
        let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("terraform {arguments:?}: {error}: {text}\n{errors}"))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&test_parts().terraform);
        command
            .args(arguments)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .env("TF_CLI_CONFIG_FILE", cli_configuration())
            .env("TF_IN_AUTOMATION", "1")
            .env("CHECKPOINT_DISABLE", "1")
            .env_remove("TF_LOG")
            .env_remove("TF_REATTACH_PROVIDERS")
            .envs(self.environment.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        command
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        discard(&self.folder);
    }
}

impl Running {
    /// What it printed so far.
    #[must_use]
    pub fn output(&self) -> String {
        fs::read_to_string(&self.output).unwrap_or_default()
    }

    /// Ctrl-C.
    pub fn interrupt(&self) {
        signal(&self.process, libc::SIGINT);
    }

    /// Waits for its end.
    pub fn wait(self) -> Run {
        let Self {
            mut process,
            command,
            output,
        } = self;
        let printed = || fs::read_to_string(&output).unwrap_or_default();
        let status = wait_until(&command, TERRAFORM_COMMAND, || process.try_wait().unwrap().ok_or_else(printed));
        let output = printed();
        Run {
            diagnostics: diagnostics(&output),
            command,
            code: status.code(),
            output,
        }
    }
}

/// Copies what belongs to an example, and not what somebody's own `terraform init` and `apply` left there.
pub fn copy_example(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let extension = path.extension().unwrap_or_default();
        // Configurations and schemas; not what Terraform or somebody left there.
        if path.is_file() && ["tf", "json", "avsc", "proto"].iter().any(|known| extension == *known) {
            fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
    }
}

fn diagnostics(output: &str) -> Vec<Diagnostic> {
    output
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|event| event["type"] == "diagnostic")
        .map(|event| Diagnostic::from_json(&event["diagnostic"]))
        .filter(|diagnostic| diagnostic.summary != OVERRIDE_WARNING)
        .collect()
}

/// A CLI configuration that takes the provider from this build, and nothing from anywhere else.
fn cli_configuration() -> &'static Path {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| {
        // A folder of its own: Terraform takes the first file whose name begins like the provider's.
        let folder = fresh_folder("provider");
        let name = "terraform-provider-featurestore";
        std::os::unix::fs::symlink(binary(name), folder.join(name)).unwrap();
        let file = folder.join("terraform.rc");
        let text = format!("provider_installation {{\n  dev_overrides {{\n    \"featurestore/featurestore\" = {folder:?}\n  }}\n}}\n");
        fs::write(&file, text).unwrap();
        file
    })
}
