//! Terraform as a user runs it: typed out, run in the copy of the example, its output shown. Invariant: a command that ends
//! otherwise than the demonstration says, or does not say what it is said to say, ends the demonstration.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use e2e::limits::TERRAFORM_COMMAND;
use e2e::spawn::spawn;
use e2e::wait::wait_until;

use crate::folder::Folder;

/// Exit code of a plan with `-detailed-exitcode` that would change something.
pub(crate) const CHANGES: i32 = 2;

/// What Terraform draws before an attribute that comes or goes.
const SIGNS: [char; 2] = ['+', '-'];
/// Lines of a printed value without a sign.
const CLOSING: [&str; 6] = ["{", "}", "[", "]", "},", "],"];

/// Runs one Terraform in one folder.
pub(crate) struct Terraform {
    program: PathBuf,
    workspace: PathBuf,
    settings: PathBuf,
    output: PathBuf,
    endpoint: String,
    bootstrap: String,
}

impl Terraform {
    pub(crate) fn new(program: PathBuf, folder: &Folder, endpoint: &str, bootstrap: &str) -> Self {
        Self {
            program,
            workspace: folder.workspace(),
            settings: folder.cli_configuration(),
            output: folder.root().join("terraform.log"),
            endpoint: endpoint.to_owned(),
            bootstrap: bootstrap.to_owned(),
        }
    }

    /// What runs.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// Runs a command, shows it with its output, and fails unless it ends with `code` and says all of `texts`.
    pub(crate) fn run(&self, arguments: &[&str], code: i32, texts: &[&str]) {
        let name = self.program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        println!("$ {name} {}", arguments.join(" "));
        let output = std::fs::File::create(&self.output).unwrap();
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .current_dir(&self.workspace)
            .stdin(Stdio::null())
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .env("TF_CLI_CONFIG_FILE", &self.settings)
            .env("TF_CLI_ARGS", "-no-color")
            .env("TF_VAR_bootstrap_servers", &self.bootstrap)
            .env("FEATURESTORE_ENDPOINT", &self.endpoint)
            .env("CHECKPOINT_DISABLE", "1");
        // A user's own switches for Terraform are for other work.
        for name in [
            "TF_LOG",
            "TF_WORKSPACE",
            "TF_DATA_DIR",
            "TF_REATTACH_PROVIDERS",
            "TF_PLUGIN_CACHE_DIR",
        ] {
            command.env_remove(name);
        }
        let mut process = spawn(command).unwrap_or_else(|error| panic!("{}: {error}", self.program.display()));
        let ended = wait_until(&name, TERRAFORM_COMMAND, || process.try_wait().unwrap().ok_or("still running"));
        let said = std::fs::read_to_string(&self.output).unwrap();
        for line in shown(said.trim()) {
            println!("{}", format!("  {line}").trim_end());
        }
        assert_eq!(ended.code(), Some(code), "this exit code was not expected");
        // Terraform breaks lines and draws a bar before each line of a diagnostic.
        let words = |text: &str| text.replace(['│', '╷', '╵'], " ").split_whitespace().collect::<Vec<_>>().join(" ");
        let said = words(&said);
        for text in texts {
            assert!(said.contains(&words(text)), "`{text}` was expected in this output");
        }
    }
}

/// The output without the whole text of a schema that comes or goes with its stream: fifty lines that hide the rest. A
/// change of a schema is shown.
fn shown(output: &str) -> Vec<String> {
    let mut shown = Vec::new();
    let mut lines = output.lines().peekable();
    while let Some(line) = lines.next() {
        shown.push(line.to_owned());
        let all_one_way = |line: &str| line.trim_start().starts_with(SIGNS) || CLOSING.contains(&line.trim());
        if line.ends_with("jsonencode(") && line.trim_start().starts_with(SIGNS) {
            let margin = line.len() - line.trim_start().len();
            let mut schema = Vec::new();
            while let Some(inside) = lines.next_if(|line| !line.trim_start().starts_with(')')) {
                schema.push(inside.to_owned());
            }
            if schema.iter().all(|line| all_one_way(line)) {
                shown.push(format!("{}    … {} lines of the schema", " ".repeat(margin), schema.len()));
            } else {
                shown.extend(schema);
            }
        }
    }
    shown
}
