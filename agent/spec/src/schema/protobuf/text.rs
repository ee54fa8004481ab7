//! From texts to descriptors. No file is ever read: an import is one of the texts that were given for it, or one of the well-known
//! files, which come with the compiler, or one of those that registries have built in, or refused.

use std::borrow::Cow;
use std::collections::HashMap;

use prost_types::{DescriptorProto, FileDescriptorProto};
use protox::file::{File, FileResolver, GoogleFileResolver};
use protox::prost_reflect::{DescriptorPool, FileDescriptor};

use super::editions::{self, EditionProblem, FeatureMap, Features};
use super::{Problems, built_in, scan};
use crate::limits::{PROTO_BRACKETS_MAX, PROTO_FULL_NAMES_BYTES_MAX, PROTO_NAME_BYTES_MAX, REFERENCES_MAX};
use crate::schema::{ReferencedText, SchemaPath};

/// The name that the text has among the files it imports.
const FILE_NAME: &str = "schema.proto";

const MEND: &str = "mend the text as the Protobuf language has it";

/// Where descriptors keep the list of imports.
const IMPORTS_TAG: i32 = 3;

/// A compiled text.
pub(super) struct Source {
    /// Its descriptors.
    pub(super) file: FileDescriptor,
    /// It and what it imports, by name; without the compiler's own files.
    files: HashMap<String, SourceFile>,
}

/// What is known about a file beside its descriptors.
struct SourceFile {
    /// What the text says by features; nothing where it is proto2 or proto3.
    features: Option<FeatureMap>,
    places: Places,
}

impl Source {
    /// The features of a field or enum by full name; nothing where its file is proto2 or proto3.
    pub(super) fn features(&self, file: &FileDescriptor, full_name: &str) -> Option<Features> {
        self.files.get(file.name())?.features.as_ref()?.get(full_name).copied()
    }

    /// True for the text and those that it imports, but the compiler's own.
    pub(super) fn is_users(&self, file: &FileDescriptor) -> bool {
        self.files.contains_key(file.name())
    }

    /// `line:column` of a descriptor of the text, `name:line:column` of one that it imports, empty for the compiler's own.
    pub(super) fn place(&self, file: &FileDescriptor, path: &[i32]) -> String {
        self.files
            .get(file.name())
            .map(|known| known.places.shown(path))
            .unwrap_or_default()
    }
}

/// Lines and columns by descriptor path.
#[derive(Default)]
struct Places {
    /// What stands before each of them.
    prefix: String,
    by_path: HashMap<Vec<i32>, (i32, i32)>,
}

impl Places {
    /// Takes the source locations out of a descriptor: the compiler would search them one by one.
    fn take(prefix: &str, file: &mut FileDescriptorProto) -> Self {
        let locations = file.source_code_info.take().map(|info| info.location).unwrap_or_default();
        let place = |location: prost_types::source_code_info::Location| match location.span.as_slice() {
            [line, column, ..] => Some((location.path, (line + 1, column + 1))),
            _ => None,
        };
        Self {
            prefix: prefix.to_owned(),
            by_path: locations.into_iter().filter_map(place).collect(),
        }
    }

    /// The place of a descriptor, or of the nearest one around it that has one.
    fn shown(&self, path: &[i32]) -> String {
        let mut path = path;
        loop {
            match (self.by_path.get(path), path.split_last()) {
                (Some((line, column)), _) => return format!("{}{line}:{column}", self.prefix),
                (None, Some((_, around))) => path = around,
                (None, None) => return String::new(),
            }
        }
    }
}

/// Compiles a text and what it imports, or says why not.
pub(super) fn compile(text: &str, references: &[ReferencedText], problems: &mut Problems) -> Option<Source> {
    let mut name = FILE_NAME.to_owned();
    while references.iter().any(|reference| reference.name == name) {
        name.push('_');
    }
    let mut compilation = Compilation {
        references,
        pool: DescriptorPool::new(),
        files: HashMap::new(),
        open: Vec::new(),
        problems,
    };
    let unit = Unit {
        name: &name,
        prefix: String::new(),
        text,
    };
    compilation.add(&unit)?;
    let file = compilation.pool.get_file_by_name(&name)?;
    Some(Source {
        file,
        files: compilation.files,
    })
}

/// A text that is compiled.
struct Unit<'t> {
    name: &'t str,
    /// What stands before its places: nothing for the schema's own text.
    prefix: String,
    text: &'t str,
}

struct Compilation<'t, 'p> {
    references: &'t [ReferencedText],
    pool: DescriptorPool,
    files: HashMap<String, SourceFile>,
    /// Names of the texts whose imports are being compiled, outermost first.
    open: Vec<String>,
    problems: &'p mut Problems,
}

impl Compilation<'_, '_> {
    /// Adds a text and all that it imports to the pool.
    fn add(&mut self, unit: &Unit<'_>) -> Option<()> {
        let tokens = scan::tokens(unit.text);
        self.check_bounds(unit, &tokens)?;
        let rewritten = match editions::rewrite(unit.text, &tokens) {
            Some(Ok(rewritten)) => Some(rewritten),
            Some(Err(problem)) => {
                let places = Places {
                    prefix: unit.prefix.clone(),
                    ..Places::default()
                };
                add_edition_problem(&problem, &places, self.problems);
                return None;
            }
            None => None,
        };
        let mut descriptor = match File::from_source(unit.name, rewritten.as_deref().unwrap_or(unit.text)) {
            Ok(file) => FileDescriptorProto::from(file),
            Err(error) => {
                let (place, message) = split_place(&format!("{error:?}"), unit.name);
                self.refuse(unit, &place, message);
                return None;
            }
        };
        let places = Places::take(&unit.prefix, &mut descriptor);
        descriptor.message_type.iter_mut().for_each(forget_json_names);
        let features = match rewritten.map(|_| editions::take_features(&mut descriptor)) {
            None => None,
            Some(Ok(features)) => Some(features),
            Some(Err(found)) => {
                found
                    .iter()
                    .for_each(|problem| add_edition_problem(problem, &places, self.problems));
                return None;
            }
        };
        self.open.push(unit.name.to_owned());
        let complete = self.add_imports(&descriptor, &places);
        self.open.pop();
        if !complete {
            return None;
        }
        if let Err(error) = self.pool.add_file_descriptor_proto(descriptor) {
            let place = error.path().map(|path| places.shown(path)).unwrap_or_default();
            let place = place.strip_prefix(&unit.prefix).unwrap_or_default().to_owned();
            self.refuse(unit, &place, error.to_string());
            return None;
        }
        self.files.insert(unit.name.to_owned(), SourceFile { features, places });
        Some(())
    }

    fn check_bounds(&mut self, unit: &Unit<'_>, tokens: &[scan::Token]) -> Option<()> {
        let text = unit.text;
        let mut add = |at: Option<usize>, problem: String, found: &str, remedy: &str| {
            let place = at.map(|at| format!("{}{}", unit.prefix, scan::place(text, at))).unwrap_or_default();
            self.problems.add(place, &SchemaPath::new(), problem, found, remedy);
            None
        };
        if let Some(token) = scan::too_deep(tokens, PROTO_BRACKETS_MAX) {
            let problem = format!("more than {PROTO_BRACKETS_MAX} brackets are open");
            return add(Some(token.span.start), problem, token.of(text), "nest less");
        }
        if let Some(token) = scan::too_long(tokens, PROTO_NAME_BYTES_MAX) {
            let problem = format!("a name is longer than {PROTO_NAME_BYTES_MAX} bytes");
            return add(Some(token.span.start), problem, token.of(text), "shorten it");
        }
        if scan::full_names_bytes(tokens, text) > PROTO_FULL_NAMES_BYTES_MAX {
            let problem = format!("the full names in the text are longer than {PROTO_FULL_NAMES_BYTES_MAX} bytes together");
            let remedy = "shorten the package and the names of messages that hold many others";
            return add(None, problem, text, remedy);
        }
        Some(())
    }

    /// Says what the compiler said about a place of a text.
    fn refuse(&mut self, unit: &Unit<'_>, place: &str, message: String) {
        let line = line_of(unit.text, place);
        let shown = if place.is_empty() && unit.prefix.is_empty() {
            String::new()
        } else {
            format!("{}{place}", unit.prefix).trim_end_matches(':').to_owned()
        };
        self.problems.add(shown, &SchemaPath::new(), message, line, MEND);
    }

    /// Adds what a text imports; false when something of it is not to be had.
    fn add_imports(&mut self, file: &FileDescriptorProto, places: &Places) -> bool {
        let mut complete = true;
        for (index, import) in file.dependency.iter().enumerate() {
            let twice = file.dependency.iter().take(index).any(|earlier| earlier == import);
            let refusal = if twice {
                Some((format!("`{import}` is imported twice"), "import it once"))
            } else {
                match self.import(import) {
                    Import::There => None,
                    Import::Bad => {
                        complete = false;
                        continue;
                    }
                    Import::Unknown => Some((
                        format!("the import `{import}` cannot be resolved"),
                        "put the messages into this text: only google/protobuf/timestamp.proto, google/protobuf/wrappers.proto and google/type/ \
                         are there to be imported, and in a schema registry what the schema refers to",
                    )),
                    Import::Circular => Some((
                        format!("the import `{import}` leads back to this text"),
                        "put what both need into a text of its own",
                    )),
                }
            };
            if let Some((problem, remedy)) = refusal {
                let index = i32::try_from(index).unwrap_or_default();
                let place = places.shown(&[IMPORTS_TAG, index]);
                self.problems.add(place, &SchemaPath::new(), problem, import, remedy);
                complete = false;
            }
        }
        complete
    }

    fn import(&mut self, name: &str) -> Import {
        if self.pool.get_file_by_name(name).is_some() || add_well_known(name, &mut self.pool) {
            return Import::There;
        }
        let given = self.references.iter().find(|reference| reference.name == name);
        let Some(text) = given
            .map(|given| Cow::from(&given.text))
            .or_else(|| built_in::text(name).map(Cow::from))
        else {
            return Import::Unknown;
        };
        // Each text is open once, so that the depth of this recursion is the number of texts at most.
        if self.open.iter().any(|open| open == name) || self.open.len() > REFERENCES_MAX {
            return Import::Circular;
        }
        let unit = Unit {
            name,
            prefix: format!("{name}:"),
            text: &text,
        };
        match self.add(&unit) {
            Some(()) => Import::There,
            None => Import::Bad,
        }
    }
}

/// What became of an import.
enum Import {
    There,
    /// Its problems are said.
    Bad,
    Unknown,
    Circular,
}

fn add_edition_problem(problem: &EditionProblem, places: &Places, problems: &mut Problems) {
    let place = places.shown(&problem.path);
    problems.add(
        place,
        &SchemaPath::new(),
        problem.problem.as_str(),
        &problem.found,
        problem.remedy.as_str(),
    );
}

/// Names fields in JSON as in the text. The compiler refuses two fields of one JSON name, which proto2 allows and decoding never sees.
fn forget_json_names(message: &mut DescriptorProto) {
    for field in &mut message.field {
        field.json_name.clone_from(&field.name);
    }
    message.nested_type.iter_mut().for_each(forget_json_names);
}

/// Adds one of the compiler's own files and what it imports.
fn add_well_known(name: &str, pool: &mut DescriptorPool) -> bool {
    if pool.get_file_by_name(name).is_some() {
        return true;
    }
    let Ok(file) = GoogleFileResolver::new().open_file(name) else {
        return false;
    };
    let file = FileDescriptorProto::from(file);
    file.dependency.iter().all(|import| add_well_known(import, pool)) && pool.add_file_descriptor_proto(file).is_ok()
}

/// Splits `schema.proto:3:5: message`, which is how the compiler shows an error.
fn split_place(shown: &str, file_name: &str) -> (String, String) {
    let Some(rest) = shown.strip_prefix(file_name).and_then(|rest| rest.strip_prefix(':')) else {
        return (String::new(), shown.to_owned());
    };
    match rest.split_once(": ") {
        Some((place, message)) if place.chars().all(|c| c.is_ascii_digit() || c == ':') => (place.to_owned(), message.to_owned()),
        _ => (String::new(), rest.trim_start().to_owned()),
    }
}

/// The line that a place names, or all of the text.
fn line_of<'t>(text: &'t str, place: &str) -> &'t str {
    let number = place.split(':').next().and_then(|line| line.parse::<usize>().ok());
    number
        .and_then(|line| text.lines().nth(line.saturating_sub(1)))
        .map_or(text, str::trim)
}
