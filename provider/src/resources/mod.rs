//! The managed resources, one folder each with the same file names: `schema` declares, `model` reads and writes values,
//! `validate`, `plan`, `create`, `read`, `update`, `delete` and `import` are the calls of Terraform.

pub(crate) mod connection;
pub(crate) mod stream;

/// A name as the label of a resource block: Terraform wants a letter or `_` first, then also digits and `-`.
fn label(name: &str) -> String {
    let is_first = |first: char| first.is_ascii_alphabetic() || first == '_';
    let prefix = if name.starts_with(is_first) { "" } else { "_" };
    let is_fit = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
    let fit = name.chars().map(|it| if is_fit(it) { it } else { '_' });
    prefix.chars().chain(fit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_one_that_terraform_takes() {
        for (name, wanted) in [
            ("cards", "cards"),
            ("2024_orders", "_2024_orders"),
            ("-kafka", "_-kafka"),
            ("a.b c", "a_b_c"),
            ("", "_"),
        ] {
            assert_eq!(label(name), wanted);
        }
    }
}
