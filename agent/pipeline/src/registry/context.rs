//! Contexts: a registry may hold several, each with its own ids; a subject's name says which by `:.context:` before it.

/// The context that a subject's name says, with its marks; empty where it says none.
pub(super) fn context_of(subject: &str) -> &str {
    split(subject).0
}

/// A subject that another one's schema refers to: without a context of its own it is in the other's.
pub(super) fn in_context(subject: &str, other: &str) -> String {
    match (context_of(subject), context_of(other)) {
        ("", context) => format!("{context}{subject}"),
        _ => subject.to_owned(),
    }
}

/// Whether a registry's answer names the subject that was asked for. One whose address names a context answers with it though
/// nobody asked so.
pub(super) fn same_subject(answered: &str, asked: &str) -> bool {
    let ((answered_context, answered), (asked_context, asked)) = (split(answered), split(asked));
    answered == asked && (asked_context.is_empty() || answered_context.is_empty() || answered_context == asked_context)
}

fn split(subject: &str) -> (&str, &str) {
    let context = subject.strip_prefix(":.").and_then(|rest| rest.find(':')).map_or(0, |end| end + 3);
    subject.split_at_checked(context).unwrap_or(("", subject))
}

#[cfg(test)]
mod tests {
    use super::{context_of, in_context, same_subject};

    #[test]
    fn a_context_is_before_the_second_colon() {
        for (subject, context) in [
            ("orders-value", ""),
            (":.shop:orders-value", ":.shop:"),
            (":.:orders", ":.:"),
            (":.shop", ""),
            ("a:.b:c", ""),
            ("", ""),
        ] {
            assert_eq!(context_of(subject), context, "{subject}");
        }
        assert_eq!(in_context("a", ":.shop:orders"), ":.shop:a");
        assert_eq!(in_context(":.other:a", ":.shop:orders"), ":.other:a");
        assert_eq!(in_context("a", "orders"), "a");
    }

    #[test]
    fn subjects_are_the_same_in_one_context() {
        assert!(same_subject("a", "a") && same_subject(":.x:a", "a") && same_subject(":.x:a", ":.x:a"));
        assert!(!same_subject("a", "b") && !same_subject(":.x:a", ":.y:a") && !same_subject(":.x:a", ":.x:b"));
    }
}
