//! A schema as one text without imports of the user's: the message keeps its full name, and fields their order, which is the order of
//! columns. Everything else is as in the normal form.

use super::normal::Writer;
use super::tree::ProtoMessage;

/// The text of a message, in which it has the name that it has.
pub(crate) fn self_contained(message: &ProtoMessage) -> String {
    // A message inside another one: what is around it becomes a part of the package.
    let (package, name) = message.full_name.rsplit_once('.').unwrap_or(("", &message.full_name));
    let scope = if package.is_empty() { ".".into() } else { format!(".{package}.") };
    let package = if package.is_empty() {
        String::new()
    } else {
        format!("package {package};\n")
    };
    Writer::as_declared(scope, name).text(message, &package, name)
}
