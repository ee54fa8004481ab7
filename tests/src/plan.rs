//! What a Terraform command said, and what a plan would do: the facts that tests assert, taken from Terraform's JSON.
//! Invariant: nothing is read from text meant for people except inside a diagnostic.

use std::fmt;
use std::path::PathBuf;

use serde_json::Value;

/// One diagnostic of a command.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// True for an error, false for a warning.
    pub is_error: bool,
    /// The title.
    pub summary: String,
    /// The sentences.
    pub detail: String,
    /// The source line that it points at, with the path of blocks around it.
    pub place: String,
}

impl Diagnostic {
    /// Reads one out of Terraform's JSON.
    #[must_use]
    pub fn from_json(value: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let snippet = &value["snippet"];
        Self {
            is_error: value["severity"] == "error",
            summary: text(&value["summary"]),
            detail: text(&value["detail"]),
            place: format!(
                "{} {} {}",
                text(&value["address"]),
                text(&snippet["context"]),
                text(&snippet["code"])
            ),
        }
    }

    /// Whether title, sentences or place hold this text.
    #[must_use]
    pub fn mentions(&self, text: &str) -> bool {
        [&self.summary, &self.detail, &self.place].iter().any(|part| part.contains(text))
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_error { "error" } else { "warning" };
        write!(
            f,
            "{kind}: {} [{}]\n    {}",
            self.summary,
            self.place.trim(),
            self.detail.replace('\n', "\n    ")
        )
    }
}

/// One finished Terraform command.
pub struct Run {
    /// As typed.
    pub command: String,
    /// Exit code; none when it was killed.
    pub code: Option<i32>,
    /// Standard output and error, for people.
    pub output: String,
    /// Errors and warnings, without Terraform's own about development overrides.
    pub diagnostics: Vec<Diagnostic>,
}

impl Run {
    /// The errors.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.is_error)
    }

    /// The warnings.
    pub fn warnings(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|diagnostic| !diagnostic.is_error)
    }

    /// Fails unless the command succeeded.
    #[track_caller]
    pub fn assert_success(&self) -> &Self {
        assert!(matches!(self.code, Some(0 | 2)), "{self}");
        self
    }

    /// Fails unless the command failed with an error that holds all these texts.
    #[track_caller]
    pub fn assert_error(&self, texts: &[&str]) -> &Self {
        assert!(!matches!(self.code, Some(0 | 2)), "an error was expected\n{self}");
        assert!(
            self.errors().any(|error| texts.iter().all(|text| error.mentions(text))),
            "no error mentions all of {texts:?}\n{self}"
        );
        self
    }

    /// Fails unless there is a warning that holds all these texts.
    #[track_caller]
    pub fn assert_warning(&self, texts: &[&str]) -> &Self {
        assert!(
            self.warnings().any(|warning| texts.iter().all(|text| warning.mentions(text))),
            "no warning mentions all of {texts:?}\n{self}"
        );
        self
    }

    /// Fails if there is any warning but those with this title.
    #[track_caller]
    pub fn assert_no_warning_but(&self, title: &str) -> &Self {
        assert_eq!(self.warnings().filter(|warning| warning.summary != title).count(), 0, "{self}");
        self
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "$ {} (exit code {:?})", self.command, self.code)?;
        for diagnostic in &self.diagnostics {
            writeln!(f, "{diagnostic}")?;
        }
        if self.diagnostics.is_empty() {
            write!(f, "{}", self.output)
        } else {
            Ok(())
        }
    }
}

/// What a plan does with one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The plan does not speak of it.
    Absent,
    /// It stays as it is.
    NoOp,
    /// It is made.
    Create,
    /// It changes in place.
    Update,
    /// It is destroyed and made again.
    Replace,
    /// It is destroyed.
    Delete,
    /// A data source is read while applying.
    Read,
}

/// A plan, and how making it went.
pub struct Plan {
    /// The command.
    pub run: Run,
    /// File that `apply` takes.
    pub file: PathBuf,
    /// `terraform show -json` of it; null when there is no plan.
    pub json: Value,
}

impl Plan {
    /// What happens to a resource.
    #[must_use]
    pub fn action(&self, address: &str) -> Action {
        self.run.assert_success();
        let Some(change) = self.change(address) else {
            return Action::Absent;
        };
        let actions: Vec<&str> = change["actions"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        match actions.as_slice() {
            ["no-op"] => Action::NoOp,
            ["create"] => Action::Create,
            ["update"] => Action::Update,
            ["delete"] => Action::Delete,
            ["read"] => Action::Read,
            ["delete", "create"] | ["create", "delete"] => Action::Replace,
            other => panic!("unknown actions {other:?}"),
        }
    }

    /// Whether the plan does nothing at all, outputs included.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.run.assert_success();
        self.run.code == Some(0)
    }

    /// Fails unless the plan does nothing, and says what it would do.
    #[track_caller]
    pub fn assert_empty(&self) -> &Self {
        assert!(self.is_empty(), "the plan is not empty\n{}\n{}", self.run.output, self.changes());
        self
    }

    /// Fails unless the plan does this with the resource.
    #[track_caller]
    pub fn assert_action(&self, address: &str, wanted: Action) -> &Self {
        let found = self.action(address);
        assert_eq!(found, wanted, "{address}\n{}\n{}", self.run, self.changes());
        self
    }

    /// Dotted paths that force a replacement.
    #[must_use]
    pub fn replace_paths(&self, address: &str) -> Vec<String> {
        let paths = self
            .change(address)
            .map(|change| change["replace_paths"].clone())
            .unwrap_or_default();
        let step = |step: &Value| step.as_str().map_or_else(|| step.to_string(), str::to_owned);
        paths
            .as_array()
            .into_iter()
            .flatten()
            .map(|path| path.as_array().unwrap().iter().map(step).collect::<Vec<_>>().join("."))
            .collect()
    }

    /// Fails unless the plan replaces the resource because of exactly this path or one below it.
    #[track_caller]
    pub fn assert_replaces_for(&self, address: &str, path: &str) -> &Self {
        self.assert_action(address, Action::Replace);
        let paths = self.replace_paths(address);
        assert!(
            !paths.is_empty() && paths.iter().all(|found| found == path || found.starts_with(&format!("{path}."))),
            "replaces for {paths:?}, not for `{path}`"
        );
        self
    }

    /// The value after the change, as planned; unknown parts are missing.
    #[must_use]
    pub fn after(&self, address: &str) -> Value {
        self.change(address).map(|change| change["after"].clone()).unwrap_or_default()
    }

    /// Whether an attribute is known only after apply.
    #[must_use]
    pub fn is_unknown(&self, address: &str, pointer: &str) -> bool {
        self.change(address)
            .is_some_and(|change| change["after_unknown"].pointer(pointer) == Some(&Value::Bool(true)))
    }

    fn change(&self, address: &str) -> Option<&Value> {
        let changes = self.json["resource_changes"].as_array()?;
        changes
            .iter()
            .find(|change| change["address"] == address)
            .map(|change| &change["change"])
    }

    fn changes(&self) -> String {
        serde_json::to_string_pretty(&self.json["resource_changes"]).unwrap_or_default()
    }
}
