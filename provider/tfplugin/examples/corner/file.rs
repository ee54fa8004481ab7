//! The resource: a file that holds what its configuration says, and how often it was written.
//!
//! One attribute for each thing that a schema can declare. Invariant: the file alone is the truth; nothing is kept in memory.

use std::io::ErrorKind;
use std::path::Path;

use async_trait::async_trait;
use serde_json::Value as Json;
use tfplugin::call::CallContext;
use tfplugin::diagnostic::{Diagnostic, Diagnostics};
use tfplugin::path::AttributePath;
use tfplugin::private::Private;
use tfplugin::resource::{
    Applied, CreateRequest, DeleteRequest, Found, Plan, PlanKind, PlanRequest, ReadOutcome, ReadRequest, Resource, UpdateRequest,
};
use tfplugin::schema::Schema;
use tfplugin::schema::attribute::{Attribute, AttributeType};
use tfplugin::value::types::Type;
use tfplugin::value::{Value, json};

use super::provider::Folder;

/// The resource type.
pub(crate) struct CornerFile {
    /// Where its files are.
    pub(crate) folder: Folder,
}

/// What a file holds.
pub(crate) struct Stored {
    /// How often it was written.
    pub(crate) revision: i64,
    state: Value,
}

/// Do two JSON texts say the same?
fn same_json(left: &str, right: &str) -> bool {
    let parse = |text: &str| serde_json::from_str::<Json>(text).ok();
    parse(left).is_some_and(|left| parse(right) == Some(left))
}

fn schema() -> Schema {
    let owner = AttributeType::single([
        (
            "team",
            Attribute::required(Type::String, "Who it belongs to. A change replaces the file.").replaces(),
        ),
        (
            "contact",
            Attribute::optional_computed(Type::String, "Whom to ask; nobody by default.").default("nobody"),
        ),
        (
            "ticket",
            Attribute::computed(Type::String, "Made with the owner and kept.").computed_keeps_prior(),
        ),
    ]);
    let line = AttributeType::list([
        ("text", Attribute::required(Type::String, "What the line says.")),
        ("size", Attribute::optional(Type::Number, "How large it is.")),
        ("mark", Attribute::computed(Type::String, "Made for each line.")),
    ]);
    let badge = AttributeType::set([
        ("name", Attribute::required(Type::String, "What it is called.")),
        ("level", Attribute::optional_computed(Type::Number, "1 by default.").default(1_i64)),
    ]);
    Schema::new(
        "A file that holds what its configuration says.",
        [
            ("id", Attribute::computed(Type::String, "Its name.").computed_keeps_prior()),
            (
                "name",
                Attribute::required(Type::String, "The file's name. A change replaces it.").replaces(),
            ),
            (
                "content",
                Attribute::optional(Type::String, "JSON; white space means nothing.").equal_text_by(same_json),
            ),
            (
                "tags",
                Attribute::optional(Type::set(Type::String), "None and null are the same.").null_is_empty(),
            ),
            ("options", Attribute::optional(Type::map(Type::String), "Whatever else.")),
            ("amount", Attribute::optional(Type::Number, "Any number.")),
            ("owner", Attribute::optional(owner, "Who it belongs to.")),
            ("lines", Attribute::optional(line, "Lines in order.")),
            ("badges", Attribute::optional(badge, "Badges in no order.")),
            (
                "secret_wo",
                Attribute::optional(Type::String, "Only its length is kept.")
                    .write_only()
                    .sensitive(),
            ),
            (
                "secret_wo_version",
                Attribute::optional(Type::Number, "A new number sends the secret again."),
            ),
            ("secret_length", Attribute::computed(Type::Number, "How long the secret is.")),
            (
                "note",
                Attribute::optional_computed(Type::String, "For the reader alone.")
                    .default("none")
                    .stands_alone(),
            ),
            ("revision", Attribute::computed(Type::Number, "How often it was written.")),
        ],
    )
}

fn name() -> AttributePath {
    AttributePath::root().attribute("name")
}

fn trouble(what: &str, path: &Path, error: impl std::fmt::Display) -> Diagnostics {
    let detail = format!(
        "{what} {} failed: {error}. Check that the folder exists and is yours.",
        path.display()
    );
    Diagnostic::error("File Not Accessible", detail).at(name()).into()
}

/// The file's content; `None` when there is no file.
pub(crate) fn load(path: &Path) -> Result<Option<Stored>, Diagnostics> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(trouble("Reading", path, error)),
    };
    let state = json::decode(&schema().value_type(), &text).map_err(|error| trouble("Reading", path, error))?;
    let revision = state
        .get("revision")
        .as_number()
        .and_then(tfplugin::value::number::Number::as_i64)
        .unwrap_or_default();
    Ok(Some(Stored { revision, state }))
}

impl CornerFile {
    /// Writes the planned state with everything filled in that was left to us.
    fn write(&self, planned: &Value, config: &Value, revision: i64) -> Applied {
        let mut state = planned.clone();
        let text = |dotted: &str| planned.dig(dotted).as_str().unwrap_or_default().to_owned();
        state.set("id", Value::string(text("name")));
        state.set("revision", Value::from(revision));
        if state.get("secret_length").is_unknown() {
            let length = config.get("secret_wo").as_str().map(|secret| secret.len() as u64);
            state.set("secret_length", Value::from(length));
        }
        let ticket = AttributePath::attributes("owner.ticket");
        if state.at(&ticket).is_unknown() {
            let set = state.set_at(&ticket, Value::string(format!("ticket-{}", text("owner.team"))));
            debug_assert!(set, "an unknown ticket has an owner around it");
        }
        for index in 0..state.get("lines").elements().len() {
            let mark = AttributePath::root().attribute("lines").index(index).attribute("mark");
            if state.at(&mark).is_unknown() {
                let set = state.set_at(&mark, Value::string(format!("mark-{index}-{revision}")));
                debug_assert!(set, "an unknown mark has a line around it");
            }
        }
        let path = match self.folder.path() {
            Ok(folder) => folder.join(text("name")),
            Err(diagnostics) => return Applied::failed(diagnostics),
        };
        match std::fs::write(&path, json::encode(&state)) {
            Ok(()) => {
                let mut private = Private::default();
                private.set("revision", revision);
                Applied::done(state, private)
            }
            Err(error) => Applied::failed(trouble("Writing", &path, error)),
        }
    }
}

#[async_trait]
impl Resource for CornerFile {
    fn type_name(&self) -> &'static str {
        "corner_file"
    }

    fn schema(&self) -> Schema {
        schema()
    }

    #[allow(clippy::panic, reason = "tests look at what becomes of a panic")]
    async fn validate(&self, config: &Value, _context: &CallContext) -> Diagnostics {
        match config.get("name").as_str() {
            Some(text) if text.contains('/') => {
                let detail = format!("{text:?} has a slash in it. The name is a file's own, without its folder.");
                Diagnostic::error("Invalid File Name", detail).at(name()).into()
            }
            Some("panic") => panic!("the name is {:?}", "panic"),
            _ => Diagnostics::none(),
        }
    }

    async fn modify_plan(&self, request: &PlanRequest<'_>, plan: &mut Plan, _context: &CallContext) {
        if request.kind == PlanKind::Destroy {
            plan.tell(Diagnostic::warning(
                "File Will Be Removed",
                "What it holds is lost. Copy it first if you need it.",
            ));
        }
    }

    async fn create(&self, request: CreateRequest<'_>, context: &CallContext) -> Applied {
        let applied = self.write(request.planned, request.config, 1);
        if request.planned.get("name").as_str() == Some("waits") {
            context.stop.stopped().await;
            return applied.with(Diagnostic::warning(
                "Interrupted",
                "The file is written, but nobody looked at it yet.",
            ));
        }
        applied
    }

    async fn read(&self, request: ReadRequest<'_>, _context: &CallContext) -> Result<ReadOutcome, Diagnostics> {
        let path = self.folder.path()?.join(request.state.get("name").as_str().unwrap_or_default());
        Ok(match load(&path)? {
            Some(stored) => {
                let found = Found {
                    state: stored.state,
                    private: request.private.clone(),
                    diagnostics: Diagnostics::none(),
                };
                ReadOutcome::Found(found)
            }
            None => ReadOutcome::Gone,
        })
    }

    async fn update(&self, request: UpdateRequest<'_>, _context: &CallContext) -> Applied {
        let before = request
            .prior
            .get("revision")
            .as_number()
            .and_then(tfplugin::value::number::Number::as_i64)
            .unwrap_or_default();
        let revision = if request.planned.get("revision").is_unknown() {
            before + 1
        } else {
            before
        };
        self.write(request.planned, request.config, revision)
    }

    async fn delete(&self, request: DeleteRequest<'_>, _context: &CallContext) -> Diagnostics {
        let path = match self.folder.path() {
            Ok(folder) => folder.join(request.prior.get("name").as_str().unwrap_or_default()),
            Err(diagnostics) => return diagnostics,
        };
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => trouble("Removing", &path, error),
            _ => Diagnostics::none(),
        }
    }

    async fn import(&self, id: &str, _context: &CallContext) -> Result<Found, Diagnostics> {
        let path = self.folder.path()?.join(id);
        match load(&path)? {
            Some(stored) => Ok(Found {
                state: stored.state,
                private: Private::default(),
                diagnostics: Diagnostics::none(),
            }),
            None => {
                let detail = format!("There is no file {}. The id of a file is its name.", path.display());
                Err(Diagnostic::error("No Such File", detail).into())
            }
        }
    }
}
