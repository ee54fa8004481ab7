//! Which message of a text is meant: one by its full name, or one by its place.

use protox::prost_reflect::MessageDescriptor;

use super::Problems;
use super::text::Source;
use crate::schema::{MessageChoice, SchemaPath};
use crate::suggest;

/// Where a problem with the name of the message is said to be.
const MESSAGE_NAME: &str = "message_name";

/// Names shown when the asked one is not there.
const NAMES_SHOWN_MAX: usize = 20;

/// The chosen message, which must be one of the text itself.
pub(super) fn message(source: &Source, choice: MessageChoice<'_>, problems: &mut Problems) -> Option<MessageDescriptor> {
    match choice {
        MessageChoice::Named(name) => named(source, name, problems),
        MessageChoice::At(indexes) => at(source, indexes, problems),
    }
}

fn named(source: &Source, name: &str, problems: &mut Problems) -> Option<MessageDescriptor> {
    let mut messages = Vec::new();
    source.file.messages().for_each(|message| collect(&message, &mut messages));
    if let Some(message) = messages.iter().find(|message| message.full_name() == name) {
        return Some(message.clone());
    }
    unknown_name(&messages, name, problems);
    None
}

fn at(source: &Source, indexes: &[u32], problems: &mut Problems) -> Option<MessageDescriptor> {
    let nth = |messages: &mut dyn Iterator<Item = MessageDescriptor>, index: u32| {
        messages
            .filter(|message| !message.is_map_entry())
            .nth(usize::try_from(index).unwrap_or(usize::MAX))
    };
    let found = indexes.split_first().and_then(|(first, inner)| {
        let outermost = nth(&mut source.file.messages(), *first)?;
        inner
            .iter()
            .try_fold(outermost, |message, index| nth(&mut message.child_messages(), *index))
    });
    if found.is_none() {
        let found = format!("{indexes:?}");
        let problem = format!("the text declares no message at the place {found}");
        let remedy = "register the schema that the messages are written by, with its messages in the order of the producer's";
        problems.add("", &SchemaPath::new(), problem, &found, remedy);
    }
    found
}

/// A message and those declared inside it, in the order of the text.
fn collect(message: &MessageDescriptor, messages: &mut Vec<MessageDescriptor>) {
    if message.is_map_entry() {
        return;
    }
    messages.push(message.clone());
    message.child_messages().for_each(|child| collect(&child, messages));
}

fn unknown_name(messages: &[MessageDescriptor], name: &str, problems: &mut Problems) {
    let at = SchemaPath::new();
    if messages.is_empty() {
        problems.add("", &at, "the text declares no message", name, "declare one");
        return;
    }
    let unqualified = messages
        .iter()
        .find(|message| message.name() == name.trim_start_matches('.'))
        .map(MessageDescriptor::full_name);
    if let Some(full_name) = unqualified {
        let problem = format!("the message name `{name}` is not fully qualified");
        problems.add(
            MESSAGE_NAME,
            &at,
            problem,
            name,
            format!("write `{full_name}`: package and enclosing messages are part of the name"),
        );
        return;
    }
    let remedy = match suggest::nearest(name, messages.iter().map(MessageDescriptor::full_name)) {
        Some(near) => format!("did you mean `{near}`? the messages of the text are {}", listed(messages)),
        None => format!("the messages of the text are {}", listed(messages)),
    };
    problems.add(MESSAGE_NAME, &at, format!("the text declares no message `{name}`"), name, remedy);
}

fn listed(messages: &[MessageDescriptor]) -> String {
    let mut names: Vec<String> = messages
        .iter()
        .take(NAMES_SHOWN_MAX)
        .map(|message| format!("`{}`", message.full_name()))
        .collect();
    if messages.len() > NAMES_SHOWN_MAX {
        names.push(format!("and {} more", messages.len() - NAMES_SHOWN_MAX));
    }
    names.join(", ")
}
