//! From a text to descriptors. No file is ever read: an import is one of the well-known files, which come with the compiler, or refused.

use std::collections::HashMap;

use prost_types::{DescriptorProto, FileDescriptorProto};
use protox::file::{File, FileResolver, GoogleFileResolver};
use protox::prost_reflect::{DescriptorPool, FileDescriptor};

use super::editions::{self, EditionProblem, FeatureMap, Features};
use super::{Problems, scan};
use crate::limits::{PROTO_BRACKETS_MAX, PROTO_FULL_NAMES_BYTES_MAX, PROTO_NAME_BYTES_MAX};
use crate::schema::SchemaPath;

/// The name that the text has among the files it imports.
const FILE_NAME: &str = "schema.proto";

const MEND: &str = "mend the text as the Protobuf language has it";

/// Where descriptors keep the list of imports.
const IMPORTS_TAG: i32 = 3;

/// A compiled text.
pub(super) struct Source {
    /// Its descriptors.
    pub(super) file: FileDescriptor,
    /// What the text says by features; nothing where it is proto2 or proto3.
    features: Option<FeatureMap>,
    places: Places,
}

impl Source {
    /// The features of a field or enum by full name; nothing where its file is proto2 or proto3.
    pub(super) fn features(&self, file: &FileDescriptor, full_name: &str) -> Option<Features> {
        let features = self.features.as_ref().filter(|_| *file == self.file)?;
        features.get(full_name).copied()
    }

    /// `line:column` of a descriptor of the text, empty for one of an imported file.
    pub(super) fn place(&self, file: &FileDescriptor, path: &[i32]) -> String {
        if *file == self.file {
            self.places.shown(path)
        } else {
            String::new()
        }
    }
}

/// Lines and columns by descriptor path.
#[derive(Default)]
struct Places(HashMap<Vec<i32>, (i32, i32)>);

impl Places {
    /// Takes the source locations out of a descriptor: the compiler would search them one by one.
    fn take(file: &mut FileDescriptorProto) -> Self {
        let locations = file.source_code_info.take().map(|info| info.location).unwrap_or_default();
        let place = |location: prost_types::source_code_info::Location| match location.span.as_slice() {
            [line, column, ..] => Some((location.path, (line + 1, column + 1))),
            _ => None,
        };
        Self(locations.into_iter().filter_map(place).collect())
    }

    /// The place of a descriptor, or of the nearest one around it that has one.
    fn shown(&self, path: &[i32]) -> String {
        let mut path = path;
        loop {
            match (self.0.get(path), path.split_last()) {
                (Some((line, column)), _) => return format!("{line}:{column}"),
                (None, Some((_, around))) => path = around,
                (None, None) => return String::new(),
            }
        }
    }
}

/// Compiles a text, or says why not.
pub(super) fn compile(text: &str, problems: &mut Problems) -> Option<Source> {
    let none = SchemaPath::new();
    let tokens = scan::tokens(text);
    if let Some(token) = scan::too_deep(&tokens, PROTO_BRACKETS_MAX) {
        let problem = format!("more than {PROTO_BRACKETS_MAX} brackets are open");
        problems.add(scan::place(text, token.span.start), &none, problem, token.of(text), "nest less");
        return None;
    }
    if let Some(token) = scan::too_long(&tokens, PROTO_NAME_BYTES_MAX) {
        let problem = format!("a name is longer than {PROTO_NAME_BYTES_MAX} bytes");
        problems.add(scan::place(text, token.span.start), &none, problem, token.of(text), "shorten it");
        return None;
    }
    if scan::full_names_bytes(&tokens, text) > PROTO_FULL_NAMES_BYTES_MAX {
        let problem = format!("the full names in the text are longer than {PROTO_FULL_NAMES_BYTES_MAX} bytes together");
        problems.add(
            "",
            &none,
            problem,
            text,
            "shorten the package and the names of messages that hold many others",
        );
        return None;
    }
    let rewritten = match editions::rewrite(text, &tokens) {
        Some(Ok(rewritten)) => Some(rewritten),
        Some(Err(problem)) => {
            add_edition_problem(&problem, &Places::default(), problems);
            return None;
        }
        None => None,
    };
    let mut descriptor = match File::from_source(FILE_NAME, rewritten.as_deref().unwrap_or(text)) {
        Ok(file) => FileDescriptorProto::from(file),
        Err(error) => {
            let (place, message) = split_place(&format!("{error:?}"));
            let line = line_of(text, &place);
            problems.add(place, &none, message, line, MEND);
            return None;
        }
    };
    let places = Places::take(&mut descriptor);
    descriptor.message_type.iter_mut().for_each(forget_json_names);
    let features = match rewritten.map(|_| editions::take_features(&mut descriptor)) {
        None => None,
        Some(Ok(features)) => Some(features),
        Some(Err(found)) => {
            found.iter().for_each(|problem| add_edition_problem(problem, &places, problems));
            return None;
        }
    };
    let mut pool = DescriptorPool::new();
    if !add_imports(&descriptor, &mut pool, &places, problems) {
        return None;
    }
    if let Err(error) = pool.add_file_descriptor_proto(descriptor) {
        let place = error.path().map(|path| places.shown(path)).unwrap_or_default();
        let line = line_of(text, &place);
        problems.add(place.clone(), &none, error.to_string(), line, MEND);
        return None;
    }
    let file = pool.get_file_by_name(FILE_NAME)?;
    Some(Source { file, features, places })
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

/// Adds what the text imports; false when something of it is not to be had.
fn add_imports(file: &FileDescriptorProto, pool: &mut DescriptorPool, places: &Places, problems: &mut Problems) -> bool {
    let mut complete = true;
    for (index, import) in file.dependency.iter().enumerate() {
        let place = || places.shown(&[IMPORTS_TAG, i32::try_from(index).unwrap_or_default()]);
        if file.dependency.iter().take(index).any(|earlier| earlier == import) {
            problems.add(
                place(),
                &SchemaPath::new(),
                format!("`{import}` is imported twice"),
                import,
                "import it once",
            );
            complete = false;
        } else if !add_well_known(import, pool) {
            let remedy = "put the messages into this text: only google/protobuf/timestamp.proto and google/protobuf/wrappers.proto are there to be imported";
            problems.add(
                place(),
                &SchemaPath::new(),
                format!("the import `{import}` cannot be resolved"),
                import,
                remedy,
            );
            complete = false;
        }
    }
    complete
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
fn split_place(shown: &str) -> (String, String) {
    let Some(rest) = shown.strip_prefix(FILE_NAME).and_then(|rest| rest.strip_prefix(':')) else {
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
