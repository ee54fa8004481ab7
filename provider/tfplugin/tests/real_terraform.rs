//! The example provider under the real `terraform`, which must be on the PATH.
//!
//! Terraform's own view counts: the actions of its plans as JSON, its exit codes, its state file.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of a test stop at the first surprise, as the test does"
)]

mod support;

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use tempfile::TempDir;

const DEADLINE: Duration = Duration::from_secs(60);
/// Between two looks at a state that a test waits for.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A folder with a configuration, and Terraform set up to find the provider.
struct World {
    folder: TempDir,
}

impl World {
    fn new(resources: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["files", "plugins"] {
            std::fs::create_dir(path(name)).unwrap();
        }
        std::os::unix::fs::symlink(support::provider_program(), path("plugins/terraform-provider-corner")).unwrap();
        let overrides = format!("dev_overrides {{\n    \"example/corner\" = \"{}\"\n  }}", path("plugins").display());
        std::fs::write(
            path("terraform.rc"),
            format!("provider_installation {{\n  {overrides}\n  direct {{}}\n}}\n"),
        )
        .unwrap();
        let world = Self { folder };
        world.configure(resources);
        world
    }

    fn configure(&self, resources: &str) {
        let head = "terraform {\n  required_providers {\n    corner = {\n      source = \"example/corner\"\n    }\n  }\n}\n";
        let provider = format!("provider \"corner\" {{\n  folder = \"{}\"\n}}\n", self.files().display());
        std::fs::write(self.folder.path().join("main.tf"), [head, &provider, resources].concat()).unwrap();
    }

    fn files(&self) -> PathBuf {
        self.folder.path().join("files")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("terraform");
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("TF_CLI_CONFIG_FILE", self.folder.path().join("terraform.rc"));
        command
            .env("CHECKPOINT_DISABLE", "1")
            .env("TF_IN_AUTOMATION", "1")
            .env("TF_CLI_ARGS", "-no-color");
        for name in ["TF_LOG", "TF_LOG_PROVIDER", "TF_REATTACH_PROVIDERS"] {
            command.env_remove(name);
        }
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("terraform must be on the PATH")
    }

    fn succeed(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "terraform {arguments:?}\n{}", text(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What a plan would do with the one file: its actions, and the paths that make it a replacement.
    fn planned(&self, options: &[&str]) -> (String, Json) {
        let mut arguments = vec!["plan", "-input=false", "-out=plan"];
        arguments.extend(options);
        self.succeed(&arguments);
        let plan: Json = serde_json::from_str(&self.succeed(&["show", "-json", "plan"])).unwrap();
        let changes = plan["resource_changes"].as_array().cloned().unwrap_or_default();
        let change = changes.iter().find(|change| change["type"] == "corner_file").unwrap();
        let actions: Vec<&str> = change["change"]["actions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|action| action.as_str().unwrap())
            .collect();
        (actions.join("+"), change["change"]["replace_paths"].clone())
    }

    fn apply(&self) -> String {
        self.succeed(&["apply", "-auto-approve", "-input=false"])
    }

    fn assert_empty_plan(&self) {
        for options in [&["-refresh=false"][..], &[]] {
            let output = self.run(&[&["plan", "-input=false", "-detailed-exitcode"], options].concat());
            assert_eq!(output.status.code(), Some(0), "the plan is not empty\n{}", text(&output));
        }
    }
}

fn text(output: &Output) -> String {
    format!(
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < deadline, "{what} did not happen in time");
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn signal(name: &str, process: &str) {
    assert!(
        Command::new("kill")
            .args([&format!("-{name}"), "--", process])
            .status()
            .unwrap()
            .success()
    );
}

const EVERYTHING: &str = r#"
resource "terraform_data" "team" {
  input = "t1"
}
resource "corner_file" "a" {
  name              = "a"
  content           = jsonencode({ b = 1, a = [1, 2] })
  tags              = ["b", "a", "b"]
  options           = { k = "v" }
  amount            = 1234567890123456789012345.5
  owner             = { team = "pre-${terraform_data.team.output}" }
  lines             = [{ text = "one", size = 0.1 }, { text = "two" }]
  badges            = [{ name = "x" }, { name = "y", level = 3 }]
  secret_wo         = "hunter2"
  secret_wo_version = 1
}
data "corner_revision" "a" {
  name       = corner_file.a.name
  depends_on = [corner_file.a]
}
output "revision" {
  value = data.corner_revision.a.revision
}
"#;

#[test]
fn a_whole_life_from_validate_to_destroy() {
    let world = World::new(EVERYTHING);
    world.succeed(&["validate"]);
    assert_eq!(world.planned(&[]).0, "create");
    world.apply();
    world.assert_empty_plan();
    let state = std::fs::read_to_string(world.folder.path().join("terraform.tfstate")).unwrap();
    assert!(state.contains("1234567890123456789012345.5"), "digits are lost");
    assert!(!state.contains("hunter2"), "a write-only value is in the state");

    world.configure(&EVERYTHING.replace("jsonencode({ b = 1, a = [1, 2] })", "\"{ \\\"a\\\": [1,2], \\\"b\\\": 1 }\""));
    assert_eq!(world.planned(&[]).0, "no-op");
    world.configure(&EVERYTHING.replace("level = 3", "level = 4"));
    assert_eq!(world.planned(&[]).0, "update");
    world.apply();
    world.assert_empty_plan();
    assert!(world.succeed(&["output", "-json"]).contains("\"value\": 2"));

    world.configure(&EVERYTHING.replace("t1", "t2"));
    assert_eq!(
        world.planned(&[]),
        ("delete+create".to_owned(), serde_json::json!([["owner", "team"]]))
    );
    world.apply();
    world.assert_empty_plan();

    let output = world.succeed(&["destroy", "-auto-approve"]);
    assert!(output.contains("File Will Be Removed"), "{output}");
    assert_eq!(std::fs::read_dir(world.files()).unwrap().count(), 0);
}

/// The path that replaces lies inside of an object that is not there before, or after.
#[test]
fn an_object_that_comes_or_goes_replaces_by_what_is_inside() {
    let plain = "resource \"corner_file\" \"a\" {\n  name = \"a\"\n}\n";
    let owned = plain.replace("name", "owner = { team = \"t\" }\n  name");
    for (before, after) in [(plain, owned.as_str()), (&owned, plain)] {
        let world = World::new(before);
        world.apply();
        world.configure(after);
        assert_eq!(
            world.planned(&[]),
            ("delete+create".to_owned(), serde_json::json!([["owner", "team"]]))
        );
        world.apply();
        world.assert_empty_plan();
    }
}

#[test]
fn an_import_plans_empty_and_drift_shows() {
    let file = "resource \"corner_file\" \"a\" {\n  name = \"a\"\n  content = \"[1]\"\n}\n";
    let world = World::new(file);
    world.apply();
    let path = world.files().join("a");
    let kept = std::fs::read_to_string(&path).unwrap();

    std::fs::remove_file(world.folder.path().join("terraform.tfstate")).unwrap();
    world.succeed(&["import", "corner_file.a", "a"]);
    world.assert_empty_plan();

    std::fs::write(&path, kept.replace("[1]", "[2]")).unwrap();
    assert_eq!(world.planned(&[]).0, "update");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(world.planned(&[]).0, "create");
}

#[test]
fn mistakes_point_at_the_line_and_a_panic_is_shown_with_its_place() {
    let world = World::new("resource \"corner_file\" \"a\" {\n  name = \"a/b\"\n}\n");
    let output = text(&world.run(&["validate"]));
    assert!(
        output.contains("Invalid File Name") && output.contains("name = \"a/b\""),
        "{output}"
    );

    world.configure("resource \"corner_file\" \"a\" {\n  name = \"panic\"\n}\n");
    let output = text(&world.run(&["validate"]));
    for expected in [
        "Bug in the Provider",
        "panic: the name is \"panic\"",
        "plugin crashed!",
        "examples/corner/file.rs",
    ] {
        assert!(output.contains(expected), "no {expected:?} in\n{output}");
    }
}

#[test]
fn what_cannot_be_moved_is_an_error_that_names_both_types() {
    let world = World::new("resource \"terraform_data\" \"a\" {}\n");
    world.succeed(&["apply", "-auto-approve"]);
    world.configure("moved {\n  from = terraform_data.a\n  to   = corner_file.a\n}\nresource \"corner_file\" \"a\" {\n  name = \"a\"\n}\n");
    let output = text(&world.run(&["plan"]));
    assert!(
        output.contains("Move Not Supported") && output.contains("`terraform_data`"),
        "{output}"
    );
}

#[test]
fn log_lines_reach_terraforms_log_with_their_level() {
    let world = World::new("resource \"corner_file\" \"a\" {\n  name = \"a\"\n}\n");
    let mut command = world.command(&["plan", "-input=false"]);
    let output = text(&command.env("TF_LOG_PROVIDER", "DEBUG").output().unwrap());
    assert!(output.contains("[DEBUG] provider.terraform-provider-corner"), "{output}");
    assert!(output.contains("call=ConfigureProvider"), "{output}");
}

/// Ctrl-C in a terminal reaches Terraform and the provider alike.
#[test]
fn an_interrupt_during_a_create_keeps_what_was_made() {
    let world = World::new("resource \"corner_file\" \"a\" {\n  name = \"waits\"\n}\n");
    let mut command = world.command(&["apply", "-auto-approve", "-input=false"]);
    let apply = command
        .process_group(0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the creation", || world.files().join("waits").exists());
    signal("INT", &format!("-{}", apply.id()));
    let output = apply.wait_with_output().unwrap();
    let output = text(&output);
    assert!(output.contains("Interrupted") && !output.contains("did not respond"), "{output}");
    world.assert_empty_plan();
}

/// A provider that was started by hand.
struct ByHand {
    process: Child,
    variable: String,
}

impl ByHand {
    fn start(program: &Path) -> Self {
        let mut process = Command::new(program)
            .arg("-debug")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let variable = lines.map(Result::unwrap).find_map(|line| {
            let value = line.trim().strip_prefix("TF_REATTACH_PROVIDERS='")?;
            Some(value.trim_end_matches('\'').to_owned())
        });
        Self {
            process,
            variable: variable.unwrap(),
        }
    }
}

impl Drop for ByHand {
    fn drop(&mut self) {
        // Only matters when the test failed before it ended the process in order.
        drop(self.process.kill());
    }
}

#[test]
fn a_provider_started_by_hand_serves_many_runs_and_ends_at_ctrl_c() {
    let world = World::new("resource \"corner_file\" \"a\" {\n  name = \"a\"\n}\n");
    // Nothing to find: only the provider that runs already can serve this.
    std::fs::remove_file(world.folder.path().join("plugins/terraform-provider-corner")).unwrap();
    let mut by_hand = ByHand::start(&support::provider_program());
    for arguments in [
        &["apply", "-auto-approve"][..],
        &["plan", "-detailed-exitcode"],
        &["destroy", "-auto-approve"],
    ] {
        let mut command = world.command(arguments);
        let output = command.env("TF_REATTACH_PROVIDERS", &by_hand.variable).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}\n{}", text(&output));
    }
    signal("INT", &by_hand.process.id().to_string());
    assert!(by_hand.process.wait().unwrap().success());
}
